"""Distributed comparison functions: two servers evaluate keys, and learn nothing from them.

>>> from dpcore.trust import comparison
>>> first, second = comparison.gen([3, 200, 77], bits=8)
>>> comparison.evaluate_sum(first, [2, 77, 255]) + comparison.evaluate_sum(second, [2, 77, 255])
array([0, 2, 3], dtype=uint64)

This is the cryptographic part of function secret sharing (docs/proofs/function-sharing.md). It adds
no noise.
"""

from .evaluation import evaluate, evaluate_sum
from .generation import gen
from .keys import Keys
from .layout import key_bytes

__all__ = ["Keys", "evaluate", "evaluate_sum", "gen", "key_bytes"]
