"""Rows of counts in one call: the bits of replicates and of a loop, and the cost of both."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import base

MADE = dp.mechanisms
MECHANISMS = [
    MADE.NoNoise(),
    MADE.Hierarchy(epsilon=0.5),
    MADE.Hierarchy(rho=0.1, neighbours="add-or-remove-one"),
    MADE.Hierarchy(epsilon=0.7, delta=1e-6),
    MADE.Histogram(epsilon=1.0),
    MADE.Dyadic(epsilon=1.0),
    MADE.Dyadic(epsilon=1.0, base=3),
    MADE.Dyadic(rho=0.5),
    MADE.Dawa(epsilon=0.5),
    MADE.ToeplitzGaussian(rho=0.1),
    MADE.HistogramQueries(epsilon=0.5, delta=1e-6),
    MADE.AdaptiveQuantiles(epsilon=0.5, delta=1e-6),
    dp.trust.Local(2.0, 300),
]
NAMES = [repr(mechanism) for mechanism in MECHANISMS]


def generator():
    return np.random.default_rng(9)


@pytest.mark.parametrize("mechanism", MECHANISMS[:8], ids=NAMES[:8])
def test_equal_rows_are_replicates(mechanism):
    counts = np.arange(24) + 1
    rows = mechanism.release(np.tile(counts, (13, 1)), rng=generator())
    assert np.array_equal(rows, mechanism.release(counts, rng=generator(), replicates=13))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_loop_over_blocks_with_the_same_generator_is_the_same(mechanism, workers, monkeypatch):
    counts = np.random.default_rng(1).multinomial(300, np.ones(24) / 24, 11)
    draws = mechanism._prepared(counts[0].copy()).draws
    monkeypatch.setattr(base, "_BLOCK_DRAWS", 3 * max(1, draws))  # blocks of three rows
    rows = mechanism.release(counts, rng=generator(), workers=workers)
    rng = generator()
    loop = [mechanism.release(counts[at : at + 3], rng=rng) for at in range(0, 11, 3)]
    assert np.array_equal(rows, np.concatenate(loop))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=NAMES)
def test_each_row_is_its_own_counts_and_the_noise_of_its_place(mechanism):
    counts = np.random.default_rng(1).multinomial(300, np.ones(24) / 24, 5)
    rows = mechanism.release(counts, rng=generator())
    for at, own in enumerate(counts):
        if mechanism._prepared(own.copy()).fill_rows is not None:
            alone = mechanism.release(np.tile(own, (5, 1)), rng=generator())
            assert np.array_equal(rows[at], alone[at])
    assert mechanism.privacy.neighbours != "replace-one" or (rows[:, -1] == 300).all()


def test_each_row_is_charged():
    with dp.Budget(epsilon=10.0) as budget:
        MADE.Histogram(epsilon=0.5).release(np.ones((6, 4), np.int64))
    assert budget.spent.epsilon == 3.0


@pytest.mark.parametrize("shape", [(2, 2, 2), (0, 3), (3, 0), ()])
def test_other_shapes_are_refused(shape):
    with pytest.raises(dp.DpcoreError, match="counts"):
        MADE.Histogram(epsilon=0.5).release(np.ones(shape, np.int64))
    with pytest.raises(dp.ParameterError, match="replicates"):
        MADE.Histogram(epsilon=0.5).release(np.ones((2, 3), np.int64), replicates=2)


def test_groups_that_are_counted_elsewhere_cost_once_and_are_checked_first():
    counts, grid = np.full((3, 4), 50), dp.Grid.uniform(0, 4, 4)
    with dp.Budget(epsilon=10.0, neighbours="add-or-remove-one") as budget:
        for groups, wrong in ((["a", "b"], counts), (["a", "a", "b"], counts), ("abc", counts)):
            with pytest.raises(dp.DpcoreError, match=r"counts|groups"):
                dp.cdf_from_counts(wrong, grid, groups=groups, epsilon=1.0)
        with pytest.raises(dp.ParameterError, match="neighbours"):
            dp.cdf_from_counts(
                counts, grid, groups=["a", "b", "c"], epsilon=1.0, neighbours="replace-one"
            )
        with pytest.raises(dp.ParameterError, match="counts"):
            dp.cdf_from_counts(counts, grid, epsilon=1.0)
        assert budget.spent.epsilon == 0.0
        found = dp.cdf_from_counts(counts, grid, groups=["a", "b", "c"], epsilon=4.0)
    assert budget.spent.epsilon == 4.0
    assert found.privacy == dp.Privacy(4.0, 0.0, "add-or-remove-one")
    values, by = np.repeat(np.arange(4) + 0.5, 150), np.tile(["a", "b", "c"], 200)
    given = {"groups": ["a", "b", "c"], "epsilon": 1.0}
    ours = dp.cdf(values, grid, by=by, rng=generator(), **given)
    assert ours == dp.cdf_from_counts(counts, grid, rng=generator(), **given)


def test_rows_that_are_too_long_are_refused_before_any_is_paid():
    few, many = np.full(4, 25), np.full(4, 2**32)
    with dp.Budget(rho=1.0) as budget, pytest.raises(dp.ParameterError, match="counts"):
        MADE.PolynomialProjection(rho=0.1, degree=3).release(np.stack([few, many]))
    assert not budget.log


@pytest.mark.parametrize("kind", [MADE.Dawa, MADE.Hierarchy])
def test_rows_are_paid_together_or_not_at_all(kind):
    with dp.Budget(epsilon=1.2) as budget, pytest.raises(dp.BudgetError):
        kind(epsilon=0.5).release_rows(np.full((3, 8), 25))
    assert not budget.log
    with dp.Budget(epsilon=1.5) as budget:
        kind(epsilon=0.5).release_rows(np.full((3, 8), 25))
    assert (budget.spent.epsilon, len(budget.log)) == (1.5, 1)
