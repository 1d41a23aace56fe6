"""Bounds of residual plots: the exact laws of both axes on all small neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpcore.releases import bounds_around_zero
from dpcore.releases import residual_bounds as module
from dpcore.releases.residual_bounds import residual_bounds
from tests import reference

TOLERANCE = 1e-9  # of sums in doubles
FIFTH = Fraction(4, 5)
CELLS = [(x, y) for x in (-np.inf, -3.0, 0.0, 0.5, 40.0) for y in (0.0, 1.5, -9.0)]
UNITS = (1.0, 1.0)
FREE = (None, None)


def laws(monkeypatch, records, epsilon, known=FREE, thin=1):
    """The law of every choice that is made, at what it is told to spend; overspent if thin < 1."""
    made = []

    def recorded(scores, *, epsilon, rng, monotonic=False):
        rate = epsilon / thin if monotonic else epsilon / thin / 2
        made.append(reference.exponential_law(scores, rate))
        return 0

    for each in (module, bounds_around_zero):
        monkeypatch.setattr(each, "exponential_mechanism", recorded)
    x, y = np.array(records).T
    residual_bounds(x, y, UNITS, known, epsilon, None)
    return made


def dearest(monkeypatch, n, epsilon, **how):
    """The largest cost of both choices together, on all neighbours of n records."""
    tables = list(itertools.combinations_with_replacement(range(len(CELLS)), n))
    of = {each: laws(monkeypatch, [CELLS[i] for i in each], epsilon, **how) for each in tables}
    most = 0.0
    for others in itertools.combinations_with_replacement(range(len(CELLS)), n - 1):
        same = [of[tuple(sorted((*others, i)))] for i in range(len(CELLS))]
        for axis_laws in itertools.permutations(same, 2):
            ratios = (np.abs(np.log(a / b)).max() for a, b in zip(*axis_laws, strict=True))
            most = max(most, sum(ratios))
    return most


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(6)])
@pytest.mark.parametrize(
    ("n", "known"),
    [(1, FREE), (2, FREE), (3, FREE), (2, ((-5.0, 5.0), None)), (2, (None, (-5.0, 5.0)))],
)
def test_all_small_neighbours(monkeypatch, n, known, epsilon):
    assert dearest(monkeypatch, n, epsilon, known=known) <= epsilon + TOLERANCE


def test_a_fifth_too_much_is_noticed(monkeypatch):
    epsilon = Fraction(24)
    assert dearest(monkeypatch, 2, epsilon) <= epsilon + TOLERANCE
    assert dearest(monkeypatch, 2, epsilon, thin=FIFTH) > 1.1 * epsilon
