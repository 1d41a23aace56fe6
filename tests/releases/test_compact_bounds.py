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


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"unit": 0.0}, dp.ParameterError, "unit must be positive and finite; got 0.0"),
        ({"unit": "1"}, dp.DtypeError, "unit"),
        ({"unit": 1e305}, dp.ParameterError, "unit must keep unit 2\\^24 finite; got 1e\\+305"),
        ({"gain": 0.0009}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 0.00"),
        ({"gain": 1}, dp.ParameterError, "gain must be at least 0.001, and below 1; got 1"),
        ({"gain": np.nan}, dp.ParameterError, "gain"),
        ({"gain": None}, dp.DtypeError, "gain"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-13}, dp.ParameterError, "epsilon"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    with pytest.raises(error, match=message):
        compact_bounds("no records at all", **{"epsilon": 1.0, **change})


def test_the_largest_unit_there_may_be():
    most = math.ldexp(np.finfo(np.float64).max, -24)
    assert compact_bounds([0.0] * 99, epsilon=LOTS, unit=most).upper == most
    with pytest.raises(dp.ParameterError, match="unit"):
        compact_bounds([0.0] * 99, epsilon=LOTS, unit=float(np.nextafter(most, np.inf)))


def test_bad_records():
    with pytest.raises(dp.ParameterError, match="values"):
        compact_bounds([], epsilon=1.0)
    with pytest.raises(dp.MissingValueError):
        compact_bounds([1.0, np.nan], epsilon=1.0)
    assert compact_bounds([1.0, np.nan], epsilon=1.0, nan_policy="omit").n == 1
    with pytest.raises(dp.ParameterError, match="values"):
        compact_bounds([[1.0]], epsilon=1.0)
