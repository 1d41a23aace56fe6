"""Noise of the dyadic tree, threshold by threshold, from the open nodes only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def open_nodes(
    out: NDArray[np.int64],
    draws: NDArray[np.int64],
    held: NDArray[np.int64],
    step: int,
    base: int,
) -> None:
    """Overwrite thresholds step + 1, step + 2, ... with the sum of the nodes that cover each.

    The node (j, l) of the tree of ``dyadic.py`` opens at threshold j base^l + 1. So at threshold
    t + 1, nodes open on level 0 and on each level l for which base^l divides t. They replace the
    nodes that end at t.

    Parameters
    ----------
    out
        (K, W), overwritten.
    draws
        (D, W) the noise of the nodes that open, in the order of their first thresholds, from the
        lowest level up.
    held
        (L + 1, W) the noise of the open node of each level; updated in place. At threshold 1 all of
        it is overwritten.
    step
        The number of thresholds that came before.
    base
        The number of children of a node.

    Notes
    -----
    It takes O(W (K + D)). Invariant, before each threshold: ``held`` is the noise of the nodes that
    cover the threshold before it, and ``noise`` is the sum. ``digits`` are the digits, to the base
    and lowest first, of the number of thresholds before it. ``opening`` is the number of nodes that
    open at it, which is one more than the number of zeros in front of other digits.
    """
    levels, width = held.shape
    digits = np.empty(levels, np.int64)
    noise = np.zeros(width, np.int64)
    opening, rest = 0, step
    for level in range(levels):
        for w in range(width):
            noise[w] += held[level, w]
        digits[level] = rest % base
        rest //= base
        if opening == level:
            opening += digits[level] == 0
    opening = min(opening + 1, levels)
    used = 0
    for i in range(out.shape[0]):
        for level in range(opening):
            for w in range(width):
                noise[w] += draws[used + level, w] - held[level, w]
                held[level, w] = draws[used + level, w]
        used += opening
        for w in range(width):
            out[i, w] = noise[w]
        opening = 1
        digits[0] += 1
        while opening < levels and digits[opening - 1] == base:
            digits[opening - 1] = 0
            digits[opening] += 1
            opening += 1
