"""Clients with several records: exact audits of what replacing a client, or one record, changes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.trust import Central, Client, DistributedNoise, Local, Protocol
from tests.audit.harness import cost_of_levels, epsilon_lower_bound
from tests.audit.test_reports import law_of_report

CELLS = 4
EMPTY = CELLS  # behind the values


def holdings(most):
    """All that a client may have: up to so many records, in cells."""
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(range(CELLS), size)


def one_apart(first, second):
    """Whether one record was replaced, added or taken away."""
    a, b = Counter(first), Counter(second)
    return max((a - b).total(), (b - a).total()) == 1


def contributed(held, bound):
    """What a client with no more records than count contributes."""
    return np.bincount([*held, *[EMPTY] * (bound - len(held))], minlength=CELLS + 1)


def loss(model, first, second):
    """Return the largest log ratio of two releases, or the divergence of order 1 for Gaussians.

    Noise on the nodes is independent, so losses add up.
    """
    tree = model._hierarchy().tree(CELLS + 1)
    return cost_of_levels(tree.laws, tree.starts, tree.node_sums(first) - tree.node_sums(second))


def worst(model, bound, most, related):
    return max(
        loss(model, contributed(a, bound), contributed(b, bound))
        for a, b in itertools.permutations(holdings(most), 2)
        if related(a, b)
    )


MODELS = [
    (lambda c: DistributedNoise(1.0, clients=5, records=c), 1.0, 1),
    (lambda c: DistributedNoise(1.0, clients=5, records=c, branching=2), 1.0, 1),
    (lambda c: Central(1.0, records=c), 1.0, 1),
    (lambda c: Central(rho=0.5, records=c), 0.5, 2),
]


@pytest.mark.parametrize(("model", "budget", "power"), MODELS)
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_the_tree_spends_the_budget_on_a_client_and_its_part_on_a_record(
    model, budget, power, bound
):
    """Over all pairs of a client's holdings, and all pairs that are a record apart."""
    client = worst(model(bound), bound, bound, lambda a, b: True)
    record = worst(model(bound), bound, bound, one_apart)
    assert 0.99 * budget < client <= budget
    assert 0.99 * budget / bound**power < record <= Fraction(budget) / bound**power
    stated = model(bound).record_privacy
    assert (stated.epsilon if power == 1 else stated.rho) == pytest.approx(budget / bound**power)


@pytest.mark.parametrize(("model", "budget", "power"), MODELS)
def test_a_bound_that_is_not_kept_is_noticed(model, budget, power):
    """A copy that lets one more record count than it says."""
    assert worst(model(3), 4, 4, lambda a, b: True) > 1.2 * budget


def choices(held, bound):
    """Return what a client may contribute, with the probability of each choice."""
    if len(held) <= bound:
        return {tuple(contributed(held, bound)): 1.0}
    chosen = Counter(
        tuple(contributed([held[at] for at in some], bound))
        for some in itertools.combinations(range(len(held)), bound)
    )
    return {counts: number / chosen.total() for counts, number in chosen.items()}


@pytest.mark.parametrize("bound", [1, 2])
def test_clients_with_more_records_than_count_lose_no_more(bound):
    """The exact law of the noisy nodes, mixed over the choices, for up to two records too many.

    Outputs are whole numbers, and beyond the values that a node has without noise the ratio is
    that at the nearest one.
    """
    model = DistributedNoise(1.0, clients=1, records=bound, branching=CELLS + 1)
    scale = float(model.tree(CELLS + 1).laws[-1].scale)
    values = np.array(list(itertools.product(range(bound + 1), repeat=CELLS + 1)))
    laws = {
        held: sum(
            share * np.exp(-np.abs(values - np.array(counts)).sum(axis=1) / scale)
            for counts, share in choices(held, bound).items()
        )
        for held in holdings(bound + 2)
    }
    pairs = list(itertools.permutations(laws, 2))
    client = max(np.log(laws[a] / laws[b]).max() for a, b in pairs)
    record = max(np.log(laws[a] / laws[b]).max() for a, b in pairs if one_apart(a, b))
    assert client == pytest.approx(1.0, rel=1e-3)
    assert client <= 1.0 + 1e-12
    assert 0.99 / bound < record <= 1.0 / bound + 1e-12


