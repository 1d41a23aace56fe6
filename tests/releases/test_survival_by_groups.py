"""Survival curves of public groups in one call: what they hold, what they cost, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, NoNoise
from dpcore.planning.score_grid import OF_A_GROUP
from dpcore.planning.survival_grid import suited_to_survival
from dpcore.privacy.allowance import Allowance

GRID = dp.Grid.uniform(0, 4, 4)
WITHIN = "replace-one-within-group"
DURATIONS, EVENT = [0.5, 1.5, 2.5, 3.5, 9.0, 1.0], [1, 0, 1, 0, 1, 1]
BY = ["a", "b", "a", "b", "c", "a"]
RNG = np.random.default_rng


def many(n=3000, seed=1, means=(10, 10, 10)):
    rng = RNG(seed)
    place = rng.integers(0, 3, n)
    until_event, until_end = rng.exponential(np.array(means)[place]), rng.uniform(0, 20, n)
    by = np.array(["a", "b", "c"])[place]
    return np.minimum(until_event, until_end), until_event <= until_end, by


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-0.2, 5), st.booleans(), st.sampled_from("abc")),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([GRID, dp.Grid([0.1, 0.5, 0.6, 4.0]), dp.Grid.integers(0, 4)]),
)
def test_each_group_has_its_own_records_and_others_count_nowhere(records, grid):
    durations, event, by = (np.array(column) for column in zip(*records, strict=True))
    groups = [group for group in ("b", "a") if group in by]
    if not groups:
        return
    found = dp.survival(durations, event, grid, NoNoise(), by=by, groups=groups)
    assert list(found) == groups
    for group, curve in found.items():
        own = dp.survival(durations[by == group], event[by == group], grid, NoNoise())
        assert np.array_equal(curve.row.counts, own.row.counts)
        assert np.array_equal(curve.survival, own.survival, equal_nan=True)


def test_labels_of_events_may_be_any():
    how = {"mechanism": NoNoise(), "by": BY, "groups": ["a", "b"]}
    expected = dp.survival(DURATIONS, EVENT, GRID, **how)
    named = np.where(np.array(EVENT) == 1, "died", "left")
    assert dp.survival(DURATIONS, named, GRID, event_label="died", **how) == expected
    with pytest.raises(dp.DpcoreError, match="event_label"):
        dp.survival(DURATIONS, named, GRID, **how)


def test_columns_of_dask_are_counted_where_they_lie():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"t": DURATIONS, "e": EVENT, "by": BY}), npartitions=2)
    how = {"mechanism": NoNoise(), "groups": ["a", "b"]}
    found = dp.survival(frame["t"], frame["e"], GRID, by=frame["by"], **how)
    assert found == dp.survival(DURATIONS, EVENT, GRID, by=BY, **how)


def test_all_groups_cost_what_one_does_and_sizes_are_noisy():
    durations, event, by = many()
    how = {"by": by, "groups": ["a", "b", "c"], "epsilon": 1.0}
    found = dp.survival(durations, event, (0, 20), **how, rng=RNG(1))
    assert found.privacy == dp.Privacy(1.0, 0.0, "add-or-remove-one", True)
    true = {group: int((by == group).sum()) for group in found}
    assert {group: curve.n for group, curve in found.items()} != true
    assert all(abs(curve.n - true[group]) < 60 for group, curve in found.items())
    # One grid for all groups, which does not depend on their private sizes.
    budget_of_one = Allowance.checked(1.0, None, "add-or-remove-one")
    assert found["a"].grid.size == suited_to_survival(OF_A_GROUP, budget_of_one)[0]
    with dp.Budget(epsilon=1.0, neighbours="add-or-remove-one") as budget:
        own = dp.survival(durations, event, GRID, **how)
    assert budget.spent == own.privacy == dp.Privacy(1.0, 0.0, "add-or-remove-one")
    assert [charge.what for charge in budget.log] == ["survival"]


def test_within_groups_sizes_are_public():
    durations, event, by = many()
    how = {"by": by, "groups": ["a", "b"], "rng": RNG(1)}
    found = dp.survival(durations, event, GRID, **how, epsilon=2.0, neighbours=WITHIN)
    assert [curve.n for curve in found.values()] == [(by == "a").sum(), (by == "b").sum()]
    assert found.privacy == found["a"].privacy == dp.Privacy(2.0, 0.0, WITHIN, True)
    given = dp.survival(durations, event, GRID, Dyadic(2.0), **how)
    assert given.privacy == found.privacy
    with pytest.raises(dp.ParameterError, match="groups must have at least one"):
        dp.survival(durations, event, GRID, Dyadic(2.0), by=by, groups=["a", "z"])


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", ["add-or-remove-one", WITHIN])
def test_bands_hold_in_each_group(neighbours):
    durations, event, by = many(2000)
    grid = dp.Grid.uniform(0, 16, 8)
    how = {"by": by, "groups": ["a", "b"], "epsilon": 1.0, "neighbours": neighbours}
    exact = dp.survival(durations, event, grid, NoNoise(), by=by, groups=["a", "b"])
    hits, rng = [], RNG(3)
    for _ in range(40):
        for group, curve in dp.survival(durations, event, grid, **how, rng=rng).items():
            low, high = curve.band(0.9)
            hits.append((low <= exact[group].survival) & (exact[group].survival <= high))
    assert 0.85 <= np.mean(hits) <= 0.96  # of 640, which are alike within a curve


@pytest.mark.sample(2)
@pytest.mark.needs_jit
def test_the_log_rank_test_takes_groups_and_has_its_size():
    grid, values, rng = dp.Grid.uniform(0, 16, 8), [], RNG(4)
    for seed in range(60):
        durations, event, by = many(1500, seed)
        how = {"by": by, "groups": ["a", "b", "c"], "epsilon": 1.0, "rng": rng}
        found = dp.survival(durations, event, grid, **how)
        values.append(dp.log_rank_test(found, simulations=99).pvalue)
    assert 0.38 <= np.mean(values) <= 0.62  # 0.5 +- 0.037
    durations, event, by = many(3000, 1, means=(6, 10, 10))
    how = {"by": by, "groups": ["a", "b", "c"], "epsilon": 1.0, "rng": rng}
    found = dp.survival(durations, event, grid, **how)
    assert dp.log_rank_test(found, simulations=99).pvalue == 0.01
    assert dp.log_rank_test(found) == dp.log_rank_test(*found.values())


def test_strata_of_groups_are_found_by_their_labels():
    durations, event, by = many()
    how = {"by": by, "mechanism": Hierarchy(1.0)}
    first, second = (
        dp.survival(durations[half], event[half], GRID, **how | {"by": by[half], "rng": RNG(seed)},
                    groups=groups)
        for seed, half, groups in (
            (1, slice(None, 1500), ["a", "b"]),
            (2, slice(1500, None), ["b", "a"]),
        )
    )  # fmt: skip
    test = dp.log_rank_test(first, second)
    pairs = [[one["a"], one["b"]] for one in (first, second)]
    assert test == dp.log_rank_test(*pairs)
    with pytest.raises(dp.ParameterError, match="strata"):
        dp.log_rank_test(first, dp.GroupedSurvival(("a", "c"), second.curves))
    with pytest.raises(dp.ParameterError, match="second must be given"):
        dp.log_rank_test(first["a"])
    with pytest.raises(dp.ParameterError, match="two groups or more"):
        dp.log_rank_test(dp.GroupedSurvival(("a",), first.curves[:1]))


def test_it_is_a_mapping_that_is_stored_and_shows_itself():
    durations, event, by = many()
    how = {"by": by, "groups": ["a", "b"], "epsilon": 2.0, "rng": RNG(1)}
    found = dp.survival(durations, event, GRID, **how)
    assert repr(found) == "<GroupedSurvival of 2: 'a', 'b'; SIMULATED, epsilon = 2>"
    again = dp.load(found.to_json())
    assert again == found
    assert hash(again) == hash(found)
    assert np.array_equal(again["a"].band().low, found["a"].band().low)
    assert dp.GroupedSurvival(("b", "a"), found.curves[::-1]) == found
    with pytest.raises(KeyError, match="z"):
        found["z"]
    with pytest.raises(dp.DtypeError, match="curves must hold Survival"):
        dp.GroupedSurvival(("a",), (1,))
    own = dp.survival(durations, event, GRID, epsilon=2.0, rng=RNG(1))
    assert dp.GroupedSurvival(("a",), (own,)).privacy.neighbours == WITHIN
    assert "median of a, of the population" in dp.report([found])
    frame = found.to_frame(of="population")
    assert frame["group"].tolist() == ["a"] * 4 + ["b"] * 4


def test_all_groups_are_drawn_with_their_numbers_at_risk():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    durations, event, by = many()
    how = {"by": by, "groups": ["a", "$z$", "z"], "epsilon": 0.5, "rng": RNG(1)}
    with pytest.warns(dp.DpcoreWarning, match="group 'z': the released number of records"):
        found = dp.survival(durations, event, GRID, **how)
    ax = found.plot(pyplot.figure().add_subplot())
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["a", "95% band, population", "$z$", "z"]
    assert legend.get_title().get_text() == "SIMULATED, epsilon = 0.5"
    assert [text.get_text() for text in ax.texts][1] == str(found["a"].n)
    pyplot.close("all")


def test_a_group_without_records_has_no_curve_and_no_error():
    durations, event, by = many()
    how = {"by": by, "groups": ["a", "z"], "epsilon": 0.2, "rng": RNG(1)}
    with pytest.warns(dp.DpcoreWarning, match="is it a label that records have"):
        found = dp.survival(durations, event, GRID, **how)
    assert np.isnan(found["z"].survival).all()
    assert np.isnan(found["z"].end)
    assert np.isnan(found["z"].band().low).all()
    assert dp.log_rank_test(found, simulations=19).pvalue > 0.05


def test_missing_values_and_labels_follow_the_policy():
    def exact(**given):
        records = {"durations": DURATIONS, "event": EVENT, "by": BY, "groups": ["a", "b"]} | given
        found = dp.survival(**records, grid=GRID, mechanism=NoNoise())
        return {group: curve.n for group, curve in found.items()}

    holes = {
        "durations": [0.5, float("nan"), *DURATIONS[2:]],
        "by": ["a", "b", None, "b", "c", "a"],
        "event": pd.Series([None, 1, 1, 0, 1, 0], dtype="Int64"),
    }
    for name, column in holes.items():
        with pytest.raises(dp.MissingValueError, match=name):
            exact(**{name: column})
    assert exact() == {"a": 3, "b": 2}
    found = exact(**{"by": holes["by"], "event": holes["event"]}, nan_policy="omit")
    assert found == {"a": 1, "b": 2}
    assert exact(durations=holes["durations"], nan_policy="omit") == {"a": 3, "b": 1}


def test_errors_name_the_arguments():
    def refused(match, kind=dp.ParameterError, **given):
        with pytest.raises(kind, match=match):
            dp.survival(DURATIONS, EVENT, **{"grid": GRID, "epsilon": 1.0} | given)

    refused("groups", by=BY)
    refused(r"\bby\b", groups=["a"])
    refused(r"\bby\b", by=BY[:2], groups=["a"])
    refused("groups", dp.DtypeError, by=[1] * 6, groups=["a"])
    refused("neighbours.*give by", neighbours=WITHIN)
    refused("neighbours", by=BY, groups=["a"], neighbours="replace-one")
    local = dp.trust.SquareWave(1.0, clients=6)
    refused("one row", mechanism=local, epsilon=None, by=BY, groups=["a"])
    refused("neighbours", mechanism=Hierarchy(1.0), epsilon=None, by=BY, groups=["a"],
            neighbours=WITHIN)  # fmt: skip
    many_groups = {"by": [1] * 6, "groups": list(range(2**12))}
    refused("groups.*at most", grid=dp.Grid.uniform(0, 1, 2**18), **many_groups)
    other = pd.Series(BY, index=range(6, 0, -1))
    with pytest.raises(dp.ParameterError, match="by must have the index of durations"):
        dp.survival(pd.Series(DURATIONS), EVENT, GRID, by=other, groups=["a"], epsilon=1.0)
