"""Survival curves: exact without noise, monotone with it, and ended where nobody is known."""

from __future__ import annotations

import datetime as dt
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves import event_row, simulated_releases
from dpcore.planning.survival_grid import coarser, fine_grid, joined, suited_to_survival
from tests import reference
from tests.project.own_mechanism import EachCell

RNG = np.random.default_rng
EXACT = dp.mechanisms.NoNoise()
RECORDS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 4.0, 9.0]), st.booleans()),
    min_size=1,
    max_size=30,
)


def sample(n=400, seed=1, censoring=20.0):
    rng = RNG(seed)
    until_event, until_end = rng.exponential(10, n), rng.uniform(0, censoring, n)
    return np.minimum(until_event, until_end), until_event <= until_end


@settings(max_examples=80)
@given(RECORDS, st.integers(1, 9), st.booleans(), st.sampled_from([np.float64, np.float32]))
def test_counts_are_exact(records, cells, uniform, dtype):
    durations, event = np.array([t for t, _ in records], dtype), [e for _, e in records]
    grid = dp.Grid.uniform(0, 4, cells)
    grid = grid if uniform else dp.Grid(grid.thresholds)
    expected = reference.survival_counts(durations, event, grid.thresholds)
    assert dp.survival_counts(durations, event, grid).tolist() == expected


@settings(max_examples=80, deadline=None)
@given(RECORDS, st.integers(1, 9), st.booleans())
def test_without_noise_estimates_are_those_of_kaplan_meier_or_of_life_tables(records, cells, whole):
    durations, event = [t for t, _ in records], [e for _, e in records]
    grid = dp.Grid.integers(0, cells) if whole else dp.Grid.uniform(0, 4, cells)
    curve = dp.survival(durations, event, grid, EXACT)
    risks, events, survivals, cumulative = reference.life_table(
        durations, event, grid.thresholds, whole
    )
    assert np.array_equal(curve.at_risk, risks)
    assert np.array_equal(np.diff(curve.events, prepend=0), events)
    assert np.allclose(curve.survival, np.array(survivals, float), 0, 1e-12, equal_nan=True)
    hazard = np.array(cumulative, float)
    assert np.allclose(curve.cumulative_hazard, hazard, 0, 1e-12, equal_nan=True)
    known = [t for t, risk in zip(grid.thresholds, risks, strict=True) if risk]
    assert curve.end == known[-1]
    assert curve.n == len(records)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([0.02, 1.0]), st.booleans())
def test_released_counts_never_contradict_each_other(cells, seed, epsilon, is_tree):
    durations, event = sample(60, seed)
    mechanism = (dp.mechanisms.Hierarchy if is_tree else dp.mechanisms.Histogram)(epsilon)
    grid = dp.Grid.uniform(0, 20, cells)
    curve = dp.survival(durations, event, grid, mechanism, rng=RNG(seed))
    events, censored, risk = curve.events, curve.censored, curve.at_risk
    assert np.diff(events, prepend=0).min() >= -1e-9
    assert np.diff(censored, prepend=0).min() >= -1e-9
    assert (events + censored).max() <= curve.n + 1e-9
    assert risk[0] == curve.n
    assert np.diff(risk).max(initial=0) <= 1e-9
    known = np.isfinite(curve.survival)
    assert known.sum() == np.argmin(np.append(known, False))  # from the first threshold on
    survival = curve.survival[known]
    assert np.all((survival >= 0) & (survival <= 1))
    assert np.diff(survival).max(initial=0) <= 0
    enough = risk >= np.maximum(1, 3 * curve.at_risk_deviation)
    assert np.array_equal(known, np.logical_and.accumulate(enough)) or survival[-1] == 0
    assert np.isnan(curve.cumulative_hazard[~known]).all() or survival[-1] == 0


