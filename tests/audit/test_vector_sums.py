"""Sums of vectors: exact costs for all neighbours, colluding clients and dropouts."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.noise.gaussian_shares import GaussianShares
from dpcore.noise.sources import source
from dpcore.privacy import gaussian_delta
from dpcore.trust import Central, DistributedNoise
from dpcore.trust.functions import (
    Ball,
    Box,
    Groups,
    Identity,
    One,
    Product,
    RegressionSums,
    ResidualSums,
    RiskGroupSums,
    Together,
    Vector,
)
from dpcore.trust.functions.sum_noise import _share, changed
from tests.audit.harness import both_ways
from tests.reference import lattices as naive
from tests.trust.test_lattices import SETS

STEPS = 3  # in place of 2^30 or so: few enough for all neighbours one by one


def worst(vectors, share, relation):
    """The largest cost of a record, over all pairs, when ``required`` shares are in the sum.

    Polya shares: the sum of them is discrete Laplace. Gaussian shares: rho of the sum of variances.
    """
    absolute, squares = (
        naive.apart(vectors) if relation == "replace-one" else naive.longest(vectors)
    )
    if isinstance(share, GaussianShares):
        return Fraction(squares) / (2 * share.share.sigma_squared * share.shares)
    return Fraction(absolute) / share.scale


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("required", [1, 7])
@pytest.mark.parametrize("budget", [{"epsilon": Fraction(1, 2)}, {"rho": Fraction(1, 1000)}])
@pytest.mark.parametrize("name", SETS)
def test_no_neighbours_cost_more_than_is_stated(name, budget, required, relation):
    bound, steps, from_lower, vectors = SETS[name]
    lattice = bound.lattice(steps, from_lower)
    trust = Central(**budget)
    share = _share(trust._budget(), changed(lattice, relation), required, bound.size)
    spent, stated = worst(vectors, share, relation), next(iter(budget.values()))
    assert spent <= stated
    if name != "ball, norm 2":  # there, few lengths are reached by integers
        assert spent > Fraction(99, 100) * stated
        broken = _share(
            replace(trust, **{k: v * Fraction(6, 5) for k, v in budget.items()})._budget(),
            changed(lattice, relation),
            required,
            bound.size,
        )
        assert worst(vectors, broken, relation) > Fraction(118, 100) * stated


FUNCTIONS = {
    "number": Identity(-3, 5),
    "groups": Groups([0, 1, 2, 4]),
    "in groups": Product(Groups([0, 1, 2]), Together([One(), Identity(0, 2, at=1)])),
    "ball": Vector(Ball(2, 1.5)),
    "regression": RegressionSums((-2, 2), (-1, 1)),
    "risk groups": RiskGroupSums([0, 0.5, 1]),
    "residuals": ResidualSums([-9, 0, 9], reach=2),
    "box": Vector(Box([0, -2], [1, 2])),
}


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1.0}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_records_of_a_round_are_within_what_its_noise_is_for(name, budget):
    """All pairs of records among many, with the integers and the noise that clients have."""
    function = FUNCTIONS[name]
    trust = DistributedNoise(clients=10, dropout=0.3, **budget)
    noise = trust.sum_noise(function)
    ends = np.array(list(itertools.product([-9, -2, -1, 0, 0.5, 1, 1.5, 3, 9], repeat=2)))
    own = trust.sum_round(function)
    rounded = [own.entries(one[np.newaxis], source(None))[1][1:].tolist() for one in ends]
    absolute, squares = naive.apart(set(map(tuple, rounded)))
    if "epsilon" in budget and "delta" not in budget:
        spent, stated = Fraction(absolute) / noise.share.scale, Fraction(1)
    else:
        honest = float(noise.share.share.sigma_squared * trust.required)
        if "delta" in budget:
            delta = gaussian_delta(np.sqrt(honest), 1.0, float(np.sqrt(squares)))
            assert 0.2 * budget["delta"] < delta <= budget["delta"]
            thinner = gaussian_delta(np.sqrt(honest) / 1.2, 1.0, float(np.sqrt(squares)))
            assert thinner > 2 * budget["delta"]
            return
        spent, stated = squares / (2 * honest), budget["rho"]
    assert 0.9 * stated < spent <= stated


def sum_of(law, count):
    """The probabilities of a sum of independent variables, from those of one, around 0."""
    out = [mpmath.mpf(1)]
    for _ in range(count):
        both = [mpmath.mpf(0)] * (len(out) + len(law) - 1)
        for a, p in enumerate(out):
            for b, q in enumerate(law):
                both[a + b] += p * q
        out = both
    return out


def gaussian(sigma_squared, reach):
    weights = [
        mpmath.exp(-mpmath.mpf(y * y) / (2 * sigma_squared)) for y in range(-reach, reach + 1)
    ]
    return [weight / mpmath.fsum(weights) for weight in weights]


@pytest.mark.parametrize(("sigma_squared", "shares"), [(0.35, 2), (0.5, 4), (0.8, 3)])
def test_a_sum_of_gaussian_shares_is_as_near_as_the_proof_says(sigma_squared, shares):
    """With small variances, for which the difference can be seen: exact laws to 40 digits."""
    with mpmath.workdps(40):
        reach = 14
        added = sum_of(gaussian(sigma_squared, reach), shares)
        whole = gaussian(shares * sigma_squared, shares * reach)
        middle = slice(shares * reach - 8, shares * reach + 9)
        far = max(abs(mpmath.log(p / q)) for p, q in zip(added[middle], whole[middle], strict=True))
        deltas = [
            2
            * mpmath.nsum(
                lambda j, k=k: mpmath.exp(-2 * mpmath.pi**2 * sigma_squared * k / (k + 1) * j**2),
                [1, 20],
            )
            for k in range(1, shares)
        ]
        proven = mpmath.fsum(mpmath.log((1 + each) / (1 - each)) for each in deltas)
        in_code = 5 * (shares - 1) * mpmath.exp(-(mpmath.pi**2) * sigma_squared)
        assert 0.1 * proven < far <= proven
        assert sigma_squared < 0.4 or proven <= in_code


def test_shares_are_refused_that_would_not_be_near_enough():
    shares = 1000
    needed = (100 + np.log2(5 * (shares - 1))) * np.log(2) / np.pi**2
    GaussianShares(Fraction(np.ceil(needed * 1000)), shares)
    with pytest.raises(ValueError, match="sigma_squared must be larger"):
        GaussianShares(Fraction(np.floor(needed * 1000 - 1)), shares)


@pytest.mark.parametrize("colluding", [0, 3])
def test_noise_is_that_of_the_honest_clients_that_report(colluding):
    """10 clients: 3 of them drop out, or show their shares to everybody."""
    trust = DistributedNoise(rho=0.1, clients=10, dropout=0.3)
    noise = trust.sum_noise(Identity(0, 1))
    honest = 10 - 3 if colluding else trust.required
    sigma_squared = honest * noise.share.share.sigma_squared
    assert Fraction(2**noise.bits) ** 2 / (2 * sigma_squared) <= Fraction(0.1)
    fewer = (honest - 2) * noise.share.share.sigma_squared
    assert Fraction(2**noise.bits) ** 2 / (2 * fewer) > Fraction(0.1) * Fraction(6, 5)


REPLICATES = 200_000
SITES = 5


def released(trust, records, seed):
    """Sums of all sites' words, (R, 2), each above, below or between both exact sums."""
    function = Vector(Box([0, 0], [1, 1]))
    own = trust.sum_round(function)
    exact = sum(own.entries(np.array(held), source(None))[1][1:] for held in records)
    shares = np.zeros((REPLICATES, 2), np.int64)
    part = np.empty_like(shares)
    for at, stream in enumerate(source(np.random.default_rng(seed)).spawn(trust.reports)):
        assert at < trust.reports
        own.sum_noise.share.fill(part, stream)
        shares += part
    steps = 2**own.sum_noise.bits
    inner = sum(len(held) for held in records) // 2 * steps
    return np.floor_divide(exact + shares - inner, steps // 2).clip(-4, 4)


def bound(trust):
    """A lower bound on what the sum shows about one record of a site."""
    common = [[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]], [[0.5, 0.5], [0.0, 0.0]]]
    first, second = ([*common, [[end, end]]] for end in (0.0, 1.0))
    return both_ways(released(trust, first, 5), released(trust, second, 6))


@pytest.mark.full
@pytest.mark.needs_jit
def test_sums_of_sites_hold_the_claim_and_a_fifth_less_noise_is_caught():
    trust = DistributedNoise(1.0, clients=SITES, records=None)
    assert 0.85 < bound(trust) <= 1.0
    assert bound(replace(trust, epsilon=1.2)) > 1.0
