"""Norm 1: the cheapest transport of least energy, against linear and quadratic programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

import dpcore as dp
from dpcore.curves.smoothing.osqp import noise_edges
from dpcore.kernels.smoothing import elimination
from dpcore.kernels.transport import solve as transport
from tests import reference


def plan(size, base, at):
    return elimination.plan(
        elimination.separations(np.asarray(at), base, reference.levels(size, base) + 1)
    )


def repair(increments, size, base=2, at=None):
    """The smoothed increments (R, V), figures (R, 6), steps (R,)."""
    at = np.arange(size) if at is None else at
    smoothed = np.array(increments, float, ndmin=2)
    figures, steps = np.empty((len(smoothed), 6)), np.empty(len(smoothed), np.int64)
    vertices = smoothed.shape[1]
    work = np.full((2 * vertices, 4), np.nan), np.full((11, 3 * vertices), np.nan)
    transport.repair(*plan(size, base, at), *work, smoothed, figures, steps)
    return smoothed, figures, steps


def check(increments, smoothed, figures, tolerance=1e-9):
    """Feasible, and its own certificates hold: cost = proved cost, and least energy."""
    unit = max(np.abs(increments).max(), np.finfo(float).tiny)
    cost, low, under, proved, _, error = figures
    assert np.all(smoothed >= 0.0)
    assert smoothed.sum() == pytest.approx(np.sum(increments), abs=tolerance * unit * len(smoothed))
    assert under == 0.0
    assert cost == pytest.approx(proved, rel=tolerance, abs=tolerance * unit)
    assert low <= tolerance * unit
    assert error <= tolerance * unit


def incidence(size, base, at):
    edges = noise_edges(size, base, np.asarray(at))
    matrix = np.zeros((len(at) + 1, edges.start.size))
    columns = np.arange(edges.start.size)
    matrix[edges.start, columns] = 1.0
    matrix[edges.end, columns] = -1.0
    return matrix, edges.copies.astype(float)


def least(increments, size, base, at):
    """The least sum |f|, and the least energy and the increments among flows that cost so much.

    The cost by linear programming (HiGHS); from its multipliers, the edges that may carry flow;
    on those, the energy by non-negative least squares, where what breaks the constraints is dear.
    """
    graph, copies = incidence(size, base, at)
    count, c = copies.size, np.asarray(increments, float)
    both = np.hstack([-graph, graph])
    found = linprog(np.ones(2 * count), A_ub=both, b_ub=c, bounds=(0, None))
    assert found.status == 0
    u = -found.ineqlin.marginals
    slack = 1.0 + both.T @ u  # of |f|: the reduced costs
    sides = np.flatnonzero(np.abs(slack) < 1e-7)
    if sides.size == 0:
        return 0.0, 0.0, c
    root = np.r_[copies, copies][sides] ** 0.5
    gain = -both[:, sides] * root  # f = root x; minimise |x|^2 with c + gain x = z
    left = np.eye(c.size)[:, u <= 1e-7]  # z >= 0, and 0 where u > 0
    unit, dear = np.abs(c).max(), 1e5
    system = np.block([[dear * gain, -dear * left], [np.eye(sides.size, sides.size + len(left.T))]])
    target = np.r_[-dear * c / unit, np.zeros(sides.size)]
    x = nnls(system, target)[0][: sides.size] * unit
    return found.fun, np.sum(x**2), c + gain @ x


KINDS = {
    "ones": lambda rng, k: rng.integers(-1, 3, k),
    "small integers": lambda rng, k: rng.integers(-5, 7, k),
    "mostly zero": lambda rng, k: rng.integers(-2, 3, k) * rng.integers(0, 2, k),
    "floats": lambda rng, k: rng.normal(0, 1, k),
    "rising": lambda rng, k: rng.integers(0, 5, k),
    "wide": lambda rng, k: rng.laplace(0, 10.0 ** rng.integers(-100, 100), k),
    "decreasing": lambda rng, k: -np.ones(k),
    "spike": lambda rng, k: np.where(np.arange(k) == rng.integers(k), -7.0, 0.0),
}


def draw(kind, boundaries, seed):
    """Increments of this kind with a positive sum."""
    rng = np.random.default_rng(seed)
    c = np.asarray(KINDS[kind](rng, boundaries), float)
    missing = -c.sum()
    if missing >= 0.0:
        c[rng.integers(boundaries)] += missing + max(np.abs(c).max(), 1.0)
    return c


@settings(max_examples=80)
@given(
    st.integers(1, 24),
    st.integers(2, 7),
    st.sampled_from(["ones", "small integers", "mostly zero", "floats", "decreasing", "spike"]),
    st.integers(0, 2**32),
    st.data(),
)
def test_least_cost_and_then_least_energy(size, base, kind, seed, data):
    at = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    c = draw(kind, at.size + 1, seed)
    smoothed, figures, _ = repair(c, size, base, at)
    check(c, smoothed[0], figures[0])
    cost, energy, increments = least(c, size, base, at)
    assert figures[0, 0] == pytest.approx(cost, rel=1e-8, abs=1e-8)
    assert figures[0, 4] == pytest.approx(energy, rel=1e-6, abs=1e-6)
    assert smoothed[0] == pytest.approx(increments, abs=1e-5)


@settings(max_examples=150)
@given(
    st.integers(1, 150),
    st.sampled_from([2, 3, 4, 7, 16, 50, 200]),
    st.sampled_from(list(KINDS)),
    st.integers(0, 2**32),
    st.data(),
)
def test_certificates_on_any_tree(size, base, kind, seed, data):
    share = data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    at = np.flatnonzero(np.random.default_rng(seed).random(size) < share)
    at = at if at.size else np.array([size - 1])
    c = draw(kind, at.size + 1, seed)
    smoothed, figures, _ = repair(c, size, base, at)
    check(c, smoothed[0], figures[0])
    if np.all(c >= 0.0):
        assert np.array_equal(smoothed[0], c)
        assert np.all(figures == 0.0)


def test_a_dent_between_two_neighbours_is_filled_along_the_cheapest_paths():
    # Thresholds 1..4; boundary 1 lacks 4. Its neighbours, one edge away, are 0, with 10, and 2,
    # with 4: the energy is least when they share evenly.
    smoothed, figures, _ = repair([10.0, -4.0, 4.0, 0.0, 10.0], 4)
    assert smoothed[0] == pytest.approx([8.0, 0.0, 2.0, 0.0, 10.0])
    assert figures[0, [0, 3, 4]] == pytest.approx([4.0, 4.0, 8.0])


def test_ties_found_one_after_the_other():
    # chains of parts whose increments add up to 0, each held by an edge without flow
    for seed in range(40):
        for base in (7, 16, 50):
            c = draw("small integers", 81, seed)
            smoothed, figures, _ = repair(c, 80, base)
            check(c, smoothed[0], figures[0])


def test_long_steps_that_cycle_are_given_up():
    c = np.array([-212, 514, -683, -495, 2353, -1175, 988, 458, -578, -118], float)
    at = np.array([2, 5, 7, 10, 17, 37, 40, 47, 48])
    smoothed, figures, steps = repair(c, 61, 4, at)
    check(c, smoothed[0], figures[0])
    assert steps[0] < 50


@pytest.mark.needs_jit
@pytest.mark.parametrize("base", [2, 7, 16, 200])
@pytest.mark.parametrize("kind", ["mostly zero", "small integers", "decreasing", "floats"])
def test_many_ties_are_solved_with_careful_steps(kind, base):
    for seed in range(2):
        c = draw(kind, 20_001, seed)
        smoothed, figures, _ = repair(c, 20_000, base)
        check(c, smoothed[0], figures[0])


@pytest.mark.needs_jit
@pytest.mark.parametrize("size", [1021, 2**15 - 1])
@pytest.mark.parametrize("base", [2, 16])
@pytest.mark.parametrize("epsilon", [1.0, 0.02])
def test_real_sizes(size, base, epsilon):
    rng = np.random.default_rng(size)
    counts = rng.poisson(3, size + 1)
    noisy = dp.mechanisms.Dyadic(epsilon).release(counts, rng=rng)[:-1]
    c = np.diff(np.r_[0, noisy, counts.sum()]).astype(float)
    smoothed, figures, steps = repair(c, size, base)
    check(c, smoothed[0], figures[0])
    assert steps[0] < {2: 26, 16: 100}[base]
    assert smoothed.sum() == pytest.approx(counts.sum(), rel=1e-12)
