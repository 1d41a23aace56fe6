"""Declared functions of other declared functions: products, and several at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError
from .bounds import MOST_SIZE, Bound, Box, InGroups, Joint, magnitude
from .function import MOST_BITS, Function, check_function

__all__ = ["Coarse", "Product", "Together"]

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Product(Function):
    """The products of each value of one function with each value of another one.

    With ``Groups`` as the first one, these are the values of the second one, group by group.

    Parameters
    ----------
    first, second
        The functions. Each has a box of ranges as bound; or the first one is ``Groups``, or such a
        product.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.trust.functions import Groups, Identity, Product
    >>> by_group = Product(Groups([0, 1, 2]), Identity(0, 10, at=1))
    >>> by_group.values(np.array([[1.5, 7.0]])).tolist()
    [[0.0, 7.0]]
    """

    name: ClassVar[str] = "product"

    first: Function
    second: Function

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            check_function(name, getattr(self, name))
        if self.first.size * self.second.size > MOST_SIZE:
            raise ParameterError("second", self.second.size, "must be shorter: 2^24 in all")
        _product(self.first.bound, self.second.bound)

    @property
    def bound(self) -> Bound:
        """The products of both bounds."""
        return _product(self.first.bound, self.second.bound)

    @property
    def numbers(self) -> int:
        """What both need."""
        return max(self.first.numbers, self.second.numbers)

    @property
    def most_bits(self) -> int:
        """The fewer of both."""
        return min(self.first.most_bits, self.second.most_bits)

    @property
    def is_whole(self) -> bool:  # type: ignore[override]  # a property stands for the constant
        """Whether both are."""
        return self.first.is_whole and self.second.is_whole

    def values(self, records: Reals) -> Reals:
        """Return (n, d) products; those of the first value of ``first`` come first.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Identity, Product
        >>> Product(Identity(0, 4), Identity(0, 4, at=1)).values(np.array([[2.0, 3.0]])).tolist()
        [[6.0]]
        """
        both = [function.values(records) for function in (self.first, self.second)]
        return (both[0][:, :, np.newaxis] * both[1][:, np.newaxis]).reshape(records.shape[0], -1)


@dataclass(frozen=True, slots=True)
class Together(Function):
    """Several functions of a record, whose values stand one behind the other.

    Parameters
    ----------
    parts
        The functions.
    precision
        A positive number for each part. The standard deviation of the noise in a part, in its own
        unit, is in proportion to the inverse; None: the same for all. A function's own unit is the
        width of its range or its radius; within groups, its largest absolute value.

    Examples
    --------
    >>> from dpcore.trust.functions import Identity, One, Product, Together
    >>> x, y = Identity(0, 10), Identity(0, 1, at=1)
    >>> moments = Together([x, y, Product(x, x), Product(x, y)])  # for a straight line
    >>> moments.size, moments.numbers
    (4, 2)
    """

    name: ClassVar[str] = "together"

    parts: Sequence[Function]
    precision: Sequence[float] | None = None

    def __post_init__(self) -> None:
        parts = tuple(_check.in_order("parts", self.parts, "must be functions"))
        for part in parts:
            check_function("parts", part)
        if not parts or sum(part.size for part in parts) > MOST_SIZE:
            raise ParameterError("parts", len(parts), "must be 1 or more, of 2^24 values in all")
        object.__setattr__(self, "parts", parts)
        if self.precision is not None:
            given = _check.in_order("precision", self.precision, "must be numbers")
            if len(given) != len(parts):
                what = f"must be {len(parts)} numbers, one for each part"
                raise ParameterError("precision", len(given), what)
            precision = tuple(magnitude("precision", number) for number in given)
            object.__setattr__(self, "precision", precision)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the values of each part are.

        Examples
        --------
        >>> from dpcore.trust.functions import Groups, One, Together
        >>> Together([One(), Groups([0, 1, 2])]).slices
        (slice(0, 1, None), slice(1, 3, None))
        """
        ends = list(accumulate((part.size for part in self.parts), initial=0))
        return tuple(slice(*pair) for pair in pairwise(ends))

    @property
    def bound(self) -> Bound:
        """The bounds of all parts."""
        precision = self.precision or (1.0,) * len(self.parts)
        return Joint(tuple(part.bound for part in self.parts), tuple(precision))

    @property
    def numbers(self) -> int:
        """What all parts need."""
        return max(part.numbers for part in self.parts)

    @property
    def most_bits(self) -> int:
        """The fewest of all parts."""
        return min(part.most_bits for part in self.parts)

    @property
    def is_whole(self) -> bool:  # type: ignore[override]  # a property stands for the constant
        """Whether all parts are."""
        return all(part.is_whole for part in self.parts)

    def values(self, records: Reals) -> Reals:
        """Return the values of all parts, (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import One, Step, Together
        >>> Together([One(), Step(2.0)]).values(np.array([[3.0]])).tolist()
        [[1.0, 0.0]]
        """
        return np.concatenate([part.values(records) for part in self.parts], axis=1)


