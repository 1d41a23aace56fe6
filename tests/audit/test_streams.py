"""Running counts: exact sensitivity, and lower bounds on what streams of outputs give away."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpcore.streams import DyadicTree, RunningCount
from tests import reference
from tests.audit.harness import both_ways, least_shift, thinner
from tests.streams.counters import as_new, releases

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


class Thin(RunningCount):
    """A broken counter: its noise is 20 % too small, so it overspends by 25 %."""

    __slots__ = ()

    kind = "thin"

    def __init__(self, horizon, mechanism):
        super().__init__(horizon, mechanism)
        (noise,) = self._noises
        thin = replace(noise.draws, law=thinner(noise.draws.law))
        self._noises = (replace(noise, draws=thin),)


def test_a_scale_that_is_a_fifth_too_small_is_caught():
    for neighbours in RELATIONS:
        for horizon in (4, 8):
            honest = DyadicTree(epsilon=1, neighbours=neighbours)
            law = Thin(horizon, honest)._noises[0].draws.law
            assert law.scale < needed(horizon, 2, neighbours)


def audited(counter, first, second, replicates):
    return both_ways(
        *(releases(counter, np.array(stream), replicates) for stream in (first, second))
    )


@pytest.mark.full
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
    streams = first, second, replicates
    mechanism = DyadicTree(epsilon)
    honest = RunningCount(len(first), mechanism)
    assert 0.75 * epsilon < audited(honest, *streams) <= epsilon
    assert audited(Thin(len(first), mechanism), *streams) > epsilon


def adaptive(counter, present, replicates):
    """Outputs of two steps. At the second, who sees the first output decides what comes: 0 to 4
    others, and, on every other output, in one input the record that came first in the other."""
    outputs = np.empty((replicates, 2), np.int64)
    for row in outputs:
        as_new(counter)
        row[0] = counter.add(2 + present)
        row[1] = counter.add(int(row[0] % 5) + int(not present and row[0] % 2))
    return outputs


@pytest.mark.full
@pytest.mark.needs_jit
def test_claim_holds_for_increments_that_depend_on_outputs():
    for kind, least, most in ((RunningCount, 0.75 * 3.0, 3.0), (Thin, 3.0, np.inf)):
        counter = kind(2, DyadicTree(3.0))
        outputs = [adaptive(counter, present, 600_000) for present in (True, False)]
        assert least < both_ways(*outputs) <= most


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
