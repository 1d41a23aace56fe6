"""The example for Flower: its sites, its rounds and its picture, which need no Flower."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import Client, DistributedNoise, Local, Protocol, Server, VectorSum, agree

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "statistic": "curves",
    "trust-model": "distributed-noise",
    "epsilon": 1.0,
    "dropout": 0.2,
    "cells": 64,
    "seed": -1,
}
STUDY = {**SETTINGS, "seed": 7}
SITES = 10


@pytest.fixture(scope="module")
def app():
    """Return the modules that do not import Flower, and the check of pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples" / "flower"))
        patch.syspath_prepend(str(ROOT / "scripts"))
        names = ("data", "picture", "rounds")
        found = {name: importlib.import_module(f"private_curves.{name}") for name in names}
        yield SimpleNamespace(lacks=importlib.import_module("_pictures").lacks, **found)
    for name in [each for each in sys.modules if each.split(".")[0] == "private_curves"]:
        del sys.modules[name]


def held(app, settings, this, partition_id):
    """Return a site's client, and the cells of its records."""
    client = Client(this.protocol, app.rounds.generator(settings, this.name, partition_id))
    return client, app.rounds.taken(this, app.data.site(partition_id, SITES))


def summed(app, settings, this, sites):
    """Return the sum of the vectors of some sites."""
    total = np.zeros(this.protocol.words, np.int64)
    for partition_id in sites:
        client, cells = held(app, settings, this, partition_id)
        total += client.vector(cells)
    return VectorSum(this.protocol, total, len(sites), settings["seed"] >= 0)


def run(app, settings, sites=range(SITES)):
    """Return what both rounds release."""
    plan = app.rounds.plan(settings, SITES)
    return [app.rounds.released(this, summed(app, settings, this, sites)) for this in plan]


@pytest.mark.parametrize("sites", [1, 2, 5, 100, 500])
def test_every_record_is_at_one_site(app, sites):
    parts = [app.data.site(each, sites) for each in range(sites)]
    for column, whole in zip(zip(*parts, strict=True), app.data.everybody(), strict=True):
        assert np.array_equal(np.sort(np.concatenate(column)), np.sort(whole))
    again = app.data.site(sites - 1, sites)
    assert all(map(np.array_equal, again, parts[-1]))


def test_sites_differ_in_size_and_in_labels(app):
    parts = [app.data.site(each, 100) for each in range(100)]
    sizes = np.array([part.labels.size for part in parts])
    shares = np.array([part.labels.mean() for part in parts if part.labels.size])
    assert sizes.max() > 10 * max(1, sizes.min())
    assert shares.min() < 0.2 < 0.9 < shares.max()


def test_records(app):
    values, labels, scores = app.data.everybody()
    assert values.size == labels.size == scores.size == app.data.RECORDS
    assert labels.dtype == bool
    assert 0 < scores.min() < scores.max() < 1
    assert np.unique(values).size > 500
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match=f"partition_id = {wrong}"):
            app.data.site(wrong, 5)


def test_both_sides_plan_the_same_rounds(app):
    curve, scores = plan = app.rounds.plan(SETTINGS, 100)
    assert curve.protocol.round_id != scores.protocol.round_id
    assert curve.protocol.size == scores.protocol.size == 64
    assert curve.protocol.trust == DistributedNoise(1.0, 100, 0.2, records=None)
    for this in plan:
        again = app.rounds.planned(SETTINGS, 100, this.name, this.protocol.round_id)
        assert again.protocol.key == this.protocol.key
        other = app.rounds.planned(SETTINGS, 99, this.name, this.protocol.round_id)
        assert other.protocol.digest != this.protocol.digest
    local = app.rounds.trust_model({**SETTINGS, "trust-model": "local"}, 100)
    assert local == Local(1.0, clients=app.data.RECORDS)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"trust-model": "central"}, ParameterError, "trust-model.*'central'"),
        ({"epsilon": 0.0}, ParameterError, "epsilon"),
        ({"dropout": 1.0}, ParameterError, "dropout"),
        ({"statistic": "mean"}, ParameterError, "statistic.*projection.*'mean'"),
        ({"statistic": "projection", "trust-model": "local"}, ParameterError, "trust-model.*sum"),
        ({"cells": 63}, ParameterError, "cells.*63"),
        ({"cells": 2}, ParameterError, "cells.*2"),
        ({"cells": 64.0}, DtypeError, "cells.*float"),
        ({"cells": True}, DtypeError, "cells.*bool"),
    ],
)
def test_wrong_settings(app, wrong, error, message):
    with pytest.raises(error, match=message):
        app.rounds.plan({**SETTINGS, **wrong}, 100)


