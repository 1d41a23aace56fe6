"""Suggestions: the errors they state beside those of releases, and what is refused."""

from __future__ import annotations

import datetime as dt
import warnings

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.cuts import expected_error, planned
from dpcore.privacy.allowance import Allowance
from dpcore.releases.quantiles import quantiles_from_counts

pytestmark = pytest.mark.needs_jit  # many releases: a minute and more where kernels are interpreted

QUARTILES = np.array([0.25, 0.5, 0.75])


def off(found, n, releases=12):
    """Root mean square errors of counts, and of quartiles in values, for evenly spread records."""
    rng, counts, values = np.random.default_rng(1), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of noise that is too much for the grid
        for _ in range(releases):
            records = rng.uniform(10.0, 90.0, n)
            exact = found.grid.count(records)
            curve = dp.cdf_from_counts(exact, found.grid, found.mechanism, rng=rng)
            counts.append(np.mean((curve.counts - np.cumsum(exact)) ** 2))
            values.append((curve.quantile(QUARTILES) - np.quantile(records, QUARTILES)) ** 2)
    return np.sqrt(np.mean(counts)), np.sqrt(np.mean(values))


@pytest.mark.parametrize("n", [1000, 30_000])
@pytest.mark.parametrize(
    "budget",
    [
        {"epsilon": 0.2},
        {"epsilon": 1.0},
        {"rho": 0.5},
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "neighbours": "add-or-remove-one"},
    ],
    ids=str,
)
def test_stated_errors_are_those_of_releases(n, budget):
    found = dp.suggest(n=n, lower=10, upper=90, **budget)
    counts, values = off(found, n)
    assert 0.5 < counts / found.count_error < 1.4
    assert 0.3 < values / found.value_error < 1.7
    assert found.value_error == pytest.approx(80 * found.share_error)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.1}])
def test_quantiles_are_drawn_as_near_as_expected(m, budget):
    n, rng = 100_000, np.random.default_rng(2)
    grid, records = dp.Grid.uniform(0, 1, 2**14), (np.arange(n) + 0.5) / n
    counts, asked = grid.count(records), np.linspace(0.3, 0.7, m)
    cumulative, off = np.cumsum(counts), []
    for _ in range(150):
        found = quantiles_from_counts(counts, asked, grid, **budget, method="recursion", rng=rng)
        cells = np.searchsorted(grid.thresholds, found.values)
        off.append(cumulative[cells] - counts[cells] / 2 - asked * n)
    said = expected_error(planned(asked.tolist(), Allowance.checked(**budget_of(**budget))))
    assert np.sqrt(np.mean(np.square(off))) == pytest.approx(said, rel=0.25)


def budget_of(epsilon=None, rho=None):
    return {"epsilon": epsilon, "rho": rho, "neighbours": "replace-one"}


def test_it_says_up_to_how_many_quantiles_are_better_drawn():
    found = dp.suggest(n=100_000, epsilon=1.0, lower=0, upper=1)
    few, values = found.few_quantiles, np.linspace(0, 1, 100_000)
    assert 3 <= few < 100
    assert f"at most {few} quantiles" in str(found)
    for m, method in ((few, "recursion"), (few + 1, "curve")):
        asked = np.arange(1, m + 1) / (m + 1)
        assert dp.quantiles(values, asked, found.grid, epsilon=1.0).method == method
    public = {"n": 100_000, "lower": 0, "upper": 1}
    assert dp.suggest(**public, rho=0.5).few_quantiles >= 1
    assert dp.suggest(**public, epsilon=1.0, delta=1e-6).few_quantiles == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("unit", ["shares", "values"])
@pytest.mark.parametrize("budget", [{"epsilon": 5.0}, {"rho": 0.01}])
def test_what_is_enough_reaches_the_error_and_half_of_it_does_not(unit, budget):
    goal = 0.01 if unit == "shares" else 0.8
    public = {"n": 2000, "lower": 10, "upper": 90}
    enough = dp.suggest(**public, **budget, error=goal, unit=unit).enough
    (name,) = budget
    then = dp.suggest(**public, **{name: enough})
    assert then.share_error < 0.0105
    factor = 4 if name == "rho" else 2  # errors go with its root
    assert dp.suggest(**public, **{name: enough / factor}).share_error > 0.012


def test_an_error_that_nothing_reaches():
    found = dp.suggest(n=10, epsilon=1.0, lower=0, upper=1, error=1e-9)
    assert found.enough is None
    assert "No epsilon reaches" in str(found)


