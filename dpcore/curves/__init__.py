"""Released curves and what is done to them: post-processing, at no cost in privacy.

Imports ``summaries``, for grids, and ``privacy``; no mechanism.
"""
