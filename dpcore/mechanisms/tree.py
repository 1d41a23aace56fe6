"""A hierarchy's nodes, and the noise of each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError
from ..kernels.trees import hierarchy as kernels
from ..kernels.trees import hierarchy_errors
from ..noise.sources import Source
from ..privacy.allowance import Allowance, Law, rho_of
from ..privacy.losses import ShiftedNoise
from ..privacy.whole_counts import spread_over_counts
from .branching import Branching
from .mean_errors import mean_prefix_variance

__all__ = ["Tree", "noisy_nodes", "release_nodes"]


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """A hierarchy for a number of cells, with the noise of each level.

    Parameters
    ----------
    branching
        (levels - 1,) the number of children of a node, from the root down.
    starts
        (levels + 1,) the place where the nodes of each level start, in an array of all nodes.
    laws
        The noise of a node on each level. None if the root is public, or if a level is not counted.
    variances
        (levels,) the variance of that noise, in counts^2.
    bits
        The unit of the noise is 2^-bits counts.
    """

    branching: NDArray[np.int64]
    starts: NDArray[np.int64]
    laws: tuple[Law | None, ...]
    variances: NDArray[np.float64]
    bits: int = 0

    @classmethod
    def of(
        cls, size: int, branching: Branching, shares: Sequence[float], budget: Allowance
    ) -> Tree:
        """Return the tree over ``size`` cells, given each level's share of a budget, root first."""
        children = np.array(branching, np.int64)
        weights = [Fraction(share) for share in shares]
        exact = [weight / sum(weights) for weight in weights]  # they sum to 1
        changed = budget.moved * sum(weight > 0 for weight in weights)
        spread, bits = spread_over_counts(budget, changed, max(exact))
        laws: list[Law | None] = [
            spread.law(budget.moved * 4**bits, share) if share else None for share in exact
        ]
        # The deviation is never 0, even if noise is nearly always 0, because 0 stands for a public
        # count.
        variances = np.array(
            [np.inf if law is None else max(law.variance * 4.0**-bits, 1e-100) for law in laws]
        )
        if budget.total_is_public:
            variances[0] = 0.0
            laws[0] = None
        starts = kernels.level_starts(size, children)
        return cls(children, starts, tuple(laws), variances, bits)

    def resized(self, size: int) -> Tree | None:
        """Return the tree over another number of cells: the noise is the same, the root is not.

        The root has more or fewer children. None if one node of the next level holds all cells.
        """
        below = int(np.prod(self.branching[1:]))
        if self.branching.size == 0 or size <= below:
            return self if size == self.starts[-1] - self.starts[-2] else None
        children = np.append(-(-size // below), self.branching[1:])
        return replace(self, branching=children, starts=kernels.level_starts(size, children))

    @property
    def rho(self) -> Fraction:
        """The rho of the noise: on each level neighbours differ in one count, or in two."""
        parts = [rho_of(one.law, one.count * one.shift**2) for one in self.shifts]
        return sum(parts, Fraction(0))

    @property
    def shifts(self) -> tuple[ShiftedNoise, ...]:
        """The noise that neighbours shift: of one count, or of two, on each level."""
        changed = 2 if self.total_is_public else 1
        return tuple(ShiftedNoise(law, 2**self.bits, changed) for law in self.laws if law)

    @property
    def total_is_public(self) -> bool:
        """Whether the root is known, and has no noise."""
        return bool(self.variances[0] == 0.0)

    def prefix_variances(self) -> NDArray[np.float64]:
        """Return the variance of every cumulative count, (N,). O(N)."""
        variances = hierarchy_errors.prefix_variances(self.branching, self.starts, self.variances)
        if self.total_is_public:
            variances[-1] = 0.0
        return np.maximum(variances, 0.0)

    def mean_prefix_variance(self) -> float:
        """Return the mean of these variances. O(levels)."""
        return mean_prefix_variance(
            self.branching.tolist(), self.starts.tolist(), self.variances.tolist()
        )

    def node_sums(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact counts of all nodes, (..., nodes), from those of cells, (..., N) int64.

        Raises
        ------
        DtypeError, ParameterError
            The counts are not such an array.
        """
        if counts.dtype != np.int64:
            raise DtypeError("counts", f"dtype {counts.dtype}", "must be int64")
        cells = (int(self.starts[-1] - self.starts[-2]),)
        if counts.shape[-1:] != cells:
            raise ParameterError("counts", counts.shape, f"must have shape {cells}")
        return kernels.node_sums(counts, self.branching, self.starts)


def release_nodes(
    tree: Tree, nodes: NDArray[np.int64], out: NDArray[np.float64], stream: Source
) -> None:
    """Overwrite ``out``, (rows, N), with releases: noise on the nodes, then least squares.

    The nodes are of one row for all releases, (nodes,), or of each, (rows, nodes).
    """
    noisy = noisy_nodes(tree, nodes, out.shape[0], stream)
    kernels.cumulative_estimates(noisy, tree.branching, tree.starts, tree.variances, out)
    if tree.bits:
        out *= 2.0**-tree.bits
    if tree.total_is_public:
        out[:, -1] = nodes[..., 0]  # up to rounding, it is that already


def noisy_nodes(
    tree: Tree, nodes: NDArray[np.int64], rows: int, stream: Source
) -> NDArray[np.int64]:
    """Return the counts of all nodes with noise, (rows, nodes), from exact ones, (..., nodes).

    The unit is 2^-bits counts. A level without noise is the public total, or it is not counted
    and its counts are 0.
    """
    noisy = np.zeros((rows, nodes.shape[-1]), np.int64)
    if tree.bits:
        nodes = nodes << tree.bits
    for level, law in enumerate(tree.laws):
        part = slice(tree.starts[level], tree.starts[level + 1])
        if law is not None:
            draws = np.empty((rows, part.stop - part.start), np.int64)
            law.fill(draws.reshape(-1), stream)
            np.add(draws, nodes[..., part], out=noisy[:, part])
        elif tree.variances[level] == 0.0:
            noisy[:, part] = nodes[..., part]
    return noisy
