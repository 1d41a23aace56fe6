"""Smoothing: the monotone curve that the least noise explains (Eq. 3 of the ECDF paper)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _check
from ..._threads import checked_workers
from ...errors import ParameterError
from ...summaries.grid import MOST_CELLS
from . import graph
from .problem import Problem, Smoothing

__all__ = ["Smoothing", "smooth", "smooth_rows"]

Norm = Literal[1, 2]
Solver = Literal["graph", "osqp"]


def smooth(
    noisy_cumulative: ArrayLike,
    n: float,
    *,
    norm: Norm = 2,
    solver: Solver = "graph",
    base: int = 2,
    at: ArrayLike | None = None,
    constraints: tuple[Any, ArrayLike, ArrayLike] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int = 100_000,
    workers: int | None = None,
) -> Smoothing:
    """Return the non-decreasing cumulative counts within [0, n] that the least tree noise explains.

    This is Eq. 3 of Barczewski, Mawass & Ramon, *Differentially private empirical cumulative
    distribution functions*. Of all corrections nu of the nodes' noise that make the curve monotone,
    it takes one with the least sum of |nu|^norm. It is post-processing and costs no privacy.

    Parameters
    ----------
    noisy_cumulative
        (..., M) cumulative counts, each with the noise of the nodes over its threshold. Leading
        axes, if any, are replicates. Leave out a last count that is n exactly.
    n
        The number of records, positive. It is an upper bound for every cumulative count.
    norm
        2 is least squares, with one optimum. 1 finds the likeliest curve under Laplace noise, with
        many optima. Then the graph solver returns the one with the least sum of squares, and OSQP
        any of them.
    solver
        "graph" is exact, by elimination on the graph of noise nodes. "osqp" is the general operator
        splitting solver, on the dual (docs/proofs/dyadic.md, section 7).
    base
        Children per node of the noise tree.
    at
        (B,) increasing indices, from 0, of the thresholds that matter (the paper's B). None: all.
    constraints
        (A, lower, upper): the curve also has to meet lower <= A F <= upper, where F are its counts
        at the B thresholds. A is (K, B), an array or a sparse one of SciPy; the bounds are (K,) and
        may be infinite. They must be public knowledge. Only with ``solver="osqp"``.
    tolerance
        OSQP's absolute and relative tolerance, on a problem scaled to increments within [-1, 1].
    max_iterations
        The largest number of OSQP's iterations for each replicate.
    workers
        The number of threads that the graph solver uses for replicates. None: all processors.

    Returns
    -------
    Smoothing
        Its ``cumulative``, of shape (..., B), is exactly monotone and within [0, n]. Its residuals
        and gap are those of the solution before the projection.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or no curve meets the constraints.
    ConvergenceError
        OSQP did not reach the tolerance, or the graph solver with norm 1 not the least energy.

    Notes
    -----
    Memory O(M). The graph solver takes a handful of eliminations (norm 2), or some dozens (norm 1;
    more for bases in the thousands), O(M) each. Its results do not depend on the number of threads.
    OSQP's matrices have at most 4 (norm 2) or 5 (norm 1) nonzeros for each threshold. They are set
    up and factorised once for all replicates. With constraints, OSQP solves the primal, with the
    nonzeros of A besides, once for each replicate. A constraint holds up to ``primal_residual``
    times the largest coefficient of its row.

    Examples
    --------
    >>> import dpcore as dp
    >>> noisy = [3.0, 1.0, 4.0, 9.0, 8.0]
    >>> smoothed = dp.smooth(noisy, 10)
    >>> smoothed.cumulative.round(2).tolist(), round(float(smoothed.objective), 2)
    ([1.83, 1.83, 3.67, 8.5, 8.5], 2.17)

    Half of the records are known to be up to the third threshold:

    >>> median = [[0, 0, 1, 0, 0]], [5], [5]
    >>> known = dp.smooth(noisy, 10, solver="osqp", constraints=median)
    >>> known.cumulative.round(2).tolist()
    [2.5, 2.5, 5.0, 9.3, 9.3]
    """
    cumulative = _check.cumulative_counts("noisy_cumulative", noisy_cumulative)
    size = cumulative.shape[-1]
    if size > MOST_CELLS:
        raise ParameterError(
            "noisy_cumulative", cumulative.shape, f"must be at most {MOST_CELLS} long"
        )
    total = _check.cumulative_total("n", n)
    _check.choice("norm", norm, Norm)
    _check.choice("solver", solver, Solver)
    base = _check.integer("base", base, 2, MOST_CELLS)
    tolerance = _check.positive("tolerance", tolerance)
    max_iterations = _check.integer("max_iterations", max_iterations, 1, 10**9)
    checked_workers(workers)
    if constraints is not None and solver != "osqp":
        raise ParameterError("solver", solver, 'must be "osqp" with constraints')
    chosen = np.arange(size) if at is None else _indices(at, size)
    curves = np.ascontiguousarray(cumulative.reshape(-1, size))
    if at is not None:
        curves = np.ascontiguousarray(curves[:, chosen])  # columns are copied in their own order
    problem = Problem(curves, np.full(len(curves), total), size, base, chosen, norm)
    if constraints is not None:
        from . import constrained
        from .constraints import checked

        own = checked(constraints, chosen.size, total)
        flat = constrained.solve(problem, own, tolerance, max_iterations)
    elif solver == "graph":
        flat = graph.solve(problem, workers)
    else:
        from . import osqp  # SciPy's sparse matrices and the solver load on first use

        flat = osqp.solve(problem, tolerance, max_iterations)
    return flat.reshaped(cumulative.shape[:-1])


def smooth_rows(
    curves: NDArray[np.float64], totals: NDArray[np.float64], base: int, norm: Norm
) -> NDArray[np.float64]:
    """Return what ``smooth`` makes of each row of (R, M) counts, with an n for each."""
    checked, size = _check.cumulative_counts("noisy_cumulative", curves), curves.shape[1]
    _check.cumulative_total("n", float(totals.max()))
    problem = Problem(checked, totals, size, base, np.arange(size), norm)
    return graph.solve(problem, None).cumulative


def _indices(at: ArrayLike, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    array = _check.array("at", at, "iu", "must hold integers")
    if array.ndim != 1 or array.size == 0:
        raise ParameterError("at", array.shape, "must be one-dimensional and not empty")
    array = array.astype(np.int64)
    if array[0] < 0 or array[-1] >= size or np.any(np.diff(array) <= 0):
        raise ParameterError("at", at, f"must be increasing indices from 0 to {size - 1}")
    return array
