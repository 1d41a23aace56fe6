"""Polynomial projection: a curve from a few noisy numbers, whose sensitivity hardly grows."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..kernels.polynomials import legendre as kernels
from ..noise.sources import Source, source
from ..privacy.lattice import LatticeNoise, lattice_noise
from ..privacy.spending import spending
from ..summaries.grid import MOST_CELLS
from ..summaries.polynomials import (
    FIXED_POINT,
    MOST_DEGREES,
    MOST_RECORDS,
    Basis,
    Budgets,
    Scheme,
    Sensitivity,
    exact_sums,
    scheme,
)
from .base import Mechanism, Work

__all__ = ["Budgets", "PolynomialProjection"]

_AUTO: Final = {"legendre": 32, "moments": 6}


@dataclass(frozen=True, slots=True)
class PolynomialProjection(Mechanism):
    """The curve's nearest polynomial, from noisy sums over the records of Legendre polynomials.

    The mechanism follows Tao & Sarwate, *Differentially Private Distribution Estimation Using
    Functional Approximation* (the projection paper).

    ``dpcore.cdf`` maps the cells of the grid to equal parts of [-1, 1]. So on a uniform grid the
    curve is a polynomial of the value, and on a logarithmic grid a polynomial of its logarithm.
    ``dpcore.project`` needs no grid.

    Parameters
    ----------
    epsilon, delta
        For (epsilon, delta)-differential privacy, both above 0, by the analytic Gaussian mechanism
        (Balle & Wang 2018). Neighbours: one record is replaced, and n is public.
    degree
        The degree K, 1 to 128 ("moments": up to 32). A higher degree follows narrower features and
        has more noise. "auto": 32, and 6 for moments. Choose it without the data;
        docs/proofs/projection.md says how.
    basis
        "legendre": sums of P_{k-1} - P_{k+1}, k = 0, ..., K, which are the Legendre coefficients of
        the curve up to factors. The two ends, F = 0 and F = 1, are public, and the curve has them
        exactly. "moments": the mechanism of the projection paper, with sums of x, ..., x^{K+1} and
        without the ends.
    budgets
        "auto": the noise is the same in all sums of P_{k-1} - P_{k+1}. So the variance of the
        coefficient of P_k is proportional to 1 / (2k + 1), and the noise in the curve grows about
        as the logarithm of K. "equal": the noise is the same in all orthonormal coefficients, whose
        sensitivity is sqrt(2) / n at every degree (Bessel's inequality). Moments have equal noise.
    sensitivity
        "exact": the exact sensitivity, computed to 0.3 %. "paper", for moments only: the bound of
        the projection paper, sqrt((5K + 8) / 2) / n, or sqrt((5K + 5) / 2) / n for odd K, which is
        above the true sensitivity.
    rho
        For zero-concentrated differential privacy, instead of epsilon and delta.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/projection.md has the proofs. The sums take O(n K) once, and each release takes O(N
    K).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> heights, grid = rng.normal(170, 8, 10_000), dp.Grid.uniform(140, 200, 2**10)
    >>> mechanism = dp.mechanisms.PolynomialProjection(epsilon=1.0, delta=1e-6)
    >>> curve = dp.cdf(heights, grid, mechanism, rng=rng)
    >>> round(curve.quantile(0.5), 1)
    169.9
    """

    name: ClassVar[str] = "polynomial"

    epsilon: float | Fraction | None = None
    degree: int | str = "auto"
    basis: Basis = "legendre"
    budgets: Budgets = "auto"
    sensitivity: Sensitivity = "exact"
    _: KW_ONLY
    rho: float | Fraction | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        _check.choice("basis", self.basis, Basis)
        _check.choice("budgets", self.budgets, Budgets)
        _check.choice("sensitivity", self.sensitivity, Sensitivity)
        if self.sensitivity == "paper" and self.basis != "moments":
            raise ParameterError("sensitivity", "paper", 'must be "exact", except for moments')
        if isinstance(self.degree, str):
            if self.degree != "auto":
                raise ParameterError("degree", self.degree, 'must be an integer or "auto"')
        else:
            degree = _check.integer("degree", self.degree, 1, MOST_DEGREES[self.basis])
            object.__setattr__(self, "degree", degree)
        if self.basis == "moments":
            object.__setattr__(self, "budgets", "equal")
        if self._budget().rho is None:
            raise ParameterError("delta", None, "must be given beside epsilon: noise is Gaussian")

    @property
    def scheme(self) -> Scheme:
        """The sums over the records, and how a curve is made from them."""
        degree = _AUTO[self.basis] if isinstance(self.degree, str) else self.degree
        return scheme(degree, self.basis, self.budgets, self.sensitivity)

    def noise(self) -> LatticeNoise:
        """Return the noise of each total, and the lattice to which totals are rounded.

        Examples
        --------
        >>> from dpcore.mechanisms import PolynomialProjection
        >>> for degree in (8, 32):
        ...     noise = PolynomialProjection(rho=0.5, degree=degree).noise()
        ...     print(degree, round(noise.variance, 2))
        8 6.9
        32 9.45
        """
        asked = self.scheme
        return lattice_noise(self._budget(), asked.change, len(asked.scales), FIXED_POINT)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return infinities, (N,), and 0 for the last, because no polynomial is the exact curve.

        ``polynomial_deviation`` returns the known part, which is the noise of the polynomial.

        Examples
        --------
        >>> from dpcore.mechanisms import PolynomialProjection
        >>> PolynomialProjection(rho=0.5).noise_deviation(4)
        array([inf, inf, inf,  0.])
        """
        self.noise()  # raises an error if the budget is too small
        errors = np.full(_check.integer("size", size, 1, MOST_CELLS), np.inf)
        errors[-1] = 0.0
        return errors

    def polynomial_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the polynomial's noise at each threshold, (N,).

        It is in counts. It does not include the distance of the nearest polynomial from the curve.
        It takes O(N K).

        Examples
        --------
        >>> from dpcore.mechanisms import PolynomialProjection
        >>> PolynomialProjection(rho=0.5, degree=8).polynomial_deviation(6).round(2)
        array([1.78, 1.73, 1.6 , 1.73, 1.78, 0.  ])
        >>> PolynomialProjection(rho=0.5, degree=32).polynomial_deviation(6).round(2)
        array([2.42, 2.2 , 2.15, 2.2 , 2.42, 0.  ])
        """
        size = _check.integer("size", size, 1, MOST_CELLS)
        asked, unit = self.scheme, self.noise().variance
        errors = np.sqrt(asked.variances(_ends(size), unit))
        errors[-1] = 0.0
        return errors

    def error_bound(
        self, records: int, level: float = 0.95, *, approximation: float = 0.0
    ) -> float:
        """Return how far in L2 the released polynomial is at most from the population's F.

        It is for ``dpcore.project``, whose bounds are mapped to [-1, 1], before isotonic
        regression. Distribution functions are at most sqrt(2) apart, so a larger bound says
        nothing.

        Parameters
        ----------
        records
            n, the public number of records, which are independent draws from the population.
        level
            The probability with which the bound holds at least, between 0 and 1.
        approximation
            How far in L2 the population's F is at most from the nearest polynomial of degree K
            (not for moments: with F = 0 and F = 1 at the ends). No release shows this, so it has to
            be assumed. 0: the bound is of sampling and noise alone.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the budget is too small.

        Notes
        -----
        docs/proofs/projection.md, section 4: a bound such as Theorem 1 of the projection paper, by
        the covariance of the noise (Hsu, Kakade & Zhang, *A tail inequality for quadratic forms of
        subgaussian random vectors*, 2012). ``dpcore.papers.projection_bound`` has the published
        one. O(K^3).

        Examples
        --------
        >>> from dpcore.mechanisms import PolynomialProjection
        >>> for epsilon in (0.1, 1.0):
        ...     mechanism = PolynomialProjection(epsilon, delta=1e-6)
        ...     print(epsilon, round(mechanism.error_bound(10_000), 3))
        0.1 0.051
        1.0 0.024
        """
        n = _check.integer("records", records, 1, MOST_RECORDS)
        fails = (1.0 - _check.proportion("level", level)) / 2  # of sampling, and of noise
        missed = _check.finite("approximation", approximation)
        if missed < 0.0:
            raise ParameterError("approximation", missed, "must be 0 or more")
        lattice, asked = self.noise(), self.scheme
        law, bits = lattice.law, lattice.bits
        axes, often = asked.spectrum(), math.log(1.0 / fails)
        size = axes.sum() + 2.0 * math.sqrt(often * (axes @ axes)) + 2.0 * often * axes[-1]
        noise = math.sqrt(float(law.sigma_squared) * 4.0**-bits * size)
        noise += math.sqrt(axes[-1]) * asked.rounding(n, bits)
        sampling = math.sqrt(math.log(2.0 / fails) / n)
        return math.hypot(missed, sampling + noise / n)

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> from dpcore.mechanisms import PolynomialProjection
        >>> for name, value in PolynomialProjection(rho=0.5, degree=8).describe().items():
        ...     print(name, value)
        name polynomial
        rho 0.5
        degree 8
        basis legendre
        budgets auto
        sensitivity exact
        """
        return {
            "name": self.name,
            **self._budget().describe(),
            "degree": self.scheme.degree,
            "basis": self.basis,
            "budgets": self.budgets,
            "sensitivity": self.sensitivity,
        }

    def release_totals(
        self, sums: NDArray[np.int64], *, rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Return the noisy totals of a projection, (m,), from exact sums over the records.

        Parameters
        ----------
        sums
            The field ``sums`` of the ``PolynomialSums`` of this basis and degree.
        rng
            None for a release: noise from a cryptographic source. A generator is for studies.

        Returns
        -------
        numpy.ndarray
            (m,) int64, in units of the lattice, 2^-bits with the bits of ``noise``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above; or the budget is too small.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, values = np.random.default_rng(1), np.linspace(-1, 1, 100)
        >>> mechanism = dp.mechanisms.PolynomialProjection(rho=0.5, degree=2)
        >>> sums = dp.polynomial_sums(values, -1, 1, degree=2).sums
        >>> noisy = mechanism.release_totals(sums, rng=rng)
        >>> (noisy * 2.0 ** -mechanism.noise().bits).round(1)
        array([ 98.5, 103.5,  -3.1])
        """
        stream = source(rng)
        exact = _check.array("sums", sums, "iu", "must hold integers")
        wanted = (self.scheme.degree + 2,)
        if exact.shape != wanted:
            raise ParameterError("sums", exact.shape, f"must have shape {wanted}")
        self.noise()  # refuses a budget that is too small before it is charged
        cost = replace(self.privacy_for(1), simulated=stream.simulated)
        with spending(cost, "PolynomialProjection.release_totals"):
            totals: NDArray[np.int64] = self._noisy_totals(exact, 1, stream)[0]
        return totals

    def _noisy_totals(
        self, sums: NDArray[np.int64], rows: int, stream: Source
    ) -> NDArray[np.int64]:
        """Return (rows, m) noisy totals, in units of the lattice, from exact sums."""
        noise = self.noise()
        law, bits = noise.law, noise.bits
        noisy = np.empty((rows, len(self.scheme.scales)), np.int64)
        law.fill(noisy.reshape(-1), stream)
        noisy += np.array(self.scheme.totals(sums, bits), np.int64)
        return noisy

    def _rho(self, size: int) -> Fraction:
        return self.noise().rho

    def _check_total(self, total: int, size: int) -> None:
        if total > MOST_RECORDS:  # it is public
            raise ParameterError("counts", total, f"must sum to at most {MOST_RECORDS}")

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        n = int(exact.sum())
        asked, unit = self.scheme, np.float64(2.0 ** -self.noise().bits)
        sums = exact_sums(asked.basis, asked.degree, exact)
        points = _ends(exact.size)

        def fill(out: NDArray[np.float64], stream: Source) -> None:
            totals = self._noisy_totals(sums, out.shape[0], stream) * unit
            kernels.series(asked.curve(totals, n), points, out)
            out[:, -1] = n

        return Work(fill, len(asked.scales), np.float64)


def _ends(size: int) -> NDArray[np.float64]:
    """Return the upper ends of ``size`` equal cells of [-1, 1]."""
    return (2.0 * np.arange(1, size + 1) - size) / size
