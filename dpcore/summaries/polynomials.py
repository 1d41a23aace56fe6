"""The totals of polynomial projection, and their sensitivity.

Every scheme is a vector of totals: sums over the records of bounded functions on [-1, 1]. All
totals get the same noise, so the scales of a scheme decide which totals get relatively less noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.polynomial import legendre as np_legendre
from numpy.typing import NDArray

from ..kernels.polynomials import legendre as kernels
from ..kernels.polynomials import moments

__all__ = [
    "FIXED_POINT",
    "MOST_DEGREE",
    "MOST_DEGREES",
    "MOST_RECORDS",
    "Basis",
    "Budgets",
    "Scheme",
    "Sensitivity",
    "exact_sums",
    "places",
    "scheme",
]

Basis = Literal["legendre", "moments"]
Budgets = Literal["auto", "equal"]
Sensitivity = Literal["exact", "paper"]
Matrix = NDArray[np.float64]

MOST_DEGREE: Final = 128
MOST_DEGREES: Final = {"legendre": MOST_DEGREE, "moments": 32}
MOST_RECORDS: Final = 2**33  # sums fit 64 bits
FIXED_POINT: Final = 28  # the kernels sum multiples of 2^-28
_SCALE_BITS: Final = 30  # scales are multiples of 2^-30
# The rounding error of a kernel's function of one record, in units of 2^-28.
_ROUNDING: Final = 0.51
_PIECES: Final = 64  # of the curve along which the noise is, for each degree
_NODES: Final = 24  # nodes for each degree; distances of two records are evaluated there
_BLOCK: Final = 256
_MARGIN: Final = 1.0 + 1e-9  # a factor that covers the rounding of sums of some hundred doubles


def places(values: Matrix, lower: float, upper: float) -> Matrix:
    """Return where values are on [-1, 1], as ``kernels.polynomials.moments.positions`` has it."""
    shrink = 0.5 if upper / 2 - lower / 2 >= 2.0**1022 else 1.0  # 0.5 if the width would overflow
    width = shrink * upper - shrink * lower
    clipped = np.clip(values, lower, upper)
    return np.asarray((shrink * clipped - shrink * lower) / width * 2.0 - 1.0)


class Affine(NamedTuple):
    """Coefficients, (K + 1,), from m totals of n records: matrix totals + n offset."""

    matrix: Matrix
    offset: Matrix

    def __call__(self, totals: Matrix, n: int) -> Matrix:
        """Return the coefficients, (..., K + 1), from totals, (..., m)."""
        return np.asarray(totals @ self.matrix.T + n * self.offset)


def exact_sums(basis: Basis, degree: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the (K + 2,) sums of records that sit in the middles of N equal cells of [-1, 1]."""
    sums = np.zeros(degree + 2, np.int64)
    add = kernels.legendre_counts if basis == "legendre" else moments.moment_counts
    add(counts, sums)
    return sums


