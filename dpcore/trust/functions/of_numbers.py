"""Declared functions of the numbers of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from .bounds import MOST_SIZE, Bound, Box, InGroups, range_of
from .function import Function

__all__ = ["Groups", "Identity", "OfOne", "One", "Polynomials", "Reals", "Step", "Vector"]

_MOST_NUMBERS: Final = 2**24
_MOST_DEGREE: Final = 128
_ONE: Final = Box(0.0, 1.0)
Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class One(Function):
    """1 for each record, so that the sum is the number of records, with noise.

    Examples
    --------
    >>> from dpcore.trust.functions import One
    >>> One().size
    1
    """

    name: ClassVar[str] = "one"
    is_whole: ClassVar[bool] = True

    @property
    def bound(self) -> Bound:
        """0 to 1."""
        return _ONE

    @property
    def numbers(self) -> int:
        """1: a record may be anything."""
        return 1

    def values(self, records: Reals) -> Reals:
        """Return ones.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import One
        >>> One().values(np.zeros((2, 3))).tolist()
        [[1.0], [1.0]]
        """
        return np.ones((records.shape[0], 1))


@dataclass(frozen=True, slots=True)
class OfOne(Function):
    """A function of one number of the record."""

    @property
    def numbers(self) -> int:
        """``at`` + 1."""
        return int(self.at) + 1  # type: ignore[attr-defined]  # a field of all subclasses

    def _keep_place(self) -> None:
        at = _check.integer("at", self.at, 0, _MOST_NUMBERS)  # type: ignore[attr-defined]
        object.__setattr__(self, "at", at)


@dataclass(frozen=True, slots=True)
class Step(OfOne):
    """1 where a number is at most a threshold, and 0 elsewhere: a point of a distribution function.

    Parameters
    ----------
    threshold
        A finite number.
    at
        Which number of the record, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import Step
    >>> Step(2.0, at=1).values(np.array([[0.0, 1.0], [0.0, 3.0]])).tolist()
    [[1.0], [0.0]]
    """

    name: ClassVar[str] = "step"
    is_whole: ClassVar[bool] = True

    threshold: float
    at: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _check.finite("threshold", self.threshold))
        self._keep_place()

    @property
    def bound(self) -> Bound:
        """0 to 1."""
        return _ONE

    def values(self, records: Reals) -> Reals:
        """Return ones and zeros.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Step
        >>> Step(2.0).values(np.array([[2.0], [2.5]])).tolist()
        [[1.0], [0.0]]
        """
        return (records[:, self.at : self.at + 1] <= self.threshold).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Identity(OfOne):
    """A number of the record, clipped to bounds.

    Parameters
    ----------
    lower, upper
        Public finite bounds.
    at
        Which number of the record, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import Identity
    >>> Identity(0, 10).values(np.array([[-3.0], [4.0]])).tolist()
    [[0.0], [4.0]]
    """

    name: ClassVar[str] = "identity"

    lower: float
    upper: float
    at: int = 0

    def __post_init__(self) -> None:
        lower, upper = range_of(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self._keep_place()

    @property
    def bound(self) -> Bound:
        """The bounds."""
        return Box(self.lower, self.upper)

    def values(self, records: Reals) -> Reals:
        """Return the clipped numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Identity
        >>> Identity(0, 10, at=1).values(np.array([[9.0, -3.0], [9.0, 4.0]])).tolist()
        [[0.0], [4.0]]
        """
        return np.clip(records[:, self.at : self.at + 1], self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Groups(OfOne):
    """In which of several half-open groups a number is: 1 for that one, and 0 for the others.

    Parameters
    ----------
    edges
        (G + 1,) ascending numbers; the first may be -inf, and the last inf. Group g begins with
        ``edges[g]`` and ends before ``edges[g + 1]``. A number outside is in no group.
    at
        Which number of the record, from 0.
    closed
        "left", as above; "right": a group has its upper edge, and not its lower one.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import Groups
    >>> Groups([0, 1, 2]).values(np.array([[1.0], [0.5], [2.0]])).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """

    name: ClassVar[str] = "groups"
    is_whole: ClassVar[bool] = True

    edges: Sequence[float]
    at: int = 0
    closed: Literal["left", "right"] = "left"

    def __post_init__(self) -> None:
        edges = _check.doubles(_check.array("edges", self.edges, "iuf", "must be numbers"))
        if edges.ndim != 1 or not 2 <= edges.size <= MOST_SIZE:
            raise ParameterError("edges", edges.shape, "must be (G + 1,), for 1 group or more")
        if not np.all(edges[:-1] < edges[1:]):
            raise ParameterError("edges", edges, "must be ascending, each above the one before")
        object.__setattr__(self, "edges", tuple(edges.tolist()))
        _check.choice("closed", self.closed, Literal["left", "right"])
        self._keep_place()

    @property
    def bound(self) -> Bound:
        """1 in one group, or in none."""
        return InGroups(len(self.edges) - 1, _ONE)

    def values(self, records: Reals) -> Reals:
        """Return ones and zeros.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Groups
        >>> Groups([0, 1, 2], closed="right").values(np.array([[1.0]])).tolist()
        [[1.0, 0.0]]
        """
        side: Literal["left", "right"] = "right" if self.closed == "left" else "left"
        own = np.searchsorted(np.array(self.edges), records[:, self.at], side) - 1
        size = len(self.edges) - 1
        present = np.flatnonzero((own >= 0) & (own < size))
        out = np.zeros((records.shape[0], size))
        out[present, own[present]] = 1.0
        return out


@dataclass(frozen=True, slots=True)
class Polynomials(OfOne):
    """Polynomials of a number, scaled to [-1, 1]: P_1, ..., P_K, or x, ..., x^K.

    Parameters
    ----------
    lower, upper
        Public finite bounds, which are scaled to -1 and 1. Numbers are clipped to them.
    degree
        K, 1 to 128.
    basis
        "legendre", or "powers".
    at
        Which number of the record, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import Polynomials
    >>> Polynomials(0, 4, degree=3, basis="powers").values(np.array([[3.0]])).tolist()
    [[0.5, 0.25, 0.125]]
    """

    name: ClassVar[str] = "polynomials"

    lower: float
    upper: float
    degree: int
    basis: Literal["legendre", "powers"] = "legendre"
    at: int = 0

    def __post_init__(self) -> None:
        lower, upper = range_of(self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        degree = _check.integer("degree", self.degree, 1, _MOST_DEGREE)
        object.__setattr__(self, "degree", degree)
        _check.choice("basis", self.basis, Literal["legendre", "powers"])
        self._keep_place()

    @property
    def bound(self) -> Bound:
        """-1 to 1 in each; even powers from 0."""
        lower = [-1.0] * self.degree
        if self.basis == "powers":
            lower[1::2] = [0.0] * (self.degree // 2)
        return Box(lower, (1.0,) * self.degree)

    def values(self, records: Reals) -> Reals:
        """Return the polynomials.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Polynomials
        >>> Polynomials(0, 4, degree=2).values(np.array([[3.0]])).tolist()
        [[0.5, -0.125]]
        """
        clipped = np.clip(records[:, self.at], self.lower, self.upper)
        middle = self.lower / 2 + self.upper / 2
        x = np.clip((clipped - middle) / (self.upper / 2 - self.lower / 2), -1.0, 1.0)
        if self.basis == "powers":
            return np.asarray(x[:, np.newaxis] ** np.arange(1, self.degree + 1))
        return np.asarray(legendre.legvander(x, self.degree)[:, 1:])


@dataclass(frozen=True, slots=True)
class Vector(Function):
    """The record itself, a vector, clipped to a bound, such as ``Ball(64, radius=1.0)``.

    Parameters
    ----------
    within
        The bound, a Box or a Ball.

    Examples
    --------
    >>> from dpcore.trust.functions import Ball, Vector
    >>> Vector(Ball(64, radius=1.0)).size
    64
    """

    name: ClassVar[str] = "vector"

    within: Bound

    def __post_init__(self) -> None:
        _check.instance("within", self.within, Bound, "must be a bound, such as Ball or Box")

    @property
    def bound(self) -> Bound:
        """The bound."""
        return self.within

    @property
    def numbers(self) -> int:
        """The number of coordinates."""
        return self.within.size

    def values(self, records: Reals) -> Reals:
        """Return the vectors.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Ball, Vector
        >>> Vector(Ball(2, 1.0)).values(np.array([[0.5, 0.25, 9.0]])).tolist()
        [[0.5, 0.25]]
        """
        return records[:, : self.within.size]
