"""Two adaptive rounds: the exact law of all that the server sees, for two clients in each."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp

import numpy as np

import dpcore as dp
from dpcore.trust import Local, UnaryEncoding, adapted_grid

EPSILON, CELLS = 1.5, 4
GRID = dp.Grid.integers(0, CELLS - 1)
ENCODING = UnaryEncoding(EPSILON)
MANY = Local(EPSILON, 400)  # which says what is noise: two clients alone would divide nothing
FIRST = Local(EPSILON, 2, branching=(CELLS,))


def bits(place, size, q):
    """The law of one report: p = 1/2 at the place, and q elsewhere."""
    for report in product((0, 1), repeat=size):
        chance = Fraction(1)
        for at, bit in enumerate(report):
            one = Fraction(1, 2) if at == place else q
            chance *= one if bit else 1 - one
        yield report, chance


@cache
def totals(places, size, q):
    """The law of the totals of two reports: all totals, and their probabilities."""
    law = dict.fromkeys(product(range(3), repeat=size), Fraction(0))
    for (one, chance), (two, other) in product(*(list(bits(at, size, q)) for at in places)):
        law[tuple(map(sum, zip(one, two, strict=True)))] += chance * other
    return list(law), np.array([float(chance) for chance in law.values()])


@cache
def adapted(seen):
    """The second round's grid, from the first round's totals, as the server makes it."""
    counts = np.cumsum(ENCODING.estimates(seen, 2))
    counts[-1] = 2.0
    curve = dp.CDF(GRID, counts, 2, FIRST.privacy, FIRST.describe(), FIRST.noise_deviation(CELLS))
    return adapted_grid(curve.isotonic(), MANY)


def law_of(clients, q, second):
    """The probabilities of all totals of both rounds; ``second`` says who reports in the second."""
    parts = []
    for seen, chance in zip(*totals(tuple(sorted(clients[:2])), CELLS, q), strict=True):
        grid = adapted(seen)
        cells = np.searchsorted(grid.positions, [clients[place] for place in second])
        parts.append(chance * totals(tuple(sorted(cells.tolist())), grid.size, q)[1])
    return np.concatenate(parts)


def cost(q, second=(2, 3)):
    """The largest ratio of probabilities when one client's record is replaced."""
    clients = list(product(range(CELLS), repeat=1 + max(second)))
    laws = {each: law_of(each, q, second) for each in clients}
    return max(
        np.max(law / laws[*each[:place], cell, *each[place + 1 :]])
        for each, law in laws.items()
        for place, cell in product(range(len(each)), range(CELLS))
    )


def test_the_second_round_does_depend_on_the_first():
    grids = [adapted(seen) for seen in product(range(3), repeat=CELLS)]
    assert {tuple(grid.thresholds) for grid in grids} == {(0, 1, 3), (1, 2, 3), (0, 1, 2, 3)}


def test_both_rounds_together_cost_epsilon():
    found = cost(ENCODING.q)
    assert found <= exp(EPSILON) * (1 + 1e-12)
    assert found > exp(0.99 * EPSILON)


def test_a_fifth_more_would_be_noticed():
    assert cost(UnaryEncoding(Fraction(6, 5) * Fraction(EPSILON)).q) > exp(EPSILON)


def test_clients_of_both_rounds_would_pay_twice():
    assert cost(ENCODING.q, second=(0, 1)) > exp(1.9 * EPSILON)
