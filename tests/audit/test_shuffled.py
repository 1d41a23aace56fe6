"""Reports behind a shuffler: the exact laws of what it passes on, and releases that were drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import dpcore as dp
from dpcore.privacy.shuffling import central_delta, mixed
from dpcore.trust import Local, Shuffled, SubsetSelection, UnaryEncoding
from tests.audit.test_local import ASKED, CLIENTS, ENCODINGS, every_way, released
from tests.audit.test_reports import law_of_report
from tests.privacy.test_shuffling import worst

ROOTS = [0.3, 0.7, 1.2]


def neighbours():
    """All pairs of inputs in which one client has another cell, in order of the cells."""
    for rest in product(range(4), repeat=CLIENTS - 1):
        if list(rest) == sorted(rest):
            for one, other in product(range(4), repeat=2):
                yield tuple(sorted((*rest, one))), tuple(sorted((*rest, other)))


@pytest.mark.parametrize("epsilon", ROOTS)
def test_levels_that_are_dealt_out_keep_the_central_delta(epsilon):
    ratio = Fraction(math.exp(epsilon))
    laws = {cells: released(cells, every_way) for pair in neighbours() for cells in pair}
    exact = max(
        float(sum(max(0, chance - ratio * laws[other][key]) for key, chance in laws[one].items()))
        for one, other in neighbours()
    )
    groups = [(asked, ENCODINGS[size]._blanket) for asked, size in zip(ASKED, (2, 4), strict=True)]
    assert exact > 0.01
    for stated in (groups, [(CLIENTS, mixed(groups))]):
        assert exact <= central_delta(stated, epsilon) < exact + 0.35


def exact_delta(local, clients, epsilon):
    """The least delta of shuffled reports about two values: how many are about the first one."""
    missing = float(local.encodings(2)[0].missing)
    worst = 0.0
    for others in range(0, clients, max(1, clients // 20)):
        rest = np.convolve(
            binom.pmf(np.arange(others + 1), others, 1 - missing),
            binom.pmf(np.arange(clients - others), clients - 1 - others, missing),
        )
        first, second = (
            np.convolve(rest, [missing, 1 - missing]),
            np.convolve(rest, [1 - missing, missing]),
        )
        for one, other in ((first, second), (second, first)):
            worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()))
    return worst


@pytest.mark.sample(5)
@pytest.mark.parametrize("clients", [50, 1000, 20_000])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-4), (0.2, 1e-6)])
def test_a_fifth_more_local_epsilon_is_noticed(clients, epsilon, delta):
    trust = Shuffled(epsilon, delta, clients, branching=(2,))
    local = trust.local(2)
    assert exact_delta(local, clients, epsilon) <= delta
    if local.epsilon > 1.1 * epsilon:
        broken = Local(1.2 * float(local.epsilon), clients, (2,))
        assert exact_delta(broken, clients, epsilon) > delta


def test_releases_are_those_of_the_local_reports():
    trust, counts = Shuffled(0.5, 1e-3, clients=300), np.array([100, 50, 50, 100])
    same = (each.release(counts, rng=np.random.default_rng(1)) for each in (trust, trust.local(4)))
    np.testing.assert_array_equal(*same)
    assert float(trust.local(4).epsilon) > 1.0


def test_a_release_says_what_it_protects():
    with dp.Budget(epsilon=1.0, delta=1e-5) as budget:
        grid, trust = dp.Grid.uniform(0, 1, 8), Shuffled(0.75, 1e-6, clients=500)
        curve = dp.cdf(np.linspace(0, 1, 500), grid, trust)
    assert curve.privacy == dp.Privacy(0.75, 1e-6)
    assert budget.spent == dp.Privacy(0.75, 1e-6)


def patterns(reports):
    """The law of how many reports about two values say 10, 01 and 11."""
    law = np.zeros((len(reports) + 1,) * 3)
    law[0, 0, 0] = 1.0
    for chances in reports:
        grown = law * float(chances[0, 0])
        grown[1:] += law[:-1] * float(chances[1, 0])
        grown[:, 1:] += law[:, :-1] * float(chances[0, 1])
        grown[:, :, 1:] += law[:, :, :-1] * float(chances[1, 1])
        law = grown
    return law


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("local", [1.0, 2.5])
def test_unary_encodings_keep_the_central_delta(local, epsilon):
    """40 clients, of whom the others have the first value, the second or none."""
    encoding = UnaryEncoding(local)
    laws = [law_of_report(encoding, 2, value) for value in (0, 1, -1)]
    exact = 0.0
    for many in ((39, 0, 0), (0, 39, 0), (0, 0, 39), (20, 19, 0), (10, 10, 19)):
        others = [laws[at] for at in np.repeat(range(3), many)]
        inputs = [patterns([*others, laws[at]]) for at in range(3)]
        for one, other in product(inputs, repeat=2):
            exact = max(exact, float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()))
    stated = central_delta([(40, encoding._blanket)], epsilon)
    assert 1e-4 * stated < exact <= stated


@pytest.mark.parametrize(("size", "chosen"), [(3, 1), (3, 2), (4, 2)])
def test_subsets_keep_the_central_delta(size, chosen):
    encoding = SubsetSelection(1.5, size, chosen)
    kinds = list(law_of_report(encoding, size, 0))
    rows = [[law_of_report(encoding, size, value)[kind] for kind in kinds] for value in range(size)]
    for epsilon in ROOTS:
        exact = float(worst(rows, 3, Fraction(math.exp(epsilon))))
        assert exact <= central_delta([(3, encoding._blanket)], epsilon)