def test_where_the_noise_hides_those_at_risk_the_curve_ends():
    durations, event = sample(2000, censoring=12.0)
    grid = dp.Grid.uniform(0, 20, 20)
    exact = dp.survival(durations, event, grid, EXACT)
    noisy = dp.survival(durations, event, grid, epsilon=0.1, rng=RNG(2))
    assert exact.end == 12.0
    assert 6.0 <= noisy.end < 12.0
    at = int(noisy.end)
    assert np.isfinite(noisy.survival[: at - 1]).all()
    assert np.isnan(noisy.survival[at])
    assert np.isnan(noisy(noisy.end + 0.1))
    assert np.isnan(noisy.restricted_mean(noisy.end + 1))
    assert abs(noisy.restricted_mean(6) - exact.restricted_mean(6)) < 0.3


def test_nobody_known_means_that_nothing_is_given():
    curve = dp.survival([1, 2], [1, 0], dp.Grid.uniform(0, 4, 4), epsilon=0.01, rng=RNG(1))
    # At the beginning, the number at risk is public, and the only one without noise.
    assert curve.end == 1.0
    assert np.isnan(curve.survival[1:]).all()


def test_the_deviation_of_those_at_risk_is_that_of_their_noise():
    durations, event = sample(4000)
    grid, mechanism = dp.Grid.uniform(0, 20, 12), dp.mechanisms.Histogram(epsilon=1.0)
    exact = dp.survival(durations, event, grid, EXACT)
    raw = [dp.survival(durations, event, grid, mechanism, rng=RNG(i)) for i in range(200)]
    errors = [curve.at_risk - exact.at_risk for curve in raw]
    found = np.sqrt(np.mean(np.square(errors), axis=0))[1:]
    stated = np.mean([curve.at_risk_deviation for curve in raw], axis=0)[1:]
    assert np.all(np.abs(found / stated - 1) < 0.2)
    unknown = dp.Survival(grid, raw[0].row)
    assert np.all(unknown.at_risk_deviation[1:] > stated)
    # It is of public numbers alone, so that all releases have the same.
    assert np.array_equal(raw[0].at_risk_deviation, raw[1].at_risk_deviation)
    assert not raw[0].at_risk_deviation.flags.writeable


def test_quantiles_of_whole_numbers_are_exact_although_products_of_shares_are_rounded():
    for n in (5, 10, 24, 59):
        times, shares = np.arange(1, n + 1), np.arange(1, n + 1) / n
        for grid in (dp.Grid.integers(1, n), dp.Grid.uniform(0, n, n)):
            curve = dp.survival(times, np.ones(n, int), grid, EXACT)
            np.testing.assert_allclose(curve.quantile(shares), times, rtol=1e-12)
        assert curve.quantile(1e-16) <= 1.0


def test_of_whole_numbers_quantiles_and_areas_are_those_of_steps():
    durations, event = [2, 2, 3, 5, 7, 8], [1, 0, 1, 1, 1, 0]
    curve = dp.survival(durations, event, dp.Grid.integers(0, 9), EXACT)
    steps = {0: 1, 1: 1, 2: 5 / 6, 3: 5 / 8, 4: 5 / 8, 5: 5 / 12, 6: 5 / 12, 7: 5 / 24, 8: 5 / 24}
    assert np.allclose(curve([*steps]), [*steps.values()], 0, 1e-12)
    assert curve(2.5) == curve(2)
    assert curve.median == 5.0
    assert curve.quantile([0.1, 0.4, 0.9]).tolist()[:2] == [2.0, 5.0]
    assert np.isnan(curve.quantile(0.9))
    assert np.isclose(curve.restricted_mean(8), sum(list(steps.values())[:8]), 0, 1e-12)
    assert curve.end == 8.0


def test_between_thresholds_events_lie_evenly():
    curve = dp.survival([1, 3, 5, 7], [1, 1, 1, 1], dp.Grid.uniform(0, 8, 4), EXACT)
    assert curve([0, 1, 3, 8]).tolist() == [1.0, 0.875, 0.625, 0.0]
    assert curve.quantile([0.125, 0.5, 1]).tolist() == [1.0, 4.0, 8.0]
    assert curve.restricted_mean(3) == 1.75 + 0.6875
    assert curve.median == curve.quantile(0.5)


