"""Composition by privacy loss distributions: never below exact values, and hardly above."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import DtypeError, ParameterError, Privacy
from dpcore.noise import DiscreteGaussian, DiscreteLaplace
from dpcore.privacy import (
    Losses,
    ShiftedNoise,
    composed,
    gaussian_delta,
    zcdp_delta,
    zcdp_epsilon,
)
from dpcore.privacy.loss_distributions import Concentrated, _bisected, _norm, on_steps

try:
    import dp_accounting as accounting
    from dp_accounting.pld import common as theirs
except ImportError:
    accounting = None

DIGITS = 60


def number(exact):
    exact = Fraction(exact)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def of_response(epsilon):
    """Return the losses of a randomised response, and their exact chances."""
    loss = number(epsilon)
    return {loss: 1 / (1 + (-loss).exp()), -loss: 1 / (1 + loss.exp())}


def of_noise(law, shift):
    """Return the losses of noise, from the probabilities of the integers around 0."""
    if isinstance(law, DiscreteLaplace):
        scale = number(law.scale)
        most = int(80 * law.scale) + shift

        def exponent(y):
            return -abs(y) / scale

    else:
        twice = 2 * number(law.sigma_squared)
        most = int(14 * float(law.sigma_squared) ** 0.5) + 3

        def exponent(y):
            return -(y * y) / twice

    # Integers beyond add to the total alone, and less than a part in 10^34 of it.
    weights = {y: exponent(y).exp() for y in range(-most, most + 1)}
    total, chances = sum(weights.values()), {}
    for y, weight in weights.items():
        loss = exponent(y) - exponent(y - shift)
        chances[loss] = chances.get(loss, 0) + weight / total
    return chances


def together(*each):
    """Return the losses of independent releases."""
    total = {Decimal(0): Decimal(1)}
    for one in each:
        after = {}
        for (a, p), (b, q) in itertools.product(total.items(), one.items()):
            loss = (a + b).quantize(Decimal(10) ** -40)
            after[loss] = after.get(loss, 0) + p * q
        total = after
    return total


def delta_of(losses, epsilon):
    epsilon = number(epsilon)
    return sum(p * (1 - (epsilon - loss).exp()) for loss, p in losses.items() if loss > epsilon)


def check(joint, losses, delta, near=2e-4):
    """Assert that a guarantee holds for these losses, and that hardly less would."""
    assert joint.delta <= delta
    with localcontext(prec=DIGITS):
        assert delta_of(losses, joint.epsilon) <= Decimal(joint.delta) * (1 + Decimal(10) ** -25)
        less = joint.epsilon * (1 - near)
        assert joint.epsilon == 0.0 or delta_of(losses, less) > Decimal(delta)


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize(("epsilon", "count"), [(1.0, 1), (1.0, 10), (0.05, 400), (3.0, 40)])
def test_randomised_responses_against_binomial_sums(epsilon, count, delta):
    joint = composed(count * [Privacy(epsilon)], delta)
    with localcontext(prec=DIGITS):
        loss = number(epsilon)
        chance = 1 / (1 + (-loss).exp())
        losses = {
            (2 * k - count) * loss: math.comb(count, k) * chance**k * (1 - chance) ** (count - k)
            for k in range(count + 1)
        }
    check(joint, losses, delta, near=2e-4 if joint.delta else 0.01)


@st.composite
def releases(draw):
    kind = draw(st.sampled_from(["response", "laplace", "gaussian"]))
    if kind == "response":
        epsilon = draw(st.floats(0.01, 3.0))
        return Privacy(epsilon), (lambda: of_response(epsilon))
    shift = draw(st.integers(1, 3))
    law = (
        DiscreteLaplace(Fraction(draw(st.integers(1, 12)), draw(st.integers(1, 3))))
        if kind == "laplace"
        else DiscreteGaussian(Fraction(draw(st.integers(1, 12)), draw(st.integers(1, 4))))
    )
    return Losses(Privacy(100.0), (ShiftedNoise(law, shift),)), (lambda: of_noise(law, shift))


@settings(max_examples=20)
@given(st.lists(releases(), min_size=1, max_size=3), st.sampled_from([0.1, 1e-3, 1e-6, 1e-9]))
def test_no_mixture_is_below_its_exact_value(mixture, delta):
    joint = composed([release for release, _ in mixture], delta)
    with localcontext(prec=DIGITS):
        losses = together(*[exact() for _, exact in mixture])
        assert delta_of(losses, joint.epsilon) <= Decimal(joint.delta or 1e-30)
        if joint.delta and joint.epsilon:
            assert delta_of(losses, joint.epsilon * 0.99 - 1e-4) > Decimal(delta)


def test_deltas_of_releases_add_up():
    pure, approximate = 20 * [Privacy(0.3)], 20 * [Privacy(0.3, 1e-8)]
    first, second = composed(pure, 1e-6 - 2e-7), composed(approximate, 1e-6)
    assert second.epsilon == pytest.approx(first.epsilon, rel=1e-9)
    assert composed(approximate, 2.0001e-7).epsilon == pytest.approx(20 * 0.3, rel=1e-3)


def test_noise_of_a_delta_needs_none_of_its_own():
    tree = dp.mechanisms.Hierarchy(epsilon=0.5, delta=1e-6)
    joint = composed(20 * [tree.losses_for(256)], 1e-6)
    assert joint.epsilon < 0.97 * composed(20 * [tree.privacy_for(256)], 1e-6).epsilon
    assert joint.rho == (20 * tree.privacy_for(256)).rho


@pytest.mark.parametrize("rho", [1e-6, 0.02, 0.5, 4.0])
def test_a_rho_alone_has_its_own_conversion(rho):
    measure = Concentrated(rho).measure(rho**0.5 / 500, 60.0)
    losses = measure.at * (rho**0.5 / 500)
    for epsilon in np.linspace(0.0, rho + 8 * rho**0.5, 50):
        above = losses > epsilon
        bound = measure.infinite + measure.masses[above] @ -np.expm1(epsilon - losses[above])
        known = zcdp_delta(rho, epsilon)  # it is not convex near 0, and the measure is below it
        assert bound <= known * 1.001 + 1e-20
        assert known > 1e-3 * rho**0.5 or bound >= known * (1 - 1e-7)
        assert bound >= gaussian_delta(1 / (2 * rho) ** 0.5, epsilon) * (1 - 1e-11)
    joint = composed([Privacy(rho=rho), Privacy(0.1), Privacy(0.1)], 1e-6)
    assert zcdp_epsilon(rho, 1e-6) < joint.epsilon < zcdp_epsilon(rho + 0.01, 1e-6)


@pytest.mark.parametrize("rho", [1e-40, 1e-30, 1e-18, 1e-4, 1.0, 100.0])
def test_bounds_of_any_rho_hold_at_all_corners(rho):
    step = float(np.float32(rho**0.5 / 50 + rho / 300))
    measure = Concentrated(rho).measure(step, 60.0)
    for corner in measure.at[:: 1 + len(measure.at) // 20]:
        above = measure.at > corner
        gaps = -np.expm1((corner - measure.at[above]) * step)
        bound = measure.infinite + math.fsum(measure.masses[above] * gaps)
        epsilon = abs(corner * step)
        known = zcdp_delta(rho, epsilon)
        if corner < 0:  # the other order
            known = -math.expm1(-epsilon) + math.exp(-epsilon) * known
        assert bound >= known * (1 - 1e-11)


@pytest.mark.parametrize("epsilon", [1e4, 1e5, 1e6, 1e8])
def test_a_rho_next_to_huge_epsilons(epsilon):
    joint = composed([*10 * [Privacy(epsilon)], Privacy(rho=1.0)], 1e-6)
    assert gaussian_delta(2**-0.5, 6.5) > 1e-6  # of noise with that rho alone
    assert joint.epsilon > 10 * epsilon + 6.5


def test_what_cannot_be_computed_is_no_bound():
    assert _bisected(lambda epsilon: math.nan, 0.0, 1.0, 0.1) == math.inf
    assert _norm(np.full(4, 1e-200)) == pytest.approx(2e-200)
    plan = 100_000 * [Privacy(2.79)]
    assert composed(plan, 1e-310).epsilon > composed(plan, 1e-280).epsilon > 259_000
    huge = [Privacy(rho=1e200), Privacy(1.0)]
    assert composed(huge, 1e-6).epsilon >= 1e200


@given(
    st.lists(st.tuples(st.floats(-5.0, 5.0), st.floats(1e-9, 1.0)), min_size=1, max_size=20),
    st.floats(1e-3, 2.0),
)
@example([(2.2250738585e-313, 0.48828125)] * 2, 0.5)
def test_what_is_split_costs_no_less(atoms, step):
    losses, masses = (np.array(column) for column in zip(*atoms, strict=True))
    measure = on_steps(losses, masses, float(np.float32(step)))
    at = measure.at * float(np.float32(step))

    def delta(losses, masses, epsilon):
        return math.fsum(masses * np.maximum(-np.expm1(epsilon - losses), 0.0))

    least = math.ulp(0.0) * len(atoms)  # the rounding of subnormal numbers
    for epsilon in np.linspace(-6.0, 6.0, 25):
        whole = delta(losses, masses, epsilon)
        assert delta(at, measure.masses, epsilon) >= whole * (1 - 1e-14) - least
    assert measure.masses.sum() == pytest.approx(masses.sum(), rel=1e-12)
    quotients = (measure.masses * np.exp(-at)).sum()
    assert quotients == pytest.approx((masses * np.exp(-losses)).sum(), rel=1e-11)


def test_ten_and_thirty_trees():
    """What a reviewer calculated with dp_accounting 0.6."""
    tree = dp.mechanisms.Hierarchy(1.0, branching=2, budgets="equal")
    for count, known in ((10, 4.77), (30, 9.17)):
        joint = composed(count * [tree.losses_for(32)], 1e-6)
        assert joint.epsilon == pytest.approx(known, rel=2e-3)
    small = dp.mechanisms.Hierarchy(0.01, branching=2, budgets="equal")
    assert composed(10 * [small.losses_for(32)], 1e-6).epsilon < 0.05


def test_the_order_does_not_matter_and_more_cost_more():
    tree = dp.mechanisms.Hierarchy(0.5).losses_for(64)
    plan = [tree, Privacy(0.3), Privacy(rho=0.01), tree, Privacy(0.2, rho=0.01)]
    joint = composed(plan, 1e-6)
    assert composed(plan[::-1], 1e-6) == joint
    assert joint.epsilon < composed([*plan, Privacy(0.1)], 1e-6).epsilon
    assert composed(plan, 1e-5).epsilon < joint.epsilon


def test_what_is_too_large_is_composed_as_before():
    wide = Losses(Privacy(1.0, rho=0.1), (ShiftedNoise(DiscreteGaussian(2**52), 2**25),))
    assert composed(10 * [wide], 1e-6) == composed(10 * [wide.privacy], 1e-6)
    many = [Privacy(0.01 + i / 1e5) for i in range(300)]
    assert composed(many, 1e-6).epsilon <= sum(many).epsilon
    assert composed([Privacy(1e300), Privacy(800.0)], 1e-6).epsilon >= 1e300


@pytest.mark.parametrize(
    ("made", "kind", "argument"),
    [
        (lambda: Losses(1.0), DtypeError, "privacy"),
        (lambda: Losses(Privacy(1.0), [1]), DtypeError, "noise"),
        (lambda: Losses(Privacy(1.0), (1,)), DtypeError, "noise"),
        (lambda: ShiftedNoise(2.0, 1), DtypeError, "law"),
        (lambda: ShiftedNoise(DiscreteLaplace(2), 0), ParameterError, "shift"),
        (lambda: ShiftedNoise(DiscreteLaplace(2), 1, 0), ParameterError, "count"),
    ],
)
def test_what_is_no_noise(made, kind, argument):
    with pytest.raises(kind, match=f"^{argument}"):
        made()


def _their(release):
    """Return the privacy loss distribution that dp_accounting has for one release or draw."""
    pld = accounting.pld.privacy_loss_distribution
    if isinstance(release, Privacy):
        cost = theirs.DifferentialPrivacyParameters(release.epsilon, release.delta)
        return pld.from_privacy_parameters(cost)
    (noise,) = release.noise
    if isinstance(noise.law, DiscreteLaplace):
        rate = 1 / float(noise.law.scale)
        one = pld.from_discrete_laplace_mechanism(rate, sensitivity=noise.shift)
    else:
        sigma = float(noise.law.sigma_squared) ** 0.5
        one = pld.from_discrete_gaussian_mechanism(sigma, sensitivity=noise.shift)
    return one.self_compose(noise.count)


def _mixtures():
    rng = np.random.default_rng(43)
    for _ in range(20):
        kinds, plan = rng.choice(4, size=rng.integers(1, 5)), []
        for kind in kinds:
            times, count = int(rng.integers(1, 30)), int(rng.integers(1, 12))
            scale = Fraction(int(rng.integers(8, 200)), 4)
            noise = [
                ShiftedNoise(DiscreteLaplace(scale), int(rng.integers(1, 3)), count),
                ShiftedNoise(DiscreteGaussian(scale**2), int(rng.integers(1, 3)), count),
            ]
            epsilon = round(float(rng.uniform(0.01, 0.5)), 3)
            release = [
                *[Losses(Privacy(100.0), (one,)) for one in noise],
                Privacy(epsilon),
                Privacy(epsilon, 1e-9),
            ][kind]
            plan += times * [release]
        yield plan


@pytest.mark.full
@pytest.mark.skipif(accounting is None, reason="dp_accounting is a peer, and no dependency")
@pytest.mark.parametrize("plan", list(_mixtures()))
def test_within_one_percent_of_another_library(plan):
    joint, total = composed(plan, 1e-6), None
    for release in dict.fromkeys(plan):
        one = _their(release).self_compose(plan.count(release))
        total = one if total is None else total.compose(one)
    assert joint.epsilon == pytest.approx(total.get_epsilon_for_delta(1e-6), rel=0.01)
