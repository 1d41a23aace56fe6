"""Curves from a few functions of a dictionary, which matching pursuit finds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..mechanisms.base import Mechanism, Work
from ..noise.sources import Source
from ..privacy.lattice import LatticeNoise, lattice_noise
from ..summaries.polynomials import MOST_RECORDS

__all__ = ["Dictionary", "MatchingPursuit", "Span", "functions_of", "pursued", "span"]

Dictionary = Literal["legendre", "splines", "distributions", "all"]
Values = NDArray[np.float64]

_MOST_CELLS: Final = 2**12  # the largest distance of two records is found among all pairs
_BITS: Final = 20  # of a unit of the sums
_DEGREES: Final = 48  # polynomials
_INTERVALS: Final = (1, 2, 4, 8, 16, 32)  # of the knots of splines
_CENTRES: Final = (1, 2, 4, 8, 16)  # of normal distributions, in each half
_ALIKE: Final = 1e-7  # functions whose singular values are less than this part are no directions
_PART: Final = 0.5  # of the largest correlation that noise alone is likely to have
_BLOCK: Final = 256
_MARGIN: Final = 1e-10  # covers the rounding of the inner products of two rows


@dataclass(frozen=True, slots=True)
class MatchingPursuit(Mechanism):
    """The curve as a combination of few functions of a dictionary, from noisy inner products.

    The source is Tao & Sarwate, *Functional Approximation Methods for Differentially Private
    Distribution Estimation* (arXiv 2501.06620v2, 2026), the second version of the projection paper.
    Its abstract and introduction are the source: a sparse approximation by matching pursuit, over
    dictionaries of Legendre polynomials, B-splines and distribution functions, with private
    coefficients. All details are ours.

    Parameters
    ----------
    epsilon, delta
        For (epsilon, delta)-differential privacy, both above 0. Neighbours: one record is replaced,
        and n is public.
    dictionary
        "legendre": the Legendre polynomials of degrees 0 to 47. "splines": cubic B-splines with
        even knots, on 1, 2, 4, ..., 32 intervals. "distributions": the distribution functions of
        normals with even means and standard deviations of half the distance between them.
        "all": all of these.
    atoms
        How many functions are combined at most, 1 to 128.
    rho
        For zero-concentrated differential privacy, instead of epsilon and delta.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    What is released are the inner products of the curve with an orthonormal basis of the functions
    that the dictionary spans, so a redundant dictionary costs nothing. They are sums over the
    records. Two records differ by the projection of the indicator of the thresholds between them,
    so by at most sqrt(N) (Bessel's inequality). The largest distance is computed from all pairs of
    cells, and the noise is the discrete Gaussian noise of ``mechanisms.PolynomialProjection``.

    The pursuit is post-processing: orthogonal matching pursuit (Pati, Rezaiifar & Krishnaprasad
    1993), which adds the function that correlates most with the rest, and fits all functions again.
    It stops when that correlation is below sqrt(log(M) / 2) standard deviations of its noise, for M
    functions. N is at most 4,096. A release takes O(N r) for r dimensions, and O(M r) for each
    function.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.papers.matching_pursuit import MatchingPursuit
    >>> rng = np.random.default_rng(1)
    >>> heights, grid = rng.normal(170, 8, 10_000), dp.Grid.uniform(140, 200, 2**10)
    >>> curve = dp.cdf(heights, grid, MatchingPursuit(1.0, delta=1e-6), rng=rng)
    >>> round(curve.quantile(0.5))
    170
    """

    name: ClassVar[str] = "matching-pursuit"

    epsilon: float | Fraction | None = None
    dictionary: Dictionary = "all"
    atoms: int = 32
    _: KW_ONLY
    rho: float | Fraction | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        _check.choice("dictionary", self.dictionary, Dictionary)
        object.__setattr__(self, "atoms", _check.integer("atoms", self.atoms, 1, 128))
        if self._budget().rho is None:
            raise ParameterError("delta", None, "must be given beside epsilon: noise is Gaussian")

    def noise(self, size: int) -> LatticeNoise:
        """Return the noise of each inner product, and the lattice to which these are rounded.

        Examples
        --------
        >>> from dpcore.papers.matching_pursuit import MatchingPursuit
        >>> noise = MatchingPursuit(rho=0.5).noise(256)  # a record moves them by at most 16
        >>> round(noise.variance**0.5, 1)
        16.0
        """
        size = _check.integer("size", size, 1, _MOST_CELLS)
        of = span(self.dictionary, size)
        return lattice_noise(self._budget(), of.change, of.basis.shape[1], _BITS)

    def noise_deviation(self, size: int) -> Values:
        """Return infinities, (N,), and 0 for the last: no combination is the exact curve.

        Examples
        --------
        >>> from dpcore.papers.matching_pursuit import MatchingPursuit
        >>> MatchingPursuit(rho=0.5).noise_deviation(4)
        array([inf, inf, inf,  0.])
        """
        self.noise(size)  # raises an error if the budget is too small
        errors = np.full(size, np.inf)
        errors[-1] = 0.0
        return errors

    def _rho(self, size: int) -> Fraction:
        return self.noise(size).rho

    def _check_total(self, total: int, size: int) -> None:
        if total > MOST_RECORDS:  # it is public
            raise ParameterError("counts", total, f"must sum to at most {MOST_RECORDS}")
        if size > _MOST_CELLS:
            raise ParameterError("counts", size, f"must be of at most {_MOST_CELLS} cells")

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        size, n = exact.size, int(exact.sum())
        of, noise = span(self.dictionary, size), self.noise(size)
        law, bits = noise.law, noise.bits
        sums, unit = exact @ of.steps >> (_BITS - bits), 2.0**-bits
        spread = math.sqrt(law.variance) * unit
        least = _PART * math.sqrt(2.0 * math.log(of.atoms.shape[1])) * spread

        def fill(out: Values, stream: Source) -> None:
            noisy = np.empty((len(out), sums.size), np.int64)
            law.fill(noisy.reshape(-1), stream)
            for row, products in zip(out, (noisy + sums) * unit, strict=True):
                row[:] = of.basis @ pursued(products, of.atoms, least, self.atoms)
            out[:, -1] = n

        return Work(fill, sums.size, np.float64)


class Span(NamedTuple):
    """The functions that a dictionary spans at N thresholds, r dimensions of them.

    Parameters
    ----------
    basis
        (N, r) an orthonormal basis.
    atoms
        (r, M) the functions of the dictionary in this basis, each of length 1.
    steps
        (N, r) the inner products of a record in each cell, in units of 2^-20.
    change
        The largest distance of two of these rows, and at most 10^-9 of it more.
    """

    basis: Values
    atoms: Values
    steps: NDArray[np.int64]
    change: float


@lru_cache(maxsize=16)
def span(dictionary: Dictionary, size: int) -> Span:
    """Return the span of a dictionary at so many thresholds, O(N^2 r) once."""
    functions = functions_of(dictionary, (2.0 * np.arange(1, size + 1) - size) / size)
    functions = functions[:, np.any(functions != 0.0, axis=0)]
    functions /= np.linalg.norm(functions, axis=0)
    axes, lengths, _ = np.linalg.svd(functions, full_matrices=False)
    basis = axes[:, lengths > _ALIKE * lengths[0]]
    above = np.cumsum(basis[::-1], axis=0)[::-1]  # a record counts at its own threshold and after
    steps = np.rint(above * 2.0**_BITS).astype(np.int64)
    atoms = basis.T @ functions
    atoms /= np.linalg.norm(atoms, axis=0)
    for array in (basis, atoms, steps):
        array.flags.writeable = False  # all callers share it
    return Span(basis, atoms, steps, _largest_change(steps.astype(np.float64)))


def functions_of(dictionary: Dictionary, x: Values) -> Values:
    """Return the functions of a dictionary at points within [-1, 1], (N, M), of any length.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.matching_pursuit import functions_of
    >>> x = np.linspace(-1, 1, 5)
    >>> for name in ("legendre", "splines", "distributions", "all"):
    ...     print(name, functions_of(name, x).shape)
    legendre (5, 48)
    splines (5, 81)
    distributions (5, 67)
    all (5, 196)
    """
    from scipy.interpolate import BSpline  # a tenth of a second, on first use
    from scipy.special import ndtr

    found = []
    if dictionary in ("legendre", "all"):
        found.append(np.polynomial.legendre.legvander(x, _DEGREES - 1))
    if dictionary in ("splines", "all"):
        for intervals in _INTERVALS:
            knots = np.arange(-3.0, intervals + 4.0) * 2.0 / intervals - 1.0
            found.append(BSpline.design_matrix(x, knots, 3).toarray())
    if dictionary in ("distributions", "all"):
        for centres in _CENTRES:
            means = np.linspace(-1.0, 1.0, 2 * centres + 1)
            found.append(ndtr((x[:, None] - means) * (2.0 * centres)))
    return np.hstack(found)


def pursued(products: Values, atoms: Values, least: float, most: int) -> Values:
    """Return the best combination of few functions, (r,), by orthogonal matching pursuit.

    Parameters
    ----------
    products
        (r,) the inner products with an orthonormal basis.
    atoms
        (r, M) functions in this basis, each of length 1.
    least
        Functions that correlate less with the rest are not added.
    most
        The largest number of functions.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.matching_pursuit import pursued
    >>> pursued(np.array([5.0, 1.0, 0.0]), np.eye(3), least=2.0, most=2)
    array([5., 0., 0.])
    """
    fitted = np.zeros_like(products)
    directions = np.empty((0, products.size))  # orthonormal, of the functions chosen so far
    for _ in range(min(most, products.size)):
        rest = products - fitted
        correlations = np.abs(atoms.T @ rest)
        best = int(np.argmax(correlations))
        new = atoms[:, best]
        for _ in range(2):  # the second time removes what rounding has left
            new = new - (directions @ new) @ directions
        length = float(np.linalg.norm(new))
        if correlations[best] <= least or length < _ALIKE:
            break
        new = new / length
        directions = np.vstack([directions, new])
        fitted = fitted + (new @ rest) * new
    return fitted


def _largest_change(steps: Values) -> float:
    """Return the largest distance of two rows, and not less, in units of 2^20; at least 1."""
    squares, largest = np.einsum("ij,ij->i", steps, steps), 1.0
    for start in range(0, len(steps), _BLOCK):
        part = slice(start, start + _BLOCK)
        apart = squares[part, None] + squares - 2.0 * (steps[part] @ steps.T)
        largest = max(largest, float(apart.max()))
    return math.sqrt(largest + _MARGIN * float(squares.max())) * 2.0**-_BITS
