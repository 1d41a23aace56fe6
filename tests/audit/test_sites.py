"""Sites with any number of records: what one replaced record changes in the sum of all vectors."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.noise.sources import source
from dpcore.trust import Client, DistributedNoise, Protocol
from tests.audit.harness import cost_of_levels, epsilon_lower_bound

CELLS = 4
SITES = 3
HOLDINGS = [  # of the three sites, in cells: none, a few, and many records
    ([], [0, 3], [1] * 9),
    ([2], [0, 0, 1, 2, 3, 3], [3] * 5),
    ([0, 1, 2, 3], [], []),
]


class _Silent:
    """A share without noise, to see what records alone do to a vector."""

    def fill(self, out, stream):
        out[:] = 0


def exact(protocol, held):
    """The sum of the clients' vectors, with the shares of the noise taken out."""
    silent = replace(protocol)
    silent.round.noise = tuple(each and _Silent() for each in protocol.noise)
    return sum(Client(silent).vector(np.array(cells, int)) for cells in held)


def neighbours(held):
    """All holdings in which one record of one site is another."""
    for site, cells in enumerate(held):
        for at, other in itertools.product(range(len(cells)), range(CELLS)):
            changed = list(map(list, held))
            changed[site][at] = other
            yield changed


def spent(protocol, before, after):
    """The privacy loss: noise on nodes is independent, so losses add up."""
    shift = exact(protocol, after) - exact(protocol, before)
    assert shift[0] == 0  # the root has no noise
    return cost_of_levels(protocol.noise, protocol.starts, shift, range(len(protocol.noise)))


@pytest.mark.parametrize("branching", ["auto", 2, CELLS])
@pytest.mark.parametrize("held", HOLDINGS)
def test_one_record_of_a_site_costs_epsilon_and_no_more(branching, held):
    trust = DistributedNoise(
        Fraction(1, 2), clients=SITES, dropout=0.3, records=None, branching=branching
    )
    protocol = Protocol(trust, CELLS, bytes(16))
    worst = max(spent(protocol, held, other) for other in neighbours(held))
    assert Fraction(99, 200) < worst <= Fraction(1, 2)


@pytest.mark.parametrize("held", HOLDINGS)
def test_a_record_that_counts_twice_is_noticed(held):
    """A broken client, which puts each record into the sum a second time."""
    protocol = Protocol(DistributedNoise(1.0, clients=SITES, records=None), CELLS, bytes(16))
    twice = [list(cells) * 2 for cells in held]
    for other in neighbours(held):
        if other != list(map(list, held)):
            cost = spent(protocol, twice, [cells * 2 for cells in other])
            assert cost == pytest.approx(2.0, abs=0.1)


REPLICATES = 200_000


def sampled(trust, held, seed):
    """Leaves of the sum over all sites, (R, 2): where the record was, and where it is."""
    protocol = Protocol(trust, CELLS, bytes(16))
    leaves = slice(*protocol.starts[-2:])
    counts = exact(protocol, held)[leaves][[0, 3]]
    shares = np.empty((SITES, REPLICATES, 2), np.int64)  # each site makes its own
    protocol.noise[-1].fill(shares, source(np.random.default_rng(seed)))
    return counts + shares.sum(axis=0)


def bound(trust):
    """A lower bound on what the leaves show about one record, of a site with six."""
    first, second = [[], [0, 0, 1, 2, 3, 3], [3] * 5], [[], [3, 0, 1, 2, 3, 3], [3] * 5]
    low, high = [1, 7], [2, 8]  # of the exact counts; beyond, the likelihood ratio is constant
    samples = (sampled(trust, held, 5 + at) for at, held in enumerate((first, second)))
    return epsilon_lower_bound(*(np.clip(sample, low, high) for sample in samples))


@pytest.mark.full
@pytest.mark.needs_jit
def test_shares_of_sites_hold_the_claim_and_a_fifth_less_noise_is_caught():
    trust = DistributedNoise(1.0, clients=SITES, records=None, branching=CELLS)
    part = 2 / float(trust.tree(CELLS).laws[-1].scale)
    assert part == pytest.approx(1.0)
    assert 0.9 * part < bound(trust) <= part
    assert bound(replace(trust, epsilon=1.2)) > part
    # Shares for five sites, of which only three report.
    assert bound(replace(trust, clients=SITES + 2)) > part


def test_the_claim_is_for_a_record():
    trust = DistributedNoise(0.5, clients=SITES, records=None)
    assert trust.privacy == trust.record_privacy == dp.Privacy(0.5)