def test_more_records_are_worth_more_cells_and_bounds_are_not():
    sizes = [dp.suggest(n=10**k, epsilon=1.0, lower=0, upper=1).grid.size for k in (1, 3, 5, 7)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 16
    assert sizes[-1] == 2**16
    assert dp.suggest(n=1000, epsilon=1.0, lower=-5, upper=1e6).grid.size == sizes[1]


def test_it_takes_what_cdf_takes_and_shows_itself():
    found = dp.suggest(n=1000, epsilon=1.0, lower=0, upper=1)
    curve = dp.cdf(np.random.default_rng(1).random(1000), found.grid, epsilon=1.0)
    assert curve.mechanism == found.mechanism.describe()
    assert len(repr(found)) <= 88
    assert found == dp.suggest(n=1000, epsilon=1.0, lower=0, upper=1)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"n": 0}, r"\bn\b"),
        ({"epsilon": None}, "epsilon"),
        ({"upper": 0}, "upper"),
        ({"error": 0}, "error"),
        ({"error": 1.0}, "error"),
        ({"error": 7, "upper": 7, "unit": "values"}, "must be below the whole range, in values"),
        ({"unit": "ranks"}, "unit"),
        ({"neighbours": "replace-client"}, "neighbours"),
    ],
)
def test_what_is_refused(wrong, what):
    with pytest.raises(dp.DpcoreError, match=what):
        dp.suggest(**{"n": 100, "epsilon": 1.0, "lower": 0, "upper": 1, **wrong})


@pytest.mark.parametrize(
    ("lower", "upper", "grid"),
    [
        (0, 60, dp.Grid.integers(0, 60)),
        (-0.5, 60.5, dp.Grid.integers(0, 60)),
        (0, 10**6, None),  # more values than useful cells
        (0.2, 0.8, None),  # no whole number
        (2.0**60, 2.0**60 + 2**20, None),
        ("2024-01-01", "2024-02-29", dp.Grid.days("2024-01-01", "2024-02-29")),
        ("2024-01-01T12", "2024-02-29T12", dp.Grid.days("2024-01-02", "2024-02-29")),
        ("2024-01-01T00:00Z", "2024-02-29T00:00Z", None),
        (dt.timedelta(0), dt.timedelta(9), dp.Grid.days(dt.timedelta(0), dt.timedelta(9))),
    ],
)
def test_few_whole_numbers_have_their_own_cells(lower, upper, grid):
    given = {"n": 20_000, "epsilon": 1.0, "lower": lower, "upper": upper}
    found = dp.suggest(**given, integers=True)
    other = dp.suggest(**given)
    assert not other.grid.of_integers
    if grid is None:
        assert found == other
        return
    assert repr(found.grid) == repr(grid)
    assert f"dp.cdf(values, dp.{grid!r}, epsilon=...)" in str(found)
    assert found.count_error < other.count_error
    assert dp.cdf_from_counts(np.ones(grid.size, int), found.grid, found.mechanism).n == grid.size


# --- suggestions for dates, times and durations: those for numbers, with grids and errors of times


SECONDS = 366 * 86_400
YEAR = {"lower": "2024-01-01", "upper": "2025-01-01"}
ENDS = {
    "time": ("2024-01-01", dt.date(2025, 1, 1)),
    "instant": ("2024-01-01T00:00Z", "2025-01-01T00:00Z"),
    "duration": (dt.timedelta(0), dt.timedelta(days=366)),
}


@pytest.mark.parametrize("unit", ENDS)
def test_suggestions_of_times_are_those_of_as_many_seconds(unit):
    lower, upper = ENDS[unit]
    found = dp.suggest(n=5000, lower=lower, upper=upper, epsilon=1.0)
    numbers = dp.suggest(n=5000, lower=0, upper=SECONDS, epsilon=1.0)
    assert found.grid == dp.Grid.uniform(lower, upper, numbers.grid.size)
    assert found.grid.unit == unit
    assert found.share_error == numbers.share_error
    assert found.value_error.dtype == "m8[us]"
    assert found.value_error / np.timedelta64(1, "s") == pytest.approx(numbers.value_error)
    assert " d where values spread evenly" in str(found)
    assert f"dp.{found.grid!r}" in str(found)


@pytest.mark.sample(1)
@pytest.mark.parametrize("unit", ENDS)
@pytest.mark.parametrize("error", [dt.timedelta(hours=12), np.timedelta64(720, "m")])
def test_errors_that_are_wished_are_durations(unit, error):
    lower, upper = ENDS[unit]
    wished = {"n": 5000, "epsilon": 1.0, "unit": "values"}
    found = dp.suggest(lower=lower, upper=upper, error=error, **wished)
    numbers = dp.suggest(lower=0, upper=SECONDS, error=43_200, **wished)
    assert found.enough == numbers.enough
    assert "For an error of 12 h, epsilon = " in str(found)
    assert "For an error of 4.32e+04 in the values' unit, epsilon = " in str(numbers)
    shares = dp.suggest(n=5000, epsilon=1.0, lower=lower, upper=upper, error=0.01)
    assert "For an error of 0.01 of the ranks, epsilon = " in str(shares)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"error": 5.0, "unit": "values"}, dp.DtypeError, "error"),
        ({"error": "2024-01-01", "unit": "values"}, dp.DtypeError, "error"),
        ({"error": dt.timedelta(0), "unit": "values"}, dp.ParameterError, "error"),
        ({"error": dt.timedelta(1)}, dp.DtypeError, "error"),
        ({"upper": 5}, dp.DtypeError, "upper"),
        ({"upper": "2023-01-01"}, dp.ParameterError, "upper"),
    ],
)
def test_what_does_not_go_together_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        dp.suggest(**{"n": 100, "epsilon": 1.0, **YEAR, **given})
