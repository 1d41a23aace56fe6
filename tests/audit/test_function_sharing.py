"""What a server learns that subtracts its own noise: the others' noise has to be enough."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from dpcore.trust import FunctionSharing
from tests.audit.harness import both_ways, cost_of_levels, unit_changes

RELEASES = 400_000
TREES = [(2, "auto"), (5, "auto"), (6, 2), (8, (2, 4)), (9, (3, 3)), (12, (3, 2, 2))]
BROKEN = {
    "noise of all servers is counted on": FunctionSharing(1.0, servers=2, honest=2),
    "a budget that is a fifth too large": FunctionSharing(1.2, servers=2),
}


def spent(trust, size, change):
    """The exact log ratio of two laws, at the worst, of all nodes with the honest servers' noise.

    Nodes are independent, and as many shares as it takes are discrete Laplace noise.
    """
    tree, shares = trust.tree(size), trust.shares(size)
    assert all(share is None or trust.honest >= share.shares for share in shares)
    moved = tree.node_sums(np.maximum(change, 0)) - tree.node_sums(np.maximum(-change, 0))
    return cost_of_levels(shares, tree.starts, moved)  # the root is public, and is n


@pytest.mark.parametrize(("size", "branching"), TREES)
@pytest.mark.parametrize(("servers", "honest"), [(2, 1), (3, 2), (3, 3)])
def test_honest_servers_noise_costs_epsilon_exactly(size, branching, servers, honest):
    """By brute force: all records, replaced by all others."""
    trust = FunctionSharing(0.7, servers=servers, honest=honest, branching=branching)
    worst = max(spent(trust, size, change) for change in unit_changes(size))
    assert 0.999 * 0.7 < worst <= Fraction(0.7)


def view(trust, counts, servers, seed):
    """(R, nodes) counts with the noise of some servers, what the others do not know: 6 or more?

    Between the counts 5 and 6 the log ratio of two laws changes its sign, and is the largest on
    either side, so that nothing is lost by asking only that.
    """
    tree, stream = trust.tree(counts.size), source(np.random.default_rng(seed))
    nodes = np.tile(tree.node_sums(counts), (RELEASES, 1))
    for level, share in enumerate(trust.shares(counts.size)):
        part = nodes[:, tree.starts[level] : tree.starts[level + 1]]
        if share is not None:
            part += share.sum_of(servers, part.size, stream).reshape(part.shape)
        elif level > 0:
            part[:] = 0
    return (nodes[:, tree.starts[-2] :] >= 6).astype(np.int64)


def audited(trust, servers):
    first, second = np.array([6, 5]), np.array([5, 6])
    return both_ways(view(trust, first, servers, 1), view(trust, second, servers, 2))


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("trust", "keep"),
    [
        (FunctionSharing(1.0), 1),
        (FunctionSharing(1.0, servers=3, honest=2), 2),
        (FunctionSharing(1.0, servers=3, honest=2), 3),
        (FunctionSharing(1.0, honest=2), 2),
    ],
    ids=str,
)
def test_claim_holds_against_all_other_servers(trust, keep):
    assert audited(trust, keep) <= 1.0
    if keep == trust.honest:
        assert audited(trust, keep) > 0.95


@pytest.mark.needs_jit
@pytest.mark.parametrize("broken", BROKEN)
def test_overspending_is_noticed(broken):
    assert audited(BROKEN[broken], 1) > 1.0


def test_a_share_alone_is_a_polya_share():
    assert all(
        share is None or share == PolyaShares(share.scale, 2)
        for share in FunctionSharing(1.0, servers=3, honest=2).shares(64)
    )
