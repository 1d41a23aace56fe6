"""The same tree as the mechanism's, its nodes in the order in which they open."""

from __future__ import annotations

import numpy as np

from .mechanisms import nodes


def opening_order(thresholds: int, base: int) -> list[int]:
    """Columns of ``tree_matrix`` by first threshold; of those that open together, leaves first."""
    found = nodes(thresholds, base)
    return sorted(range(len(found)), key=lambda column: found[column][0])


def causal_shift(thresholds: int, base: int, a: int, b: int) -> np.ndarray:
    """A flow of one unit from a to b > a, node by node as they open, not knowing what comes.

    At each threshold the node of the highest level that opens there makes up for what the open
    nodes lack of the change, which is 1 on a + 1, ..., b and 0 elsewhere.
    """
    found = nodes(thresholds, base)
    flow = np.zeros(len(found), int)
    for threshold in range(thresholds):
        opening = max(column for column, node in enumerate(found) if node[0] == threshold)
        carried = sum(flow[k] for k, node in enumerate(found) if node[0] < threshold < node[1])
        flow[opening] = int(a <= threshold < b) - carried
    return flow
