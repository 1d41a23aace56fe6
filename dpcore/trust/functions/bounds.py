"""Public bounds of vectors: boxes, balls, vectors in one of several groups, and several at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from ... import _check
from ...errors import ParameterError
from .lattices import (
    BallLattice,
    BoxLattice,
    GroupsLattice,
    JointLattice,
    Lattice,
    SimplexLattice,
)

__all__ = [
    "MOST_SIZE",
    "Ball",
    "Bound",
    "Box",
    "InGroups",
    "Joint",
    "Simplex",
    "magnitude",
    "range_of",
]

MOST_SIZE: Final = 2**24
_MOST: Final = 2.0**500  # of numbers, so that products of two are doubles, and inverses of those


class Bound(ABC):
    """A public set to which vectors are clipped.

    Examples
    --------
    >>> from dpcore.trust.functions import Ball, Bound
    >>> isinstance(Ball(3, 1.0), Bound), Ball(3, 1.0).size
    (True, 3)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """The number d of coordinates."""

    @abstractmethod
    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return the integers that stand for vectors.

        Parameters
        ----------
        steps
            How many steps the bound's own unit has.
        from_lower
            Whether 0 may stand for another vector than 0. Then two vectors are as far apart as the
            bound is wide, and the number of records must be public.

        Examples
        --------
        >>> from dpcore.trust.functions import Box
        >>> Box(-1, 5).lattice(60, from_lower=False).longest.absolute
        60
        """


@dataclass(frozen=True, slots=True)
class Box(Bound):
    """A range for each coordinate.

    Parameters
    ----------
    lower, upper
        (d,) numbers within +-2^500, lower < upper by 2^-500 or more; or one number each.
    units
        (d,) positive numbers: the standard deviations of the noise in the coordinates are in
        proportion to them. None: to the widths of the ranges, which has the least sum of variances
        relative to the squared widths (docs/proofs/vector-sums.md, section 3).
    change, absolute_change
        The largest Euclidean distance of two vectors, and the largest sum of absolute differences,
        both divided by the units, if something smaller than that of two corners of the box is
        proven. They need ``units``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.trust.functions import Box
    >>> Box([0, -1], [100, 1]).size
    2
    """

    lower: float | Sequence[float]
    upper: float | Sequence[float]
    units: Sequence[float] | None = None
    change: float | None = None
    absolute_change: float | None = None

    def __post_init__(self) -> None:
        lower, upper = (_row(name, getattr(self, name)) for name in ("lower", "upper"))
        if len(lower) != len(upper):
            raise ParameterError("upper", len(upper), f"must be {len(lower)} numbers, like lower")
        for pair in zip(lower, upper, strict=True):
            range_of(*pair)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        if self.units is not None:
            units = _row("units", self.units)
            if len(units) != len(lower):
                raise ParameterError("units", units, f"must be {len(lower)} positive numbers")
            units = tuple(magnitude("units", unit) for unit in units)
            object.__setattr__(self, "units", units)
        for name in ("change", "absolute_change"):
            if (change := getattr(self, name)) is None:
                continue
            if self.units is None:
                raise ParameterError("units", None, f"must be given beside {name}")
            object.__setattr__(self, name, _check.positive(name, change))

    @property
    def size(self) -> int:
        """The number d of coordinates."""
        return len(self.lower)  # type: ignore[arg-type]  # a tuple since ``__post_init__``

    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return integers of 0 to ``steps``, or of -steps to steps, for own units.

        Examples
        --------
        >>> from dpcore.trust.functions import Box
        >>> Box([0, -1], [100, 1]).lattice(60, from_lower=True).apart.absolute
        120
        """
        low: Any = self.lower
        high: Any = self.upper
        changes = self.change, self.absolute_change
        return BoxLattice(low, high, self.units, changes, steps, from_lower)


