"""Histogram queries and adaptive quantiles: what neighbours spend, and bounds from releases.

What adaptive quantiles spend is the cost of a coupling: the noise that makes a neighbour give the
very same answers, to the very same questions, as the records do.
"""

from __future__ import annotations

import itertools
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from dpcore.kernels.selection import adaptive as kernels
from dpcore.mechanisms.adaptive import AdaptiveQuantiles
from dpcore.mechanisms.queries import HistogramQueries, in_units
from dpcore.noise.sources import CryptographicSource, GeneratorSource
from dpcore.privacy import gaussian_delta
from tests.audit.harness import both_ways, cost, delta_lower_bound, replaced, thinner
from tests.audit.test_gaussian_mechanisms import EPSILON, RELEASES

NOISES = 40  # of each input that is coupled with its neighbours


def costliest(mechanism, size, shifts):
    """The largest share of the budget that a shift costs."""
    law, _ = mechanism.noise(size)
    budget = mechanism._budget()
    if budget.stated is None:
        most = max(cost(law, shift) for shift in shifts)
        return most / (budget.epsilon or budget.rho)
    lengths = [float(np.sqrt((shift**2).sum())) for shift in shifts]
    sigma = float(law.sigma_squared) ** 0.5
    epsilon, delta = budget.stated
    return gaussian_delta(sigma, float(epsilon), max(lengths)) / delta


# --- all neighbours of small inputs

BUDGETS = [{"epsilon": 0.7}, {"rho": 0.7}, {"epsilon": 0.7, "delta": 1e-6}]
COARSE = {"epsilon": 1e-9, "delta": 1.45e-8}  # a unit of its lattice is two counts


@pytest.mark.parametrize("bins", [2, 3, 7])
@pytest.mark.parametrize("cells", [2, 3, 5])
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_costliest_neighbours_spend_the_budget_on_bins(cells, bins, budget):
    mechanism = HistogramQueries(bins=bins, **budget)
    _, bits = mechanism.noise(cells)
    quiet = type("Quiet", (HistogramQueries,), {"noise": lambda self, size: (None, bits)})
    exact = quiet(bins=bins, **budget)

    def asked(counts):
        return exact._noisy_counts(np.array(counts), 1, CryptographicSource())[0]

    shifts = [
        asked(counts) - asked(other)
        for counts in itertools.product(range(3), repeat=cells)
        for other in replaced(counts)
    ]
    most = costliest(mechanism, cells, shifts)
    assert (0.99 if "delta" in budget else 1 - Fraction(1, 2**28)) < most <= 1


def couplings(mechanism, cells, counted):
    """Shifts of noise after which neighbours say the same as inputs; counted: their sites' counts.

    For each neighbour the same questions are asked, and answered alike: the kernel says so.
    """
    asked = mechanism.questions(cells)
    _, bits = mechanism.noise(cells)
    rng = np.random.default_rng(1)
    for first, second in counted:
        n = float(sum(first))
        totals = [in_units(np.cumsum(counts), bits) for counts in (first, second)]
        spread = max(1, int(n / 2.0**-bits))
        noise = rng.integers(-spread, spread + 1, (NOISES, asked))
        said = answers(totals[0], noise, bits, n)
        # The t-th question is the threshold that t + 1 questions know of and t do not.
        order = np.empty((NOISES, asked), np.int64)
        for t in range(asked):
            known, _ = answers(totals[0], noise[:, : t + 1], bits, n)
            before, _ = answers(totals[0], noise[:, :t], bits, n)
            order[:, t] = known.sum(axis=1) - before.sum(axis=1)
        shift = totals[0][order - 1] - totals[1][order - 1]
        again = answers(totals[1], noise + shift, bits, n)
        assert all(np.array_equal(a, b) for a, b in zip(said, again, strict=True))
        yield from shift


def answers(totals, noise, bits, n):
    thresholds = np.empty((noise.shape[0], noise.shape[1] + 2), np.int64)
    found = np.empty(thresholds.shape)
    kernels.adaptive_quantiles(totals, noise, 2.0**-bits, n, thresholds, found)
    return thresholds, found


@pytest.mark.sample(5)
@pytest.mark.parametrize(("budget", "steps"), [*itertools.product(BUDGETS, [1, 2, 3]), (COARSE, 2)])
def test_no_transcript_costs_more_than_the_budget_and_some_cost_it(budget, steps):
    cells = 5
    mechanism = AdaptiveQuantiles(steps=steps, **budget)
    pairs = [
        (counts, other)
        for counts in itertools.product(range(3), repeat=cells)
        if sum(counts) in (1, 3)
        for other in replaced(counts)
    ]
    shifts = list(couplings(mechanism, cells, pairs))
    most = costliest(mechanism, cells, shifts)
    _, bits = mechanism.noise(cells)
    if budget is COARSE:  # what it pays for rounding is what some neighbours need
        assert bits == -1
        assert max(np.abs(shift).max() for shift in shifts) == 1
        assert 0.5 < most <= 1
    else:
        assert max(np.abs(shift).max() for shift in shifts) == 2**bits
        assert (0.99 if "delta" in budget else 1 - Fraction(1, 2**28)) < most <= 1


