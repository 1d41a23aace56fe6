"""ROC curves through quantiles: their values, their bound, their tree, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.mechanisms import Hierarchy, NoNoise
from dpcore.papers.quantile_roc import QuantileROC, quantile_branching, quantile_roc
from dpcore.statistics import ROC, symmetric_difference
from tests.reference import papers as reference

CELL = st.one_of(st.just(0), st.integers(0, 30))
COUNTS = st.integers(1, 24).flatmap(
    lambda size: st.tuples(*[st.lists(CELL, min_size=size, max_size=size)] * 2)
)
QUANTILES = st.integers(3, 20)


def exact(negatives, positives):
    """Curves without noise of counts of each class, by rising scores."""
    counts = np.array([*negatives, *positives[::-1]])
    grid = dp.Grid.uniform(0, 1, len(negatives))
    return dp.score_curves_from_counts(counts, grid, NoNoise())


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.3
    return labels, rng.beta(2, np.where(labels, 2, 4))


@settings(max_examples=60)
@given(COUNTS, QUANTILES)
def test_quantiles_and_curves_are_those_of_the_definition(counts, number):
    if not all(map(sum, counts)):
        return
    roc = QuantileROC(exact(*counts), number)
    levels, ends = np.linspace(0, 1, number), np.linspace(0, 1, len(counts[0]) + 1)
    for found, of_class, rate in zip(roc.of_classes(), counts, (roc.fpr, roc.tpr), strict=True):
        wanted = [reference.quantile(ends.tolist(), of_class, level) for level in levels]
        assert found == pytest.approx(wanted, abs=1e-9)
        assert np.all(np.diff(found) > 0)
        for t, above in zip(roc.thresholds[::7], rate[::7], strict=True):
            inside = found[0] <= t < found[-1]
            below = reference.monotone_cubic(found, levels, t) if inside else float(t > found[0])
            assert 1 - above == pytest.approx(below, abs=1e-9)


@settings(max_examples=60)
@given(COUNTS, QUANTILES)
def test_curves_rise_and_are_as_near_as_is_proved(counts, number):
    if not all(map(sum, counts)):
        return
    roc, full = QuantileROC(exact(*counts), number), ROC.from_curves(exact(*counts))
    for rate in (roc.fpr, roc.tpr):
        assert (rate[0], rate[-1]) == (0.0, 1.0)
        assert np.all(np.diff(rate) >= 0)
    assert symmetric_difference(roc, full) <= 2 / (number - 1) + 1e-9
    assert abs(roc.auc - full.auc) <= 2 / (number - 1) + 1e-9
    for rate, classes in ((roc.fpr, full.curves.negatives), (roc.tpr, full.curves.positives)):
        ends = np.linspace(0, 1, classes.size + 1)
        own = np.interp(roc.thresholds, ends, np.append(0, classes) / classes[-1])
        assert np.max(np.abs(1 - rate - own)) <= 1 / (number - 1) + 1e-9


def test_many_quantiles_give_the_released_curve_itself():
    labels, scores = records(20_000)
    full = dp.roc_curve(labels, scores, dp.Grid.uniform(0, 1, 64), NoNoise())
    errors = [symmetric_difference(QuantileROC(full.curves, q), full) for q in (5, 50, 500)]
    assert errors[2] < 0.0002 < errors[1] < errors[0] / 3


def test_precision_is_that_of_the_same_counts():
    roc = QuantileROC(exact([30, 10, 10], [2, 8, 10]), 5)
    true, false = 20 * roc.tpr, 50 * roc.fpr
    some = true + false > 0
    assert roc.precision[some] == pytest.approx((true / np.maximum(true + false, 1e-9))[some])
    assert roc.precision[0] == 1.0
    assert roc.precision[-1] == pytest.approx(20 / 70)
    assert np.array_equal(roc.recall, roc.tpr)


def test_a_class_without_records_has_no_curve():
    roc = QuantileROC(exact([3, 4, 0], [0, 0, 0]), 4)
    assert np.isnan(roc.auc)
    assert np.isnan(roc.tpr).all()
    assert np.isfinite(roc.fpr).all()


@pytest.mark.parametrize(("number", "branching", "height"), [(8, 2, 5), (9, 2, 6), (100, 4, 6)])
def test_the_tree_has_the_published_levels_with_equal_parts(number, branching, height):
    widths = quantile_branching(number, branching)
    tree = Hierarchy(1.0, widths, "equal")
    cells = branching**height
    assert tree.branching_for(2 * cells) == (2 * branching, *[branching] * (height - 1))
    assert tree.shares_for(2 * cells) == pytest.approx((0.0, *[1 / height] * height))
    roc = quantile_roc(*records(50), epsilon=1.0, quantiles=number, branching=branching)
    assert roc.curves.grid.size == cells
    assert roc.privacy == dp.Privacy(1.0)
    assert roc.quantiles == number


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_a_replaced_record_moves_two_nodes_of_each_level(cells):
    size, levels = 2 * 4 * cells, quantile_branching(4 * cells, 2)[: 2 + int(np.log2(cells))]
    widths = np.cumprod([4, *levels[1:]])  # how many nodes a level has
    most = 0
    for first in range(size):
        for second in range(size):
            moved = np.zeros(size, int)
            moved[first] -= 1
            moved[second] += 1
            most = max(most, sum(np.abs(moved.reshape(w, -1).sum(axis=1)).sum() for w in widths))
    assert widths[-1] == size
    assert most == 2 * len(widths)  # each level has epsilon / levels, for a change of 2


def test_the_noise_is_that_of_one_tree_over_both_classes():
    records_ = records(500)
    roc = quantile_roc(*records_, epsilon=0.5, quantiles=16, rng=np.random.default_rng(2))
    tree = Hierarchy(0.5, quantile_branching(16), "equal")
    curves = dp.score_curves(
        *records_, dp.Grid.uniform(0, 1, 64), tree, rng=np.random.default_rng(2)
    )
    assert np.array_equal(roc.curves.joint.counts, curves.joint.counts)


def test_clients_may_add_the_noise_or_only_their_counts():
    labels, scores = records(4000)
    shares = dp.trust.DistributedNoise(
        1.0, clients=4000, branching=quantile_branching(16), budgets="equal"
    )
    central = Hierarchy(1.0, quantile_branching(16), "equal")
    assert shares.noise_deviation(128) == pytest.approx(central.noise_deviation(128), rel=1e-6)
    shared = quantile_roc(labels, scores, shares, quantiles=16)
    summed = quantile_roc(labels, scores, dp.trust.SecureAggregation(), quantiles=16)
    assert shared.privacy.epsilon == 1.0
    assert summed.privacy.epsilon == np.inf
    assert abs(shared.auc - summed.auc) < 0.1
    full = dp.roc_curve(labels, scores, dp.Grid.uniform(0, 1, 64), NoNoise())
    assert symmetric_difference(summed, full) < 0.01


def test_raw_curves_become_monotone_first():
    raw = dp.score_curves(*records(100), dp.Grid.uniform(0, 1, 16), epsilon=0.3, isotonic=False)
    assert np.array_equal(QuantileROC(raw).curves.joint.counts, raw.isotonic().joint.counts)


@pytest.mark.parametrize(
    ("how", "error", "argument"),
    [
        ({"quantiles": 1}, ParameterError, "quantiles"),
        ({"quantiles": 2.5}, DtypeError, "quantiles"),
        ({"quantiles": 2**22}, ParameterError, "quantiles"),
        ({"branching": 1}, ParameterError, "branching"),
        ({"epsilon": -1.0}, ParameterError, "epsilon"),
        ({"mechanism": "hb"}, DtypeError, "mechanism"),
        ({"mechanism": Hierarchy(1.0)}, ParameterError, "epsilon"),
    ],
)
def test_bad_arguments_are_named_and_cost_nothing(how, error, argument):
    with dp.Budget(1.0) as budget, pytest.raises(error) as caught:
        quantile_roc(*records(50), **{"epsilon": 0.5} | how)
    assert caught.value.argument == argument
    assert budget.log == ()


def test_curves_on_a_grid_without_a_lower_end_are_refused():
    curves = dp.score_curves(*records(50), dp.Grid([0.5, 1.0]), NoNoise())
    with pytest.raises(ParameterError, match="lower end"):
        QuantileROC(curves)
    with pytest.raises(DtypeError, match="curves"):
        QuantileROC(curves.joint)
