"""Released distribution curves. All functions here are post-processing and cost no privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check, _instead
from .._sealed import sealed
from ..errors import DtypeError, ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid, check_grid
from . import forms
from .inversion import Method
from .moments import Moments
from .provenance import check_provenance
from .shown import axis, cost, line, picture, several, short
from .smoothing import Norm, Solver, smooth
from .stored import Stored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CDF"]

_COUNTS: Final = (np.dtype(np.int64), np.dtype(np.float64))
_MOST_COUNT: Final = 2.0**256  # so that sums and squares of counts are finite, too
_DEVIATIONS: Final = (np.dtype(np.float64),)


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class CDF(Moments, Stored):
    """A released empirical distribution function, as cumulative counts over a grid.

    ``dpcore.cdf`` makes it. The parameters are the parts of a release.

    Parameters
    ----------
    grid
        The public thresholds, N of them.
    counts
        (N,) released cumulative counts, int64 or float64. The last is n. Raw counts may decrease
        and may leave [0, n]. All arrays are read-only; arrays of the caller are copied.
    n
        The number of records. It is public, or released like the counts (under add-or-remove-one,
        and if clients have any number of records).
    privacy
        What the release cost.
    mechanism
        Name and parameters of the mechanism.
    noise_deviation
        (N,) standard deviation of the mechanism's error in each count. It is that of the noise, in
        closed form. Where the error depends on the records, it is estimated from the release (for
        DAWA, the default where n epsilon is small, and for local reports). Where it is not known,
        it is infinite.
    processing
        The processing steps since the release, oldest first.
    integers
        Whether the records are whole numbers (on a grid of times: whole days). If so, quantiles
        between thresholds are whole numbers, too. None: not stated. Then records may lie anywhere
        in their cells, unless the grid states that they are whole, as ``Grid.integers`` does.
    raw
        (N,) the counts as they were released, before any processing, for ``combine`` and
        ``smooth``. None for a raw curve, or if they are not known.
    name
        The name of the column in pandas, polars or Dask, which pictures show. None: not known.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> dp.cdf(rng.normal(40, 12, 5000), dp.Grid.uniform(0, 120, 120), epsilon=1.0, rng=rng)
    <CDF: n = 5000, epsilon = 1, SIMULATED, quartiles 31.69, 39.64, 47.89, hierarchy>
    """

    _kind = "dpcore.cdf"
    _first = ("grid", "n")

    grid: Grid = field(metadata=forms.CELLS)
    counts: NDArray[np.int64] | NDArray[np.float64] = field(metadata=forms.COUNTS)
    n: int
    privacy: Privacy = field(metadata=forms.PRIVACY)
    mechanism: Mapping[str, str | int | float] = field(metadata=forms.DESCRIPTION)
    noise_deviation: NDArray[np.float64] = field(metadata=forms.DEVIATIONS)
    processing: tuple[str, ...] = field(default=(), metadata=forms.tuple_of(forms.TEXT))
    integers: bool | None = field(default=None, metadata=forms.optional(forms.FLAG))
    raw: NDArray[np.int64] | NDArray[np.float64] | None = field(
        default=None, metadata=forms.optional(forms.COUNTS)
    )
    name: str | None = field(default=None, metadata=forms.optional(forms.TEXT))

    def __post_init__(self) -> None:
        check_grid("grid", self.grid)
        deviation = self.noise_deviation
        _check_array("noise_deviation", deviation, _DEVIATIONS, self.grid.size)
        if type(self.n) is not int or not 0 < self.n < 2**63:
            object.__setattr__(self, "n", _check.integer("n", self.n, 1, 2**63 - 1))
        _check_counts("counts", self.counts, self.grid.size, self.n)
        if not (deviation >= 0.0).all():
            raise ParameterError("noise_deviation", deviation.min(), "must be 0 or more")
        check_provenance(self.privacy, self.mechanism)
        steps = self.processing
        if not isinstance(steps, tuple) or not all(isinstance(step, str) for step in steps):
            raise DtypeError("processing", type(steps).__name__, "must be a tuple of strings")
        if self.integers is not None and not isinstance(self.integers, bool):
            raise DtypeError("integers", type(self.integers).__name__, "must be None or a bool")
        if self.name is not None and not isinstance(self.name, str):
            raise DtypeError("name", type(self.name).__name__, "must be None or a string")
        if self.raw is not None:
            _check_counts("raw", self.raw, self.grid.size, self.n)
            if not steps:
                raise ParameterError("raw", "given", "must be None: the counts themselves are raw")

    def __repr__(self) -> str:
        quartiles = self.quantile([0.25, 0.5, 0.75])
        name = str(self.mechanism["name"])
        return line(
            "CDF",
            f"n = {self.n}, {cost(self.privacy)}, quartiles {several(quartiles)}, {name}",
            f"n = {self.n}, {cost(self.privacy)}, median {short(quartiles[1])}, {name}",
            f"n = {self.n}, {cost(self.privacy)}, median {short(quartiles[1])}",
        )

    def _repr_html_(self) -> str:
        known = bool(np.any(np.isfinite(self.noise_deviation[:-1])))
        at, shares, low, high = self._drawn(self.band())
        ends = self.grid.shown(at[[0, -1]])
        return picture(
            repr(self)[1:-1],
            at,
            shares,
            (low, high) if known else None,
            (short(ends[0]), short(ends[1])),
        )

    @property
    def thresholds(self) -> NDArray[Any]:
        """(N,) the thresholds, read-only."""
        return self.grid.thresholds

    @property
    def is_monotone(self) -> bool:
        """Whether the counts never decrease and stay within [0, n]."""
        return bool(
            self.counts[0] >= 0 and np.all(np.diff(self.counts) >= 0) and self.counts[-1] <= self.n
        )

    def smooth(self, norm: Norm = 2, *, solver: Solver = "graph", tolerance: float = 1e-6) -> CDF:
        """Return the monotone curve that the least noise on the mechanism's tree explains.

        It needs the raw counts, and a mechanism with a noise tree. The parameters are those of
        ``dpcore.smooth``. The result is biased where F is near 0 or 1 over many thresholds
        (docs/proofs/dyadic.md, section 7): prefer ``isotonic`` there.

        Raises
        ------
        ParameterError
            The raw counts are not known, or the curve's mechanism has no tree.
        ConvergenceError
            The solver did not reach the tolerance.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, dyadic = np.random.default_rng(1), dp.mechanisms.Dyadic(0.5)
        >>> curve = dp.cdf([2, 4] * 400, dp.Grid.uniform(0, 4, 4), dyadic, rng=rng)
        >>> curve.as_released().counts, curve.smooth().counts.round(1)
        (array([-11, 394, 396, 800]), array([  0. , 400.7, 400.7, 800. ]))
        """
        curve = self.as_released()
        base = self.mechanism.get("base")
        if not isinstance(base, int):
            raise ParameterError(
                "mechanism", self.mechanism["name"], "must have a noise tree, as Dyadic has"
            )
        counts = np.full(self.grid.size, float(self.n))
        if self.grid.size > 1:  # the last count is n exactly
            counts[:-1] = smooth(
                curve.counts[:-1], self.n, norm=norm, solver=solver, base=base, tolerance=tolerance
            ).cumulative
        return curve._processed(counts, f"smooth(norm={norm})")

    def as_released(self) -> CDF:
        """Return the curve before it was processed, with ``raw`` as its counts.

        Raises
        ------
        ParameterError
            The raw counts are not known.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> curve = dp.cdf([2, 4] * 40, dp.Grid.uniform(0, 4, 4), epsilon=0.5, rng=rng)
        >>> curve.counts, curve.as_released().counts
        (array([ 0., 35., 39., 80.]), array([-5., 35., 39., 80.]))
        """
        if not self.processing:
            return self
        if self.raw is None:
            raise ParameterError("curve", self.processing, "must be raw, or keep its raw counts")
        return replace(self, counts=self.raw, raw=None, processing=())

    def isotonic(self) -> CDF:
        """Return the non-decreasing curve within [0, 1] that is nearest in least squares.

        This is isotonic regression (pool adjacent violators), clipped: the projection onto bounded
        monotone curves. It never increases the total squared error. O(N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 4, 4)
        >>> raw = dp.cdf([2, 4] * 40, grid, epsilon=0.5, isotonic=False, rng=rng)
        >>> raw.counts, raw.isotonic().counts
        (array([-5., 35., 39., 80.]), array([ 0., 35., 39., 80.]))
        """
        if self.processing[-1:] == ("isotonic()",) and self.is_monotone:
            return self
        counts = self.counts.astype(np.float64)
        counts[-1] = self.n
        isotonic(counts[np.newaxis, :-1], 0.0, float(self.n))
        return self._processed(counts, "isotonic()")

    def without_negative_counts(self) -> CDF:
        """Return the curve with the negative counts of cells set to 0, scaled to end at n.

        This is the usual post-processing of noisy histograms. The scale is at most 1: the other
        cells make up for the counts that were set to 0. ``isotonic`` uses least squares instead,
        and is mostly nearer to the truth (docs/proofs/projection.md, section 6). O(N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 4, 4)
        >>> raw = dp.cdf([2, 4] * 40, grid, epsilon=0.5, isotonic=False, rng=rng)
        >>> raw.counts, raw.without_negative_counts().counts.round(1)
        (array([-5., 35., 39., 80.]), array([ 0. , 37.6, 41.4, 80. ]))
        """
        cumulative = self.counts.astype(np.float64)
        cumulative[-1] = self.n
        cumulative = np.cumsum(np.maximum(np.diff(cumulative, prepend=0.0), 0.0))
        scaled = np.minimum(cumulative * (self.n / cumulative[-1]), float(self.n))
        scaled[-1] = self.n  # up to rounding, it is n already
        return self._processed(scaled, "without_negative_counts()")

    def sample(
        self, size: int, rng: np.random.Generator | None = None, *, method: Method = "linear"
    ) -> NDArray[np.float64]:
        """Draw synthetic values with this distribution.

        Parameters
        ----------
        size
            The number of values.
        rng
            A generator, or None for fresh entropy. The curve is public already, so draws need not
            be secret.
        method
            As in ``quantile``. "linear" draws evenly within each cell, and draws whole numbers if
            the records are ``integers``. "inverted_cdf" draws thresholds.

        Returns
        -------
        numpy.ndarray
            (size,) independent draws: quantiles at uniform probabilities. If the curve is not
            monotone, they are quantiles of ``isotonic()``.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> curve = dp.cdf([2, 4] * 40, dp.Grid.integers(1, 4), dp.mechanisms.NoNoise())
        >>> curve.sample(6, np.random.default_rng(1))
        array([2., 2., 4., 2., 4., 4.])
        """
        size = _check.integer("size", size, 0, 2**40)
        _check.choice("method", method, Method)
        if rng is None:
            rng = np.random.default_rng()
        elif not isinstance(rng, np.random.Generator):
            raise DtypeError("rng", type(rng).__name__, _instead.generator(rng, ", or None"))
        curve = self if self.is_monotone else self.isotonic()
        shares = 1.0 - rng.random(size)
        at = np.searchsorted(curve.counts / self.n, shares, side="left")
        return curve._inverse(at, shares, method)

    def plot(self, ax: Axes | None = None, *, level: float = 0.95, **line: Any) -> Axes:
        """Draw the curve as steps, with its confidence band and a legend; needs the extra ``plot``.

        The picture begins at ``grid.lower`` if it is known. Within the first cell, the band begins
        at 0, because it is not known where records of this cell lie.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones. Lines on new axes differ in colour and in style.
        level
            Confidence level of the band, pointwise.
        **line
            Passed on to ``Axes.step``. ``label`` is the text in the legend.

        Returns
        -------
        matplotlib.axes.Axes
            The axes. The axis of values is named after the column if ``name`` is known.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=50.0)
        >>> ax = curve.plot()
        >>> _ = ax.set_xlabel("age in years")  # a list has no name
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['private, epsilon = 50', '95% band for the noise']
        """
        from .plots import plot_steps, shortly

        at, shares, low, high = self._drawn(self.band(level))
        x, unit = axis(self.grid, at)
        if at.size > self.grid.size and shares[0] == 0.0:
            shares[0] = np.nan  # a step at 0 would say that no record is at the lower end
        # Otherwise a band has no meaning.
        known = bool(np.any(np.isfinite(self.noise_deviation[:-1])))
        band = (low, high) if known else None
        ax = plot_steps(x, shares, band, shortly(self.privacy), ax=ax, level=level, style=line)
        if self.name is not None or unit:
            words = (self.name, unit and "in", unit) if self.name else (unit,)
            # Matplotlib must not read a dollar sign in a name as mathematics.
            ax.set_xlabel(" ".join(filter(None, words)), parse_math=False)
        return ax

    def _drawn(
        self, band: tuple[NDArray[np.float64], NDArray[np.float64]]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return places to draw, and there the shares and the ends of a band, each (N,) or more.

        If the first cell has a width, it is drawn from its lower end, with a band from 0.
        """
        at, shares, (low, high) = self.grid.positions, self.counts / self.n, band
        start = self.grid.start
        if not -np.inf < start < at[0]:
            return at, shares, low, high
        return (
            np.append(start, at),
            np.append(self(self.grid.lower), shares),
            np.append(0.0, low),
            np.append(high[0], high),
        )

    def _processed(self, counts: NDArray[np.float64], step: str) -> CDF:
        raw = self.raw if self.processing else self.counts
        return replace(self, counts=counts, raw=raw, processing=(*self.processing, step))


def _check_counts(argument: str, counts: Any, size: int, n: int) -> None:
    _check_array(argument, counts, _COUNTS, size)
    if counts.dtype == np.float64 and not np.abs(counts).max() < _MOST_COUNT:
        wrong = counts[~(np.abs(counts) < _MOST_COUNT)][0]
        raise ParameterError(argument, wrong, "must be finite, and within 2^256 of 0")
    if counts[-1] != n:
        raise ParameterError(argument, counts[-1], f"must end with n, {n}")


def _check_array(argument: str, array: Any, dtypes: tuple[np.dtype[Any], ...], size: int) -> None:
    is_plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    if not is_plain or array.dtype not in dtypes:
        description = f"dtype {array.dtype}" if is_plain else type(array).__name__
        names = " or ".join(map(str, dtypes))
        raise DtypeError(argument, description, f"must be an unmasked NumPy array of {names}")
    if array.shape != (size,):
        raise ParameterError(argument, array.shape, f"must have shape ({size},)")
