"""The default grid of scores: public, nested, finer where a rare class has its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, Histogram
from dpcore.planning.score_grid import on_grid, score_grid, suited_to_scores
from dpcore.privacy.allowance import Allowance

RNG = np.random.default_rng


def suited(n, **budget):
    given = {"epsilon": None, "rho": None, "delta": None} | budget
    spends = Allowance.checked(given["epsilon"], given["rho"], "replace-one", given["delta"])
    return suited_to_scores(n, spends)


@pytest.mark.parametrize("doublings", range(9))
def test_tenths_are_thresholds_and_ends_are_narrow(doublings):
    grid = score_grid(doublings)
    thresholds, tenths = grid.thresholds, np.arange(1, 11) / 10
    assert np.isin(tenths, thresholds).all()
    assert np.isin(thresholds, score_grid().thresholds).all()
    assert grid.size == 10 * 2**doublings + 6
    widths = np.diff(thresholds, prepend=0)
    assert widths[0] == pytest.approx(1 / (80 * 2**doublings))
    assert widths == pytest.approx(widths[::-1])


@given(
    st.lists(st.tuples(st.booleans(), st.floats(-0.1, 1.1)), min_size=1, max_size=50),
    st.integers(0, 8),
)
def test_counts_on_the_fine_grid_are_joined_exactly(records, doublings):
    labels, scores = (np.array(column) for column in zip(*records, strict=True))
    fine = dp.score_counts(labels, scores, score_grid())
    for grid in (score_grid(doublings), dp.Grid.uniform(0, 1, 40)):
        assert np.array_equal(on_grid(fine, grid), dp.score_counts(labels, scores, grid))


def test_more_records_or_budget_have_more_cells():
    sizes = [suited(n, epsilon=0.1)[0].size for n in 10 ** np.arange(4, 12)]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 5
    assert sizes[-1] == score_grid().size == suited(10**9, epsilon=1e300)[0].size
    for n, budget in ((1000, {"epsilon": 100.0}), (10**5, {"epsilon": 1.0})):
        assert suited(n, **budget)[0] == suited(10**6, epsilon=0.1)[0]
    assert suited(10**5, rho=0.125)[0] == suited(10**5, epsilon=1.0)[0]


def test_the_mechanism_suits_the_number_of_cells():
    assert isinstance(suited(1000, epsilon=0.1)[1], Dawa)
    assert isinstance(suited(10_000, epsilon=1.0)[1], Histogram)
    assert type(suited(10**8, epsilon=1.0)[1]) is Hierarchy
    few, many = (suited(10_000, epsilon=1.0, delta=delta)[1] for delta in (1e-12, 0.1))
    assert (few.delta, many.delta) == (None, 0.1)
    with pytest.raises(dp.ParameterError, match="epsilon"):
        suited(10_000, epsilon=1e-14)


@pytest.mark.parametrize("budget", [{"epsilon": 0.05}, {"epsilon": 1.0}, {"rho": 0.5}], ids=str)
def test_released_scores_have_the_suited_grid_and_mechanism(budget):
    labels, scores = RNG(1).random(4000) < 0.3, RNG(2).random(4000)
    grid, mechanism = suited(4000, **budget)
    curves = dp.score_curves(labels, scores, **budget, rng=RNG(3))
    assert curves.grid == grid
    assert curves.joint.mechanism == mechanism.describe()
    counts = dp.score_counts(labels, scores, grid)
    same = dp.score_curves_from_counts(counts, grid, mechanism, rng=RNG(3))
    assert np.array_equal(curves.joint.counts, same.joint.counts)
    assert dp.roc_curve(labels, scores, **budget, rng=RNG(3)).mechanism == mechanism


def test_scores_of_a_rare_class_are_told_apart():
    rng = RNG(1)
    scores = rng.beta(0.5, 50, 100_000)  # 1 % are positive
    labels = rng.random(scores.size) < scores
    exact = dp.roc_curve(labels, scores, dp.Grid(np.unique(scores)), dp.mechanisms.NoNoise())
    own, even = (
        np.mean(
            [
                dp.statistics.symmetric_difference(
                    exact, dp.roc_curve(labels, scores, grid, epsilon=0.2, rng=rng)
                )
                for _ in range(5)
            ]
        )
        for grid in (None, dp.Grid.uniform(0, 1, 50))
    )
    assert own < even / 2
