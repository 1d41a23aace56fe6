"""Smoothing under linear constraints of the user: OSQP on the primal.

With G the incidence matrix of the noise graph, C the diagonal of copies, D the differences, and c
the noisy increments (docs/proofs/dyadic.md, section 7), all divided by the largest increment:

    minimise  nu' C^-1 nu (norm 2), or sum |nu| (norm 1), over F and nu
    subject to  D F - G nu = c,  D F >= 0,  lower <= A F <= upper

where the last row of D F is n - F(B). Norm 1 has one more variable t >= |nu| for each edge. B
thresholds have at most 2 B - 1 edges, so there are O(B) nonzeros besides those of A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import osqp
import scipy.sparse as sp
from numpy.typing import NDArray

from ...kernels.smoothing.increments import difference
from .constraints import Constraints
from .osqp import Edges, answer_of, incidence_of, noise_edges, smoothing_of
from .problem import Float, Problem, Smoothing

__all__ = ["solve"]


@dataclass(frozen=True, eq=False, slots=True)
class _Program:
    """The parts of the program that all replicates share.

    Parameters
    ----------
    edges
        The noise nodes.
    incidence
        (B + 1, E) G.
    differences
        (B + 1, B) D without the constant n of its last row.
    constraints
        Those of the user.
    norm, total
        1 or 2, and n.
    """

    edges: Edges
    incidence: Any
    differences: Any
    constraints: Constraints
    norm: int
    total: float

    def matrices(self) -> tuple[Any, NDArray[np.float64], Any]:
        """Return the quadratic and the linear part of the cost, and the rows."""
        count, size = self.incidence.shape[1], self.differences.shape[1]
        own = self.constraints.matrix
        blocks = [[self.differences, -self.incidence], [self.differences, None], [own, None]]
        linear = np.zeros(size + count)
        costs = np.concatenate([np.zeros(size), 2.0 / self.edges.copies])
        if self.norm == 1:
            same = sp.eye_array(count)
            blocks = [[*row, None] for row in blocks]
            blocks += [[None, same, same], [None, -same, same]]
            linear = np.concatenate([linear, np.ones(count)])
            costs = np.zeros(linear.size)
        return sp.diags_array(costs), linear, sp.block_array(blocks, format="csc")

    def bounds(self, row: Float, unit: float) -> tuple[Float, Float]:
        """Return the bounds of the rows for one replicate's increments."""
        last = np.zeros(row.size)
        last[-1] = self.total / unit
        noisy, free = row / unit - last, np.full(row.size, np.inf)
        lower = [noisy, -last, self.constraints.lower / unit]
        upper = [noisy, free, self.constraints.upper / unit]
        if self.norm == 1:
            edges = 2 * self.edges.copies.size
            lower.append(np.zeros(edges))
            upper.append(np.full(edges, np.inf))
        return np.concatenate(lower), np.concatenate(upper)

    def proved(self, row: Float, unit: float, prices: Float) -> float:
        """Return a lower bound of the cost, in counts or squared counts, from dual variables.

        Weak duality: any prices of the rows prove one, if those of infinite bounds are 0. What they
        leave of F is at least 0 or -n times it, because F is within [0, n].
        """
        boundaries, own = row.size, self.constraints.lower.size
        lower, upper = (part[: 2 * boundaries + own] for part in self.bounds(row, unit))
        prices = np.where(prices > 0.0, np.where(np.isfinite(upper), prices, 0.0), prices)
        prices = np.where(prices < 0.0, np.where(np.isfinite(lower), prices, 0.0), prices)
        slope = self.incidence.T @ prices[:boundaries]
        energy = 0.0
        if self.norm == 1:
            steepest = max(1.0, float(np.abs(slope).max()))
            prices = prices / steepest
        else:
            energy = float(np.sum(self.edges.copies * slope**2)) / 4.0
        at, below = prices[:boundaries], prices[boundaries : 2 * boundaries]
        left = (
            self.differences.T @ (at + below)
            + self.constraints.matrix.T @ (prices[2 * boundaries :])
        )
        rest = float(np.minimum(left, 0.0).sum()) * self.total / unit
        rising, falling = prices > 0.0, prices < 0.0
        support = float(prices[rising] @ upper[rising] + prices[falling] @ lower[falling])
        return (rest - support - energy) * unit**self.norm


def solve(
    problem: Problem, constraints: Constraints, tolerance: float, max_iterations: int
) -> Smoothing:
    """Solve the problem under constraints for every replicate, (R, B), each from zero.

    Raises
    ------
    ConvergenceError
        A replicate did not reach the tolerance.
    """
    replicates, size = problem.curves.shape
    edges = noise_edges(problem.size, problem.base, problem.at)
    incidence = incidence_of(edges, size + 1)
    differences = sp.eye_array(size + 1, size) - sp.eye_array(size + 1, size, k=-1)
    total = float(problem.totals[0])  # constraints are of one number of records
    program = _Program(
        edges, incidence, sp.csc_array(differences), constraints, problem.norm, total
    )
    noisy, units = np.empty((replicates, size + 1)), np.empty(replicates)
    difference(problem.curves, problem.totals, noisy, units)
    increments, figures = noisy.copy(), np.zeros((replicates, 4))
    iterations = np.zeros(replicates, np.int64)
    quadratic, linear, rows = program.matrices()
    for r, row in enumerate(noisy):
        unit = float(units[r])
        lower, upper = program.bounds(row, unit)
        solver = osqp.OSQP()
        solver.setup(
            P=sp.csc_matrix(quadratic),
            q=linear,
            A=sp.csc_matrix(rows),
            l=lower,
            u=upper,
            eps_abs=tolerance,
            eps_rel=tolerance,
            max_iter=max_iterations,
            polishing=True,
            verbose=False,
        )
        answer = answer_of(solver, tolerance, max_iterations)
        flow = answer.x[size : size + edges.copies.size] * unit
        increments[r] += incidence @ flow
        curve = np.cumsum(increments[r])[:-1]
        reached = constraints.matrix @ curve
        figures[r] = _figures(program, row, unit, flow, answer)
        figures[r, 1] = max(
            0.0,
            -float(increments[r].min()),
            float((reached - constraints.upper).max()),
            float((constraints.lower - reached).max()),
        )
        iterations[r] = answer.info.iter
    return smoothing_of(problem, increments, figures, iterations, units)


def _figures(
    program: _Program, row: Float, unit: float, flow: Float, answer: Any
) -> NDArray[np.float64]:
    """Return (objective, 0, dual residual, gap) of OSQP's answer."""
    copies = program.edges.copies
    objective = np.sum(flow**2 / copies) if program.norm == 2 else np.abs(flow).sum()
    prices = answer.y[: 2 * row.size + program.constraints.lower.size]
    gap = float(objective) - program.proved(row, unit, prices)
    return np.array([float(objective), 0.0, float(answer.info.dual_res), gap])
