"""Private curves that are asked point by point, from any secure sum.

This package imports ``models`` and ``protocol``.
"""