@pytest.mark.parametrize("last", [6, 9])
def test_restricted_means_count_the_time_before_the_grid_begins(last):
    durations, event = [2, 3, 4, 5, 6, 6], np.ones(6, int)
    grids = [dp.Grid.integers(first, last) for first in (-1, 0, 1, 2)]
    curves = [dp.survival(durations, event, grid, EXACT) for grid in grids]
    for until in (2, 4, 6):
        mean = np.minimum(durations, until).mean()
        for curve in curves:
            assert curve.restricted_mean(until) == pytest.approx(mean)
            assert curve.restricted_mean_interval(until) == pytest.approx((mean, mean))
    found = dp.restricted_mean_difference(curves[0], curves[-1], 5, of="records")
    assert found.difference == pytest.approx(0.0)
    days = dp.Grid.days(dt.timedelta(days=1), dt.timedelta(days=last))
    curve = dp.survival([dt.timedelta(days=each) for each in durations], event, days, EXACT)
    assert curve.restricted_mean(dt.timedelta(days=3)) == dt.timedelta(days=17) / 6


def test_when_all_had_the_event_survival_stays_0():
    curve = dp.survival([1, 2], [1, 1], dp.Grid.uniform(0, 4, 4), EXACT)
    assert curve.survival.tolist() == [0.5, 0.0, 0.0, 0.0]
    assert curve.end == 2.0


CONTAINERS = {
    "list": list,
    "NumPy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "Arrow": pa.array,
    "data frame": lambda values: pd.DataFrame({"column": values}),
}


@pytest.mark.parametrize("of_durations", CONTAINERS)
@pytest.mark.parametrize("of_events", CONTAINERS)
def test_all_containers_count_alike(of_durations, of_events):
    durations, event = sample(50)
    grid = dp.Grid.uniform(0, 20, 7)
    given = CONTAINERS[of_durations](durations.tolist()), CONTAINERS[of_events](event.tolist())
    expected = dp.survival_counts(durations, event, grid)
    assert np.array_equal(dp.survival_counts(*given, grid), expected)


@pytest.mark.parametrize(
    ("event", "label"),
    [
        ([1, 0, 1], None),
        ([1.0, 0.0, 1.0], None),
        ([2, 1, 2], 2),
        (["died", "left", "died"], "died"),
    ],
)
def test_events_may_have_any_label(event, label):
    grid = dp.Grid([1.0, 2.0, 3.0])
    found = dp.survival_counts([1, 2, 3], event, grid, event_label=label)
    assert found.tolist() == [1, 0, 1, 0, 1, 0]


def test_durations_of_a_calendar():
    days, event = [3, 40, 90, 400], [1, 0, 1, 1]
    spans = np.array(days, "m8[D]")
    grid = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=120), 4)
    plain = dp.survival(days, event, dp.Grid.uniform(0, 120, 4), EXACT)
    curve = dp.survival(spans, event, grid, EXACT)
    assert np.array_equal(curve.survival, plain.survival)
    assert curve.median == np.timedelta64(round(plain.median * 86400), "s")
    assert curve.restricted_mean(dt.timedelta(days=60)) == np.timedelta64(
        round(plain.restricted_mean(60) * 86400e6), "us"
    )
    bounds = dt.timedelta(0), dt.timedelta(days=120)
    assert dp.survival(spans, event, bounds, EXACT).grid.unit == "duration"
    with pytest.raises(dp.ParameterError, match="subtract the date"):
        dp.survival(spans, event, dp.Grid.days("2024-01-01", "2024-02-01"), epsilon=1.0)


def test_missing_values_are_refused_or_left_out_whole():
    durations, event = [1.0, np.nan, 3.0, 4.0], [True, True, None, False]
    grid = dp.Grid.uniform(0, 4, 4)
    with pytest.raises(dp.MissingValueError, match="event"):
        dp.survival(durations, event, grid, epsilon=1.0)
    with pytest.raises(dp.MissingValueError, match="durations"):
        dp.survival(durations, [1, 1, 0, 0], grid, epsilon=1.0)
    left = dp.survival_counts(durations, event, grid, nan_policy="omit")
    assert left.tolist() == [1, 0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"event": [1]}, "event must have the shape of durations"),
        ({"event": ["a", "b", "c"]}, "event_label"),
        ({"grid": 7}, "grid must be a Grid, or the bounds"),
        ({"grid": (0, 1, 2)}, "grid must be a Grid, or the bounds"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"mechanism": dp.mechanisms.Histogram(1.0), "epsilon": 1.0}, "epsilon"),
        (
            {"mechanism": dp.mechanisms.Histogram(1.0, neighbours="add-or-remove-one")}
            | {"epsilon": None},
            "replace-one: n is public",
        ),
        ({"durations": [], "event": []}, "at least one record"),
    ],
)
def test_bad_arguments_are_refused(change, match):
    given = {"durations": [1, 2, 3], "event": [1, 0, 1], "grid": dp.Grid([1.0, 2.0, 3.0])}
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=match):
        dp.survival(**given | {"epsilon": 1.0} | change)


