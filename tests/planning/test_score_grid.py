"""The default grid of scores: public, nested, finer where a rare class has its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, Histogram, NoNoise, ToeplitzGaussian
from dpcore.planning.score_grid import (
    grid_of_groups,
    on_grid,
    score_grid,
    suited_to_mechanism,
    suited_to_scores,
)
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


@pytest.mark.parametrize(
    "given",
    [
        Hierarchy(1.0),
        Histogram(1.0),
        ToeplitzGaussian(rho=0.2),
        (Hierarchy(1.0), Dyadic(0.5)),
        dp.trust.FunctionSharing(1.0),
    ],
    ids=str,
)
def test_less_noise_beside_the_records_means_more_cells(given):
    sizes = [suited_to_mechanism(n, given).size for n in 10 ** np.arange(2, 9)]
    assert sizes == sorted(sizes)
    assert sizes[0] == score_grid(0).size < sizes[3] < sizes[-1] == score_grid().size


def test_noise_on_the_grid_of_a_mechanism_is_small_and_would_not_be_on_a_finer_one():
    n, given = 20_000, Hierarchy(1.0)
    chosen = suited_to_mechanism(n, given)
    doublings = round(np.log2((chosen.size - 6) / 10))
    for k, holds in ((doublings, True), (doublings + 1, False)):
        noise = np.sqrt(given.mean_squared_error(2 * score_grid(k).size))
        assert (noise <= n / (120 * 2**k)) == holds


def test_a_trust_model_has_the_grid_of_its_noise():
    n = 20_000
    same = dp.trust.DistributedNoise(1.0, clients=n)
    assert suited_to_mechanism(n, same) == suited_to_mechanism(n, Hierarchy(1.0))
    local = [suited_to_mechanism(m, dp.trust.Local(1.0, m)).size for m in (n, 10**8)]
    assert local[0] < suited_to_mechanism(n, same).size <= local[1]
    assert suited_to_mechanism(n, NoNoise()) == score_grid()
    few = dp.trust.DistributedNoise(1.0, clients=n, branching=(2 * score_grid(1).size,))
    assert suited_to_mechanism(n, few) == score_grid(1)  # as it cannot have more cells


def test_an_error_that_depends_on_the_records_is_taken_for_that_of_the_default():
    n = 20_000
    for budget in ({"epsilon": 1.0}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}):
        sizes = {suited_to_mechanism(n, each(**budget)).size for each in (Dawa, Hierarchy)}
        assert len(sizes) == 1


@pytest.mark.parametrize("given", [Hierarchy(1.0), (Histogram(1.0), Dyadic(0.5))], ids=str)
def test_released_scores_have_the_grid_of_their_mechanism(given):
    labels, scores = RNG(1).random(4000) < 0.3, RNG(2).random(4000)
    grid = suited_to_mechanism(4000, given)
    curves = dp.score_curves(labels, scores, mechanism=given, rng=RNG(3))
    counts = dp.score_counts(labels, scores, grid)
    assert curves == dp.score_curves_from_counts(counts, grid, given, rng=RNG(3))


def test_groups_have_the_grid_for_ten_thousand_records():
    labels, scores, by = RNG(1).random(400) < 0.3, RNG(2).random(400), np.repeat(["a", "b"], 200)
    given = Hierarchy(1.0)
    curves = dp.score_curves(labels, scores, mechanism=given, by=by, groups=["a", "b"], rng=RNG(3))
    assert curves["a"].grid == grid_of_groups(given) == suited_to_mechanism(10_000, given)


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
