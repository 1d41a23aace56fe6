"""Quantiles by recursion: the kernels against listed places, the law, and what is planned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.kernels.selection import cuts as kernels
from dpcore.mechanisms import cuts as module
from dpcore.mechanisms.cuts import drawn_cells, places_of, planned, reaches
from dpcore.mechanisms.selection import last_class
from dpcore.noise.sources import source
from dpcore.privacy.allowance import Allowance
from tests import reference
from tests.noise.goodness import p_value_of_counts


def line_of(counts, places, node, share):
    """What the kernels are given, and the listed losses in their units."""
    before = np.concatenate([[0], np.cumsum(counts)])
    low, high = (reference.rank_of_place(counts, places, place) for place in node)
    target = places * (share.denominator * low + share.numerator * (high - low))
    listed = [
        int(places * share.denominator * loss)
        for loss in reference.cut_losses(counts, places, node, share)
    ]
    line = np.array(counts), before, places, share.denominator, int(target)
    return (*line, node), listed


def prepared(line, rate):
    size = line[-1][1] - line[-1][0]
    firsts = np.array([-(-c // rate) for c in range(last_class(size) + 1)], np.uint64)
    members = np.empty(firsts.size, np.int64)
    best = kernels.classes(*line, firsts, members)
    return best, firsts, members, np.uint64(rate.numerator), np.uint64(rate.denominator)


COUNTS = st.lists(st.integers(0, 9) | st.just(500), min_size=1, max_size=12)


@settings(max_examples=150, deadline=None)
@given(
    COUNTS,
    st.integers(1, 9),
    st.fractions(0, 1, max_denominator=9),
    st.fractions(Fraction(1, 90), 2, max_denominator=90),
    st.data(),
)
def test_is_the_plain_algorithm_over_all_places_on_the_same_words(
    counts, places, share, rate, data
):
    low = data.draw(st.integers(0, len(counts) * places - 1))
    node = low, data.draw(st.integers(low + 1, len(counts) * places))
    line, listed = line_of(counts, places, node, share)
    best, *rest = prepared(line, rate)
    assert best == min(listed)
    words = np.random.default_rng(1).integers(0, 2**32, 300, dtype=np.uint32)
    out = np.zeros(6, np.int64)
    drawn, used = kernels.cut(words, out, *line, best, *rest)
    stream = iter(words.tolist())
    scores = [-loss for loss in listed]
    plain = [
        node[0] + 1 + reference.exponential_mechanism(stream, scores, rate) for _ in range(drawn)
    ]
    assert out[:drawn].tolist() == plain
    assert used == 300 - len(list(stream)) or drawn < 6


def test_the_largest_numbers_do_not_wrap_around():
    counts, share = [2**34, 0, 2**34], Fraction(2047, 4096)
    line, listed = line_of(counts, 4, (0, 12), share)
    assert prepared(line, Fraction(1, 2**50))[0] == min(listed)
    places = 2**14
    fine = module._drawn(
        np.array([2**35]),
        np.array([0, 2**35]),
        places,
        module.Cut(0, -1, 1, Fraction(4095, 4096), Fraction(1), Fraction(1)),
        (0, places),
        source(None),
    )
    assert abs(fine - places * 4095 / 4096) <= 1


@pytest.mark.needs_jit
def test_rows_of_cuts_follow_their_law(monkeypatch):
    monkeypatch.setattr(module, "_ALL_PLACES", 8)
    counts, stream = np.array([3, 0, 5, 1]), source(np.random.default_rng(3))
    cuts = planned([0.2, 0.5, 0.6], Allowance.checked(4.0, None, "replace-one"))
    law = {}
    for drawn, chance in reference.law_of_cuts(counts.tolist(), 2, cuts).items():
        by_index = dict(zip([cut.index for cut in cuts], drawn, strict=True))
        cells = tuple((by_index[i] - 1) // 2 for i in range(3))
        law[cells] = law.get(cells, 0.0) + chance
    names = list(law)
    seen = np.zeros(len(names))
    for _ in range(4000):
        seen[names.index(tuple(drawn_cells(counts, cuts, stream).tolist()))] += 1
    assert p_value_of_counts(seen, 4000 * np.array(list(law.values()))) > 1e-6


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40, unique=True), st.booleans())
def test_every_way_down_costs_the_budget(probabilities, is_public):
    """The costs of the cuts that a record can pass, as in docs/proofs/selection.md, section 4."""
    neighbours = "replace-one" if is_public else "add-or-remove-one"
    cuts = planned(sorted(probabilities), Allowance.checked(1.0, None, neighbours))
    assert sorted(cut.index for cut in cuts) == list(range(len(probabilities)))
    spent = {(-1, len(probabilities)): Fraction(0)}
    for cut in cuts:
        above = spent.pop((cut.below, cut.above))
        moved = 2 * max(cut.share, 1 - cut.share) * (2 if is_public else 1)
        own = cut.rate * (2 if is_public and cut is cuts[0] else moved)
        spent[cut.below, cut.index] = spent[cut.index, cut.above] = above + own
    assert max(spent.values()) == 1


def test_many_records_in_one_cell_are_divided():
    """Nine tenths of the records are equal, and so are all quantiles but the ends."""
    counts = np.zeros(1000, np.int64)
    counts[[100, 500, 900]] = 500, 9000, 500
    probabilities = [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98]
    cuts = planned(probabilities, Allowance.checked(5.0, None, "replace-one"))
    drawn = drawn_cells(counts, cuts, source(None))
    assert drawn[1:-1].tolist() == [500] * 5
    assert drawn[0] <= 500 <= drawn[-1]


def test_places_of_cells():
    assert [places_of(size) for size in (1, 2**16, 2**16 + 1, 2**24)] == [2**14, 2**14, 2**13, 64]


def test_how_far_off_draws_are_at_most():
    budget = Allowance.checked(1, None, "replace-one")
    targets, off = reaches(planned([0.5], budget), np.array([7]), 64, 1000, 0.05)
    assert targets == [500.0]
    assert off == pytest.approx(np.log(64 * 2**14 / 0.05) / 0.5 + 1000 / 2**14)
    # Of three, the outer ones are in cells 0 to 7 and 7 to 63, with half of the middle one's error.
    targets, off = reaches(planned([0.25, 0.5, 0.75], budget), np.array([3, 7, 9]), 64, 1000, 0.1)
    assert targets.tolist() == [250.0, 500.0, 750.0]
    assert off[1] == pytest.approx(np.log(64 * 2**14 / 0.05) / 0.25 + 1000 / 2**14)
    own = [np.log(cells * 2**14 / 0.05) / 0.25 + 1000 / 2**14 for cells in (8, 57)]
    assert off[[0, 2]] == pytest.approx(np.array(own) + off[1] / 2)
    assert reaches(planned([0.5], budget), np.array([0]), 64, 10, 0.05)[1] == [10.0]
