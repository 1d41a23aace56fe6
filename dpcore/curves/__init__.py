"""Released curves and their post-processing, which costs no privacy.

May import ``privacy``, ``summaries``, ``records`` and the rooms below, but no mechanism and no
statistic.
"""