def test_an_unknown_round(app):
    with pytest.raises(ParameterError, match="cdf, roc, projection, hosmer-lemeshow"):
        app.rounds.planned(SETTINGS, 100, "histogram", bytes(16))


def test_cells_are_those_of_the_library(app):
    everybody = app.data.everybody()
    curve, scores = app.rounds.plan(SETTINGS, SITES)
    counts = np.bincount(app.rounds.taken(curve, everybody), minlength=64)
    assert np.array_equal(counts, curve.grid.count(everybody.values))
    counts = np.bincount(app.rounds.taken(scores, everybody), minlength=64)
    found = dp.score_counts(everybody.labels, everybody.scores, scores.grid)
    assert np.array_equal(counts, found)


def test_the_sum_is_what_two_servers_of_dpcore_release(app):
    for this in app.rounds.plan(STUDY, SITES):
        servers = [Server(this.protocol), Server(this.protocol)]
        for partition_id in range(SITES):
            client, cells = held(app, STUDY, this, partition_id)
            for server, report in zip(servers, client.report(cells), strict=True):
                server.add(report)
        assert agree(servers) == SITES
        sums = [server.close() for server in servers]
        released = dp.trust.release if this.name == "cdf" else dp.trust.release_scores
        assert app.rounds.released(this, summed(app, STUDY, this, range(SITES))) == released(
            sums, this.grid
        )


def test_releases_are_near_the_truth_also_if_sites_are_missing(app):
    curve, scores = run(app, STUDY, sites=range(2, SITES))
    parts = [app.data.site(each, SITES) for each in range(2, SITES)]
    values, labels, given = map(np.concatenate, zip(*parts, strict=True))
    assert curve.n == scores.n == values.size < app.data.RECORDS
    assert curve.privacy.epsilon == scores.privacy.epsilon == 1.0
    assert curve.privacy.simulated
    error = curve.counts - np.cumsum(curve.grid.count(values))
    assert np.abs(error).max() < 6 * curve.noise_deviation.max()
    exact = dp.score_curves(labels, given, scores.grid, dp.mechanisms.NoNoise())
    found, true = map(dp.statistics.ROC.from_curves, (scores, exact))
    assert abs(found.auc - true.auc) < 0.05


@pytest.fixture
def drawn(app, monkeypatch):
    """Return the list of the figures that are saved."""
    figures = []
    save = app.picture.Figure.savefig
    monkeypatch.setattr(
        app.picture.Figure,
        "savefig",
        lambda self, *args, **options: figures.append(self) or save(self, *args, **options),
    )
    return figures


@pytest.mark.parametrize("clients", [2, 10, 100, 1000])
def test_sums_are_as_fine_as_there_is_room_for(app, clients):
    room = importlib.import_module("private_curves.room")
    for statistic in ("projection", "hosmer-lemeshow"):
        settings = {**SETTINGS, "statistic": statistic}
        [this] = app.rounds.plan(settings, clients)
        assert this.protocol.function.bits >= 4
        assert room.needed(this.protocol, app.data.MOST_RECORDS) <= room.room(clients)
        finer = replace(this.protocol.function, bits=this.protocol.function.bits + 1)
        finer = Protocol.of_function(this.protocol.trust, finer, bytes(16))
        assert room.needed(finer, app.data.MOST_RECORDS) > room.room(clients)