@pytest.mark.parametrize("make", [np.asarray, pd.Series, pl.Series, pa.array])
def test_exchanged_columns_are_refused_before_they_cost(make):
    durations, event = make(np.array([0.5, 3.5])), make(np.array([1, 0]))
    grid, budget = dp.Grid.uniform(0, 4, 4), dp.Budget(epsilon=1.0)
    with budget, pytest.raises(dp.DtypeError, match=r"event must be labels.*in this order"):
        dp.survival(event, durations, grid, epsilon=1.0)
    with budget, pytest.raises(dp.DtypeError, match=r"event must be labels.*in this order"):
        dp.survival(event, durations, grid, by=["a", "b"], groups=["a", "b"], epsilon=1.0)
    assert not budget.log
    ones = make(np.array([1.0, 0.0]))
    assert dp.survival(event, ones, grid, epsilon=1.0, event_label=1).n == 2


def test_counts_of_parts_add_up_to_the_same_release():
    durations, event = sample(600)
    grid = dp.Grid.uniform(0, 20, 16)
    parts = [dp.survival_counts(durations[i::3], event[i::3], grid) for i in range(3)]
    one = dp.survival_from_counts(sum(parts), grid, epsilon=1.0, rng=RNG(4))
    assert one == dp.survival(durations, event, grid, epsilon=1.0, rng=RNG(4))
    with pytest.raises(dp.ParameterError, match="counts"):
        dp.survival_from_counts(parts[0][1:], grid, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="at least one record"):
        dp.survival_from_counts(0 * parts[0], grid, epsilon=1.0)


def test_a_stored_curve_is_the_same():
    durations, event = sample(600)
    for mechanism in (None, dp.mechanisms.Dyadic(2.0)):
        budget = {} if mechanism else {"epsilon": 2.0}
        curve = dp.survival(durations, event, (0, 20), mechanism, **budget, rng=RNG(4))
        again = dp.load(curve.to_json())
        assert again == curve
        assert hash(again) == hash(curve)
        assert np.array_equal(again.survival, curve.survival, equal_nan=True)
        assert again.mechanism.describe() == curve.mechanism.describe()
    other = dp.survival(durations, event, (0, 20), epsilon=2.0, rng=RNG(5))
    assert other != curve
    assert repr(curve).startswith("<Survival: n = 600, median ")


def test_parts_of_a_curve_are_checked():
    durations, event = sample(60)
    curve = dp.survival(durations, event, dp.Grid.uniform(0, 20, 5), epsilon=2.0, rng=RNG(4))
    with pytest.raises(dp.ParameterError, match="row must have 8 cells"):
        dp.Survival(dp.Grid.uniform(0, 20, 4), curve.row)
    with pytest.raises(dp.ParameterError, match="must be the curves' own"):
        dp.Survival(curve.grid, curve.row, mechanism=dp.mechanisms.Dyadic(1.0))
    with pytest.raises(dp.DtypeError, match="row must be a CDF"):
        dp.Survival(curve.grid, [1, 2])
    with pytest.raises(dp.ParameterError, match="within the grid"):
        curve.restricted_mean(21)
    with pytest.raises(dp.ParameterError, match="p"):
        curve.quantile(1.5)
    raw = curve.row.as_released()
    assert dp.Survival(curve.grid, raw).row.is_monotone
    for wrong in (-1.0, np.nan, 1e200):
        with pytest.raises(dp.ParameterError, match="at_risk_deviation"):
            dp.Survival(curve.grid, curve.row, np.array([0.0, 1.0, wrong, 1.0, 1.0]))


