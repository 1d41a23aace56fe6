"""A tree whose noise is made of shares, which several parties hold."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from ...kernels.trees import hierarchy as kernels
from ...mechanisms.base import MOST_RECORDS, Mechanism, Work
from ...mechanisms.hierarchy import Hierarchy
from ...mechanisms.tree import Tree
from ...noise.gaussian_shares import GaussianShares
from ...noise.laws import DiscreteGaussian, DiscreteLaplace, rounded_up
from ...noise.polya import PolyaShares
from ...noise.sources import Source
from ...privacy.allowance import Allowance, Law
from ..functions.sum_noise import SHARES_MARGIN, Shares
from ..protocol.trust_models import Pointwise, Remembered, SharedNoise

__all__ = ["TreeOfShares", "shares_of"]

_MOST_BITS: Final = 20
_MOST_SIGMA_SQUARED: Final = 2**50
_MOST_TOTAL: Final = 2**61


class TreeOfShares(Pointwise):
    """A trust model in which each of several parties adds a share of a hierarchy's noise."""

    __slots__ = ()

    epsilon: float | Fraction | None
    branching: Literal["auto", "hb"] | int | Sequence[int]
    budgets: Literal["auto", "equal"] | Sequence[float]

    @property
    @abstractmethod
    def required(self) -> int:
        """How many shares make up the noise that the guarantee needs."""

    @property
    @abstractmethod
    def reports(self) -> int:
        """How many shares there are."""

    @property
    def _most_records(self) -> int | None:
        """The most records in a sum; None: as many as in any."""
        return None

    @property
    def excess(self) -> float:
        """The variance of the noise, divided by the variance that the guarantee needs."""
        return self.reports / self.required

    def shares(self, size: int) -> list[Shares | None]:
        """Return one party's noise on a node of each level, root first; None: no noise.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> trust = DistributedNoise(epsilon=1.0, clients=1000, branching=16, budgets="equal")
        >>> for share in trust.shares(256):
        ...     print(share)
        None
        PolyaShares(scale=Fraction(4, 1), shares=1000)
        PolyaShares(scale=Fraction(4, 1), shares=1000)
        """
        return shares_of(self.tree(size), self.required)

    def tree(self, size: int) -> Tree:
        """Return the tree over ``size`` cells, with the noise that each level needs.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> tree = DistributedNoise(epsilon=1.0, clients=1000, branching=16).tree(256)
        >>> tree.starts  # of the root, its 16 children and the 256 cells, in one array
        array([  0,   1,  17, 273])
        >>> tree.variances.round(1)
        array([ 0. , 35. , 29.1])
        """
        records = MOST_RECORDS if self._most_records is None else self._most_records
        return _in_fine_steps(self._hierarchy().tree(size), self.required, records)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,). O(N).

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(epsilon=1.0, clients=1000).noise_deviation(4).round(2)
        array([2.42, 2.8 , 2.42, 0.  ])
        >>> DistributedNoise(epsilon=1.0, clients=1000, dropout=0.5).noise_deviation(4).round(2)
        array([3.43, 3.96, 3.43, 0.  ])
        """
        return np.asarray(np.sqrt(self.excess * self.tree(size).prefix_variances()))

    def remembered(self, size: int) -> Remembered:
        """Return the noise of all shares.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(epsilon=1.0, clients=1000).remembered(4).parties
        1000
        """
        tree, shares = self.shared_noise(size)
        of_laplace = [share for share in shares if share is None or isinstance(share, PolyaShares)]
        if tree.bits or len(of_laplace) < len(shares):  # Gaussian noise may have whole steps
            what = "must be for epsilon alone: noise in fine steps is not drawn node by node"
            raise ParameterError("trust", type(self).__name__, what)
        return Remembered(tree, of_laplace, self.reports)

    def shared_noise(self, size: int) -> SharedNoise:
        """Return the noise of one party in a round.

        Examples
        --------
        >>> from dpcore.trust import DistributedNoise
        >>> DistributedNoise(epsilon=1.0, clients=1000, branching=4).shared_noise(4).shares[-1]
        PolyaShares(scale=Fraction(2, 1), shares=1000)
        """
        return SharedNoise(self.tree(size), self.shares(size))

    def _keep_tree(self) -> None:
        """Check the budget and the tree, and keep them in a form that does not change."""
        self._keep_budget()
        tree = self._hierarchy()
        object.__setattr__(self, "branching", tree.branching)
        object.__setattr__(self, "budgets", tree.budgets)

    def _keep_budget(self) -> None:
        object.__setattr__(self, "epsilon", _check.plain("epsilon", self.epsilon))

    def _hierarchy(self) -> Hierarchy:
        """Return the mechanism with the noise that the guarantee needs."""
        budget = self._budget()  # epsilon with delta counts as the rho that implies it
        return Hierarchy(budget.epsilon, self.branching, self.budgets, rho=budget.rho)

    def _budget(self) -> Allowance:
        """Return what one record may spend."""
        return Allowance.checked(self.epsilon, None, "replace-one")

    def _check_total(self, total: int, size: int) -> None:
        Mechanism._check_total(self, total, size)  # any number of clients; to make a round is slow

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        tree, shares = self.tree(exact.size), self.shares(exact.size)
        nodes = tree.node_sums(exact)
        fill = partial(_fill, tree, shares, self.reports, nodes)
        return Work(fill, nodes.size, np.float64)


def shares_of(tree: Tree, required: int) -> list[Shares | None]:
    """Return one share of the noise on a node of each level, root first; None: no noise.

    ``required`` of these shares add up to the noise of the tree.
    """
    return [None if law is None else _share(law, required) for law in tree.laws]


def _share(law: Law, required: int) -> Shares:
    if isinstance(law, DiscreteLaplace):
        return PolyaShares(law.scale, required)
    return GaussianShares(law.sigma_squared, required)


def _in_fine_steps(tree: Tree, required: int, records: int) -> Tree:
    """Return a tree with Gaussian noise in steps that are as fine as sums of records allow.

    In whole counts, a sum of small shares would not be nearly discrete Gaussian.
    """
    variances = [law.sigma_squared for law in tree.laws if isinstance(law, DiscreteGaussian)]
    if not variances:
        return tree
    assert tree.bits == 0
    bits, room = 0, min(_MOST_SIGMA_SQUARED // max(variances), _MOST_TOTAL**2 // records**2)
    while bits < _MOST_BITS and 4 ** (bits + 1) <= room:
        bits += 1
    margin = SHARES_MARGIN if required > 1 else 1
    laws = [
        DiscreteGaussian(rounded_up(law.sigma_squared * 4**bits * margin))
        if isinstance(law, DiscreteGaussian)
        else law
        for law in tree.laws
    ]
    shares = [None if law is None else _share(law, required) for law in laws]
    noise = [
        before if share is None else required * share.variance * 4.0**-bits
        for before, share in zip(tree.variances, shares, strict=True)
    ]
    return replace(tree, laws=tuple(laws), variances=np.array(noise), bits=bits)


def _fill(
    tree: Tree,
    shares: Sequence[Shares | None],
    count: int,
    nodes: NDArray[np.int64],
    out: NDArray[Any],
    stream: Source,
) -> None:
    noisy = np.tile(nodes << tree.bits, (out.shape[0], 1))
    for level, share in enumerate(shares):
        part = noisy[:, tree.starts[level] : tree.starts[level + 1]]
        if share is not None:
            part += share.sum_of(count, part.size, stream).reshape(part.shape)
        elif level > 0:  # an uncounted level, which nobody reports
            part[:] = 0
    kernels.cumulative_estimates(noisy, tree.branching, tree.starts, tree.variances, out)
    if tree.bits:
        out *= 2.0**-tree.bits
    out[:, -1] = nodes[0]
