"""Discrete Gaussian draws from bins: a table draws the bin, and rejection inside it is rare.

Words and tables are those of inversion.py. A proposal takes three words: one for its bin h, one for
its sign and its place l in the bin, and one that decides whether it is accepted. Its magnitude is
h B + l.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

RATE_BITS = 66  # binary digits of 1 / (2 sigma^2), as it is given
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SIX = np.uint64(6)
_REFUSED, _ACCEPTED, _UNDECIDED = 0, 1, 2


@inner
def _place(
    word: np.uint32, boundaries: NDArray[np.uint32], guide: NDArray[np.uint16], shift: np.uint32
) -> np.uint64:
    """Return the number of boundaries below a word. Invariant: k is at most that number."""
    k = np.uint64(guide[word >> shift])
    while boundaries[k] < word:
        k += _ONE
    return k


@inner
def _verdict(
    word: np.uint64, product: np.uint64, rate: np.uint64, fixed: np.uint64, bits: np.uint64
) -> int:
    """Return whether U < exp(-gamma), U in [word, word + 1) / 2^bits, by four terms of the series.

    1 - gamma + gamma^2 / 2 - gamma^3 / 6 <= exp(-gamma) <= 1 - gamma + gamma^2 / 2, and all
    roundings are to the safe side.
    """
    whole = _ONE << bits
    least = (product * rate) >> fixed
    most = ((product * (rate + _ONE)) >> fixed) + _ONE
    square = ((most * most) >> bits) + _ONE
    cube = ((square * most) >> bits) + _ONE
    if word + least >= whole + square // _TWO + _ONE:
        return _REFUSED
    if word + most + cube // _SIX + _ONE < whole + ((least * least) >> (bits + _ONE)):
        return _ACCEPTED
    return _UNDECIDED


@kernel
def accepted_proposals(
    words: NDArray[np.uint32],
    out: NDArray[np.int64],
    boundaries: NDArray[np.uint32],
    guide: NDArray[np.uint16],
    shift: np.uint32,
    width: np.uint64,
    rate: np.uint64,
    bits: np.uint64,
) -> tuple[int, int]:
    """Fill ``out`` with P(y) proportional to exp(-y^2 / (2 sigma^2)).

    Parameters
    ----------
    words
        (M, 3): a proposal in each row.
    out
        (size,) the draws.
    boundaries, guide, shift
        The table of the bin: P(h) proportional to exp(-(h B)^2 / (2 sigma^2)), h >= 0.
    width
        B, a power of two, at most sigma / 64 and 2^(bits - 1).
    rate
        floor(2^66 / (2 sigma^2)).
    bits
        The bits of a word, at most 32.

    Returns
    -------
    drawn, used
        The number of leading entries of ``out`` that are final, and the number of rows that they
        took. If there is another entry and another row, that row does not decide.

    Notes
    -----
    A proposal is accepted with probability exp(-gamma), gamma = l (2 h B + l) / (2 sigma^2), except
    that minus zero is never accepted. 2^bits gamma is below ``most``: the products are below 2^64
    (docs/proofs/noise.md), and ``rate`` is too small by less than 1. The inner loop goes on while
    U < 1 - gamma <= exp(-gamma), which is nearly always. Invariant: ``out[:i]`` is a function of
    ``words[:row]``.
    """
    fixed = np.uint64(RATE_BITS) - bits
    whole = _ONE << bits
    i = row = 0
    while True:
        run = min(out.size - i, words.shape[0] - row)
        product = third = _ONE
        magnitude = sign = np.int64(0)
        known = surely = True
        for j in range(run):
            h = _place(words[row + j, 0], boundaries, guide, shift)
            known = boundaries[h] != words[row + j, 0]
            second, third = np.uint64(words[row + j, 1]), np.uint64(words[row + j, 2])
            start, place = h * width, second & (width - _ONE)
            magnitude = np.int64(start + place)
            sign = -np.int64(second >> (bits - _ONE))  # all bits are 1, or all are 0
            product = place * (start + start + place)
            most = ((product * (rate + _ONE)) >> fixed) + _ONE
            surely = bool(third + most < whole and (magnitude | ~sign) != 0)  # no minus zero
            if not (known and surely):
                run = j
                break
            out[i + j] = (magnitude ^ sign) - sign
        i += run
        row += run
        if surely or not known:
            return i, row
        verdict = _verdict(third, product, rate, fixed, bits)
        if verdict == _UNDECIDED:
            return i, row
        row += 1
        if verdict == _ACCEPTED and (magnitude | ~sign) != 0:
            out[i] = (magnitude ^ sign) - sign
            i += 1
