"""Sums of Polya shares as noise: exact ratios of laws, and lower bounds on epsilon from draws."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from tests.audit.harness import both_ways

SHARES = 50
BROKEN = {
    "shares for 1.44 times as many": lambda scale: PolyaShares(scale, int(1.44 * SHARES)),
    "a scale that is a fifth too small": lambda scale: PolyaShares(scale * Fraction(4, 5), SHARES),
}


def law(scale, shape, size):
    """P(0), P(1), ... of NB(r, a) - NB(r, a), to many digits, by adding up the products."""
    with mpmath.workdps(60):
        r, a = mpmath.mpf(shape.numerator) / shape.denominator, mpmath.exp(-1 / mpmath.mpf(scale))
        terms = [(1 - a) ** r]
        while len(terms) < size + 140 * scale:
            terms.append(terms[-1] * (len(terms) - 1 + r) / len(terms) * a)
        return [mpmath.fdot(zip(terms, terms[y:], strict=False)) for y in range(size)]


def cost(scale, shape, size=30):
    """The largest log ratio of P(y) and P(y + 1): what a count that changes by 1 shows."""
    found = law(scale, shape, size)
    return max(abs(float(mpmath.log(p / q))) for p, q in pairwise(found))


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_enough_shares_cost_epsilon_and_too_few_cost_more(scale):
    assert cost(scale, Fraction(1)) == pytest.approx(1 / scale, rel=1e-12)
    for reporting in (51, 100, 500):
        assert cost(scale, Fraction(reporting, SHARES)) <= (1 + 1e-12) / scale
    assert cost(scale, Fraction(49, SHARES)) > (1 + 1e-6) / scale
    assert cost(scale, Fraction(35, SHARES)) > 1.15 / scale


def reported(shares, count, clients, seed, releases=400_000):
    """A count with the noise of all reports."""
    stream = source(np.random.default_rng(seed))
    return count + shares.sum_of(clients, releases, stream)[:, None]


def audited(shares, clients=SHARES):
    return both_ways(*(reported(shares, count, clients, 100 + count) for count in (6, 5)))


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2)], ids=str)
def test_claim_holds(scale):
    claim = float(1 / scale)
    assert 0.85 * claim < audited(PolyaShares(scale, SHARES)) <= claim
    assert audited(PolyaShares(scale, SHARES), clients=SHARES + 20) <= claim


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(2)], ids=str)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_fifth_less_noise_is_caught(scale, broken):
    assert audited(BROKEN[broken](scale)) > float(1 / scale)


@pytest.mark.needs_jit
def test_claim_holds_for_reports_that_are_made_one_by_one():
    """Every client makes its own share, and one of them has the record."""

    def summed(count, seed):
        reports = np.empty((SHARES, 200_000), np.int64)
        PolyaShares(Fraction(1), SHARES).fill(reports, source(np.random.default_rng(seed)))
        reports[0] += count
        return reports.sum(axis=0)[:, None]

    assert 0.85 < both_ways(summed(6, 1), summed(5, 2)) <= 1.0


@pytest.mark.needs_jit
def test_identical_inputs_show_nothing():
    first, second = (reported(PolyaShares(1, SHARES), 5, SHARES, seed) for seed in (1, 2))
    assert both_ways(first, second) < 0.05
