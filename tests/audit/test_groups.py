"""Curves by group: how much a record changes of all that is counted, by trying all small inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import dpcore as dp
from dpcore.summaries.group_counts import group_counts

GRID, GROUPS, LABELS = dp.Grid([0.0, 1.0, 2.0]), ("a", "b"), ("a", "b", "other")
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
