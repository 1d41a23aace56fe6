"""Rungs: which values are in which interval around zero, whatever their type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.summaries.rungs import Rungs
from tests import reference


def inside(values, unit, doublings):
    """What the searches ask, but for the last one, whose answer does not matter."""
    return np.cumsum(Rungs(unit, doublings).count(values, "raise"))[:-1]


TINY = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**-1021)]
EDGES = [*TINY, 1.0, -1.0, 2.0, -2.0, 64.0, -64.0, 1e308, np.inf, -np.inf]
NEAR = [np.nextafter(x, towards) for x in (1.0, -1.0, 4.0, -4.0) for towards in (np.inf, -np.inf)]
FLOATS = st.one_of(st.sampled_from(EDGES + NEAR), st.floats(-99, 99), st.floats(allow_nan=False))


@settings(max_examples=150)
@given(
    st.lists(FLOATS, min_size=1, max_size=12),
    st.sampled_from([2.0**-1022, 1e-3, 1.0, 3.0, 2.0**1010]),
    st.integers(0, 12),
)
def test_both_ends_of_an_interval_belong_to_it(values, unit, doublings):
    ends = Rungs(unit, doublings).ends
    assert ends.tolist() == [unit * 2.0**i for i in range(doublings + 1)]
    expected = reference.records_within(values, ends)
    assert inside(values, unit, doublings).tolist() == expected[:-1].tolist()
    assert Rungs(unit, doublings).count(values, "raise").sum() == len(values)


WHOLE = {
    np.int8: [-128, -127, -4, -1, 0, 1, 127],
    np.int64: [-(2**63), 1 - 2**63, -(2**53), 1 - 2**53, -1, 0, 2, 2**53, 2**62, 2**63 - 1],
    np.uint64: [0, 1, 2**53, 2**53 + 1, 2**64 - 1],
    np.float32: [-1.0, np.float32(-1.0000001), 0.1, 3e38, -np.inf],
    np.bool_: [False, True],
    object: [-(10**400), -4, 4, 10**400, Fraction(1, 3), Fraction(4) + Fraction(1, 10**30)],
}


@pytest.mark.parametrize("dtype", WHOLE)
def test_values_of_every_type(dtype):
    values = np.array(WHOLE[dtype], dtype)
    ends = Rungs(1.0, 70).ends
    exact = [Fraction(int(v)) if np.dtype(dtype).kind in "iu" else v for v in values.tolist()]
    expected = [sum(-Fraction(b) <= v <= Fraction(b) for v in exact) for b in ends]
    assert inside(values, 1.0, 70).tolist() == expected[:-1]


def test_values_that_are_no_doubles_count_as_the_next_ones_above():
    hair = Fraction(1, 10**30)
    assert inside([-4 - hair], 1.0, 4).tolist() == [0, 0, 1, 1]
    assert inside([4 + hair], 1.0, 4).tolist() == [0, 0, 0, 1]
    assert inside(np.array([-(2**60) - 1]), 2.0**59, 3).tolist() == [0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_and_tables(dtype):
    """More values than a block has, and more of them on one rung than 16 bits can count."""
    values = np.repeat([0.5, -3.0, np.nan, 6.0], [300, 2, 1, 7]).astype(dtype)
    many = np.concatenate([values, np.full(70_000, -1.5, dtype)])
    for each, expected in ((values, [300, 0, 2, 7]), (many, [300, 70_000, 2, 7])):
        assert Rungs(1.0, 3).count(each, "omit").tolist() == expected
        with pytest.raises(dp.MissingValueError):
            Rungs(1.0, 3).count(each, "raise")
    assert Rungs(1.0, 3).count(many[:200], "raise").tolist() == [200, 0, 0, 0]


def test_the_widest_ladder():
    rungs = Rungs(2.0**-1022, 2045)
    assert (rungs.ends[0], rungs.ends[-1]) == (2.0**-1022, 2.0**1023)
    counts = rungs.count([0.0, 5e-324, 2.0**-1021, -1.0, 1e308, np.inf], "raise")
    found = np.flatnonzero(counts).tolist()
    assert (found, counts[found].tolist()) == ([0, 1, 1022, 2045], [2, 1, 1, 2])
