"""The consistent tree: exact losses of all outputs together, and lower bounds from samples."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.streams import ConsistentTree
from tests.audit.harness import both_ways, least_shift, thinner
from tests.reference import consistent as reference
from tests.streams.counters import releases
from tests.streams.test_consistent_tree import by_kernel

RELATIONS = ["replace-one", "add-or-remove-one"]


def scale(branching, neighbours):
    mechanism = ConsistentTree(1, neighbours=neighbours, branching=branching)
    return mechanism.noise(math.prod(branching)).epochs[0].law.scale


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("branching", [(1,), (4,), (2, 2), (3, 2), (1, 3), (2, 2, 2)])
def test_claims_are_exactly_what_integer_programming_finds(branching, neighbours):
    sums, invariants, _ = reference.consistent_matrices(branching)
    horizon = len(sums)
    steps = np.arange(horizon)
    least = max(
        least_shift(
            np.vstack([sums, invariants]),
            np.concatenate([(steps >= a) & (steps < b), np.zeros(len(invariants))]),
        )
        for a in range(horizon)
        for b in range(a + 1, horizon + 1)
        if b == horizon or neighbours == "replace-one"
    )
    assert scale(branching, neighbours) == least


def never(step, before):
    return np.zeros(before.shape[1], int)


def always_at(wanted):
    return lambda step, before: np.full(before.shape[1], int(step == wanted))


def late(step, before):
    """The record comes at step 1 after an odd first output, and otherwise at the last one."""
    if step == 0:
        return np.zeros(before.shape[1], int)
    odd = before[0] % 2 == 1
    return np.where(odd, step == 1, step == len(before) - 1).astype(int)


def law_of_outputs(branching, noise_scale, world, reach):
    """The log-probability of each output of all steps, if all noise is within a reach."""
    sums, _, _ = reference.consistent_matrices(branching)
    draws = np.array(list(itertools.product(range(-reach, reach + 1), repeat=sums.shape[1]))).T
    whole, rest = by_kernel(branching, draws)
    outputs = whole.copy()
    counted = np.zeros(draws.shape[1], int)
    for step in range(len(outputs)):
        counted += world(step, outputs)
        outputs[step] += counted
    chances = -np.abs(draws).sum(axis=0) / noise_scale
    seen = [row.tobytes() for row in np.vstack([outputs, rest.view(np.int64)]).T.copy()]
    law = {}
    for output, chance in zip(seen, chances, strict=True):
        law[output] = np.logaddexp(law.get(output, -np.inf), chance)
    assert len(law) == len(seen)  # nothing is hidden, so that no output lacks a part of its chance
    return law


def loss(branching, noise_scale, first, second, reach):
    laws = [law_of_outputs(branching, noise_scale, world, reach) for world in (first, second)]
    both = laws[0].keys() & laws[1].keys()
    return max(abs(laws[0][output] - laws[1][output]) for output in both)


@pytest.mark.parametrize(("branching", "reach"), [((2,), 9), ((1, 2), 6), ((3,), 6), ((2, 2), 2)])
def test_the_joint_law_of_all_outputs_loses_what_is_claimed_and_no_more(branching, reach):
    last = math.prod(branching) - 1
    for neighbours, second in (
        ("add-or-remove-one", never),
        ("replace-one", always_at(last)),
        ("replace-one", never),
        ("replace-one", late),
    ):
        claimed = float(scale(branching, neighbours))
        spent = loss(branching, claimed, always_at(0), second, reach)
        assert spent <= 1 + 1e-9
        if neighbours == "add-or-remove-one":
            assert spent > 1 - 1e-9
            assert loss(branching, 0.8 * claimed, always_at(0), second, reach) > 1.2


@pytest.mark.parametrize(("branching", "reach"), [((2,), 9), ((3,), 6), ((2, 2), 2)])
def test_a_moved_record_loses_all_of_epsilon(branching, reach):
    claimed = float(scale(branching, "replace-one"))
    moved = always_at(0), always_at(math.prod(branching) - 1)
    assert abs(loss(branching, claimed, *moved, reach) - 1) < 1e-9
    assert loss(branching, 0.8 * claimed, *moved, reach) > 1.2


def thin(noise):
    """Noise that is 20 % too small, so it overspends by 25 %."""
    return replace(
        noise, epochs=tuple(epoch._replace(law=thinner(epoch.law)) for epoch in noise.epochs)
    )


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("epsilon", "branching", "neighbours", "first", "second", "replicates"),
    [
        (1.0, (1,), "replace-one", [3], [2], 60_000),
        (3.0, (2,), "replace-one", [3, 2], [2, 3], 600_000),
        (3.0, (1, 2), "add-or-remove-one", [3, 2], [2, 2], 600_000),
    ],
)
def test_claim_holds_and_a_fifth_less_noise_is_caught(
    epsilon, branching, neighbours, first, second, replicates
):
    mechanism = ConsistentTree(epsilon, neighbours=neighbours, branching=branching)
    noise = mechanism.noise(len(first), width=replicates)
    assert both_ways(releases(noise, first), releases(noise, second)) <= epsilon
    if len(branching) == 1:  # rounded outputs of taller trees hide a part
        noise = thin(noise)
        assert both_ways(releases(noise, first), releases(noise, second)) > epsilon
