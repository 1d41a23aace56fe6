"""Released curves and what is done to them: post-processing, at no cost in privacy.

May import ``privacy``, ``summaries``, ``records`` and what is below; no mechanism, no statistic.
"""