def test_a_sum_for_which_there_is_no_room_is_refused(app):
    settings = {**SETTINGS, "statistic": "projection"}
    with pytest.raises(ParameterError, match=r"clients.*projection-sums"):
        app.rounds.plan(settings, 10**6)


def test_a_projection_is_near_the_truth(app, drawn, tmp_path):
    settings = {**STUDY, "statistic": "projection"}
    [this] = app.rounds.plan(settings, SITES)
    [found] = run(app, settings)
    assert (found.n, found.privacy.epsilon, found.simulated) == (app.data.RECORDS, 1.0, True)
    exact = dp.trust.vector_sum(
        app.data.everybody().values,
        this.protocol.function.function,
        dp.trust.SecureAggregation(),
        rng=np.random.default_rng(1),
    )
    assert np.all(np.abs(found.total - exact.total) < 6 * found.deviation)
    assert app.rounds.said(this, found)[1].startswith("Quartiles: ")
    app.picture.draw([found], settings, SITES, tmp_path)
    assert "epsilon = 1" in drawn[0].get_suptitle()
    assert not list(app.lacks(drawn[0]))


def test_a_test_of_the_model_is_near_the_truth(app, drawn, tmp_path):
    settings = {**STUDY, "statistic": "hosmer-lemeshow"}
    [this] = app.rounds.plan(settings, SITES)
    [found] = run(app, settings, sites=range(2, SITES))
    parts = [app.data.site(each, SITES) for each in range(2, SITES)]
    labels = np.concatenate([part.labels for part in parts])
    test = app.rounds.tested(this, found)
    assert test.n == labels.size
    error = test.observed.sum(axis=0)[1] - labels.sum()
    assert abs(error) < 6 * np.sqrt(np.square(test.deviations[:, 1]).sum())
    assert 0.0 < test.pvalue < 1.0
    app.picture.draw([found], settings, SITES, tmp_path)
    assert not list(app.lacks(drawn[0]))


def test_releases_are_real_without_a_seed(app):
    assert app.rounds.generator(SETTINGS, "cdf", 0) is None
    draws = {
        app.rounds.generator(STUDY, name, site).integers(2**62)
        for name in app.rounds.ROUNDS
        for site in range(5)
    }
    assert len(draws) == 5 * len(app.rounds.ROUNDS)
    assert not run(app, SETTINGS)[0].privacy.simulated


def test_the_picture_stands_alone(app, drawn, tmp_path):
    folder, released = tmp_path / "new" / "folder", run(app, SETTINGS)
    path = app.picture.draw(released, SETTINGS, SITES, folder)
    assert path == folder / "private-curves-distributed-noise.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not list(app.lacks(drawn[0]))
    title = drawn[0].get_suptitle()
    for part in ("10 sites", "15,143 of their 15,143", "epsilon = 1 ", "epsilon = 2 ", "8 sites"):
        assert part in title


def test_the_picture_of_local_reports(app, drawn, tmp_path):
    settings = {**STUDY, "trust-model": "local", "epsilon": 4.0, "cells": 16}
    released = []
    for this in app.rounds.plan(settings, 500):  # of a few small sites, to be quick
        server, rng = Server(this.protocol), app.rounds.generator(settings, this.name, 0)
        for partition_id in range(20):
            for cell in app.rounds.taken(this, app.data.site(partition_id, 500)):
                server.add(Client(this.protocol, rng).report(int(cell))[0])
        released.append(app.rounds.released(this, server.close()))
    path = app.picture.draw(released, settings, 500, tmp_path)
    assert path.name == "private-curves-local.png"
    assert not list(app.lacks(drawn[0]))
    title = drawn[0].get_suptitle()
    assert f"{released[0].n:,} of their 15,143" in title
    assert "SIMULATED" in title