@dataclass(frozen=True, slots=True)
class Scheme:
    """The totals of one basis and degree K, m of them.

    Parameters
    ----------
    degree
        The degree K of the polynomial onto which the curve is projected.
    basis
        The kernels' sums from which the totals are made.
    scales
        (m,) integers. Total i is its sum times scale i times 2^-30.
    change
        The largest Euclidean distance of two neighbours' totals, including fixed-point arithmetic.
    plain
        The coefficients c of n F = sum_k c_k P_k, from the totals.
    curve
        The same with the public ends of F. Curves are made from these coefficients.
    variance
        (2 K + 1,) the series of the variance of n F, if the variance of each total is 1.
    """

    degree: int
    basis: Basis
    scales: tuple[int, ...]
    change: float
    plain: Affine
    curve: Affine
    variance: Matrix

    def totals(self, sums: NDArray[np.int64], bits: int) -> list[int]:
        """Return the totals of (K + 2,) exact sums, rounded down to multiples of 2^-bits.

        ``bits`` is at most 28. In Python's integers: nothing can overflow.
        """
        s = [int(exact) for exact in sums]
        if self.basis == "moments":
            plain = s[1:]
        else:  # P_{k - 1} - P_{k + 1}, and P_{-1} = 1
            plain = [s[max(k - 1, 0)] - s[k + 1] for k in range(self.degree + 1)]
        drop = FIXED_POINT + _SCALE_BITS - bits
        return [(scale * exact) >> drop for scale, exact in zip(self.scales, plain, strict=True)]

    def variances(self, points: Matrix, unit: float) -> Matrix:
        """Return the variance of n F at points within [-1, 1], if each total's is ``unit``.

        It is a sum of squares of polynomials, so a polynomial of degree 2 K. O(K) each.
        """
        out = np.empty((1, points.size))
        kernels.series(self.variance[None, :], points, out)
        return np.asarray(unit * np.maximum(out[0], 0.0))  # up to rounding, it is 0 at the ends

    def spectrum(self) -> Matrix:
        """Return the variances of n F along its principal axes in L2, if each total's is 1.

        They are (K + 1,), in ascending order, and not negative. O(K^3).
        """
        orthonormal = self.curve.matrix / np.sqrt(np.arange(self.degree + 1) + 0.5)[:, None]
        return np.asarray(np.maximum(np.linalg.eigvalsh(orthonormal @ orthonormal.T), 0.0))

    def length(self) -> float:
        """Return the length of the curve of unit vectors that the noise of F follows on [-1, 1].

        The noise at x is <v(x), z> for the noise z of the totals, and the curve is v / |v|. Its
        chords are at most a part in 10^4 shorter. O(K^3).
        """
        if self.basis == "legendre" and self.degree == 1:  # a line from end to end: no noise
            return 0.0
        pieces = _PIECES * (self.degree + 1)
        x = np.cos((np.arange(pieces) + 0.5) * math.pi / pieces)
        noise = np_legendre.legvander(x, self.degree) @ self.curve.matrix
        units = noise / np.sqrt(np.einsum("ij,ij->i", noise, noise))[:, None]
        chords = np.sqrt(np.einsum("ij,ij->i", *(2 * [np.diff(units, axis=0)])))
        return float(chords.sum()) * pieces / (pieces - 1) * (1.0 + 1e-3)

    def rounding(self, n: int, bits: int) -> float:
        """Return how far the totals of n records are at most from what they stand for, in length.

        A record's part is off by less than 2^-27, in fixed point and by its scale. The sum is
        rounded down to a multiple of 2^-bits.
        """
        return math.sqrt(len(self.scales)) * (n * 2.0 ** (1 - FIXED_POINT) + 2.0**-bits)


@lru_cache(maxsize=64)
def scheme(degree: int, basis: Basis, budgets: Budgets, sensitivity: Sensitivity) -> Scheme:
    """Return the scheme. O(degree^3) once."""
    degree = int(degree)  # the small integers of NumPy wrap around
    k = np.arange(degree + 1)
    if basis == "moments":
        plain = curve = _from_moments(degree)
        change = _moments_change(degree, sensitivity)
        scales = np.ones(degree + 1)
    else:
        norms = np.sqrt((2 * k + 1) / 2)  # the norms of the orthonormal e_k = norms_k P_k
        if budgets == "equal":
            scales, change = 1.0 / np.sqrt(2.0 * (2 * k + 1)), math.sqrt(2.0)
            to_series = np.diag(norms)
        else:
            scales, change = np.ones(degree + 1), _largest_distance(_differences, degree)
            to_series = np.eye(degree + 1) / 2.0
        plain = Affine(to_series, np.zeros(degree + 1))
        curve = _with_ends(to_series, norms)
    whole = np.rint(scales * 2.0**_SCALE_BITS)
    rounding = math.sqrt(degree + 1) * 4 * _ROUNDING * 2.0**-FIXED_POINT
    change *= 1.0 + float(np.max(np.abs(whole * 2.0**-_SCALE_BITS / scales - 1.0)))
    change = (change + rounding) * _MARGIN
    variance = _variance_series(curve.matrix)
    for array in (*plain, *curve, variance):
        array.flags.writeable = False  # all callers share the scheme
    return Scheme(degree, basis, tuple(int(s) for s in whole), change, plain, curve, variance)


