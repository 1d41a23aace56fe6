"""DAWA: what it spends, where it pays, and that buckets are read linearly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy
from dpcore.mechanisms.bucket_counts import line

RELATIONS = ["replace-one", "add-or-remove-one"]


SIZES = [1, 17, 31, 32, 100, 512, 4096, 10_000]
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
    # so few records that cells are taken together before anything else
    counts = np.full(512, 1000)
    mechanism = Dawa(1e-4, 0.9)
    unit = mechanism._stages(512, counts.sum()).scales.unit
    assert unit > 4
    found = mechanism.release(counts, rng=np.random.default_rng(1))
    steps = np.diff(found, prepend=0.0).reshape(-1, unit)
    assert np.ptp(steps, axis=1) == pytest.approx(0.0, abs=1e-6)
    assert found[-1] == pytest.approx(counts.sum())


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_releases_do_not_depend_on_threads(workers):
    counts = np.random.default_rng(1).poisson(3, 700)
    first, second = (
        Dawa(0.1).release(counts, rng=np.random.default_rng(3), replicates=150, workers=w)
        for w in (1, workers)
    )
    assert np.array_equal(first, second)


def test_its_error_is_not_known_in_advance_but_with_a_release():
    assert np.all(np.isinf(Dawa(1.0).noise_deviation(64)))
    grid = dp.Grid.uniform(0, 1, 64)
    curve = dp.cdf(np.linspace(0, 1, 1000), grid, Dawa(1.0))
    assert np.all(np.isfinite(curve.standard_error()))
    low, high = curve.band()
    assert np.all((low < high)[:-1])
    assert low[-1] == high[-1] == 1.0  # all records are at or below the last threshold
    again = dp.CDF.from_json(curve.to_json())
    assert np.array_equal(again.noise_deviation, curve.noise_deviation)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": 1, "split": 1}, "split must be above 0 and below 1"),
        ({"epsilon": 1, "split": -0.5}, "split must be positive"),
        ({"epsilon": 1, "split": "half"}, "split must be one of 'auto'"),
        ({}, "epsilon or rho must be given"),
        ({"epsilon": 1, "rho": 1}, "rho must not be given beside epsilon"),
        ({"rho": 1, "delta": 0.1}, "delta must not be given without epsilon"),
        ({"epsilon": 1, "neighbours": "any"}, "neighbours must be one of"),
    ],
)
def test_bad_parameters(arguments, words):
    with pytest.raises(dp.ParameterError, match=words):
        Dawa(**arguments)
