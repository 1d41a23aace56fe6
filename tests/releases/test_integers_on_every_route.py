"""Whether records are whole numbers is the same on every route, and is never guessed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import trust
from dpcore.mechanisms import NoNoise
from dpcore.trust import Client, Protocol, SecureAggregation, Server, VectorSum

RNG = np.random.default_rng
P = np.linspace(0, 1, 21)
ROUND = bytes(16)
EXACT = NoNoise()

# --- routes from the same records to a curve of them; each takes what is said, or None


def by_reports(values, grid, said):
    protocol = Protocol(SecureAggregation(), grid.size, ROUND)
    servers = [Server(protocol), Server(protocol)]
    for value in values:
        for server, report in zip(
            servers, Client(protocol).report(trust.cell_of(value, grid)), strict=True
        ):
            server.add(report)
    trust.agree(servers)
    return trust.release([server.close() for server in servers], grid, integers=said)


def by_vectors(values, grid, said):
    protocol = Protocol(SecureAggregation(), grid.size, ROUND)
    total = sum(Client(protocol).vector([trust.cell_of(value, grid)]) for value in values)
    return trust.release(VectorSum(protocol, total, len(values)), grid, integers=said)


def by_points(values, grid, said):
    counts = trust.SimulatedSum(grid.count(values), SecureAggregation(), RNG(1))
    curve = trust.PointwiseCDF(counts, grid, integers=said)
    quantiles = curve.quantile(P)
    curve(grid.thresholds)
    assert np.array_equal(curve.to_cdf().quantile(P), quantiles)
    return curve.to_cdf()


def by_clients(values, grid, said):
    curve = trust.client_cdf(
        np.arange(len(values)),
        values,
        grid,
        SecureAggregation(records=1),
        clients=len(values),
        integers=said,
    )
    return curve


def a_table(values, grid, said, axis):
    other = dp.Grid.uniform(0, 1, 2)
    grids, columns = [grid, other], [values, np.full(len(values), 0.25)]
    if axis == "y":
        grids, columns = grids[::-1], columns[::-1]
    statement = (said, None) if axis == "x" else (None, said)
    return dp.table(*columns, dp.TableGrid(*grids), EXACT, integers=statement).marginal(axis)


def a_table_of_counts(values, grid, said):
    both = dp.TableGrid(grid, dp.Grid.uniform(0, 1, 2))
    counts = both.count(values, np.full(len(values), 0.25))
    return dp.table_from_counts(counts, both, EXACT, integers=(said, None)).marginal("x")


def combined(values, grid, said):
    parts = values[: len(values) // 2], values[len(values) // 2 :]
    return dp.combine([dp.cdf(part, grid, EXACT, integers=said) for part in parts])


def averaged(values, grid, said):
    return dp.average([dp.cdf(values, grid, EXACT, integers=said) for _ in range(2)])


def by_counts(values, grid, said):
    return dp.cdf_from_counts(grid.count(values), grid, EXACT, integers=said)


ROUTES = {
    "cdf": lambda v, g, said: dp.cdf(v, g, EXACT, integers=said),
    "cdf of an object column": lambda v, g, said: dp.cdf(
        np.array(v, object), g, EXACT, integers=said
    ),
    "cdf by groups": lambda v, g, said: dp.cdf(
        v, g, EXACT, by=["a"] * len(v), groups=["a"], integers=said
    )["a"],
    "raw": lambda v, g, said: dp.cdf(v, g, EXACT, isotonic=False, integers=said).isotonic(),
    "counts": by_counts,
    "table, x": lambda v, g, said: a_table(v, g, said, "x"),
    "table, y": lambda v, g, said: a_table(v, g, said, "y"),
    "table of counts": a_table_of_counts,
    "clients": by_clients,
    "reports": by_reports,
    "vectors": by_vectors,
    "points": by_points,
    "combined": combined,
    "averaged": averaged,
}


def read(curve):
    low, high = curve.quantile_interval(P)
    return [
        *(curve.quantile(P), low, high, curve.sample(9, RNG(1))),
        *(curve.mean(), curve.std(), *curve.mean_interval(), curve.histogram([0.5, 3, 7.5, 12])[0]),
    ]


def are_alike(first, second):
    pairs = zip(read(first), read(second), strict=True)
    return all(np.allclose(ours, theirs, rtol=1e-12, atol=1e-12) for ours, theirs in pairs)


GRIDS = {
    "wide cells": dp.Grid.uniform(0, 12, 4),
    "cells of one whole number": dp.Grid.uniform(0, 12, 12),
    "thresholds that are whole numbers": dp.Grid(np.arange(13)),
    "narrow cells": dp.Grid.uniform(0, 12, 48),
    "whole numbers, stated": dp.Grid.integers(0, 12),
}
records = st.lists(st.integers(0, 12), min_size=2, max_size=9)


@pytest.mark.sample(11)
@settings(max_examples=8, deadline=None)
@given(values=records, said=st.sampled_from([None, True, False]))
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("route", ROUTES)
def test_every_route_reads_the_same(route, grid, values, said):
    cells, direct = GRIDS[grid], dp.cdf(values, GRIDS[grid], EXACT, integers=said)
    found = ROUTES[route](values, cells, said)
    whole = cells.of_integers if said is None else said
    if route != "points":  # of the points that are known; they do not keep the grid
        assert found.integers is said
    elif said is None:
        assert found.integers is (True if whole else None)
    assert are_alike(found, direct)
    assert np.all(direct.quantile(P) == np.rint(direct.quantile(P))) or not whole


@pytest.mark.parametrize("grid", GRIDS)
def test_without_a_statement_records_may_lie_anywhere_in_their_cells(grid):
    values, cells = [0.4, 2.6, 3.3, 7.9, 11.2], GRIDS[grid]
    curve = dp.cdf(values, cells, EXACT)
    said = {None: curve, **{s: dp.cdf(values, cells, EXACT, integers=s) for s in (True, False)}}
    assert are_alike(curve, said[cells.of_integers])
    assert not are_alike(said[True], said[False])


# --- the readings of columns that are not whole numbers, on cells of one unit

GAMMA = RNG(5).gamma(20.0, 2.0, 60_000)
UNIT = dp.Grid.uniform(0, 120, 120)


@pytest.mark.parametrize(
    "route",
    [
        lambda v: dp.cdf(v, UNIT, epsilon=1.0, rng=RNG(2)),
        lambda v: dp.cdf_from_counts(UNIT.count(v), UNIT, epsilon=1.0, rng=RNG(2)),
        lambda v: dp.table(
            v, v, dp.TableGrid(UNIT, dp.Grid([60.0])), epsilon=1.0, rng=RNG(2)
        ).marginal("x"),
    ],
)
def test_intervals_on_unit_cells_hold_the_truth(route):
    curve = route(GAMMA)
    low, high = curve.quantile_interval(P[1:-1])
    true = np.quantile(GAMMA, P[1:-1])
    assert np.all((low <= true) & (true <= high))
    np.testing.assert_allclose(curve.quantile(P[1:-1]), true, atol=0.2)
    low, high = curve.mean_interval()
    assert low <= GAMMA.mean() <= high
    assert curve.mean() == pytest.approx(GAMMA.mean(), abs=0.1)  # and not a half above
