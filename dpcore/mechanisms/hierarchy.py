"""Noisy counts on all levels of a tree, made consistent by least squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import DtypeError, ParameterError
from ..noise.sources import Source
from ..privacy.guarantees import Neighbours, Relation
from ..privacy.losses import ShiftedNoise
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work
from .branching import (
    Branching,
    best_branching,
    best_shares,
    hb_branching,
    trimmed,
    uniform_branching,
)
from .tree import Tree, release_nodes

__all__ = ["Hierarchy", "Histogram"]

_SEQUENCES: Final[Mapping[str, Callable[[str], float]]] = {"branching": int, "budgets": float}


@documented
@dataclass(frozen=True, slots=True)
class Hierarchy(Mechanism):
    """Cumulative counts by least squares from noisy counts on all levels of a tree over the cells.

    The mechanism is that of Hay, Rastogi, Miklau & Suciu, *Boosting the accuracy of differentially
    private histograms through consistency* (2010). It allows any branching on each level, any
    number of cells, and a budget for each level. The defaults minimise the mean squared error of
    cumulative counts.

    Parameters
    ----------
    epsilon
        {epsilon}
    branching
        The number of children of a node. "auto": the branchings with the least error that a local
        search finds, level by level. "hb": the rule of Qardaji, Yang & Li 2013, for equal budgets.
        An integer: the same on all levels. A sequence: one for each level below the root, from the
        top down.
    budgets
        The shares of the budget. "auto": the shares with the least error. "equal": equal shares. A
        sequence of positive weights, one for each level that has noise, from the top down: all
        levels below the root, and the root itself under add-or-remove-one.
    rho
        {rho}
    neighbours
        "replace-one": the number of records is public, and it is the count of the root.
        "add-or-remove-one": the root has noise, too.
    delta
        {delta}

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/hierarchy.md has the proof of privacy. Every error is linear in the noise. So the
    error of each cumulative count has a closed form, and the best tree does not depend on the data.

    Examples
    --------
    >>> from dpcore.mechanisms import Hierarchy
    >>> Hierarchy(epsilon=1.0).branching_for(2**15)
    (14, 14, 12, 14)
    >>> round(Hierarchy(epsilon=1.0).mean_squared_error(2**15) ** 0.5, 1)  # in counts
    32.0
    >>> round(Hierarchy(epsilon=1.0, branching=2).mean_squared_error(2**15) ** 0.5, 1)
    32.9
    """

    name: ClassVar[str] = "hierarchy"
    is_additive: ClassVar[bool] = True

    epsilon: float | Fraction | None = None
    branching: Literal["auto", "hb"] | int | Sequence[int] = "auto"
    budgets: Literal["auto", "equal"] | Sequence[float] = "auto"
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "replace-one"
    delta: float | None = None

    def __post_init__(self) -> None:
        self._budget()
        for name in ("branching", "budgets"):
            if isinstance(given := getattr(self, name), np.ndarray):
                numbers = _check.array(name, given, "iuf").tolist()
                plain = tuple(numbers) if isinstance(numbers, list) else numbers
                object.__setattr__(self, name, plain)
        if isinstance(self.branching, str):
            _check.choice("branching", self.branching, Literal["auto", "hb"])
        elif isinstance(self.branching, Sequence):
            for width in self.branching:
                _check.integer("branching", width, 2, MOST_CELLS)
            object.__setattr__(self, "branching", tuple(map(int, self.branching)))
        else:
            base = _check.integer("branching", self.branching, 2, MOST_CELLS)
            object.__setattr__(self, "branching", base)
        if isinstance(self.budgets, str):
            _check.choice("budgets", self.budgets, Literal["auto", "equal"])
        elif isinstance(self.budgets, Sequence):
            weights = tuple(_check.positive("budgets", weight) for weight in self.budgets)
            object.__setattr__(self, "budgets", weights)
        else:
            raise DtypeError("budgets", type(self.budgets).__name__, "must be a string or numbers")

    def branching_for(self, size: int) -> Branching:
        """Return the number of children on each level, from the root down, for ``size`` cells.

        Raises
        ------
        ParameterError
            The given branchings do not cover the cells, or they cover them without the first one.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> Hierarchy(epsilon=1.0).branching_for(256)
        (2, 8, 4, 4)
        >>> Hierarchy(epsilon=1.0, branching=4).branching_for(256)
        (4, 4, 4, 4)
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        if size == 1:
            return ()
        if self.branching == "auto":
            budget = self._budget()
            return best_branching(size, budget.power, budget.total_is_public)
        if self.branching == "hb":
            return hb_branching(size)
        if isinstance(self.branching, int):
            return uniform_branching(size, self.branching)
        given = tuple(self.branching)
        if math.prod(given) < size or trimmed(size, given)[0] < 2:
            raise ParameterError(
                "branching", given, f"must cover {size} cells, but not without the first one"
            )
        return trimmed(size, given)

    def shares_for(self, size: int) -> tuple[float, ...]:
        """Return each level's share of the budget, root first, for ``size`` cells; they sum to 1.

        Raises
        ------
        ParameterError
            The given budgets do not have one entry for each level that has noise.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> tree = Hierarchy(epsilon=1.0, branching=[16, 16])
        >>> [round(share, 2) for share in tree.shares_for(256)]  # the root is public
        [0.0, 0.48, 0.52]
        >>> Hierarchy(epsilon=1.0, branching=[16, 16], budgets=[1, 3]).shares_for(256)
        (0.0, 0.25, 0.75)
        """
        branching = self.branching_for(size)
        if not branching:
            return (1.0,)
        known = self._budget().total_is_public
        if self.budgets == "auto":
            return tuple(best_shares(branching, self._budget().power, known)[1])
        noisy = len(branching) + (0 if known else 1)
        weights = (1.0,) * noisy if self.budgets == "equal" else tuple(self.budgets)
        if len(weights) != noisy:
            raise ParameterError(
                "budgets", weights, f"must have {noisy} entries, one for each noisy level"
            )
        parts = [float(weight) / max(weights) for weight in weights]  # sums cannot overflow
        shares = tuple(part / math.fsum(parts) for part in parts)
        if shares[-1] == 0.0:
            raise ParameterError("budgets", weights, "must leave a share for the cells")
        return (0.0, *shares) if known else shares

    def tree(self, size: int) -> Tree:
        """Return the tree over ``size`` cells, and its noise. Cached.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> tree = Hierarchy(epsilon=1.0, branching=[16, 16], budgets="equal").tree(256)
        >>> tree.starts  # of the root, its 16 children and the 256 cells, in one array
        array([  0,   1,  17, 273])
        >>> tree.variances.round(1)
        array([ 0. , 31.8, 31.8])
        """
        return _tree(self, _check.integer("size", size, 1, MOST_CELLS))

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,). O(N).

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> Hierarchy(epsilon=1.0).noise_deviation(8).round(1)  # the last is the public n
        array([2.6, 3.4, 3.8, 4. , 3.8, 3.4, 2.6, 0. ])
        """
        return np.asarray(np.sqrt(self.tree(size).prefix_variances()))

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        It takes O(log N), so that many trees can be compared.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> for epsilon in (0.5, 1.0, 2.0):
        ...     print(epsilon, round(Hierarchy(epsilon=epsilon).mean_squared_error(1024), 1))
        0.5 1259.9
        1.0 314.4
        2.0 78.0
        """
        return self.tree(size).mean_prefix_variance()

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them; branchings are a text.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> Hierarchy(epsilon=0.5, branching=4).describe()
        {'name': 'hierarchy', 'epsilon': 0.5, 'branching': '4', 'budgets': 'auto'}
        """
        described = Mechanism.describe(self)
        return described | {"branching": str(described["branching"])}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], relation: Relation) -> Self:
        """Return the mechanism with a description; numbers for each level are a text there.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy
        >>> description = {"epsilon": 1.0, "branching": "16,16", "budgets": "0.25,0.75"}
        >>> Hierarchy.from_description(description, "replace-one").shares_for(256)
        (0.0, 0.25, 0.75)
        """
        parameters = dict(description)
        for name, number in _SEQUENCES.items():
            if isinstance(text := parameters.get(name), str) and text[:1].isdigit():
                parameters[name] = tuple(map(number, text.split(",")))
        branching = parameters.get("branching")
        if isinstance(branching, tuple) and len(branching) == 1:
            (parameters["branching"],) = branching  # one for all levels: the text is the same
        return super(Hierarchy, cls).from_description(parameters, relation)

    def _rho(self, size: int) -> Fraction:
        return self.tree(size).rho

    def _noise_shifts(self, size: int) -> tuple[ShiftedNoise, ...]:
        return self.tree(size).shifts

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        tree = self.tree(exact.size)
        nodes = tree.node_sums(exact)

        def fill_rows(counts: NDArray[np.int64], out: NDArray[np.float64], stream: Source) -> None:
            release_nodes(tree, tree.node_sums(counts), out, stream)

        return Work(partial(release_nodes, tree, nodes), nodes.size, np.float64, fill_rows)


class Histogram(Hierarchy):
    """Noise on the count of every cell and on no other count; its error grows with N.

    This is a hierarchy without levels between the root and the cells. Where the total is public,
    the difference between it and the sum of the noisy counts is spread evenly over the cells.

    Parameters
    ----------
    epsilon, rho, neighbours, delta
        As in ``Hierarchy``.

    Examples
    --------
    >>> from dpcore.mechanisms import Histogram
    >>> for size in (16, 256, 4096):
    ...     print(size, round(Histogram(epsilon=1.0).mean_squared_error(size), 1))
    16 20.8
    256 334.3
    4096 5349.0
    """

    __slots__ = ()
    name: ClassVar[str] = "histogram"

    def __init__(
        self,
        epsilon: float | Fraction | None = None,
        *,
        rho: float | Fraction | None = None,
        neighbours: Neighbours = "replace-one",
        delta: float | None = None,
    ) -> None:
        super().__init__(epsilon, rho=rho, neighbours=neighbours, delta=delta)

    def branching_for(self, size: int) -> Branching:
        """Return (N,), or nothing for one cell.

        Examples
        --------
        >>> from dpcore.mechanisms import Histogram
        >>> Histogram(epsilon=1.0).branching_for(256)
        (256,)
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        return (size,) if size > 1 else ()

    def shares_for(self, size: int) -> tuple[float, ...]:
        """Return each level's share of the budget, root first: the cells get all of it.

        Examples
        --------
        >>> from dpcore.mechanisms import Histogram
        >>> Histogram(epsilon=1.0).shares_for(256)
        (0.0, 1.0)
        """
        return (*(0.0 for _ in self.branching_for(size)), 1.0)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.mechanisms import Histogram
        >>> Histogram(rho=0.5).describe()
        {'name': 'histogram', 'rho': 0.5}
        """
        return {"name": self.name, **self._budget().describe()}


@lru_cache(maxsize=64)
def _tree(mechanism: Hierarchy, size: int) -> Tree:
    return Tree.of(
        size, mechanism.branching_for(size), mechanism.shares_for(size), mechanism._budget()
    )
