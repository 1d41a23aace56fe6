"""The app of examples/flower, run by Flower itself, gives what dpcore gives without it."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import Client, Server, agree, release, release_scores

ROOT = Path(__file__).parents[2]
SITES, CELLS, SEED = 100, 1024, 7
OURS = ("private_curves", "rehearse_flower", "_environment", "_flower", "_pages", "_pictures")

pytestmark = [
    pytest.mark.full,
    pytest.mark.needs_jit,
    pytest.mark.skipif(sys.platform == "win32", reason="needs Linux or macOS"),
]


@pytest.fixture(scope="module")
def rehearsal():
    """The script, with the folders of it and of the app in front of the others."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples" / "flower"))
        patch.syspath_prepend(str(ROOT / "scripts"))
        yield importlib.import_module("rehearse_flower")
    for name in set(sys.modules) - before:
        if name.startswith(OURS):
            del sys.modules[name]


@pytest.fixture(scope="module")
def python(rehearsal):
    return rehearsal.flower_python()


@pytest.fixture(scope="module")
def simulation(rehearsal, python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulation") / "flower"
    with rehearsal.Federation(python, folder, SITES) as federation:
        yield federation


@pytest.mark.parametrize("trust", ["distributed-noise", "local"])
def test_a_run_releases_what_servers_of_dpcore_release(rehearsal, simulation, trust):
    run = rehearsal.simulate(simulation, trust, CELLS, seed=SEED)
    assert run.succeeded, run.said
    pictures = list(run.output.glob("*.png"))
    assert [picture.read_bytes()[:8] for picture in pictures] == [b"\x89PNG\r\n\x1a\n"]
    rounds = importlib.import_module("private_curves.rounds")
    settings = {
        "statistic": "curves",
        "trust-model": trust,
        "epsilon": rehearsal.EPSILON[trust],
        "dropout": rehearsal.DROPOUT,
        "cells": CELLS,
        "seed": SEED,
    }
    for asked in rounds.plan(settings, SITES):
        expected, content = released_by_dpcore(settings, asked)
        kind = dp.CDF if asked.name == "cdf" else dp.ScoreCurves
        found = kind.from_json((run.output / f"{asked.name}.json").read_text())
        joints = [getattr(each, "joint", each) for each in (found, expected)]
        assert joints[0].privacy == joints[1].privacy
        assert joints[0].mechanism == joints[1].mechanism
        np.testing.assert_array_equal(joints[0].counts, joints[1].counts)
        np.testing.assert_array_equal(joints[0].raw, joints[1].raw)
        costs = run.read(f"{asked.name}-costs.json")["all of the round"]
        assert content <= SITES * costs["its report alone"] < 1.5 * content
        assert SITES * costs["bytes up"] < 1.5 * content or trust == "distributed-noise"


def released_by_dpcore(settings, asked):
    """Return what the same clients and servers of dpcore release, and the bytes of all clients."""
    rounds = importlib.import_module("private_curves.rounds")
    data = importlib.import_module("private_curves.data")
    count = 2 if asked.protocol.is_additive else 1
    servers, content = [Server(asked.protocol) for _ in range(count)], 0
    for site in range(SITES):
        cells = rounds.taken(asked, data.site(site, SITES))
        rng = rounds.generator(settings, asked.name, site)
        if asked.protocol.is_additive:
            made = [Client(asked.protocol, rng).report(cells)]
            content += 8 * asked.protocol.words
        else:
            made = [Client(asked.protocol, rng).report(int(cell)) for cell in cells]
            content += sum(len(reports[0]) for reports in made)
        for reports in made:
            for server, report in zip(servers, reports, strict=True):
                server.add(report)
    if count > 1:
        assert agree(servers) == SITES
    sums = [server.close() for server in servers]
    return (release if asked.name == "cdf" else release_scores)(sums, asked.grid), content


def test_a_round_survives_one_killed_site_of_five(rehearsal, python, tmp_path):
    run = rehearsal.deploy(python, tmp_path / "flower", 64, [1])
    assert run.succeeded, run.said
    for name in ("cdf", "roc"):
        mechanism = run.read(f"{name}.json")["mechanism"]
        assert (mechanism["reporting"], mechanism["clients"]) == (4, 5)
    assert "The vectors of 4 of 5 clients are in the sum" in run.said


def test_a_round_without_two_sites_of_five_opens_nothing(rehearsal, python, tmp_path):
    run = rehearsal.deploy(python, tmp_path / "flower", 64, [1, 3])
    assert run.status == "finished:failed"
    expected = r"after the stage of masked vectors: [0-3] of 5 are left, and 4 are required"
    assert re.search(expected, run.error)  # 3, unless this machine is very busy
    assert "Stage 4 of 4" not in run.said
    assert not list(run.output.glob("*"))


def test_only_the_masks_of_the_app_use_the_whole_seed(rehearsal, python):
    """If Flower's own masks do so, too, then masks.py and docs/guides/flower.md have to say so."""
    million = importlib.import_module("flower.million")
    found = million.secure(python, epsilon=1.0, cells=64, sites=5)
    assert found["same mask"] == {"full-seed": False, "flower": True}
