"""The solver of the graph: exact, in a handful of eliminations without fill (norm 2)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..kernels import elimination, obstacle
from ..randomness import on_threads
from .problem import Problem, Smoothing

__all__ = ["solve"]

_Plan = tuple[
    NDArray[np.int64],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.uint32],
    NDArray[np.float64],
]
_BLOCK: Final = 2**14  # replicates are dealt to threads in blocks of about so many increments


def solve(problem: Problem, workers: int | None) -> Smoothing:
    """Solve the problem, norm 2, for every replicate, (R, B), on up to ``workers`` threads."""
    replicates, boundaries = problem.increments.shape
    if problem.at.size == problem.size:
        plan = _plan(problem.size, problem.base)
    else:
        plan = _plan_for(problem.at, problem.size, problem.base)
    units = np.abs(problem.increments).max(axis=1)
    increments = problem.increments.copy()
    figures = np.empty((replicates, 4))
    steps = np.empty(replicates, np.int64)
    rows = max(1, _BLOCK // boundaries)

    def repair(start: int) -> None:
        part = slice(start, start + rows)
        obstacle.repair(*plan, increments[part], figures[part], steps[part])

    on_threads(repair, range(0, replicates, rows), workers)
    return Smoothing(
        problem.curve(increments),
        problem.norm,
        "graph",
        objective=figures[:, 0],
        primal_residual=figures[:, 1],
        dual_residual=figures[:, 2] / units,
        gap=figures[:, 0] - figures[:, 3],
        iterations=steps,
        unit=units,
    )


@lru_cache(maxsize=4)
def _plan(size: int, base: int) -> _Plan:
    """Return the plan for all thresholds; the same for all curves of a size, and kept."""
    return _plan_for(np.arange(size), size, base)


def _plan_for(at: NDArray[np.int64], size: int, base: int) -> _Plan:
    levels, width = 1, 1
    while width < size:
        levels, width = levels + 1, width * base
    return elimination.plan(elimination.separations(at, base, levels))
