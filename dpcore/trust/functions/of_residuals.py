"""The sums of moments of residuals, as a declared function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import ParameterError
from .bounds import MOST_SIZE, Bound, Simplex, magnitude
from .function import Function
from .of_numbers import Groups, Reals

__all__ = ["ResidualSums"]


@dataclass(frozen=True, slots=True)
class ResidualSums(Function):
    """Numbers of records and the first two moments of residuals, by bins of predicted values.

    Records are (predicted value, residual). The values are (1 - v)^2 / 4, (1 - v^2) / 2 and
    (1 + v)^2 / 4 of a residual v, scaled to [-1, 1]. They add up to 1, so noise for epsilon is less
    than in sums of 1, v and v^2. ``trust.residual_moments`` reads the released sum.

    Parameters
    ----------
    edges
        (B + 1,) public ascending edges; the first may be -inf, and the last inf. A bin has
        lower < predicted value <= upper. The first one also has its lower edge, as the first cell
        of a grid. Records outside are in no bin.
    reach
        Residuals are clipped to [-reach, reach]. It is public.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import ResidualSums
    >>> ResidualSums([0, 1, 2], reach=4).values(np.array([[1.5, 2.0]])).tolist()
    [[0.0, 0.0, 0.0, 0.0625, 0.375, 0.5625]]
    """

    name: ClassVar[str] = "residual-sums"

    edges: Sequence[float]
    reach: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", Groups(self.edges, closed="right").edges)
        if len(self.edges) > MOST_SIZE // 3:
            raise ParameterError("edges", len(self.edges), "must be fewer: 2^24 sums in all")
        object.__setattr__(self, "reach", magnitude("reach", self.reach))

    @property
    def bound(self) -> Bound:
        """Parts of 1."""
        return Simplex(3 * (len(self.edges) - 1), 1.0)

    @property
    def numbers(self) -> int:
        """2."""
        return 2

    def values(self, records: Reals) -> Reals:
        """Return three numbers for each bin.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import ResidualSums
        >>> ResidualSums([0, 1], reach=4).values(np.array([[0.5, -9.0], [7.0, 0.0]])).tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        first, second = self.edges[:2]
        # The second edge is in the first bin, too.
        predicted = np.where(records[:, :1] == first, second, records[:, :1])
        by_bin = Groups(self.edges, closed="right").values(predicted)
        v = np.clip(records[:, 1], -self.reach, self.reach) / self.reach
        parts = np.stack([(1 - v) ** 2 / 4, (1 - v) * (1 + v) / 2, (1 + v) ** 2 / 4], axis=1)
        return np.asarray(by_bin[:, :, np.newaxis] * parts[:, np.newaxis]).reshape(len(v), -1)
