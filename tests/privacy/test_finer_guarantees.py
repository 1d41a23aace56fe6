"""Guarantees with an epsilon and a rho: both hold, and neither is lost."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore import Privacy
from dpcore.privacy import composed, zcdp_epsilon
from dpcore.privacy.guarantees import concentrated

NUMBERS = st.floats(1e-3, 4.0)
DELTAS = st.sampled_from([0.0, 1e-9, 1e-6])
FINER = st.builds(
    lambda epsilon, delta, rho: Privacy(epsilon, delta, rho=rho), *[NUMBERS, DELTAS] * 1, NUMBERS
)
PLAIN = st.builds(Privacy, NUMBERS, DELTAS)
CONCENTRATED = st.builds(lambda rho, delta: Privacy(rho=rho, delta=delta), NUMBERS, DELTAS)
ANY = st.one_of(FINER, PLAIN, CONCENTRATED)


def test_a_rho_that_says_nothing_new_is_dropped():
    assert Privacy(1.0, rho=0.5).rho is None
    assert Privacy(1.0, rho=math.nextafter(0.5, 0.0)).rho < 0.5
    assert Privacy(1.0, 1e-6, rho=0.5).rho == 0.5  # it holds without the delta


def test_what_is_stated_is_what_is_equal():
    finer = Privacy(1.0, rho=0.1)
    assert finer == Privacy(1.0)
    assert hash(finer) == hash(Privacy(1.0))
    assert len({finer, Privacy(1.0), Privacy(rho=0.1), Privacy(rho=0.2)}) == 3
    assert finer <= Privacy(1.0)
    assert not Privacy(1.0) <= finer  # it does not imply the rho
    assert finer != (1.0, 0.0)


@given(ANY)
def test_a_repr_makes_it_again_and_a_text_is_short(guarantee):
    again = eval(repr(guarantee), {"Privacy": Privacy})
    assert astuple(again) == astuple(guarantee)
    assert "rho" not in str(guarantee) or guarantee.epsilon is None


@given(ANY, ANY)
def test_sums_are_exact_in_each_unit(first, second):
    both = first + second
    assert astuple(both) == astuple(second + first)
    assert first <= both
    (one, one_delta), (two, two_delta) = concentrated(first), concentrated(second)
    rho, delta = concentrated(both)
    if first.epsilon is not None and second.epsilon is not None:
        assert both.epsilon >= Fraction(first.epsilon) + Fraction(second.epsilon)
        assert both.delta >= Fraction(first.delta) + Fraction(second.delta)
        if one_delta or two_delta:  # then there is no rho without a delta
            assert both.rho is None
            return
    assert one + two <= rho <= (one + two) * (1 + Fraction(1, 2**50)) or both.rho is None
    assert delta >= Fraction(one_delta) + Fraction(two_delta)


@given(ANY, st.integers(2, 50))
def test_a_multiple_is_the_sum(guarantee, times):
    repeated, added = times * guarantee, sum(times * [guarantee])
    assert repeated <= added  # which is rounded up at each step
    for one, other in zip(astuple(repeated), astuple(added), strict=True):
        assert one == other or one == pytest.approx(other, rel=1e-12)


@given(ANY, ANY, ANY)
def test_implication_is_an_order(first, second, third):
    assert first <= first
    if first <= second and second <= third:
        assert first <= third
    least = first | second
    one, other = (replace(one, neighbours=least.neighbours) for one in (first, second))
    assert one <= least
    assert other <= least


@given(FINER, st.sampled_from([1e-12, 1e-6, 1e-3]))
def test_the_smaller_epsilon_is_told(guarantee, delta):
    known = [] if guarantee.delta > delta else [guarantee.epsilon]
    if guarantee.rho is not None:
        known.append(zcdp_epsilon(guarantee.rho, delta))
    if known:
        assert guarantee.epsilon_at(delta) == min(known)
        assert guarantee <= Privacy(min(known), delta)


def test_two_steps_take_four_times_the_rho():
    removed = Privacy(1.0, neighbours="add-or-remove-one", rho=0.125)
    assert astuple(removed.implied("replace-one")) == astuple(Privacy(2.0, rho=0.5))
    approximate = Privacy(1.0, 1e-6, "add-or-remove-one", rho=0.125).implied("replace-one")
    assert (approximate.epsilon, approximate.rho) == (2.0, 0.5)


def test_files_keep_both():
    curve = dp.cdf(range(100), dp.Grid.uniform(0, 100, 64), epsilon=1.0)
    own = replace(curve, privacy=Privacy(1.0, rho=0.0625))
    again = dp.CDF.from_json(own.to_json())
    assert astuple(again.privacy) == astuple(own.privacy)
    text = own.to_json()
    assert '"rho": 0.0625' in text
    earlier = dp.CDF.from_json(text.replace(', "rho": 0.0625', ""))  # as before there was a rho
    assert astuple(earlier.privacy) == astuple(Privacy(1.0))


VALUES, CELLS = np.arange(200.0), dp.Grid.uniform(0, 200, 64)
BOTH = dp.trust.functions.Together(
    [dp.trust.functions.Identity(0, 1), dp.trust.functions.Identity(0, 1, at=1)]
)
SINGLE = {  # releases, and their rho as a share of epsilon^2
    "a median": (lambda **how: dp.quantiles(VALUES, 0.5, CELLS, method="recursion", **how), 1 / 8),
    "quartiles": (
        lambda **how: dp.quantiles(VALUES, [0.25, 0.5, 0.75], CELLS, method="recursion", **how),
        1 / 16,
    ),
    "bounds": (lambda **how: dp.bounds(np.tile(VALUES, 20), **how), 1 / 4),
    "compact bounds": (lambda **how: dp.compact_bounds(VALUES, **how), 1 / 8),
    "a box": (lambda **how: dp.box_plot(VALUES, CELLS, **how), 9 / 25 / 16 + 1 / 25),
    "classes": (
        lambda **how: dp.classwise_calibration(
            np.arange(20) % 3, np.full((20, 3), 0.3), range(3), **how
        ),
        1 / 8,
    ),
    "counts": (lambda **how: dp.counts(["a", "b"], ["a", "b"], **how), 1 / 4),
    "two sums": (
        lambda epsilon: dp.trust.vector_sum(
            np.zeros((9, 2)), BOTH, dp.trust.Central(epsilon=epsilon)
        ),
        1 / 4,
    ),
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_numbers_state_the_rho_of_their_noise_and_are_charged_it(name):
    release, share = SINGLE[name]
    with dp.Budget(rho=10.0) as budget:
        released = release(epsilon=2.0)
    assert released.privacy == Privacy(2.0)
    assert released.privacy.rho == pytest.approx(4.0 * share, rel=1e-6)
    assert budget.spent.rho == released.privacy.rho


def test_a_curves_quantiles_state_what_the_curve_states():
    found = dp.quantiles(VALUES, 0.5, CELLS, method="curve", epsilon=2.0)
    assert found.privacy.rho == dp.cdf(VALUES, CELLS, epsilon=2.0).privacy.rho is not None


@pytest.mark.parametrize("draws", [None, 3])
def test_choices_are_charged_as_often_as_they_are_made(draws):
    with dp.Budget(rho=10.0) as budget:
        dp.mechanisms.exponential_mechanism([1, 2], epsilon=2.0, replicates=draws)
        dp.mechanisms.above_threshold([1, 2], 1, epsilon=1.0, replicates=draws)
    chosen, searched = (charge.privacy for charge in budget.log)
    assert (chosen.epsilon, searched.epsilon) == (2.0 * (draws or 1), 1.0 * (draws or 1))
    rhos = concentrated(chosen)[0], concentrated(searched)[0]
    assert rhos == (Fraction(draws or 1, 2), Fraction(draws or 1, 2))


def test_composition_of_fixed_releases_uses_it():
    trees = 10 * [Privacy(1.0, rho=0.05)]
    assert composed(trees, 1e-6).epsilon == zcdp_epsilon(0.5, 1e-6)
    # Equal guarantees with different rhos are not mistaken for each other.
    mixed = composed([*trees, *10 * [Privacy(1.0, rho=0.1)]], 1e-6)
    assert mixed.epsilon == pytest.approx(zcdp_epsilon(1.5, 1e-6), rel=1e-12)
    # A rho without a delta is converted with the whole delta.
    gaussian = 10 * [Privacy(1.0, 1e-7, rho=0.02)]
    assert composed(gaussian, 1e-7).epsilon == pytest.approx(zcdp_epsilon(0.2, 1e-7), rel=1e-12)


@given(st.lists(FINER, min_size=1, max_size=5))
def test_composition_is_no_more_than_the_least_of_all_subsets(guarantees):
    delta = 0.01
    kept = np.array(
        [[c >> i & 1 for i in range(len(guarantees))] for c in range(2 ** len(guarantees))]
    )
    rest = delta - sum(one.delta for one in guarantees)
    options = [sum(one.epsilon for one in guarantees)]
    for row in kept:
        rho = sum(float(concentrated(one)[0]) for one, k in zip(guarantees, row, strict=True) if k)
        rest_of = sum(one.epsilon for one, k in zip(guarantees, row, strict=True) if not k)
        if rho > 0:
            options.append(rest_of + zcdp_epsilon(rho, rest))
    joint = composed(guarantees, delta)
    assert joint.epsilon <= min(options) * (1 + 1e-9)


def test_a_rho_beyond_doubles_is_not_stated():
    assert (Privacy(1e300) + Privacy(1e300, rho=1.0)).rho is None
    assert (2 * Privacy(1e300)).rho is None
    assert dp.mechanisms.Dawa(1e300).privacy_for(64).rho is None


def test_where_an_epsilon_is_beyond_doubles_nothing_is_guaranteed():
    large = Privacy(1e308, rho=1.0, neighbours="add-or-remove-one")
    for found in (large + large, 2 * large, large.implied("replace-one")):
        assert (found.epsilon, found.rho) == (math.inf, None)
