"""Exact samplers: integers from words of uniform random bits.

A sampler is a deterministic function of an infinite stream of uniform 32-bit words. It gets a
finite window of that stream. When the window ends inside a draw, the draw is rolled back, and the
caller shows the same words again with more behind them. So the output depends only on the stream,
never on its windows. (Restarting a draw on *new* words would favour draws that need few words.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compile import inner, kernel

FACTORIAL_12 = np.uint64(479001600)
WORD_BITS = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)
MOST_COUNT = np.uint64(2**62)


@inner
def word_at(words: NDArray[np.uint32], at: int) -> np.uint64:
    """Return word ``at``, or 0 past the end.

    A caller that reads past the end has a position beyond ``words.size`` from then on. That ends
    every loop, and the draw is rolled back, whatever it made of the zeros.
    """
    return np.uint64(words[at]) if at < words.size else np.uint64(0)


@kernel
def uniform(words: NDArray[np.uint32], at: int, bound: np.uint64) -> tuple[np.uint64, int]:
    """Draw uniformly from {0, ..., bound - 1}, 1 <= bound < 2^63; return it and the next position.

    Bounds below 2^32 use Lemire's multiplication with rejection (Fast random integer generation in
    an interval, 2019, Alg. 5). Larger bounds use 64-bit words modulo the bound, and reject the
    incomplete last period. Invariant: every value that is not rejected is the image of equally many
    words. (A loop runs while ``at <= end``. It may end with a rejected value only after reading
    past the end.)
    """
    end = words.size
    if bound <= LOW:
        product = word_at(words, at) * bound
        at += 1
        if (product & LOW) < bound:
            rejected = (LOW - bound + ONE) % bound  # 2^32 mod bound
            while (product & LOW) < rejected and at <= end:
                product = word_at(words, at) * bound
                at += 1
        return product >> WORD_BITS, at
    wide = (word_at(words, at) << WORD_BITS) | word_at(words, at + 1)
    at += 2
    remainder = wide % bound
    # The period that starts at wide - remainder is complete unless it extends beyond 2^64.
    while (wide - remainder) > (~ZERO - bound + ONE) and at <= end:
        wide = (word_at(words, at) << WORD_BITS) | word_at(words, at + 1)
        at += 2
        remainder = wide % bound
    return remainder, at


@inner
def bernoulli_exp_fraction(
    words: NDArray[np.uint32], at: int, part: np.uint64, whole: np.uint64
) -> tuple[bool, int]:
    """Bernoulli(exp(-part / whole)) for 0 <= part < whole (CKS 2020, Algorithm 1, gamma <= 1).

    Invariant: at step k, all of Bernoulli(g / 1), ..., Bernoulli(g / (k - 1)) succeeded. The result
    is true if the first failure is at an odd k. Bernoulli(g / k) is {uniform below k is 0} and
    {uniform below whole is < part}.
    """
    drawn, at = uniform(words, at, whole)
    k = ONE
    success = drawn < part
    while success and at <= words.size:
        k += ONE
        drawn, at = uniform(words, at, k)
        success = drawn == ZERO
        if success:
            drawn, at = uniform(words, at, whole)
            success = drawn < part
    return (k & ONE) == ONE, at


@kernel
def bernoulli_exp_one(words: NDArray[np.uint32], at: int) -> tuple[bool, int]:
    """Bernoulli(exp(-1)) (CKS 2020, Algorithm 1, gamma = 1), with its first steps from one word.

    The first failure K has P(K > k) = 1 / k!. So with r uniform below 12!, K > k means r < 12! / k!
    for k <= 12. r = 0 means K > 12, and the steps go on one by one from 13.
    """
    r, at = uniform(words, at, FACTORIAL_12)
    if r == ZERO:
        k = np.uint64(13)
        drawn, at = uniform(words, at, k)
        while drawn == ZERO and at <= words.size:
            k += ONE
            drawn, at = uniform(words, at, k)
        return (k & ONE) == ONE, at
    odd = False
    k = np.uint64(2)
    least = FACTORIAL_12 >> ONE  # 12! / k!
    while r < least:
        odd = not odd
        k += ONE
        least = least // k
    return odd, at


@kernel
def bernoulli_two_over_e(words: NDArray[np.uint32], at: int) -> tuple[bool, int]:
    """Bernoulli(2 / e): the first failure K of Bernoulli(1 / 3), Bernoulli(1 / 4), ... is odd.

    P(K > k) = 2 / k!, so P(K odd) = 2 (1 / 2! - 1 / 3! + 1 / 4! - ...). It is
    ``bernoulli_exp_one``, given that the trial of 1 / 2 succeeded.
    """
    k = np.uint64(3)
    drawn, at = uniform(words, at, k)
    while drawn == ZERO and at <= words.size:
        k += ONE
        drawn, at = uniform(words, at, k)
    return (k & ONE) == ONE, at
