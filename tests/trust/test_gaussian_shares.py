"""Gaussian shares of clients: their laws, and curves of rounds with rho, or epsilon and delta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.noise import DiscreteGaussian
from dpcore.noise.gaussian_shares import GaussianShares
from dpcore.noise.sources import source
from dpcore.trust import (
    Client,
    DistributedNoise,
    PointwiseClient,
    Protocol,
    RoundError,
    Server,
    SimulatedSum,
    VectorSum,
    agree,
    client_cdf,
    combine,
    release,
)
from tests.trust.rounds import RNG, ROUND, closed, send

CLIENTS, SIZE = 12, 20
TRUST = {
    "rho": DistributedNoise(rho=0.5, clients=CLIENTS, dropout=0.25),
    "delta": DistributedNoise(1.0, delta=1e-6, clients=CLIENTS),
    "sites": DistributedNoise(rho=Fraction(1, 3), clients=CLIENTS, records=None),
}
CELLS = RNG(1).integers(SIZE, size=CLIENTS)
GRID = dp.Grid.uniform(0, 1, SIZE)


def test_shares_of_a_hundred_clients_add_up_to_the_whole_noise():
    law = GaussianShares(10_000, 100)
    reports = np.empty((100, 4_000), np.int64)
    law.fill(reports, source(RNG(1)))
    at_once = law.sum_of(100, 4_000, source(RNG(2)))
    assert stats.ks_2samp(reports.sum(axis=0), at_once).pvalue > 1e-3
    deviation = np.sqrt(100 * law.variance)
    for sums in (reports.sum(axis=0), at_once):
        assert (
            stats.kstest((sums + RNG(3).uniform(-0.5, 0.5, sums.size)) / deviation, "norm").pvalue
            > 1e-3
        )


def test_a_share_is_never_smaller_than_its_part():
    for whole, shares in ((10_000, 7), (Fraction(2**52 - 1), 3), (2**40, 2**30), (40_000, 999)):
        law = GaussianShares(whole, shares)
        part = Fraction(whole) / shares
        assert part <= law.share.sigma_squared <= part * (1 + Fraction(1, 2**18))


def test_sums_of_many_shares_are_drawn_in_parts_that_the_sampler_takes():
    law = GaussianShares(2**52 - 1, 5)
    sums = law.sum_of(40, 20_000, source(RNG(1)))
    expected = np.sqrt(40 * law.variance)
    assert abs(sums.std() / expected - 1) < 0.02
    assert not law.sum_of(0, 3, source(None)).any()


@pytest.mark.parametrize(
    ("variance", "shares"), [(0, 2), (-1, 2), (1, 2), ("1", 2), (100, 0), (100, 2**41), (2**53, 1)]
)
def test_what_cannot_be_shared_is_refused(variance, shares):
    with pytest.raises((DtypeError, ParameterError)):
        GaussianShares(variance, shares)


@pytest.mark.parametrize("name", TRUST)
def test_servers_and_vectors_release_the_same_curve(name):
    protocol = Protocol(TRUST[name], SIZE, ROUND)
    servers = [Server(protocol), Server(protocol)]
    for seed, cell in enumerate(CELLS):
        send(servers, Client(protocol, RNG(seed)).report(int(cell)))
    agree(servers)
    sums = closed(servers)
    vectors = [Client(protocol, RNG(seed)).vector(int(cell)) for seed, cell in enumerate(CELLS)]
    total = VectorSum(protocol, np.sum(vectors, axis=0), CLIENTS, simulated=True)
    assert release(sums, GRID) == release(total, GRID)
    assert np.array_equal(combine(sums), combine(total))
    curve = release(sums, GRID, isotonic=False)
    exact = np.cumsum(np.bincount(CELLS, minlength=SIZE))
    assert np.all(np.abs(curve.counts - exact) <= 6 * curve.noise_deviation)
    assert curve.n == CLIENTS == curve.counts[-1]
    assert curve.privacy == dp.Privacy(
        **{
            "rho": {"rho": 0.5},
            "delta": {"epsilon": 1.0, "delta": 1e-6},
            "sites": {"rho": float(np.nextafter(1 / 3, 1)) if Fraction(1, 3) > 1 / 3 else 1 / 3},
        }[name],
        simulated=True,
    )
    assert dp.load(curve.to_json()) == curve
    wrong = total.total.copy()
    wrong[0] += 1
    with pytest.raises(RoundError):
        VectorSum(protocol, wrong, CLIENTS)
    wrong = total.total.copy()
    wrong[-1] += 2**59
    with pytest.raises(RoundError, match="than noise can be"):
        VectorSum(protocol, wrong, CLIENTS)


@pytest.mark.parametrize("name", TRUST)
def test_as_a_mechanism_it_has_the_noise_of_a_hierarchy(name):
    trust = TRUST[name]
    central = dp.mechanisms.Hierarchy(rho=trust._budget().rho)
    expected = central.noise_deviation(SIZE) * np.sqrt(trust.excess)
    assert np.allclose(trust.noise_deviation(SIZE), expected, rtol=1e-4)
    counts = np.bincount(CELLS, minlength=SIZE)
    errors = trust.release(counts, rng=RNG(1), replicates=4_000) - np.cumsum(counts)
    assert np.all(np.abs(errors[:, :-1].std(axis=0) / expected[:-1] - 1) < 0.06)
    assert not errors[:, -1].any()


def test_clients_with_several_records_share_rho():
    trust = DistributedNoise(rho=0.5, clients=CLIENTS, records=2)
    assert trust.record_privacy.rho == 0.125
    curve = client_cdf(np.arange(CLIENTS), CELLS / SIZE, GRID, trust, rng=RNG(1))
    assert curve.privacy == dp.Privacy(rho=0.5, neighbours="replace-client", simulated=True)
    assert dp.cdf(CELLS / SIZE, GRID, TRUST["rho"], rng=RNG(1)).n == CLIENTS


def test_it_is_not_for_noise_that_is_drawn_node_by_node():
    for refusing in (
        lambda: PointwiseClient(TRUST["rho"], SIZE, 3),
        lambda: SimulatedSum(np.bincount(CELLS), TRUST["rho"]),
    ):
        with pytest.raises(ParameterError, match="must be for epsilon alone"):
            refusing()


def test_a_budget_too_large_for_so_many_small_shares_is_refused():
    trust = DistributedNoise(rho=1e9, clients=2**40)
    with pytest.raises(ParameterError):
        trust.round(SIZE)


def cost(shift, tree, shares, required):
    """rho of a difference of all nodes, in steps, when ``required`` shares are in the sum."""
    total = Fraction(0)
    for level, share in enumerate(shares):
        part = shift[tree.starts[level] : tree.starts[level + 1]]
        if share is None:
            assert not part.any()
        else:
            squares = sum(int(number) ** 2 for number in part)
            total += Fraction(squares) / (2 * required * share.share.sigma_squared)
    return total


@pytest.mark.parametrize("branching", ["auto", 2, 4])
def test_no_replaced_record_costs_more_than_rho_and_a_fifth_more_is_noticed(branching):
    trust = DistributedNoise(rho=0.1, clients=10, dropout=0.3, branching=branching)
    tree, shares = trust.shared_noise(4)
    own = trust.round(4)
    silent = [None if share is None else _Silent() for share in shares]
    own.noise = tuple(silent)
    one = np.ones(1, np.int64)
    nodes = [own.vector(np.array([cell]), one, None) for cell in range(4)]
    spent = max(
        cost(a - b, tree, shares, trust.required) for a in nodes for b in nodes if a is not b
    )
    assert Fraction(99, 1000) < spent <= Fraction(0.1)
    assert cost(nodes[0] - nodes[3], tree, shares, trust.required - 2) > Fraction(12, 100)
    thin = [share and GaussianShares(share.sigma_squared * Fraction(5, 6), 7) for share in shares]
    assert cost(nodes[0] - nodes[3], tree, thin, trust.required) > Fraction(119, 1000)


class _Silent:
    """A share without noise, to see what records alone do to a vector."""

    def fill(self, out, stream):
        out[:] = 0


def test_the_variance_of_a_share_is_that_of_its_law():
    assert GaussianShares(1000, 10).variance == DiscreteGaussian(100).variance
