"""The sums of products of linear regression, as a declared function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from ...models.moments import largest_change
from ...models.scaling import Bounds
from .bounds import MOST_SIZE, Bound, Box
from .function import Function

__all__ = ["RegressionSums"]

Reals = NDArray[np.float64]
Pair = Sequence[float | Sequence[float]]


@dataclass(frozen=True, slots=True)
class RegressionSums(Function):
    """Products of features, of each with the response, and both themselves: all of least squares.

    Records are (x_1, ..., x_d, y). ``trust.linear_regression`` makes a model of the released sum.

    Parameters
    ----------
    x_bounds
        The public bounds (lower, upper) of features, (d,) numbers each; or one number each, for one
        feature. Values are clipped to them.
    y_bounds
        The public bounds (lower, upper) of responses.
    fit_intercept
        Whether the model has a constant.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or there are more than 2^24 sums.

    Notes
    -----
    Values are products of numbers that are scaled to [-1, 1], as for ``models.LinearRegression``.
    With epsilon, the noise is that of its method "moments" (docs/proofs/vector-sums.md, section 6).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import RegressionSums
    >>> of = RegressionSums(x_bounds=(0, 4), y_bounds=(0, 10))
    >>> of.values(np.array([[3.0, 10.0]])).tolist()  # x y, y, x x and x
    [[0.5, 1.0, 0.25, 0.5]]
    """

    name: ClassVar[str] = "regression-sums"

    x_bounds: Pair
    y_bounds: Pair
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.fit_intercept, bool | np.bool_):
            given = type(self.fit_intercept).__name__
            raise DtypeError("fit_intercept", given, "must be a bool")
        object.__setattr__(self, "fit_intercept", bool(self.fit_intercept))
        sides: Any = _check.in_order("x_bounds", self.x_bounds, "must be a pair: (lower, upper)")
        features = max((_check.array("x_bounds", side, "iuf").size for side in sides), default=1)
        if features**2 > 2 * MOST_SIZE - 16 * features:
            raise ParameterError("x_bounds", features, "must be of fewer features: 2^24 sums")
        for name, columns in (("x_bounds", features), ("y_bounds", 1)):
            of = Bounds.checked(name, getattr(self, name), columns, self.fit_intercept)
            object.__setattr__(self, name, (tuple(of.lower.tolist()), tuple(of.upper.tolist())))

    @property
    def bound(self) -> Bound:
        """-1 to 1, and squares from 0; and how far two vectors are apart."""
        rows, columns = self.places
        lower = np.where(rows == columns, 0.0, -1.0)
        size, ones = self.features + 1 + self.fit_intercept, (1.0,) * lower.size
        return Box(
            lower.tolist(),
            ones,
            units=ones,
            change=2.0 * math.sqrt(size**2 // 4),
            absolute_change=float(largest_change(self.features, self.fit_intercept)),
        )

    @property
    def numbers(self) -> int:
        """One more than there are features."""
        return self.features + 1

    @property
    def features(self) -> int:
        """The number d of features."""
        return len(self.x_bounds[0])  # type: ignore[arg-type]  # a tuple since ``__post_init__``

    @property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of which two of (y, x_1, ..., x_d, 1) the values are products."""
        rows, columns = np.triu_indices(self.features + 1 + self.fit_intercept)
        # Without the square of the response, which nobody needs, and that of 1.
        end = -1 if self.fit_intercept else None
        return rows[1:end], columns[1:end]

    def values(self, records: Reals) -> Reals:
        """Return the products, y with all others first.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import RegressionSums
        >>> of = RegressionSums(([0, 0], [4, 8]), (0, 10), fit_intercept=False)
        >>> of.values(np.array([[2.0, 2.0, 10.0]])).tolist()
        [[0.5, 0.25, 0.25, 0.125, 0.0625]]
        """
        d = self.features
        rows = np.ones((d + 1 + self.fit_intercept, records.shape[0]))
        rows[:1] = self.of("y_bounds").scaled(records[:, d : d + 1])
        rows[1 : d + 1] = self.of("x_bounds").scaled(records[:, :d])
        first, second = self.places
        return np.asarray((rows[first] * rows[second]).T)

    def of(self, name: str) -> Bounds:
        """Return "x_bounds" or "y_bounds", which scale values.

        Examples
        --------
        >>> from dpcore.trust.functions import RegressionSums
        >>> RegressionSums((0, 4), (0, 10)).of("x_bounds").middle
        array([2.])
        """
        _check.choice("name", name, Literal["x_bounds", "y_bounds"])
        columns = self.features if name == "x_bounds" else 1
        return Bounds.checked(name, getattr(self, name), columns, self.fit_intercept)
