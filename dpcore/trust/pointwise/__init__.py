"""Private curves that are asked point by point, of a secure sum that may be anybody's.

Knows ``models`` and ``protocol``.
"""
