"""Running curves: what one record changes in all draws, worked out for all neighbours."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.kernels.trees import buffers as kernels
from dpcore.mechanisms.running import questions
from dpcore.streams import BufferedToeplitz, ConsistentTree, DyadicTree, RunningCDF
from dpcore.streams.base import Change
from tests import reference
from tests.audit.harness import both_ways, thinner
from tests.reference.consistent import record_shift

RELATIONS = ["replace-one", "add-or-remove-one"]
SIZES = list(itertools.product((1, 2, 3, 4), (1, 2, 3)))


def answers_of(asked, cells):
    """What a record of each cell changes in the answers, part by part."""
    ends = np.cumsum([part.width for part in asked.parts])[:-1]
    return [np.split(asked.ask(unit), ends) for unit in np.eye(cells, dtype=np.int64)]


def never_and_moved(asked, in_time, cells, neighbours):
    """All changes of all draws by one record: a list of arrays (time, answers), one for each part.

    ``in_time`` are the changes of the draws of one counter, of a record of each step.
    """
    comes = [
        [np.outer(steps, answers) for answers in parts]
        for steps in in_time
        for parts in answers_of(asked, cells)
    ]
    yield from comes
    if neighbours == "replace-one":
        for one, other in itertools.permutations(comes, 2):
            yield [a - b for a, b in zip(one, other, strict=True)]


def thin(epochs):
    return tuple(epoch._replace(law=thinner(epoch.law)) for epoch in epochs)


def spent_of_epsilon(stream, horizon, neighbours, thinned=False):
    cells, asked = stream._cells.size, stream._questions
    epochs = [noise.epochs[0] for noise in stream._noises]
    assert all(epoch.size >= horizon for epoch in epochs)
    if thinned:
        epochs = thin(epochs)
    in_time = [record_shift(epochs[0].branching, step) for step in range(horizon)]
    return max(
        sum(
            (
                Fraction(int(np.abs(part).sum())) / epoch.law.scale
                for part, epoch in zip(change, epochs, strict=True)
            ),
            Fraction(0),
        )
        for change in never_and_moved(asked, in_time, cells, neighbours)
    )


@pytest.mark.sample(10)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), [*SIZES, (3, 40), (2, 130)])
def test_epsilon_of_all_levels_and_steps_is_what_one_record_spends(horizon, cells, neighbours):
    epsilon = Fraction(1, 3)
    mechanism = ConsistentTree(epsilon, neighbours=neighbours)
    stream = RunningCDF(dp.Grid.uniform(0, 1, cells), horizon, mechanism)
    spent = spent_of_epsilon(stream, horizon, neighbours)
    assert spent <= epsilon
    if neighbours == "add-or-remove-one" or (horizon > 1 or cells > 1):
        assert spent > 0.99 * epsilon
        assert spent_of_epsilon(stream, horizon, neighbours, thinned=True) > 1.2 * epsilon


@pytest.mark.sample(5)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("branching", [(4,), (2, 2), (2, 2, 2), (3, 3)])
@pytest.mark.parametrize("cells", [2, 40])
def test_epsilon_of_taller_trees_in_time(branching, cells, neighbours):
    horizon = math.prod(branching)
    mechanism = ConsistentTree(1, neighbours=neighbours, branching=branching)
    stream = RunningCDF(dp.Grid.uniform(0, 1, cells), horizon, mechanism)
    assert 0.99 < spent_of_epsilon(stream, horizon, neighbours) <= 1


def levels_of_several_shares():
    """Questions with several levels, each with noise and a share of its own."""
    for cells in (40, 130, 300, 1000, 3000):
        if len(questions(cells, is_gaussian=False).parts) > 1:
            return cells
    raise AssertionError


def test_levels_share_epsilon():
    cells = levels_of_several_shares()
    for neighbours in RELATIONS:
        mechanism = ConsistentTree(Fraction(1), neighbours=neighbours)
        stream = RunningCDF(dp.Grid.uniform(0, 1, cells), 1, mechanism)
        spent = spent_of_epsilon_apart(stream, cells)
        assert spent <= 1 if neighbours == "add-or-remove-one" else spent <= Fraction(1, 2)
        assert 2 * spent > 0.99


def spent_of_epsilon_apart(stream, cells):
    """What a record of each cell spends at one step, over all levels."""
    return max(
        sum(
            (
                Fraction(int(np.abs(answers).sum())) / noise.epochs[0].law.scale
                for answers, noise in zip(parts, stream._noises, strict=True)
            ),
            Fraction(0),
        )
        for parts in answers_of(stream._questions, cells)
    )


# --- rho


def tree_flows(horizon, base):
    """Changes of the nodes' noise, of a record that comes at each step: along shortest paths.

    From each boundary to the last one, by breadth first from there, so that paths are of one tree.
    """
    matrix = reference.tree_matrix(horizon, base)
    nodes = reference.mechanisms.nodes(horizon, base)
    step, before = {horizon: 0}, {}
    queue = [horizon]
    for here in queue:
        for column, (first, end) in enumerate(nodes):
            for one, other in ((first, end), (end, first)):
                if one == here and other not in step:
                    step[other], before[other] = step[here] + 1, (column, here)
                    queue.append(other)
    flows = []
    for boundary in range(horizon):
        flow, at = np.zeros(len(nodes), np.int64), boundary
        while at != horizon:
            column, after = before[at]
            flow[column] += 1 if after > at else -1
            at = after
        assert np.array_equal(matrix @ flow, np.arange(horizon) >= boundary)
        flows.append(flow)
    return flows


@pytest.mark.parametrize("base", [2, 3])
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), SIZES)
def test_rho_of_the_dyadic_tree(horizon, cells, neighbours, base):
    flows = tree_flows(horizon, base)
    assert all(one @ other >= 0 for one in flows for other in flows)
    rho = Fraction(1, 7)
    mechanism = DyadicTree(rho=rho, base=base, neighbours=neighbours)
    stream = RunningCDF(dp.Grid.uniform(0, 1, cells), horizon, mechanism)
    (part,), (noise,) = stream._questions.parts, stream._noises
    largest = max(
        sum(int((part_of**2).sum()) for part_of in change)
        for change in never_and_moved(stream._questions, flows, cells, neighbours)
    )
    claimed = 2 * rho * noise.draws.law.sigma_squared
    assert largest <= claimed
    spent = Fraction(largest) / (2 * noise.draws.law.sigma_squared)
    assert spent <= rho
    assert part.amount >= max(
        int((answers[0] ** 2).sum()) for answers in answers_of(stream._questions, cells)
    )
    if neighbours == "add-or-remove-one":
        assert spent > 0.999 * rho
        law = thinner(noise.draws.law)
        assert Fraction(largest) / (2 * law.sigma_squared) > 1.2 * rho


@pytest.mark.parametrize("base", [2, 3, 5])
def test_paths_of_one_tree_never_cross_an_edge_in_two_directions(base):
    """docs/proofs/running-cdf.md: so squares of a record that moves to other counters add up."""
    for horizon in range(1, 40):
        flows = np.array(tree_flows(horizon, base))
        assert (flows @ flows.T >= 0).all()
        farthest = (flows**2).sum(axis=1).max()
        for neighbours, times in (("replace-one", 2), ("add-or-remove-one", 1)):
            mechanism = DyadicTree(1, base=base, neighbours=neighbours)
            noise = mechanism.noise(horizon, width=2, change=Change(Fraction(3), apart=True))
            assert noise.draws.law.scale == 3 * times * farthest


def weights_of(buffers, horizon):
    """The weights of B, exactly, and those of C = B^-1 A."""

    def number(row):
        return Fraction(int(row[0]), 2 ** (31 + int(row[1])))

    decays = [number(row) for row in buffers.decays]
    level, *weights = [number(row) for row in buffers.weights]
    b = [Fraction(1)] + [
        level + sum(w * (1 - decay) ** k for w, decay in zip(weights, decays, strict=True))
        for k in range(horizon - 1)
    ]
    c = []
    for k in range(horizon):  # b * c = 1, 1, 1, ...
        c.append(1 - sum(b[k - i] * c[i] for i in range(k)))
    return b, c


def toeplitz_shifts(noise, horizon):
    """What a record of each step shifts the draws by, in counts: columns of C, scaled."""
    _, c = weights_of(noise.inner.buffers, horizon)
    c = np.array([float(value) for value in c])
    return [
        np.concatenate([np.zeros(step), c[: horizon - step]])
        * float(noise._scales()[step] / 2**noise.inner.bits)
        for step in range(horizon)
    ]


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), SIZES)
def test_rho_of_the_buffers(horizon, cells, neighbours):
    rho = Fraction(1, 7)
    mechanism = BufferedToeplitz(rho=rho, neighbours=neighbours)
    stream = RunningCDF(dp.Grid.uniform(0, 1, cells), horizon, mechanism)
    (noise,) = stream._noises
    columns = toeplitz_shifts(noise, horizon)
    assert all((column >= 0).all() for column in columns)
    noise = noise.inner
    largest = 4**noise.bits * max(
        sum(float((part_of**2).sum()) for part_of in change)
        for change in never_and_moved(stream._questions, columns, cells, neighbours)
    )
    sigma_squared = noise.draws.law.sigma_squared
    assert largest <= 2 * rho * sigma_squared
    if neighbours == "add-or-remove-one":
        assert largest > 0.99 * 2 * rho * sigma_squared
        assert largest > 1.2 * 2 * rho * sigma_squared * Fraction(4, 5) ** 2


def drawn_for(noise, wanted, horizon):
    """Draws whose noise by the kernel is what is wanted, step by step: what explains an output."""
    held = np.zeros((2 * len(noise.buffers.decays) + 1, wanted.shape[1]), np.int64)
    draws = np.empty_like(wanted)
    for step in range(horizon):
        out, nothing = np.empty_like(wanted[:1]), np.zeros_like(wanted[:1])
        kernels.buffered(out, nothing, held.copy(), noise.buffers.decays, noise.buffers.weights)
        draws[step] = wanted[step] - out[0]
        kernels.buffered(
            out, draws[step : step + 1], held, noise.buffers.decays, noise.buffers.weights
        )
        assert np.array_equal(out[0], wanted[step])
    return draws


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), [(1, 1), (2, 2), (3, 2), (4, 3)])
@pytest.mark.parametrize("rho", [Fraction(1, 7), Fraction(1, 10**6)])
def test_rho_of_the_buffers_with_all_rounding(horizon, cells, neighbours, rho):
    """The very draws, before and after, that explain the same outputs of the kernel."""
    mechanism = BufferedToeplitz(rho=rho, neighbours=neighbours)
    stream = RunningCDF(dp.Grid.uniform(0, 1, cells), horizon, mechanism)
    (noise,) = stream._noises
    rng = np.random.default_rng(1)
    steps = [(np.arange(horizon) >= step).astype(np.int64) for step in range(horizon)]
    scales, noise = noise._scales()[:, None], noise.inner
    allowed = 2 * rho * noise.draws.law.sigma_squared
    for change in never_and_moved(stream._questions, steps, cells, neighbours):
        for _ in range(3):
            shape = change[0].shape
            deviation = float(noise.draws.law.sigma_squared) ** 0.5
            wanted = np.rint(rng.normal(0.0, 2 * deviation, shape)).astype(np.int64)
            moved = np.diff(change[0], axis=0, prepend=0) * scales  # the scaled increments
            other = wanted + np.cumsum(moved, axis=0)
            apart = drawn_for(noise, wanted, horizon) - drawn_for(noise, other, horizon)
            assert sum(int(d) ** 2 for d in apart.ravel()) <= allowed


def test_without_a_horizon_the_absolute_changes_are_bounded_by_the_squares():
    """What the bound of rounding takes for one record's absolute changes, in all counters."""
    for cells in (1, 2, 3, 30, 500):
        (part,) = questions(cells, is_gaussian=True).parts
        for answers in answers_of(questions(cells, is_gaussian=True), cells):
            absolutes = int(np.abs(answers[0]).sum())
            assert absolutes**2 <= min(part.width, int(part.amount)) * part.amount


