"""Guarantees within groups: a replaced record stays in its group, and sizes are published."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore import Privacy
from dpcore.mechanisms import AdaptiveQuantiles, Hierarchy, NoNoise
from tests.curves.raw_releases import raw

WITHIN, CLIENTS = "replace-one-within-group", "replace-client-within-group"
GRID = dp.Grid.uniform(0, 4, 4)
VALUES, BY = [0.5, 1.5, 1.5, 2.5] * 50, ["a", "b", "a", "b"] * 50


def by_groups(**how):
    return dp.cdf(VALUES, GRID, by=BY, groups=["a", "b"], **how)


def within(*parameters, **how):
    return Privacy(*parameters, **how, neighbours=WITHIN)


# --- what a call states


def test_sizes_that_are_published_exactly_are_never_under_replace_one():
    """The two inputs are neighbours for replace-one, and their outputs have nothing in common."""
    other = ["b", *BY[1:]]
    for how in ({"mechanism": Hierarchy(0.01)}, {"epsilon": 0.01, "neighbours": WITHIN}):
        sizes = [
            tuple(
                curve.n for curve in dp.cdf(VALUES, GRID, by=by, groups=["a", "b"], **how).values()
            )
            for by in (BY, other)
        ]
        assert sizes == [(100, 100), (99, 101)]
        found = by_groups(**how)
        assert found.privacy == within(0.01)
        assert {curve.privacy for curve in found.values()} == {within(0.01)}


def test_replace_one_is_refused_where_it_would_not_hold():
    for unknown in ("replace-one", "within", CLIENTS, 3, ["replace-one"]):
        with pytest.raises(dp.ParameterError, match="neighbours"):
            by_groups(epsilon=1.0, neighbours=unknown)
    with pytest.raises(dp.ParameterError, match="neighbours"):
        dp.cdf(VALUES, GRID, epsilon=1.0, neighbours=WITHIN)


def test_the_noise_of_groups_is_that_of_the_rows_of_their_counts():
    found = by_groups(mechanism=Hierarchy(1.0), rng=np.random.default_rng(1))
    rows = [
        GRID.count([value for value, label in zip(VALUES, BY, strict=True) if label == group])
        for group in found
    ]
    released = Hierarchy(1.0).release(np.stack(rows), rng=np.random.default_rng(1))
    assert np.array_equal([curve.as_released().counts for curve in found.values()], released)


# --- budgets


@pytest.mark.parametrize(
    "how", [{"mechanism": Hierarchy(0.5)}, {"epsilon": 0.5, "neighbours": WITHIN}]
)
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
def test_a_budget_that_hides_groups_refuses_published_sizes(how, relation):
    with dp.Budget(epsilon=9.0, neighbours=relation) as budget:
        with pytest.raises(dp.ParameterError, match=rf"neighbours.*'{relation}'.*{WITHIN}"):
            by_groups(**how)
        found = by_groups(epsilon=0.5)  # the default protects sizes
    assert found.privacy.neighbours == "add-or-remove-one"
    assert [charge.privacy for charge in budget.log] == [found.privacy.implied(relation)]


def test_a_budget_within_groups_takes_what_implies_it():
    with dp.Budget(epsilon=9.0, neighbours=WITHIN) as budget:
        by_groups(mechanism=Hierarchy(0.5))
        dp.cdf(VALUES, GRID, epsilon=1.0)
        by_groups(epsilon=0.75)
        dp.mechanisms.AdaptiveQuantiles(0.25).release_from_sites([[1, 2], [3, 4]])
    assert [charge.privacy.epsilon for charge in budget.log] == [0.5, 1.0, 1.5, 0.25]
    assert budget.spent == within(3.25)
    assert budget.remaining == within(5.75)


def test_a_file_keeps_the_relation(tmp_path):
    path = tmp_path / "groups.budget"
    with dp.Budget.open(path, epsilon=2.0, neighbours=WITHIN):
        by_groups(mechanism=Hierarchy(0.5))
    again = dp.Budget.open(path)
    assert again.cap == within(2.0)
    assert [charge.privacy for charge in again.log] == [within(0.5)]
    with pytest.raises(dp.ParameterError):
        dp.Budget.open(path, epsilon=2.0)


def test_sites_that_answer_by_themselves_publish_their_sizes():
    sites, mechanism = np.array([[1, 2], [3, 4]]), AdaptiveQuantiles(0.25)
    with dp.Budget(epsilon=1.0) as budget:
        with pytest.raises(dp.ParameterError, match=WITHIN):
            mechanism.release_from_sites(sites)
        mechanism.release(sites.sum(axis=0))
    assert len(budget.log) == 1


# --- curves


def test_curves_of_several_inputs_say_that_records_stay():
    sites, again = (
        [raw([40, 30, 20], Hierarchy(1.0)), raw([10, 20, 30], Hierarchy(0.5))] for _ in range(2)
    )
    combined = dp.combine(sites)
    assert combined.privacy == within(1.0)
    assert dp.CDF.from_json(combined.to_json()) == combined
    assert dp.combine([combined, raw([1, 2, 3], Hierarchy(2.0))]).privacy == within(2.0)
    # The public n is checked, and kept, as under replace-one.
    assert dp.average([combined, dp.combine(again)]).n == combined.n
    with pytest.raises(dp.ParameterError, match="same n"):
        dp.average([combined, again[0]])


def test_a_mapping_of_curves_states_it_even_for_one_group():
    curve = raw([40, 30, 20], Hierarchy(1.0))
    one = dp.GroupedCDF(("a",), (curve,))
    assert one.privacy == one["a"].privacy == within(1.0)
    assert curve.privacy == Privacy(1.0)
    removed = raw([40, 30], Hierarchy(1.0, neighbours="add-or-remove-one"))
    assert dp.GroupedCDF(("a",), (removed,)).privacy == removed.privacy


def test_stored_mappings_of_earlier_versions_are_read_with_the_right_relation():
    found = by_groups(mechanism=Hierarchy(1.0), rng=np.random.default_rng(1))
    text = found.to_json()
    assert WITHIN in text
    assert dp.GroupedCDF.from_json(text) == found
    earlier = text.replace(WITHIN, "replace-one")
    assert "replace-one-within" not in earlier
    assert dp.GroupedCDF.from_json(earlier) == found
    alone = found["a"].to_json()
    assert json.loads(alone)["privacy"]["neighbours"] == WITHIN
    assert dp.CDF.from_json(alone) == found["a"]


def test_curves_of_groups_are_compared_and_made_again():
    found = by_groups(mechanism=Hierarchy(1.0), rng=np.random.default_rng(1))
    assert dp.mechanisms.from_curve(found["a"]) == Hierarchy(1.0)
    compared = dp.compare(found["a"], found["b"], simulations=19, rng=np.random.default_rng(2))
    alone = [replace(curve, privacy=Privacy(1.0, simulated=True)) for curve in found.values()]
    same = dp.compare(*alone, simulations=19, rng=np.random.default_rng(2))
    assert compared == same
    assert "replace-one-within-group" in str(found.privacy)


def test_exact_results_are_within_groups_too():
    assert by_groups(mechanism=NoNoise()).privacy == within(math.inf)
