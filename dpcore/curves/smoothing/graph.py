"""The exact solver on the graph, by eliminations without fill."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..._threads import on_threads
from ...errors import ConvergenceError
from ...kernels.smoothing import elimination, obstacle
from ...kernels.smoothing.increments import accumulate, difference
from ...kernels.transport import solve as transport
from .problem import Problem, Smoothing

__all__ = ["solve"]

_BLOCK: Final = 2**14  # threads get replicates in blocks of about this many increments

_KEPT: Final = 2**21  # doubles in the working memory that a thread keeps

# The largest distance, in units, between a flow and the flow of least energy.
_LEAST_ENERGY: Final = 1e-8


_thread = threading.local()


def solve(problem: Problem, workers: int | None) -> Smoothing:
    """Solve the problem for every replicate, (R, B), on up to ``workers`` threads.

    Raises
    ------
    ConvergenceError
        Norm 1: a row did not reach the flow of least energy to rounding.
    """
    replicates, thresholds = problem.curves.shape
    if thresholds == problem.size:
        plan = _plan(problem.norm, problem.size, problem.base)
    else:
        plan = _plan_for(problem.norm, problem.at, problem.size, problem.base)
    repair_rows: Callable[..., None] = _least_squares if problem.norm == 2 else _cheapest
    smoothed, units = np.empty_like(problem.curves), np.empty(replicates)
    # Cost, residuals, bound; for norm 1: energy and its residual.
    figures = np.zeros((replicates, 6))
    steps = np.empty(replicates, np.int64)
    rows = max(1, _BLOCK // (thresholds + 1))

    def repair(start: int) -> None:
        part = slice(start, start + rows)
        curves = problem.curves[part]
        increments = np.empty((curves.shape[0], thresholds + 1))
        difference(curves, problem.totals[part], increments, units[part])
        repair_rows(*plan, increments, figures[part], steps[part])
        accumulate(increments, problem.totals[part], smoothed[part])

    on_threads(repair, range(0, replicates, rows), workers)
    worst = float((figures[:, 5] / units).max(initial=0.0))
    if not worst <= _LEAST_ENERGY:
        raise ConvergenceError(
            f"the flow misses least energy by {worst:g} of the largest increment; "
            'solver="osqp" does not need least energy'
        )
    return Smoothing(
        smoothed,
        problem.norm,
        "graph",
        objective=figures[:, 0],
        primal_residual=figures[:, 1],
        dual_residual=figures[:, 2] / (units if problem.norm == 2 else 1.0),
        gap=figures[:, 0] - figures[:, 3],
        iterations=steps,
        unit=units,
    )


def _least_squares(*arguments: NDArray[Any]) -> None:
    """Call the kernel of norm 2 with its working memory."""
    *plan, increments, figures, steps = arguments
    segments, vertices = plan[-1].size, increments.shape[1]
    work = _memory((segments,), (vertices - 1, 4), (vertices - 2, 2), (3, vertices))
    repair: Callable[..., None] = obstacle.repair
    repair(*plan, *work, increments, figures, steps)


def _cheapest(*arguments: NDArray[Any]) -> None:
    """Call the kernel of norm 1 with its working memory."""
    *plan, increments, figures, steps = arguments
    vertices = increments.shape[1]
    # Without the extra columns, rows would compete for the same lines of the cache.
    work = _memory((2 * vertices, 4), (11, 3 * vertices + 24))
    repair: Callable[..., None] = transport.repair
    repair(*plan, *work, increments, figures, steps)


def _memory(*shapes: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return uninitialised arrays of these shapes, from the memory that this thread has kept.

    Fresh memory costs time for each page, in every call. Large memory is not kept: for it NumPy
    asks for huge pages.
    """
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    size = int(ends[-1])
    kept: NDArray[np.float64] | None = getattr(_thread, "memory", None)
    if kept is None or kept.size < size:
        kept = np.empty(size)
        if size <= _KEPT:
            _thread.memory = kept
    parts = np.split(kept[:size], ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


@lru_cache(maxsize=4)
def _plan(norm: int, size: int, base: int) -> tuple[NDArray[Any], ...]:
    """Return the plan for all thresholds, which is the same for all curves of a size, and kept."""
    return _plan_for(norm, np.arange(size), size, base)


def _plan_for(norm: int, at: NDArray[np.int64], size: int, base: int) -> tuple[NDArray[Any], ...]:
    """Return the arguments of the norm's kernel that come before the increments."""
    levels, width = 1, 1
    while width < size:
        levels, width = levels + 1, width * base
    plan = elimination.plan(elimination.separations(at, base, levels))
    if norm == 1:
        return plan
    order, left, right, fill, conductances = plan
    short = order.astype(np.uint32), left, right, conductances.astype(np.float32)
    return *short, *elimination.segments(fill, conductances)
