"""Curves by group: how much a record changes of all that is counted, by trying all small inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Histogram
from dpcore.summaries.group_counts import group_counts
from dpcore.summaries.score_counts import score_counts_of_groups
from tests.audit.harness import both_ways

GRID, GROUPS, LABELS = dp.Grid([0.0, 1.0, 2.0]), ("a", "b"), ("a", "b", "other")
SCORE_GRID = dp.Grid([0.5, 1.0])
RECORDS = list(product(GRID.positions, LABELS))


def counts(records):
    values, by = [value for value, _ in records], [label for _, label in records]
    return group_counts(values, np.array(by, str), GRID, GROUPS)


def test_a_record_more_changes_one_count_of_one_group_by_one():
    largest = 0
    for size in range(3):
        for records in product(RECORDS, repeat=size):
            for record in RECORDS:
                change = counts([*records, record]) - counts(records)
                assert np.abs(change).sum() == (record[1] in GROUPS)
                assert np.count_nonzero(change.any(axis=1)) <= 1
                largest = max(largest, np.abs(change).sum())
    assert largest == 1


def test_a_replaced_record_changes_two_groups_which_is_why_its_group_is_fixed():
    within, across = 0, 0
    for rest, old, new in product(RECORDS, RECORDS, RECORDS):
        change = counts([rest, new]) - counts([rest, old])
        groups = int(np.count_nonzero(change.any(axis=1)))
        if old[1] == new[1]:
            within = max(within, groups)
            assert not change.sum(axis=1).any()  # sizes stay
        across = max(across, groups)
    assert (within, across) == (1, 2)


# Text that NumPy takes for equal and Python does not, and numbers that both take for equal.
NEARLY_EQUAL = [
    (("a", "a\0", "a\0\0"), ("a", "a\0", "a\0\0", "b"), list),
    (("a", "a\0", "a\0\0"), ("a", "a\0", "a\0\0", "b"), lambda by: np.array(by, str)),
    (("a", "a\0", "a\0\0"), ("a", "a\0", "a\0\0", "b"), lambda by: np.array(by, object)),
    ((b"a", b"a\0"), (b"a", b"a\0", b"b"), lambda by: np.array(by, object)),
    ((b"a", b"a\0"), (b"a", b"a\0", b"b"), lambda by: np.array(by, "S2")),
    ((1, 2**53, 2**53 + 1), (True, 2**53, 2**53 + 1, 2.0**53), list),
    ((1, 2**53, 2**53 + 1), (1, 2**53, 2**53 + 1), np.array),
    ((1, 2**53, 2**53 + 2), (1.0, 2.0**53, 2.0**53 + 2), np.array),
]


@pytest.mark.parametrize(("groups", "labels", "column"), NEARLY_EQUAL)
def test_a_record_more_is_in_one_group_even_if_groups_look_alike(groups, labels, column):
    def counted(by):
        return group_counts(np.zeros(len(by)), column(by), GRID, groups)

    for size in range(3):
        for by in product(labels, repeat=size):
            for label in labels:
                change = counted([*by, label]) - counted([*by]) if by else counted([label])
                assert np.abs(change).sum() <= 1
                assert np.count_nonzero(change.any(axis=1)) <= 1


# Two groups of one release, and the same with a record more, or another value, in the second.
JOINT = [
    (Histogram(3.0, neighbours="add-or-remove-one"), [[3, 3], [2, 2]], [[3, 3], [2, 3]]),
    (Histogram(3.0), [[3, 3, 3], [2, 2, 2]], [[3, 3, 3], [2, 1, 3]]),
]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("mechanism", "first", "second"), JOINT)
def test_all_rows_together_keep_the_claim_and_a_fifth_less_noise_is_caught(
    mechanism, first, second
):
    epsilon = mechanism.epsilon

    def bound(own):
        rng = np.random.default_rng(1)
        both = (own.release(np.tile(rows, (400_000, 1)), rng=rng) for rows in (first, second))
        return both_ways(*(np.rint(out).astype(np.int64).reshape(400_000, -1) for out in both))

    assert 0.7 * epsilon < bound(mechanism) <= epsilon
    stated = mechanism.privacy.neighbours
    assert bound(Histogram(epsilon * 5 / 4, neighbours=stated)) > epsilon


def score_counts(records):
    labels, scores, by = ([record[at] for record in records] for at in range(3))
    return score_counts_of_groups(
        np.array(labels, bool), np.array(scores, float), np.array(by, str), SCORE_GRID, GROUPS
    )


def test_of_scores_too_a_record_more_changes_one_count_of_one_group_by_one():
    largest = 0
    kinds = list(product([False, True], SCORE_GRID.positions, LABELS))
    for size in range(3):
        for records in product(kinds, repeat=size):
            for record in kinds:
                change = score_counts([*records, record]) - score_counts(records)
                assert np.abs(change).sum() == (record[2] in GROUPS)
                largest = max(largest, np.abs(change).sum())
    assert largest == 1


def test_of_scores_a_replaced_record_that_stays_in_its_group_moves_between_two_cells():
    kinds = list(product([False, True], SCORE_GRID.positions, LABELS))
    within, across = 0, 0
    for rest, old, new in product(kinds[:3], kinds, kinds):
        change = score_counts([rest, new]) - score_counts([rest, old])
        groups = int(np.count_nonzero(change.any(axis=1)))
        if old[2] == new[2]:
            within = max(within, groups)
            assert sorted(change[change != 0].tolist()) in ([], [-1, 1])
        across = max(across, groups)
    assert (within, across) == (1, 2)
