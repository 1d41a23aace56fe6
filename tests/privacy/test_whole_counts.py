"""Gaussian noise on whole counts, for (epsilon, delta): exact deltas, and how near they come."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve

from dpcore.mechanisms import Dyadic, Hierarchy, Histogram, ToeplitzGaussian
from dpcore.privacy import gaussian_delta, gaussian_sigma, zcdp_rho
from dpcore.privacy.allowance import Allowance
from dpcore.privacy.whole_counts import spread_over_counts


def stating(epsilon, delta, neighbours="replace-one"):
    return Allowance.checked(epsilon, None, neighbours, delta)


def exact_delta(change, variances, epsilon):
    """The least delta of integers with discrete Gaussian noise, each moved by ``change``.

    The log of the ratio of the probabilities of the noise y and of y + d is the sum of d y / s^2,
    plus half of the sum of d^2 / s^2. Noise of one variance enters as its sum, and the sums as
    multiples of a step, which is exact for one variance.
    """
    groups = Counter(variances)
    step = change / variances[0] / (1 if len(groups) == 1 else 100)
    total = np.ones(1)
    for variance, count in groups.items():
        y = np.arange(-math.ceil(9 * variance**0.5), math.ceil(9 * variance**0.5) + 1)
        weights = np.exp(-(y**2) / (2 * variance))
        alone = reduce(np.convolve, [weights / weights.sum()] * count)
        at = np.arange(alone.size) - alone.size // 2
        at = np.rint(change * at / variance / step).astype(int)
        spread = np.bincount(at - at[0], alone)
        total = fftconvolve(total, spread)
    losses = step * (np.arange(total.size) - total.size // 2)
    losses = losses + sum(change**2 / (2 * variance) for variance in variances)
    above = losses > epsilon
    return float(np.sum(total[above] * -np.expm1(epsilon - losses[above])))


@pytest.mark.parametrize("unit", [1, 4])
@pytest.mark.parametrize(
    "variances", [(64,), (64, 64), (64, 128), (70, 70, 105), (64, 65), (64.5, 64.5, 64.5, 129)]
)
def test_discrete_noise_costs_what_the_lemma_says(variances, unit):
    distance = math.sqrt(sum(unit**2 / variance for variance in variances))
    for epsilon in (0.5 * distance**2, distance, 2 * distance, 4 * distance):
        continuous = gaussian_delta(1.0, epsilon, distance)
        at = (epsilon - distance**2 / 2) / distance
        density = math.exp(-(at**2) / 2) / distance / math.sqrt(2 * math.pi)
        most = 8 / 27 * (1 + 2 / math.e) * unit**2 * density / min(variances) ** 2
        discrete = exact_delta(unit, variances, epsilon)
        assert abs(discrete - continuous) <= most + 1e-4 * continuous


def costliest(tree, neighbours):
    """Variances of the counts that change, one or two on each level with noise, in units."""
    laws = [law for law in tree.laws if law is not None]
    each = 2 if neighbours == "replace-one" else 1
    return [float(law.sigma_squared) for law in laws for _ in range(each)]


SMALL = [
    (Hierarchy, {"branching": 2}, 4, 1.0, 1e-3),
    (Hierarchy, {"branching": 3}, 9, 0.5, 1e-2),
    (Hierarchy, {"branching": 2, "budgets": "equal"}, 16, 2.0, 1e-5),
    (Histogram, {}, 9, 0.3, 1e-2),
    (Histogram, {}, 9, 1.0, 1e-8),
    (Histogram, {}, 9, 5.0, 1e-6),
]


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize(("kind", "shape", "size", "epsilon", "delta"), SMALL)
def test_hierarchies_spend_their_delta_and_no_more(kind, shape, size, epsilon, delta, neighbours):
    tree = kind(epsilon, **shape, delta=delta, neighbours=neighbours).tree(size)
    unit, variances = 2**tree.bits, costliest(tree, neighbours)
    assert 0.95 * delta < exact_delta(unit, variances, epsilon) <= delta
    thin = [variance * 16 / 25 for variance in variances]
    assert exact_delta(unit, thin, epsilon) > 1.3 * delta
    for count in range(1, len(variances)):  # neighbours that share the nodes of some levels
        assert exact_delta(unit, variances[:count], epsilon) <= delta
        assert exact_delta(unit, variances[count:], epsilon) <= delta


@settings(max_examples=120)
@given(
    st.floats(1e-3, 30),
    st.floats(1e-12, 0.3),
    st.integers(1, 25),
    st.floats(1.0, 6.0),
    st.sampled_from(["replace-one", "add-or-remove-one"]),
)
def test_what_is_spent_is_that_of_the_analytic_formula(epsilon, delta, levels, more, neighbours):
    budget = stating(epsilon, delta, neighbours)
    largest = min(Fraction(1), Fraction(more) / levels)
    spread, bits = spread_over_counts(budget, budget.moved * levels, largest)
    assert spread.privacy == budget.privacy
    assert spread.rho >= budget.rho
    if spread.rho == budget.rho:
        assert bits == 0
        return
    distance = math.sqrt(2 * spread.rho)
    assert gaussian_delta(1.0, epsilon, distance) * (1 + 2**-6) <= delta
    law = spread.law(budget.moved * 4**bits, largest)
    assert law.sigma_squared >= 64
    assert law.sigma_squared >= 2 * budget.moved * levels
    least = gaussian_sigma(epsilon, delta)
    if epsilon > 4 / least:  # nearly all of it, unless delta is large
        assert least**2 * 2 * spread.rho > 0.99
    whole = budget.law(budget.moved, largest).variance
    assert law.variance * 4.0**-bits <= whole


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("levels", [1, 2, 5, 25])
def test_the_bound_of_the_lemma_is_within_delta(levels, neighbours):
    tight = 0
    for step in range(40):
        epsilon, delta = 2.0 ** (step / 8 - 1), 10.0 ** -(1 + step % 13)
        budget = stating(epsilon, delta, neighbours)
        changed, largest = budget.moved * levels, Fraction(1, levels)
        spent, bits = spread_over_counts(budget, changed, largest)
        if spent is budget:
            continue
        unit = 4**bits
        least = float(spent.law(budget.moved * unit, largest).sigma_squared)
        mu = math.sqrt(changed * unit / least)
        at = (epsilon - mu**2 / 2) / mu
        density = math.exp(-(at**2) / 2) / mu / math.sqrt(2 * math.pi)
        more = 8 / 27 * (1 + 2 / math.e) * unit / least**2 * density
        assert gaussian_delta(1.0, epsilon, mu) + more <= delta
        assert 0 <= mu**2 / 2 <= math.sqrt(1 + epsilon**2) - 1
        assert least >= max(64, 2 * changed)
        tight += more > delta / 400  # beside what is left for it, delta / 65
    assert tight or levels > 1


@pytest.mark.parametrize("size", [16, 300, 3000])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-12), (1.0, 1e-6), (1.0, 1e-2), (8.0, 1e-6)]
)
def test_there_is_less_noise_than_by_the_rho_that_implies_it(size, epsilon, delta):
    """As docs/proofs/hierarchy.md says, and for all that takes epsilon with delta."""
    rho = zcdp_rho(epsilon, delta)
    for ours, theirs in (
        (Hierarchy(epsilon, delta=delta), Hierarchy(rho=rho)),
        (Histogram(epsilon, delta=delta), Histogram(rho=rho)),
        (ToeplitzGaussian(epsilon=epsilon, delta=delta), ToeplitzGaussian(rho=rho)),
        (Dyadic(epsilon, delta=delta), Dyadic(rho=rho)),
    ):
        gain = theirs.mean_squared_error(size) / ours.mean_squared_error(size)
        assert 1.05 < gain < 1.4


def test_extreme_budgets_cost_nothing_but_accuracy():
    for epsilon in (1e-13, 1e-7, 1e3, 1e6, 1e12, 1e100, 1e300):
        for delta in (1e-305, 1e-290, 0.5, 0.999999):
            budget = stating(epsilon, delta)
            assert spread_over_counts(budget, 2, Fraction(1)).budget.rho >= budget.rho


@pytest.mark.parametrize(
    ("budget", "changed"),
    [
        (Allowance.checked(1.0, None, "replace-one"), 8),
        (Allowance.checked(None, 0.5, "replace-one"), 8),
        (stating(1.0, 1e-303), 8),
        (stating(1e-9, 0.9), 8),
        (stating(1.0, 1e-6), 51),  # 50 still gain
        (stating(60.0, 1e-6), 2),  # such noise is 0 nearly always, which a finer lattice loses
    ],
)
def test_other_budgets_stay_as_they_are(budget, changed):
    assert spread_over_counts(budget, changed, Fraction(2, changed)) == (budget, 0)


def test_budgets_at_the_limits_still_gain():
    budget = stating(1.0, 1e-6)
    assert spread_over_counts(budget, 50, Fraction(1, 25)).budget.rho > budget.rho
    assert Histogram(60.0, delta=1e-6).noise_deviation(5).max() < 0.01
