"""The study of Hosmer-Lemeshow tests measures what its page says."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
pytestmark = pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")  # of much noise


@pytest.fixture
def study(monkeypatch):
    """Import the study; without data sets."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.delenv("DPCORE_DATA", raising=False)
    return importlib.import_module("studies.hosmer_lemeshow")


@pytest.mark.needs_jit
def test_a_wrong_model_is_rejected_and_a_right_one_is_not(study, monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.setattr(study, "REPLICATES", 1)

    def share(model):
        found = [study.rejections(model, np.inf, rng)["chi-squared"] for _ in range(12)]
        return np.mean(found)

    assert share(study.RIGHT) < 0.4
    assert share(study.OWN) < 0.4
    assert share(study.WRONG) > 0.6


def test_labels_go_with_the_probabilities(study):
    rng = np.random.default_rng(1)
    labels, p = study.drawn(study.RIGHT, rng)
    assert abs(np.sum(labels - p)) < 6 * np.sqrt(np.sum(p * (1 - p)))
    steeper, _ = study.drawn(study.WRONG, rng)
    low = p < 0.1
    assert steeper[low].sum() < labels[low].sum()


@pytest.mark.needs_jit
def test_errors_of_the_statistic_shrink_with_the_noise(study, monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.setattr(study, "REPLICATES", 9)
    much, little = (study.errors_of_fit("Bank", epsilon, rng) for epsilon in (0.05, 1e4))
    for way in study.WAYS:
        assert abs(little[way]) < 0.5 * abs(much[way])


@pytest.mark.needs_jit
def test_scores_of_few_values_do_not_reject_a_right_model(study, monkeypatch):
    rng = np.random.default_rng(2)
    monkeypatch.setattr(study, "REPLICATES", 19)
    found = [study.discrete_scores("ten values", 500_000, 3.0, rng) for _ in range(6)]
    assert set(found[0]) == {"default", study.COARSE}
    assert all(np.mean([test[grid] for test in found]) < 0.5 for grid in found[0])


@pytest.mark.parametrize("name", ["smooth", "spiky", "ten values", "rare"])
def test_shapes_are_probabilities(study, name):
    p = study.SHAPES[name](5000, np.random.default_rng(1))
    assert p.shape == (5000,)
    assert np.all((p > 0) & (p < 1))
    if name == "spiky":
        assert 0.3 < np.isin(p, np.arange(1, 100) / 100).mean() < 0.7
