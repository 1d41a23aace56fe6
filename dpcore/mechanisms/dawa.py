"""Buckets of like cells, found privately, and a hierarchy over the buckets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..kernels.selection.adaptive import lines_through
from ..kernels.trees import hilbert, partition
from ..noise.laws import DiscreteLaplace
from ..noise.sources import Source
from ..privacy.budget import Budget
from ..privacy.guarantees import Neighbours
from ..summaries.grid import MOST_CELLS
from .bucket_trees import weighted_tree
from .budgeted import Releases, Work
from .hierarchy import Hierarchy

__all__ = ["Dawa", "deviation_costs"]


@dataclass(frozen=True, slots=True)
class Dawa(Releases):
    """Data-aware cumulative counts: cells are put in buckets within which they are taken as equal.

    After Li, Hay, Miklau & Wang, *A data- and workload-aware algorithm for range queries under
    differential privacy* (PVLDB 2014), with another first stage: noisy costs of aligned
    buckets on few levels, around the median, which has a short proof (docs/dawa.md). It
    pays where the data are empty or smooth in long stretches and n epsilon is small; it is biased.

    Parameters
    ----------
    epsilon
        The budget, a positive number (a Fraction is taken exactly).
    split
        The share of epsilon that finds the buckets, above 0 and below 1.
    branching
        How many times longer than the last the next longer buckets are: a power of two.
    neighbours
        "replace-one" or "add-or-remove-one".

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.
    """

    epsilon: float | Fraction
    split: float | Fraction = 0.25
    branching: int = 16
    neighbours: Neighbours = "replace-one"

    def __post_init__(self) -> None:
        self._budget()
        if not 0 < _check.fraction("split", self.split) < 1:
            raise ParameterError("split", self.split, "must be above 0 and below 1")
        branching = _check.integer("branching", self.branching, 2, MOST_CELLS)
        if branching & (branching - 1):
            raise ParameterError("branching", self.branching, "must be a power of two")

    def _budget(self) -> Budget:
        return Budget.checked(self.epsilon, None, self.neighbours)

    def stages(self, size: int) -> tuple[DiscreteLaplace | None, Hierarchy]:
        """Return the noise of a bucket's cost, and what counts the buckets.

        With fewer than two of the longest buckets nothing is released of the costs, and all is
        left for the counts. Cached.
        """
        return _stages(self, _check.integer("size", size, 1, MOST_CELLS))

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return infinities, (N,): how far cells in a bucket are from equal is not known."""
        _, hierarchy = self.stages(size)
        hierarchy.tree(size)  # of as many buckets as there can be
        return np.full(size, np.inf)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them."""
        return {
            "name": "dawa",
            **self._budget().describe(),
            "split": float(self.split),
            "branching": self.branching,
        }

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        law, hierarchy = self.stages(exact.size)
        levels = partition.level_count(exact.size, self.branching) if law else 0
        costs = deviation_costs(exact, self.branching, levels)
        cumulative = np.concatenate([[0], np.cumsum(exact)])

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            for row in out:
                edges = self._edges(costs, exact.size, law, hierarchy, stream)
                row[:] = _counted(np.diff(cumulative[edges]), edges, hierarchy, stream)

        return Work(fill, 2 * exact.size, np.float64)

    def release_table(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Return a table of counts with noise, by a release in the order of Hilbert's curve.

        Parameters
        ----------
        counts
            (H, W) integers, the exact counts of a table's cells.
        rng
            As in ``release``.

        Returns
        -------
        numpy.ndarray
            float64, (H, W): noisy counts of the cells, not cumulative. Under replace-one they sum
            to n, to rounding.

        Raises
        ------
        DtypeError, ParameterError
            counts is not a two-dimensional array of integers with at most 2^24 cells.
        """
        table = _check.counts("counts", counts)
        if table.ndim != 2 or not 1 <= table.size <= MOST_CELLS:
            raise ParameterError(
                "counts", table.shape, f"must be two-dimensional, with 1 to {MOST_CELLS} cells"
            )
        order = hilbert.rectangle(*table.shape)
        noisy = np.empty(table.size)
        noisy[order] = np.diff(self.release(table.reshape(-1)[order], rng=rng), prepend=0.0)
        return noisy.reshape(table.shape)

    def _edges(
        self,
        costs: NDArray[np.int64],
        size: int,
        law: DiscreteLaplace | None,
        hierarchy: Hierarchy,
        stream: Source,
    ) -> NDArray[np.int64]:
        """Return where the buckets start, and N at the end, (buckets + 1,): stage 1."""
        if law is None:
            return np.arange(size + 1)
        noisy = np.empty(costs.size, np.int64)
        law.fill(noisy, stream)
        noisy += costs
        levels = partition.level_count(size, self.branching)
        allowance = float(law.scale)  # the mean absolute noise of a cost, about
        of_a_count = float(self._budget().moved / _check.fraction("epsilon", hierarchy.epsilon))
        return np.asarray(
            partition.best_partition(noisy, size, self.branching, levels, allowance, of_a_count)
        )


@lru_cache(maxsize=64)
def _stages(mechanism: Dawa, size: int) -> tuple[DiscreteLaplace | None, Hierarchy]:
    levels = partition.level_count(size, mechanism.branching)
    budget = mechanism._budget()
    assert budget.epsilon is not None
    if levels == 0:
        return None, Hierarchy(budget.epsilon, neighbours=mechanism.neighbours)
    split = _check.fraction("split", mechanism.split)
    law = budget.law(budget.moved * levels, split)
    assert isinstance(law, DiscreteLaplace)
    return law, Hierarchy(budget.epsilon * (1 - split), neighbours=mechanism.neighbours)


def deviation_costs(counts: NDArray[np.int64], branching: int, levels: int) -> NDArray[np.int64]:
    """Return every node's deviation from its median, sum |x_i - median|, an integer.

    Parameters
    ----------
    counts
        (N,) cells; sums of them must stay within 64 bits.
    branching
        A power of two, 2 or more.
    levels
        How many.

    Returns
    -------
    numpy.ndarray
        int64, (nodes,): level after level, from the shortest nodes, and from left to right.

    Notes
    -----
    Each node's cells are parted at their median, which is selected, in place: longer nodes hold
    the same cells. O(N) time a level, and one copy of the counts.
    """
    cells = counts.copy()
    costs = np.empty(partition.node_count(counts.size, branching, levels), np.int64)
    first = 0
    for level in range(1, levels + 1):
        length = branching**level
        whole = cells.size - cells.size % length
        for nodes in (cells[:whole].reshape(-1, length), cells[np.newaxis, whole:]):
            if nodes.size:
                nodes.partition(nodes.shape[1] // 2, axis=1)
        partition.half_differences(cells, length, costs[first:])
        first += -(-cells.size // length)
    return costs


def _counted(
    counts: NDArray[np.int64], edges: NDArray[np.int64], hierarchy: Hierarchy, stream: Source
) -> NDArray[np.float64]:
    """Return cumulative counts at all cells, (N,), linear within each bucket: stage 2."""
    tree = weighted_tree(hierarchy, np.diff(edges))
    ends = np.zeros((1, counts.size + 1))
    tree.release(tree.node_sums(counts), ends[:, 1:], stream)
    out = np.empty((1, edges[-1]))
    lines_through(edges[np.newaxis], ends, out)
    return np.asarray(out[0])