# --- samples


class Thin(RunningCDF):
    """A broken stream: its noise is 20 % too small, so it overspends by 25 %."""

    __slots__ = ()

    kind = "thin-cdf"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._noises = tuple(replace(n, epochs=thin(n.epochs)) for n in self._noises)


def outputs(stream, batches, replicates):
    """The noisy answers of all steps, of many such streams: all that curves are made of."""
    exact = np.cumsum([stream._questions.ask(np.array(batch)) for batch in batches], axis=0)
    seen = []
    for noise in stream._noises:
        many = replace(noise, width=noise.width * replicates)
        whole, rest, _ = many.next(len(batches), 0, many.start())
        assert not rest.any()
        seen.append(whole.reshape(len(batches), replicates, noise.width))
    noisy = np.concatenate(seen, axis=2) + exact[:, None]
    return noisy.transpose(1, 0, 2).reshape(replicates, -1)


@pytest.mark.full
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("neighbours", "first", "second", "look"),
    [
        ("add-or-remove-one", [[5], [5]], [[4], [5]], [[1, 0], [0, 1]]),
        # at another step and with another value; it shows in the first answer, and in what the
        # second step adds to the second answer
        ("replace-one", [[5, 4], [4, 4]], [[4, 4], [4, 5]], [[1, 0, 0, 0], [0, -1, 0, 1]]),
    ],
)
def test_claim_holds_and_a_fifth_less_noise_is_caught(neighbours, first, second, look):
    epsilon = 3.0
    grid = dp.Grid.uniform(0, 1, len(first[0]))
    bounds = []
    for kind in (RunningCDF, Thin):
        stream = kind(grid, 2, ConsistentTree(epsilon, neighbours=neighbours, branching=(2,)))
        pair = [outputs(stream, batches, 1_000_000) for batches in (first, second)]
        bounds.append(both_ways(*(seen @ np.transpose(look) for seen in pair)))
    assert 0.75 * epsilon < bounds[0] <= epsilon < bounds[1]
