"""The smoothing problem as a flow between boundaries, and what a solution says of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Edges", "Problem", "Smoothing", "noise_edges"]

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edges:
    """Noise nodes as edges of a graph whose vertices are the boundaries 0, ..., B.

    Parameters
    ----------
    start, end
        (E,) the boundaries at the two ends; the node covers thresholds start + 1, ..., end.
    copies
        (E,) how many nodes of the tree cover exactly these thresholds.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    copies: NDArray[np.int64]


def noise_edges(size: int, base: int, at: NDArray[np.int64]) -> Edges:
    """Return the nodes of the tree over ``size`` thresholds as seen from those in ``at``, (B,).

    A node that covers none of them drops out; nodes that cover the same ones are one edge.
    At most 2 B - 1 edges; O(B) time a level.
    """
    boundaries = at.size + 1
    keys = []
    node = at.copy()  # the node of this level over each chosen threshold
    while True:
        first = np.flatnonzero(np.r_[True, node[1:] != node[:-1]])
        keys.append(first * boundaries + np.r_[first[1:], at.size])
        if size == 1:  # that was the root
            break
        size = (size - 1) // base + 1
        node //= base
    key, copies = np.unique(np.concatenate(keys), return_counts=True)
    return Edges(key // boundaries, key % boundaries, copies)


@dataclass(frozen=True, slots=True)
class Problem:
    """Repair the negative increments with the cheapest flow.

    minimise over nu (E,): sum |nu|^p * weight (p = 1), or 1/2 sum nu^2 / copies (p = 2), subject
    to increments + G nu >= 0, where G is the graph's incidence matrix (docs/smoothing.md).

    Parameters
    ----------
    increments
        (R, B + 1): F(1), F(2) - F(1), ..., n - F(B); each row sums to n.
    total
        n.
    edges
        The noise nodes.
    norm
        p.
    """

    increments: Float
    total: float
    edges: Edges
    norm: int

    @classmethod
    def from_curves(cls, cumulative: Float, total: float, edges: Edges, norm: int) -> Problem:
        """Return the problem for cumulative counts (R, B)."""
        padded = np.pad(cumulative, ((0, 0), (1, 1)), constant_values=((0, 0), (0, total)))
        return cls(np.diff(padded, axis=1), total, edges, norm)

    def curve(self, increments: Float) -> Float:
        """Return the cumulative counts of increments that are >= 0 up to a solver's tolerance.

        Projected so as to be non-decreasing and within [0, n], with no tolerance.
        """
        cumulative = np.clip(np.cumsum(increments[..., :-1], axis=-1), 0.0, self.total)
        return np.maximum.accumulate(cumulative, axis=-1)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """A smoothed curve with its certificate.

    Parameters
    ----------
    cumulative
        (..., B) cumulative counts: non-decreasing and within [0, n] exactly.
    norm, solver
        What was minimised, and by what.
    objective
        (...) the least cost found: sum of |nu| (norm 1) or of nu^2 (norm 2) over the nodes, in
        counts or counts^2.
    primal_residual
        (...) largest negative increment before the projection, in counts.
    dual_residual
        (...) largest violation of the dual constraints, in the scaled problem.
    gap
        (...) objective minus the cost that the dual solution, made feasible, proves necessary.
        Below 0 only as far as the primal residual allows.
    iterations
        (...) of the solver.
    unit
        (...) the largest increment put in, in counts: what residuals are large or small against.
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

    def is_optimal(self, tolerance: float = 1e-4) -> bool:
        """Say whether residuals and gap are within it, relative to the problem's own size."""
        smallest = self.unit**self.norm
        return bool(
            np.all(self.primal_residual <= tolerance * self.unit)
            and np.all(self.dual_residual <= tolerance)
            and np.all(np.abs(self.gap) <= tolerance * np.maximum(self.objective, smallest))
        )

    def reshaped(self, shape: tuple[int, ...]) -> Smoothing:
        """Return it with the leading axes ``shape`` instead of one axis of replicates."""
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
