"""Noise on whole counts keeps the bound of docs/proofs/privacy.md, section 8, and only just."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpcore.privacy import gaussian_delta
from dpcore.privacy.allowance import Allowance
from dpcore.privacy.whole_counts import spread_over_counts


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("levels", [1, 2, 5, 25])
def test_the_bound_of_the_lemma_is_within_delta(levels, neighbours):
    tight = 0
    for step in range(40):
        epsilon, delta = 2.0 ** (step / 8 - 1), 10.0 ** -(1 + step % 13)
        budget = Allowance.checked(epsilon, None, neighbours, delta)
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


def test_many_counts_that_change_stay_with_rho():
    budget = Allowance.checked(1.0, None, "replace-one", 1e-6)
    assert spread_over_counts(budget, 50, Fraction(1, 25)).budget.rho > budget.rho
    assert spread_over_counts(budget, 51, Fraction(1, 25)) == (budget, 0)
