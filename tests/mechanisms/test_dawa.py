"""DAWA: what it spends, where it pays, and that buckets are read linearly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy

RELATIONS = ["replace-one", "add-or-remove-one"]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("size", [1, 31, 32, 100, 512, 4096, 10_000])
@pytest.mark.parametrize("branching", [2, 16])
def test_the_stages_spend_epsilon_and_no_more(size, neighbours, branching):
    mechanism = Dawa(0.3, 0.2, branching, neighbours)
    law, hierarchy = mechanism.stages(size)
    moved = 2 if neighbours == "replace-one" else 1
    levels, length = 0, 2 * branching  # as long as two of the longest buckets fit
    while length <= size:
        levels, length = levels + 1, length * branching
    spent = hierarchy.epsilon + (moved * levels / law.scale if law else 0)
    assert Fraction(0.3) * (1 - Fraction(1, 2**28)) < spent <= Fraction(0.3)
    assert (law is None) == (levels == 0)
    assert hierarchy.neighbours == neighbours


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


def test_one_bucket_is_read_as_a_line():
    # a share that finds the buckets for sure, on counts that are all alike
    counts = np.full(512, 1000)
    found = Dawa(50.0, 0.9).release(counts, rng=np.random.default_rng(1))
    steps = np.diff(found, prepend=0.0)
    assert np.unique(np.round(steps, 6)).size <= 3
    assert found[-1] == counts.sum()


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_releases_do_not_depend_on_threads(workers):
    counts = np.random.default_rng(1).poisson(3, 700)
    first, second = (
        Dawa(0.1).release(counts, rng=np.random.default_rng(3), replicates=150, workers=w)
        for w in (1, workers)
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (16, 16), (7, 30)])
def test_tables_come_back_in_their_places(shape):
    table = np.random.default_rng(1).integers(0, 9, shape)
    found = Dawa(1e7).release_table(table)
    assert found == pytest.approx(table, abs=0.01)
    assert Dawa(0.5).release_table(table).sum() == pytest.approx(table.sum())


def test_blocks_of_a_table_are_found():
    table = np.zeros((32, 32), int)
    table[8:16, 16:24] = 40
    rng = np.random.default_rng(4)
    errors = [
        np.mean([(m.release_table(table, rng=rng) - table) ** 2 for _ in range(20)])
        for m in (Dawa(0.5), Dawa(0.5, 0.001))
    ]
    assert errors[0] < errors[1]


def test_its_error_is_not_known_in_advance():
    grid = dp.Grid.uniform(0, 1, 64)
    curve = dp.cdf(np.linspace(0, 1, 1000), grid, Dawa(1.0))
    assert np.all(np.isinf(curve.standard_error()))
    low, high = curve.band()
    assert np.all(low[:-1] == 0.0)
    assert low[-1] == 1.0  # all records are at or below the last threshold
    assert np.all(high == 1.0)
    again = dp.CDF.from_json(curve.to_json())
    assert np.array_equal(again.noise_deviation, curve.noise_deviation)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": 1, "split": 1}, "split must be above 0 and below 1"),
        ({"epsilon": 1, "split": -0.5}, "split must be positive"),
        ({"epsilon": 1, "branching": 12}, "branching must be a power of two"),
        ({"epsilon": 1, "neighbours": "any"}, "neighbours must be one of"),
    ],
)
def test_bad_parameters(arguments, words):
    with pytest.raises(dp.ParameterError, match=words):
        Dawa(**arguments)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.zeros(3, int), "counts must be two-dimensional"),
        (np.zeros((0, 3), int), "counts must be two-dimensional"),
        (np.zeros((2, 3)), "counts must hold integers"),
    ],
)
def test_bad_tables(counts, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        Dawa(1.0).release_table(counts)
