"""The general solver: OSQP on the dual, whose variables are one potential for each boundary.

With G the incidence matrix and C the diagonal of copies (docs/proofs/dyadic.md, section 7):

    norm 2:  minimise 1/2 u' (G C G') u + c'u  subject to  u >= 0;  the flow is C G'u
    norm 1:  minimise c'u  subject to  u >= 0, |G'u| <= 1;  the flow is the multiplier of |G'u| <= 1

B thresholds have at most 2 B - 1 edges. With norm 2, the upper half of the Laplacian G C G' has at
most 3 B nonzeros, and the constraints have B + 1. With norm 1, there are 4 B - 2 and B + 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import osqp
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import ConvergenceError
from ...kernels.smoothing.increments import accumulate, difference
from .problem import Float, Problem, Smoothing

__all__ = ["Edges", "answer_of", "incidence_of", "noise_edges", "smoothing_of", "solve"]

_START_RHO = 0.1
# On the linear programs of norm 1, over-relaxation and eager changes of rho can chase each other
# forever; tests/curves/test_smoothing.py has curves on which OSQP's defaults do.
_STEADY = {"alpha": 1.0, "adaptive_rho_tolerance": 50.0}


@dataclass(frozen=True, eq=False, slots=True)
class Edges:
    """Noise nodes as edges of a graph whose vertices are the boundaries 0, ..., B.

    Parameters
    ----------
    start, end
        (E,) the boundaries at the two ends. The node covers thresholds start + 1, ..., end.
    copies
        (E,) the number of nodes of the tree that cover exactly these thresholds.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    copies: NDArray[np.int64]


