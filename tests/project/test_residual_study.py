"""The study of residual plots runs what it says it runs."""

from __future__ import annotations

import importlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Histogram

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def study(monkeypatch):
    """Import a part of the study by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return lambda name: importlib.import_module(f"studies._residual_{name}")


@pytest.mark.parametrize(("n", "epsilon"), [(300, 0.25), (2000, 1.0), (8000, 1.0)])
def test_the_first_of_its_ways_is_the_default(study, n, epsilon):
    records = study("experiments").Model().draw(n, np.random.default_rng(1))
    way = study("choices").WAYS["the default"]
    expected = dp.residual_plot(*records, epsilon=epsilon, rng=np.random.default_rng(2))
    found = way(records, epsilon, np.random.default_rng(2))
    np.testing.assert_array_equal(found, expected.points)


def test_models_have_the_moments_they_name(study):
    experiments = study("experiments")
    predicted, residuals = experiments.SCENARIOS["Heteroscedastic"].draw(
        40_000, np.random.default_rng(1)
    )
    assert abs(np.sum(residuals)) < 1e-6
    assert abs(np.sum(residuals * predicted)) < 1e-4
    for low, high in ((1, 5), (20, 30), (45, 50)):  # fitted: predicted is x, nearly
        within = (predicted > low) & (predicted < high)
        variance = np.var(residuals[within]) / np.mean(predicted[within])
        assert variance == pytest.approx(1.0, rel=0.15)  # ten deviations


def test_distances_to_one_expected_plot_are_the_public_ones(study):
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(50, 2)), rng.normal(size=(80, 2)) * 2
    frame = study("experiments").Frame(first, [first])
    expected = dp.statistics.residual_plot_distance(first, second)
    assert 0.3 < expected < 1.0
    assert frame.distance(second) == pytest.approx(expected, rel=1e-12)


def test_separation_is_what_the_best_threshold_achieves(study):
    separation = study("experiments").separation
    assert separation(np.arange(5.0), np.arange(5.0)) == 0.0
    assert separation(np.arange(5.0), np.arange(5.0) + 9) == 1.0
    assert separation(np.array([1.0, 2, 3, 4]), np.array([3.5, 5, 6, 7])) == 0.75


def test_the_least_parameter_is_told_and_the_one_below_is_not(study):
    experiments = study("experiments")
    setting, runs, (low, high) = experiments.Setting(200, np.inf), 40, (2.0**-8, 2.0**8)

    def smallest(*ends):
        def model(slope):
            return experiments.Model(slope=slope, start=0.0)

        return experiments.smallest([(model, ends)], setting, "none", runs)[0]

    found = smallest(low, high)
    below = found * (low / high) ** (2.0**-experiments.STEPS)
    assert 0.02 < found < 0.2
    assert smallest(low, found) <= found
    assert smallest(low, below) == np.inf


def test_cells_are_clipped_as_in_the_paper(study):
    choices, rng = study("choices"), np.random.default_rng(1)
    records = study("experiments").Model().draw(400, rng)
    ends, edges = [(0.0, 40.0), (-2.0, 2.0)], [np.linspace(0, 40, 5), np.linspace(-2, 2, 5)]
    expected = np.histogram2d(*records, edges)[0]
    assert 0 < expected.sum() < 400
    found = choices.clipped(records, ends, 4, Histogram(Fraction(50)), rng)
    np.testing.assert_array_equal(np.histogram2d(*found.T, edges)[0], expected)
    noisy = choices.clipped(records, ends, 40, Histogram(Fraction(1, 2)), rng)
    assert len(noisy) > 500  # noise that is cut at 0 adds points
