"""Eq. 3: the same optimum as the plain formulation, exact feasibility, honest certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import dpcore as dp
from tests import reference

SOLVERS = [(1, "graph"), (1, "osqp"), (2, "graph"), (2, "osqp")]


def check_certificate(smoothing, n, scale):
    curve = smoothing.cumulative
    assert np.all(np.diff(curve) >= 0)
    assert np.all((curve >= 0) & (curve <= n))
    assert smoothing.is_optimal(1e-11 if smoothing.solver == "graph" else 1e-5)
    assert smoothing.unit <= 2 * scale


@settings(max_examples=80)
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
    assert smoothing.objective == pytest.approx(best, rel=1e-4, abs=1e-3)


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
@pytest.mark.parametrize(("size", "epsilon"), [(3, 1.0), (1021, 0.02), (4096, 1.0)])
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


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_replicates_do_not_depend_on_threads(workers, monkeypatch):
    monkeypatch.setattr("dpcore.curves.smoothing.graph._BLOCK", 64)
    curves = np.cumsum(np.random.default_rng(2).integers(-30, 40, (23, 17)), axis=-1)
    alone = [dp.smooth(curve, 120).cumulative for curve in curves]
    assert np.array_equal(dp.smooth(curves, 120, workers=workers).cumulative, alone)


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
        ([], {}, "noisy_cumulative"),
        (3.0, {}, "noisy_cumulative"),
        ([1.0, np.nan], {}, "noisy_cumulative"),
        (["a"], {}, "noisy_cumulative"),
        ([1, 2], {"n": -1}, r"\bn\b"),
        ([1, 2], {"n": 0}, r"\bn\b"),
        ([1, 2], {"n": 1e155}, r"\bn\b"),
        ([1, 2], {"n": 1e300, "solver": "osqp"}, r"\bn\b"),
        ([1, 2], {"n": np.inf}, r"\bn\b"),
        ([1, 2], {"norm": 3}, "norm"),
        ([1, 2], {"solver": "cvxopt"}, "solver"),
        ([1, 2], {"workers": 0}, "workers"),
        ([1, 2], {"base": 1}, "base"),
        ([1, 2], {"at": [2]}, r"\bat\b"),
        ([1, 2], {"at": [1, 0]}, r"\bat\b"),
        ([1, 2], {"at": []}, r"\bat\b"),
        ([1, 2], {"at": [0.5]}, r"\bat\b"),
        ([1, 2], {"tolerance": 0}, "tolerance"),
        ([1, 2], {"max_iterations": 0}, "max_iterations"),
    ],
)
def test_bad_arguments(curve, options, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        dp.smooth(curve, **{"n": 5, **options})


@pytest.mark.parametrize("solver", ["graph", "osqp"])
@pytest.mark.parametrize("at", [None, [1, 3]])
def test_arrays_in_any_order_of_memory_are_smoothed_alike(at, solver):
    rows = np.array([[3.0, 1, 4, 9, 8], [1, 2, 3, 4, 5], [3, 1, 4, 9, 8]])
    expected = [dp.smooth(row, 10, at=at, solver=solver).cumulative for row in rows]
    for ordered in (
        rows,
        np.asfortranarray(rows),
        rows.T.copy().T,
        np.repeat(rows, 2, axis=1)[:, ::2],
    ):
        found = dp.smooth(ordered, 10, at=at, solver=solver).cumulative
        np.testing.assert_allclose(found, expected, atol=1e-4)