def test_a_curve_that_is_nowhere_known_is_drawn():
    pytest.importorskip("matplotlib")
    curve = dp.survival([1, 2, 3], [1, 0, 1], dp.Grid.uniform(0, 4, 4), epsilon=1.0)
    hidden = dp.Survival(curve.grid, curve.row, np.full(4, np.inf), curve.mechanism)
    assert np.isnan(hidden.end)
    ax = hidden.plot()
    curve.plot(ax)  # its numbers are in a row of their own
    assert [text.get_text() for text in ax.texts][:2] == ["at risk", ""]
    assert sum(text.get_text() == "at risk" for text in ax.texts) == 1
    assert dp.Survival.from_json(hidden.to_json()) == hidden


# --- the grid, if only bounds are given


@pytest.mark.parametrize("bounds", [(0, 1022), (0.1, 7.3), (-1.0, 1e6)])
@pytest.mark.parametrize("size", [4, 6, 12, 256, 1536])
def test_the_coarser_grid_counts_what_the_fine_one_counted(bounds, size):
    fine = fine_grid(*bounds)
    grid = coarser(fine, size)
    durations = RNG(1).uniform(bounds[0], bounds[1] * 1.1, 5000)
    durations[:600] = RNG(2).choice(grid.thresholds, 600)
    event = RNG(3).random(5000) < 0.5
    expected = dp.survival_counts(durations, event, grid)
    assert np.array_equal(joined(dp.survival_counts(durations, event, fine), size), expected)
    assert grid.size == size
    assert grid.lower == bounds[0]
    assert grid.thresholds[-1] == bounds[1]


def test_more_records_or_budget_give_more_cells_whose_noise_is_small():
    sizes = []
    for n, epsilon in [(20, 0.1), (228, 1.0), (1000, 1.0), (10_000, 1.0), (10_000, 20.0)]:
        budget = {"epsilon": epsilon}
        curve = dp.survival(*sample(n), (0, 20), **budget, rng=RNG(1))
        sizes.append(curve.grid.size)
        noise = np.sqrt(np.mean(curve.row.noise_deviation**2))
        assert noise <= 0.4 * n / curve.grid.size or curve.grid.size == 4
        # the public number of records and the budget alone
        other = dp.survival(np.zeros(n), np.ones(n), (0, 20), **budget, rng=RNG(1))
        assert other.grid == curve.grid
        assert other.row.mechanism == curve.row.mechanism
    assert sizes == sorted(sizes)
    assert sizes[:2] == [4, 12]
    assert sizes[-1] > 300
    mechanism = dp.mechanisms.Histogram(epsilon=1.0)
    assert suited_to_survival(228, mechanism) == (12, mechanism)
    assert dp.survival(*sample(228), (0, 20), mechanism).grid.size == 12


def test_a_trust_model_may_release_the_row():
    model = dp.trust.Local(4.0, clients=4000)
    curve = dp.survival(*sample(4000), (0, 20), model, rng=RNG(1))
    assert abs(curve(5) - np.exp(-0.5)) < 0.15
    assert curve.grid.size < dp.survival(*sample(4000), (0, 20), epsilon=4.0).grid.size


def test_a_mechanism_that_cannot_simulate_its_noise_loses_no_release():
    class Broken(EachCell):
        name = "broken"

        def simulated_noise(self, *_, **__):
            raise ZeroDivisionError

    grid, budget = dp.Grid.uniform(0, 4, 4), dp.Budget(epsilon=2.0)
    with budget, pytest.warns(dp.DpcoreWarning, match=r"Broken.*ZeroDivisionError.*bounds"):
        curve = dp.survival([1, 2, 3, 4] * 99, [1, 1, 0, 1] * 99, grid, Broken(2.0))
    again = dp.Survival(grid, curve.row)
    assert np.array_equal(curve.at_risk_deviation, again.at_risk_deviation)
    assert budget.spent.epsilon == 2.0
    assert curve.n == 396


