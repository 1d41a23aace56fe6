"""The sums of the Hosmer-Lemeshow test, as a declared function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ... import _check
from ...errors import ParameterError
from .bounds import MOST_SIZE, Bound, Simplex
from .function import Function
from .of_numbers import Reals

__all__ = ["RiskGroupSums"]


@dataclass(frozen=True, slots=True)
class RiskGroupSums(Function):
    """Products of (1 - y, y) and (1 - p, p) of a label y and a probability p, group by group.

    Records are (y, p), with labels 0 and 1. Groups are of p. ``trust.hosmer_lemeshow`` and
    ``trust.reliability`` read the released sum: negatives, positives and the sum of probabilities
    are sums of two of the four products. A record's products add up to 1, so the noise in these
    sums has half of the variance that it would have if they were released themselves.

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
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.75]]
    """

    name: ClassVar[str] = "risk-group-sums"

    edges: Sequence[float]

    def __post_init__(self) -> None:
        edges = _check.doubles(_check.array("edges", self.edges, "iuf", "must be numbers"))
        if edges.ndim != 1 or edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0:
            raise ParameterError("edges", self.edges, "must begin with 0 and end with 1")
        if not np.all(edges[:-1] < edges[1:]) or edges.size > MOST_SIZE // 4:
            raise ParameterError("edges", self.edges, "must be ascending, 2^22 at most")
        object.__setattr__(self, "edges", tuple(edges.tolist()))

    @property
    def bound(self) -> Bound:
        """Parts of 1."""
        return Simplex(4 * (len(self.edges) - 1), 1.0)

    @property
    def numbers(self) -> int:
        """2."""
        return 2

    def values(self, records: Reals) -> Reals:
        """Return four numbers for each group.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import RiskGroupSums
        >>> RiskGroupSums([0, 1]).values(np.array([[0.0, 0.25]])).tolist()
        [[0.75, 0.25, 0.0, 0.0]]
        """
        group = np.searchsorted(np.array(self.edges[1:-1]), records[:, 1])
        with_label = np.flatnonzero((records[:, 0] == 0.0) | (records[:, 0] == 1.0))
        y, p = records[with_label, 0], np.clip(records[with_label, 1], 0.0, 1.0)
        out = np.zeros((records.shape[0], len(self.edges) - 1, 4))
        parts = [(1 - y) * (1 - p), (1 - y) * p, y * (1 - p), y * p]
        out[with_label, group[with_label]] = np.stack(parts, axis=1)
        return out.reshape(records.shape[0], -1)
