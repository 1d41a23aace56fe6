"""Cumulative incidences: exact without noise, consistent with it, and covered by their bands."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from tests.reference.incidence import incidence

RNG = np.random.default_rng
EXACT, HISTOGRAM = dp.mechanisms.NoNoise(), dp.mechanisms.Histogram
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.25, 4.0, 9.0]),
        st.sampled_from(["a", "b", "c", "none"]),
    ),
    min_size=1,
    max_size=30,
)
# ``AalenJohansenFitter`` of lifelines 0.30.3 for the days 1, ..., 12 and these kinds, at all days
KINDS = [1, 2, 0, 1, 1, 2, 0, 2, 1, 0, 2, 1]
OF_LIFELINES = [1 / 12] * 3 + [19 / 108] + [29 / 108] * 4 + [41 / 108] * 3 + [59 / 108]


def sample(n=2000, seed=1):
    """Durations with a mean of 10, and three kinds, of which 0 is censored."""
    rng = RNG(seed)
    return rng.exponential(10, n), rng.choice(3, n, p=[0.3, 0.5, 0.2])


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.integers(1, 8), st.booleans())
def test_without_noise_they_are_those_of_the_records(records, cells, whole):
    durations, event = zip(*records, strict=True)
    grid = dp.Grid.integers(1, cells) if whole else dp.Grid.uniform(0, 4, cells)
    durations = np.ceil(durations).tolist() if whole else durations
    found = dp.cumulative_incidence(durations, event, grid, ["a", "b", "c"], EXACT)
    wanted, left = incidence(durations, event, ["a", "b", "c"], grid.thresholds, whole=whole)
    for at, shares in enumerate(wanted):
        if shares is not None:
            assert np.allclose(found.incidence[:, at], np.array(shares, float), 0, 1e-12)
            assert np.isclose(found.survival[at], float(left[at]), 0, 1e-12)
        elif float(found.survival[at]) != 0.0:
            assert np.isnan(found.incidence[:, at]).all()


def test_without_noise_they_are_those_of_lifelines():
    found = dp.cumulative_incidence(range(1, 13), KINDS, dp.Grid.integers(1, 12), [1, 2], EXACT)
    assert np.allclose(found.incidence[0], OF_LIFELINES, 0, 1e-12)


def test_of_one_kind_it_is_what_survival_lacks():
    durations, event = sample()
    for grid in (dp.Grid.integers(0, 20), dp.Grid.uniform(0, 20, 30)):
        found = dp.cumulative_incidence(np.floor(durations), event, grid, [1], EXACT)
        survival = dp.survival(np.floor(durations), event == 1, grid, EXACT)
        assert np.array_equal(found.events[0], survival.events)
        assert np.array_equal(found.at_risk, survival.at_risk)
        assert found.end == survival.end
        if grid.of_integers:
            assert np.allclose(found.survival, survival.survival, 0, 1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32), st.sampled_from([0.02, 1.0]))
def test_released_shares_never_contradict_each_other(cells, seed, epsilon):
    durations, event = sample(80, seed)
    grid = dp.Grid.uniform(0, 20, cells)
    mechanism = HISTOGRAM(epsilon)
    found = dp.cumulative_incidence(durations, event, grid, [1, 2], mechanism, rng=RNG(seed))
    shares, survival = found.incidence, found.survival
    known = np.isfinite(survival)
    assert known.sum() == np.argmin(np.append(known, False))  # from the first threshold on
    assert np.array_equal(np.isfinite(shares), np.tile(known, (2, 1)))
    assert np.diff(shares[:, known], axis=1, prepend=0.0).min(initial=0.0) >= -1e-12
    assert np.allclose(shares[:, known].sum(axis=0) + survival[known], 1.0, 0, 1e-9)
    assert np.diff(found.events, axis=1, prepend=0.0).min() >= -1e-9
    assert np.diff(found.at_risk).max(initial=0) <= 1e-9
    assert found.at_risk[0] == found.n == 80


@pytest.mark.needs_jit
def test_bands_contain_the_records_and_the_population():
    """Of 60 releases, 57 bands are expected to hold; below 51 are 3.6 standard errors less."""
    grid, held = dp.Grid.uniform(0, 16, 8), np.zeros((2, 2, 8))
    # Until 16, no one is censored but by the kind: each kind's share is its part of all.
    exact = [np.array([0.625, 0.375])[:, None] * -np.expm1(-0.08 * grid.thresholds)] * 2
    for seed in range(60):
        rng = RNG(seed)
        durations, event = rng.exponential(12.5, 1500), rng.choice([1, 2], 1500, p=[0.625, 0.375])
        records = dp.cumulative_incidence(durations, event, grid, [1, 2], EXACT).incidence
        found = dp.cumulative_incidence(durations, event, grid, [1, 2], HISTOGRAM(0.5), rng=rng)
        for at, (of, truth) in enumerate((("records", records), ("population", exact[0]))):
            low, high = found.band(of=of)
            held[at] += (low <= truth) & (truth <= high)
    assert held.min() >= 51
    assert held.mean() <= 59.5


def test_what_is_read_off():
    durations, event = [1, 1, 2, 3], ["x", "-", "y", "x"]
    found = dp.cumulative_incidence(durations, event, dp.Grid.integers(1, 3), ["x", "y"], EXACT)
    assert np.allclose(found.incidence, [[0.25, 0.25, 0.625], [0.0, 0.375, 0.375]])
    assert np.allclose(found([0.5, 2.5]), [[0.0, 0.25], [0.0, 0.375]])
    assert found(2).shape == (2,)
    assert np.isnan(found(3.5)).all()
    frame = found.to_frame()
    assert frame["kind"].tolist() == ["x"] * 3 + ["y"] * 3
    assert frame["incidence"].tolist() == found.incidence.ravel().tolist()
    assert frame["survival"].tolist() == 2 * found.survival.tolist()
    linear = dp.cumulative_incidence(durations, event, dp.Grid.uniform(0, 4, 2), ["x"], EXACT)
    assert np.allclose(linear(1.0), linear.incidence[:, 0] / 2)
    delays = [dt.timedelta(days=day) for day in durations]
    grid = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=3), 3)
    of_times = dp.cumulative_incidence(delays, event, grid, ["x", "y"], EXACT)
    assert np.array_equal(of_times.events, found.events)
    assert of_times.end == np.timedelta64(3, "D")


def test_containers_count_alike_and_what_is_missing_is_refused_or_left_out():
    durations, event = sample(300)
    grid = dp.Grid.uniform(0, 20, 7)
    plain = dp.cumulative_incidence(durations, event, grid, [1, 2], EXACT)
    for given_durations, given_event in (
        (durations.tolist(), event.tolist()),
        (pd.Series(durations), pd.Series(event)),
        (pl.Series(durations), pl.Series(event)),
    ):
        found = dp.cumulative_incidence(given_durations, given_event, grid, [1, 2], EXACT)
        assert np.array_equal(found.row.counts, plain.row.counts)
    missing = durations.copy()
    missing[:10] = np.nan
    with pytest.raises(dp.MissingValueError, match="durations"):
        dp.cumulative_incidence(missing, event, grid, [1, 2], EXACT)
    found = dp.cumulative_incidence(missing, event, grid, [1, 2], EXACT, nan_policy="omit")
    assert found.n == 290


def test_bad_arguments_are_refused():
    durations, event = sample(50)
    grid = dp.Grid.uniform(0, 20, 4)

    def released(durations=durations, event=event, grid=grid, kinds=(1, 2), **how):
        return dp.cumulative_incidence(durations, event, grid, kinds, **{"epsilon": 1.0, **how})

    for name, wrong in (
        ("kinds", {"kinds": []}),
        ("kinds", {"kinds": [1, 1]}),
        ("kinds", {"kinds": [b"a", b"b"], "event": np.repeat([b"a", b"b"], 25)}),  # no JSON has it
        ("kinds", {"kinds": [np.inf, 1.0]}),
        ("neighbours", {"neighbours": "add-or-remove-one"}),
        ("neighbours", {"neighbours": "replace-one", "by": event, "groups": [0]}),
        ("by", {"groups": [0, 1]}),
        ("by", {"by": event[:-1], "groups": [0, 1]}),
        ("event", {"event": event[:-1]}),
        ("durations", {"durations": [], "event": []}),
        ("epsilon", {"epsilon": 0.0}),
    ):
        with pytest.raises(dp.ParameterError, match=name):
            released(**wrong)
    for name, wrong in (("kinds", {"kinds": "ab"}), ("grid", {"grid": (0, 10, 20)})):
        with pytest.raises(dp.DtypeError, match=name):
            released(**wrong)
    adding = dp.mechanisms.Hierarchy(1.0, neighbours="add-or-remove-one")
    with pytest.raises(dp.ParameterError, match="replace-one"):
        released(epsilon=None, mechanism=adding)
    found = released()
    with pytest.raises(dp.ParameterError, match="row"):
        dp.CumulativeIncidence(grid, (1,), found.row)
    with pytest.raises(dp.ParameterError, match="mechanism"):
        dp.CumulativeIncidence(grid, (1, 2), found.row).band()
    with pytest.raises(dp.ParameterError, match="of"):
        found.band(of="both")


@pytest.mark.parametrize("stacked", [False, True])
def test_pictures(stacked):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    durations, event = sample(500)
    for grid in (dp.Grid.integers(0, 20), dp.Grid.uniform(0, 20, 8)):
        found = dp.cumulative_incidence(durations, event, grid, [1, 2], epsilon=1.0, rng=RNG(1))
        ax = found.plot(stacked=stacked)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2"]
        assert "epsilon = 1" in ax.get_legend().get_title().get_text()
        if not stacked:
            drawn = ax.get_lines()[1].get_ydata()
            shares = found.incidence[1]
            assert np.allclose(drawn, np.append(0.0, shares[np.isfinite(shares)]))
        pyplot.close("all")


@pytest.mark.needs_jit
@pytest.mark.parametrize("of", ["records", "population"])
def test_bands_at_once_hold_for_all_kinds_and_thresholds(of):
    rng, grid, held, alone = RNG(3), dp.Grid.uniform(0, 16, 8), [], []
    # Of the hazard of 0.1, a half is of the first kind and a fifth of the second.
    population = np.outer([5 / 7, 2 / 7], 1 - np.exp(-0.07 * grid.positions))
    for _ in range(60):
        records = rng.exponential(10, 600), rng.choice(3, 600, p=[0.3, 0.5, 0.2])
        found = dp.cumulative_incidence(*records, grid, [1, 2], epsilon=0.5, rng=rng)
        exact = dp.cumulative_incidence(*records, grid, [1, 2], EXACT)
        true = exact.incidence if of == "records" else population
        known = np.isfinite(found.survival)
        low, high = dp.simultaneous_band(found, of=of, replicates=200)
        held.append(np.all(((low <= true) & (true <= high))[:, known]))
        narrow = found.band(of=of)
        alone.append(np.mean((narrow.high - narrow.low)[:, known] < (high - low)[:, known]))
        assert np.isnan(low[:, ~known]).all()
    assert np.mean(held) > 0.88
    assert np.mean(alone) > 0.95


def test_bands_at_once_need_a_mechanism():
    found = dp.cumulative_incidence(
        *sample(), dp.Grid.uniform(0, 16, 4), [1, 2], HISTOGRAM(1.0), rng=RNG(1)
    )
    unknown = dp.CumulativeIncidence(found.grid, found.kinds, found.row)
    given = dp.simultaneous_band(unknown, mechanism=HISTOGRAM(1.0), replicates=50)
    own = dp.simultaneous_band(found, replicates=50)
    assert np.array_equal(given.low, own.low)


def test_between_bounds_the_cells_follow_from_public_numbers():
    durations, event = sample()
    one = dp.cumulative_incidence(durations, event, (0, 20), [1, 2], epsilon=1.0, rng=RNG(1))
    other = dp.cumulative_incidence(durations / 2, event * 0, (0, 20), [1, 2], epsilon=1.0)
    assert one.grid == other.grid
    assert (one.grid.start, one.grid.thresholds[-1]) == (0.0, 20.0)
    same = dp.cumulative_incidence(durations, event, one.grid, [1, 2], one.mechanism, rng=RNG(1))
    assert np.array_equal(one.events, same.events)
    few = dp.cumulative_incidence(durations, event, (0, 20), [1, 2], epsilon=0.05)
    assert few.grid.size < one.grid.size


def test_groups_are_counted_as_each_alone_and_cost_as_one():
    durations, event = sample()
    by, grid = np.array(["a", "b", "none"])[RNG(2).choice(3, 2000)], dp.Grid.uniform(0, 20, 20)
    how = {"by": by, "groups": ["b", "a"]}
    found = dp.cumulative_incidence(durations, event, grid, [1, 2], EXACT, **how)
    for group, own in found.items():
        is_in = by == group
        alone = dp.cumulative_incidence(durations[is_in], event[is_in], grid, [1, 2], EXACT)
        assert np.array_equal(own.incidence, alone.incidence, equal_nan=True)
        assert own.privacy.neighbours == "replace-one-within-group"
    with dp.Budget(1.0, neighbours="add-or-remove-one") as budget:
        found = dp.cumulative_incidence(durations, event, (0, 20), [1, 2], epsilon=1.0, **how)
    assert [charge.what for charge in budget.log] == ["cumulative_incidence"]
    assert found.privacy == dp.Privacy(1.0, neighbours="add-or-remove-one")
    assert found["a"].grid == found["b"].grid
    assert dp.load(found.to_json()) == found


def test_groups_are_tabled_and_drawn_by_a_kind():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    durations, event = sample(900)
    by = np.repeat(["a$", "b$"], 450)
    how = {"by": by, "groups": ["a$", "b$"], "epsilon": 2.0, "rng": RNG(1)}
    found = dp.cumulative_incidence(durations, event, dp.Grid.integers(0, 30), [1, 2], **how)
    frame = found.to_frame()
    assert frame["group"].tolist() == np.repeat(["a$", "b$"], 62).tolist()
    assert frame["kind"].tolist() == 2 * np.repeat([1, 2], 31).tolist()
    for kind, place in ((None, 0), (1, 0), (2, 1)):
        ax = found.plot(kind=kind)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a$", "b$"]
        assert ax.get_ylabel().replace("\n", " ") == f"share with {place + 1} up to then"
        drawn, own = ax.get_lines()[1].get_ydata(), found["b$"].incidence[place]
        assert np.array_equal(drawn, np.append(0.0, own[np.isfinite(own)]))
        pyplot.close("all")
    for wrong in (3, "1", [1, 2], np.array([1, 2])):
        with pytest.raises(dp.ParameterError, match="kind must be one of 1, 2"):
            found.plot(kind=wrong)
    others = (
        dp.cumulative_incidence(durations, event, found["a$"].grid, kinds, epsilon=1.0)
        for kinds in ([1, 2], [2])
    )
    with pytest.raises(dp.ParameterError, match="must all be of the kinds"):
        dp.GroupedCumulativeIncidence(("a", "b"), tuple(others))


@pytest.mark.parametrize(("factor", "cell"), [(100, "last"), (0.001, "first")])
def test_durations_in_another_unit_are_told(factor, cell):
    durations, event = sample()
    grid, told = dp.Grid.uniform(0, 24, 24), rf"durations are in the {cell} cell.*unit"
    with pytest.warns(dp.DpcoreWarning, match=told):
        dp.cumulative_incidence(factor * durations, event, grid, [1, 2], epsilon=1.0)
    with pytest.warns(dp.DpcoreWarning, match=told):
        dp.survival(factor * durations, event == 1, grid, epsilon=1.0)
    how = {"by": event > 0, "groups": [True], "epsilon": 1.0}
    with pytest.warns(dp.DpcoreWarning, match=f"group True: .*{told}"):
        dp.survival(factor * durations, event == 1, grid, **how)
    # Most are still observed at the end of a study: no mistake.
    dp.survival(np.minimum(5 * durations, 24), durations < 4.8, grid, epsilon=1.0)
