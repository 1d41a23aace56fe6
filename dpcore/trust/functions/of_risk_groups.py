"""The sums of the Hosmer-Lemeshow test, as a declared function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from ... import _check
from ...errors import ParameterError
from .bounds import Bound
from .combined import Product, Together
from .function import Function
from .of_numbers import Groups, Identity, Reals

__all__ = ["RiskGroupSums"]

# Of (label, probability): a negative, a positive, and the probability.
_OF_RECORD: Final = Together([Groups([0, 1, 2]), Identity(0.0, 1.0, at=1)])


@dataclass(frozen=True, slots=True)
class RiskGroupSums(Function):
    """Negatives, positives and the sum of probabilities of each group of predicted probabilities.

    Records are (label, probability), with labels 0 and 1. ``trust.hosmer_lemeshow`` makes a test of
    the released sum.

    Parameters
    ----------
    edges
        (G + 1,) public ascending edges, the first 0 and the last 1. A group has lower < probability
        <= upper, and the first one has 0, too. They may be quantiles of a released curve.

    Raises
    ------
    DtypeError, ParameterError
        The edges are not as above.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import RiskGroupSums
    >>> RiskGroupSums([0, 0.5, 1]).values(np.array([[1.0, 0.75]])).tolist()  # a positive
    [[0.0, 0.0, 0.0, 0.0, 1.0, 0.75]]
    """

    name: ClassVar[str] = "risk-group-sums"

    edges: Sequence[float]

    def __post_init__(self) -> None:
        edges = _check.array("edges", self.edges, "iuf", "must be numbers").astype(np.float64)
        if edges.ndim != 1 or edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0:
            raise ParameterError("edges", self.edges, "must begin with 0 and end with 1")
        object.__setattr__(self, "edges", tuple(edges.tolist()))
        _ = self._by_group  # refuses edges that do not rise

    @property
    def bound(self) -> Bound:
        """A record is in one group, and adds at most 2 there."""
        return self._by_group.bound

    @property
    def numbers(self) -> int:
        """2."""
        return 2

    def values(self, records: Reals) -> Reals:
        """Return three numbers for each group.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import RiskGroupSums
        >>> RiskGroupSums([0, 1]).values(np.array([[0.0, 0.25]])).tolist()
        [[1.0, 0.0, 0.25]]
        """
        return self._by_group.values(records)

    @property
    def _by_group(self) -> Product:
        inner = self.edges[1:-1]
        return Product(Groups([-np.inf, *inner, np.inf], at=1, closed="right"), _OF_RECORD)
