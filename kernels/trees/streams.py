"""Noise of the dyadic tree, threshold by threshold, from the open nodes only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import kernel


@kernel
def add_open_nodes(
    out: NDArray[np.int64],
    draws: NDArray[np.int64],
    held: NDArray[np.int64],
    step: int,
    base: int,
) -> tuple[int, int]:
    """Add to thresholds step + 1, step + 2, ... the sum of the nodes that cover each.

    The node (j, l) of the tree of ``dyadic.py`` opens at threshold j base^l + 1. So at threshold
    t + 1, nodes open on level 0 and on each level l for which base^l divides t. They replace the
    nodes that end at t.

    Parameters
    ----------
    out
        (K,), added to in place.
    draws
        The noise of the nodes that open, in the order of their first thresholds, from the lowest
        level up.
    held
        (L + 1,) the noise of the open node of each level; updated in place. At threshold 1 all of
        it is overwritten.
    step
        The number of thresholds that came before.
    base
        The number of children of a node.

    Returns
    -------
    done, used
        The number of leading entries of ``out`` that have their noise, and the number of draws that
        they took. If the draws end, ``done`` is less than K. The caller must show the draws from
        ``used`` on again, in front of more.

    Notes
    -----
    It takes O(K + draws). Invariant, before each threshold: ``held`` is the noise of the nodes that
    cover the threshold before it, and ``noise`` is the sum. ``digits`` are the digits, to the base
    and lowest first, of the number of thresholds before it. ``opening`` is the number of nodes that
    open at it, which is one more than the number of zeros in front of other digits.
    """
    levels = held.size
    digits = np.empty(levels, np.int64)
    noise, opening, rest = np.int64(0), 0, step
    for level in range(levels):
        noise += held[level]
        digits[level] = rest % base
        rest //= base
        if opening == level:
            opening += digits[level] == 0
    opening = min(opening + 1, levels)
    used = 0
    for i in range(out.size):
        if draws.size - used < opening:
            return i, used
        for level in range(opening):
            noise += draws[used + level] - held[level]
            held[level] = draws[used + level]
        used += opening
        out[i] += noise
        opening = 1
        digits[0] += 1
        while opening < levels and digits[opening - 1] == base:
            digits[opening - 1] = 0
            digits[opening] += 1
            opening += 1
    return out.size, used
