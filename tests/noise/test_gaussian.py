"""The discrete Gaussian kernel against the plain algorithm, and that against the law."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import noise
from dpcore.kernels.noise import exponential, gaussian
from dpcore.noise import windows
from dpcore.noise.sources import GeneratorSource
from tests import reference
from tests.noise.test_samplers import p_value

LARGE = 2**53 - 1  # of numerators and denominators
SIGMAS_SQUARED = [
    Fraction(1),
    Fraction(1, 7),
    Fraction(22, 7),
    Fraction(225),
    Fraction(3, 2**30),
    Fraction(1, LARGE),
    Fraction(2**40),
    Fraction(LARGE),
    Fraction(LARGE, 2**40),
    Fraction(LARGE, 2**26 + 1),
    Fraction(LARGE, LARGE - 1),
    Fraction(LARGE - 1, LARGE),
]
positive = st.integers(1, LARGE) | st.integers(1, 1000)


def plan_of(sigma_squared):
    return gaussian.plan(sigma_squared.numerator, sigma_squared.denominator)


def draw(words, size, sigma_squared):
    out = np.zeros(size, np.int64)
    drawn, used = gaussian.discrete_gaussian(words, out, plan_of(sigma_squared))
    return out[:drawn], used


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED, ids=str)
def test_is_the_plain_algorithm_on_the_same_words(sigma_squared):
    words = np.random.default_rng(1).integers(0, 2**32, 6000, dtype=np.uint32)
    fast, used = draw(words, 200, sigma_squared)
    stream = iter(words.tolist())
    plain = [reference.discrete_gaussian(stream, sigma_squared) for _ in range(fast.size)]
    assert fast.tolist() == plain
    assert used == 6000 - len(list(stream))


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(SIGMAS_SQUARED),
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
)
def test_draws_depend_on_the_stream_and_not_on_its_windows(seed, sigma_squared, cuts):
    words = np.random.default_rng(seed).integers(0, 2**32, 300, dtype=np.uint32)
    whole, _ = draw(words, 50, sigma_squared)
    pieces, start, end = [], 0, 0
    for cut in [*cuts, 300]:  # ever longer windows, each from where the last draw ended
        end = min(300, end + cut)
        piece, used = draw(words[start:end], 50 - len(pieces), sigma_squared)
        pieces += piece.tolist()
        start += used
    assert pieces == whole.tolist()


def test_python_windows_give_the_same_draws_as_one_long_window(monkeypatch):
    few, many = np.empty(300, np.int64), np.empty(300, np.int64)
    law = noise.DiscreteGaussian(Fraction(9, 2))
    law.fill(many, GeneratorSource(np.random.default_rng(3)))
    monkeypatch.setattr(windows, "WINDOW", 5)
    law.fill(few, GeneratorSource(np.random.default_rng(3)))
    assert few.tolist() == many.tolist()


# --- Bernoulli(exp(-a^2 / q)), which compares digits


def exponents(n, d, magnitude):
    """A plan, and the a and gamma of a proposal of that magnitude."""
    sigma_squared = Fraction(n, d)
    plan = plan_of(sigma_squared)
    t = int(plan.period)
    gamma = (magnitude - sigma_squared / t) ** 2 / 2 / sigma_squared
    return plan, abs(magnitude * int(plan.step) - int(plan.numerator)), gamma


@settings(max_examples=500)
@given(positive, positive, st.floats(0, 63.99))
def test_bounds_hold_the_digit_and_nearly_always_decide(n, d, periods):
    plan, a, gamma = exponents(n, d, int(periods * (isqrt(n // d) + 1)))
    whole, least, most = exponential._bounds(np.uint64(a), plan.divisor)
    assert whole == int(gamma)
    assert least <= int(gamma % 1 * 2**32) <= most
    assert most - least < 2**14 * max(1, d / n)


@settings(max_examples=500)
@given(
    positive,
    positive,
    st.floats(0, 63.99),
    st.integers(0, 3),
    st.integers(-3, 3),
    st.lists(st.integers(0, 2**32 - 1), min_size=3, max_size=3),
)
def test_uniform_reals_that_agree_with_gamma_in_some_digits(n, d, periods, ties, off, more):
    plan, a, gamma = exponents(n, d, int(periods * (isqrt(n // d) + 1)))
    digits = [int(gamma * 2 ** (32 * k)) % 2**32 for k in range(1, ties + 2)]
    digits[-1] = min(max(digits[-1] + off, 0), 2**32 - 1)
    words = [*digits, *more, 7, 2**32 - 1]
    _, least, most = exponential._bounds(np.uint64(a), plan.divisor)
    value, at = exponential._is_below(
        np.array(words, np.uint32), 0, least, most, np.uint64(a), plan.divisor
    )
    stream = iter(words)
    assert value == reference.bernoulli(stream, gamma % 1)
    assert at == len(words) - len(list(stream))


@pytest.mark.parametrize(
    ("a", "q"),
    [
        (3 * 2**20, 2**40),  # gamma = 9: no fraction
        (2**30, 2**60 + 1),  # just below 1
        (2**30, 2**60 - 1),  # just above 1
        (2**61 - 1, 2**108 + 2**64 - 1),
        (2**61 - 1, 2**64),  # q's lower word is 0
        (5, 3),
    ],
)
def test_bernoulli_exp_square_at_its_edges(a, q):
    for quick in (0, 2**62):
        for seed in range(40):
            words = np.random.default_rng(seed).integers(0, 2**32, 400, dtype=np.uint32)
            words[seed % 3 :: 3] //= 2**31  # zeros and ones: long runs of successes
            value, at = exponential.bernoulli_exp_square(
                words, 0, np.uint64(a), exponential.divisor(q, quick)
            )
            stream = iter(words.tolist())
            assert value == reference.bernoulli_exp_fraction(stream, Fraction(a * a, q))
            assert at == 400 - len(list(stream))


# --- the plain algorithm has the law


class Choices:
    """Stands for the words, and walks through all outcomes of all random choices, one a run."""

    def __init__(self):
        self.planned = []

    def restart(self):
        self.made, self.probability = [], 1.0

    def choose(self, probabilities):
        at = len(self.made)
        choice = self.planned[at] if at < len(self.planned) else 0
        self.made.append((choice, len(probabilities)))
        self.probability *= probabilities[choice]
        if self.probability < 1e-11:
            raise StopIteration  # what is left below here does not matter
        return choice

    def advance(self):
        """Plan the next run; say whether there is one."""
        while self.made and self.made[-1][0] == self.made[-1][1] - 1:
            self.made.pop()
        self.planned = [choice for choice, _ in self.made]
        if self.planned:
            self.planned[-1] += 1
        return bool(self.planned)

    def __next__(self):
        return self.choose([0.5, 0.5])  # only the parity of a bare word is looked at


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 3), Fraction(1), Fraction(13, 3)], ids=str)
def test_plain_algorithm_has_the_law(sigma_squared, monkeypatch):
    def uniform(choices, bound):
        return choices.choose([1 / bound] * bound)

    def bernoulli(choices, p):
        return choices.choose([1 - float(p), float(p)]) == 1

    monkeypatch.setattr(reference.noise, "uniform", uniform)
    monkeypatch.setattr(reference.noise, "bernoulli", bernoulli)
    monkeypatch.setattr(reference.noise, "bernoulli_exp_one", lambda c: bernoulli(c, np.exp(-1)))
    choices, law = Choices(), {}
    while True:
        choices.restart()
        try:
            y = reference.discrete_gaussian_proposal(choices, sigma_squared)
        except StopIteration:
            pass
        else:
            law[y] = law.get(y, 0.0) + choices.probability
        if not choices.advance():
            break
    law.pop(None)
    total = sum(law.values())
    for y in range(-8, 9):
        expected = reference.discrete_gaussian_pmf(y, sigma_squared)
        assert law.get(y, 0.0) / total == pytest.approx(expected, abs=1e-7)


# --- and so have the draws


def gaussian_p_value(draws, sigma_squared):
    edge = int(6 * float(sigma_squared) ** 0.5) + 2
    return p_value(draws, edge, lambda y: reference.discrete_gaussian_pmf(y, sigma_squared))


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "sigma_squared", [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(400)], ids=str
)
@pytest.mark.parametrize("stream", ["seeded", "cryptographic"])
def test_law(sigma_squared, stream):
    rng = np.random.default_rng(12) if stream == "seeded" else None
    draws = noise.discrete_gaussian(sigma_squared, 1_000_000, rng)
    assert gaussian_p_value(draws, sigma_squared) > 1e-9


@pytest.mark.needs_jit
def test_the_law_test_would_notice_a_slightly_wrong_sigma():
    draws = noise.discrete_gaussian(Fraction(205, 2), 1_000_000, np.random.default_rng(12))
    assert gaussian_p_value(draws, Fraction(100)) < 1e-9


@pytest.mark.needs_jit
def test_the_law_test_would_notice_rounded_continuous_noise():
    draws = np.rint(np.random.default_rng(12).normal(0, 1, 1_000_000)).astype(np.int64)
    assert gaussian_p_value(draws, Fraction(1)) < 1e-9


@pytest.mark.needs_jit
def test_large_sigma_has_the_continuous_laws_shape():
    draws = noise.discrete_gaussian(Fraction(2**53 - 1), 200_000, np.random.default_rng(12))
    standard = draws / float(2**53) ** 0.5
    for power, moment, deviation in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((standard**power).mean() - moment) < 5 * (deviation / draws.size) ** 0.5


@pytest.mark.parametrize(
    "sigma_squared",
    [
        *(Fraction(1, k) for k in (1000, 100, 10, 7, 6, 3, 2, 1)),
        Fraction(1.0 / (2 * np.pi)),
        Fraction(22, 7),
        Fraction(1000),
    ],
    ids=float,
)
def test_variance_to_twelve_digits(sigma_squared):
    sigma_squared = sigma_squared.limit_denominator(2**50)
    with mpmath.workdps(50):
        rate = mpmath.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [mpmath.exp(-rate * y * y) for y in range(1, 500)]
        squares = mpmath.fsum(y * y * weight for y, weight in enumerate(weights, 1))
        exact = squares / (mpmath.fsum(weights) + mpmath.mpf(1) / 2)
    assert noise.DiscreteGaussian(sigma_squared).variance == pytest.approx(float(exact), rel=1e-12)


def test_variance_far_out():
    assert noise.DiscreteGaussian(Fraction(LARGE)).variance == LARGE
    assert noise.DiscreteGaussian(Fraction(1, LARGE)).variance == 0.0
