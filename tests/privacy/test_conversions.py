"""Between epsilon, delta, rho and sigma: many digits, dp_accounting, and a table in the docs."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.privacy import (
    discrete_gaussian_delta,
    gaussian_delta,
    gaussian_sigma,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from tests import reference

PAGE = Path(__file__).parents[2] / "docs" / "proofs" / "privacy.md"
rhos = st.floats(1e-9, 100.0)
epsilons = st.floats(0.0, 50.0)
deltas = st.floats(1e-30, 0.999)


# --- zero-concentrated privacy


def exact_epsilon(rho, delta):
    """The same bound in 50 digits, minimised by golden section in log(alpha - 1)."""
    with mpmath.workdps(50):
        rho, delta = mpmath.mpf(rho), mpmath.mpf(delta)

        def bound(u):
            x = mpmath.exp(u)
            return (1 + x) * rho + mpmath.log(x / (1 + x)) - mpmath.log(delta * (1 + x)) / x

        low, high = mpmath.mpf(-60), mpmath.mpf(80)
        ratio = (mpmath.sqrt(5) - 1) / 2
        for _ in range(220):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, right) if bound(left) < bound(right) else (left, high)
        return max(mpmath.mpf(0), bound(low))


@settings(max_examples=15)
@given(rhos, deltas)
def test_epsilon_is_the_bound_rounded_up(rho, delta):
    exact = exact_epsilon(rho, delta)
    assert exact <= zcdp_epsilon(rho, delta) <= exact * (1 + 1e-12) + 1e-10


@given(rhos, epsilons)
def test_delta_and_epsilon_are_inverse_and_never_optimistic(rho, epsilon):
    delta = zcdp_delta(rho, epsilon)
    assume(1e-300 < delta < 0.999)
    back = zcdp_epsilon(rho, delta)
    # delta is rounded up, so its epsilon may fall short of the one it came from, by next to nothing
    assert back == pytest.approx(epsilon, rel=1e-9, abs=1e-9)
    assert zcdp_delta(rho, math.nextafter(back, math.inf)) <= delta * (1 + 1e-9)


@pytest.mark.full
@given(epsilons, deltas)
def test_rho_is_the_largest_that_gives_epsilon_and_delta(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon * (1 + 1e-11) + 1e-11
    assert zcdp_epsilon(rho * (1 + 1e-7), delta) > epsilon * (1 + 1e-11) - 1e-11
    if epsilon > 0.0:
        assert exact_epsilon(rho, delta) <= epsilon


def test_conversions_at_the_ends_of_the_doubles():
    assert zcdp_epsilon(1e-300, 1e-3) == 0.0
    assert zcdp_delta(1e-300, 1e300) == math.nextafter(0.0, 1.0)
    assert zcdp_delta(1e300, 1.0) == 1.0
    assert zcdp_epsilon(1e300, 0.5) >= 1e300


# --- Gaussian noise


GAUSSIAN = [
    (sigma, epsilon, sensitivity)
    for sigma in (1e-3, 0.3, 0.99, 1.01, 5.0, 1e3, 1e9)
    for epsilon in (0.0, 1e-9, 0.1, 1.0, 5.0, 30.0, 1000.0)
    for sensitivity in (1.0, math.sqrt(2), 0.1)
]
DISCRETE = [
    (sigma_squared, epsilon, sensitivity)
    for sigma_squared in map(Fraction, ("1/50", "1/4", "1/6", "1", "7.3", "100"))
    for epsilon in (0.0, 1e-3, 0.5, 1.0, 5.0)
    for sensitivity in (1, 2, 7)
]


@pytest.mark.parametrize(
    ("function", "exactly", "cases"),
    [
        (gaussian_delta, reference.gaussian_delta, GAUSSIAN),
        (discrete_gaussian_delta, reference.discrete_gaussian_delta, DISCRETE),
    ],
)
def test_deltas_to_twelve_digits_and_rounded_up(function, exactly, cases):
    compared = 0
    for arguments in cases:
        exact, delta = exactly(*arguments), function(*arguments)
        assert delta >= exact or delta == 1.0, arguments
        assert delta <= exact * (1 + mpmath.mpf(10) ** -12) + 1e-300, arguments
        compared += exact > 1e-280
    assert compared > 60  # the others underflow


def test_discrete_noise_of_large_sigma_costs_what_continuous_noise_does():
    for sigma in (2.0**16, 2.0**17):  # more than one chunk of terms
        discrete = discrete_gaussian_delta(sigma**2, 1e-5)
        assert discrete == pytest.approx(gaussian_delta(sigma, 1e-5), rel=1e-8)


@given(st.floats(1e-3, 1e3), st.floats(0.0, 20.0), st.floats(1e-3, 1e3), st.floats(0.0, 20.0))
def test_gaussian_delta_is_monotone(sigma, epsilon, other_sigma, other_epsilon):
    larger = max(sigma, other_sigma), max(epsilon, other_epsilon)
    assert gaussian_delta(*larger) <= gaussian_delta(sigma, epsilon) * (1 + 1e-12)


@settings(max_examples=40)
@given(epsilons, deltas, st.floats(1e-3, 1e3))
@example(epsilon=2.2e-311, delta=0.25, sensitivity=8.0)
@example(epsilon=1e-12, delta=1e-12, sensitivity=1.0)
@example(epsilon=20.0, delta=0.999, sensitivity=1.0)
def test_gaussian_sigma_is_the_least_that_is_enough(epsilon, delta, sensitivity):
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    assert gaussian_delta(sigma, epsilon, sensitivity) <= delta
    assert gaussian_delta(math.nextafter(sigma, 0.0), epsilon, sensitivity) > delta


@settings(max_examples=60)
@given(st.fractions("1/20", 400, max_denominator=50), st.floats(0.0, 8.0), st.integers(1, 5))
def test_concentrated_privacy_covers_discrete_noise(sigma_squared, epsilon, sensitivity):
    rho = float(Fraction(sensitivity**2) / (2 * sigma_squared))
    exact = discrete_gaussian_delta(sigma_squared, epsilon, sensitivity)
    assert exact <= zcdp_delta(rho, epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (zcdp_epsilon, (0, 0.1), "rho"),
        (zcdp_epsilon, (1.0, 0.0), "delta"),
        (zcdp_epsilon, (1.0, 1.0), "delta"),
        (zcdp_delta, (1.0, -1.0), "epsilon"),
        (zcdp_rho, (math.inf, 0.1), "epsilon"),
        (zcdp_rho, (0.0, 1e-200), "delta"),
        (gaussian_delta, (0.0, 1.0), "sigma"),
        (gaussian_delta, (1.0, -1.0), "epsilon"),
        (gaussian_delta, (1.0, 1.0, 0), "sensitivity"),
        (gaussian_sigma, (1.0, 0), "delta"),
        (gaussian_sigma, (0.0, 1e-300, 1e200), "delta"),
        (discrete_gaussian_delta, (2**41, 1.0), "sigma_squared"),
        (discrete_gaussian_delta, (1, 1.0, 1.5), "sensitivity"),
    ],
)
def test_bad_conversions(function, arguments, name):
    with pytest.raises((dp.ParameterError, dp.DtypeError)) as caught:
        function(*arguments)
    assert caught.value.argument == name


# --- beside another implementation


@pytest.fixture(scope="module")
def accounting():
    reason = "dp-accounting, the second opinion on conversions, cannot be imported"
    return pytest.importorskip("dp_accounting", reason=reason)


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 8.0])
def test_zcdp_as_dp_accounting_has_it(accounting, rho):
    orders = 1.0 + np.geomspace(1e-2, 1e6, 4001)
    accountant = accounting.rdp.RdpAccountant(orders)
    accountant.compose(accounting.GaussianDpEvent((1 / (2 * rho)) ** 0.5))
    for delta in (1e-12, 1e-6, 1e-2):
        theirs, ours = accountant.get_epsilon(delta), zcdp_epsilon(rho, delta)
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-12)
        assert ours <= theirs * (1 + 1e-12)  # they try some alphas, here it is the best one
        assert accountant.get_delta(ours) == pytest.approx(zcdp_delta(rho, ours), rel=1e-2)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 7.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_gaussian_noise_as_dp_accounting_has_it(accounting, sigma, epsilon):
    losses = accounting.pld.privacy_loss_mechanism
    theirs = losses.GaussianPrivacyLoss(sigma).get_delta_for_epsilon(epsilon)
    assert gaussian_delta(sigma, epsilon) == pytest.approx(theirs, rel=1e-6, abs=1e-14)
    theirs = accounting.get_sigma_gaussian(epsilon, 1e-6)
    assert gaussian_sigma(epsilon, 1e-6) == pytest.approx(theirs, rel=1e-9)
    if sigma < 10.0:
        theirs = losses.DiscreteGaussianPrivacyLoss(sigma, 2).get_delta_for_epsilon(epsilon)
        ours = discrete_gaussian_delta(Fraction(sigma) ** 2, epsilon, 2)
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


# --- the table of docs/proofs/privacy.md


def least_epsilon_of(delta_at, delta):
    """The epsilon at which a decreasing delta_at(epsilon) comes down to delta."""
    low, high = 0.0, 64.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def table() -> str:
    """How far the three statements on one number with Gaussian noise are apart."""
    lines = [
        r"| $\sigma$ | $\delta$ at $\epsilon = 2 / \sigma$: continuous | discrete | zCDP "
        r"| $\epsilon$ at $\delta = 10^{-6}$: continuous | discrete | zCDP |",
        "|---|---|---|---|---|---|---|",
    ]
    for sigma in (0.5, 1.0, 2.0, 10.0, 100.0):
        statements = [
            lambda epsilon, sigma=sigma: gaussian_delta(sigma, epsilon),
            lambda epsilon, sigma=sigma: discrete_gaussian_delta(Fraction(sigma) ** 2, epsilon),
            lambda epsilon, sigma=sigma: zcdp_delta(1 / (2 * sigma**2), epsilon),
        ]
        found = [f"{delta_at(2 / sigma):.4g}" for delta_at in statements]
        found += [f"{least_epsilon_of(delta_at, 1e-6):.5g}" for delta_at in statements]
        lines.append(f"| {sigma:g} | {' | '.join(found)} |")
    return "\n".join(lines) + "\n"


def test_the_table_in_the_docs():
    assert table() in PAGE.read_text(encoding="utf-8"), f"{PAGE} should hold\n{table()}"


if __name__ == "__main__":
    print(table(), end="")