@dataclass(frozen=True, slots=True)
class Coarse(Function):
    """A function whose values are rounded to few steps, for a secure aggregation of small numbers.

    Rounding is without bias, and adds at most a quarter of a step squared to the variance of a
    record's value.

    Parameters
    ----------
    function
        The function.
    bits
        A unit of its bound has at most 2^bits steps, 0 to 30. With less, noise with ``rho`` may be
        too small to be shared.

    Examples
    --------
    >>> from dpcore.trust import DistributedNoise
    >>> from dpcore.trust.functions import Coarse, Identity
    >>> coarse = Coarse(Identity(0, 100), bits=7)
    >>> noise = DistributedNoise(1.0, clients=1000).sum_noise(coarse)
    >>> noise.lattice.most, noise.share.scale, noise.deviation(1000, is_whole=False).round(2)
    (array([128]), Fraction(128, 1), array([141.96]))
    """

    name: ClassVar[str] = "coarse"

    function: Function
    bits: int

    def __post_init__(self) -> None:
        check_function("function", self.function)
        object.__setattr__(self, "bits", _check.integer("bits", self.bits, 0, MOST_BITS))

    @property
    def bound(self) -> Bound:
        """That of the function."""
        return self.function.bound

    @property
    def numbers(self) -> int:
        """What the function needs."""
        return self.function.numbers

    @property
    def most_bits(self) -> int:
        """``bits``, or what the function has if that is less."""
        return min(self.bits, self.function.most_bits)

    @property
    def is_whole(self) -> bool:  # type: ignore[override]  # a property stands for the constant
        """Whether the function is."""
        return self.function.is_whole

    def values(self, records: Reals) -> Reals:
        """Return the values of the function, before they are rounded.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Coarse, Identity
        >>> Coarse(Identity(0, 100), bits=7).values(np.array([[12.5]])).tolist()
        [[12.5]]
        """
        return self.function.values(records)


def _product(first: Bound, second: Bound) -> Bound:
    """Return a bound of the products of vectors of two bounds."""
    if isinstance(first, InGroups):
        is_one = first.inner == Box(0.0, 1.0)
        return InGroups(first.groups, second if is_one else _product(first.inner, second))
    if not isinstance(first, Box) or not isinstance(second, Box):
        what = "must have ranges as bound, or the first one must be of groups"
        raise ParameterError("first", type(first).__name__, what)
    one: Any = [np.array(first.lower), np.array(first.upper)]
    other: Any = [np.array(second.lower), np.array(second.upper)]
    corners = np.stack([np.multiply.outer(a, b).reshape(-1) for a in one for b in other])
    return Box(tuple(corners.min(axis=0).tolist()), tuple(corners.max(axis=0).tolist()))
