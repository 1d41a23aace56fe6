"""The study of shared functions measures what it says; a server's memory does not grow with n."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dpcore.trust import Central, DistributedNoise, FunctionSharing, comparison
from dpcore.trust.models.remembered_noise import prefix_deviation

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("studies._function_experiments")


def test_memory_of_sums_over_a_file_does_not_grow(study):
    rng = np.random.default_rng(1)
    few, many = (study.of_arrays(clients, 50, 8, 5, rng) for clients in (100, 1000))
    assert few > 50 * comparison.key_bytes(8)
    assert many - few < 100 * comparison.key_bytes(8)  # of 900 more keys


def test_memory_of_a_server_grows_by_ids_alone(study):
    rng = np.random.default_rng(1)
    few, many = (study.of_server(clients, 50, 16, rng) for clients in (100, 1000))
    ids, keys = many.ids - few.ids, 900 * comparison.key_bytes(4)
    assert ids > 900 * 16
    assert many.end - few.end - ids < keys / 2  # sets of ids have room to spare


def test_errors_are_those_of_the_law(study):
    model = FunctionSharing(1.0, servers=3)
    whole, pointwise = study.of_counts(model, 64, 6400)
    assert whole == pytest.approx(np.sqrt(np.mean(model.noise_deviation(64) ** 2)))
    expected = prefix_deviation(model.tree(64), model.shares(64), 3)
    assert pointwise == pytest.approx(np.sqrt(np.mean(expected**2)))
    assert study.of_counts(Central(1.0), 64, 6400).pointwise is None


@pytest.mark.needs_jit
def test_quantiles_are_as_far_off_as_counts(study):
    """The axis is in shares of the records, which are spread evenly."""
    for model in (FunctionSharing(1.0), DistributedNoise(1.0, 2**16)):
        counts = study.of_counts(model, 64, 2**16)
        rngs = np.random.default_rng(1).spawn(100)
        found = study.of_quantiles(model, 64, 2**16, rngs)
        assert 0.7 < found.whole / counts.whole < 1.5
        assert 0.7 < found.pointwise / counts.pointwise < 1.5


@pytest.mark.parametrize("servers", [2, 3])
def test_what_a_client_sends(study, servers):
    rng = np.random.default_rng(1)
    found = study.of_client(FunctionSharing(1.0, servers), 64, 3, 4, rng)
    assert len(found.sent) == servers
    assert all(each > 0 for each in found[:4])
    if servers == 2:
        assert found.sent[0] - comparison.key_bytes(6) == found.sent[1] - comparison.key_bytes(6)
    else:
        assert found.sent[2] - found.sent[0] == 64 * 8 - 32
