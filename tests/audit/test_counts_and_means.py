"""Counts and means: the exact cost of all neighbours of small data sets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.privacy.allowance import Allowance
from dpcore.releases.counts import noise_of_counts
from dpcore.releases.mean import noise_of_mean, totals_of_mean
from tests.audit.harness import cost, unit_changes

RELATIONS = ["replace-one", "add-or-remove-one"]
BUDGETS = [{"epsilon": Fraction(1, 2)}, {"rho": Fraction(1, 50)}, {"epsilon": Fraction(1, 10**7)}]
VALUES = [-7.0, -3.0, -1.1, 0.3, 1 / 3, 4.999, 5.0, np.inf]  # bounds: -3 and 5


def allowance(budget, relation, factor=Fraction(1)):
    stated = {name: value * factor for name, value in budget.items()}
    return Allowance.checked(stated.get("epsilon"), stated.get("rho"), relation)


def neighbours(relation):
    """Pairs of data sets of up to three records."""
    for others in ((), (0.3,), (-1.1, 1 / 3)):
        for first in VALUES:
            if relation == "add-or-remove-one":
                yield others, (*others, first)
            else:
                for second in VALUES:
                    yield (*others, first), (*others, second)


def dearest_mean(budget, relation, noise):
    own = allowance(budget, relation)

    def totals(values):
        sums = dp.polynomial_sums(np.array(values, float), -3.0, 5.0, 1)
        return np.array(totals_of_mean(sums, own, noise.bits))

    pairs = neighbours(relation)
    return max(cost(noise.law, totals(first) - totals(second)) for first, second in pairs)


def dearest_counts(relation, law, bits):
    """A record leaves a category of three, or enters one, or is in none of them."""
    changes = [*unit_changes(3, relation), *unit_changes(3, "add-or-remove-one")]
    return max(cost(law, change * 2**bits) for change in changes)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_neighbours_cost_more_than_a_mean_states(budget, relation):
    (stated,) = budget.values()
    spent = dearest_mean(budget, relation, noise_of_mean(allowance(budget, relation)))
    assert Fraction(99, 100) * stated < spent <= stated
    broken = noise_of_mean(allowance(budget, relation, Fraction(6, 5)))
    assert dearest_mean(budget, relation, broken) > Fraction(118, 100) * stated


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_no_neighbours_cost_more_than_counts_state(budget, relation):
    (stated,) = budget.values()
    spent = dearest_counts(relation, *noise_of_counts(allowance(budget, relation)))
    assert Fraction(99, 100) * stated < spent <= stated
    broken = noise_of_counts(allowance(budget, relation, Fraction(6, 5)))
    assert dearest_counts(relation, *broken) > Fraction(118, 100) * stated


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_a_mean_and_counts_release_has_this_noise(relation):
    """The noise of 400 releases has the variance of the audited law, within 5 standard errors."""
    rng, values = np.random.default_rng(1), np.array([0.25] * 40)
    budget = {"epsilon": 0.5, "neighbours": relation}
    noise = noise_of_mean(Allowance.checked(0.5, None, relation))
    law, _ = noise_of_counts(Allowance.checked(0.5, None, relation))
    means = [dp.mean(values, (0, 1), **budget, rng=rng).totals for _ in range(400)]
    counts = [dp.counts(values, [0.25, 1.0], **budget, rng=rng).noisy for _ in range(400)]
    for drawn, variance in ((means, noise.law.variance), (counts, law.variance)):
        found = np.var(np.array(drawn, float), axis=0)
        assert np.abs(found / variance - 1.0).max() < 5 * np.sqrt(5 / 400)  # Laplace: kurtosis 6
    assert list(itertools.islice(map(len, means), 1)) == [1 if relation == RELATIONS[0] else 2]


@pytest.mark.parametrize("relation", RELATIONS)
def test_with_a_delta_the_noise_is_that_of_the_analytic_formula(relation):
    """Of continuous noise of the same variance; lattices this fine cost a part in 64 more."""
    epsilon, delta = 1.0, 1e-6

    def spent(factor):
        own = Allowance.checked(epsilon * factor, None, relation, delta)
        mean, (law, bits) = noise_of_mean(own), noise_of_counts(own)
        sigmas = [
            math.sqrt(mean.law.sigma_squared) / 2**mean.bits,
            math.sqrt(law.sigma_squared / own.moved) / 2**bits,
        ]
        return np.array([dp.privacy.gaussian_delta(sigma, epsilon) for sigma in sigmas])

    assert (spent(1.0) <= delta).all()
    assert (spent(1.0) > 0.95 * delta).all()
    assert (spent(1.2) > 2 * delta).all()
