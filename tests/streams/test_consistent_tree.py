"""The consistent tree: least squares at each step, in whole or in parts, and saved exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.kernels.trees import consistent as kernels
from dpcore.streams import ConsistentTree, RunningCount
from dpcore.streams import consistent_tree as module
from dpcore.streams.base import Change, from_form, to_form
from tests.reference import consistent as reference

TREES = [(1,), (5,), (2, 2), (3, 4), (1, 3, 2), (2, 3, 2), (4, 1, 3), (2, 2, 2, 2)]
ADDED = "add-or-remove-one"


def rng(seed=1):
    return np.random.default_rng(seed)


def by_kernel(branching, draws, cuts=()):
    """Whole and rest of all steps of a tree, (T, W) each, from (nodes, W) draws."""
    size, width = math.prod(branching), draws.shape[1]
    epoch = module._Epoch(0, size, branching, None)
    whole, rest = np.empty((size, width), np.int64), np.empty((size, width))
    nodes = np.zeros((sum(branching), width), np.int64)
    corrections = np.zeros((len(branching), width))
    for first, last in zip([0, *cuts], [*cuts, size], strict=True):
        taken = draws[epoch.draws_by(first) : epoch.draws_by(last)]
        part = slice(first, last)
        arguments = whole[part], rest[part], taken, nodes, corrections, epoch.children, first
        kernels.path_noise(*arguments)
    return whole, rest


@pytest.mark.parametrize("branching", TREES)
def test_each_step_is_what_least_squares_leaves_of_the_finished_nodes(branching):
    sums, _, _ = reference.consistent_matrices(branching)
    draws = rng().integers(-99, 100, (sums.shape[1], 7))
    whole, rest = by_kernel(branching, draws)
    assert (whole == sums @ draws).all()
    expected = reference.consistent_matrix(branching) @ draws
    np.testing.assert_allclose(whole + rest, expected, atol=1e-9)


@pytest.mark.parametrize("branching", TREES)
def test_deviations_are_those_of_the_matrix(branching):
    steps = np.arange(1, math.prod(branching) + 1)
    variances = (reference.consistent_matrix(branching) ** 2).sum(axis=1)
    np.testing.assert_allclose(module._variances(branching, steps), variances, rtol=1e-9)


@pytest.mark.parametrize("branching", TREES)
def test_refined_sums_count_every_record_once(branching):
    refined = reference.consistent_matrix(branching)
    for step in range(len(refined)):
        counted = refined @ reference.record_shift(branching, step)
        np.testing.assert_allclose(counted, np.arange(len(refined)) >= step, atol=1e-9)


@pytest.mark.parametrize("branching", [(3, 4), (2, 3, 2), (2, 2, 2, 2)])
def test_the_rest_has_the_same_bits_in_both_worlds(branching):
    nodes = reference.consistent_matrices(branching)[0].shape[1]
    draws = rng().integers(-(2**40), 2**40, (nodes, 5))
    whole, rest = by_kernel(branching, draws)
    steps = np.arange(math.prod(branching))
    for step in steps:
        moved = draws + reference.record_shift(branching, step)[:, None]
        whole_after, rest_after = by_kernel(branching, moved)
        assert (whole_after - whole == (steps >= step)[:, None]).all()
        assert rest_after.tobytes() == rest.tobytes()


@pytest.mark.parametrize("branching", [(5,), (3, 4), (2, 3, 2), (4, 1, 3)])
def test_bits_do_not_depend_on_cuts(branching):
    nodes = reference.consistent_matrices(branching)[0].shape[1]
    draws = rng().integers(-99, 100, (nodes, 3))
    at_once = by_kernel(branching, draws)
    for cuts in ([1], [2, 3], list(range(1, math.prod(branching)))):
        for cut, whole in zip(by_kernel(branching, draws, cuts), at_once, strict=True):
            assert cut.tobytes() == whole.tobytes()


@pytest.mark.parametrize("horizon", [1, 20, 300, None])
@pytest.mark.parametrize("neighbours", ["replace-one", ADDED])
def test_saved_in_any_state_it_goes_on_with_the_same_bits(horizon, neighbours):
    mechanism = ConsistentTree(0.7, neighbours=neighbours)
    steps = horizon or 5000
    noise = mechanism.noise(horizon, rng(), width=2)
    whole, rest, _ = noise.next(steps, 0, noise.start())
    cut, other = mechanism.noise(horizon, rng(), width=2), mechanism.noise(horizon, width=2)
    at, state, lengths = 0, cut.start(), rng(3)
    ends = set(np.cumsum([epoch.size for epoch in noise.epochs]).tolist())
    while at < steps:
        count = min(int(lengths.integers(1, 400)), steps - at)
        count = min([count, *(end - at for end in ends if end > at)])  # also at the ends of epochs
        part = slice(at, at + count)
        more_whole, more_rest, state = cut.next(count, at, state)
        assert (more_whole == whole[part]).all()
        assert more_rest.tobytes() == rest[part].tobytes()
        at += count
        cut, state = other.restored(at, cut.describe(state))


def test_a_release_goes_on_from_its_file(tmp_path):
    visitors = RunningCount(50, ConsistentTree(1.0))
    visitors.extend(np.ones(20, int))
    visitors.save(tmp_path / "saved")
    again = RunningCount.resume(tmp_path / "saved")
    assert again.step == 20
    assert again.mechanism == ConsistentTree(1.0)
    again.extend(np.ones(30, int))


def damage(stored, name, value):
    return {**stored, name: value}


def test_contradictory_states_are_refused():
    noise = ConsistentTree(1.0).noise(30, rng())
    _, _, state = noise.next(5, 0, noise.start())
    stored = noise.describe(state)
    not_finite = np.full(state.corrections.shape, np.nan).view(np.int64).tolist()
    for name, value in (
        ("scale", [1, 1]),
        ("branching", [30]),
        ("start", 1),
        ("nodes", stored["nodes"][1:]),
        ("corrections", not_finite),
        ("rest", stored["rest"] * 2),
        ("nodes", [[0.5] for _ in stored["nodes"]]),
    ):
        with pytest.raises((dp.DpcoreError, TypeError, ValueError)):
            noise.restored(5, damage(stored, name, value))


@pytest.mark.parametrize("horizon", [40, None])
@pytest.mark.needs_jit
def test_deviations_are_those_of_simulated_noise(horizon):
    width, steps = 20_000, 40
    noise = ConsistentTree(1.0, neighbours=ADDED).noise(horizon, rng(), width=width)
    whole, rest, _ = noise.next(steps, 0, noise.start())
    claimed = noise.deviation(np.arange(1, steps + 1))
    np.testing.assert_allclose((whole + rest).std(axis=1), claimed, rtol=0.04)


def test_shifts_by_brute_force_are_what_is_claimed():
    for branching in TREES:
        for horizon in range(1, math.prod(branching) + 1):
            shifts = [reference.record_shift(branching, step) for step in range(horizon)]
            never = max(np.abs(shift).sum() for shift in shifts)
            moved = max(np.abs(a - b).sum() for a in shifts for b in shifts)
            for neighbours, apart, changes in (
                (ADDED, False, never),
                (ADDED, True, never),
                ("replace-one", False, max(never, moved)),
                ("replace-one", True, 2 * never),
            ):
                mechanism = ConsistentTree(1, neighbours=neighbours, branching=branching)
                for amount in (Fraction(1), Fraction(3)):
                    noise = mechanism.noise(horizon, change=Change(amount, apart))
                    assert noise.epochs[0].law.scale == changes * amount


def test_a_record_costs_epsilon_in_whichever_epochs_it_is():
    for neighbours, spent in ((ADDED, 1), ("replace-one", Fraction(1, 2))):
        noise = ConsistentTree(2, neighbours=neighbours).noise(None)
        for epoch in noise.epochs:
            assert len(epoch.branching) / epoch.law.scale == 2 * spent
        ends = np.cumsum([epoch.size for epoch in noise.epochs]).tolist()
        assert [epoch.start for epoch in noise.epochs] == [0, *ends[:-1]]
        assert ends[-1] >= 2**32


@pytest.mark.parametrize("horizon", [1, 2, 7, 100, 1024, 2**20, 2**32])
def test_the_tree_that_is_chosen_reaches_the_horizon_and_no_further_than_needed(horizon):
    branching = module._best(horizon)
    below = math.prod(branching[1:])
    assert (branching[0] - 1) * below < horizon <= branching[0] * below


def test_noise_is_a_fourth_of_that_of_the_dyadic_tree():
    deviations = ConsistentTree(1.0, neighbours=ADDED).noise_deviation(1024)
    assert np.sqrt((deviations**2).mean()) < 11.0
    assert deviations.max() < 13.9


def test_noise_without_a_horizon_is_as_stated_also_where_epochs_have_just_begun():
    steps = np.unique(np.geomspace(16, 2**24, 150).astype(np.int64))
    growing = ConsistentTree(1.0).noise_deviation(None, steps)
    known = []
    for horizon in steps.tolist():
        some = np.unique(np.linspace(1, horizon, 500).astype(np.int64))
        known.append(ConsistentTree(1.0).noise_deviation(horizon, some).max())
    assert 1.35 < (growing / np.array(known)).max() < 1.45


def test_what_is_no_pure_budget_is_refused():
    for more in ({"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0, "rho": 0.1}):
        with pytest.raises(dp.ParameterError, match="BufferedToeplitz"):
            ConsistentTree(**more)
    with pytest.raises(dp.ParameterError, match="epsilon"):
        ConsistentTree()


@pytest.mark.parametrize("branching", ["best", (), (0, 3), (2,) * 33, (5000,), (2**12,) * 6])
def test_other_branchings_are_refused(branching):
    with pytest.raises(dp.ParameterError, match="branching"):
        ConsistentTree(1.0, branching=branching)


def test_a_branching_must_fit_the_horizon():
    for horizon in (13, None):
        with pytest.raises(dp.ParameterError, match="branching"):
            ConsistentTree(1.0, branching=(3, 4)).noise(horizon)
    with pytest.raises(dp.DtypeError, match="branching"):
        ConsistentTree(1.0, branching=3)


def test_written_and_read_again_it_is_the_same():
    for mechanism in (ConsistentTree(0.1), ConsistentTree(1, branching=(3, 4), neighbours=ADDED)):
        assert from_form(to_form(mechanism)) == mechanism
