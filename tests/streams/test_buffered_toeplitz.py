"""Buffered Toeplitz noise: whole numbers, norms of its matrices, deviations, refusals."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.kernels.trees import buffers as kernels
from dpcore.noise import DiscreteGaussian
from dpcore.streams import BufferedToeplitz, RunningCount
from dpcore.streams.base import Change
from dpcore.streams.buffers import buffers_for
from tests import reference

HORIZONS = st.one_of(st.none(), st.integers(1, 300), st.integers(1, 2**32))
RELATIONS = ["replace-one", "add-or-remove-one"]


def noise_of(draws, buffers):
    out = np.empty_like(draws)
    held = np.zeros((2 * len(buffers.decays) + 1, draws.shape[1]), np.int64)
    kernels.buffered(out, draws, held, buffers.decays, buffers.weights)
    return out


# --- the kernel


@settings(max_examples=60)
@given(HORIZONS, st.integers(1, 40), st.integers(1, 3), st.integers(0, 31), st.integers(0, 2**32))
def test_kernel_is_the_same_in_whole_numbers_of_any_size(horizon, steps, width, bits, seed):
    buffers = buffers_for(horizon)
    draws = np.random.default_rng(seed).integers(-(2**bits), 2**bits, (steps, width), endpoint=True)
    out = noise_of(draws, buffers)
    for column, noise in zip(draws.T, out.T, strict=True):
        assert reference.buffered_noise(column, buffers) == noise.tolist()


@settings(max_examples=40)
@given(HORIZONS, st.integers(1, 60), st.integers(0, 31), st.integers(0, 2**32))
def test_rounding_stays_in_an_interval_of_the_claimed_length(horizon, steps, bits, seed):
    buffers = buffers_for(horizon)
    draws = np.random.default_rng(seed).integers(-(2**bits), 2**bits, steps, endpoint=True)
    row = reference.exact_weights(buffers, steps)
    unit, count = 2.0**-kernels.FINER, len(buffers.decays)
    for t, noise in enumerate(noise_of(draws[:, None], buffers)[:, 0]):
        exact = sum(row[t - j] * int(draws[j]) for j in range(t + 1))
        assert -1 - (count + 2) * unit < float(noise - exact) < 3 * unit
    assert buffers.rounding == 1 + (count + 5) * unit


def test_rounding_does_not_grow_with_the_steps():
    """One sign and the slowest buffers would add up all that is cut off."""
    buffers = buffers_for(2**32)
    draws = np.full((200_000, 1), 2**20 + 1)
    noise = noise_of(draws, buffers)[-1, 0]
    steps = len(draws)
    decays = [(int(m), int(k)) for m, k in buffers.decays]
    exact = (2**20 + 1) * (1 + (steps - 1) * buffers.level)
    for (m, k), share in zip(decays, buffers.shares, strict=True):
        rate = m / 2 ** (31 + k)
        exact += (2**20 + 1) * share * (1 - rate) * -np.expm1((steps - 1) * np.log1p(-rate)) / rate
    assert abs(noise - exact) < 2


# --- the matrices


@settings(max_examples=200)
@given(HORIZONS)
def test_weights_are_positive_so_that_c_is_positive_and_falls(horizon):
    buffers = buffers_for(horizon)
    assert buffers.level > 0
    assert np.all(buffers.shares > 0)
    assert np.all(buffers.parts > 0)
    assert np.all(np.diff(buffers.poles) > 0)
    assert np.all((buffers.poles[:-1] < buffers.zeros) & (buffers.zeros < buffers.poles[1:]))
    for m, k in [*buffers.decays, *buffers.weights]:
        assert 2**30 <= m < 2**31
        assert 0 <= k <= 31


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 20, 64, 150])
def test_norms_are_those_of_the_matrices(horizon):
    buffers = buffers_for(horizon)
    b = np.array([float(weight) for weight in reference.exact_weights(buffers, horizon)])
    c = reference.inverse_series(b)
    matrix = reference.toeplitz(c)
    sums = np.tril(np.ones((horizon, horizon)))
    assert np.allclose(reference.toeplitz(b) @ matrix, sums, rtol=0, atol=1e-12)
    ages = np.arange(horizon)[:, None]
    assert np.allclose((1 - buffers.poles) ** ages @ buffers.parts, c, rtol=0, atol=1e-9)
    columns = np.hstack([matrix, np.zeros((horizon, 1))])  # the last: it never comes
    apart = ((columns[:, :, None] - columns[:, None, :]) ** 2).sum(axis=0).max()
    claims = [buffers.one, buffers.moved, buffers.sum_of_column]
    exact = [(c**2).sum(), apart, c.sum()]
    assert np.allclose(claims, exact, rtol=2e-6)
    assert np.all(np.array(claims) >= exact)
    inverse = np.linalg.inv(reference.toeplitz(b))
    assert np.linalg.norm(inverse, 2) <= buffers.inverse_norm <= 1.5
    assert np.allclose(buffers.squares_of_b(np.arange(1, horizon + 1)), np.cumsum(b**2))


@pytest.mark.parametrize("horizon", [2**12, 2**20 + 17, 2**32, None])
def test_norms_of_long_streams_are_right_to_ten_digits(horizon):
    buffers = buffers_for(horizon)
    last = buffers.horizon
    exact = reference.squares_in_digits(buffers, last)
    assert buffers.one == pytest.approx(exact * (1 + 2**-20), rel=1e-10)
    for lag in (1, 1000, last // 2, last - 1):
        product = float(buffers.products(np.array([lag]))[0])
        assert product == pytest.approx(reference.squares_in_digits(buffers, last, lag), rel=1e-9)


def test_lags_of_a_grid_bound_all_lags():
    with mock.patch("dpcore.streams.buffers._ALL_LAGS", 2**20):
        exact = buffers_for.__wrapped__(30_000).moved
    assert exact < buffers_for.__wrapped__(30_000).moved < 1.002 * exact


# --- deviations


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("horizon", [20, None])
def test_deviation_is_that_of_the_outputs(neighbours, horizon):
    mechanism = BufferedToeplitz(rho=0.1, neighbours=neighbours)
    noise = mechanism.noise(horizon, np.random.default_rng(5), width=20_000)
    ones, nothing = np.ones((20, 20_000), int), np.zeros(20_000, int)
    outputs, _ = noise.outputs(ones, nothing, 0, noise.start())
    errors = outputs - np.arange(1, 21)[:, None]
    claimed = mechanism.noise_deviation(horizon, np.arange(1, 21))
    assert np.allclose(errors.std(axis=1), claimed, rtol=0.03)
    assert np.abs(errors.mean(axis=1) / claimed).max() < 0.04


def test_deviations_are_near_the_least_that_is_known():
    mechanism = BufferedToeplitz(rho=0.5, neighbours="add-or-remove-one")
    for horizon in (128, 1024, 2**14, 2**16):
        deviations = mechanism.noise_deviation(horizon)
        root_mean_square = np.sqrt(np.mean(deviations**2))
        least = reference.nuclear_bound(horizon)
        assert deviations.max() <= 0.96 * reference.least_toeplitz(horizon)
        assert deviations[-1] <= 0.86 * reference.least_toeplitz(horizon)
        assert least < root_mean_square < 1.05 * least
    for largest, factor in ((False, 1.013), (True, 1.056)):
        low, high = reference.least_deviations(64, largest)
        assert reference.nuclear_bound(64) < low <= high < low * (1 + 1e-4)
        deviations = mechanism.noise_deviation(64)
        mean = deviations.max() if largest else np.sqrt(np.mean(deviations**2))
        assert low < mean < factor * low


@pytest.mark.parametrize(
    ("neighbours", "first", "most"),
    [("add-or-remove-one", 1, 1.57), ("replace-one", 1, 1.98), ("replace-one", 16, 1.59)],
)
def test_without_a_horizon_every_step_is_near_the_best_for_it(neighbours, first, most):
    mechanism = BufferedToeplitz(rho=0.5, neighbours=neighbours)
    steps = np.array([2**power for power in range(33) if 2**power >= first])
    unknown = mechanism.noise_deviation(None, steps)
    known = [mechanism.noise_deviation(int(t), min(int(t), 2**16) // 2 + 1) for t in steps]
    known = np.maximum(known, [mechanism.noise_deviation(int(t), int(t)) for t in steps])
    assert (unknown / known).max() < most


# --- the interface


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(0, 60), st.integers(1, 3), st.integers(0, 2**32))
def test_noise_does_not_depend_on_how_calls_divide_the_steps(steps, cut, width, seed):
    cut = min(cut, steps)
    noise = BufferedToeplitz(rho=0.3).noise(60, np.random.default_rng(seed), width=width)
    start = noise.start()
    whole, rest, last = noise.next(steps, 0, start)
    first = noise.next(cut, 0, start)
    before = first[2].held.copy()
    second = noise.next(steps - cut, cut, first[2])
    assert np.array_equal(before, first[2].held)
    assert np.array_equal(whole, np.concatenate([first[0], second[0]]))
    assert np.array_equal(rest, np.concatenate([first[1], second[1]]))
    assert np.array_equal(last.held, second[2].held)
    assert np.all((rest >= 0) & (rest < 1))


@pytest.mark.parametrize("horizon", [40, None])
def test_a_saved_count_goes_on(tmp_path, horizon):
    counts = [
        RunningCount(horizon, BufferedToeplitz(1.0, delta=1e-6), rng=np.random.default_rng(3))
        for _ in range(2)
    ]
    increments = np.arange(40)
    whole = counts[0].extend(increments)
    counts[1].extend(increments[:17])
    counts[1].save(tmp_path / "count")
    again = RunningCount.resume(tmp_path / "count")
    assert np.array_equal(again.extend(increments[17:]), whole[17:])


def test_damaged_states_are_refused():
    noise = BufferedToeplitz(rho=0.5).noise(20, np.random.default_rng(1), width=2)
    _, _, state = noise.next(5, 0, noise.start())
    stored = noise.describe(state)
    again, restored = noise.restored(5, stored)
    assert np.array_equal(again.next(5, 5, restored)[0], noise.next(5, 5, state)[0])
    held = stored["held"]
    for damage in (
        {"lattice": [*stored["lattice"][:2], 3, *stored["lattice"][3:]]},
        {"held": held[:-1]},
        {"held": [*held[:-1], [-1, 0]]},
        {"held": [*held[:-1], [2**40, 0]]},
        {"held": [[0.5, 0], *held[1:]]},
    ):
        with pytest.raises((ValueError, TypeError)):
            noise.restored(5, stored | damage)


def test_pure_epsilon_is_sent_to_the_consistent_tree():
    with pytest.raises(ParameterError, match="ConsistentTree"):
        BufferedToeplitz(1.0)


def test_small_budgets_are_refused_before_anything_is_drawn():
    with mock.patch.object(DiscreteGaussian, "fill") as fill:
        for rho, horizon, why in (
            (1e-5, None, "rounding"),
            (1e-8, 2**20, "rounding"),
            (1e-20, 10, "exceeds"),
        ):
            with pytest.raises(ParameterError, match=f"rho is too small: .*{why}"):
                RunningCount(horizon, BufferedToeplitz(rho=rho))
        with pytest.raises(ParameterError, match="epsilon is too small"):
            RunningCount(None, BufferedToeplitz(1e-3, delta=1e-9))
    fill.assert_not_called()


def test_several_counters_pay_for_what_a_record_changes():
    one = BufferedToeplitz(rho=0.5).noise(100)
    four = BufferedToeplitz(rho=0.5).noise(100, width=7, change=Change(4))
    apart = BufferedToeplitz(rho=0.5).noise(100, width=7, change=Change(1, apart=True))
    at = np.array([100])
    assert four.deviation(at) == pytest.approx(2 * one.deviation(at), rel=1e-5)
    added = BufferedToeplitz(rho=0.5, neighbours="add-or-remove-one").noise(100)
    assert apart.deviation(at) == pytest.approx(np.sqrt(2) * added.deviation(at), rel=1e-5)
