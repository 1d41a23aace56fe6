"""The study of shared functions measures what it says; a server's memory does not grow with n."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dpcore import studies
from dpcore.trust import FunctionSharing, comparison
from dpcore.trust.models.remembered_noise import prefix_deviation

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def study(monkeypatch):
    """Import a module of studies by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return lambda name: importlib.import_module(f"studies.{name}")


@pytest.mark.full
def test_what_is_allocated_is_told_from_what_was_there_and_what_is_kept(study):
    there = bytearray(10**7)
    found = study("_server_memory").allocated(lambda: bytearray(len(bytearray(2 * 10**6)) // 2))
    assert 10**6 <= found.end < 1.1 * 10**6
    assert 2 * 10**6 < found.most < 3.3 * 10**6 < len(there)


@pytest.mark.full
def test_memory_of_sums_over_a_file_does_not_grow(study):
    rng, of_arrays = np.random.default_rng(1), study("_function_costs").of_arrays
    few, many = (of_arrays(clients, 50, 8, 5, rng) for clients in (100, 1000))
    assert few > 50 * comparison.key_bytes(8)
    assert many - few < 100 * comparison.key_bytes(8)  # of 900 more keys


@pytest.mark.full
def test_memory_of_a_server_grows_by_ids_alone(study):
    rng, of_server = np.random.default_rng(1), study("_function_costs").of_server
    few, many = (of_server(clients, 50, 16, rng) for clients in (100, 1000))
    ids, keys = many.ids - few.ids, 900 * comparison.key_bytes(4)
    assert ids > 900 * 16
    assert many.end - few.end - ids < keys / 2  # sets of ids have room to spare


@pytest.mark.full
def test_a_server_of_shares_forgets_those_that_it_has_settled(study):
    found = study("_server_memory").memory(200, 100, 50, 64, np.random.default_rng(1))
    assert found.share > 8 * found.nodes > found.seed > 48
    assert found.most > 50 * 8 * found.nodes > found.settled > 200 * 16


def test_errors_are_those_of_the_law(study):
    functions = study("functions")
    model = functions.MODELS["3 servers, 1 honest"]
    found = functions.deviations(model, 64)
    np.testing.assert_array_equal(found["whole"], model.noise_deviation(64))
    expected = prefix_deviation(model.tree(64), model.shares(64), 3)
    np.testing.assert_allclose(found["pointwise"], expected)
    assert [*functions.deviations(functions.MODELS["curator"], 64)] == ["whole"]


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", ["2 servers, 1 honest", "distributed noise"])
def test_quantiles_are_as_far_off_as_counts(study, model):
    """The axis is in shares of the records, which are spread evenly."""
    functions = study("functions")
    model, rng = functions.MODELS[model], np.random.default_rng(1)
    found = [functions.quantiles(model, 64, rng) for _ in range(100)]
    for kind, of_counts in functions.deviations(model, 64).items():
        ratio = np.mean(np.square([each[kind] for each in found])) / np.mean(of_counts**2)
        assert 0.7 < np.sqrt(ratio) < 1.5


@pytest.mark.needs_jit
def test_tables_of_errors_have_all_models_and_nothing_pointwise_of_a_curator(study):
    functions = study("functions")
    chosen = {name: functions.MODELS[name] for name in ("curator", "2 servers, 1 honest")}
    small = functions.quantiles.over(model=chosen, size=[16, 64])
    results = studies.run(small, replicates=2, seed=1, workers=1)
    counts, quantiles = (part for part in functions.errors(results) if isinstance(part, list))
    for table in (counts, quantiles):
        head, _, curator, servers = ([cell.strip() for cell in s.split("|")[1:-1]] for s in table)
        sizes = [f"N = {size}, {kind}" for size in (16, 64) for kind in functions.KINDS]
        assert head == ["model", *sizes]
        assert [cell == "" for cell in curator] == [False, False, True, False, True]
        assert all(float(cell) > 0 for cell in [*curator[1::2], *servers[1:]])
    law = functions.deviations(chosen["curator"], 64)["whole"]
    assert counts[2].endswith(f"|  | {np.sqrt(np.mean(law**2)):.1f} |  |")


@pytest.mark.parametrize("servers", [2, 3])
def test_what_a_client_sends(study, servers):
    rng = np.random.default_rng(1)
    found = study("_function_costs").of_client(FunctionSharing(1.0, servers), 64, 3, 4, rng)
    assert len(found.sent) == servers
    assert all(each > 0 for each in found[:4])
    if servers == 2:
        assert found.sent[0] - comparison.key_bytes(6) == found.sent[1] - comparison.key_bytes(6)
    else:
        assert found.sent[2] - found.sent[0] == 64 * 8 - 32