def test_noise_at_risk_is_simulated_in_blocks(monkeypatch):
    sizes = []

    class Watched(dp.mechanisms.Dyadic):
        name = "watched"

        def simulated_noise(self, size, replicates, rng, **options):
            sizes.append(replicates)
            return super().simulated_noise(size, replicates, rng, **options)

    monkeypatch.setattr(simulated_releases, "_BLOCK", 8 * 30)
    grid, rng = dp.Grid.uniform(0, 4, 4), np.random.default_rng(1)
    row = dp.survival([1, 2, 3], [1, 1, 0], grid, dp.mechanisms.Dyadic(1.0), rng=rng).row
    found = event_row.deviation_of_at_risk(row, 4, Watched(1.0))
    assert sizes == [30, 30, 30, 10]
    assert found[0] == 0.0
    assert (found[1:] > 1.0).all()


def test_what_was_released_is_read_only():
    curve = dp.survival([1, 2, 3], [1, 1, 0], dp.Grid.uniform(0, 4, 4), epsilon=1.0)
    for same in (curve, pickle.loads(pickle.dumps(curve))):
        assert not same.at_risk_deviation.flags.writeable


def test_texts_are_read_by_people():
    day = np.timedelta64(1, "D")
    grid, rng = dp.Grid.uniform(0 * day, 240 * day, 30), np.random.default_rng(1)
    days, kinds = rng.exponential(150, 900) * day, rng.integers(0, 3, 900)
    curve = dp.survival(days, kinds > 0, grid, epsilon=1.0, rng=rng)
    assert re.fullmatch(
        r"Interval\(low=[\d.]{3,8} d, high=[\d.]{3,8} d\)", repr(curve.quantile_interval(0.5))
    )
    few = dp.survival(days, kinds > 8, grid, epsilon=1.0, rng=rng)
    assert "median not reached" in repr(few)
    found = dp.cumulative_incidence(days, kinds, grid, [1, 2], epsilon=1.0, rng=rng)
    assert "incidence of 2 up to 240 d" in dp.report(found)


@pytest.mark.parametrize("event", [1, 0])
def test_durations_of_zero_in_a_wide_cell_are_told(event):
    durations, ends = [*range(20)] * 50 + [0] * 300, [event] * 1000 + [1] * 300
    zeros = r"27 % of the records are in the first cell.*threshold at 0 tells them apart"
    with pytest.warns(dp.DpcoreWarning, match=zeros):
        dp.survival(durations, ends, dp.Grid.uniform(0, 20, 40), epsilon=9.0)
    how = {"by": ["a"] * 1300, "groups": ["a"], "epsilon": 9.0}
    with pytest.warns(dp.DpcoreWarning, match=f"group 'a': {zeros}"):
        dp.cumulative_incidence(durations, ends, dp.Grid.uniform(0, 20, 40), [1], **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for grid in (dp.Grid.integers(0, 20), dp.Grid(range(21), lower=0), (0, 20)):
            dp.survival(durations, ends, grid, epsilon=9.0)


def test_labels_that_no_event_has_are_told():
    rng = RNG(1)
    durations, event, score = rng.uniform(0, 20, 2000), rng.integers(0, 2, 2000), rng.random(2000)
    grid, how = dp.Grid.integers(0, 20), {"epsilon": 1.0, "rng": rng}
    none = r"the released number of events is within its noise of 0: is event_label \(7\) right"
    with pytest.warns(dp.DpcoreWarning, match=none):
        dp.survival(durations, event, grid, event_label=7, **how)
    with pytest.warns(dp.DpcoreWarning, match=none):
        dp.survival(durations, event, grid, event_label=7, by=event, groups=[0, 1], **how)
    for bounds in (grid, (0, 20)):
        with pytest.warns(dp.DpcoreWarning, match=none):
            dp.survival_scores(durations, event, score, bounds, event_label=7, **how)
    with pytest.warns(dp.DpcoreWarning, match=r"number of events is .* of n: fewer cells"):
        dp.survival(durations, np.zeros(2000), grid, epsilon=1e-5, rng=RNG(3))
    with pytest.warns(dp.DpcoreWarning, match="events is within.* is the kind 7 right"):
        dp.cumulative_incidence(durations, event, grid, [1, 7], **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dp.survival(durations, event, grid, by=event, groups=[0, 1], **how)
        dp.survival(durations, np.zeros(2000), grid, dp.mechanisms.NoNoise())
