"""Levels of a tree of local reports: how nodes are encoded, errors, and the best tree."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.trees import hierarchy as kernels
from ...mechanisms.branching import Branching, best_shares, trimmed, uniform_branching
from ...mechanisms.hierarchy import Hierarchy
from ...noise.sources import Source
from . import bit_reports
from .subset import SubsetSelection
from .subset_law import best_chosen, chances_of
from .unary import UnaryEncoding

__all__ = ["Level", "best_branching", "levels_of", "shares_of"]

_WORTH: Final = 0.9  # subsets whose variance is a tenth smaller; larger ones take longer for less
_MOST_SIZE: Final = 2**16
_NEAR: Final = 1.001  # a tree with fewer levels may have so many times the least error


class Level(NamedTuple):
    """How clients report their node of a level, and the variance of a sum of weighted estimates.

    Let a be the weights of the nodes, and v the node of a client. Its report adds ``noise`` |a|^2 +
    ``own`` a_v^2 to the variance, with the mean of a subtracted first if ``fixed``.
    """

    encoding: UnaryEncoding | SubsetSelection
    nodes: int
    noise: float
    own: float

    @property
    def fixed(self) -> bool:
        """Whether all reports have as many ones, so that estimates have a fixed total."""
        return self.ones is not None

    @property
    def ones(self) -> int | None:
        """How many ones each report has; None: any number."""
        return self.encoding._ones

    @property
    def spread(self) -> float:
        """The variance that a node adds for each client, if clients are spread over the nodes.

        The last part comes from asking each client for one level.
        """
        return self.noise + (self.own + 1.0) / self.nodes

    def estimates(
        self, totals: NDArray[np.int64] | NDArray[np.uint64], reports: int
    ) -> NDArray[np.float64]:
        """Return unbiased estimates of the counts of nodes."""
        return self.encoding._estimates_of(totals, reports)

    def totals(self, counts: NDArray[np.int64], reports: int, stream: Source) -> NDArray[np.int64]:
        """Return the totals of the reports of all clients in the nodes."""
        return self.encoding._totals_of(counts, reports, stream)

    def report(self, node: int, stream: Source) -> NDArray[np.uint64]:
        """Return the packed report of a client in a node, (W,)."""
        fill = self.encoding._fill(self.nodes)
        values = np.array([node])
        return bit_reports.perturbed(values, self.nodes, fill, stream, workers=1)[0]  # type: ignore[no-any-return]


@lru_cache(maxsize=1024)
def _level(epsilon: Fraction, nodes: int) -> Level:
    """Return a level with the encoding whose estimates have the lower variance."""
    unary = UnaryEncoding(epsilon)
    q = unary.q
    bits = Level(unary, nodes, float(q * (1 - q) / (Fraction(1, 2) - q) ** 2), 1.0)
    if not 2 <= nodes <= _MOST_SIZE:
        return bits
    chosen = best_chosen(epsilon, nodes)
    errors = chances_of(epsilon, nodes, chosen).errors(nodes)
    subsets = Level(SubsetSelection(epsilon, nodes, chosen), nodes, *errors)
    worth = _WORTH * (bits.noise + bits.own / nodes)
    return subsets if subsets.noise + subsets.own / nodes <= worth else bits


def levels_of(epsilon: Fraction, size: int, branching: Branching) -> list[Level]:
    """Return the levels below the root."""
    starts = kernels.level_starts(size, np.array(branching, np.int64))
    return [_level(epsilon, int(nodes)) for nodes in np.diff(starts)[1:]]


@lru_cache(maxsize=256)
def shares_of(
    epsilon: Fraction, size: int, branching: Branching
) -> tuple[float, tuple[float, ...]]:
    """Return the mean squared error for one client, and the shares of the clients for each level.

    The error is that of a full tree and of clients that are spread, up to a constant. The shares
    have the least one.
    """
    units = np.array([1.0, *(level.spread for level in levels_of(epsilon, size, branching))])
    error, shares = best_shares(branching, 1.0, True, units)
    return error, tuple(shares[1:])


@lru_cache(maxsize=64)
def best_branching(epsilon: Fraction, clients: int, size: int) -> Branching:
    """Return the branchings with nearly the least error for clients that are spread."""
    if size == 1:
        return ()
    errors = {
        tree: shares_of(epsilon, size, tree)[0]
        for tree in sorted(set(_trees(size)))
        if len(tree) <= clients
    }
    most = min(errors.values()) * _NEAR
    good = [tree for tree in errors if errors[tree] <= most]
    return min(good, key=lambda tree: (len(tree), errors[tree]))


def _trees(size: int) -> Iterator[Branching]:
    """Yield trees that may be good: of few levels, or of one branching below the first level."""
    yield (size,)
    yield Hierarchy(rho=1).branching_for(size)
    for base in (2**k for k in range(1, 25) if 2**k < size):
        tree = uniform_branching(size, base)
        for merged in range(len(tree)):
            yield trimmed(size, (0, *tree[merged + 1 :]))
        if -(-size // base) > 1:
            yield (-(-size // base), base)
