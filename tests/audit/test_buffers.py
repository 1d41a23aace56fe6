"""Buffered Toeplitz noise: shifts of the draws, joint laws of all outputs, and lower bounds."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpcore.noise import DiscreteGaussian
from dpcore.streams import BufferedToeplitz, rescaled
from dpcore.streams.base import Change
from dpcore.streams.buffers import buffers_for
from tests import reference
from tests.audit.harness import delta_lower_bound

ONE = Change()
RELATIONS = ["replace-one", "add-or-remove-one"]


def claimed(horizon, neighbours, bits, width=1, change=ONE):
    """The squared norm of the shift of all draws, without and with rounding."""
    mechanism = BufferedToeplitz(rho=1, neighbours=neighbours)
    squares = mechanism._squares(buffers_for(horizon), width, change, bits)
    return tuple(float(square) for square in squares)


def changes(horizon, neighbours):
    """Changes of the counts of one record at each step: from a + 1 on, until b."""
    steps = np.arange(horizon)
    for a in range(horizon):
        for b in range(a + 1, horizon + 1):
            if neighbours == "replace-one" or b == horizon:
                yield ((steps >= a) & (steps < b)).astype(int)


def shift(draws, change, bits, buffers):
    """Draws of the other stream that explain the same outputs, less the draws of the first."""
    other = []
    outputs = np.array(reference.buffered_noise(draws, buffers), object)
    for t, noise in enumerate(outputs - np.array(change, object) * 2**bits):
        before = reference.buffered_noise([*other, 0], buffers)[t]
        other.append(int(noise - before))
    return np.array(other) - draws


@pytest.mark.sample(6)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("bits", [0, 1, 3, 8, 20])
@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 8])
def test_no_shift_of_the_draws_is_larger_than_claimed(horizon, bits, neighbours):
    buffers = buffers_for(horizon)
    exact, most = claimed(horizon, neighbours, bits)
    rng = np.random.default_rng(horizon)
    largest = 0
    for change in changes(horizon, neighbours):
        for sign in (1, -1):
            for _ in range(20):
                draws = rng.integers(-(2 ** (bits + 3)), 2 ** (bits + 3), horizon)
                square = int((shift(draws, sign * change, bits, buffers) ** 2).sum())
                largest = max(largest, square)
                assert square <= most
    if bits == 20:
        assert 0.999 * exact < largest  # a claim that is a fifth too small is caught
        assert most < 1.001 * exact


def test_no_shift_is_larger_if_whoever_sees_the_outputs_places_the_record():
    """Of all draws of three steps, and all places of the record that may depend on outputs."""
    buffers = buffers_for(3)
    for neighbours, bits in itertools.product(RELATIONS, (0, 2)):
        _, most = claimed(3, neighbours, bits)
        for draws in itertools.product(range(-3, 4), repeat=3):
            for change in changes(3, neighbours):
                assert (shift(np.array(draws), change, bits, buffers) ** 2).sum() <= most


@pytest.mark.parametrize("apart", [False, True])
def test_shifts_of_several_counters_add_up_to_no_more_than_claimed(apart):
    buffers, bits = buffers_for(6), 3
    _, most = claimed(6, "replace-one", bits, 4, Change(2, apart))
    rng = np.random.default_rng(1)
    steps = np.arange(6)
    for a, b in itertools.permutations(range(7), 2):
        come, gone = (steps >= a).astype(int), (steps >= b).astype(int)
        parts = [come, come, -gone, -gone] if apart else [come - gone, come - gone]
        for _ in range(20):
            shifts = [shift(rng.integers(-50, 50, 6), part, bits, buffers) for part in parts]
            assert sum((part**2).sum() for part in shifts) <= most


def largest_divergence(horizon, bits, neighbours, sigma_squared, alpha, reach):
    """Of all outputs, in nats times (alpha - 1), at best chosen step by step by who sees them."""
    buffers = buffers_for(horizon)
    law = np.exp(-(np.arange(-200, 201) ** 2) / (2 * sigma_squared))
    law /= law.sum()

    @functools.cache
    def noise(draws):
        return reference.buffered_noise([*draws, 0], buffers)[-1]

    @functools.cache
    def best(first, other, phase):
        """Phase 0: the streams are the same so far; 1, -1: a record more, less; 2: no longer."""
        if len(first) == horizon:
            return 1.0
        if neighbours == "replace-one":
            phases = {0: (0, 1, -1), 1: (1, 2), -1: (-1, 2), 2: (2,)}[phase]
        else:
            phases = {0: (0, 1, -1), 1: (1,), -1: (-1,)}[phase]
        value = 0.0
        for following in phases:
            change = following if following in (1, -1) else 0
            moved = noise(first) - noise(other) - change * 2**bits
            total = 0.0
            for draw in range(-reach, reach + 1):
                if abs(draw + moved) > 190:
                    continue
                p, q = law[draw + 200], law[draw + moved + 200]
                rest = best((*first, draw), (*other, draw + moved), following)
                total += p**alpha * q ** (1 - alpha) * rest
            value = max(value, total)
        return value

    return float(np.log(best((), (), 0)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "reach"), [(1, 30), (2, 16), (3, 8)])
@pytest.mark.parametrize("bits", [0, 1])
def test_joint_law_of_adaptive_streams_keeps_rho(horizon, reach, bits, neighbours):
    exact, most = claimed(horizon, neighbours, bits)
    sigma_squared = 2.0 * 4**bits
    for alpha in (1.1, 2.0):
        spent = largest_divergence(horizon, bits, neighbours, sigma_squared, alpha, reach)
        assert 0 < spent / (alpha - 1) <= alpha * most / (2 * sigma_squared)
        if horizon == 1:
            assert spent / (alpha - 1) > 0.99 * alpha * exact / (2 * sigma_squared)


# --- scaled steps


@pytest.mark.parametrize("bits", [0, 3, 12])
@pytest.mark.parametrize("horizon", [1, 2, 5, 80])
def test_no_shift_of_the_draws_is_larger_than_claimed_if_steps_are_scaled(horizon, bits):
    """The draws of a stream with one record more that give the same scaled increments."""
    buffers = buffers_for(horizon)
    scales = rescaled._scales(buffers, bits)
    _, most = claimed(horizon, "add-or-remove-one", bits)
    rng, largest = np.random.default_rng(1), 0
    for at in range(0, horizon, max(1, horizon // 7)):
        for reach in (0, 3, 2**20):
            draws = rng.integers(-reach, reach, horizon, endpoint=True).tolist()
            released = np.diff(reference.buffered_noise(draws, buffers), prepend=0).tolist()
            other = []
            for step in range(horizon):
                came = int(scales[step]) * (step == at)
                noise = reference.buffered_noise([*other, 0], buffers)
                last = noise[-2] if step else 0
                # With a record more, the increment of the noise is smaller by the scaled record.
                other.append(released[step] - came + last - noise[-1])
            assert np.diff(reference.buffered_noise(other, buffers), prepend=0).tolist() == [
                value - int(scales[step]) * (step == at) for step, value in enumerate(released)
            ]
            shift = sum((y - z) ** 2 for y, z in zip(other, draws, strict=True))
            assert shift <= most
            largest = max(largest, shift)
    if bits == 12:
        assert largest > 0.95 * most
    assert largest > 0


def test_scaled_columns_are_no_longer_than_the_first():
    for horizon in (1, 63, 64, 65, 300):
        buffers = buffers_for(horizon)
        row = [float(weight) for weight in reference.exact_weights(buffers, horizon)]
        columns = np.linalg.inv(reference.toeplitz(row)) @ np.tril(np.ones((horizon, horizon)))
        norms = ((columns * rescaled._factors(buffers)) ** 2).sum(axis=0)
        assert norms.max() <= buffers.one
        assert norms.min() > 0.98 * buffers.one


# --- samples


def farthest(buffers, horizon, neighbours):
    """The change of the counts, and the shift of the draws in counts, with the largest norm."""
    row = [float(weight) for weight in reference.exact_weights(buffers, horizon)]
    whitener = np.linalg.inv(reference.toeplitz(row))
    if neighbours == "add-or-remove-one":  # increments are scaled up
        prefix = np.tril(np.ones((horizon, horizon)))
        whitener = whitener @ prefix * rescaled._factors(buffers) @ np.linalg.inv(prefix)
    change = max(changes(horizon, neighbours), key=lambda c: ((whitener @ c) ** 2).sum())
    return change, whitener


def deltas(mechanism, horizon, *, thin, replicates=1_600_000):
    """A lower bound on delta from samples at epsilon = 1, and the delta of the claim.

    Thin noise spends a fifth more rho.
    """
    noise = mechanism.noise(horizon, np.random.default_rng(2), width=replicates)
    inner = getattr(noise, "inner", noise)
    if thin:
        law = DiscreteGaussian(inner.draws.law.sigma_squared / Fraction(6, 5))
        thinned = replace(inner, draws=replace(inner.draws, law=law))
        noise = thinned if noise is inner else replace(noise, inner=thinned)
    change, whitener = farthest(inner.buffers, horizon, mechanism.neighbours)
    nothing = np.zeros((horizon, replicates), np.int64)
    outputs, _ = noise.outputs(nothing, nothing[0], 0, noise.start())
    statistic = (whitener @ change) @ (whitener @ outputs)
    half = replicates // 2
    first, second = statistic[:half], statistic[half:]
    moved = float(((whitener @ change) ** 2).sum())
    return delta_lower_bound(first + moved, second, 1.0), delta_of(mechanism)


def delta_of(mechanism):
    """The delta of Gaussian noise with the mechanism's rho, at epsilon = 1."""
    spread = np.sqrt(2 * float(mechanism.budget.rho))
    return norm.cdf(spread / 2 - 1 / spread) - np.e * norm.cdf(-spread / 2 - 1 / spread)


@pytest.mark.sample(1)
@pytest.mark.parametrize("neighbours", RELATIONS)
def test_claim_holds_and_an_overspend_of_a_fifth_is_caught(neighbours):
    mechanism = BufferedToeplitz(rho=0.5, neighbours=neighbours)
    low, most = deltas(mechanism, 8, thin=False)
    assert 0.9 * most < low <= most
    low, most = deltas(mechanism, 8, thin=True)
    assert low > most
