"""The smoothing problem as a flow between boundaries, and its solution with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ..._sealed import sealed
from ...errors import ParameterError
from ..shown import line

__all__ = ["Problem", "Smoothing"]

Float = NDArray[np.float64]
_MOST_TOLERANCE: Final = 1e3


@dataclass(frozen=True, eq=False, slots=True)
class Problem:
    """Repair the negative increments with the cheapest flow on the graph of noise nodes.

    minimise over nu, one number for each node: sum |nu|^norm, subject to increments + G nu >= 0,
    where G is the graph's incidence matrix (docs/proofs/dyadic.md, section 7).

    Here increments are F(1), F(2) - F(1), ..., n - F(B).

    Parameters
    ----------
    curves
        (R, B) noisy cumulative counts F.
    totals
        (R,) n of each curve.
    size, base
        Thresholds of the whole noise tree, and children per node.
    at
        (B,) increasing indices of the thresholds that matter.
    norm
        1 or 2.
    """

    curves: Float
    totals: Float
    size: int
    base: int
    at: NDArray[np.int64]
    norm: int


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Smoothing:
    """A smoothed curve with its certificate.

    Parameters
    ----------
    cumulative
        (..., B) cumulative counts, exactly non-decreasing and within [0, n].
    norm, solver
        The norm that was minimised, and the solver.
    objective
        (...) the least cost found: the sum of |nu| (norm 1) or of nu^2 (norm 2) over the nodes, in
        counts or squared counts.
    primal_residual
        (...) the largest negative increment before the projection, in counts.
    dual_residual
        (...) the largest violation of the dual constraints, in the scaled problem.
    gap
        (...) the objective minus a lower bound of the cost, which the dual solution, made feasible,
        proves. It is below 0 only as far as the primal residual allows.
    iterations
        (...) the number of the solver's iterations.
    unit
        (...) the largest increment of the input, in counts. Compare residuals with it.

    Examples
    --------
    >>> import dpcore as dp
    >>> smoothed = dp.smooth([3.0, 1.0, 4.0, 9.0, 8.0], 10)
    >>> smoothed.cumulative.round(2).tolist(), smoothed.is_optimal()
    ([1.83, 1.83, 3.67, 8.5, 8.5], True)
    """

    cumulative: Float
    norm: int
    solver: str
    objective: Float
    primal_residual: Float
    dual_residual: Float
    gap: Float
    iterations: NDArray[np.int64]
    unit: Float

    def __post_init__(self) -> None:
        cumulative = _check.array_itself("cumulative", self.cumulative, np.float64)
        if cumulative.ndim < 1:
            raise ParameterError("cumulative", cumulative.shape, "must have one axis or more")
        _check.integer("norm", self.norm, 1, 2)
        _check.instance("solver", self.solver, str, "must be the name of a solver")
        measured = "objective primal_residual dual_residual gap iterations unit"
        for name in measured.split():
            _check.held(name, getattr(self, name), cumulative.shape[:-1])

    def __repr__(self) -> str:
        shape, gap = self.cumulative.shape, float(np.max(self.gap, initial=0.0))
        return line("Smoothing", f"shape {shape}, norm {self.norm}, {self.solver}, gap {gap:.2g}")

    def is_optimal(self, tolerance: float = 1e-4) -> bool:
        """Return whether residuals and gap are within a tolerance, relative to the problem's size.

        Raises
        ------
        DtypeError, ParameterError
            The tolerance is not a number in (0, 1000].

        Examples
        --------
        >>> import dpcore as dp
        >>> smoothed = dp.smooth([3.0, 1.0, 4.0, 9.0, 8.0], 10)
        >>> smoothed.cumulative.round(2).tolist(), smoothed.is_optimal(1e-6)
        ([1.83, 1.83, 3.67, 8.5, 8.5], True)
        """
        tolerance = _check.positive("tolerance", tolerance)
        if tolerance > _MOST_TOLERANCE:
            raise ParameterError("tolerance", tolerance, f"must be at most {_MOST_TOLERANCE:g}")
        smallest = self.unit**self.norm
        return bool(
            np.all(self.primal_residual <= tolerance * self.unit)
            and np.all(self.dual_residual <= tolerance)
            and np.all(np.abs(self.gap) <= tolerance * np.maximum(self.objective, smallest))
        )

    def reshaped(self, shape: tuple[int, ...]) -> Smoothing:
        """Return the result with the leading axes ``shape`` instead of one axis of replicates.

        Raises
        ------
        DtypeError, ParameterError
            The shape is not a tuple of integers, or not one of so many replicates.

        Examples
        --------
        >>> import dpcore as dp
        >>> smoothed = dp.smooth([[3.0, 1.0, 4.0], [0.0, 2.0, 1.0]], 10)
        >>> smoothed.cumulative.shape, smoothed.reshaped((2, 1)).cumulative.shape
        ((2, 3), (2, 1, 3))
        """
        _check.instance("shape", shape, tuple | list, "must be a tuple of integers")
        shape = tuple(_check.integer("shape", size, 0, 2**53) for size in shape)
        if math.prod(shape) != self.unit.size:
            raise ParameterError("shape", shape, f"must be one of {self.unit.size} replicates")
        return replace(
            self,
            cumulative=self.cumulative.reshape(*shape, self.cumulative.shape[-1]),
            objective=self.objective.reshape(shape),
            primal_residual=self.primal_residual.reshape(shape),
            dual_residual=self.dual_residual.reshape(shape),
            gap=self.gap.reshape(shape),
            iterations=self.iterations.reshape(shape),
            unit=self.unit.reshape(shape),
        )
