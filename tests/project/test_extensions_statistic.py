"""Strangers' statistics: any function of curves has an interval, from one engine."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.statistics import ROC
from tests.project.own_mechanism import EachCell

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 200, 100)
INCOMES = RNG(1).gamma(4.0, 12.0, 6_000)
CURVE = dp.cdf(INCOMES, GRID, epsilon=2.0, rng=RNG(2))
EXACT = dp.cdf(INCOMES, GRID, dp.mechanisms.NoNoise())
SCORES = RNG(3).random(4_000)
LABELS = RNG(4).random(4_000) < SCORES**1.5


def gini(curve):
    """0 if all records are equal, and 1 if one of them has everything."""
    incomes = curve.quantile(np.linspace(0.0005, 0.9995, 1000))
    lorenz = np.cumsum(incomes) / np.sum(incomes)
    return 1.0 - 2.0 * np.mean(lorenz)


def test_it_is_that_of_the_page_and_short():
    page = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
    (code,) = (
        block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "gini" in block
    )
    names = {"dp": dp, "np": np, "curve": CURVE}
    exec(code, names)
    assert names["gini"](CURVE) == gini(CURVE)
    assert len(inspect.getsource(gini).splitlines()) <= 10


def test_the_records_and_the_population():
    records, population = (dp.interval(CURVE, gini, of=of) for of in ("records", "population"))
    assert records.low < gini(EXACT) < records.high
    assert population.low < records.low < records.high < population.high
    assert dp.interval(CURVE, gini) == records  # one release, one interval
    wide = dp.interval(CURVE, gini, 0.999)
    assert wide.low < records.low < records.high < wide.high
    assert dp.interval(CURVE, gini, rng=RNG(1)) != records


def test_without_noise_only_the_sample_is_random():
    assert dp.interval(EXACT, gini) == (gini(EXACT), gini(EXACT))
    low, high = dp.interval(EXACT, lambda curve: curve(50.0), of="population", replicates=2000)
    half = 1.96 * np.sqrt(EXACT(50.0) * (1.0 - EXACT(50.0)) / EXACT.n)
    assert (high - low) / 2 == pytest.approx(half, rel=0.06)


@pytest.mark.parametrize(
    "mechanism", [None, (dp.mechanisms.Dyadic(1.0), dp.mechanisms.Hierarchy(1.0))]
)
def test_scores_and_the_engine_is_that_of_areas(mechanism):
    budget = {"epsilon": 2.0} if mechanism is None else {"mechanism": mechanism}
    roc = dp.roc_curve(LABELS, SCORES, dp.Grid.uniform(0, 1, 64), **budget, rng=RNG(5))
    ends = dp.interval(roc.curves, lambda curves: ROC(curves).auc, mechanism=roc.mechanism)
    assert ends == pytest.approx(roc.auc_interval())


def test_tables():
    grid = dp.TableGrid.uniform((0, 1), (0, 1), 8)
    records = SCORES, (SCORES + RNG(6).random(4_000)) / 2
    middles = (np.arange(8) + 0.5) / 8

    def covariance(table):
        shares = table.counts / table.n
        means = shares.sum(axis=1) @ middles, shares.sum(axis=0) @ middles
        return middles @ shares @ middles - means[0] * means[1]

    table = dp.table(*records, grid, dp.mechanisms.Hierarchy(2.0), rng=RNG(7))
    low, high = dp.interval(table, covariance)
    assert low < covariance(dp.table(*records, grid, dp.mechanisms.NoNoise())) < high
    assert high - low < 0.01


def test_several_curves_and_several_numbers():
    groups = dp.cdf(
        np.append(INCOMES, INCOMES + 10.0),
        GRID,
        by=np.repeat([0, 1], INCOMES.size),
        groups=[0, 1],
        epsilon=2.0,
        rng=RNG(8),
    )

    def shifts(first, second):
        return second.quantile([0.25, 0.5]) - first.quantile([0.25, 0.5])

    for of in ("records", "population"):
        low, high = dp.interval(tuple(groups.values()), shifts, 0.999, of=of)
        assert low.shape == (2,)
        assert np.all((low < 10.0) & (high > 10.0))
    own = [dp.mechanisms.from_curve(curve) for curve in groups.values()]
    again = dp.interval(list(groups.values()), shifts, 0.999, of=of, mechanism=own)
    assert np.array_equal(again, (low, high))


def test_mechanisms_of_strangers_and_trust_models():
    own = EachCell(2.0)
    low, high = dp.interval(dp.cdf(INCOMES, GRID, own, rng=RNG(9)), gini, of="population")
    assert low < gini(EXACT) < high
    shared = dp.trust.DistributedNoise(2.0, clients=INCOMES.size)
    curve = dp.cdf(INCOMES, GRID, shared, rng=RNG(9))
    for of in ("records", "population"):
        low, high = dp.interval(curve, gini, of=of, mechanism=shared, replicates=40)
        assert low < gini(EXACT) < high
    told = r"curves must be a release by a mechanism .* or be given with its mechanism"
    with pytest.raises(dp.ParameterError, match=told):
        dp.interval(curve, gini)


def test_numbers_of_records_that_are_released():
    curve = dp.cdf(INCOMES, GRID, epsilon=2.0, neighbours="add-or-remove-one", rng=RNG(2))
    low, high = dp.interval(curve, lambda curve: curve.n)
    assert low < INCOMES.size < high


def test_nothing_is_charged():
    with dp.Budget(epsilon=1.0) as budget:
        dp.interval(CURVE, gini, replicates=2)
    assert not budget.log


def test_what_is_not_defined_in_a_release_has_no_bounds():
    def odd(curve):
        return np.array([curve.n, np.nan, np.inf if curve is CURVE else 1.0])

    assert np.array_equal(dp.interval(CURVE, odd).low, [CURVE.n, -np.inf, -np.inf])
    assert np.array_equal(dp.interval(CURVE, odd).high, [CURVE.n, np.inf, np.inf])


@pytest.mark.parametrize("of", ["records", "population"])
def test_what_dawa_loses_counts(of):
    curve = dp.cdf(INCOMES, GRID, dp.mechanisms.Dawa(0.05), rng=RNG(11))
    low, high = dp.interval(curve, gini, 0.999, of=of, replicates=60)
    assert low < gini(EXACT) < high
    known = dp.cdf(INCOMES, GRID, dp.mechanisms.Dawa(50.0), rng=RNG(11))
    narrow = dp.interval(known, gini, 0.999, of=of, replicates=60)
    assert narrow.high - narrow.low < high - low


def test_a_loss_is_added_in_squares(monkeypatch):
    curve = dp.cdf(INCOMES, GRID, dp.mechanisms.Dawa(0.05), rng=RNG(11))
    with_losses = dp.interval(curve, gini, replicates=60)
    monkeypatch.setattr(dp.mechanisms.Dawa, "loses_records", False)
    noise = dp.interval(curve, gini, replicates=60)
    assert noise.high - noise.low < with_losses.high - with_losses.low


TIMES = dp.cdf(
    np.arange("2024-01-01", "2024-12-31", dtype="M8[D]"),
    dp.Grid.days("2024-01-01", "2024-12-30"),
    epsilon=2.0,
    rng=RNG(1),
)
GROUPS = dp.GroupedCDF((0, 1), (CURVE, CURVE))
UNKNOWN = dp.cdf(INCOMES, GRID, dp.mechanisms.AdaptiveQuantiles(1.0), rng=RNG(1))


@pytest.mark.parametrize(
    ("told", "arguments"),
    {
        "curves must be a CDF": {"curves": ROC},
        r"several of them: write \.curves; got GroupedCDF": {"curves": GROUPS},
        "curves must be one": {"curves": []},
        "all different": {"curves": [CURVE, CURVE]},
        "whose error is known, such as": {"curves": UNKNOWN},
        r"must be raw, or isotonic\(\), to be simulated": {
            "curves": replace(CURVE, processing=("smooth(norm=2)",))
        },
        "statistic must be a function": {"statistic": 1},
        r"write CDF\.mean": {"statistic": CURVE.mean},
        "statistic must return real": {"statistic": lambda curve: "a"},
        "real numbers, such as times less a first one": {
            "curves": TIMES,
            "statistic": lambda curve: curve.quantile([0.25, 0.75]),
        },
        "statistic must always have": {"statistic": lambda curve: np.ones(1 + (curve is CURVE))},
        "level": {"level": 1.0},
        "of must be": {"of": "people"},
        "the curves' own": {"mechanism": dp.mechanisms.Hierarchy(0.7)},
        "one for each of 1": {"mechanism": [None, None]},
        "replicates": {"replicates": 0},
        "rng": {"rng": 7},
    }.items(),
)
def test_what_is_refused(told, arguments):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=told):
        dp.interval(**{"curves": CURVE, "statistic": gini} | arguments)


@pytest.mark.full
@pytest.mark.parametrize("of", ["records", "population"])
@pytest.mark.parametrize(
    "mechanism",
    [dp.mechanisms.Hierarchy(0.5), dp.mechanisms.Hierarchy(3.0), dp.mechanisms.Dawa(0.3)],
)
def test_intervals_cover(of, mechanism):
    rng, trials = RNG(10), 150
    many = dp.cdf(rng.gamma(4.0, 12.0, 2**21), GRID, dp.mechanisms.NoNoise())
    covered = np.zeros(2)

    def both(curve):
        return np.array([gini(curve), curve.quantile(0.75) - curve.quantile(0.25)])

    for _ in range(trials):
        incomes = rng.gamma(4.0, 12.0, 3_000)
        curve = dp.cdf(incomes, GRID, mechanism, rng=rng)
        own = dp.cdf(incomes, GRID, dp.mechanisms.NoNoise())
        true = both(own if of == "records" else many)
        low, high = dp.interval(curve, both, of=of)
        covered += (low <= true) & (true <= high)
    assert np.all(covered / trials > 0.95 - 3 * np.sqrt(0.05 * 0.95 / trials))
