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
def scripts(monkeypatch):
    """Import a module of the scripts by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


@pytest.mark.parametrize(("n", "epsilon"), [(300, 0.25), (2000, 1.0), (8000, 1.0)])
def test_the_first_of_its_ways_is_the_default(scripts, n, epsilon):
    records = scripts("papers._regression").drawn(n, np.random.default_rng(1))
    study = scripts("studies.residuals")
    way = study.WAYS[study.DEFAULT]
    expected = dp.residual_plot(*records, epsilon=epsilon, rng=np.random.default_rng(2))
    found = way(records, epsilon, np.random.default_rng(2))
    np.testing.assert_array_equal(found, expected.points)


def test_cells_are_clipped_as_in_the_paper(scripts):
    choices, rng = scripts("studies._residual_choices"), np.random.default_rng(1)
    records = scripts("papers._regression").drawn(400, rng)
    ends, edges = [(0.0, 40.0), (-2.0, 2.0)], [np.linspace(0, 40, 5), np.linspace(-2, 2, 5)]
    expected = np.histogram2d(*records, edges)[0]
    assert 0 < expected.sum() < 400
    found = choices.clipped(records, ends, 4, Histogram(Fraction(50)), rng)
    np.testing.assert_array_equal(np.histogram2d(*found.T, edges)[0], expected)
    noisy = choices.clipped(records, ends, 40, Histogram(Fraction(1, 2)), rng)
    assert len(noisy) > 500  # noise that is cut at 0 adds points


def test_a_run_has_all_ways_and_known_bounds_are_better(scripts):
    study = scripts("studies.residuals")
    found = study.choices(n_epsilon=100, rng=np.random.default_rng(1))
    assert list(found) == list(study.WAYS)
    assert all(0.0 < each < 1.0 for each in found.values())
    assert found["bounds: where the records end, free"] < found["PriRP, as published"]
