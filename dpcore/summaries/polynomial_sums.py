"""Exact sums of polynomials over records: the additive summary of polynomial projection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from .._sealed import sealed
from ..errors import DtypeError, ParameterError
from ..kernels.polynomials import legendre, moments
from ..records.column import Column
from .polynomials import FIXED_POINT, MOST_DEGREE, MOST_DEGREES, MOST_RECORDS, Basis
from .totals import NanPolicy, sum_of_parts, totals

__all__ = ["PolynomialSums", "polynomial_sums"]

_PART: Final = 2**16  # so many values are worth a thread of their own


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PolynomialSums:
    """Exact sums over records. They are as private as the records.

    ``polynomial_sums`` makes them, and ``dpcore.project_sums`` releases them. ``first + second``
    are the sums over the records of both. Two objects are equal if their bounds, bases and sums
    are equal.

    Parameters
    ----------
    lower, upper
        The public bounds.
    basis
        "legendre": sums of P_0, ..., P_{K+1} of the values, scaled to [-1, 1]. "moments": sums of
        1, x, ..., x^{K+1} of these.
    sums
        (K + 2,) int64, in units of 2^-28, to which the terms of a record are rounded. Sums of
        chunks, files and sites can be added, bit for bit.

    Raises
    ------
    DtypeError, ParameterError
        The numbers cannot be sums over up to 2^33 records.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.polynomial_sums([0.5, 1.0], 0, 4, degree=2, basis="moments")
    >>> (found.sums / 2**28).tolist()  # sums of 1, x, x^2 and x^3, with x = v / 2 - 1
    [2.0, -1.25, 0.8125, -0.546875]
    >>> found
    <PolynomialSums: n = 2, degree 2, moments, within [0, 4]>
    """

    lower: float
    upper: float
    basis: Basis
    sums: NDArray[np.int64]

    def __post_init__(self) -> None:
        low, high = _check.bounds(self.lower, self.upper)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        _check.choice("basis", self.basis, Basis)
        array = _check.array("sums", self.sums, "iuf", "must be int64")
        if array.dtype != np.int64:
            raise DtypeError("sums", f"dtype {array.dtype}", "must be int64")
        if array.ndim != 1 or not 3 <= array.size <= MOST_DEGREE + 2:
            raise ParameterError("sums", array.shape, f"must have 3 to {MOST_DEGREE + 2} entries")
        n, rest = divmod(int(array[0]), 1 << FIXED_POINT)
        if rest or not 0 <= n <= MOST_RECORDS:
            raise ParameterError("sums", int(array[0]), f"must be of 0 to {MOST_RECORDS} records")
        if max(abs(int(array.min())), int(array.max())) > int(array[0]):
            raise ParameterError("sums", "a sum beyond n", "must be sums of n numbers up to 1")
        object.__setattr__(self, "sums", array)

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.sums[0]) >> FIXED_POINT

    @property
    def degree(self) -> int:
        """The degree K of the polynomial that these sums are for."""
        return self.sums.size - 2

    def __repr__(self) -> str:  # without the sums, which are private
        form = f"n = {self.n}, degree {self.degree}, {self.basis}"
        return f"<PolynomialSums: {form}, within [{self.lower:.4g}, {self.upper:.4g}]>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PolynomialSums):
            return NotImplemented
        return self._public == other._public and np.array_equal(self.sums, other.sums)

    def __hash__(self) -> int:
        return hash((self._public, self.sums.tobytes()))

    @property
    def _public(self) -> tuple[float, float, Basis]:
        return self.lower, self.upper, self.basis

    def __add__(self, other: PolynomialSums) -> PolynomialSums:
        if not isinstance(other, PolynomialSums):
            return NotImplemented
        _check.same(self, other, "lower", "upper", "basis", "degree")
        if self.n + other.n > MOST_RECORDS:
            n = self.n + other.n
            raise ParameterError("sums", n, f"must be of at most {MOST_RECORDS} records")
        return replace(self, sums=self.sums + other.sums)


@documented
def polynomial_sums(
    values: Any,
    lower: float,
    upper: float,
    degree: int,
    basis: Basis = "legendre",
    *,
    nan_policy: NanPolicy = "raise",
) -> PolynomialSums:
    """Return the exact sums over records. They are private: release them with ``project_sums``.

    Parameters
    ----------
    values
        (n,) real numbers, n up to 2^33, in any container that ``Grid.count`` accepts. Values beyond
        the bounds, including infinities, count as the nearest bound.
    lower, upper
        Public bounds, finite.
    degree
        The degree K, 1 to 128, or 1 to 32 for moments.
    basis
        As in ``PolynomialSums``.
    nan_policy
        {nan_policy}

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        As in ``Grid.count``; or another argument is not as above.

    Notes
    -----
    O(n K), on all processors. The memory does not depend on n.

    Examples
    --------
    >>> import dpcore as dp
    >>> chunks = [[0.5, 1.0], [2.5]]
    >>> first, second = (dp.polynomial_sums(chunk, 0, 4, degree=2) for chunk in chunks)
    >>> (first + second).n, (first + second).sums
    (3, array([ 805306368, -268435456,  -50331648,   46137344]))
    >>> dp.polynomial_sums([0.5, 1.0, 2.5], 0, 4, degree=2).sums
    array([ 805306368, -268435456,  -50331648,   46137344])
    """
    low, high = _check.bounds(lower, upper)
    _check.choice("basis", basis, Basis)
    size = _check.integer("degree", degree, 1, MOST_DEGREES[basis]) + 2
    column = Column.of(values)
    if column.is_partitioned:
        own = partial(
            polynomial_sums,
            lower=low,
            upper=high,
            degree=degree,
            basis=basis,
            nan_policy=nan_policy,
        )
        return sum_of_parts(own, column)
    kernel = legendre.legendre_sums if basis == "legendre" else moments.moment_sums
    sums = totals(
        column.chunks(),
        lambda chunk, out: kernel(chunk, low, high, out),
        size,
        _PART,
        nan_policy,
    )
    return PolynomialSums(low, high, basis, sums)
