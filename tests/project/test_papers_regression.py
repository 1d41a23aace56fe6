"""The figures of the regression-diagnostics paper measure what they say, on tiny settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcore import studies
from dpcore.studies import Results

pytestmark = pytest.mark.needs_jit  # thousands of releases


def run(study: Any, replicates: int, **parameters: Any) -> Results:
    """Run a study on some of its parameters; if it has several blocks of them, all are given."""
    one = len(study.blocks) == 1 or set(parameters) < set(study.blocks[0])
    chosen = study.over(**parameters) if one else studies.Study(study.function, parameters)
    return studies.run(chosen, replicates=replicates, seed=1, workers=1)


# --- residual plots


def test_signals_of_plots_that_are_known(paper):
    signals = paper("_regression").signals
    x = np.arange(9_000.0)
    waves = np.tile(np.linspace(-1, 1, 30), 300)
    assert signals(np.column_stack([x, waves])) == pytest.approx((1.0, 0.0), abs=1e-3)
    fan = signals(np.column_stack([x, np.repeat([1.0, 2.0, 3.0], 3000) * waves]))
    assert fan == pytest.approx((3.0, 0.0), abs=1e-3)
    _, hook = signals(np.column_stack([x, waves - np.repeat([0.0, 2.0, 0.0], 3000)]))
    assert 0.5 < hook < 2.0
    assert np.isnan(signals(np.zeros((3, 2)))).all()


def test_scenarios_have_the_moments_that_they_name(paper):
    shared = paper("_regression")
    model = shared.SCENARIOS["Heteroscedastic"]
    predicted, residuals = shared.drawn(40_000, np.random.default_rng(1), **model)
    assert abs(np.sum(residuals)) < 1e-6  # as least squares leave them
    assert abs(np.sum(residuals * predicted)) < 1e-4
    for low, high in ((1, 5), (20, 30), (45, 50)):  # predicted is x, nearly
        within = (predicted > low) & (predicted < high)
        variance = np.var(residuals[within]) / np.mean(predicted[within])
        assert variance == pytest.approx(1.0, rel=0.15)  # ten deviations


def test_the_published_buckets_are_the_cheapest_of_all_partitions(paper, rng):
    shared = paper("_published_dawa")
    counts = rng.integers(0, 9, 7)
    costs = [np.zeros(7)]
    for length in (2, 4):  # wherever they begin
        runs = [counts[at : at + length] for at in range(8 - length)]
        costs.append(np.array([np.abs(some - some.mean()).sum() for some in runs]))
        assert shared.deviations(counts, length) == pytest.approx(costs[-1])

    def cheapest(begin):
        ends = [(k, begin + 2**k) for k in range(3) if begin + 2**k <= 7]
        parts = ((costs[k][begin] + 2.3 + cheapest(end)[0], end) for k, end in ends)
        return min(parts, default=(0.0, begin))

    edges = shared.cheapest([each + 2.3 for each in costs])
    ways = [int(length).bit_length() - 1 for length in np.diff(edges)]
    paid = sum(costs[k][at] + 2.3 for k, at in zip(ways, edges, strict=False))
    assert paid == pytest.approx(cheapest(0)[0])
    assert (edges[0], edges[-1]) == (0, 7)
    assert np.array_equal(shared.buckets(counts, 1e9, 1 / 2.3, rng), edges)  # hardly any noise


@pytest.mark.parametrize("way", ["PriROC", "PriROC-fix"])
def test_no_class_is_counted_with_records_of_the_other(paper, way):
    # A cell with the 481 positives, behind the 77 negatives, would share a bucket with some.
    results = run(paper("_regression_roc").released_curves, 12, data="SMS", epsilon=0.5, way=way)
    assert np.median(results.array("error of the area")) < 0.1


def test_areas_that_differ_are_told_apart(paper):
    figure = paper("regression_figure_09")
    found = run(figure.areas, 4, way="dpcore", product=10**6, auc=(0.7, 0.725, 0.75)).array("area")
    np.testing.assert_allclose(found.mean(axis=1), [0.7, 0.725, 0.75], atol=0.005)
    assert figure.worst(dict(zip((0.7, 0.725, 0.75), found, strict=True)), 1) < 1e-3
    mixed = {0.7: found[0], 0.725: np.append(found[0][:3], 0.8), 0.75: found[2]}
    assert figure.worst(mixed, 1) > 0.05
