"""The rho that releases state beside epsilon, against all neighbours and the laws of the noise."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

import dpcore as dp
from dpcore import Privacy
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Dawa,
    Dyadic,
    Hierarchy,
    Histogram,
    HistogramQueries,
    NoNoise,
    PolynomialProjection,
    ToeplitzGaussian,
)
from dpcore.mechanisms.base import Mechanism, names, registered
from dpcore.mechanisms.bucket_counts import weighted_tree
from dpcore.mechanisms.dawa import _kept_stages
from dpcore.noise.laws import DiscreteLaplace
from dpcore.papers.matching_pursuit import MatchingPursuit
from dpcore.privacy.allowance import rho_of

REMOVED = {"neighbours": "add-or-remove-one"}
BUDGETS = [{"epsilon": 1.0}, {"epsilon": Fraction(1, 3)}, {"epsilon": 20.0}]
GAUSSIAN = [{"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 0.1, "delta": 1e-9}]


def moves(mechanism, size):
    """Yield by how much the counts of cells change between neighbours, up to their sign."""
    if mechanism.privacy.neighbours == "add-or-remove-one":
        yield from np.eye(size, dtype=np.int64)
        return
    for start, end in itertools.combinations(range(size), 2):
        change = np.zeros(size, np.int64)
        change[[start, end]] = -1, 1
        yield change


def of_tree(mechanism, size):
    tree = mechanism.tree(size)
    for change in moves(mechanism, size):
        nodes = tree.node_sums(change) * 2**tree.bits
        yield sum(
            rho_of(law, int((nodes[tree.starts[level] : tree.starts[level + 1]] ** 2).sum()))
            for level, law in enumerate(tree.laws)
        )


def of_paths(mechanism, size):
    """Pure: an integral flow between two cells shifts the noise of the edges on a path."""
    law, unit = mechanism.noise(size)
    graph = np.zeros((size, size))
    width = 1
    while True:
        for start in range(0, size - 1, width):
            graph[start, min(start + width, size - 1)] = 1
        if width >= size - 1:
            break
        width *= mechanism.base
    lengths = shortest_path(csr_array(graph), directed=False)
    assert unit == 1
    yield rho_of(law, int(lengths.max()))


def of_bins(mechanism, size):
    law, bits = mechanism.noise(size)
    starts = np.append(0, mechanism.ends(size)[:-1])
    assert bits >= 0
    for change in moves(mechanism, size):
        yield rho_of(law, int((np.add.reduceat(change, starts) ** 2).sum()) * 4**bits)


def of_questions(mechanism, size):
    law, bits = mechanism.noise(size)
    for change in moves(mechanism, size):
        answers = np.cumsum(change)
        # The questions are any of the thresholds, each once.
        most = min(mechanism.questions(size), int(np.count_nonzero(answers)))
        yield rho_of(law, most * 4**bits)


def of_convolutions(mechanism, size):
    factors = mechanism._factors(size)
    for change in moves(mechanism, size):
        moved = np.convolve(change, factors.strategy)[:size]
        yield rho_of(mechanism.noise(size), int((moved.astype(object) ** 2).sum()))


def of_buckets(mechanism, size):
    """Both stages, for every partition's number of buckets and every signal."""
    for rung in range(12):
        stages = _kept_stages(mechanism, size, 2.0**rung)
        moved, levels = mechanism._budget().moved, stages.scales.lengths.size
        first = rho_of(stages.law, moved**2 * levels)
        for buckets in range(1, size + 1):
            lengths = np.full(buckets, size // buckets)
            lengths[-1] += size - lengths.sum()
            yield first + weighted_tree(stages.hierarchy, lengths).rho


CASES = [
    *[(Hierarchy, of_tree, how | more) for how in [*BUDGETS, *GAUSSIAN] for more in ({}, REMOVED)],
    *[(Hierarchy, of_tree, {"epsilon": 1.0, "branching": 2, "budgets": "equal"})],
    *[(Histogram, of_tree, how | more) for how in [*BUDGETS, *GAUSSIAN] for more in ({}, REMOVED)],
    *[(Dyadic, of_paths, how | more) for how in BUDGETS for more in ({}, {"base": 3})],
    (Dyadic, of_paths, {"epsilon": 1.0, "sensitivity": "paper"}),
    *[(HistogramQueries, of_bins, {"bins": 5} | how) for how in [*BUDGETS, *GAUSSIAN]],
    *[(AdaptiveQuantiles, of_questions, {"steps": 3} | how) for how in [*BUDGETS, *GAUSSIAN]],
    *[
        (ToeplitzGaussian, of_convolutions, how | more)
        for how in GAUSSIAN
        for more in ({}, REMOVED)
    ],
    *[(Dawa, of_buckets, how | more) for how in BUDGETS for more in ({}, REMOVED, {"split": 0.9})],
]


@pytest.mark.parametrize(("kind", "neighbours", "how"), CASES)
@pytest.mark.parametrize("size", [2, 7, 32])
def test_the_rho_of_all_neighbours_is_stated(kind, neighbours, how, size):
    mechanism = kind(**how)
    stated, most = mechanism.privacy_for(size), max(neighbours(mechanism, size))
    assert (stated.epsilon, stated.delta) == (mechanism.privacy.epsilon, mechanism.privacy.delta)
    assert stated == mechanism.privacy
    known = Fraction(stated.rho) if stated.rho is not None else Fraction(stated.epsilon) ** 2 / 2
    assert most <= known * (1 + Fraction(1, 2**40))  # rounded variances may be below a share
    noise = mechanism.losses_for(size).noise
    assert (noise is None) == (kind in (Dawa, ToeplitzGaussian))
    if noise is not None:  # no neighbours shift more noise than is told
        parts = [rho_of(one.law, one.count * one.shift**2) for one in noise]
        assert most <= sum(parts) <= max(known, most) * (1 + Fraction(1, 2**20))
    if kind not in (Dawa, ToeplitzGaussian) and how.get("epsilon") != 20.0:
        assert known <= most * (1 + Fraction(1, 2**20)) or size == 2 or kind is Hierarchy


@pytest.mark.parametrize("scale", [0.3, 1.0, 4.5])
@pytest.mark.parametrize("difference", [1, 2, 5])
def test_laplace_noise_has_this_rho_at_every_order(scale, difference):
    law = DiscreteLaplace(Fraction(scale))
    y = np.arange(-2000, 2001)
    first = -np.abs(y) / scale
    second = -np.abs(y - difference) / scale
    first, second = (
        one - np.log(np.exp(one - one.max()).sum()) - one.max() for one in (first, second)
    )
    rho = float(rho_of(law, difference**2))
    for order in (1.001, 1.5, 2.0, 8.0, 64.0):
        inside = order * first + (1 - order) * second
        most = inside.max()
        divergence = (most + np.log(np.exp(inside - most).sum())) / (order - 1)
        assert 0 < divergence <= order * rho * (1 + 1e-9)


@pytest.mark.parametrize("how", GAUSSIAN)
@pytest.mark.parametrize("kind", [PolynomialProjection, MatchingPursuit, Dyadic, HistogramQueries])
def test_gaussian_noise_states_a_rho_without_a_delta(kind, how):
    """It is what the noise is for, so it implies about the stated epsilon at the stated delta."""
    stated = kind(**how).privacy_for(64)
    assert stated.rho < 1.3 * dp.privacy.zcdp_rho(how["epsilon"], how["delta"]) < stated.rho * 1.4
    assert Privacy(rho=stated.rho).epsilon_at(how["delta"]) < 1.2 * how["epsilon"]


def test_every_mechanism_states_its_own_epsilon():
    for name in names():
        kind = registered(name)
        if kind is NoNoise or not kind.__module__.startswith("dpcore.mechanisms"):
            continue
        gaussian = kind in (PolynomialProjection, ToeplitzGaussian)
        mechanism = kind(epsilon=1.0, delta=1e-6) if gaussian else kind(epsilon=1.0)
        for size in (1, 16, 100):
            stated = mechanism.privacy_for(size)
            assert stated == mechanism.privacy
            assert stated <= mechanism.privacy
            assert size == 1 or stated.rho is not None, name
    assert NoNoise().privacy_for(5).epsilon == math.inf
    assert astuple(Hierarchy(rho=0.5).privacy_for(8)) == astuple(Privacy(rho=0.5))


def test_releases_state_it_and_budgets_are_charged_for_it():
    grid, tree = dp.Grid.uniform(0, 1, 32), Hierarchy(1.0, branching=2, budgets="equal")
    own = tree.privacy_for(32)
    assert own.rho == 0.05  # five levels, each with two counts that change
    values = np.linspace(0, 1, 200)
    with dp.Budget(epsilon=100.0) as budget:
        curves = [dp.cdf(values, grid, tree) for _ in range(2)]
        tree.release(grid.count(values), replicates=3)
    assert [astuple(curve.privacy) for curve in curves] == [astuple(own)] * 2
    assert [charge.privacy.rho for charge in budget.log] == [0.05, 0.05, (3 * own).rho]


def test_ten_trees_fit_where_three_did():
    """The exact sum of ten trees of five levels, and more than eight times as many by rho."""
    tree = Hierarchy(1.0, branching=2, budgets="equal").privacy_for(32)
    budget = dp.Budget(epsilon=5.3, delta=1e-6, composition="zero-concentrated")
    for _ in range(10):
        budget.charge(tree)
    with pytest.raises(dp.BudgetError):
        budget.charge(tree)
    assert dp.Budget(rho=1.0).affordable(2) == Privacy(rho=0.5)  # two by epsilon^2 / 2
    budget = dp.Budget(rho=1.0)
    for _ in range(16):
        budget.charge(tree)


class Drawn(Histogram):
    """A subclass with draws of its own: pure noise on all cumulative counts."""

    def _fill(self, counts, out, stream):
        law, noise = DiscreteLaplace(Fraction(counts.size)), np.empty(out.size, np.int64)
        law.fill(noise, stream)
        out[:] = np.cumsum(counts) + noise.reshape(out.shape)

    def _prepared(self, exact):
        return Mechanism._prepared(self, exact)


class Twice(Hierarchy):
    @property
    def privacy(self):
        return 2 * super().privacy


class Same(Hierarchy):
    """A subclass that draws as its base does."""


def test_a_subclass_that_draws_in_its_own_way_states_no_rho_of_its_base():
    assert Drawn(1.0).privacy_for(32).rho is None
    assert Drawn(1.0).losses_for(32).noise is None
    assert Twice(1.0).losses_for(32).noise is None
    assert Same(1.0).losses_for(32) == Hierarchy(1.0).losses_for(32)
    assert Twice(1.0).privacy_for(32).rho == (2 * Hierarchy(1.0).privacy).rho
    assert Same(1.0).privacy_for(32).rho == Hierarchy(1.0).privacy_for(32).rho
    curve = dp.cdf([0.5] * 40, dp.Grid.uniform(0, 1, 32), Drawn(1.0))
    assert curve.privacy.rho is None
