"""Exact samplers on a stream of words, and the laws of what they draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import factorial, isqrt

import mpmath
import numpy as np

# --- inversion: the least k with U <= F(k), for a uniform real U whose digits are words

_DIGITS = 150  # of decimal arithmetic: more than the words of a test have


def inverted(words: Iterator[int], bits: int, law: Callable[[int], mpmath.mpf], first: int) -> int:
    """Words of so many bits are read until one k alone is left; ``first`` is the least k there is.

    ``law`` gives F(k), from -inf to inf or from ``first`` on.
    """
    with mpmath.workdps(_DIGITS):
        low, unit = mpmath.mpf(0), mpmath.mpf(1)
        while True:
            unit /= 2**bits
            low += next(words) * unit
            k = _least(law, low, first)
            if low + unit < law(k):
                return k


def _least(law: Callable[[int], mpmath.mpf], u: mpmath.mpf, first: int) -> int:
    """The least k >= first with u < F(k), by doubling steps and halving."""
    step = 1
    while law(first + step) <= u:
        step *= 2
    low, high = first - 1, first + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if law(middle) > u else (middle, high)
    return high


def discrete_laplace_digits(
    words: Iterator[int], scale: Fraction, digits: int, radix: int, bits: int = 32
) -> int:
    """A two-sided first digit, which counts in steps of radix^(digits - 1), and geometric ones."""
    with mpmath.workdps(_DIGITS):
        rate = mpmath.mpf(scale.denominator) / scale.numerator
        width = radix ** (digits - 1)
        q, ratio = mpmath.exp(-rate), mpmath.exp(-rate * width)

        def two_sided(h: int) -> mpmath.mpf:
            return q * ratio ** (-1 - h) / (1 + q) if h < 0 else 1 - ratio ** (h + 1) / (1 + q)

        # below this there is less than 10^-170
        first = inverted(words, bits, two_sided, -int(400 * scale / width) - 2)
        magnitude = first if first >= 0 else -1 - first
        for place in range(digits - 2, -1, -1):
            r = mpmath.exp(-rate * radix**place)

            def geometric(k: int, r: mpmath.mpf = r) -> mpmath.mpf:
                return (1 - r ** (k + 1)) / (1 - r**radix) if k < radix - 1 else mpmath.mpf(1)

            magnitude = magnitude * radix + inverted(words, bits, geometric, 0)
        return magnitude if first >= 0 else -1 - magnitude


@lru_cache
def bell_law(rate: Fraction, two_sided: bool) -> Callable[[int], mpmath.mpf]:
    """F of P(k) in proportion to exp(-rate k^2), on all integers or from 0 on."""
    with mpmath.workdps(_DIGITS):
        exact = mpmath.mpf(rate.numerator) / rate.denominator
        edge = int(mpmath.sqrt(400 / exact)) + 2  # there is less than 10^-170 beyond
        first = -edge if two_sided else 0
        sums = [mpmath.mpf(0)]
        for k in range(first, edge + 1):
            sums.append(sums[-1] + mpmath.exp(-exact * k * k))
        return lambda k: sums[min(max(k - first + 1, 0), len(sums) - 1)] / sums[-1]


def discrete_gaussian_bins(
    words: Iterator[int], sigma_squared: Fraction, width: int, bits: int = 32
) -> int:
    """A bin by inversion, a place in it, and a rejection."""
    bin_law = bell_law(width**2 / (2 * sigma_squared), two_sided=False)
    while True:
        start = inverted(words, bits, bin_law, 0) * width
        second = next(words)
        magnitude, negative = start + second % width, second >= 2 ** (bits - 1)
        gamma = Fraction(magnitude**2 - start**2) / (2 * sigma_squared)
        accepted = below_exponential(words, bits, gamma)
        if accepted and not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def below_exponential(words: Iterator[int], bits: int, gamma: Fraction) -> bool:
    """Whether a uniform real, its digits words, is below exp(-gamma)."""
    with mpmath.workdps(_DIGITS):
        probability = mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator)
        low, unit = mpmath.mpf(0), mpmath.mpf(1)
        while True:
            unit /= 2**bits
            low += next(words) * unit
            if low + unit <= probability:
                return True
            if low >= probability:
                return False


# --- another way to the laws: Canonne, Kamath & Steinke (2020), on a stream of 32-bit words


def uniform(words: Iterator[int], bound: int) -> int:
    """Uniform on {0, ..., bound - 1}: a word (or two) with the values that would bias rejected."""
    while True:
        if bound < 2**32:
            product = next(words) * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32
        else:
            word = next(words) * 2**32 + next(words)
            if word < 2**64 - 2**64 % bound:
                return word % bound


def bernoulli_exp(words: Iterator[int], part: int, whole: int) -> bool:
    """Bernoulli(exp(-part / whole)), part < whole: Algorithm 1."""
    k = 1
    while (k == 1 or uniform(words, k) == 0) and uniform(words, whole) < part:
        k += 1
    return k % 2 == 1


def bernoulli_exp_one(words: Iterator[int]) -> bool:
    """Bernoulli(exp(-1)): Algorithm 1, its first twelve steps decided by one uniform number."""
    r = uniform(words, factorial(12))
    if r > 0:
        return min(k for k in range(1, 13) if r >= factorial(12) // factorial(k)) % 2 == 1
    k = 13
    while uniform(words, k) == 0:
        k += 1
    return k % 2 == 1


def discrete_laplace_proposal(words: Iterator[int], scale: Fraction) -> int | None:
    """One round of Algorithm 2 with t = numerator and s = denominator, or a rejection."""
    t, s = scale.numerator, scale.denominator
    part = uniform(words, t)
    if not bernoulli_exp(words, part, t):
        return None
    periods = 0
    while bernoulli_exp_one(words):
        periods += 1
    magnitude = (part + t * periods) // s
    negative = next(words) % 2 == 1
    if negative and magnitude == 0:
        return None
    return -magnitude if negative else magnitude


def discrete_laplace_pmf(y, scale):
    """(e^(1/s) - 1) / (e^(1/s) + 1) e^(-|y| / s)."""
    q = np.exp(-1.0 / float(scale))
    return (1 - q) / (1 + q) * q ** np.abs(y)


def discrete_laplace_tail(k, scale):
    """P(Y >= k) under discrete Laplace noise."""
    q, k = np.exp(-1 / float(scale)), np.asarray(k, float)
    half = q ** np.where(k > 0, k, 1 - k) / (1 + q)
    return np.where(k > 0, half, 1 - half)


# --- the discrete Gaussian: Canonne, Kamath & Steinke (2020), on a stream of 32-bit words


def bernoulli(words: Iterator[int], probability: Fraction) -> bool:
    """A uniform real, its base-2^32 digits the words, is below a probability < 1."""
    while True:
        digit, probability = divmod(probability * 2**32, 1)
        word = next(words)
        if word != digit:
            return word < digit


def bernoulli_exp_fraction(words: Iterator[int], gamma: Fraction) -> bool:
    """Bernoulli(exp(-gamma)), any gamma >= 0: Algorithm 1."""
    whole, rest = divmod(gamma, 1)
    for _ in range(whole):
        if not bernoulli_exp_one(words):
            return False
    k = 1
    while (k == 1 or uniform(words, k) == 0) and bernoulli(words, rest):
        k += 1
    return k % 2 == 1


def discrete_gaussian_proposal(words: Iterator[int], sigma_squared: Fraction) -> int | None:
    """One round of Algorithm 3: discrete Laplace of scale t = floor(sigma) + 1, or a rejection."""
    t = isqrt(int(sigma_squared)) + 1
    y = discrete_laplace_proposal(words, Fraction(t))
    if y is None:
        return None
    gamma = (abs(y) - sigma_squared / t) ** 2 / 2 / sigma_squared
    return y if bernoulli_exp_fraction(words, gamma) else None


def discrete_gaussian_pmf(y, sigma_squared):
    """e^(-y^2 / (2 sigma^2)) over the sum of it."""
    edge = int(40 * float(sigma_squared) ** 0.5) + 10
    total = np.sum(np.exp(-(np.arange(-edge, edge + 1.0) ** 2) / (2 * float(sigma_squared))))
    return np.exp(-(np.asarray(y, float) ** 2) / (2 * float(sigma_squared))) / total


# --- Bernoulli(2 / e), for selection


def bernoulli_two_over_e(words: Iterator[int]) -> bool:
    """2 / e = 1 - 1/3 + 1/(3 4) - ...: the first failure of 1/3, 1/4, ... is the K-th, K odd."""
    k = 3
    while uniform(words, k) == 0:
        k += 1
    return k % 2 == 1


# --- rounded Cauchy noise


def rounded_cauchy_law(middle, scale, size):
    """The probabilities of 0, ..., size - 1 for a rounded Cauchy variate, and of none of them."""
    edges = np.arctan((np.arange(size + 1) - 0.5 - middle) / float(scale)) / np.pi
    inside = np.diff(edges)
    return inside, 1.0 - inside.sum()


def rounded_cauchy(words, scale):
    """A rounded draw, from an iterator of 64-bit words: all that can be read is read first."""
    while True:
        u, v = next(words), next(words)
        negative, u, v, one = v & 1, u >> 1, v >> 1, 2**63
        while u * u + v * v < one * one:
            ends = [Fraction(a, b) * scale for a, b in ((v, u + 1), (v + 1, u)) if b > 0]
            nearest = {(end + Fraction(1, 2)) // 1 for end in ends}
            if (u + 1) ** 2 + (v + 1) ** 2 <= one * one and len(ends) == 2 and len(nearest) == 1:
                return -nearest.pop() if negative else nearest.pop()
            u, v, one = u * 2**64 + next(words), v * 2**64 + next(words), one * 2**64