def noise_edges(size: int, base: int, at: NDArray[np.int64]) -> Edges:
    """Return the nodes of the tree over ``size`` thresholds, for the thresholds in ``at``, (B,).

    A node that covers none of these drops out. Nodes that cover the same ones become one edge.
    There are at most 2 B - 1 edges. O(B) time for each level.
    """
    boundaries = at.size + 1
    keys = []
    node = at.copy()  # the node of this level over each chosen threshold
    while True:
        first = np.flatnonzero(np.r_[True, node[1:] != node[:-1]])
        keys.append(first * boundaries + np.r_[first[1:], at.size])
        if size == 1:  # the last node was the root
            break
        size = (size - 1) // base + 1
        node //= base
    key, copies = np.unique(np.concatenate(keys), return_counts=True)
    return Edges(key // boundaries, key % boundaries, copies)


def solve(problem: Problem, tolerance: float, max_iterations: int) -> Smoothing:
    """Solve the problem for every replicate, (R, B), with one setup, and each from zero.

    Raises
    ------
    ConvergenceError
        A replicate did not reach the tolerance.
    """
    replicates, boundaries = problem.curves.shape[0], problem.curves.shape[1] + 1
    edges = noise_edges(problem.size, problem.base, problem.at)
    incidence = incidence_of(edges, boundaries)
    solver = _set_up(problem.norm, edges, incidence, tolerance, max_iterations)
    noisy, units = np.empty((replicates, boundaries)), np.empty(replicates)
    difference(problem.curves, problem.totals, noisy, units)
    increments = noisy.copy()
    figures = np.zeros((replicates, 4))
    iterations = np.zeros(replicates, np.int64)
    for r, row in enumerate(noisy):
        if row.min() >= 0.0:  # the row rises already, so the flow 0 is optimal
            continue
        unit = float(units[r])
        solver.update_settings(rho=_START_RHO)
        solver.update(q=row / unit)
        solver.warm_start(x=np.zeros(boundaries), y=np.zeros(solver.m))
        answer = answer_of(solver, tolerance, max_iterations)
        flow, figures[r] = _read(problem.norm, edges, row, incidence, answer, unit)
        increments[r] += incidence @ flow
        figures[r, 1] = max(0.0, -increments[r].min())
        iterations[r] = answer.info.iter
    return smoothing_of(problem, increments, figures, iterations, units)


def answer_of(solver: Any, tolerance: float, max_iterations: int) -> Any:
    """Return the answer of a solver that is set up for this tolerance and so many iterations.

    Raises
    ------
    ConvergenceError
        The solver did not reach the tolerance.
    """
    answer = solver.solve(raise_error=False)
    if answer.info.status_val != osqp.SolverStatus.OSQP_SOLVED:
        raise ConvergenceError(
            f"OSQP stopped after {answer.info.iter} iterations: {answer.info.status}; "
            f"raise tolerance (now {tolerance:g}) or max_iterations (now {max_iterations})"
        )
    return answer


def smoothing_of(
    problem: Problem,
    increments: Float,
    figures: Float,
    iterations: NDArray[np.int64],
    units: Float,
) -> Smoothing:
    """Return the solution with these increments, (R, B + 1), which become its curves.

    Parameters
    ----------
    problem
        The problem.
    increments
        The repaired increments of each curve.
    figures
        (R, 4) objective, primal and dual residual, and gap.
    iterations, units
        (R,) of the solver, and of ``difference``.
    """
    smoothed = np.empty_like(problem.curves)
    accumulate(increments, problem.totals, smoothed)
    return Smoothing(
        smoothed,
        problem.norm,
        "osqp",
        objective=figures[:, 0],
        primal_residual=figures[:, 1],
        dual_residual=figures[:, 2],
        gap=figures[:, 3],
        iterations=iterations,
        unit=units,
    )


def incidence_of(edges: Edges, boundaries: int) -> Any:
    """Return G, (B + 1, E): noise nu on (a, b] adds nu to increment a, takes it from b."""
    count = edges.start.size
    column = np.arange(count)
    return sp.csc_array(
        (
            np.r_[np.ones(count), -np.ones(count)],
            (np.r_[edges.start, edges.end], np.r_[column, column]),
        ),
        shape=(boundaries, count),
    )


def _set_up(norm: int, edges: Edges, incidence: Any, tolerance: float, max_iterations: int) -> Any:
    boundaries, count = incidence.shape
    potentials = sp.eye_array(boundaries, format="csc")
    if norm == 2:
        laplacian = incidence @ sp.diags_array(edges.copies.astype(float)) @ incidence.T
        quadratic = sp.triu(laplacian, format="csc")
        constraints, lowest = potentials, np.zeros(boundaries)
        highest = np.full(boundaries, np.inf)
    else:
        quadratic = sp.csc_array((boundaries, boundaries))
        constraints = sp.vstack([incidence.T, potentials], format="csc")
        lowest = np.r_[np.full(count, -1.0), np.zeros(boundaries)]
        highest = np.r_[np.ones(count), np.full(boundaries, np.inf)]
    solver = osqp.OSQP()
    solver.setup(
        P=sp.csc_matrix(quadratic),
        q=np.zeros(boundaries),
        A=sp.csc_matrix(constraints),
        l=lowest,
        u=highest,
        eps_abs=tolerance,
        eps_rel=tolerance,
        max_iter=max_iterations,
        rho=_START_RHO,
        verbose=False,
        **(_STEADY if norm == 1 else {}),
    )
    return solver


def _read(
    norm: int, edges: Edges, row: Float, incidence: Any, answer: Any, unit: float
) -> tuple[Float, NDArray[np.float64]]:
    """Return the flow, and (objective, 0, dual residual, gap) of OSQP's answer."""
    slope = incidence.T @ answer.x
    feasible = np.maximum(answer.x, 0.0)
    dual_residual = max(0.0, -answer.x.min())
    if norm == 2:
        copies = edges.copies
        flow = copies * slope * unit
        objective = float(np.sum(flow**2 / copies))
        energy = float(np.sum(copies * (incidence.T @ feasible) ** 2)) * unit**2
        proved = -2.0 * float(row @ feasible) * unit - energy
    else:
        flow = answer.y[: slope.size] * unit
        objective = float(np.abs(flow).sum())
        dual_residual = max(dual_residual, float(np.abs(slope).max()) - 1.0)
        feasible /= max(1.0, float(np.abs(incidence.T @ feasible).max()))
        proved = -float(row @ feasible)
    return flow, np.array([objective, 0.0, dual_residual, objective - proved])
