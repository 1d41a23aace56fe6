"""The exponential mechanism against the plain algorithm and its law; searches against theirs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.noise.samplers import bernoulli_two_over_e
from dpcore.kernels.selection import selection as kernels
from dpcore.mechanisms.selection import above_threshold, exponential_mechanism
from tests import reference
from tests.mechanisms.refusals import refusals
from tests.noise.goodness import p_value_of_counts

RATES = [Fraction(1), Fraction(1, 2), Fraction(22, 7), Fraction(1, 2**40), Fraction(2**53, 3)]
SCORES = {
    "votes": [3, 41, 38, 5],
    "one": [7],
    "ties": [0] * 9,
    "slope": [-i for i in range(100)],
    "far": [-(10**6)] * 40 + [0],
    "all classes": [-(i % 25) for i in range(600)],
    "one class": [-3] * 300 + [0],
    "extremes": [2**63 - 1, -(2**63), 0, 2**63 - 2],
}
ERRORS_OFF = {"over": "ignore"}  # interpreted, NumPy warns of the wrap-around that is meant


def prepared(scores, rate):
    """What ``kernels.selection.selection.exponential`` is given."""
    array = np.array(scores, np.int64)
    last = max(1, (array.size - 1).bit_length())
    firsts = np.array([-(-c // rate) for c in range(last + 1)], np.uint64)
    members = np.empty(last + 1, np.int64)
    best = kernels.classes(array, firsts, members)
    return array, best, firsts, members, np.uint64(rate.numerator), np.uint64(rate.denominator)


def draw(words, size, arguments):
    out = np.zeros(size, np.int64)
    drawn, used = kernels.exponential(words, out, *arguments)
    return out[:drawn].tolist(), used


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize("name", SCORES)
def test_is_the_plain_algorithm_on_the_same_words(name, rate):
    words = np.random.default_rng(1).integers(0, 2**32, 700, dtype=np.uint32)
    with np.errstate(**ERRORS_OFF):
        fast, used = draw(words, 15, prepared(SCORES[name], rate))
    stream = iter(words.tolist())
    plain = [reference.exponential_mechanism(stream, SCORES[name], rate) for _ in fast]
    assert fast == plain
    assert len(fast) > 0
    assert used == 700 - len(list(stream))


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["votes", "ties", "slope", "all classes"]),
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_draws_depend_on_the_stream_and_not_on_its_windows(seed, name, cuts):
    words = np.random.default_rng(seed).integers(0, 2**32, 300, dtype=np.uint32)
    arguments = prepared(SCORES[name], Fraction(3, 4))
    whole, _ = draw(words, 20, arguments)
    pieces, start, end = [], 0, 0
    for cut in [*cuts, 300]:  # ever longer windows, each from where the last draw ended
        end = min(300, end + cut)
        piece, used = draw(words[start:end], 20 - len(pieces), arguments)
        pieces += piece
        start += used
    assert pieces == whole


def test_no_words_no_draws():
    assert draw(np.empty(0, np.uint32), 3, prepared([1, 2], Fraction(1))) == ([], 0)


def test_words_that_end_within_many_trials_end_them():
    """Zeros past the end would let trial after trial of Bernoulli(1 / e) succeed."""
    arguments = prepared([0, -(2**62)], Fraction(1))
    for length in range(1, 60):
        words = np.zeros(length, np.uint32)
        words[0] = 2**32 - 1  # the slot of the far candidate
        assert draw(words, 1, arguments)[1] <= length


@pytest.mark.parametrize(
    "words", [[0, 0, 0, 2**32 - 1], [0, 2**31], [2**31], [0, 0, 2**31, 3], [1431655766, 5], [0, 9]]
)
def test_bernoulli_two_over_e(words):
    words += [7, 2**32 - 1, 123456789]
    stream = iter(words)
    value, at = bernoulli_two_over_e(np.array(words, np.uint32), 0)
    assert value == reference.bernoulli_two_over_e(stream)
    assert at == len(words) - len(list(stream))


@settings(max_examples=60)
@given(
    st.lists(st.integers(-30, 0) | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=60),
    st.integers(1, 700),
    st.fractions(Fraction(1, 50), 50, max_denominator=60),
)
def test_classes_and_their_members(some, size, rate):
    scores = np.resize(some, size)
    with np.errstate(**ERRORS_OFF):
        array, best, firsts, members, _, _ = prepared(scores, rate)
        assert best == scores.max()
        last = firsts.size - 1
        true = [min(int(rate * (int(best) - int(score))), last) for score in scores]
        assert members.tolist() == np.bincount(true, minlength=last + 1).tolist()
        for c in set(true):
            final = firsts[c + 1] - np.uint64(1) if c < last else np.uint64(2**64 - 1)
            inside = np.flatnonzero(np.equal(true, c))
            for rank in {0, inside.size // 2, inside.size - 1}:
                found = kernels._member(array, best, firsts[c], final, np.int64(rank))
                assert found == inside[rank]


@settings(max_examples=30)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(-9, 99))
def test_rank_scores(counts, target):
    scores = np.empty(len(counts), np.int64)
    kernels.rank_scores(np.array(counts), target, scores)
    assert scores.tolist() == (-np.abs(4 * np.cumsum(counts) - target)).tolist()


def test_trials_are_few_whatever_the_scores():
    """Slots over the sum of weights: largest with one class beside the best, and no fractions.

    It is a ratio of functions that are linear in how many candidates each class has, up to one
    slot a class, so that its largest value is at a corner.
    """
    size, last = 2**24, 24
    worst = max((last + 1 + size / 2**c) / (1 + size * np.exp(-(c + 1.0))) for c in range(last + 1))
    assert 100 < worst < 200


def p_value(drawn, law):
    observed = np.bincount(drawn, minlength=len(law))
    return p_value_of_counts(observed, np.asarray(law) * len(drawn))


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("name", "epsilon", "sensitivity", "monotonic"),
    [
        ("votes", 0.3, 1, False),
        ("votes", 2.0, 5, False),
        ("ties", 1.0, 1, False),
        ("slope", 0.3, 1, False),
        ("slope", 5.7, 1, False),
        ("all classes", 0.3, 1, False),
        ("one class", 1.0, 1, False),
        ("slope", 0.4, 1, True),
        ("slope", 1.5, 3, True),
    ],
)
def test_law(name, epsilon, sensitivity, monotonic):
    rng = None if name == "votes" else np.random.default_rng(7)
    options = {"sensitivity": sensitivity, "monotonic": monotonic, "replicates": 200_000}
    drawn = exponential_mechanism(SCORES[name], epsilon=epsilon, rng=rng, **options)
    rate = epsilon / sensitivity / (1 if monotonic else 2)
    assert p_value(drawn, reference.exponential_law(SCORES[name], rate)) > 1e-9
    if name == "slope" and epsilon < 2:  # the test would notice a slightly wrong epsilon
        assert p_value(drawn, reference.exponential_law(SCORES[name], 1.05 * rate)) < 1e-9


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 0.3), (4, Fraction(7, 3))])
def test_monotonic_scores_are_drawn_as_others_for_twice_the_budget(sensitivity, epsilon):
    def drawn(epsilon, monotonic):
        options = {"rng": np.random.default_rng(3), "replicates": 50, "monotonic": monotonic}
        options["sensitivity"] = sensitivity
        return exponential_mechanism(SCORES["slope"], epsilon=epsilon, **options).tolist()

    assert drawn(epsilon, True) == drawn(2 * epsilon, False)


def test_the_least_epsilon_is_half_as_large_for_monotonic_scores():
    least = Fraction(1, 2**40)
    assert exponential_mechanism([0, 0], epsilon=least, monotonic=True) in (0, 1)
    for epsilon, monotonic in ((least, False), (least * Fraction(99, 100), True)):
        with pytest.raises(dp.ParameterError, match="epsilon"):
            exponential_mechanism([0, 0], epsilon=epsilon, monotonic=monotonic)


def test_a_draw_is_the_first_of_many():
    one, many = (
        exponential_mechanism(
            SCORES["slope"], epsilon=0.2, rng=np.random.default_rng(3), replicates=replicates
        )
        for replicates in (None, 50)
    )
    assert isinstance(one, int)
    assert many.shape == (50,)
    assert many[0] == one


@pytest.mark.parametrize("scores", [[5], (1, 1), np.array([3, 9, 2], np.uint8)[::-1], range(4)])
def test_anything_that_holds_integers(scores):
    best = np.max(scores)
    found = exponential_mechanism(scores, epsilon=1000.0)
    assert scores[found] == best


# --- searches


QUERIES = [-4, 2, -1, 0, 1, -3, 0]


@pytest.mark.needs_jit
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.7, 1), (3.0, 2)])
def test_law_of_a_search(epsilon, sensitivity, monotonic):
    options = {"sensitivity": sensitivity, "monotonic": monotonic, "replicates": 150_000}
    drawn = above_threshold(QUERIES, 1, epsilon=epsilon, rng=np.random.default_rng(5), **options)
    scale = 2 * sensitivity / epsilon
    of_queries = scale if monotonic else 2 * scale
    law = reference.above_threshold_law(QUERIES, 1, scale, of_queries)
    assert law.sum() == pytest.approx(1.0, abs=1e-12)
    assert p_value(drawn, law) > 1e-9
    wrong = reference.above_threshold_law(QUERIES, 1, scale, 1.15 * of_queries)
    assert p_value(drawn, wrong) < 1e-9


def test_next_to_no_noise_finds_the_first_that_reaches():
    for threshold, first in [(-4, 0), (-3, 1), (2, 1), (3, 6), (2**60, 6), (-(2**60), 0)]:
        assert above_threshold(QUERIES, threshold, epsilon=1e6) == first
    assert above_threshold([5], 9, epsilon=1.0) == 0


def test_extreme_queries_do_not_overflow():
    extremes = np.array([-(2**63), 2**63 - 1, -(2**63)])
    assert above_threshold(extremes, 2**60 - 10**6, epsilon=1.0) == 1
    assert above_threshold(-extremes[1:], -(2**60), epsilon=1.0) in (0, 1)


def test_searches_repeat_with_a_generator_and_not_without():
    def found(rng):
        return above_threshold([0] * 9, 3, epsilon=0.5, rng=rng, replicates=100).tolist()

    assert found(np.random.default_rng(1)) == found(np.random.default_rng(1))
    assert found(None) != found(None)


def test_blocks_of_replicates_hold_all_of_them(monkeypatch):
    monkeypatch.setattr("dpcore.mechanisms.selection._BLOCK_DRAWS", 10)
    found = above_threshold([0, 9, 9], 5, epsilon=1e6, replicates=50)
    assert found.tolist() == [1] * 50


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {
            "scores": [[[1]], np.empty(0, int)],
            "epsilon": [0, 1e-13],
            "sensitivity": [0],
            "replicates": [0],
        },
        {
            "scores": [[0.5, 1.0], np.ones(3, np.uint64), [True]],
            "epsilon": ["1"],
            "sensitivity": [1.0],
            "monotonic": [1],
            "rng": [1],
        },
    ),
)
def test_bad_arguments_of_the_exponential_mechanism(change, error, words):
    with pytest.raises(error, match=words):
        exponential_mechanism(**{"scores": [1, 2], "epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {
            "queries": [[[1]]],
            "threshold": [2**61],
            "epsilon": [-1.0, 3e-12],
            "sensitivity": [2**41],
        },
        {
            "queries": [[0.5]],
            "threshold": [0.5],
            "monotonic": [1],
            "rng": [np.random.RandomState(1)],
            "replicates": [1.0],
        },
    ),
)
def test_bad_arguments_of_a_search(change, error, words):
    with pytest.raises(error, match=words):
        above_threshold(**{"queries": [1, 2], "threshold": 1, "epsilon": 1.0, **change})
