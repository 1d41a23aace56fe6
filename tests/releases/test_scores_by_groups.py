"""Scores of public groups in one call: what they hold, what they cost, what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, NoNoise
from dpcore.planning.score_grid import grid_of_groups
from dpcore.privacy.allowance import Allowance
from dpcore.statistics import GroupedROC

GRID = dp.Grid.uniform(0, 1, 4)
WITHIN = "replace-one-within-group"
LABELS, SCORES = [0, 1, 1, 0, 1, 0], [0.1, 0.9, 0.3, 0.6, 0.7, 0.2]
BY = ["a", "b", "a", "b", "c", "a"]
RNG = np.random.default_rng


def many(n=3000, seed=1):
    rng = RNG(seed)
    scores, by = rng.random(n), rng.choice(["a", "b", "c"], n)
    return rng.random(n) < scores, scores, by


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.floats(-0.2, 1.2), st.sampled_from("abc")),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
)
def test_each_group_has_its_own_records_and_others_count_nowhere(records, is_uniform):
    labels, scores, by = (np.array(column) for column in zip(*records, strict=True))
    grid = GRID if is_uniform else dp.Grid([0.1, 0.5, 0.6, 1.0])
    groups = [group for group in ("b", "a") if group in by]
    if not groups:
        return
    found = dp.score_curves(labels, scores, grid, NoNoise(), by=by, groups=groups, isotonic=False)
    assert list(found) == groups
    for group, curves in found.items():
        own = dp.score_curves(labels[by == group], scores[by == group], grid, NoNoise())
        assert np.array_equal(curves.negatives, own.negatives)
        assert np.array_equal(curves.positives, own.positives)


def test_columns_of_dask_are_counted_where_they_lie():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pd.DataFrame({"y": LABELS, "s": SCORES, "by": BY}), npartitions=2)
    how = {"mechanism": NoNoise(), "groups": ["a", "b"]}
    found = dp.score_curves(frame["y"], frame["s"], GRID, by=frame["by"], **how)
    assert found == dp.score_curves(LABELS, SCORES, GRID, by=BY, **how)


def test_all_groups_cost_what_one_does_and_sizes_are_noisy():
    labels, scores, by = many()
    how = {"by": by, "groups": ["a", "b", "c"], "epsilon": 1.0}
    found = dp.score_curves(labels, scores, GRID, **how, rng=RNG(1))
    assert found.privacy == dp.Privacy(1.0, 0.0, "add-or-remove-one", True)
    true = {group: int((by == group).sum()) for group in found}
    assert {group: curves.n for group, curves in found.items()} != true
    assert all(abs(curves.n - true[group]) < 60 for group, curves in found.items())
    with dp.Budget(epsilon=1.0, neighbours="add-or-remove-one") as budget:
        roc = dp.roc_curve(labels, scores, **how)
    assert budget.spent == roc.privacy == dp.Privacy(1.0, 0.0, "add-or-remove-one")
    assert [charge.what for charge in budget.log] == ["roc_curve"]


def test_within_groups_sizes_are_public():
    labels, scores, by = many()
    how = {"by": by, "groups": ["a", "b"], "rng": RNG(1)}
    found = dp.roc_curve(labels, scores, **how, epsilon=2.0, neighbours=WITHIN)
    assert [roc.n for roc in found.values()] == [(by == "a").sum(), (by == "b").sum()]
    assert found.privacy == found["a"].privacy == dp.Privacy(2.0, 0.0, WITHIN, True)
    given = dp.score_curves(labels, scores, GRID, Dyadic(2.0), **how)
    assert given.privacy == found.privacy
    with pytest.raises(dp.ParameterError, match="groups must have at least one"):
        dp.score_curves(labels, scores, GRID, Dyadic(2.0), by=by, groups=["a", "z"])


def test_the_default_depends_on_the_budget_alone():
    labels, scores, by = many(900)
    for epsilon in (0.5, 2.0, 50.0):
        found = dp.score_curves(labels, scores, by=by, groups=["a", "b"], epsilon=epsilon)
        assert found["a"].grid == grid_of_groups(Allowance.checked(epsilon, None, "replace-one"))
    sizes = [grid_of_groups(Allowance.checked(e, None, "replace-one")).size for e in (0.01, 1, 50)]
    assert sizes == sorted(set(sizes))
    few = dp.score_curves(labels, scores, by=by, groups=["a"], epsilon=1.0)
    assert few["a"].joint.mechanism == Histogram(1.0).describe()


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("neighbours", ["add-or-remove-one", WITHIN])
def test_intervals_of_the_area_hold_in_each_group(neighbours):
    labels, scores, by = many(2000)
    grid = dp.Grid.uniform(0, 1, 20)
    how = {"by": by, "groups": ["a", "b"], "epsilon": 1.0, "neighbours": neighbours}
    exact = dp.roc_curve(labels, scores, grid, NoNoise(), by=by, groups=["a", "b"])
    hits = {"a": 0, "b": 0}
    rng = RNG(3)
    for _ in range(60):
        for group, roc in dp.roc_curve(labels, scores, grid, **how, rng=rng).items():
            low, high = roc.auc_interval(0.9)
            hits[group] += low <= exact[group].auc <= high
    assert all(44 <= hit <= 60 for hit in hits.values())  # 54 +- 2.3


def test_it_is_a_mapping_that_is_stored_and_shows_itself():
    labels, scores, by = many()
    how = {"by": by, "groups": ["a", "b"], "epsilon": 2.0, "rng": RNG(1)}
    curves, roc = dp.score_curves(labels, scores, **how), dp.roc_curve(labels, scores, **how)
    assert repr(curves) == "<GroupedScores of 2: 'a', 'b'; SIMULATED, epsilon = 2>"
    assert repr(roc) == "<GroupedROC of 2: 'a', 'b'; SIMULATED, epsilon = 2>"
    for found in (curves, roc):
        again = dp.load(found.to_json())
        assert again == found
        assert hash(again) == hash(found)
        swapped = type(found)(("b", "a"), found.curves[::-1])
        assert swapped == found
        assert len(found) == 2
        with pytest.raises(KeyError, match="z"):
            found["z"]
        with pytest.raises(dp.ParameterError, match="as many as groups, 1"):
            type(found)(("a",), found.curves)
        with pytest.raises(dp.DtypeError, match="curves"):
            type(found)(("a",), (1,))
    assert dp.load(roc.to_json())["a"].auc_interval() == roc["a"].auc_interval()
    own = dp.score_curves(labels, scores, epsilon=2.0, rng=RNG(1))
    assert dp.GroupedScores(("a",), (own,)).privacy.neighbours == WITHIN
    raw = dp.score_curves(labels, scores, **how | {"isotonic": False, "rng": RNG(1)})
    assert raw.isotonic() == curves


def test_missing_values_and_labels_follow_the_policy():
    def exact(**given):
        records = {"y_true": LABELS, "y_score": SCORES, "by": BY, "groups": ["a", "b"]} | given
        found = dp.score_curves(**records, grid=GRID, mechanism=NoNoise(), isotonic=False)
        return {group: curves.n for group, curves in found.items()}

    holes = {
        "y_score": [0.1, float("nan"), *SCORES[2:]],
        "by": ["a", "b", None, "b", "c", "a"],
        "y_true": pd.Series([None, 1, 1, 0, 1, 0], dtype="Int64"),
    }
    for name, column in holes.items():
        with pytest.raises(dp.MissingValueError, match=name):
            exact(**{name: column})
    assert exact() == {"a": 3, "b": 2}
    found = exact(**{"by": holes["by"], "y_true": holes["y_true"]}, nan_policy="omit")
    assert found == {"a": 1, "b": 2}
    assert exact(y_score=holes["y_score"], nan_policy="omit") == {"a": 3, "b": 1}


def test_errors_name_the_arguments():
    def refused(match, kind=dp.ParameterError, **given):
        with pytest.raises(kind, match=match):
            dp.roc_curve(LABELS, SCORES, **{"grid": GRID, "epsilon": 1.0} | given)

    refused("groups", by=BY)
    refused(r"\bby\b", groups=["a"])
    refused(r"\bby\b", by=BY[:2], groups=["a"])
    refused("groups", dp.DtypeError, by=[1] * 6, groups=["a"])
    other = pd.Series(BY, index=range(6, 0, -1))
    with pytest.raises(dp.ParameterError, match="by must have the index of y_score"):
        dp.roc_curve(LABELS, pd.Series(SCORES), GRID, by=other, groups=["a"], epsilon=1.0)
    refused("neighbours.*give by", neighbours=WITHIN)
    refused("neighbours", by=BY, groups=["a"], neighbours="replace-one")
    pair = {"mechanism": (Hierarchy(1.0), Hierarchy(1.0)), "epsilon": None}
    refused("mechanism", **pair, by=BY, groups=["a"])
    local = dp.trust.SquareWave(1.0, clients=6)
    refused("one row", mechanism=local, epsilon=None, by=BY, groups=["a"])
    refused("sample_weight", dp.DtypeError, by=BY, groups=["a"], sample_weight=[1] * 6)
    refused("neighbours", mechanism=Hierarchy(1.0), epsilon=None, by=BY, groups=["a"],
            neighbours=WITHIN)  # fmt: skip
    with pytest.raises(dp.ParameterError, match=r"groups.*at most"):
        dp.score_curves(
            LABELS,
            SCORES,
            dp.Grid.uniform(0, 1, 2**18),
            NoNoise(),
            by=[1] * 6,
            groups=list(range(2**12)),
        )


def test_likely_mistakes_are_told_by_group():
    labels, scores, by = many()
    with pytest.warns(dp.DpcoreWarning, match="group 'z': the released number of records"):
        dp.score_curves(labels, scores, GRID, by=by, groups=["a", "z"], epsilon=1.0)
    wrong = np.where(by == "a", ~labels, labels)
    with pytest.warns(dp.DpcoreWarning, match="group 'a'.*worse than guessing"):
        found = dp.roc_curve(wrong, scores, GRID, by=by, groups=["a", "b"], epsilon=5.0)
    assert isinstance(found, GroupedROC)
    with pytest.warns(dp.DpcoreWarning) as told:
        dp.score_curves(labels, scores, GRID, by=by, groups=list("defghijklmnop"), epsilon=1.0)
    assert [str(one.message) for one in told][-1].startswith("5 more groups of 13 may be")
