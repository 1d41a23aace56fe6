"""A tree whose noise is made of shares: what several of those who hold one add up to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.trees import hierarchy as kernels
from ...mechanisms.budgeted import Work
from ...mechanisms.tree import Tree
from ...noise.laws import DiscreteLaplace
from ...noise.polya import PolyaShares
from ...noise.sources import Source

__all__ = ["release_of_shares", "shares_of"]


def shares_of(tree: Tree, required: int) -> list[PolyaShares | None]:
    """Return one share of the noise on a node of each level, root first; None: no noise.

    ``required`` of them add up to the noise that the tree takes.
    """
    return [
        PolyaShares(law.scale, required) if isinstance(law, DiscreteLaplace) else None
        for law in tree.laws
    ]


def release_of_shares(
    tree: Tree, shares: Sequence[PolyaShares | None], count: int, exact: NDArray[np.int64]
) -> Work:
    """Return how to release the counts of cells, (N,), with ``count`` shares on each node."""
    nodes = tree.node_sums(exact)
    return Work(partial(_fill, tree, shares, count, nodes), nodes.size, np.float64)


def _fill(
    tree: Tree,
    shares: Sequence[PolyaShares | None],
    count: int,
    nodes: NDArray[np.int64],
    out: NDArray[Any],
    stream: Source,
) -> None:
    noisy = np.tile(nodes, (out.shape[0], 1))
    for level, share in enumerate(shares):
        part = noisy[:, tree.starts[level] : tree.starts[level + 1]]
        if share is not None:
            part += share.sum_of(count, part.size, stream).reshape(part.shape)
        elif level > 0:  # not counted: nobody reports it
            part[:] = 0
    kernels.cumulative_estimates(noisy, tree.branching, tree.starts, tree.variances, out)
    out[:, -1] = nodes[0]
