"""Two adaptive rounds: the exact law of all that the server sees, for two clients in each."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np

import dpcore as dp
from dpcore.trust import Local, SubsetSelection, adapted_grid
from tests.audit.test_reports import law_of_report

EPSILON, CELLS = 1.5, 4
GRID = dp.Grid.integers(0, CELLS - 1)
ENCODING = SubsetSelection(EPSILON, CELLS)
MANY = Local(EPSILON, 400)  # which says what is noise: two clients alone would divide nothing
FIRST = Local(EPSILON, 2, branching=(CELLS,))


@cache
def totals(places, size, epsilon):
    """The law of the totals of two reports: all totals, and their probabilities."""
    encoding, law = SubsetSelection(epsilon, size), defaultdict(Fraction)
    laws = (law_of_report(encoding, size, at).items() for at in places)
    for (one, chance), (two, other) in product(*laws):
        law[tuple(map(sum, zip(one, two, strict=True)))] += chance * other
    seen = sorted(law)
    return seen, np.array([float(law[each]) for each in seen])


@cache
def adapted(seen):
    """The second round's grid, from the first round's totals, as the server makes it."""
    counts = np.cumsum(ENCODING.estimates(seen))
    counts[-1] = 2.0
    curve = dp.CDF(GRID, counts, 2, FIRST.privacy, FIRST.describe(), FIRST.noise_deviation(CELLS))
    return adapted_grid(curve.isotonic(), MANY)


def law_of(clients, epsilon, second):
    """The probabilities of all totals of both rounds; ``second`` says who reports in the second."""
    parts = []
    for seen, chance in zip(*totals(tuple(sorted(clients[:2])), CELLS, epsilon), strict=True):
        grid = adapted(seen)
        cells = np.searchsorted(grid.positions, [clients[place] for place in second])
        parts.append(chance * totals(tuple(sorted(cells.tolist())), grid.size, epsilon)[1])
    return np.concatenate(parts)


def cost(epsilon, second=(2, 3)):
    """The largest ratio of probabilities when one client's record is replaced."""
    clients = list(product(range(CELLS), repeat=1 + max(second)))
    laws = {each: law_of(each, epsilon, second) for each in clients}
    return max(
        np.max(law / laws[*each[:place], cell, *each[place + 1 :]])
        for each, law in laws.items()
        for place, cell in product(range(len(each)), range(CELLS))
    )


def test_the_second_round_does_depend_on_the_first():
    grids = [adapted(seen) for seen in totals((0, 0), CELLS, EPSILON)[0]]
    assert {tuple(grid.thresholds) for grid in grids} == {(0, 1, 3), (1, 2, 3), (0, 1, 2, 3)}


def test_both_rounds_together_cost_epsilon():
    found = cost(EPSILON)
    assert found <= exp(EPSILON) * (1 + 1e-12)
    assert found > exp(0.99 * EPSILON)


def test_a_fifth_more_would_be_noticed():
    assert cost(1.2 * EPSILON) > exp(EPSILON)


def test_clients_of_both_rounds_would_pay_twice():
    assert cost(EPSILON, second=(0, 1)) > exp(1.9 * EPSILON)
