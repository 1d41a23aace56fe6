"""Bounds of both axes of a residual plot: what is chosen from, how likely, and for how much."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases import bounds_around_zero
from dpcore.releases import residual_bounds as module
from dpcore.releases.residual_bounds import LEAST_GAIN, PARTS, parts_of, residual_bounds
from tests import reference

LOTS = Fraction(10**6)  # an epsilon that leaves no noise
TINY = float(np.nextafter(0, 1))
ENDS = 0.5 * 2.0 ** np.arange(5)
AT_ENDS = [0.0, -0.0, TINY, -TINY, *ENDS, *-ENDS, *np.nextafter(ENDS, 9), *np.nextafter(-ENDS, -9)]
VALUES = st.one_of(
    st.sampled_from([*AT_ENDS, 1e300, -1e300, np.inf, -np.inf]), st.floats(-20, 20, width=32)
)


def generator(seed=5):
    return np.random.default_rng(seed)


def found(x, y, epsilon=LOTS, units=(1.0, 1.0), known=(None, None), rng=None):
    columns = (np.asarray(column, float) for column in (x, y))
    return residual_bounds(*columns, units, known, epsilon, rng or generator())


def gain_of(n_epsilon):
    """What a doubling costs, by the epsilon that residuals get."""
    return 1 / Fraction(min(max(10, 2.5 * math.sqrt(n_epsilon)), 50))


# --- what is chosen from


def asked_of(monkeypatch, x, y, epsilon, **arguments):
    """What the exponential mechanism is asked, for either axis, and the bounds of the best."""
    asked = []

    def recorded(scores, *, epsilon, rng, monotonic=False):
        asked.append((scores, epsilon, monotonic))
        return int(np.argmax(scores))

    with monkeypatch.context() as patched:
        for each in (module, bounds_around_zero):
            patched.setattr(each, "exponential_mechanism", recorded)
        return asked, found(x, y, epsilon, **arguments)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20),
    st.sampled_from([Fraction(1, 10), Fraction(7, 3), LOTS]),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_scores_are_counts_less_a_price(records, epsilon, unit):
    x, y = zip(*records, strict=True)
    with pytest.MonkeyPatch.context() as patch:
        (first, second), bounds = asked_of(patch, x, y, epsilon, units=(unit, 2 * unit))
    gain = gain_of(len(x) * epsilon / 3)
    ends = unit * 2.0 ** np.arange(math.ceil(1 / gain))
    of_x = reference.beside_zero_scores(x, ends, gain)
    of_y = reference.compact_scores(y, 2 * ends, gain)
    assert first[0].tolist() == of_x.tolist()
    assert second[0].tolist() == of_y.tolist()
    high = 2 * ends[np.argmax(of_y)]
    assert bounds == (reference.beside_zero(ends)[np.argmax(of_x)], (-high, high))


def test_what_either_axis_spends(monkeypatch):
    asked, _ = asked_of(monkeypatch, [1.0, 2.0], [0.5, -9.0], Fraction(3, 7))
    assert [each[1:] for each in asked] == [(Fraction(2, 7), False), (Fraction(1, 7), True)]
    known = (-1.0, 5.0)
    asked, bounds = asked_of(monkeypatch, [1.0], [9.0], Fraction(3, 7), known=(known, None))
    assert [each[1:] for each in asked] == [(Fraction(3, 7), True)]
    assert bounds[0] == known
    asked, bounds = asked_of(monkeypatch, [1.0], [9.0], Fraction(3, 7), known=(None, known))
    assert [each[1:] for each in asked] == [(Fraction(3, 7), False)]
    assert bounds[1] == known
    asked, bounds = asked_of(monkeypatch, [1.0], [9.0], Fraction(0), known=(known, known))
    assert (asked, bounds) == ([], (known, known))
    parts = [parts_of(each) for each in [(None, None), (None, known), (known, None)]]
    assert (parts, parts_of((known, known))) == ([PARTS, 2, 1], 0)


# --- what comes out


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (generator().uniform(1, 50, 500), (0.0, 64.0)),
        (generator().uniform(-50, -1, 500), (-64.0, 0.0)),
        (generator().uniform(-3, 3, 500), (-4.0, 4.0)),
        (generator().uniform(0, 1, 500), (0.0, 1.0)),
        (np.full(500, 6.0), (0.0, 8.0)),
        (np.full(500, -8.0), (-8.0, 0.0)),
        (np.full(500, 1e300), (0.0, 2.0**49)),  # the widest, where all are farther out
        (np.full(500, -np.inf), (-(2.0**49), 0.0)),
    ],
)
def test_without_noise(x, expected):
    assert found(x, np.full(len(x), -3.0)) == (expected, (-4.0, 4.0))


def test_one_record_is_inside():
    """What a doubling costs is rounded down to nothing: many intervals are as good."""
    for seed in range(5):
        (left, right), (bottom, top) = found([7.0], [-3.0], rng=generator(seed))
        assert left <= 7 <= right
        assert bottom <= -3 <= top


def test_a_constant_zero_is_in_one_of_the_narrowest_intervals():
    for seed in range(5):
        across, upright = found(np.zeros(99), np.zeros(99), rng=generator(seed))
        assert across in [(0.0, 1.0), (-1.0, 0.0)]
        assert upright == (-1.0, 1.0)


@pytest.mark.needs_jit
def test_the_law_of_the_answers():
    x, epsilon, rng = generator().uniform(-1, 40, 300), Fraction(1, 2), generator(1)
    gain = gain_of(50)
    ends = 2.0 ** np.arange(18)
    answers = [found(x, [0.0] * 300, epsilon, rng=rng)[0] for _ in range(1000)]
    law = reference.exponential_law(reference.beside_zero_scores(x, ends, gain), epsilon / 3)
    shares = np.array([answers.count(each) for each in reference.beside_zero(ends)]) / 1000
    assert shares.sum() == 1
    assert np.abs(shares - law).max() < 5 * 0.5 / math.sqrt(1000)


@pytest.mark.parametrize("epsilon", [Fraction(10**300), Fraction(1, 10**9)])
def test_the_gain_for_any_epsilon(epsilon):
    assert module.gain_of(10**9, epsilon) == (LEAST_GAIN if epsilon > 1 else Fraction(1, 10))


def test_bounds_agree_with_the_cells_of_a_plot():
    """A record at either end is in a cell of the plot, also where that end is zero."""
    x = [0.0] * 10 + [64.0] * 10 + [40.0] * 480
    across, upright = found(x, np.repeat([-4.0, 4.0], 250))
    assert (across, upright) == ((0.0, 64.0), (-4.0, 4.0))
    plot = dp.residual_plot(
        x,
        np.repeat([-4.0, 4.0], 250),
        epsilon=LOTS,
        predicted_range=across,
        residual_range=upright,
        cells=(64, 4),
        rng=generator(),
    )
    assert len(plot.points) == 500
    assert np.sum(plot.points[:, 0] <= 1) == 10


def test_bad_units_are_refused():
    for at in (0, 1):
        units = [1.0, 1.0]
        for bad in (0.0, 1e300):
            units[at] = bad
            with pytest.raises(dp.ParameterError, match="unit"):
                found([1.0], [1.0], units=tuple(units))


def test_the_largest_units_there_may_be():
    unit = math.ldexp(np.finfo(np.float64).max, -49)
    assert found([1.0] * 99, [1.0] * 99, units=(unit, unit))[1] == (-unit, unit)
