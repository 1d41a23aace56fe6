"""Which nodes prefixes are made of, as a matrix: numbers of a test's own in place of noise."""

from __future__ import annotations

import numpy as np

from dpcore.trust.models.remembered_noise import RememberedNoise


class Given(RememberedNoise):
    """Numbers that are given, in place of noise."""

    __slots__ = ("values",)

    def _block(self, depth, block):
        start, stop = self._starts[depth : depth + 2]
        return self.values[start:stop][1024 * block : 1024 * (block + 1)]


def prefix_matrix(tree, shares):
    """(N, nodes): with which sign each node's noise is in each prefix."""
    given, nodes = Given(tree, shares, bytes(32)), int(tree.starts[-1])
    cells, columns = np.arange(tree.starts[-1] - tree.starts[-2]), []
    for node in range(nodes):
        given.values = np.eye(nodes, dtype=np.int64)[node]
        columns.append(given.of_prefixes(cells))
    return np.array(columns).T
