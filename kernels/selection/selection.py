"""The exponential mechanism over integer scores: exact draws from words of uniform random bits.

The rules of noise/samplers.py for windows and for words past the end hold here, too.

A candidate at distance d from the best score has weight exp(-gamma), gamma = d num / den. It is in
class c = floor(gamma), or in the last class T if T is less; 2^T >= N. With m_c candidates, class c
has ceil(m_c / 2^c) slots. A trial draws a slot, and so a class c. It must pass c trials of
Bernoulli(2 / e). Then it draws c bits, so that every candidate of the class has a chance of 2^-c
for each slot. The candidate is taken with probability exp(c - gamma). So its probability in a trial
is exp(-gamma) divided by the number of slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel
from ..noise.samplers import (
    ONE,
    ZERO,
    bernoulli_exp_fraction,
    bernoulli_exp_one,
    bernoulli_two_over_e,
    uniform,
)

MOST = np.uint64(2**63)
# The number of candidates that are counted together. The compiler vectorises a loop with no early
# exit and an unsigned index, because it then needs no test for negative indices.
_BLOCK = 512


@kernel
def rank_scores(counts: NDArray[np.int64], target: int, scores: NDArray[np.int64]) -> None:
    """Overwrite ``scores``, (N,), with -|4 F_i - target|, where F_i are the cumulative counts."""
    above = -np.int64(target)
    for i in range(counts.size):
        above += np.int64(4) * counts[i]
        scores[i] = -abs(above)


@kernel
def classes(
    scores: NDArray[np.int64], firsts: NDArray[np.uint64], members: NDArray[np.int64]
) -> np.int64:
    """Count the candidates of each class, and return the best score.

    Parameters
    ----------
    scores
        (N,) at least one.
    firsts
        (T + 1,) the least distance of each class, ceil(c den / num), from 0 up. Classes that no
        distance falls into start where the next one does.
    members
        (T + 1,) the number of candidates of each class; overwritten.

    Notes
    -----
    Distances are below 2^64, so signed differences that wrap around are correct as unsigned
    numbers. It takes O(N) if most candidates are in the last class or near the best, and O(N T) at
    worst.
    """
    best = scores[0]
    for i in range(scores.size):
        best = max(best, scores[i])
    last = firsts.size - 1
    for c in range(firsts.size):
        members[c] = 0
    for start in range(0, scores.size, _BLOCK):
        stop = min(start + _BLOCK, scores.size)
        near = 0
        for i in range(np.uint64(start), np.uint64(stop)):
            near += np.uint64(best - scores[i]) < firsts[last]
        members[last] += stop - start - near
        if near > 0:
            for i in range(start, stop):
                distance = np.uint64(best - scores[i])
                if distance < firsts[last]:
                    c = 0
                    while distance >= firsts[c + 1]:
                        c += 1
                    members[c] += 1
    return np.int64(best)


@kernel
def _member(
    scores: NDArray[np.int64], best: np.int64, first: np.uint64, final: np.uint64, rank: np.int64
) -> int:
    """Return the candidate before which ``rank`` others have a distance within [first, final].

    Invariant: ``rank`` such candidates lie between ``start`` and the result.
    """
    start = 0
    while start + _BLOCK <= scores.size:
        count = np.int64(0)
        for i in range(np.uint64(start), np.uint64(start + _BLOCK)):
            distance = np.uint64(best - scores[i])
            count += (distance >= first) & (distance <= final)
        if count > rank:
            break
        rank -= count
        start += _BLOCK
    i = start
    distance = np.uint64(best - scores[i])
    while rank > 0 or distance < first or distance > final:
        if first <= distance <= final:
            rank -= np.int64(1)
        i += 1
        distance = np.uint64(best - scores[i])
    return i


@inner
def all_slots(members: NDArray[np.int64]) -> np.int64:
    """Return the number of slots of all classes."""
    slots = np.int64(0)
    for c in range(members.size):
        slots += (members[c] + (1 << c) - 1) >> c
    return slots


@inner
def proposal(
    words: NDArray[np.uint32], at: int, members: NDArray[np.int64], slots: np.int64
) -> tuple[int, np.int64, bool, int]:
    """Begin a trial: a class, a rank in it, whether the trial goes on, and the next position."""
    slot, at = uniform(words, at, np.uint64(slots))
    place = np.int64(slot)
    c = 0
    own = members[0]
    while place >= own:
        place -= own
        c += 1
        own = (members[c] + (1 << c) - 1) >> c
    passed = True
    trials = c
    while trials > 0 and passed and at <= words.size:
        trials -= 1
        passed, at = bernoulli_two_over_e(words, at)
    if not passed:
        return c, np.int64(0), False, at
    bits, at = uniform(words, at, ONE << np.uint64(c))
    rank = (place << c) + np.int64(bits)
    return c, rank, rank < members[c] and at <= words.size, at


@inner
def acceptance(
    words: NDArray[np.uint32],
    at: int,
    distance: np.uint64,
    c: int,
    numerator: np.uint64,
    denominator: np.uint64,
) -> tuple[bool, int]:
    """End a trial: Bernoulli(exp(c - gamma)) for gamma = distance num / den >= c."""
    more = distance * numerator // denominator - np.uint64(c)
    drawn = True
    while more > ZERO and drawn and at <= words.size:
        more -= ONE
        drawn, at = bernoulli_exp_one(words, at)
    if drawn:
        part = (distance * numerator) % denominator
        drawn, at = bernoulli_exp_fraction(words, at, part, denominator)
    return drawn, at


@kernel
def exponential(
    words: NDArray[np.uint32],
    out: NDArray[np.int64],
    scores: NDArray[np.int64],
    best: np.int64,
    firsts: NDArray[np.uint64],
    members: NDArray[np.int64],
    numerator: np.uint64,
    denominator: np.uint64,
) -> tuple[int, int]:
    """Fill ``out`` with draws of the exponential mechanism (McSherry & Talwar 2007, Section 3.1).

    Parameters
    ----------
    words
        Uniform 32-bit words.
    out
        Drawn candidates, (size,).
    scores, best, firsts, members
        As in ``classes``, with T < 32.
    numerator, denominator
        The rate, num / den: both at most 2^53.

    Returns
    -------
    drawn, used
        The number of leading entries of ``out`` that are final, and the number of words that they
        took. The caller must show the words from ``used`` on again, in front of new ones.

    Notes
    -----
    Invariant: ``out[:i]`` is a function of ``words[:start]`` and of nothing after it.
    Let W >= 1 be the sum of all weights, and S the number of slots. A draw takes S / W trials on
    average. Candidates are looked up last, so it takes less than e + 1 passes over the scores: a
    lookup in a class below T is rejected with probability below 1 - 1 / e, and one in class T
    happens at most 2^T e^-T / W times for each draw. S <= T + 1 + sum m_c 2^-c. For N = 2^24, S / W
    is below 200 whatever the scores are.
    Distances are cut off at 2^63 / num, as if scores were raised to the best minus this distance.
    """
    slots = all_slots(members)
    last = members.size - 1
    most = MOST // numerator
    at = 0
    for i in range(out.size):
        start = at
        candidate = np.int64(0)
        drawn = False
        while not drawn and at <= words.size:
            c, rank, proposed, at = proposal(words, at, members, slots)
            if not proposed:
                continue
            final = firsts[c + 1] - ONE if c < last else ~ZERO
            candidate = np.int64(_member(scores, best, firsts[c], final, rank))
            distance = min(np.uint64(best - scores[candidate]), most)
            drawn, at = acceptance(words, at, distance, c, numerator, denominator)
        if at > words.size:
            return i, start
        out[i] = candidate
    return out.size, at
