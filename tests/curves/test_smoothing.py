"""Eq. 3: the same optimum as the plain formulation, exact feasibility, honest certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.curves.smoothing.osqp import noise_edges
from dpcore.kernels.smoothing import elimination, obstacle
from tests import reference


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(2, 7), st.data())
def test_edges_are_the_tree_seen_from_the_chosen_thresholds(size, base, data):
    at = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    edges = noise_edges(size, base, at)
    columns = reference.tree_matrix(size, base)[at].T
    columns = columns[columns.any(axis=1)]
    expected, copies = np.unique(columns, axis=0, return_counts=True)
    found = np.zeros((edges.start.size, at.size), int)
    for row, (a, b) in enumerate(zip(edges.start, edges.end, strict=True)):
        found[row, a:b] = 1
    order = np.lexsort(found.T[::-1])
    assert np.array_equal(found[order], expected)
    assert np.array_equal(edges.copies[order], copies)


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(2, 7), st.integers(0, 2**32), st.data())
def test_elimination_keeps_the_graph_and_its_solutions(size, base, seed, data):
    at = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    levels = reference.levels(size, base) + 1
    order, left, right, fill, conductances = elimination.plan(
        elimination.separations(at, base, levels)
    )
    vertices = at.size + 1
    laplacian = np.zeros((vertices, vertices))
    edges = noise_edges(size, base, at)
    for a, b, copies in zip(edges.start, edges.end, edges.copies, strict=True):
        laplacian[np.ix_([a, b], [a, b])] += copies * np.array([[1, -1], [-1, 1]])
    rng = np.random.default_rng(seed)
    potentials = rng.normal(size=vertices)
    flows = np.zeros(vertices)
    short = conductances.astype(np.float32)
    elimination.add_laplacian(left, right, short, potentials[order], flows)
    assert flows == pytest.approx((laplacian @ potentials)[order], abs=1e-9)

    free = rng.random(vertices) < 0.7
    free[rng.integers(vertices)] = False
    sources = rng.normal(size=vertices)
    expected = np.zeros(vertices)
    inner = laplacian[np.ix_(order, order)][np.ix_(free, free)]
    expected[free] = np.linalg.solve(inner, sources[free])
    first, second, direct = elimination.segments(fill, conductances)
    joined, ends, turns = (
        direct.astype(float),
        np.zeros((vertices - 1, 4)),
        np.empty((first.size, 2)),
    )
    found = np.empty(vertices)
    stale, was_free = np.ones(vertices, bool), free.copy()
    tree = left, right, first, second
    work = joined, ends, turns
    obstacle.eliminate(*tree, direct, free, -sources, stale, *work)
    came = obstacle.substitute(*tree, *work, -sources, np.inf, free, stale, found)
    assert came == 0
    assert np.array_equal(free, was_free)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


SOLVERS = [(1, "graph"), (1, "osqp"), (2, "graph"), (2, "osqp")]

CURVES = {
    "noisy": np.cumsum(np.random.default_rng(1).integers(-8, 12, 21)),
    "all equal": np.full(13, 7),
    "one spike": np.r_[np.zeros(6), 50, np.zeros(6)],
    "strictly decreasing": np.arange(20, 0, -1),
    "below zero": np.arange(-30, -13),
    "above n": np.arange(80, 97),
    "already monotone": np.arange(10),
    "one threshold, too high": np.array([99.0]),
    "one threshold, too low": np.array([-3.0]),
    "two": np.array([9, 2]),
    "huge": np.array([1e9, -1e9, 2e9, 5, -3e9]),
    "tiny": np.array([3e-7, 1e-7, 2e-7, -1e-7]),
}


def check_certificate(smoothing, n, scale):
    curve = smoothing.cumulative
    assert np.all(np.diff(curve) >= 0)
    assert np.all((curve >= 0) & (curve <= n))
    assert smoothing.is_optimal(1e-11 if smoothing.solver == "graph" else 1e-5)
    assert smoothing.unit <= 2 * scale


@pytest.mark.sample(127)
@pytest.mark.parametrize(("norm", "solver"), SOLVERS)
@pytest.mark.parametrize("base", [2, 3, 9])
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("n", [1, 60])
def test_same_optimum_as_the_plain_formulation(name, base, n, norm, solver):
    cumulative = CURVES[name]
    smoothing = dp.smooth(cumulative, n, norm=norm, solver=solver, base=base, tolerance=1e-7)
    scale = max(n, np.abs(cumulative).max())
    check_certificate(smoothing, n, scale)
    best = reference.smooth_objective(cumulative, n, norm, base, np.arange(cumulative.size))
    assert smoothing.objective == pytest.approx(best, rel=1e-5, abs=1e-5 * scale**norm)


@settings(max_examples=25)
@given(
    st.lists(st.integers(-20, 40), min_size=1, max_size=30),
    st.integers(2, 5),
    st.sampled_from(SOLVERS),
    st.data(),
)
def test_any_size_base_and_subset(values, base, how, data):
    norm, solver = how
    size = len(values)
    at = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1))))
    smoothing = dp.smooth(values, 25, norm=norm, solver=solver, base=base, at=at, tolerance=1e-7)
    assert smoothing.cumulative.shape == at.shape
    check_certificate(smoothing, 25, 40)
    best = reference.smooth_objective(values, 25, norm, base, at)
    assert smoothing.objective == pytest.approx(best, rel=1e-3, abs=1e-3)


@settings(max_examples=40)
@given(
    st.integers(1, 150),
    st.integers(2, 20),
    st.sampled_from([1, 2]),
    st.integers(0, 2**32),
    st.sampled_from([2, 30, 10**6]),
    st.sampled_from([0.2, 0.7, 1.0]),
)
def test_both_solvers_agree_on_random_trees(size, base, norm, seed, noise, share):
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(np.r_[True, rng.random(size - 1) < share])
    curve = np.cumsum(rng.integers(-noise, noise + 2, size))
    graph = dp.smooth(curve, 40, norm=norm, base=base, at=at)
    try:
        general = dp.smooth(curve, 40, norm=norm, base=base, at=at, solver="osqp", tolerance=1e-8)
    except dp.ConvergenceError:  # OSQP, on some curves under heavy noise: another one, then
        reject()
    unit = float(graph.unit)
    slack = 1e-4 * unit**norm
    assert graph.objective == pytest.approx(float(general.objective), rel=1e-4, abs=slack)
    if norm == 2:  # the one optimum
        assert graph.cumulative == pytest.approx(general.cumulative, abs=1e-3 * unit)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 31, 97, 1009])
@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e9])
def test_adversarial_curves_are_solved_exactly(size, scale, norm):
    rng = np.random.default_rng(size)
    curves = {
        "all equal": np.full(size, 3.0),
        "decreasing": -np.arange(size, dtype=float),
        "spike": np.where(np.arange(size) == size // 2, 1e6, 2.0),
        "noise of a billion": np.cumsum(rng.integers(-(10**9), 10**9, size)).astype(float),
    }
    for n in (1.0 * scale, 17.0 * scale):
        for curve in curves.values():
            smoothing = dp.smooth(curve * scale, n, norm=norm, base=3)
            assert np.all(np.diff(smoothing.cumulative, prepend=0.0, append=n) >= 0.0)
            assert smoothing.is_optimal(1e-9)


def test_least_squares_optimum_is_the_one_curve():
    z = reference.tree_matrix(4, 2)
    # lifting a dent of 4 between equal neighbours by the cheapest noise, worked out by hand:
    # boundary 2 has to give 4 to boundary 1 or take it from above, along all paths at once
    smoothing = dp.smooth([10, 6, 10, 10], 20)
    curve = smoothing.cumulative
    a, b = reference.smoothing_constraints([10, 6, 10, 10], 20, 2, np.arange(4))
    nu = np.linalg.lstsq(z, curve - [10, 6, 10, 10], rcond=None)[0]
    assert np.all(a @ nu >= b - 1e-6)
    assert np.sum(nu**2) == pytest.approx(float(smoothing.objective), rel=1e-6)
    assert curve[0] == pytest.approx(curve[1], abs=1e-6)  # the dent is closed, not overfilled


def test_replicates_are_solved_each_on_its_own():
    rng = np.random.default_rng(2)
    curves = np.cumsum(rng.integers(-30, 40, (2, 3, 17)), axis=-1)
    for norm, solver in SOLVERS:
        together = dp.smooth(curves, 120, norm=norm, solver=solver)
        assert together.cumulative.shape == (2, 3, 17)
        assert together.gap.shape == (2, 3)
        for i in np.ndindex(2, 3):
            alone = dp.smooth(curves[i], 120, norm=norm, solver=solver)
            assert np.array_equal(alone.cumulative, together.cumulative[i])
            assert alone.iterations == together.iterations[i]


@pytest.mark.needs_jit
@pytest.mark.parametrize("size", [1, 2, 3, 1021, 4096, 10_007])
@pytest.mark.parametrize("epsilon", [1.0, 0.02])
def test_both_solvers_agree_on_real_sizes(size, epsilon):
    rng = np.random.default_rng(size)
    counts = rng.poisson(3, size + 1)
    noisy = dp.mechanisms.Dyadic(epsilon).release(counts, rng=rng)[:-1]
    graph = dp.smooth(noisy, counts.sum())
    general = dp.smooth(noisy, counts.sum(), solver="osqp", tolerance=1e-8)
    assert graph.solver == "graph"
    assert graph.is_optimal(1e-10)
    assert graph.objective <= general.objective * (1 + 1e-6) + 1e-9
    assert graph.cumulative == pytest.approx(general.cumulative, abs=1e-3 * float(graph.unit))


def test_noise_of_a_billion_and_one_record():
    rng = np.random.default_rng(3)
    noisy = np.cumsum(rng.integers(-(10**9), 10**9, 500))
    smoothing = dp.smooth(noisy, 1)
    check_certificate(smoothing, 1, 10**12)


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_replicates_do_not_depend_on_threads(workers, monkeypatch):
    monkeypatch.setattr("dpcore.curves.smoothing.graph._BLOCK", 64)
    curves = np.cumsum(np.random.default_rng(2).integers(-30, 40, (23, 17)), axis=-1)
    alone = [dp.smooth(curve, 120).cumulative for curve in curves]
    assert np.array_equal(dp.smooth(curves, 120, workers=workers).cumulative, alone)


def test_norms_differ():
    curve = CURVES["noisy"]
    one, two = (dp.smooth(curve, 60, norm=norm, tolerance=1e-8) for norm in (1, 2))
    assert one.objective < np.abs(reference_flow(two, curve)).sum() - 1e-3


def reference_flow(smoothing, curve):
    """The flow of least squares that makes this curve."""
    z = reference.tree_matrix(curve.size, 2)
    return np.linalg.lstsq(z, smoothing.cumulative - curve, rcond=None)[0]


def test_a_loose_tolerance_shows_in_the_certificate():
    curve = np.cumsum(np.random.default_rng(5).integers(-300, 306, 500))
    loose, tight = (
        dp.smooth(curve, 1500, norm=1, solver="osqp", tolerance=t) for t in (1e-1, 1e-6)
    )
    assert tight.is_optimal(1e-4)
    assert not loose.is_optimal(1e-4)
    assert np.all(np.diff(loose.cumulative) >= 0)  # projected all the same


def test_norm_1_does_not_cycle_under_heavy_noise():
    rng = np.random.default_rng(1)
    counts = np.random.default_rng(0).poisson(3, 256)
    noisy = dp.mechanisms.Dyadic(0.02).release(counts, rng=rng, replicates=60)[:, :-1]
    smoothing = dp.smooth(noisy, counts.sum(), norm=1, solver="osqp", max_iterations=20_000)
    assert smoothing.is_optimal(1e-3)


def test_not_converging_is_an_error():
    curve = np.cumsum(np.random.default_rng(5).integers(-300, 306, 500))
    with pytest.raises(dp.ConvergenceError, match="stopped after 10 iterations"):
        dp.smooth(curve, 1500, solver="osqp", max_iterations=10, tolerance=1e-9)


@pytest.mark.parametrize(
    ("curve", "options", "words"),
    [
        ([], {}, "noisy_cumulative must have at least one entry"),
        (3.0, {}, "noisy_cumulative must have at least one entry"),
        ([1.0, np.nan], {}, "noisy_cumulative must be finite; got nan"),
        (["a"], {}, "noisy_cumulative must hold real numbers"),
        ([1, 2], {"n": -1}, "n must be positive"),
        ([1, 2], {"n": 0}, "n must be positive"),
        ([1, 2], {"n": 1e155}, "n must be positive, and at most 1e"),
        ([1, 2], {"n": 1e300, "solver": "osqp"}, "n must be positive, and at most 1e"),
        ([1, 2], {"n": np.inf}, "n must be finite"),
        ([1, 2], {"norm": 3}, "norm must be one of 1, 2"),
        ([1, 2], {"solver": "cvxopt"}, "solver must be one of 'graph', 'osqp'"),
        ([1, 2], {"workers": 0}, "workers must be between 1"),
        ([1, 2], {"base": 1}, "base must be between 2"),
        ([1, 2], {"at": [2]}, "at must be increasing indices from 0 to 1"),
        ([1, 2], {"at": [1, 0]}, "at must be increasing"),
        ([1, 2], {"at": []}, "at must"),
        ([1, 2], {"at": [0.5]}, "at must hold integers"),
        ([1, 2], {"tolerance": 0}, "tolerance must be positive"),
        ([1, 2], {"max_iterations": 0}, "max_iterations must be between 1"),
    ],
)
def test_bad_arguments(curve, options, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        dp.smooth(curve, **{"n": 5, **options})
