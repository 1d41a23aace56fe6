"""Compiled loops on arrays.

Nothing here validates, knows of privacy, or decides where randomness comes from: a kernel is a
deterministic function of the arrays it is given. Imports no room. Installed as ``dpcore.kernels``.
"""
