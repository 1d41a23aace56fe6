"""The sums of polynomial projection, as a declared function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial import legendre

from ... import _check
from ...summaries.polynomials import MOST_DEGREE, Budgets, Scheme, places, scheme
from .bounds import Bound, Box, range_of
from .of_numbers import OfOne, Reals

__all__ = ["ProjectionSums"]

_SCALE: float = 2.0**-30  # of a scheme's scales


@dataclass(frozen=True, slots=True)
class ProjectionSums(OfOne):
    """What ``dpcore.project`` adds up: P_{k-1} - P_{k+1} of a number, for k = 0, ..., K.

    ``trust.projection`` makes a curve of the released sum.

    Parameters
    ----------
    lower, upper
        Public finite bounds. Numbers are clipped to them.
    degree
        K, 1 to 128.
    budgets
        As in ``mechanisms.PolynomialProjection``.
    at
        Which number of the record, from 0.

    Notes
    -----
    docs/proofs/projection.md proves how far two vectors are apart. With rho, or epsilon and delta,
    the noise is that of ``mechanisms.PolynomialProjection``. With epsilon alone it grows with the
    degree.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import ProjectionSums
    >>> ProjectionSums(0, 4, degree=2).values(np.array([[3.0]])).round(2).tolist()
    [[0.5, 1.12, 0.94]]
    """

    name: ClassVar[str] = "projection-sums"

    lower: float
    upper: float
    degree: int = 32
    budgets: Budgets = "auto"
    at: int = 0

    def __post_init__(self) -> None:
        lower, upper = range_of(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "degree", _check.integer("degree", self.degree, 1, MOST_DEGREE))
        _check.choice("budgets", self.budgets, Budgets)
        self._keep_place()

    @property
    def bound(self) -> Bound:
        """Twice the scales of the totals; and the largest distance of two vectors."""
        most = 2.0 * self._scales
        ones = (1.0,) * most.size
        return Box((-most).tolist(), most.tolist(), units=ones, change=self._scheme.change)

    def values(self, records: Reals) -> Reals:
        """Return the differences, scaled.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import ProjectionSums
        >>> ProjectionSums(0, 4, degree=1).values(np.array([[0.0], [4.0]])).tolist()
        [[2.0, 0.0], [0.0, 0.0]]
        """
        x = np.clip(places(records[:, self.at], self.lower, self.upper), -1.0, 1.0)
        of_degrees = legendre.legvander(x, self.degree + 1)
        before = np.concatenate([of_degrees[:, :1], of_degrees[:, : self.degree]], axis=1)
        return np.asarray((before - of_degrees[:, 1:]) * self._scales)

    @property
    def _scheme(self) -> Scheme:
        return scheme(self.degree, "legendre", self.budgets, "exact")

    @property
    def _scales(self) -> Reals:
        return np.array(self._scheme.scales) * _SCALE
