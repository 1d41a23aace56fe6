"""Negative binomial draws: bounds against exact values, doubles against decimals, and the law."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest, nbinom

from dpcore.noise import DiscreteLaplace, negative_binomial, polya
from dpcore.noise.log_gamma import log_gamma
from dpcore.noise.negative_binomial import draws, envelope, ratio
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from dpcore.trust import DistributedNoise

LAWS = [
    (65, Fraction(1, 3)),
    (100, Fraction(1)),
    (1000, Fraction(15)),
    (10**6, Fraction(15)),
    (10**6, Fraction(1, 5)),
    (10**9, Fraction(2**20)),
    (2**40, Fraction(2**20)),
]
ENDS = [
    (200, Fraction(2**53 - 1)),
    (255, Fraction(2**53 - 1)),
    (64, Fraction(1, 2**40)),
    (2**100, Fraction(1, 2**62 + 1)),
    (2**100, Fraction(1, 80)),
    (2**61, Fraction(1)),
]


def seeded(seed):
    return source(np.random.default_rng(seed))


class Words:
    """A stream that is written down: each word again and again."""

    simulated = True

    def __init__(self, *words):
        self.words = list(words)

    def fill(self, words):
        words[:] = [self.words.pop(0) for _ in range(words.size)]


def exact(law, d):
    """P(mode + d) / P(mode), to many digits."""
    with mpmath.workdps(250):
        k, n = law.mode + d, law.n
        if k < 0:
            return mpmath.mpf(0)
        steps = mpmath.loggamma(n + k) - mpmath.loggamma(n + law.mode)
        steps -= mpmath.loggamma(k + 1) - mpmath.loggamma(law.mode + 1)
        return mpmath.exp(steps - mpmath.mpf(d * law.scale.denominator) / law.scale.numerator)


@pytest.mark.parametrize("digits", [50, 75, 120])
@pytest.mark.parametrize("x", [1, 2, 3, 49, 50, 51, 1000, 10**12, 2**61])
def test_logarithms_of_factorials(x, digits):
    with mpmath.workdps(200):
        expected = mpmath.loggamma(x)
        found = mpmath.mpf(str(log_gamma(x, digits)))
        assert abs(found - expected) < (1 + abs(expected)) * mpmath.mpf(10) ** (5 - digits)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*LAWS, *ENDS]), st.integers(-(2**20), 2**20), st.sampled_from([0, 25]))
def test_bounds_hold_the_exact_ratio(which, steps, more):
    law = envelope(*which)
    d, digits = steps * law.width // 2**17, law.digits + more
    low, high = (Fraction(bound, 2 ** (3 * digits)) for bound in ratio(*law[:3], d, digits))
    with mpmath.workdps(250):
        true = exact(law, d)
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert true <= mpmath.mpf(high.numerator) / high.denominator
    assert high - low <= Fraction(1, 10**30)


@pytest.mark.parametrize("which", [*LAWS, *ENDS], ids=str)
def test_modes_and_widths(which):
    law = envelope(*which)
    assert exact(law, 1) <= 1
    assert exact(law, -1) <= 1
    assert max(exact(law, law.width), exact(law, -law.width)) <= 0.5
    deviation = np.sqrt(nbinom(float(which[0]), -np.expm1(-1 / float(which[1]))).var())
    assert law.width <= 2 * deviation + 3
    assert law.width < 2**58


@pytest.mark.parametrize("which", LAWS[2:4] + LAWS[5:], ids=str)
def test_doubles_decide_as_decimals_do(which):
    """Also in the narrow strips on both sides of what they leave open."""
    law, rng = envelope(*which), np.random.default_rng(1)
    d = rng.integers(-3 * law.width, 3 * law.width, 400)
    doublings = rng.integers(0, 4, 400)
    pairs = zip(d.tolist(), doublings.tolist(), strict=True)
    near = np.array([float(min(1, 2**j * exact(law, x))) for x, j in pairs])
    shifts = rng.choice([0.0, 2.0**-44, -(2.0**-44), 2.0**-36, -(2.0**-36), 0.1, -0.1], 400)
    words = np.clip(near * (1 + shifts), 0, 1 - 2.0**-53) * 2.0**64
    accepted, decided = negative_binomial._by_doubles(law, d, doublings, words.astype(np.uint64))
    assert 50 < decided.sum() < 400
    assert not np.any(accepted & ~decided)
    for at in np.flatnonzero(decided):
        word, j = int(words.astype(np.uint64)[at]), int(doublings[at])
        found = negative_binomial._exactly(law, int(d[at]), j, word, seeded(2))
        assert found == accepted[at]


def test_a_tie_is_broken_by_more_bits():
    law = envelope(1000, Fraction(15))
    low, _ = ratio(*law[:3], 17, law.digits + 100)
    word = low >> (3 * (law.digits + 100) - 64)  # the first 64 bits of the ratio
    after = (low >> (3 * (law.digits + 100) - 128)) % 2**64
    assert negative_binomial._exactly(law, 17, 0, word, Words(after - 1))
    assert not negative_binomial._exactly(law, 17, 0, word, Words(after + 1))


def test_offsets_are_equally_likely_and_blocks_halve():
    law = envelope(1000, Fraction(15))
    most = 2**64 - 2**64 % law.width
    words = np.array([[0, 0], [most - 1, most], [0, 0]], np.uint64)
    values, accepted = negative_binomial._trials(law, 2, Words(*words.reshape(-1).tolist()))
    assert accepted.tolist() == [True, False]
    assert values[0] == law.mode + law.width - 1
    ones = negative_binomial._ones(np.array([0, 1, 3, 2, 2**62 - 1, 2**63 - 1], np.uint64))
    assert ones.tolist() == [0, 1, 2, 0, 62, 63]
    assert negative_binomial._more_ones(Words(2**64 - 1, 0b1011)) == 66


@pytest.mark.sample(2)
@pytest.mark.parametrize("which", LAWS, ids=str)
def test_draws_have_the_law(which):
    found = draws(envelope(*which), 10_000, seeded(7))
    law = nbinom(which[0], -np.expm1(-1 / float(which[1])))
    spread = np.random.default_rng(8).random(found.size) * law.pmf(found)
    assert kstest(law.cdf(found) - spread, "uniform").pvalue > 1e-6


def test_draws_have_the_law_cell_by_cell():
    n, scale = 65, Fraction(1, 3)
    found = draws(envelope(n, scale), 30_000, seeded(9))
    a = np.exp(-3.0)
    law = [(1 - a) ** n * comb(k - 1 + n, k) * a**k for k in range(9)]
    law.append(1 - sum(law))
    cells = np.bincount(np.minimum(found, 9), minlength=10)
    assert chisquare(cells, 30_000 * np.array(law)).pvalue > 1e-6


@pytest.mark.needs_jit
def test_many_units_at_once_have_the_law_of_one_by_one(monkeypatch):
    law = PolyaShares(Fraction(5, 2), 3)
    count, size = 3 * 1030 + 2, 4000
    at_once = law.sum_of(count, size, seeded(10))
    monkeypatch.setattr(polya, "_FEW", 2**20)
    one_by_one = law.sum_of(count, size, seeded(11))
    scale = np.sqrt(count * law.variance)
    for each in (at_once, one_by_one):
        assert kstest(each / scale, "norm").pvalue > 1e-6  # 1,030 units are near a normal law
        assert each.var() == pytest.approx(scale**2, rel=0.15)


def test_few_units_keep_their_numbers():
    expected, more = np.empty(50, np.int64), np.empty(50, np.int64)
    stream = seeded(3)
    DiscreteLaplace(Fraction(15)).fill(expected, stream)
    for _ in range(1023):
        DiscreteLaplace(Fraction(15)).fill(more, stream)
        expected += more
    found = PolyaShares(15, 1).sum_of(1024, 50, seeded(3))
    assert found.tolist() == expected.tolist()


def test_units_are_not_drawn_one_by_one(monkeypatch):
    """A million clients of whom one is required: before, a million draws for each count."""
    filled = []
    fill = DiscreteLaplace.fill

    def counted(self, out, stream):
        filled.append(out.size)
        assert len(filled) < 2000, "one by one"
        fill(self, out, stream)

    monkeypatch.setattr(DiscreteLaplace, "fill", counted)
    clients = 10**6
    trust = DistributedNoise(1.0, clients=clients, dropout=1 - 1e-6, branching=4)
    assert trust.required <= 2
    counts = np.full(16, clients // 16)
    released = trust.release(counts, rng=np.random.default_rng(1), replicates=300)
    errors = (released - np.cumsum(counts))[:, :-1]
    stated = trust.noise_deviation(16)[:-1]
    assert errors.var(axis=0) == pytest.approx(stated**2, rel=0.45)
    assert np.mean(errors.var(axis=0) / stated**2) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("which", ENDS, ids=str)
def test_ends_of_the_range(which):
    found = draws(envelope(*which), 50, seeded(12))
    mean = nbinom(float(which[0]), -np.expm1(-1 / float(which[1]))).mean()
    assert found.min() >= 0
    assert found.mean() == pytest.approx(mean, rel=0.1)
