"""Rivals that serve a comparison with a paper: PriROC, SmoothS, medians of halves, Algorithm 2.

They are as private as they say, and less accurate than the releases of ``dpcore`` for the same
budget, or have another use than these only in the papers' figures. This room may import all rooms
but ``studies`` and ``command_line``. No other room needs it: the command line only compiles it
ahead.
"""