# --- from releases


def thin(mechanism):
    """A broken copy, whose noise is a fifth too small."""

    class Thin(type(mechanism)):
        __slots__ = ()

        def noise(self, size):
            law, bits = super().noise(size)
            return thinner(law), bits

    return Thin(**{field.name: getattr(mechanism, field.name) for field in fields(mechanism)})


def stream(seed):
    return GeneratorSource(np.random.default_rng(seed))


def said(mechanism, counts, rows, seed):
    """What the mechanism says of some records before post-processing, in units: (rows, d)."""
    if isinstance(mechanism, HistogramQueries):
        return mechanism._noisy_counts(counts, rows, stream(seed))
    _, bits = mechanism.noise(counts.size)
    totals = in_units(np.cumsum(counts), bits)
    thresholds, found = mechanism._answers(totals, int(counts.sum()), 1, rows, stream(seed))
    return np.hstack([thresholds[:, 1:-1], np.rint(found[:, 1:-1] * 2.0**bits).astype(int)])


PURE = [
    (HistogramQueries(2.0, 2), (9, 9), (8, 10), 500_000),
    (AdaptiveQuantiles(3.0, 2), (12, 12, 12, 12), (11, 12, 12, 13), 500_000),
    *(
        pytest.param(mechanism, first, second, 2_000_000, marks=pytest.mark.full)
        for mechanism, first, second in [
            (HistogramQueries(5.0, 3), (5, 4, 4, 5), (4, 4, 4, 6)),
            (AdaptiveQuantiles(5.0, 3), (9,) * 5, (8, 9, 9, 9, 10)),
        ]
    ),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "first", "second", "rows"), PURE)
def test_claim_holds_and_a_fifth_less_noise_is_caught(mechanism, first, second, rows):
    inputs = np.array(first), np.array(second)

    def bound(audited):
        return both_ways(*(said(audited, counts, rows, i) for i, counts in enumerate(inputs)))

    assert 0.8 * mechanism.epsilon < bound(mechanism) <= mechanism.epsilon
    assert bound(thin(mechanism)) > 1.05 * mechanism.epsilon


@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "first", "second", "rows"), PURE)
def test_releases_tell_no_more_than_the_claim(mechanism, first, second, rows):
    parts = getattr(mechanism, "bins", 1)  # what is dealt out comes in parts of a bin

    def outputs(counts, seed):
        rng = np.random.default_rng(seed)
        released = mechanism.release(np.array(counts), rng=rng, replicates=rows)
        return np.rint(parts * released[:, :-1]).astype(int)

    bound = both_ways(outputs(first, 0), outputs(second, 1))
    assert 0.4 * mechanism.epsilon < bound <= mechanism.epsilon


GAUSSIAN = [
    (HistogramQueries(1.0, 3, delta=0.1), (50, 50, 50, 50)),
    (AdaptiveQuantiles(1.0, 3, delta=0.1), (90, 90, 90, 90, 90, 90)),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "counts"), GAUSSIAN)
def test_gaussian_claim_holds_and_a_fifth_less_noise_is_caught(mechanism, counts):
    first = np.array(counts)
    second = first.copy()
    second[0] -= 1  # the record goes from the first cell to the last: it moves all that is asked
    second[-1] += 1

    def bound(audited):
        a, b = (
            log_ratios(audited, said(audited, records, RELEASES, seed), first, second)
            for seed, records in enumerate((first, second))
        )
        return delta_lower_bound(a, b, EPSILON)

    assert 0.8 * mechanism.delta < bound(mechanism) < mechanism.delta
    assert bound(thin(mechanism)) > 1.2 * mechanism.delta


def log_ratios(mechanism, outputs, first, second):
    """What tells the inputs apart best, in each output, up to a factor and a constant.

    Noise before the answers along what the inputs differ by in the questions that were asked.
    """
    _, bits = mechanism.noise(first.size)
    if isinstance(mechanism, HistogramQueries):
        starts = np.append(0, mechanism.ends(first.size)[:-1])
        a, b = (np.add.reduceat(counts, starts) for counts in (first, second))
        return (outputs * 2.0**-bits - b) @ (a - b)
    asked = outputs.shape[1] // 2
    a, b = (np.cumsum(counts)[outputs[:, :asked] - 1] for counts in (first, second))
    return np.sum((outputs[:, asked:] * 2.0**-bits - b) * (a - b), axis=1)
