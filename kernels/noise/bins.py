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
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TWO = np.uint64(2)
_SIX = np.uint64(6)
_REFUSED, _ACCEPTED, _UNDECIDED = 0, 1, 2


@inner
def _place(
    word: np.uint32, boundaries: NDArray[np.uint32], guide: NDArray[np.uint16], shift: np.uint32
) -> tuple[np.uint64, bool]:
    """Return the number of boundaries below a word, and whether the word decides.

    Invariant: k is at most that number.
    """
    k = np.uint64(guide[word >> shift])
    boundary = boundaries[k]
    while boundary < word:
        k += _ONE
        boundary = boundaries[k]
    return k, boundary != word


@inner
def _verdict(
    word: np.uint64, product: np.uint64, rate: np.uint64, fixed: np.uint64, bits: np.uint64
) -> int:
    """Return whether U < exp(-gamma), U in [word, word + 1) / 2^bits, by four terms of the series.

    1 - gamma + gamma^2 / 2 - gamma^3 / 6 <= exp(-gamma) <= 1 - gamma + gamma^2 / 2, and all
    roundings are to the safe side.
    """
    whole = _ONE << bits
    most = ((product * (rate + _ONE)) >> fixed) + _ONE
    if word + most < whole:
        return _ACCEPTED
    least = (product * rate) >> fixed
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
    that minus zero is never accepted. 2^bits gamma is below ``most`` of ``_verdict``: the products
    are below 2^64 (docs/proofs/noise.md), and ``rate`` is too small by less than 1. For all l < B,
    ``most`` is at most h ``slope`` + 2^bits - ``sure``. The inner loop goes on while this, instead
    of ``most``, shows that U < 1 - gamma <= exp(-gamma), and h > 0. That is nearly always so.
    Invariant: ``out[:i]`` is a function of ``words[:row]``. (Indices are unsigned: no test for
    negative ones.)
    """
    fixed, sign_bit, places = np.uint64(RATE_BITS) - bits, bits - _ONE, width - _ONE
    slope = ((_TWO * width * places * (rate + _ONE)) >> fixed) + _ONE
    sure = (_ONE << bits) - ((places * places * (rate + _ONE)) >> fixed) - _TWO
    size, rows = np.uint64(out.size), np.uint64(words.shape[0])
    i = row = _ZERO
    while True:
        run = min(size - i, rows - row)
        h = second = third = _ZERO
        known = surely = True
        for j in range(run):
            at = row + np.uint64(j)
            h, known = _place(words[at, 0], boundaries, guide, shift)
            second, third = np.uint64(words[at, 1]), np.uint64(words[at, 2])
            surely = bool(third + h * slope < sure and h != _ZERO)
            if not (known and surely):
                run = np.uint64(j)
                break
            magnitude, sign = np.int64(h * width + (second & places)), -np.int64(second >> sign_bit)
            out[i + np.uint64(j)] = (magnitude ^ sign) - sign  # all bits of the sign are 1, or 0
        i += run
        row += run
        if surely or not known:
            return int(i), int(row)
        start, place = h * width, second & places
        verdict = _verdict(third, place * (start + start + place), rate, fixed, bits)
        if verdict == _UNDECIDED:
            return int(i), int(row)
        row += _ONE
        magnitude, sign = np.int64(start + place), -np.int64(second >> sign_bit)
        if verdict == _ACCEPTED and (magnitude | ~sign) != 0:  # no minus zero
            out[i] = (magnitude ^ sign) - sign
            i += _ONE