def test_approximate_guarantees_go_by_rho():
    whole = Central(1.0, delta=1e-6)._budget().rho
    assert worst(Central(1.0, delta=1e-6, records=2), 2, 2, lambda a, b: True) <= whole
    assert Central(1.0, delta=1e-6, records=2).privacy == dp.Privacy(
        1.0, 1e-6, neighbours="replace-client"
    )


def reports(held, bound, encoding):
    """Return the exact law of a client's report: of one of its slots, on one level of all cells."""
    slots = [Fraction(held.count(cell), max(bound, len(held))) for cell in range(CELLS)]
    places = range(CELLS + 1)
    laws = [list(law_of_report(encoding, CELLS + 1, cell).values()) for cell in places]
    shares = np.array([*slots, 1 - sum(slots)])
    return (shares @ np.array(laws, object)).tolist()


def largest_log(pairs):
    return max(
        math.log(a / b) for first, second in pairs for a, b in zip(first, second, strict=True)
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_local_report_tells_no_more_than_it_says(epsilon, bound):
    model = Local(epsilon, clients=5, branching=CELLS + 1, records=bound)
    (encoding,) = model.encodings(CELLS + 1)
    laws = {held: reports(held, bound, encoding) for held in holdings(bound + 1)}
    pairs = list(itertools.permutations(laws, 2))
    of_client = largest_log((laws[a], laws[b]) for a, b in pairs)
    of_record = largest_log((laws[a], laws[b]) for a, b in pairs if one_apart(a, b))
    assert 0.99 * epsilon < of_client <= epsilon
    stated = model.record_privacy.epsilon
    assert 0.99 * stated < of_record <= stated


def test_a_client_that_never_reports_the_empty_slot_is_noticed():
    """It chooses among the records that it has: a single record is then reported for sure."""
    model = Local(1.0, clients=5, branching=CELLS + 1, records=3)
    (encoding,), stated = model.encodings(CELLS + 1), model.record_privacy.epsilon
    careless = {held: reports(held, max(1, len(held)), encoding) for held in holdings(2)}
    pairs = itertools.permutations(careless, 2)
    assert largest_log((careless[a], careless[b]) for a, b in pairs if one_apart(a, b)) > (
        1.2 * stated
    )


def test_a_client_reports_the_slots_of_the_law():
    """The real client, with so large an epsilon that reports can be read."""
    model = Local(40.0, clients=5, branching=CELLS + 1, records=3)
    protocol = Protocol(model, CELLS, bytes(16), empty=EMPTY)
    rng = np.random.default_rng(1)
    for held, shares in (
        ([1], {1: 1 / 3, EMPTY: 2 / 3}),
        ([], {EMPTY: 1.0}),
        ([0, 2, 2, 3], {0: 1 / 4, 2: 1 / 2, 3: 1 / 4}),
    ):
        seen = [0] * (CELLS + 1)
        for child in rng.spawn(800):
            (report,) = Client(protocol, child).report(held)
            bits = report[-1]
            if bits:  # a one is kept with probability 1/2
                seen[bits.bit_length() - 1] += 1
        total = sum(seen)
        for cell, count in enumerate(seen):
            share = shares.get(cell, 0.0)
            assert abs(count - total * share) <= 5 * math.sqrt(total * share * (1 - share))


def bound_from_samples(spent, replicates=200_000):
    """A lower bound on a client's epsilon from releases, its two records moving across the grid."""
    model = DistributedNoise(spent, clients=3, records=2, branching=2)
    first, second = np.array([4, 1, 1]), np.array([2, 1, 3])
    rng = np.random.default_rng(5)
    outputs = []
    for counts in (first, second):
        nodes = model.tree(3).node_sums(counts)
        level = slice(*model.tree(3).starts[-2:])
        shares = model.shares(3)[-1]
        noise = shares.sum_of(3, 3 * replicates, dp.noise.sources.source(rng)).reshape(-1, 3)
        leaves = (nodes[level][:3] + noise)[:, [0, 2]]
        outputs.append(np.clip(leaves, [2, 1], [4, 3]))  # beyond, the likelihood ratio is constant
    return epsilon_lower_bound(*outputs)


@pytest.mark.needs_jit
def test_shares_of_clients_with_two_records_hold_the_claim():
    """On the leaves alone: sampled, with the real shares of three clients."""
    tree = DistributedNoise(1.0, clients=3, records=2, branching=2).tree(3)
    part = 4 / float(tree.laws[-1].scale)
    assert 0.9 * part < bound_from_samples(1.0) <= part
    assert bound_from_samples(1.2) > part
