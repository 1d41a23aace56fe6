"""The hierarchy over buckets of different widths: the cached tree with the least error."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .hierarchy import Hierarchy
from .tree import Tree

__all__ = ["weighted_tree"]

# Trees are computed for numbers of buckets with so many significant binary digits.
_DIGITS: Final = 4
_WIDTHS: Final = (2, 4, 8, 16, 32)  # even trees that compete with the best one for equal buckets


def weighted_tree(hierarchy: Hierarchy, widths: NDArray[np.int64]) -> Tree:
    """Return the tree over buckets with the least error; a bucket weighs as much as its cells.

    The partition is released, so the tree is public.
    """
    trees = _candidates(hierarchy, widths.size)
    if not trees:
        return hierarchy.tree(widths.size)  # this call raises the error with the reason
    weights = (widths + np.append(widths[1:], 0)).astype(np.float64)
    # This is not a product of vectors: BLAS would start threads for it, and wait for them.
    return min(trees, key=lambda tree: float(np.sum(weights * tree.prefix_variances())))


@lru_cache(maxsize=256)
def _candidates(hierarchy: Hierarchy, buckets: int) -> tuple[Tree, ...]:
    """Return the best tree for equal buckets, and even ones."""
    kept = _kept(hierarchy, _rounded_up(buckets))
    return tuple(tree for kept_tree in kept if (tree := kept_tree.resized(buckets)))


@lru_cache(maxsize=128)
def _kept(hierarchy: Hierarchy, buckets: int) -> tuple[Tree, ...]:
    """Return these trees for one of a few numbers of buckets, cached.

    So releases with similar numbers of buckets use the same trees, and noise of the same scales.
    Neither is computed anew each time.
    """
    even = [
        replace(hierarchy, branching=branching, budgets="auto")
        for branching in _WIDTHS
        if branching <= buckets
    ]
    trees = []
    for option in (hierarchy, *even):
        with suppress(ParameterError):  # the scale is too large
            trees.append(option.tree(buckets))
    return tuple(trees)


def _rounded_up(buckets: int) -> int:
    """Return the least number >= buckets that has four binary digits followed by zeros."""
    unit = 1 << max(0, buckets.bit_length() - _DIGITS)
    return -(-buckets // unit) * unit
