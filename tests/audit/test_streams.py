"""Running counts: exact sensitivity, and lower bounds on what streams of outputs give away."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.streams import DyadicTree
from tests import reference
from tests.audit.harness import both_ways, least_shift, thinner
from tests.streams.counters import releases, stepped

RELATIONS = ["replace-one", "add-or-remove-one"]


def scale(horizon, **options):
    law = DyadicTree(**options).noise(horizon).draws.law
    return law.scale if "epsilon" in options else law.sigma_squared


def needed(horizon, base, neighbours="replace-one"):
    """The largest least shift of the noise for a record that comes at another step, or never."""
    matrix = reference.tree_matrix(horizon, base)
    steps = np.arange(horizon)
    # from step a + 1 on the record is counted; b = horizon: in the other input it never comes
    first = 1 if neighbours == "replace-one" else horizon
    return max(
        least_shift(matrix, ((steps >= a) & (steps < b)).astype(int))
        for a in range(horizon)
        for b in range(max(a + 1, first), horizon + 1)
    )


LARGE = [pytest.param(horizon, marks=pytest.mark.full) for horizon in (12, 17, 24, 32)]


@pytest.mark.sample(12)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("base", [2, 3, 4, 8])
@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5, 8, *LARGE])
def test_claims_are_exactly_what_integer_programming_finds(horizon, base, neighbours):
    least = needed(horizon, base, neighbours)
    assert scale(horizon, epsilon=1, base=base, neighbours=neighbours) == least
    if horizon <= 8:
        # a whole shift's squares add up to no less than its absolute values; here they are equal
        assert 2 * scale(horizon, rho=1, base=base, neighbours=neighbours) == least


@pytest.mark.parametrize("base", [2, 3, 4, 5, 8, 16, 63, 64])
def test_claim_is_the_largest_distance_between_any_two_steps(base):
    for horizon in range(1, 64):
        farthest = reference.distances(horizon, base).max()
        assert scale(horizon, epsilon=1, base=base) == farthest, horizon
        if base == 2:
            claimed = scale(horizon, epsilon=1, sensitivity="paper")
            assert claimed == reference.levels(horizon, 2) + 1 >= farthest


def thin(noise):
    """Noise that is 20 % too small, so it overspends by 25 %."""
    return replace(noise, draws=replace(noise.draws, law=thinner(noise.draws.law)))


def test_a_scale_that_is_a_fifth_too_small_is_caught():
    for neighbours in RELATIONS:
        for horizon in (4, 8):
            honest = DyadicTree(epsilon=1, neighbours=neighbours)
            assert thin(honest.noise(horizon)).draws.law.scale < needed(horizon, 2, neighbours)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("epsilon", "first", "second", "replicates"),
    [
        (1.0, [3], [2], 60_000),
        (3.0, [3, 2], [2, 3], 600_000),  # at another step
        (3.0, [3, 2], [2, 2], 600_000),  # never
    ],
)
def test_claim_holds_and_a_fifth_less_noise_is_caught(epsilon, first, second, replicates):
    noise = DyadicTree(epsilon).noise(len(first), width=replicates)
    found = [both_ways(releases(n, first), releases(n, second)) for n in (noise, thin(noise))]
    assert 0.75 * epsilon < found[0] <= epsilon < found[1]


def adaptive(noise, present):
    """Outputs of two steps. At the second, who sees the first output decides what comes: 0 to 4
    others, and, on every other output, in one input the record that came first in the other."""
    came = np.full(noise.width, 2 + present)
    first, sums, state = stepped(noise, np.zeros_like(came), 0, came, noise.start())
    came = first % 5 + (first % 2 if not present else 0)
    second, _, _ = stepped(noise, sums, 1, came, state)
    return np.array([first, second]).T


@pytest.mark.needs_jit
def test_claim_holds_for_increments_that_depend_on_outputs():
    noise = DyadicTree(3.0).noise(2, width=600_000)
    found = [both_ways(adaptive(n, True), adaptive(n, False)) for n in (noise, thin(noise))]
    assert 0.75 * 3.0 < found[0] <= 3.0 < found[1]


# --- rho: the divergences themselves, in floating point, for few steps


def noise_law(horizon, base, sigma_squared, reach):
    """P(Z eta = w) for all w in [-reach, reach]^horizon: the nodes' laws, convolved one by one."""
    law = np.zeros((2 * reach + 1,) * horizon)
    law[(reach,) * horizon] = 1.0
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma_squared))
    weights /= weights.sum()
    for a, b in reference.nodes(horizon, base):
        moved = [shifted(law, [y * (a <= t < b) for t in range(horizon)]) for y in signed(reach)]
        law = np.tensordot(weights, np.array(moved), 1)
    return law


def signed(reach):
    return range(-reach, reach + 1)


def shifted(array, by):
    """The array moved along each axis, zeros moving in."""
    out = np.zeros_like(array)
    here = tuple(slice(max(0, y), n + min(0, y)) for y, n in zip(by, array.shape, strict=True))
    there = tuple(slice(max(0, -y), n + min(0, -y)) for y, n in zip(by, array.shape, strict=True))
    out[here] = array[there]
    return out


def largest_divergence(law, alpha, *, adaptive):
    """Of a record that comes at one step or another, or never; at best chosen step by step.

    ``best[change]`` is what the steps to come add, for the outputs and the change so far.
    """
    horizon = law.ndim
    best = {}
    for change in {
        tuple(int(a <= t < b) for t in range(horizon))
        for a in range(horizon + 1)
        for b in range(a, horizon + 1)
    }:
        other = shifted(law, [-y for y in change])
        both = (law > 0) & (other > 0)
        ratio = np.divide(law, other, out=np.ones_like(law), where=both)
        best[change] = np.where(both, law * ratio ** (alpha - 1), 0.0)
    if not adaptive:
        return np.log(max(value.sum() for value in best.values())) / (alpha - 1)
    for _ in range(horizon):
        previous: dict = {}
        for change, value in best.items():
            value = value.sum(axis=-1)  # over the step's output, the change being chosen before
            before = change[:-1]
            previous[before] = np.maximum(previous.get(before, 0.0), value)
        best = previous
    return np.log(float(best[()])) / (alpha - 1)


@pytest.mark.sample(5)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("horizon", "reach"), [(1, 40), (2, 24), (3, 14), (4, 9)])
def test_divergences_stay_within_rho(horizon, reach, adaptive):
    for sigma_squared in (Fraction(1, 4), Fraction(1, 2), Fraction(1)):
        changes = reference.distances(horizon, 2).max()
        rho = int(changes) / (2 * sigma_squared)
        assert scale(horizon, rho=rho) == sigma_squared
        law = noise_law(horizon, 2, float(sigma_squared), reach)
        for alpha in (1.05, 1.5, 2.0, 3.0):
            divergence = largest_divergence(law, alpha, adaptive=adaptive)
            assert 0 < divergence <= alpha * float(rho) * (1 + 1e-9)


def test_a_variance_that_is_a_fifth_too_small_is_caught():
    rho = 0.5
    thin = float(scale(1, rho=rho)) * 0.8
    assert largest_divergence(noise_law(1, 2, thin, 40), 2.0, adaptive=False) > 1.2 * 2.0 * rho
