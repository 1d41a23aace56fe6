"""Local privacy as a mechanism: the exact law of all totals, with clients that are dealt out."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import exp

import pytest

from dpcore.trust import Local
from tests.audit.test_reports import law_of_report

CLIENTS = 3
ASKED = (1, 2)  # of the two levels, with two nodes and four
TRUST = Local(1.5, clients=CLIENTS, branching=(2, 2))
ENCODINGS = dict(zip((2, 4), TRUST.encodings(4), strict=True))  # by the number of nodes


def bits(node, size):
    """The law of one report."""
    return law_of_report(ENCODINGS[size], size, node).items()


@cache
def totals(nodes, size):
    """The law of the totals of reports about these nodes."""
    law = {(0,) * size: Fraction(1)}
    for node in nodes:
        grown = defaultdict(Fraction)
        for total, before in law.items():
            for report, chance in bits(node, size):
                grown[tuple(map(sum, zip(total, report, strict=True)))] += before * chance
        law = grown
    return dict(law)


def every_way(cells):
    """All ways to ask one client for the first level, with the same probability."""
    for asked in combinations(range(len(cells)), ASKED[0]):
        yield asked, Fraction(1, CLIENTS)


def the_first_ones(cells):
    """Clients in the order of their cells are asked for one level after the other."""
    yield tuple(range(ASKED[0])), Fraction(1)


def released(cells, dealing):
    """The law of the totals on both levels, where clients have these cells."""
    law = defaultdict(Fraction)
    for asked, weight in dealing(cells):
        above = tuple(sorted(cells[i] // 2 for i in asked))
        below = tuple(sorted(cells[i] for i in range(CLIENTS) if i not in asked))
        pairs = product(totals(above, 2).items(), totals(below, 4).items())
        for (first, chance), (second, other) in pairs:
            law[first, second] += weight * chance * other
    return law


def cost(dealing):
    """The largest ratio of probabilities under replace-one; cells are sorted, as counts have them.

    Without names, that is.
    """
    laws = {
        cells: released(cells, dealing)
        for cells in product(range(4), repeat=CLIENTS)
        if list(cells) == sorted(cells)
    }
    worst = Fraction(1)
    for cells, law in laws.items():
        for place, cell in product(range(CLIENTS), range(4)):
            other = laws[tuple(sorted((*cells[:place], cell, *cells[place + 1 :])))]
            worst = max(worst, *(law[each] / other[each] for each in law))
    return worst


def test_clients_dealt_out_at_random_cost_epsilon():
    assert TRUST.levels(4)[1].sum() == CLIENTS
    found = float(cost(every_way))
    assert found <= exp(1.5)
    assert found > exp(1.0)


def test_clients_dealt_out_in_the_order_of_their_cells_cost_more():
    """What a law that looks at the order, or random numbers that are known, would come to."""
    assert float(cost(the_first_ones)) > exp(1.5) * 1.2


@pytest.mark.parametrize("node", [0, 1])
def test_laws_add_up(node):
    assert sum(chance for _, chance in bits(node, 2)) == 1
    assert sum(released((0, 1, 3), every_way).values()) == 1
