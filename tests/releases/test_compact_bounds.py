"""Bounds that are worth their width: what is chosen from, how likely, and how far off they are."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import compact_bounds as module
from dpcore.releases.compact_bounds import compact_bounds, compact_end, compact_rungs
from tests import reference

LOTS = 1e6  # an epsilon that leaves no noise
GAINS = [0.04, 0.08, Fraction(1, 3), Fraction(1, 25), 0.9]
VALUES = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, 2.0, -4.0, 4.1, 1e300, np.inf, -np.inf]), st.floats(-50, 50)
)


def generator(seed=5):
    return np.random.default_rng(seed)


def asked_of(values, monkeypatch, **arguments):
    """What the exponential mechanism is asked, and the bounds if it answers the best."""
    asked = []

    def recorded(scores, *, epsilon, monotonic, rng):
        asked.append((scores, epsilon, monotonic, rng))
        return int(np.argmax(scores))

    with monkeypatch.context() as patched:
        patched.setattr(module, "exponential_mechanism", recorded)
        found = compact_bounds(values, **arguments)
    (once,) = asked
    return once, found


@settings(max_examples=100)
@given(st.lists(VALUES, min_size=1, max_size=20), st.sampled_from(GAINS))
def test_scores_are_counts_less_a_price(values, gain):
    with pytest.MonkeyPatch.context() as patch:
        (scores, *_), found = asked_of(values, patch, epsilon=1.0, gain=gain, unit=0.5)
    ends = compact_rungs(0.5, gain).ends
    assert ends.tolist() == [0.5 * 2.0**i for i in range(len(ends))]
    assert (len(ends) - 1) * Fraction(gain) < 1 <= len(ends) * Fraction(gain)
    assert scores.tolist() == reference.compact_scores(values, ends, gain).tolist()
    assert found.upper == ends[np.argmax(scores)]
    assert (found.lower, found.n, found.outside) == (-found.upper, len(values), 0)


def test_what_is_asked_and_what_it_costs(monkeypatch):
    rng = generator()
    (scores, epsilon, monotonic, passed), found = asked_of(
        [0.5, -1.0, 1.5, 9.0], monkeypatch, epsilon=Fraction(1, 3), gain=Fraction(1, 4), rng=rng
    )
    assert scores.tolist() == [2, 2, 1, 1]  # 2, 3, 3 and 4 records at 0, 1, 2 and 3
    assert (epsilon, monotonic, passed) == (Fraction(1, 3), True, rng)
    assert found.privacy == dp.Privacy(Fraction(1, 3), simulated=True)
    assert compact_bounds([1.0], epsilon=2.0).privacy == dp.Privacy(2.0)


def test_a_gain_of_any_real_type_is_taken_as_it_is():
    values = generator().normal(0, 3, 500)
    for gain in (np.float32(0.25), np.longdouble(0.25), Fraction(1, 4), 0.25):
        assert compact_bounds(values, epsilon=LOTS, gain=gain).upper == 4.0


@settings(max_examples=60)
@given(st.lists(st.integers(-99, 99), min_size=1, max_size=30), st.sampled_from(GAINS))
def test_without_noise(values, gain):
    found = compact_bounds(values, epsilon=LOTS, gain=gain)
    ends = compact_rungs(1.0, gain).ends
    scores = reference.compact_scores(values, ends, gain)
    assert scores[ends.tolist().index(found.upper)] == scores.max()


@pytest.mark.needs_jit
def test_the_law_of_the_answers():
    values = generator().normal(0, 6, 300)
    rungs, epsilon, rng = compact_rungs(1.0), Fraction(1, 8), generator(1)
    counts = rungs.count(values, "raise")
    found = [compact_end(counts, epsilon, rng) for _ in range(4000)]
    scores = reference.compact_scores(values, rungs.ends, 0.04)
    law = reference.exponential_law(scores, epsilon)  # no half: scores are monotonic
    shares = np.bincount(found, minlength=law.size) / len(found)
    assert np.abs(shares - law).max() < 5 * 0.5 / math.sqrt(len(found))
    assert np.abs(shares - reference.exponential_law(scores, epsilon / 2)).max() > 0.1


# --- docs/proofs/selection.md, sections 1 and 7: how good, and how much too wide


def law_on_rungs(inside, n, gain, epsilon):
    """The law where so many of n records are within each rung; all within the last."""
    scores = [q - int(i * Fraction(gain) * n) for i, q in enumerate(inside)]
    return np.array(scores), reference.exponential_law(scores, epsilon)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 200), min_size=25, max_size=25),
    st.integers(0, 24),
    st.sampled_from([0.01, 0.1, 0.5, 3.0]),
)
def test_doublings_too_many_are_as_unlikely_as_the_page_says(parts, first, epsilon):
    parts[first:] = [1] + [0] * (24 - first)  # all records are within the rung ``first``
    n = sum(parts)
    _, law = law_on_rungs(np.cumsum(parts), n, 0.04, epsilon)
    fall = 0.04 * n * epsilon
    for j in range(1, 25 - first):
        bound = math.exp(epsilon - j * fall) / -math.expm1(-fall)
        assert law[first + j :].sum() <= bound * (1 + 1e-9)
        assert law[first + j] <= math.exp(epsilon - j * fall) * law[first] * (1 + 1e-9)


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 200), min_size=25, max_size=25).filter(any),
    st.sampled_from([0.01, 0.1, 1.0]),
    st.sampled_from([0.5, 0.05]),
)
def test_the_score_is_nearly_the_best(parts, epsilon, beta):
    scores, law = law_on_rungs(np.cumsum(parts), sum(parts), 0.04, epsilon)
    far = scores.max() - scores > math.log(len(scores) / beta) / epsilon
    assert law[far].sum() <= beta


def test_a_search_runs_further_than_a_choice():
    """Both at n epsilon = 100: the chance to go on for six doublings beyond all records."""
    n, epsilon = 1000, 0.1
    inside = [0, n // 2] + [n] * 23
    _, law = law_on_rungs(inside, n, 0.04, epsilon)
    search = reference.above_threshold_law(inside, round(0.95 * n), 2 / epsilon, 2 / epsilon)
    assert law[8:].sum() < 1e-9
    assert search[8:].sum() > 0.005


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_bounds_of_small_data_are_seldom_too_wide(scale):
    """n epsilon = 100, so that exp(-gain n epsilon) is 1 / 55: nearly no run is four times off."""
    values, rng = generator().uniform(-scale, scale, 200), generator(2)
    counts = compact_rungs(1.0).count(values, "raise")
    ends = compact_rungs(1.0).ends
    needed = int(np.argmax(ends >= np.abs(values).max()))
    found = np.array([compact_end(counts, Fraction(1, 2), rng) for _ in range(2000)])
    j = 2
    bound = math.exp(0.5 - j * 4) / -math.expm1(-4)
    assert np.mean(found >= needed + j) <= bound + 5 * math.sqrt(bound / found.size)
    inside = np.mean(np.abs(values)[:, None] <= ends[found], axis=0)
    assert np.mean(inside > 0.7) > 0.99


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"unit": 0.0}, dp.ParameterError, "unit must be positive and finite; got 0.0"),
        ({"unit": "1"}, dp.DtypeError, "unit must be a real number"),
        ({"unit": 1e305}, dp.ParameterError, "unit must keep unit 2\\^24 finite; got 1e\\+305"),
        ({"gain": 0.0009}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 0.00"),
        ({"gain": 1}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 1"),
        ({"gain": np.nan}, dp.ParameterError, "gain must be finite"),
        ({"gain": None}, dp.DtypeError, "gain must be a real number"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon must be positive"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon is too small: noise scale exceeds"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        compact_bounds("no records at all", **{"epsilon": 1.0, **change})


def test_the_largest_unit_there_may_be():
    most = math.ldexp(np.finfo(np.float64).max, -24)
    assert compact_bounds([0.0] * 99, epsilon=LOTS, unit=most).upper == most
    with pytest.raises(dp.ParameterError, match="unit must keep"):
        compact_bounds([0.0] * 99, epsilon=LOTS, unit=float(np.nextafter(most, np.inf)))


def test_bad_records():
    with pytest.raises(dp.ParameterError, match="values must hold between 1 and"):
        compact_bounds([], epsilon=1.0)
    with pytest.raises(dp.MissingValueError):
        compact_bounds([1.0, np.nan], epsilon=1.0)
    assert compact_bounds([1.0, np.nan], epsilon=1.0, nan_policy="omit").n == 1
    with pytest.raises(dp.ParameterError, match="values must be one-dimensional"):
        compact_bounds([[1.0]], epsilon=1.0)
