"""DAWA: what it spends, where it pays, and that buckets are read linearly."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.mechanisms.bucket_counts import Buckets, Records, deviation, line
from dpcore.noise.sources import source

RNG = np.random.default_rng
RELATIONS = ["replace-one", "add-or-remove-one"]


SIZES = [1, 31, 32, 512, 10_000]
BUDGETS = [{"epsilon": 0.3}, {"rho": 0.02}, {"epsilon": 0.3, "delta": 1e-6}]
SPLITS = ["auto", 0.2, Fraction(1, 3)]


def spent(mechanism, stages, budget):
    """Return what both stages spend, exactly, in epsilon or in rho, from the laws of their noise.

    A moved record changes two counts of a level by one, or a node's cost by two.
    """
    moved = 2 if mechanism.neighbours == "replace-one" else 1
    levels = stages.scales.lengths.size
    if "rho" not in budget and "delta" not in budget:
        return stages.hierarchy.epsilon + (moved * levels / stages.law.scale if stages.law else 0)
    first = moved**2 * levels / (2 * stages.law.sigma_squared) if stages.law else 0
    return stages.hierarchy.rho + first


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("size", SIZES)
def test_the_stages_spend_the_budget_and_no_more(size, split, budget, neighbours):
    mechanism = Dawa(**budget, split=split, neighbours=neighbours)
    if "delta" in budget:
        whole = Fraction(dp.privacy.zcdp_rho(0.3, 1e-6))
    else:
        whole = Fraction(*map(float, budget.values()))
    for n in (0, 1, 50, 10**4, 10**7, 2**46):
        stages = mechanism._stages(size, n)
        assert whole * (1 - Fraction(1, 2**28)) < spent(mechanism, stages, budget) <= whole
        assert (stages.law is None) == (stages.scales.lengths.size == 0)
        assert stages.hierarchy.neighbours == neighbours
        if stages.law and split != "auto":
            left = stages.hierarchy.epsilon or stages.hierarchy.rho
            assert left == whole * (1 - Fraction(split))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("size", [64, 1000])
def test_where_n_is_not_public_it_makes_no_difference(size, budget):
    mechanism = Dawa(**budget, neighbours="add-or-remove-one")
    all_stages = [mechanism._stages(size, n) for n in (0, 1, 50, 10**4, 10**7, 2**46)]
    assert all(stages is all_stages[0] for stages in all_stages)
    public = Dawa(**budget)
    assert len({tuple(public._stages(1000, n).scales.lengths) for n in (1, 10**4, 10**7)}) > 1


def test_without_noise_to_speak_of_it_returns_the_counts():
    counts = np.random.default_rng(1).integers(0, 50, 300)
    for neighbours in RELATIONS:
        found = Dawa(1e7, neighbours=neighbours).release(counts)
        assert found == pytest.approx(np.cumsum(counts), abs=0.01)


@pytest.mark.needs_jit
def test_it_pays_on_steps_and_empty_stretches_and_not_on_jagged_counts():
    rng = np.random.default_rng(2)
    steps = np.repeat(rng.multinomial(10_000, rng.dirichlet(np.full(16, 0.3))) // 256, 256)
    jagged = rng.integers(0, 2, 4096) * 4000

    def error(mechanism, counts):
        noisy = mechanism.release(counts, rng=rng, replicates=30)
        return np.mean((noisy - np.cumsum(counts)) ** 2)

    plain = Hierarchy(0.1)
    assert error(Dawa(0.1), steps) < 0.25 * error(plain, steps)
    assert error(Dawa(0.1), jagged) > error(plain, jagged)


def test_buckets_are_read_as_lines():
    edges, ends = np.array([0, 3, 4, 8]), np.array([[0.0, 6.0, 5.0, 25.0]])
    assert line(edges, ends).tolist() == [2.0, 4.0, 6.0, 5.0, 10.0, 15.0, 20.0, 25.0]


@pytest.mark.parametrize("signal", [1e4, 1e5])
def test_the_lowest_limit_without_a_much_larger_error_is_taken(signal):
    """So a value of many records is not in the middle of a long bucket."""
    counts = np.random.default_rng(5).poisson(2.0, 2**12)
    counts[1000:3000:250] = signal
    stages = Dawa(0.1)._stages(counts.size, int(10 * signal))
    records = Records.of(counts, stages)
    limits = stages.limits
    assert list(limits) == sorted(limits, reverse=True)
    for seed in range(10):
        edges = records.find_buckets(source(np.random.default_rng(seed))).edges
        alone = np.isin([1000, 1250, 1500, 1750, 2000], edges)
        assert alone.all()
        loose = records._replace(stages=stages._replace(limits=limits[:1]))
        assert edges.size >= loose.find_buckets(source(np.random.default_rng(seed))).edges.size


def test_its_error_is_not_known_in_advance_but_with_a_release():
    assert np.all(np.isinf(Dawa(1.0).noise_deviation(64)))
    curve = dp.cdf(np.linspace(0, 1, 1000), dp.Grid.uniform(0, 1, 64), Dawa(1.0))
    assert np.all(np.isfinite(curve.standard_error()))
    low, high = curve.band()
    assert np.all((low < high)[:-1])
    assert low[-1] == high[-1] == 1.0  # all records are at or below the last threshold


# --- the rules of docs/proofs/dawa.md in numbers


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 1 / 32}], ids=str)
def test_shares_and_caution_follow_the_signal(budget):
    """n epsilon, in doublings: caution from 16 on, a smaller share from 65,536 on."""
    mechanism = Dawa(**budget)
    for signal in (1, 8, 16, 2**14, 2**15, 2**16, 2**20):
        stages = mechanism._stages(2**17, 2 * signal)
        assert stages.caution == (signal >= 16)
        left = Fraction(stages.hierarchy.epsilon or stages.hierarchy.rho)
        share = 1 - left / Fraction(*budget.values())
        assert share == (Fraction(1, 8) if signal >= 2**16 else Fraction(1, 6))


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("size", [32, 100, 5000])
def test_more_buckets_never_have_less_error(size, neighbours):
    """As the search for the partition takes for granted."""
    for epsilon in (1e-3, 1.0, 50.0):
        errors = Dawa(epsilon, neighbours=neighbours)._stages(size, 1000).errors
        assert np.all(np.diff(errors) >= 0.0)


def test_deviations_within_buckets():
    tree = Hierarchy(0.5).tree(3)
    ends = tree.prefix_variances()
    found = Buckets(np.array([0, 4, 5, 1005]), np.array([0.0, 0.0, 1e9]))
    squares = deviation(found, tree, np.zeros((1, 4))) ** 2
    assert squares[:4] == pytest.approx(ends[0] * np.arange(1, 5) / 4)
    assert squares[4] == pytest.approx(ends[1])
    assert squares[5:].mean() == pytest.approx(1e9, rel=1e-3)  # the mean of a parabola
    assert squares[504] == pytest.approx(1.5e9, rel=1e-3)
    assert squares[-1] == 0.0


class Silent:
    """Noise that happens to be 0."""

    def __init__(self, variance):
        self.variance = variance

    def fill(self, out, stream):
        del stream
        out[:] = 0


def test_what_is_said_of_a_bucket_is_its_squared_cost_less_the_noise_in_it():
    counts = np.repeat(np.tile([20, 21], 50), 5)
    stages = Dawa(1e-3)._stages(counts.size, 10**4)
    for variance in (1.0, 1e4):
        quiet = stages._replace(law=Silent(variance))
        records = Records.of(counts, quiet)
        edges, unevenness = records.find_buckets(source(np.random.default_rng(1)))
        parts = [counts[a:b] for a, b in itertools.pairwise(edges)]
        assert len(parts) < counts.size
        costs = np.array([np.abs(part - np.median(part)).sum() for part in parts])
        expected = 0.1 * np.maximum(costs**2 - variance, variance / 4)
        asked = np.array([part.size > 1 for part in parts])
        assert unevenness[asked] == pytest.approx(expected[asked])
        assert set(unevenness[~asked]) <= {0.0, 0.1 * variance / 4}  # the rest of a node, perhaps
    assert costs.max() > 0
