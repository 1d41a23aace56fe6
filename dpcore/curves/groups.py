"""Released curves of several groups by their labels, as one release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import mode
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import ParameterError
from ..privacy.guarantees import Privacy, within_group
from . import arrow, forms
from .by_groups import LABEL, ByGroups
from .cdf import CDF
from .confidence import Interval, deviations
from .distances import Distance, rows_from
from .drawing import drawing, subplots
from .field_tables import Rows
from .frames import frame_of, labels_in_frame, thresholds_in_frame
from .inversion import Method, QuantileMethod
from .legible import tell_apart
from .plots import corner, drawable, one_legend
from .readings import Reading, readable, with_intervals
from .rows import CurveRows
from .smoothing import Norm
from .stored import header, one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from pyarrow import Table

__all__ = ["GroupedCDF", "of_group"]

_ACROSS: Final = 3  # pictures in a row
_OVER: Final = 6  # curves that a report draws over each other


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedCDF(ByGroups[CDF]):
    """Released curves of disjoint groups of records: a mapping from each label to its curve.

    ``dpcore.cdf(..., by=labels)`` makes it.

    Parameters
    ----------
    groups
        (G,) the public labels, all different.
    curves
        (G,) their curves, in the same order: a tuple, or rows of arrays, from which a curve is made
        when it is asked for. If the number of records of a curve is public, its
        guarantee is for "replace-one-within-group" (docs/proofs/privacy.md, section 7); one for
        "replace-one" is restated so.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the guarantees of the curves have no common form.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, by = rng.normal([[40], [60]], 9, (2, 2000)), np.repeat(["a", "b"], 2000)
    >>> grid = dp.Grid.uniform(0, 100, 100)
    >>> found = dp.cdf(values.ravel(), grid, by=by, groups=["a", "b"], epsilon=1.0, rng=rng)
    >>> {group: round(curve.quantile(0.5), -1) for group, curve in found.items()}
    {'a': 40.0, 'b': 60.0}
    """

    _kind = "dpcore.groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    curves: Sequence[CDF] = field(metadata=forms.tuple_of(one_of(CDF)))
    _place: dict[Any, int] = field(init=False, compare=False, metadata=forms.NOT_STORED)

    def __post_init__(self) -> None:
        _check.instance("curves", self.curves, tuple | CurveRows, "must be a tuple")
        self._keep_places()
        if isinstance(self.curves, CurveRows):
            kinds = (
                kind._replace(privacy=within_group(kind.privacy)) for kind in self.curves.kinds
            )
            object.__setattr__(self, "curves", replace(self.curves, kinds=tuple(kinds)))
        else:
            for curve in self.curves:
                _check.instance("curves", curve, CDF, "must hold CDFs")
            object.__setattr__(self, "curves", tuple(map(of_group, self.curves)))
        _ = self.privacy  # refuses guarantees without a common form

    def _costs(self) -> Iterable[Privacy]:
        if isinstance(self.curves, CurveRows):
            return [self.curves.privacy]
        return ByGroups._costs(self)

    @property
    def n(self) -> NDArray[np.int64]:
        """(G,) the numbers of records, public or released."""
        return self._rows.n

    @property
    def counts(self) -> NDArray[Any]:
        """(G, N) the released cumulative counts, read-only, if all curves have one grid."""
        return self._rows.counts

    @property
    def _rows(self) -> CurveRows:
        return CurveRows.of(self.curves)

    def quantile(self, p: ArrayLike, *, method: QuantileMethod = "linear") -> NDArray[Any]:
        """Return quantiles of all groups, (G, ...): row g is ``CDF.quantile`` of group g.

        Parameters
        ----------
        p, method
            As in ``CDF.quantile``.

        Raises
        ------
        DtypeError, ParameterError
            As there; or the curves differ in their grids or their processing.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.quantile([0.5, 1.0])
        array([[0.5, 1. ],
               [2. , 4. ]])
        """
        _check.choice("method", method, QuantileMethod)
        shares = _check.probabilities("p", p)
        flat = self._rows.quantile(shares.ravel(), method)
        return flat.reshape(len(self), *shares.shape)

    def quantile_interval(
        self, p: ArrayLike, level: float = 0.95, *, method: Method = "linear"
    ) -> Interval[Any]:
        """Return intervals for quantiles of all groups, (G, ...), as ``CDF.quantile_interval``.

        Each holds by itself with the level, and not all together.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.quantile_interval(0.5)
        Interval(low=array([0., 1.]), high=array([1., 2.]))
        """
        _check.choice("method", method, Method)
        shares = _check.probabilities("p", p)
        ends = self._rows.quantile_interval(
            shares.ravel(), level, by_thresholds=method == "inverted_cdf"
        )
        return Interval(*(end.reshape(len(self), *shares.shape) for end in ends))

    def band(self, level: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of pointwise intervals for F of all groups, (G, N) each, as ``CDF.band``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 4, 2)
        >>> found = dp.cdf([1, 3] * 9, grid, by=["a", "b"] * 9, groups=["a", "b"], epsilon=50.0)
        >>> low, high = found.band()
        >>> low.round(2)
        array([[1., 1.],
               [0., 1.]])
        """
        return self._rows.band(level)

    def mean(self) -> NDArray[Any]:
        """Return the means of all groups, (G,), as ``CDF.mean``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.mean()
        array([0.5, 2.5])
        """
        return self._rows.mean()

    def mean_interval(self, level: float = 0.95) -> Interval[Any]:
        """Return intervals for the means of all groups, (G,) each, as ``CDF.mean_interval``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.mean_interval()
        Interval(low=array([0., 2.]), high=array([1., 3.]))
        """
        return self._rows.mean_interval(deviations(level))

    def histogram(self, bins: int | ArrayLike | None = None) -> tuple[NDArray[np.float64], Any]:
        """Return the numbers of records in bins, of all groups, and the edges of the bins.

        Parameters
        ----------
        bins
            As in ``CDF.histogram``.

        Returns
        -------
        tuple
            (G, m) counts and (m + 1,) edges: what ``Axes.stackplot`` takes, or ``Axes.bar`` row by
            row, for a stacked histogram.

        Raises
        ------
        DtypeError, ParameterError
            As there; or the curves differ in their grids or their processing.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.histogram(2)
        (array([[1., 0.],
               [1., 1.]]), array([0., 2., 4.]))
        """
        _ = self._rows  # refuses curves on several grids
        found = [curve.histogram(bins) for curve in self.curves]
        return np.stack([counts for counts, _ in found]), found[0][1]

    def kolmogorov_smirnov(self, reference: CDF) -> NDArray[np.float64]:
        """Return the largest distance of each group's F from a curve on the same grid, (G,).

        Raises
        ------
        DtypeError, ParameterError
            The reference is not a curve on the grid of the groups.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.kolmogorov_smirnov(found["a"])
        array([0., 1.])
        """
        return self._from(reference, "Kolmogorov-Smirnov")

    def earth_mover(self, reference: CDF) -> NDArray[np.float64]:
        """Return ``distances.earth_mover`` of each group from a curve on the same grid, (G,).

        Raises
        ------
        DtypeError, ParameterError
            As in ``kolmogorov_smirnov``, or the grid is of times.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.earth_mover(found["a"])
        array([0., 2.])
        """
        return self._from(reference, "earth mover")

    def energy(self, reference: CDF) -> NDArray[np.float64]:
        """Return ``distances.energy`` of each group from a curve on the same grid, (G,).

        Raises
        ------
        DtypeError, ParameterError
            As in ``earth_mover``.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 4), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> found.energy(found["a"]).round(2)
        array([0.  , 1.73])
        """
        return self._from(reference, "energy")

    def _from(self, reference: CDF, distance: Distance) -> NDArray[np.float64]:
        _check.instance("reference", reference, CDF, "must be a CDF")
        rows = self._rows
        if reference.grid != rows.grid:
            raise ParameterError("reference", repr(reference.grid), "must have the groups' grid")
        return rows_from(rows, reference, distance)

    def isotonic(self) -> GroupedCDF:
        """Return the groups with the curves that ``CDF.isotonic`` makes of each.

        Examples
        --------
        >>> import dpcore as dp
        >>> how = {"by": ["a", "b"] * 9, "groups": ["a", "b"], "isotonic": False}
        >>> raw = dp.cdf([1, 3] * 9, dp.Grid.uniform(0, 4, 2), epsilon=50.0, **how)
        >>> raw.isotonic().counts
        array([[9., 9.],
               [0., 9.]])
        """
        return GroupedCDF(self.groups, self._rows.isotonic())

    def smooth(self, norm: Norm = 2) -> GroupedCDF:
        """Return the groups with the curves that ``CDF.smooth`` makes of each.

        Examples
        --------
        >>> import dpcore as dp
        >>> how = {"by": ["a", "b"] * 9, "groups": ["a", "b"]}
        >>> dyadic = dp.mechanisms.Dyadic(50.0)
        >>> near = {"neighbours": None} | how
        >>> raw = dp.cdf([1, 3] * 9, dp.Grid.uniform(0, 4, 2), dyadic, **near)
        >>> raw.smooth().counts
        array([[9., 9.],
               [0., 9.]])
        """
        _check.choice("norm", norm, Norm)
        return GroupedCDF(self.groups, self._rows.smooth(norm))

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each group and threshold.

        Returns
        -------
        pandas.DataFrame
            (G N, 6): ``group``, and the columns of ``CDF.to_frame``.

        Raises
        ------
        DtypeError, ParameterError, MissingExtraError
            As from ``CDF.to_frame``; or the curves differ in their grids or their processing.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.uniform(0, 4, 2), dp.mechanisms.NoNoise()
        >>> found = dp.cdf([0.5, 1.5, 3.5], grid, exact, by=["a", "b", "b"], groups=["a", "b"])
        >>> print(found.to_frame())
          group  threshold  count  share  low  high
        0     a        2.0    1.0    1.0  1.0   1.0
        1     a        4.0    1.0    1.0  1.0   1.0
        2     b        2.0    1.0    0.5  0.5   0.5
        3     b        4.0    2.0    1.0  1.0   1.0
        """
        rows, (low, high) = self._rows, self.band(level)
        thresholds = np.tile(rows.grid.thresholds, len(self))
        of_row = np.repeat(np.arange(len(self)), rows.grid.size)
        columns = {
            "group": labels_in_frame(self.groups).take(of_row).reset_index(drop=True),
            "threshold": thresholds_in_frame(rows.grid, thresholds),
            "count": rows.counts.ravel(),
            "share": (rows.counts / rows.n[:, np.newaxis]).ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        return frame_of(columns)

    def _readings(self, level: float) -> list[Rows]:
        def median(group: Any, curve: CDF) -> Reading:
            _, *read = curve._quantile_read(0.5, level)
            return f"median of {group}, n = {curve.n}", *read

        return [with_intervals(level, readable(partial(median, *pair) for pair in self.items()))]

    @drawing
    def _pictured(self) -> Any:
        """Draw few curves over each other."""
        return self.plot(None if len(self) > _OVER else subplots()[1])

    def to_arrow(self) -> Table:
        """Return an Arrow table with a row for each group. Needs the extra ``io``.

        ``from_arrow`` restores the curves exactly, also from a Parquet file of the table.
        The cost is O(G N), and a count takes 24 bytes.

        Returns
        -------
        pyarrow.Table
            (G, 9): ``group``, ``n``, (N,) lists ``counts``, ``raw`` and ``noise_deviation``,
            ``knots``, the JSON of ``privacy`` and ``mechanism``, and ``releases``. The metadata
            hold the grid.

        Raises
        ------
        ParameterError
            The labels are of several types or none of Arrow's, the guarantee is not finite, or the
            curves differ in their grids, their processing or their names.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 4, 2)
        >>> found = dp.cdf([1, 3] * 9, grid, by=["a", "b"] * 9, groups=["a", "b"], epsilon=50.0)
        >>> table = found.to_arrow()
        >>> table["counts"].to_pylist()
        [[9.0, 9.0], [0.0, 9.0]]
        >>> dp.GroupedCDF.from_arrow(table) == found
        True
        """
        return arrow.table_of(header(type(self)), self.groups, self._rows)

    @classmethod
    def from_arrow(cls, table: Any) -> GroupedCDF:
        """Read groups from an Arrow table, as ``to_arrow`` returns it. Needs the extra ``io``.

        Parameters
        ----------
        table
            A table of PyArrow, or of any library with Arrow's C stream interface that keeps the
            metadata of the schema.

        Raises
        ------
        DtypeError, FormatError
            ``table`` is not a table, or not such a one.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid.uniform(0, 4, 2)
        >>> found = dp.cdf([1, 3] * 9, grid, by=["a", "b"] * 9, groups=["a", "b"], epsilon=50.0)
        >>> dp.GroupedCDF.from_arrow(found.to_arrow()).quantile(0.5)
        array([1., 3.])
        """
        return cls(*arrow.groups_of(header(cls), table))

    @drawing
    def plot(self, ax: Axes | None = None, *, level: float = 0.95, **line: Any) -> Any:
        """Draw each curve in a picture of its own, or all in one. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, on which all curves are drawn with one legend. None: each curve has
            axes of its own, which are shared.
        level
            Confidence level of the bands, pointwise.
        **line
            Passed on to ``Axes.step``.

        Returns
        -------
        numpy.ndarray
            (G,) Matplotlib axes, one for each group; or the axes that were given.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, groups = dp.Grid([1.0, 2.0]), ["a", "b"]
        >>> found = dp.cdf([1, 2] * 9, grid, by=["a", "b"] * 9, groups=groups, epsilon=50.0)
        >>> axes = found.plot()
        >>> [ax.get_title() for ax in axes], axes.shape
        (['a', 'b'], (2,))
        >>> import matplotlib.pyplot
        >>> ax = found.plot(matplotlib.pyplot.figure().add_subplot())
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['a', '95% band for the noise', 'b']
        """
        if ax is not None:
            return self._plot_over(ax, level, line)
        across = min(len(self), _ACROSS)
        down = math.ceil(len(self) / across)
        size = (4.2 * across, 3.2 * down)
        how: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False}
        figure, grid = subplots(down, across, figsize=size, **how)
        axes = grid.ravel()
        for at, (ax, (group, curve)) in enumerate(zip(axes, self.items(), strict=False)):
            tell_apart(ax)
            curve.plot(ax, level=level, **line)
            ax.set_title(drawable(str(group)), parse_math=False)
            if at % across:
                ax.set_ylabel("")
            ax.tick_params(labelbottom=True)  # axes with nothing below them
            if at + across < len(self):
                ax.tick_params(labelbottom=False)
                ax.set_xlabel("")
        for ax in axes[len(self) :]:
            figure.delaxes(ax)
        return np.array(axes[: len(self)])

    def _plot_over(self, ax: Axes, level: float, line: dict[str, Any]) -> Axes:
        """Draw all curves on given axes, with the cost of all together above the legend."""
        for group, curve in self.items():
            curve.plot(ax, level=level, **{"label": drawable(str(group)), **line})
        places = [corner(curve.grid.positions, curve.counts / curve.n) for curve in self.values()]
        return one_legend(ax, self.privacy, mode(places))


def of_group(curve: CDF) -> CDF:
    """Return a curve of a group, for which a replaced record stays in its group."""
    own = within_group(curve.privacy)
    return curve if own == curve.privacy else replace(curve, privacy=own)
