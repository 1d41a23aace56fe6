"""Distribution functions as a few released numbers, which are small messages that add up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..errors import DtypeError, ParameterError
from ..kernels.polynomials import legendre as kernels
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid, check_grid_of_numbers
from ..summaries.polynomials import MOST_DEGREE, Basis, Budgets, Scheme, places, scheme
from . import forms
from .cdf import CDF
from .confidence import deviations_at_once
from .provenance import check_provenance, identifier_of
from .shown import cost, line, short
from .stored import Stored

__all__ = ["Projection"]

_MOST_ORDER: Final = 33
_MOST_BITS: Final = 256  # bits of a total; totals of real releases have half as many


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Projection(Stored):
    """A released distribution function over [lower, upper], as K + 1 noisy totals.

    ``dpcore.project`` makes it. All its methods are post-processing. ``first + second`` is the
    projection of two disjoint sets of records together, such as those of two sites, or old and new
    records.

    Parameters
    ----------
    lower, upper
        The public bounds.
    n
        The public number of records.
    totals
        (K + 1,) the noisy totals, integers in units of 2^-bits.
    bits
        The bits of the lattice.
    variance
        The variance of the noise in each total, in squares of the total's own unit.
    basis, budgets
        They say what the totals are sums of: see ``mechanisms.PolynomialProjection``.
    privacy
        The guarantee of the release.
    mechanism
        Name and parameters of the mechanism.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> dp.project(rng.normal(170, 8, 2000), 130, 210, epsilon=1.0, delta=1e-6, rng=rng)
    <Projection: degree 32 over [130, 210], n = 2000, epsilon = 1, delta = 1e-06, SIMULATED>
    """

    _kind = "dpcore.projection"

    lower: float
    upper: float
    n: int
    totals: tuple[int, ...] = field(metadata=forms.tuple_of(forms.PLAIN))
    bits: int
    variance: float
    basis: Basis
    budgets: Budgets
    privacy: Privacy = field(metadata=forms.PRIVACY)
    mechanism: Mapping[str, str | int | float] = field(metadata=forms.DESCRIPTION)

    def __post_init__(self) -> None:
        lower, upper = _check.bounds(self.lower, self.upper)
        _check.instance("totals", self.totals, tuple, "must be a tuple of integers")
        for total in self.totals:
            if type(total) is not int:
                raise DtypeError("totals", type(total).__name__, "must hold integers")
        _check.integer("degree", len(self.totals) - 1, 1, MOST_DEGREE)
        if (most := max(total.bit_length() for total in self.totals)) > _MOST_BITS:
            raise ParameterError("totals", most, f"must have at most {_MOST_BITS} bits each")
        variance = _check.finite("variance", self.variance)
        if not 0.0 <= variance < 2.0**_MOST_BITS:
            raise ParameterError("variance", variance, f"must be 0 or more, below 2^{_MOST_BITS}")
        _check.choice("basis", self.basis, Basis)
        _check.choice("budgets", self.budgets, Budgets)
        check_provenance(self.privacy, self.mechanism)
        numbers = {
            "lower": lower,
            "upper": upper,
            "n": _check.integer("n", self.n, 1, 2**63 - 1),
            "bits": _check.integer("bits", self.bits, -64, 64),
            "variance": variance,
        }
        for name, number in numbers.items():
            object.__setattr__(self, name, number)

    def __repr__(self) -> str:
        bounds = f"[{short(self.lower)}, {short(self.upper)}]"
        return line(
            "Projection",
            f"degree {self.degree} over {bounds}, n = {self.n}, {cost(self.privacy)}",
        )

    def _columns(self) -> Mapping[str, Any]:
        return {"total": list(self.totals)}

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n, "mechanism": self.mechanism}

    @property
    def degree(self) -> int:
        """The degree K of the polynomial."""
        return len(self.totals) - 1

    def curve(self, grid: Grid, *, integers: bool | None = None) -> CDF:
        """Return the raw curve on a grid. ``.isotonic()`` makes it monotone.

        Parameters
        ----------
        grid
            Any thresholds. Beyond the bounds, the curve has its value at the nearest bound. At the
            last threshold it is 1, because values above count in the last cell.
        integers
            Whether the records are whole numbers, as in ``dpcore.cdf``. None: what the grid says.
            A projection keeps no other statement.

        Returns
        -------
        CDF
            Its ``noise_deviation`` is infinite, because the error of the polynomial itself is not
            known. It is 0 at the lower bound: records that equal this bound show as a steep rise
            after it. O(N K).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> heights = rng.normal(170, 8, 5000)
        >>> found = dp.project(heights, 100, 240, epsilon=1.0, delta=1e-6, rng=rng)
        >>> curve = found.curve(dp.Grid.uniform(100, 240, 280)).isotonic()
        >>> round(curve.quantile(0.5))
        170
        """
        check_grid_of_numbers("grid", grid)
        points = places(grid.positions, self.lower, self.upper)
        counts = np.empty((1, grid.size))
        kernels.series(self._scheme.curve(self._reals[None, :], self.n), points, counts)
        deviation = np.full(grid.size, np.inf)
        counts[0, -1], deviation[-1] = self.n, 0.0
        made = grid, counts[0], self.n, self.privacy, self.mechanism, deviation
        noise = () if self.privacy.simulated else (identifier_of(repr(self.totals).encode()),)
        return CDF(*made, integers=integers, releases=noise)

    def polynomial_band(
        self, grid: Grid, level: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ends between which the curve without noise is, at all thresholds at once.

        That curve is the polynomial nearest to the records' own F, and not F, from which it differs
        by an unknown error: see ``band``.

        Parameters
        ----------
        grid
            As in ``curve``.
        level
            The probability, at least, that all thresholds are covered: between 0 and 1.

        Returns
        -------
        low, high
            (N,) each, on both sides of the raw curve. As the polynomials, they may leave [0, 1].

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        docs/proofs/projection.md, section 4. The noise is taken as normal, which that of
        ``dpcore.project`` practically is. Under ``trust.DistributedNoise(epsilon=...)`` it is not,
        and bands at levels of 95 % and more fail more often. O(N K + K^3).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> heights, grid = rng.normal(170, 8, 5000), dp.Grid.uniform(130, 210, 160)
        >>> found = dp.project(heights, 130, 210, epsilon=1.0, delta=1e-6, rng=rng)
        >>> low, high = found.polynomial_band(grid)
        >>> round(float(np.max(high - low)) / 2, 3)
        0.014
        """
        check_grid_of_numbers("grid", grid)
        asked = self._scheme
        width = deviations_at_once(level, grid.size, asked.length()) * math.sqrt(self.variance)
        points = places(grid.positions, self.lower, self.upper)
        reach = np.sqrt(asked.variances(points, 1.0))
        reach *= (width + asked.rounding(self.n, self.bits)) / self.n
        reach[-1] = 0.0
        middle = self.curve(grid).counts / self.n
        return middle - reach, middle + reach

    def band(
        self, grid: Grid, approximation: float, level: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ends between which the records' own F is, at all thresholds at once.

        Parameters
        ----------
        grid
            As in ``curve``.
        approximation
            How far F is at most, at any threshold, from the polynomial nearest to it, as you
            assume: no release shows it. Half of the largest share of records with one value is a
            lower bound of it.
        level
            As in ``polynomial_band``.

        Returns
        -------
        low, high
            (N,) each, within [0, 1], and never falling. If a low end is above a high one, the
            assumption is wrong, or the level was missed.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        The band of the polynomial is widened by ``approximation``. As F does not fall, each low end
        holds for all later thresholds, and each high end for all earlier ones. Values are those
        clamped into the bounds.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> heights, grid = rng.normal(170, 8, 5000), dp.Grid.uniform(130, 210, 160)
        >>> found = dp.project(heights, 130, 210, epsilon=1.0, delta=1e-6, rng=rng)
        >>> low, high = found.band(grid, approximation=0.01)
        >>> share = np.mean(heights <= grid.thresholds[80])
        >>> [round(float(each), 2) for each in (low[80], share, high[80])]
        [0.52, 0.54, 0.55]
        """
        low, high = self.polynomial_band(grid, level)
        missed = _check.finite("approximation", approximation)
        if missed < 0.0:
            raise ParameterError("approximation", missed, "must be 0 or more")
        low, high = low - missed, high + missed
        low[grid.positions >= self.upper] = low[-1] = 1.0
        high[grid.positions < self.lower] = 0.0
        low = np.maximum.accumulate(np.clip(low, 0.0, 1.0))
        high = np.minimum.accumulate(np.clip(high, 0.0, 1.0)[::-1])[::-1]
        return low, high

    def coefficients(self) -> NDArray[np.float64]:
        """Return the noisy orthonormal Legendre coefficients of F, (K + 1,), as released.

        F(t) is about sum_k a_k sqrt(k + 1/2) P_k(x), with x = 2 (t - lower) / (upper - lower) - 1.
        The coefficients do not use the public ends of F.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> found = dp.project(rng.random(5000), 0, 1, epsilon=1.0, delta=1e-6, rng=rng)
        >>> found.coefficients()[:2].round(1)
        array([0.7, 0.4])
        """
        norms = np.sqrt(np.arange(self.degree + 1) + 0.5)
        return np.asarray(self._scheme.plain(self._reals, self.n) / norms / self.n)

    def moments(self, order: int) -> NDArray[np.float64]:
        """Return unbiased estimates of the records' means of v, v^2, ..., v^order, (order,).

        Parameters
        ----------
        order
            1 to K + 1, and at most 33.

        Notes
        -----
        The moments follow from the integrals of F x^i, which the coefficients give exactly. They
        are moments of the values clamped into the bounds.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> heights = rng.normal(170, 8, 5000)
        >>> found = dp.project(heights, 130, 210, epsilon=1.0, delta=1e-6, rng=rng)
        >>> mean, of_squares = found.moments(2)
        >>> round(mean), round((of_squares - mean**2) ** 0.5)
        (170, 8)
        """
        to_moments, constant = self._to_moments(order)
        plain = self._scheme.plain(self._reals, self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(to_moments @ plain / self.n + constant)

    def moment_errors(self, order: int) -> NDArray[np.float64]:
        """Return the standard deviations of the noise in ``moments(order)``, (order,).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> heights = rng.normal(170, 8, 5000)
        >>> found = dp.project(heights, 130, 210, epsilon=1.0, delta=1e-6, rng=rng)
        >>> found.moments(1).round(1), found.moment_errors(1).round(2)
        (array([169.8]), array([0.1]))
        """
        to_moments, _ = self._to_moments(order)
        parts = to_moments @ self._scheme.plain.matrix
        with np.errstate(over="ignore"):
            return np.asarray(np.sqrt(self.variance * np.sum(parts**2, axis=1)) / self.n)

    def __add__(self, other: Projection) -> Projection:
        if not isinstance(other, Projection):
            return NotImplemented
        _check.same(self, other, "lower", "upper", "degree", "basis", "budgets")
        bits = max(self.bits, other.bits)
        ours, theirs = bits - self.bits, bits - other.bits
        totals = tuple(
            (a << ours) + (b << theirs) for a, b in zip(self.totals, other.totals, strict=True)
        )
        same = self.mechanism == other.mechanism
        return replace(
            self,
            n=self.n + other.n,
            totals=totals,
            bits=bits,
            variance=self.variance + other.variance,
            privacy=self.privacy | other.privacy,
            mechanism=self.mechanism if same else {"name": "polynomial", "degree": self.degree},
        )

    @property
    def _scheme(self) -> Scheme:
        return scheme(self.degree, self.basis, self.budgets, "exact")

    @property
    def _reals(self) -> NDArray[np.float64]:
        return np.array([math.ldexp(total, -self.bits) for total in self.totals])

    def _to_moments(self, order: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return matrix and constant of the map from coefficients of F to moments of the values.

        With x = (v - middle) / half: E x^i = 1 - i integral of F x^(i - 1).
        """
        order = _check.integer("order", order, 1, min(self.degree + 1, _MOST_ORDER))
        nodes, weights = np.polynomial.legendre.leggauss(self.degree + order)
        legendre = np.polynomial.legendre.legvander(nodes, self.degree)
        i = np.arange(1, order + 1)
        integrals = -i[:, None] * ((nodes[:, None] ** (i - 1) * weights[:, None]).T @ legendre)
        middle = np.float64(self.lower / 2 + self.upper / 2)
        half = np.float64(self.upper / 2 - self.lower / 2)
        # E v^j is middle^j plus the sum over k of this factor times E x^k.
        expand = np.zeros((order, order))
        with np.errstate(over="ignore", invalid="ignore"):
            for j in range(1, order + 1):
                for k in range(1, j + 1):
                    expand[j - 1, k - 1] = math.comb(j, k) * middle ** (j - k) * half**k
            matrix, constant = expand @ integrals, middle**i + expand.sum(axis=1)
        if not (np.isfinite(matrix).all() and np.isfinite(constant).all()):
            raise ParameterError("order", order, "must be lower: some moments are beyond doubles")
        return matrix, constant
