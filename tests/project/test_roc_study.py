"""The study of ROC curves measures what its page says."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dpcore import studies

SCRIPTS = Path(__file__).parents[2] / "scripts"
pytestmark = pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")  # of much noise


@pytest.fixture
def study(monkeypatch):
    """Import the study; without data sets."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delenv("DPCORE_DATA", raising=False)
    return importlib.import_module("studies.roc")


def test_areas_are_told_apart_by_their_spread(study):

    def areas(spread, auc, rng):
        return {"area": auc + spread * rng.normal()}

    made = studies.Study(areas, {"spread": (1e-4, 0.02, 10.0), "auc": study.AUCS})
    results = studies.run(made, replicates=20, seed=1)
    found = [study.told_apart(results, spread=d).split()[0] for d in (1e-4, 0.02, 10.0)]
    assert found[0] == "0.025"
    assert float(found[1]) in (0.025, 0.05)
    assert found[2] == "none"


@pytest.mark.needs_jit
def test_thresholds_are_as_uneven_as_the_budget_makes_them(study):
    rng = np.random.default_rng(1)
    good, bad = (study.thresholds("exponential", epsilon, rng) for epsilon in (10.0, 1e-4))
    assert good["first"] < 500 < bad["first"]
    assert good["uneven"] < 0.05 < bad["uneven"]


@pytest.mark.needs_jit
def test_ways_are_ordered_by_what_they_know(study):
    mean = {
        way: np.mean(
            [
                study.errors_of_curves(way, 0.2, np.random.default_rng(seed))["error"]
                for seed in range(15)
            ]
        )
        for way in (study.PUBLISHED, study.SIZES, study.OURS)
    }
    assert mean[study.OURS] < mean[study.SIZES] / 2 < mean[study.PUBLISHED] / 2


def test_verdicts_name_where_half_is_missed(study):
    assert study.verdict([3.0] * 7).endswith("at every epsilon")
    assert study.verdict([3.0] * 6 + [1.5]).endswith("but for epsilon = 2")
