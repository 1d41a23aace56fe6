"""Survival curves under each trust model: of one curator's simulation, and of clients' rounds."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import (
    DistributedNoise,
    FunctionSharing,
    Local,
    Protocol,
    SecureAggregation,
    cell_of,
    release,
    release_survival,
)
from tests.trust.rounds import RNG, ROUND, closed, settled

GRID, N = dp.Grid.uniform(0, 12, 8), 2000
UNTIL = RNG(1).exponential(10, N), RNG(2).uniform(0, 20, N)
DURATIONS, EVENT = np.minimum(*UNTIL), UNTIL[0] <= UNTIL[1]
EXACT = dp.survival(DURATIONS, EVENT, GRID, dp.mechanisms.NoNoise())
MODELS = {
    "local": Local(8.0, clients=N),
    "distributed": DistributedNoise(1.0, clients=N),
    "secure": SecureAggregation(),
    "central": dp.trust.Central(1.0),
    "shares": FunctionSharing(1.0),
}


def test_cells_are_those_of_the_counts():
    durations, event = np.append(DURATIONS, [-1.0, 12.0, 12.5]), np.append(EVENT, [True] * 3)
    for grid in (GRID, dp.Grid([1.0, 5.0, 6.0])):
        cells = cell_of(durations, grid, event=event)
        counts = np.bincount(cells, minlength=2 * grid.size)
        assert np.array_equal(counts, dp.survival_counts(durations, event, grid))
        assert cell_of(durations[7], grid, event=bool(event[7])) == cells[7]
    days = dp.Grid.uniform(np.timedelta64(0, "D"), np.timedelta64(8, "D"), 4)
    assert cell_of(np.timedelta64(3, "D"), days, event=False) == 6
    assert cell_of(timedelta(days=3), days, event=False) == 6
    pandas = pytest.importorskip("pandas")
    assert cell_of(pandas.Timedelta(days=3), days, event=False) == 6
    with pytest.raises(dp.MissingValueError, match="score"):
        cell_of(pandas.NaT, days, event=False)
    for wrong, kind in (
        ({"event": [1]}, dp.DtypeError),
        ({"event": [True] * 2}, dp.ParameterError),
    ):
        with pytest.raises(kind, match="event"):
            cell_of([1.0], GRID, **wrong)
    with pytest.raises(dp.ParameterError, match="event must be None for scored"):
        cell_of(1.0, GRID, True, event=True)


@pytest.mark.parametrize("name", MODELS)
def test_every_trust_model_releases_a_curve_with_a_band(name):
    curve = dp.survival(DURATIONS, EVENT, GRID, MODELS[name], rng=RNG(1))
    assert curve.n == N
    assert np.nanmax(np.abs(curve.survival - EXACT.survival)) < 0.15
    low, high = curve.band(of="population")
    known = np.isfinite(curve.survival)
    assert np.all((low <= curve.survival)[known] & (curve.survival <= high)[known])
    if name == "secure":  # it is exact, which is no release
        return
    again = dp.load(curve.to_json())
    assert np.array_equal(again.survival, curve.survival, equal_nan=True)


ROUNDS = {
    "local": Local(8.0, clients=300),
    "distributed": DistributedNoise(1.0, clients=300),
    "secure": SecureAggregation(),
    "shares": FunctionSharing(1.0),
}


def test_durations_in_another_unit_are_told_after_a_round():
    grid = dp.Grid.uniform(0, 12, 16)
    cells = cell_of(365 * DURATIONS[:300], grid, event=EVENT[:300])
    sums = closed(settled(Protocol(SecureAggregation(), 2 * grid.size, ROUND), cells, seed=1))
    with pytest.warns(dp.DpcoreWarning, match="durations are in the last cell"):
        release_survival(sums, grid)


@pytest.mark.parametrize("name", ROUNDS)
def test_rounds_of_clients_release_the_same_curve(name):
    cells = cell_of(DURATIONS[:300], GRID, event=EVENT[:300])
    sums = closed(settled(Protocol(ROUNDS[name], 2 * GRID.size, ROUND), cells, seed=1))
    curve = release_survival(sums, GRID)
    exact = dp.survival(DURATIONS[:300], EVENT[:300], GRID, dp.mechanisms.NoNoise())
    assert curve.n == 300
    assert np.array_equal(curve.row.counts, release(sums).counts)
    if name == "secure":
        assert np.array_equal(curve.survival, exact.survival)
    low, high = curve.band()
    known = np.isfinite(curve.survival)
    assert known[:2].all()
    assert np.all((low <= curve.survival)[known] & (curve.survival <= high)[known])
    assert curve.mechanism.describe() == dict(curve.row.mechanism)


def test_rounds_that_do_not_fit_are_refused():
    cells = cell_of(DURATIONS[:50], GRID, event=EVENT[:50])
    sums = closed(settled(Protocol(SecureAggregation(), 16, ROUND), cells, seed=1))
    with pytest.raises(dp.ParameterError, match="grid must have 8 cells, half"):
        release_survival(sums, dp.Grid.uniform(0, 12, 16))
    with pytest.raises(dp.ParameterError, match="grid"):
        release_survival(sums, dp.Grid.days("2024-01-01", "2024-01-08"))
    some = Protocol(DistributedNoise(1.0, clients=50, records=1), 16, ROUND, empty=8)
    sums = closed(settled(some, cells, seed=1))
    with pytest.raises(dp.ParameterError, match="sums must be of clients that all have"):
        release_survival(sums, GRID)
    wave = closed(settled(Protocol(dp.trust.SquareWave(1.0, clients=50), 16, ROUND), cells, seed=1))
    with pytest.raises(dp.ParameterError, match="one line"):
        release_survival(wave, GRID)
