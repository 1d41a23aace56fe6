"""The two stages of DAWA: it finds buckets privately, and counts the records in them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.selection.adaptive import add_parabolas, lines_through
from ..kernels.trees import partition
from ..noise.sources import Source
from ..privacy.allowance import Law
from .buckets import Scales
from .hierarchy import Hierarchy
from .tree import Tree, release_nodes

__all__ = ["Buckets", "Records", "Stages", "deviation", "line", "weighted_tree"]

# The squared error of a straight line, as a share of a bucket's squared cost: 1/6 if all records
# are in one cell, 2/15 on a slope, and less if the records are spread out.
_WEIGHT: Final = 0.1
_ALLOWANCES: Final = np.array([1.0, 2.0, 4.5])  # in variances of the noise of a squared cost
_DOUBT: Final = 0.25  # the least squared cost that is assumed, in variances of its noise
_WORTH: Final = 1.1  # the estimated squared error at lower limits, of the least one
# Trees are computed for numbers of buckets with so many significant binary digits.
_DIGITS: Final = 4
_WIDTHS: Final = (2, 4, 8, 16, 32)  # even trees that compete with the best one for equal buckets
_FEW_BUCKETS: Final = 1024  # of so many, the variances of the candidates are kept


class Stages(NamedTuple):
    """The plan of both stages, for a number of cells and of records.

    Parameters
    ----------
    scales
        The possible buckets.
    law
        The noise of a bucket's cost. None if there is no choice; then stage 1 spends nothing.
    hierarchy
        The mechanism that counts the buckets.
    errors
        The mean squared errors of counting 1, 2, 4, ... buckets.
    caution
        The number of deviations of its own noise that are added to the estimated error of a
        partition.
    limits
        The largest costs of a bucket, falling, of which ``least_risk`` takes one.
    """

    scales: Scales
    law: Law | None
    hierarchy: Hierarchy
    errors: NDArray[np.float64]
    caution: float
    limits: NDArray[np.float64]


class Buckets(NamedTuple):
    """A partition that was found.

    Parameters
    ----------
    edges
        (buckets + 1,) the cells at which buckets start, and N at the end.
    unevenness
        (buckets,) the estimated mean square of the error of a straight line in each bucket. It is 0
        for single cells, which have no noisy cost.
    """

    edges: NDArray[np.int64]
    unevenness: NDArray[np.float64]


class Records(NamedTuple):
    """Exact counts, prepared for any number of releases."""

    stages: Stages
    costs: NDArray[np.int64]
    cumulative: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64], stages: Stages) -> Records:
        """Return the records of the counts of the cells, (N,)."""
        costs = stages.scales.costs(counts) if stages.law else np.empty(0, np.int64)
        return cls(stages, costs, np.concatenate([[0], np.cumsum(counts)]))

    def find_buckets(self, stream: Source) -> Buckets:
        """Release the costs, and return the partition that follows from them: stage 1."""
        starts, law = self.stages.scales.starts(), self.stages.law
        if law is None:
            edges = np.unique(starts)
            return Buckets(edges, np.zeros(edges.size - 1))
        noisy = np.empty(self.costs.size, np.int64)
        law.fill(noisy, stream)
        noisy += self.costs
        nodes = np.empty(starts.size - 1, np.int64)
        places = partition.least_risk(
            noisy,
            nodes.size,
            self.stages.scales.lengths,
            law.variance,
            _WEIGHT,
            self.stages.errors,
            _ALLOWANCES,
            self.stages.caution,
            self.stages.limits,
            _WORTH,
            nodes,
        )
        nodes, ends = nodes[: places.size - 1], starts[places]
        squares = np.maximum(
            noisy[nodes].astype(np.float64) ** 2 - law.variance, _DOUBT * law.variance
        )
        unevenness = np.where(nodes < 0, 0.0, _WEIGHT * squares)
        have_cells = np.diff(ends) > 0
        return Buckets(np.append(0, ends[1:][have_cells]), unevenness[have_cells])

    def count_buckets(
        self, edges: NDArray[np.int64], stream: Source
    ) -> tuple[NDArray[np.float64], Tree]:
        """Return cumulative counts at the edges, (1, buckets + 1), and their tree: stage 2."""
        tree = weighted_tree(self.stages.hierarchy, np.diff(edges))
        ends = np.zeros((1, edges.size))
        nodes = tree.node_sums(np.diff(self.cumulative[edges]))
        release_nodes(tree, nodes, ends[:, 1:], stream)
        return ends, tree


def line(edges: NDArray[np.int64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return straight lines between the values at the edges, (N,)."""
    out = np.empty((1, edges[-1]))
    lines_through(edges[np.newaxis], ends, out)
    return np.asarray(out[0])


def deviation(buckets: Buckets, tree: Tree, ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the estimated deviation of each cumulative count, (N,).

    docs/proofs/dawa.md, section 3.
    """
    variances = line(buckets.edges, np.append(0.0, tree.prefix_variances())[np.newaxis])
    # The squared errors of the lines.
    add_parabolas(buckets.edges, buckets.unevenness, variances)
    return np.sqrt(variances, out=variances)


def weighted_tree(hierarchy: Hierarchy, widths: NDArray[np.int64]) -> Tree:
    """Return the tree over buckets with the least error; a bucket weighs as much as its cells.

    The partition is released, so the tree is public.
    """
    trees = _candidates(hierarchy, widths.size)
    if not trees:
        return hierarchy.tree(widths.size)  # this call raises the error with the reason
    weights = (widths + np.append(widths[1:], 0)).astype(np.float64)
    variances = _few_variances if widths.size <= _FEW_BUCKETS else _variances
    # This is not a product of vectors: BLAS would start threads for it, and wait for them.
    errors = np.sum(weights * variances(hierarchy, widths.size), axis=1)
    return trees[int(np.argmin(errors))]


def _variances(hierarchy: Hierarchy, buckets: int) -> NDArray[np.float64]:
    """Return the variances of the cumulative counts of each candidate, (trees, buckets)."""
    return np.stack([tree.prefix_variances() for tree in _candidates(hierarchy, buckets)])


_few_variances = lru_cache(maxsize=256)(_variances)  # about 10 MB at most


@lru_cache(maxsize=256)
def _candidates(hierarchy: Hierarchy, buckets: int) -> tuple[Tree, ...]:
    """Return the best tree for equal buckets, and even ones."""
    kept = _kept(hierarchy, _rounded_up(buckets))
    return tuple(tree for kept_tree in kept if (tree := kept_tree.resized(buckets)))


@lru_cache(maxsize=128)
def _kept(hierarchy: Hierarchy, buckets: int) -> tuple[Tree, ...]:
    """Return these trees for one of a few numbers of buckets, cached.

    So releases with similar numbers of buckets use the same trees, and noise of the same scales.
    Neither is computed anew each time.
    """
    even = [
        replace(hierarchy, branching=branching, budgets="auto")
        for branching in _WIDTHS
        if branching <= buckets
    ]
    trees = []
    for option in (hierarchy, *even):
        with suppress(ParameterError):  # the scale is too large
            trees.append(option.tree(buckets))
    return tuple(trees)


def _rounded_up(buckets: int) -> int:
    """Return the least number >= buckets that has four binary digits followed by zeros."""
    unit = 1 << max(0, buckets.bit_length() - _DIGITS)
    return -(-buckets // unit) * unit
