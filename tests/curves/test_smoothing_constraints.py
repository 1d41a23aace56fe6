"""Smoothing under the user's own linear constraints: the plain optimum, and typed errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import dpcore as dp
from tests import reference

NOISY = np.array([3.0, 1.0, 4.0, 9.0, 8.0])
MEDIAN = ([[0, 0, 1, 0, 0]], [5.0], [5.0])


@settings(max_examples=30)
@given(st.integers(1, 14), st.integers(2, 4), st.sampled_from([1, 2]), st.integers(0, 2**32))
def test_same_optimum_as_the_plain_formulation(size, base, norm, seed):
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(np.r_[True, rng.random(size - 1) < 0.7])
    noisy, n = np.cumsum(rng.integers(-8, 12, size)).astype(float), 60.0
    possible = np.sort(rng.integers(0, 61, at.size)).astype(float)  # a curve that meets them all
    matrix = rng.integers(-1, 2, (rng.integers(1, 4), at.size)).astype(float)
    reached = matrix @ possible
    lower = np.where(rng.random(reached.size) < 0.3, -np.inf, reached - rng.integers(0, 3))
    upper = np.where(rng.random(reached.size) < 0.3, np.inf, reached + rng.integers(0, 3))
    constraints = matrix, lower, upper
    best = reference.smooth_objective(noisy, n, norm, base, at, constraints)
    for given_matrix in (matrix, sp.csr_array(matrix), sp.coo_matrix(matrix)):
        own = given_matrix, lower, upper
        options = {"norm": norm, "base": base, "at": at, "constraints": own, "tolerance": 1e-7}
        try:
            found = dp.smooth(noisy, n, solver="osqp", **options)
        except dp.ConvergenceError:  # OSQP, on some of them: others, then
            reject()
        assert found.objective == pytest.approx(best, rel=1e-4, abs=1e-3)
        assert found.is_optimal(1e-3)
        assert found.gap >= -1e-3 * max(1.0, best)
    reached = matrix @ found.cumulative
    assert np.all(reached >= lower - 1e-3)
    assert np.all(reached <= upper + 1e-3)
    assert np.all(np.diff(found.cumulative, prepend=0.0, append=n) >= 0.0)


@pytest.mark.parametrize("norm", [1, 2])
def test_constraints_that_hold_anyway_change_nothing(norm):
    alone = dp.smooth(NOISY, 10, norm=norm)
    loose = (np.eye(5), np.full(5, -np.inf), np.full(5, np.inf))
    found = dp.smooth(NOISY, 10, norm=norm, solver="osqp", constraints=loose, tolerance=1e-9)
    assert found.objective == pytest.approx(float(alone.objective), abs=1e-6)
    if norm == 2:
        assert found.cumulative == pytest.approx(alone.cumulative, abs=1e-5)


def test_a_monotone_curve_is_moved_too():
    found = dp.smooth([1, 2, 3, 8, 9], 10, solver="osqp", constraints=MEDIAN)
    assert found.cumulative[2] == pytest.approx(5.0, abs=1e-5)
    assert found.objective > 0.1


def test_replicates_are_solved_one_by_one():
    noisy = np.stack([NOISY, NOISY[::-1], NOISY])
    found = dp.smooth(noisy, 10, solver="osqp", constraints=MEDIAN)
    assert found.cumulative.shape == (3, 5)
    alone = [dp.smooth(row, 10, solver="osqp", constraints=MEDIAN) for row in noisy]
    assert np.array_equal(found.cumulative, [each.cumulative for each in alone])


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        (5, dp.DtypeError, "constraints"),
        (([[1] * 5], [1]), dp.DtypeError, r"must be \(matrix, lower, upper\); got a tuple of 2"),
        ((["abcde"], [1], [2]), dp.DtypeError, "constraints"),
        ((sp.csr_array([[1j] * 5]), [1], [2]), dp.DtypeError, "matrix of real numbers; got dtype"),
        (([[1] * 4], [1], [2]), dp.ParameterError, "a column for each of the 5 thresholds"),
        ((np.empty((0, 5)), [], []), dp.ParameterError, "a column for each of the 5 thresholds"),
        (([[np.nan] * 5], [1], [2]), dp.ParameterError, "constraints"),
        (([[1] * 5], [1, 2], [2]), dp.ParameterError, r"must have 1 lower bounds; got \(2,\)"),
        (([[1] * 5], ["a"], [2]), dp.DtypeError, "must have real numbers as lower bounds"),
        (([[1] * 5], [np.nan], [2]), dp.ParameterError, "lower bounds that are not NaN"),
        (([[1] * 5], [3], [2]), dp.ParameterError, r"lower bound up to the upper one; got \(3.0"),
        (([[1] * 5], [np.inf], [np.inf]), dp.ParameterError, "lower bound up to the upper one"),
        (([[0, 0, 1, 0, 0]], [11], [12]), dp.ParameterError, "must be met by some curve"),
        (([[1, -1, 0, 0, 0]], [1], [np.inf]), dp.ParameterError, "must be met by some curve"),
    ],
)
def test_bad_constraints(constraints, error, message):
    with pytest.raises(error, match=message):
        dp.smooth(NOISY, 10, solver="osqp", constraints=constraints)


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e-7, 1e7, 1e12, 1e30, 1e300])
def test_rows_mean_the_same_in_any_unit(unit):
    """Solvers take small coefficients for zeros, and large ones for infinite."""
    first = np.eye(5)[:1]
    plain = dp.smooth(NOISY, 10, solver="osqp", constraints=(first, [5.0], [6.0]))
    own = (first * unit, [5.0 * unit], [6.0 * unit])
    found = dp.smooth(NOISY, 10, solver="osqp", constraints=own)
    assert plain.cumulative[0] == pytest.approx(5.0, abs=1e-5)
    assert found.cumulative == pytest.approx(plain.cumulative, abs=1e-5)
    assert found.is_optimal()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("coefficient", "lower", "upper", "possible"),
    [
        (5e-324, 1.0, 2.0, False),
        (5e-324, -1.0, 2.0, True),
        (1.0, 1e308, 1e308, False),
        (1.0, -1e308, 1e308, True),
        (0.0, 0.0, 0.0, True),
        (0.0, 1.0, 1.0, False),
    ],
)
def test_bounds_that_no_curve_reaches(coefficient, lower, upper, possible):
    row = coefficient * np.eye(5)[:1]
    options = {"solver": "osqp", "constraints": (row, [lower], [upper])}
    if possible:
        found = dp.smooth(NOISY, 10, **options)
        assert found.cumulative == pytest.approx(dp.smooth(NOISY, 10).cumulative, abs=1e-5)
    else:
        with pytest.raises(dp.ParameterError, match="must be met by some curve"):
            dp.smooth(NOISY, 10, **options)


def test_what_stands_at_one_place_is_added_as_doubles():
    entries = np.array([100, 100], np.int8), (np.array([0, 0]), np.array([0, 0]))
    own = sp.coo_array(entries, shape=(1, 5)), [-np.inf], [4.0]
    found = dp.smooth(NOISY, 10, solver="osqp", constraints=own)
    assert found.cumulative[0] == pytest.approx(0.02, abs=1e-5)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("place", [99, -7])
def test_sparse_matrices_with_indices_outside(kind, place):
    """SciPy and OSQP would read and write outside of their arrays."""
    broken = sp.coo_array(np.eye(5)[:1]).asformat(kind)
    if kind == "coo":
        broken.coords = (np.array([0]), np.array([place]))
    else:
        broken.indices = np.array([place], np.int32)
    with pytest.raises(dp.ParameterError, match="must have a valid matrix"):
        dp.smooth(NOISY, 10, solver="osqp", constraints=(broken, [1], [2]))


def test_arguments_stay_as_they_are():
    matrix, lower, upper = sp.csc_array(4.0 * np.eye(5)[:1]), np.array([8.0]), np.array([9e9])
    dp.smooth(NOISY, 10, solver="osqp", constraints=(matrix, lower, upper))
    assert matrix.toarray().tolist() == (4.0 * np.eye(5)[:1]).tolist()
    assert (lower[0], upper[0]) == (8.0, 9e9)


def test_only_the_general_solver_takes_them():
    with pytest.raises(dp.ParameterError, match='solver must be "osqp" with constraints'):
        dp.smooth(NOISY, 10, constraints=MEDIAN)


def test_too_few_iterations_are_an_error():
    noisy = np.cumsum(np.random.default_rng(1).integers(-8, 12, 200))
    own, few = (np.eye(200)[[100]], [150], [150]), {"tolerance": 1e-9, "max_iterations": 5}
    with pytest.raises(dp.ConvergenceError, match="tolerance"):
        dp.smooth(noisy, 300, solver="osqp", constraints=own, **few)