def _with_ends(to_series: Matrix, norms: Matrix) -> Affine:
    """Return the coefficients after a projection onto F(-1) = 0 and F(1) = 1, which are public.

    In orthonormal coefficients a, the polynomials that meet both ends are {E a = (0, 1)}, and the
    nearest one in L2 is a - E^+ (E a - (0, 1)).
    """
    ends = np.stack([norms * (-1.0) ** np.arange(norms.size), norms])
    inverse = np.linalg.pinv(ends)
    projection = np.eye(norms.size) - inverse @ ends
    matrix = norms[:, None] * (projection @ (to_series / norms[:, None]))
    return Affine(matrix, norms * inverse[:, 1])


def _variance_series(matrix: Matrix) -> Matrix:
    """Return the series of the sum over totals j of (sum_k matrix[k, j] P_k)^2, by quadrature."""
    most = 2 * (matrix.shape[0] - 1)
    nodes, weights = np_legendre.leggauss(most + 1)
    p = np_legendre.legvander(nodes, most)
    squares = np.sum((p[:, : matrix.shape[0]] @ matrix) ** 2, axis=1)
    return np.asarray((weights * squares) @ p * (np.arange(most + 1) + 0.5))


def _from_moments(degree: int) -> Affine:
    """Return the map from moments to the series: <F, x^i> = (1 - mu_{i + 1}) / (i + 1)."""
    k = np.arange(degree + 1)
    powers = np.zeros((degree + 1, degree + 1))  # P_k = sum_i powers[k, i] x^i
    for row in range(degree + 1):
        powers[row, : row + 1] = np_legendre.leg2poly([0.0] * row + [1.0])
    integrals = (2 * k[:, None] + 1) / 2.0 * powers / (k + 1)
    return Affine(-integrals, integrals.sum(axis=1))


def _moments_change(degree: int, sensitivity: Sensitivity) -> float:
    if sensitivity == "exact":
        return _largest_distance(_powers, degree)
    return math.sqrt((5 * degree + (8 if degree % 2 == 0 else 5)) / 2)


def _differences(x: Matrix, degree: int) -> Matrix:
    """P_{k - 1} - P_{k + 1} for k = 0, ..., K, and P_{-1} = 1."""
    p = np_legendre.legvander(x, degree + 1)
    return p[:, np.maximum(np.arange(degree + 1) - 1, 0)] - p[:, 1:]


def _powers(x: Matrix, degree: int) -> Matrix:
    """x^i for i = 1, ..., K + 1."""
    return np.asarray(x[:, None] ** np.arange(1, degree + 2))


def _largest_distance(functions: Any, degree: int) -> float:
    """Return an upper bound of |f(x) - f(y)| over all x, y within [-1, 1], above it by < 0.3 %.

    Its square is a polynomial of degree 2 K + 2 = d in x and in y. Between N Chebyshev nodes a
    polynomial of degree d is at most 1 / cos(pi d / 2 N) times its largest value at them (Ehlich &
    Zeller 1964): once for x, once for y.
    """
    nodes = _NODES * (2 * degree + 2)
    f = functions(np.cos((np.arange(nodes) + 0.5) * math.pi / nodes), degree)
    squares = np.einsum("ij,ij->i", f, f)
    largest = 0.0
    for start in range(0, nodes, _BLOCK):
        part = slice(start, start + _BLOCK)
        apart = squares[part, None] + squares - 2.0 * f[part] @ f.T
        largest = max(largest, float(apart.max()))
    if not largest >= 1.0:  # one record can change each scheme by more than this
        raise AssertionError(f"no distance of records was found for degree {degree}")
    return math.sqrt(largest) / math.cos(math.pi / (2 * _NODES))
