"""The error of local reports: a bound for any records, and an estimate from what was released."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import dpcore as dp
from dpcore.trust import Local, SubsetSelection
from dpcore.trust.models.levels import levels_of
from tests import reference
from tests.trust.rounds import RNG

CLIENTS = 5000
TREES = [
    (1.0, 16, (4, 4)),
    (5.0, 16, (4, 4)),
    (5.0, 13, (4, 4)),
    (5.0, 9, (2, 2, 4)),  # the last nodes have one child
    (3.0, 12, (2, 2, 3)),
    (0.5, 11, (2, 2, 2, 2)),
    (8.0, 15, (8, 2)),
    (2.0, 7, (7,)),
]


def covariances(encoding, size):
    """Of the estimates from one report, for a client in each node."""
    if isinstance(encoding, SubsetSelection):
        return reference.subset_covariances(size, encoding.chosen, float(encoding.missing))
    return reference.unary_covariances(size, float(encoding.q))


class Dense:
    """All weights of a tree's nodes, from the plain reference."""

    def __init__(self, epsilon, size, branching):
        self.model = Local(epsilon, clients=CLIENTS, branching=branching)
        self.size, (chosen, asked) = size, self.model.levels(size)
        assert chosen == branching
        self.shares = asked / CLIENTS
        first, self.nodes, self.covariances = 1, [], []
        for level, encoding in enumerate(self.model.encodings(size)):
            width = int(np.prod(branching[level + 1 :], dtype=np.int64))
            self.nodes.append(first + np.arange(size) // width)
            nodes = -(-size // width)
            self.covariances.append(covariances(encoding, nodes))
            first += nodes
        spread = [level.spread for level in levels_of(Fraction(epsilon), size, branching)]
        variances = [0.0, *(np.array(spread) / self.shares)]
        self.estimate, _ = reference.hierarchy_estimate(size, branching, variances)

    def deviation(self, density):
        """The exact standard deviation of each cumulative count, for shares of the records."""
        factor = CLIENTS / (CLIENTS - 1)
        variance = reference.local_variance(
            self.estimate, self.nodes, self.covariances, self.shares, factor, density
        )
        return np.sqrt(np.maximum(CLIENTS * variance, 0.0))

    def worst(self, k, start):
        """The largest deviation at threshold k that shifts of the records from a start lead to."""
        density = start
        for step in range(60):
            towards = [
                self.deviation(density + (cell - density) / (step + 2))[k]
                for cell in np.eye(self.size)
            ]
            density = density + (np.eye(self.size)[np.argmax(towards)] - density) / (step + 2)
        return self.deviation(density)[k]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_no_records_have_a_larger_error(tree):
    dense, rng = Dense(*tree), RNG(1)
    stated, size = dense.model.noise_deviation(tree[1]), tree[1]
    densities = [np.eye(size)[i] for i in range(size)]
    densities += [0.5 * (np.eye(size)[i] + np.eye(size)[i + 1]) for i in range(size - 1)]
    densities += [rng.dirichlet(np.full(size, 0.1)) for _ in range(60)]
    densities += [np.full(size, 1 / size)]
    for density in densities:
        assert np.all(dense.deviation(density) <= stated * (1 + 1e-6) + 1e-6)


@pytest.mark.sample(1)
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_some_records_have_nearly_that_error(tree):
    dense, size = Dense(*tree), tree[1]
    stated = dense.model.noise_deviation(size)
    for k in (0, size // 3, size // 2, size - 2):
        assert dense.worst(k, np.full(size, 1 / size)) >= 0.93 * stated[k]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_the_estimated_error_of_the_true_counts_is_exact(tree):
    dense, rng = Dense(*tree), RNG(2)
    for density in [*rng.dirichlet(np.full(tree[1], 0.2), 20), np.eye(tree[1])[-1]]:
        estimated = dense.model.estimated_deviation(CLIENTS * np.cumsum(density))
        assert np.allclose(estimated[:-1], dense.deviation(density)[:-1], rtol=1e-6)
        assert estimated[-1] == 0.0


def test_the_mean_error_is_that_of_records_that_are_spread():
    for tree in TREES:
        dense, size = Dense(*tree), tree[1]
        mean = np.mean(dense.deviation(np.full(size, 1 / size)) ** 2)
        assert 0.6 * dense.model.mean_squared_error(size) < mean
        assert mean < 1.1 * dense.model.mean_squared_error(size)


def test_one_client_and_one_cell():
    assert np.all(np.isfinite(Local(5.0, clients=1, branching=9).noise_deviation(9)))
    assert Local(5.0, clients=9).noise_deviation(1).tolist() == [0.0]
    assert Local(5.0, clients=9).mean_squared_error(1) == 0.0
    assert Local(5.0, clients=9).estimated_deviation([9.0]).tolist() == [0.0]


@pytest.mark.parametrize(
    ("released", "error"),
    [
        (np.ones((2, 3)), dp.ParameterError),
        ([1.0, np.nan], dp.ParameterError),
        (["a"], dp.DtypeError),
    ],
)
def test_what_was_not_released_is_refused(released, error):
    with pytest.raises(error, match="released must"):
        Local(5.0, clients=9).estimated_deviation(released)


SIZE = 256
TWO = np.zeros(SIZE)
TWO[[100, 101]] = 0.5
CLUMPS = np.zeros(SIZE)
CLUMPS[[3, 64, 65, 128, 200, 201]] = 0.1, 0.2, 0.2, 0.1, 0.3, 0.1
BELL = np.diff(norm.cdf(np.linspace(-4, 4, SIZE + 1)))
SHAPES = {
    "two cells": TWO,
    "clumps": CLUMPS,
    "one cell": np.eye(SIZE)[77],
    "bell": BELL / BELL.sum(),
    "uniform": np.full(SIZE, 1 / SIZE),
}


def errors(model, density, replicates):
    counts = RNG(1).multinomial(model.clients, density)
    released = model.release(counts, rng=RNG(2), replicates=replicates)
    return (released - np.cumsum(counts))[:, :-1]


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
def test_the_stated_error_is_a_bound_for_any_shape(epsilon, shape):
    model = Local(epsilon, clients=20_000)
    deviation = errors(model, SHAPES[shape], 400).std(axis=0)
    stated = model.noise_deviation(SIZE)[:-1]
    assert np.all(deviation <= 1.17 * stated)  # five standard deviations of what is deviation


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("epsilon", "clients"), [(1.0, 20_000), (5.0, 20_000), (8.0, 1000)])
def test_the_estimated_error_is_that_of_the_records(epsilon, clients, shape):
    """To one part in five at all thresholds, and to one in ten of their mean."""
    model = Local(epsilon, clients)
    counts = RNG(1).multinomial(clients, SHAPES[shape])
    released = model.release(counts, rng=RNG(2), replicates=400)
    deviation = (released - np.cumsum(counts)).std(axis=0)[:-1]
    estimated = np.mean([model.estimated_deviation(row) for row in released[:50]], axis=0)[:-1]
    assert deviation.mean() == pytest.approx(estimated.mean(), rel=0.1)
    assert np.all(deviation <= 1.2 * estimated + 0.02 * estimated.mean())


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", ["two cells", "clumps", "bell"])
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 5.0])
def test_bands_cover_as_often_as_they_say(epsilon, shape):
    counts, grid = RNG(1).multinomial(20_000, SHAPES[shape]), dp.Grid.uniform(0, 1, SIZE)
    model, rng, covered = Local(epsilon, clients=20_000), RNG(3), np.zeros(SIZE)
    true = np.cumsum(counts) / 20_000
    for _ in range(300):
        low, high = dp.cdf_from_counts(counts, grid, model, rng=rng, isotonic=False).band(0.95)
        covered += (low <= true) & (true <= high)
    assert covered.min() / 300 >= 0.87  # 0.95, and six standard deviations of 300
    assert 0.93 <= covered[:-1].mean() / 300 <= 0.98