@dataclass(frozen=True, slots=True)
class Ball(Bound):
    """Vectors up to a length.

    Parameters
    ----------
    dimension
        The number d of coordinates, 1 to 2^24.
    radius
        The largest length. Longer vectors are shrunk.
    norm
        2 for the Euclidean length, 1 for the sum of absolute values.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.trust.functions import Ball
    >>> Ball(64, radius=1.0, norm=1)
    Ball(dimension=64, radius=1.0, norm=1)
    """

    dimension: int
    radius: float
    norm: Literal[1, 2] = 2

    def __post_init__(self) -> None:
        dimension = _check.integer("dimension", self.dimension, 1, MOST_SIZE)
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "radius", magnitude("radius", self.radius))
        object.__setattr__(self, "norm", _check.integer("norm", self.norm, 1, 2))

    @property
    def size(self) -> int:
        """The number d of coordinates."""
        return self.dimension

    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return integers of which ``steps`` are the radius; 0 always stands for 0.

        Examples
        --------
        >>> from dpcore.trust.functions import Ball
        >>> Ball(9, 5.0, norm=1).lattice(60, from_lower=True).apart.absolute
        120
        """
        return BallLattice(self.dimension, self.radius, self.norm, steps)


@dataclass(frozen=True, slots=True)
class Simplex(Bound):
    """Parts of a whole: numbers of 0 or more with a largest sum.

    Parameters
    ----------
    dimension
        The number d of coordinates, 1 to 2^24.
    most
        The largest sum. Negative numbers count as 0, and larger vectors are shrunk.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.trust.functions import Simplex
    >>> Simplex(4, most=1.0)
    Simplex(dimension=4, most=1.0)
    """

    dimension: int
    most: float

    def __post_init__(self) -> None:
        dimension = _check.integer("dimension", self.dimension, 1, MOST_SIZE)
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "most", magnitude("most", self.most))

    @property
    def size(self) -> int:
        """The number d of coordinates."""
        return self.dimension

    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return integers of which ``steps`` are the largest sum; 0 always stands for 0.

        Examples
        --------
        >>> from dpcore.trust.functions import Simplex
        >>> Simplex(9, 5.0).lattice(60, from_lower=True).apart
        Lengths(absolute=120, squares=7200)
        """
        return SimplexLattice(self.dimension, self.most, steps)


@dataclass(frozen=True, slots=True)
class InGroups(Bound):
    """A vector of one bound in one of several blocks, or in none; the other blocks are 0.

    Parameters
    ----------
    groups
        The number of blocks.
    inner
        The bound of the vector.
    """

    groups: int
    inner: Bound

    def __post_init__(self) -> None:
        _check.integer("groups", self.groups, 1, MOST_SIZE)
        _check.instance("inner", self.inner, Bound, "must be a bound")

    @property
    def size(self) -> int:
        """The number of coordinates of all blocks."""
        return self.groups * self.inner.size

    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return integers of which those outside of the vector's block are 0."""
        return GroupsLattice(self.groups, self.inner.lattice(steps, from_lower=False))


@dataclass(frozen=True, slots=True)
class Joint(Bound):
    """Vectors of several bounds, one behind the other.

    Parameters
    ----------
    parts
        The bounds.
    precision
        A positive number for each part: the noise in its own unit is in proportion to the inverse.
    """

    parts: tuple[Bound, ...]
    precision: tuple[float, ...]

    def __post_init__(self) -> None:
        _check.tuple_of("parts", self.parts, Bound)
        for number in self.precision:
            magnitude("precision", number)

    @property
    def size(self) -> int:
        """The number of all coordinates."""
        return sum(part.size for part in self.parts)

    def lattice(self, steps: int, from_lower: bool) -> Lattice:
        """Return the integers of all parts; a part has steps in proportion to its precision."""
        most = max(self.precision)
        both = zip(self.parts, self.precision, strict=True)
        return JointLattice(
            [part.lattice(max(1, round(steps * own / most)), from_lower) for part, own in both]
        )


def range_of(lower: object, upper: object) -> tuple[float, float]:
    """Return the ends of a range, checked: its width has an inverse among doubles."""
    low, high = _check.bounds(lower, upper)
    if max(abs(low), abs(high)) > _MOST or high - low < 1.0 / _MOST:
        what = f"must be above lower by {1.0 / _MOST:.0e} or more, and both within {_MOST:.0e}"
        raise ParameterError("upper", upper, what)
    return low, high


def magnitude(argument: str, value: object) -> float:
    """Return a positive number that has a square and an inverse among doubles."""
    number = _check.positive(argument, value)
    if not 1.0 / _MOST <= number <= _MOST:
        what = f"must be between {1.0 / _MOST:.0e} and {_MOST:.0e}"
        raise ParameterError(argument, value, what)
    return number


def _row(name: str, given: object) -> tuple[float, ...]:
    """Return one number or several as a tuple of finite doubles."""
    if np.isscalar(given):
        return (_check.finite(name, given),)
    array = _check.array(name, given, "iuf", "must be numbers")
    if array.ndim != 1 or not 1 <= array.size <= MOST_SIZE:
        raise ParameterError(name, array.shape, "must be one number, or (d,) numbers")
    return tuple(_check.finite(name, number) for number in array.tolist())
