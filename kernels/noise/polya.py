"""Polya shares as the events of a compound Poisson process, exactly; time is spent on events only.

A share NB(r, a) - NB(r, a), a = exp(-1 / s), is a sum of events +k and -k for k = 1, 2, .... The
number of each event is a Poisson variable of mean r a^k / k. A vector of shares is made of
*proposals*, whose total number is a Poisson variable. Each proposal is for one entry and one sign,
both uniform, and for one of J + 1 blocks of sizes k, 2^J >= s. It adds its k with probability
a^k / k over J + 1. docs/proofs/trust.md has the proofs. The rules of samplers.py for windows and
for words past the end hold here, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from .samplers import (
    FACTORIAL_12,
    MOST_COUNT,
    ONE,
    ZERO,
    bernoulli_exp_fraction,
    bernoulli_exp_one,
    bernoulli_two_over_e,
    uniform,
    word_at,
)

_WEIGHTS = np.uint64(1302061345)  # the sum of 12! / n! over n = 0, ..., 12
_LAST = 12
_MOST_SHIFT = 61
_TWO = np.uint64(2)


@inner
def _poisson_one(words: NDArray[np.uint32], at: int) -> tuple[int, int]:
    """Draw from Poisson(1), by rejection: every trial ends with n in proportion to 12! / n!.

    A uniform number below the sum of these weights for n <= 12, plus 1, decides. The 1 is for
    n > 12. There n = 13 + i with a geometric i has probability 2^-(i + 1). It is accepted with
    probability 2 / 13 times 2 / 14 times ... 2 / (13 + i), which gives 12! / (13 + i)! in all.
    Invariant: r is below the sum of the weights of n and of all larger numbers.
    """
    n = 0
    drawn = False
    while not drawn and at <= words.size:
        r, at = uniform(words, at, _WEIGHTS + ONE)
        n = 0
        weight = FACTORIAL_12
        while n <= _LAST and r >= weight:
            r -= weight
            n += 1
            weight = weight // np.uint64(n)
        drawn = n <= _LAST
        if not drawn:
            n = _LAST
            more = True
            while more and at <= words.size:
                n += 1
                u, at = uniform(words, at, np.uint64(n))
                drawn = bool(u < _TWO)
                more = False
                if drawn:
                    more = (word_at(words, at) & ONE) == ONE
                    at += 1
    return n, at


@inner
def _size(
    words: NDArray[np.uint32],
    at: int,
    block: int,
    blocks: int,
    numerator: np.uint64,
    denominator: np.uint64,
) -> tuple[np.uint64, int]:
    """Return the size k of a proposal in a block, or 0 if it is rejected.

    Block j < J is 2^j <= k < 2^(j + 1), and k comes with probability exp(-k / s) / k. Block J
    stands for all later blocks in the same way. J + i is chosen with probability 2^-(i + 1), and
    the factor (2 / e)^(i + 1) exp(i + 1 - k / s) makes this exp(-k / s). Here
    k >= 2^i s >= (i + 1) s. Sizes beyond 2^62 / den are rejected; k / s is above 500 there.
    """
    shift = block
    periods = 0
    if block == blocks:
        periods = 1
        while (word_at(words, at) & ONE) == ONE:  # the loop ends, because words past the end are 0
            periods += 1
            at += 1
        at += 1
        shift = blocks + periods - 1
        trials = periods
        passed = True
        while trials > 0 and passed and at <= words.size:
            trials -= 1
            passed, at = bernoulli_two_over_e(words, at)
        if not passed or shift > _MOST_SHIFT:
            return ZERO, at
    least = ONE << np.uint64(shift)
    rest, at = uniform(words, at, least)
    k = least + rest
    if k > MOST_COUNT // denominator:
        return ZERO, at
    u, at = uniform(words, at, k)
    if u >= least:
        return ZERO, at
    gamma = k * denominator - np.uint64(periods) * numerator  # multiplied by num
    whole = gamma // numerator
    accepted = True
    while whole > ZERO and accepted and at <= words.size:
        whole -= ONE
        accepted, at = bernoulli_exp_one(words, at)
    if accepted:
        accepted, at = bernoulli_exp_fraction(words, at, gamma % numerator, numerator)
    return k if accepted else ZERO, at


@kernel
def add_shares(
    words: NDArray[np.uint32],
    out: NDArray[np.int64],
    blocks: int,
    numerator: np.uint64,
    denominator: np.uint64,
    full: int,
    part: np.uint64,
    whole: np.uint64,
    begun: int,
    pending: int,
) -> tuple[int, int, int]:
    """Add to each entry of ``out`` an independent NB(r, a) - NB(r, a), a = exp(-den / num).

    Parameters
    ----------
    words
        Uniform 32-bit words.
    out
        (D,), added to.
    blocks
        J, the least with 2^J >= num / den.
    numerator, denominator
        The scale, as a fraction; numerator < 2^53, denominator < 2^63.
    full, part, whole
        2 D (J + 1) r = full + part / whole, part < whole: the mean number of proposals.
    begun, pending
        The progress so far: 0 and 0 in the first call, and then the returned values.

    Returns
    -------
    begun, pending, used
        The number of proposals is a sum of Poisson variables of mean 1, and one of mean
        part / whole. ``begun`` of these variables are drawn, and ``pending`` proposals of the last
        one are still to be made. The work is done if ``pending`` is 0 and all variables are begun.
        The caller must show the words from ``used`` on again, in front of new ones.

    Notes
    -----
    Invariant: ``out``, ``begun`` and ``pending`` are functions of ``words[:start]`` and of nothing
    after it. The r of a sum of many clients' shares is the sum of their r.
    """
    at = 0
    units = full + (1 if part > ZERO else 0)
    classes = np.uint64(2 * (blocks + 1))
    places = classes * np.uint64(out.size)
    while pending > 0 or begun < units:
        start = at
        if pending == 0:
            points, at = _poisson_one(words, at)
            if at > words.size:
                return begun, pending, start
            begun += 1
            pending = points
            continue
        kept = True
        if begun > full:  # keeps each point of mean 1 with probability part / whole
            u, at = uniform(words, at, whole)
            kept = bool(u < part)
        k = ZERO
        place = ZERO
        if kept:
            place, at = uniform(words, at, places)
            block = int(np.int64((place % classes) >> ONE))
            k, at = _size(words, at, block, blocks, numerator, denominator)
        if at > words.size:
            return begun, pending, start
        pending -= 1
        if k > ZERO:
            entry = np.int64(place // classes)
            out[entry] += -np.int64(k) if (place & ONE) == ONE else np.int64(k)
    return begun, pending, at
