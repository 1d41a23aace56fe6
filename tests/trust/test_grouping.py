"""Records by group, and random choices among those of a group, beside plain versions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.kernels.clients import grouping as kernels
from dpcore.trust._choice import grouped
from tests.trust.rounds import RNG


def plain_choice(groups, most, words):
    """Return which records are chosen, (n,): draws without replacement, group by group."""
    words, chosen = iter(words), np.zeros(len(groups), bool)
    for group in range(max(groups, default=-1) + 1):
        own = [i for i, other in enumerate(groups) if other == group]
        if len(own) > most:
            for place in range(most):
                drawn = place + int(next(words)) % (len(own) - place)
                own[place], own[drawn] = own[drawn], own[place]
        chosen[own[:most]] = True
    return chosen


def sorted_by_group(groups):
    """The records by group, and where each group ends, whether it has records or not."""
    sizes = np.bincount(groups)
    return np.argsort(groups, kind="stable"), np.cumsum(sizes)


@given(
    st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 5000), max_size=50),
    st.sampled_from([np.int64, np.uint64]),
)
def test_records_by_id_are_those_of_a_stable_sort(ids, dtype):
    ids = np.array(ids, dtype)
    order, ends = grouped(ids)
    assert np.array_equal(order, np.argsort(ids, kind="stable"))
    assert np.array_equal(ends, np.cumsum(np.unique(ids, return_counts=True)[1]))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(1, 4), st.integers(0, 99))
def test_choices_are_those_of_the_plain_version(groups, most, seed):
    order, ends = sorted_by_group(groups)
    words = RNG(seed).integers(0, 2**63, most * ends.size, dtype=np.uint64)
    chosen = np.zeros(len(groups), bool)
    assert kernels.choose(order, ends, most, words, chosen)
    assert np.array_equal(chosen, plain_choice(groups, most, words))
    assert np.array_equal(
        np.bincount(groups, weights=chosen, minlength=ends.size),
        np.minimum(np.bincount(groups, minlength=ends.size), most),
    )


@pytest.mark.parametrize(("size", "most"), [(3, 1), (4, 2), (5, 3), (5, 4)])
def test_every_set_of_records_is_as_likely(size, most):
    """Over all remainders that words may have."""
    seen = Counter()
    for words in itertools.product(*(range(size - place) for place in range(most))):
        chosen = np.zeros(size, bool)
        order = np.arange(size)
        assert kernels.choose(order, np.array([size]), most, np.array(words, np.uint64), chosen)
        seen[tuple(chosen.tolist())] += 1
    assert len(seen) == len(list(itertools.combinations(range(size), most)))
    assert len(set(seen.values())) == 1


@pytest.mark.parametrize(("size", "slots"), [(0, 3), (2, 3), (3, 3), (5, 3)])
def test_every_slot_is_as_likely(size, slots):
    number = max(size, slots)
    for word in range(number):
        chosen = np.zeros(size, bool)
        words = np.array([word], np.uint64)
        assert kernels.choose_slots(np.arange(size), np.array([size]), slots, words, chosen)
        assert np.flatnonzero(chosen).tolist() == ([word] if word < size else [])


def test_words_that_would_favour_small_numbers_are_refused():
    last = 2**64 - 1
    for size, good in ((3, last - 1), (5, last - 1), (6, last - 4), (4, last), (2**40, last)):
        for word in (0, good):
            assert chosen_one(size, word) == word % size
        if good < last:
            assert chosen_one(size, good + 1) is None


def chosen_one(size, word):
    """Return the record that a word chooses out of the slots of one group, or None if refused."""
    words, chosen = np.array([word], np.uint64), np.zeros(1, bool)
    done = kernels.choose_slots(np.zeros(1, np.int64), np.array([1]), size, words, chosen)
    if not done:
        return None
    return word % size if (word % size == 0) == chosen[0] else -1


@pytest.mark.parametrize(
    "ids",
    [
        np.array([-128, 127, 0, 127], np.int8),
        np.array([2**64 - 1, 0, 5, 0], np.uint64),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], np.uint64),
        np.array([-(2**63), 2**63 - 1, -(2**63)]),
        np.array([-(2**63), 3 - 2**63, -(2**63)]),
        np.array([7]),
        np.arange(1000)[::-1] * 10**6,
        RNG(1).integers(100, size=1000, dtype=np.uint8),
    ],
)
def test_ids_are_grouped_wherever_they_lie(ids):
    order, ends = grouped(ids)
    assert np.array_equal(order, np.argsort(ids, kind="stable"))
    assert np.array_equal(ends, np.cumsum(np.unique(ids, return_counts=True)[1]))
