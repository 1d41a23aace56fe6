"""Curves of public groups in one call: what they hold, what they cost, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpcore as dp
from dpcore.mechanisms import Hierarchy, NoNoise

GRID = dp.Grid.uniform(0, 4, 4)
WITHIN = "replace-one-within-group"
VALUES, BY = [0.5, 1.5, 1.5, 2.5, 3.5, 3.5], ["a", "b", "a", "b", "c", "b"]


def exact(by=BY, groups=("a", "b"), values=VALUES, **how):
    found = dp.cdf(values, GRID, NoNoise(), by=by, groups=groups, **how)
    return {group: curve.counts.tolist() for group, curve in found.items()}


def test_each_group_has_its_own_records_and_others_count_nowhere():
    assert exact() == {"a": [1, 2, 2, 2], "b": [0, 1, 2, 3]}
    assert list(exact(groups=["c", "a"])) == ["c", "a"]


@pytest.mark.parametrize("kind", [np.array, pd.Series, pl.Series, pa.array])
def test_labels_may_be_in_any_column(kind):
    assert exact(kind(BY)) == {"a": [1, 2, 2, 2], "b": [0, 1, 2, 3]}


@pytest.mark.parametrize("groups", [[1, 2], [1.0, 2.0], [np.int8(1), True + 1]])
def test_labels_may_be_numbers(groups):
    assert list(exact([1, 2, 1, 2, 3, 2], groups).values()) == [[1, 2, 2, 2], [0, 1, 2, 3]]


def test_a_type_that_lists_its_categories_names_the_groups():
    budget = {"epsilon": 1.0, "rng": np.random.default_rng(1)}
    order = ["z", "b", "a", "c"]
    by = pl.Series(BY, dtype=pl.Enum(order))
    assert list(dp.cdf(VALUES, GRID, by=by, **budget)) == order  # "z" has no record


@pytest.mark.parametrize(
    "by",
    [
        pd.Series(BY, dtype="category"),
        pd.Categorical(BY, categories=["z", "b", "a", "c"]),
        pd.CategoricalIndex(BY),
    ],
)
def test_categories_that_may_come_from_the_data_name_no_groups(by):
    with pytest.raises(
        dp.ParameterError, match=r"write groups=\[...\]; cat.* from the data; got N"
    ):
        dp.cdf(VALUES, GRID, by=by, epsilon=1.0)
    assert list(exact(by, ["b", "a"])) == ["b", "a"]


def test_dask_columns_are_counted_where_they_lie():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"value": VALUES, "by": BY}), npartitions=2)
    assert exact(frame["by"], values=frame["value"]) == {"a": [1, 2, 2, 2], "b": [0, 1, 2, 3]}


def test_all_groups_cost_what_one_does_and_sizes_are_noisy():
    rng = np.random.default_rng(1)
    values, by = rng.random(3000) * 4, np.repeat(["a", "b", "c"], 1000)
    found = dp.cdf(values, GRID, by=by, groups=["a", "b", "c"], epsilon=0.5, rng=rng)
    assert found.privacy == dp.Privacy(0.5, 0.0, "add-or-remove-one", True)
    assert len({curve.n for curve in found.values()}) > 1
    assert all(abs(curve.n - 1000) < 60 for curve in found.values())
    noises = [curve.counts.tolist() for curve in found.values()]
    assert noises[0] != noises[1] != noises[2]


def test_within_groups_sizes_are_public():
    found = dp.cdf(*(VALUES, GRID), by=BY, groups=["a", "b"], epsilon=50.0, neighbours=WITHIN)
    assert [curve.n for curve in found.values()] == [2, 3]
    assert found.privacy.neighbours == found["a"].privacy.neighbours == WITHIN
    with pytest.raises(dp.ParameterError, match="groups"):
        dp.cdf(VALUES, GRID, Hierarchy(1.0), by=BY, groups=["a", "z"])


def test_missing_values_and_labels_follow_the_policy():
    values = [0.5, float("nan"), 1.5, 2.5, 3.5, 3.5]
    with pytest.raises(dp.MissingValueError, match="values"):
        exact(values=values)
    with pytest.raises(dp.MissingValueError, match="values"):
        exact(values=values, groups=["c"])  # whichever group they are in
    with pytest.raises(dp.MissingValueError, match=r"\bby\b"):
        exact(["a", None, "a", "b", "c", "b"])
    found = exact(["a", "b", None, "b", "c", "b"], values=values, nan_policy="omit")
    assert found == {"a": [1, 1, 1, 1], "b": [0, 0, 1, 2]}


def test_errors_name_the_arguments():
    def refused(match, kind=dp.ParameterError, **given):
        with pytest.raises(kind, match=match):
            dp.cdf(VALUES, GRID, epsilon=1.0, **given)

    refused("groups", by=BY)
    refused("groups", by=pl.Series(BY, dtype=pl.Categorical))
    refused(r"\bby\b", groups=["a"])
    refused(r"\bby\b", dp.DtypeError, by="sex", groups=["a"])
    refused(r"\bby\b", by=BY[:2], groups=["a"])
    refused("groups", dp.DtypeError, by=[1] * 6, groups=["a"])
    refused("groups", dp.DtypeError, by=BY, groups=["a", 1])
    refused("groups", dp.DtypeError, by=BY, groups="ab")
    refused("groups", by=BY, groups=["a", "a"])
    refused("groups", by=BY, groups=[])
    refused(r"\bby\b", dp.DtypeError, by=[{}] * 6, groups=["a"])


def test_nothing_is_drawn_for_one_group_if_another_one_is_refused():
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state["state"], rng.bit_generator.seed_seq.n_children_spawned
    with pytest.raises(dp.ParameterError, match="groups"):
        dp.cdf(VALUES, GRID, Hierarchy(50.0), by=BY, groups=["a", "z"], rng=rng)
    assert before == (
        rng.bit_generator.state["state"],
        rng.bit_generator.seed_seq.n_children_spawned,
    )


def test_it_is_a_mapping_that_is_stored_and_shows_itself():
    rng = np.random.default_rng(1)
    found = dp.cdf(VALUES, GRID, by=BY, groups=["a", "b"], epsilon=50.0, rng=rng)
    assert len(found) == 2
    assert "a" in found
    assert "z" not in found
    with pytest.raises(KeyError, match="z"):
        found["z"]
    again = dp.GroupedCDF.from_json(found.to_json())
    for group, curve in found.items():
        np.testing.assert_array_equal(again[group].counts, curve.counts)
    assert again.privacy == found.privacy
    other = dp.GroupedCDF(("b", "a"), (found["b"], found["a"]))  # of the same groups
    assert found == again == other
    assert len({found, again, other}) == 1
    assert repr(found).startswith("<GroupedCDF of 2: 'a', 'b'; SIMULATED, epsilon = 50>")
    many = dp.GroupedCDF(tuple(f"group {at}" for at in range(50)), (found["a"],) * 50)
    assert len(repr(many)) <= 88
    for text in ("{}", found["a"].to_json(), found.to_json().replace('"b"]', '"a"]')):
        with pytest.raises(dp.FormatError):
            dp.GroupedCDF.from_json(text)
    with pytest.raises(dp.DtypeError, match="not NaN"):
        dp.GroupedCDF((float("nan"),), (found["a"],))
    with pytest.raises(dp.ParameterError, match="groups"):
        dp.GroupedCDF((b"a",), (found["a"],)).to_json()


def test_pictures_share_their_axes():
    rng = np.random.default_rng(1)
    groups = dp.cdf(VALUES, GRID, by=BY, groups=["a", "b", "$d"], epsilon=50.0, rng=rng)
    axes = groups.plot()
    assert [ax.get_title() for ax in axes] == ["a", "b", "$d"]
    axes[0].set_xlim(1, 2)
    assert axes[2].get_xlim() == (1, 2)
    axes[0].figure.canvas.draw()  # dollars are no formulas


def test_pictures_show_text_that_no_font_has():
    values = pd.Series(VALUES, name="\udcff")
    groups = dp.cdf(values, GRID, by=BY, groups=["a", "\ud800"], epsilon=50.0)
    axes = groups.plot()
    assert axes[1].get_title() == "?"
    axes[0].figure.canvas.draw()
    over = groups.plot(axes[0].figure.add_subplot())
    assert "?" in [text.get_text() for text in over.get_legend().get_texts()]
    assert dp.report(groups).count("<img") == 1
    table = dp.table(values, values, dp.TableGrid(GRID, GRID), epsilon=50.0)
    table.plot().figure.canvas.draw()


def test_groups_are_compared():
    rng = np.random.default_rng(1)
    values = rng.normal(np.repeat([1.0, 2.0], 1000), 0.5)
    by, grid = np.repeat(["a", "b"], 1000), dp.Grid.uniform(-1, 4, 64)
    found = dp.cdf(values, grid, by=by, groups=["a", "b"], epsilon=1.0, rng=rng)
    assert dp.compare(found["a"], found["b"], simulations=99, rng=rng).p_value == 0.01


def test_bad_groups_are_refused_before_anything_is_spent():
    with dp.Budget(epsilon=10.0, neighbours="add-or-remove-one") as budget:
        for groups in ([float("nan")], [1.0, 1], [None]):
            with pytest.raises(dp.DpcoreError, match="groups"):
                dp.cdf([1.0, 2.0], GRID, by=[1.0, 2.0], groups=groups, epsilon=1.0)
        assert budget.spent.epsilon == 0.0
        dp.cdf([1.0, 2.0], GRID, by=[1, 2], groups=[1, 2], epsilon=4.0)
    assert budget.spent.epsilon == 4.0  # of all groups together


@pytest.mark.parametrize(
    "key", ["c", [1], np.zeros(2), pd.NA, None, float("nan"), np.timedelta64(1)]
)
def test_what_is_no_group_is_a_missing_key(key):
    found = dp.cdf([1.0, 2.0], GRID, by=[1, 2], groups=[1, 2], epsilon=50.0)
    assert key not in found
    assert found.get(key) is None
    with pytest.raises(KeyError):
        found[key]


def test_each_group_is_warned_of():
    rng = np.random.default_rng(1)
    values, by = rng.random(20_001), ["many"] * 20_000 + ["one"]
    with pytest.warns(dp.DpcoreWarning, match="group 'one': the released number") as found:
        dp.cdf(values, GRID, by=by, groups=["many", "one"], epsilon=1.0, rng=rng)
    assert len(found) == 1


def test_a_release_has_a_curve_for_each_group_and_labels_that_json_has():
    curve = dp.cdf([1.0, 2.0], GRID, epsilon=50.0, rng=np.random.default_rng(1))
    with pytest.raises(dp.ParameterError, match=r"curves.*2"):
        dp.GroupedCDF(("a", "b"), (curve,))
    with pytest.raises(dp.ParameterError, match="finite numbers"):
        dp.GroupedCDF((float("inf"),), (curve,)).to_json()


def test_histograms_of_groups_stand_in_rows_over_the_same_edges():
    found = dp.cdf(VALUES, GRID, NoNoise(), by=BY, groups=["a", "b"])
    counts, edges = found.histogram([0.0, 1.5, 4.0])
    for row, curve in zip(counts, found.values(), strict=True):
        alone, own = curve.histogram([0.0, 1.5, 4.0])
        assert row.tolist() == alone.tolist()
        assert edges.tolist() == own.tolist()
    assert counts.sum(axis=1).tolist() == [2.0, 3.0]
    others = dp.cdf(VALUES, dp.Grid.uniform(0, 5, 4), NoNoise())
    mixed = dp.GroupedCDF((0, 1), (found["a"], others))
    with pytest.raises(dp.ParameterError, match="grid"):
        mixed.histogram(2)
