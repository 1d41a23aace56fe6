"""Box plots of five private numbers, of a released curve, or of any sample."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._documentation import documented
from .._sealed import sealed
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.drawing import drawing
from ..curves.shown import cost, line, several
from ..curves.stored import Stored
from ..errors import ParameterError
from ..mechanisms.base import checked_size
from ..mechanisms.cuts import rho_of_cuts
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy, with_rho
from ..privacy.spending import releasing
from ..records.column import Column
from ..summaries.grid import Grid, check_grid_of_numbers
from ..summaries.totals import NanPolicy
from .bounds import ends
from .quantiles import check_quantiles, quantiles_from_counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BoxPlot", "box_plot"]

_QUARTILES = (0.25, 0.5, 0.75)
_MOST = 2.0**1000  # beyond it, the computation of whiskers would overflow
_PARTS = 5  # three quartiles and two ends share epsilon
# The number of records, in noise scales, that each end leaves out. With fewer, searches often run
# to the last threshold.
_SCALES = 2


_FIVE: Final = ("minimum", "first_quartile", "median", "third_quartile", "maximum")


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class BoxPlot(Stored):
    """The numbers that a box plot shows. Made by ``box_plot``, ``from_curve`` or ``from_sample``.

    Parameters
    ----------
    minimum, first_quartile, median, third_quartile, maximum
        The five components, in ascending order.
    lower_whisker, upper_whisker
        Where the whiskers end.
    outliers
        (k,) values beyond the whiskers, which are drawn one by one. A plot of private components
        has none.
    privacy
        The cost of the release; None if the numbers come from a sample without any privacy.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.BoxPlot.from_sample([1, 2, 3, 4, 5, 20])
    <BoxPlot: 1, 2.25, 3.5, 4.75, 20, not private>
    """

    _kind = "dpcore.box-plot"

    minimum: float = field(metadata=forms.NUMBER)
    first_quartile: float = field(metadata=forms.NUMBER)
    median: float = field(metadata=forms.NUMBER)
    third_quartile: float = field(metadata=forms.NUMBER)
    maximum: float = field(metadata=forms.NUMBER)
    lower_whisker: float = field(metadata=forms.NUMBER)
    upper_whisker: float = field(metadata=forms.NUMBER)
    outliers: NDArray[np.float64] = field(metadata=forms.ROW)
    privacy: Privacy | None = field(default=None, metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        for name in (*_FIVE, "lower_whisker", "upper_whisker"):
            _check.held(name, getattr(self, name))
        _check.held("outliers", self.outliers, (None,))
        _check.instance("privacy", self.privacy, Privacy | None, "must be a Privacy, or None")
        five = (self.minimum, self.first_quartile, self.median, self.third_quartile, self.maximum)
        box = np.array([five[0], self.lower_whisker, *five[1:4], self.upper_whisker, five[4]])
        if not (np.isfinite(box).all() and np.all(box[:-1] <= box[1:])):
            what = "must be finite and in ascending order, and the whiskers between them"
            raise ParameterError("minimum to maximum", five, what)
        if not np.isfinite(self.outliers).all():
            raise ParameterError("outliers", self.outliers, "must be finite")

    def __repr__(self) -> str:
        five = (self.minimum, self.first_quartile, self.median, self.third_quartile, self.maximum)
        return line("BoxPlot", f"{several(five)}, {cost(self.privacy)}")

    @classmethod
    def from_sample(cls, sample: ArrayLike) -> BoxPlot:
        """Return Tukey's box plot of a sample, **without any privacy** of its own.

        Parameters
        ----------
        sample
            (n,) finite real numbers, n >= 1: ``curve.sample(size)``, or data that may be shown.

        Returns
        -------
        BoxPlot
            The quartiles are linearly interpolated. The whiskers end at the farthest values within
            1.5 interquartile ranges of the box. ``privacy`` is None.

        Raises
        ------
        DtypeError, ParameterError
            The sample is not such an array.

        Examples
        --------
        >>> import dpcore as dp
        >>> found = dp.BoxPlot.from_sample([1, 2, 3, 4, 5, 20])
        >>> found
        <BoxPlot: 1, 2.25, 3.5, 4.75, 20, not private>
        >>> found.upper_whisker, found.outliers
        (5.0, array([20.]))
        """
        Column.of(sample, "sample").check_in_memory()
        array = _check.array("sample", sample, "iuf")
        if array.ndim != 1 or array.size < 1:
            raise ParameterError("sample", array.shape, "must be one-dimensional and not empty")
        array = _check.doubles(array)
        if not np.all(np.abs(array) < _MOST):
            requirement = f"must be finite, and within {_MOST:g}"
            raise ParameterError("sample", "NaN, or larger values", requirement)
        least, first, median, third, most = np.quantile(array, [0.0, *_QUARTILES, 1.0]).tolist()
        reach = 1.5 * (third - first)
        is_near = (array >= first - reach) & (array <= third + reach)
        whiskers = float(array[is_near].min()), float(array[is_near].max())
        # A quartile lies between two values, so it may be beyond all values within reach.
        lower, upper = min(whiskers[0], first), max(whiskers[1], third)
        outliers = np.sort(array[~is_near])
        return cls(least, first, median, third, most, lower, upper, outliers)

    @classmethod
    def from_curve(
        cls, curve: CDF, size: int | None = None, rng: np.random.Generator | None = None
    ) -> BoxPlot:
        """Return Tukey's box plot of a sample from a released curve, at no further cost.

        Parameters
        ----------
        curve
            A released curve.
        size
            The size of the sample; None: the number of records of the curve.
        rng
            As in ``CDF.sample``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> ages = rng.normal(40, 12, 5000)
        >>> curve = dp.cdf(ages, dp.Grid.uniform(0, 120, 120), epsilon=1.0, rng=rng)
        >>> found = dp.BoxPlot.from_curve(curve, rng=rng)
        >>> round(found.first_quartile), round(found.median), round(found.third_quartile)
        (31, 39, 48)
        """
        _check.instance("curve", curve, CDF, "must be a CDF")
        sample = curve.sample(curve.n if size is None else size, rng)
        return replace(cls.from_sample(sample), privacy=curve.privacy)

    @drawing
    def plot(self, ax: Axes | None = None, position: float = 1, **style: Any) -> Axes:
        """Draw the box plot. This needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        position
            Where the box stands on the horizontal axis; several box plots may share axes.
        **style
            Passed on to ``Axes.bxp``; ``label`` is the name under the box.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.
        MissingExtraError
            The extra ``plot`` is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> found = dp.box_plot([1.0, 2.0, 3.0], dp.Grid([1, 2, 3]), epsilon=1.0)
        >>> ax = found.plot(label="visits")
        >>> [text.get_text() for text in ax.get_xticklabels()], ax.get_xticks().tolist()
        (['visits'], [1.0])
        """
        from ..curves.plots import plot_box, shortly

        position = _check.finite("position", position)
        # The name has two short lines, because boxes stand side by side.
        name = "" if self.privacy is None else shortly(self.privacy).replace(", ", ",\n", 1)
        return plot_box(
            (
                self.lower_whisker,
                self.first_quartile,
                self.median,
                self.third_quartile,
                self.upper_whisker,
            ),
            self.outliers,
            name,
            ax=ax,
            position=position,
            style=style,
        )


@documented
def box_plot(
    values: Any,
    grid: Grid,
    *,
    epsilon: float | Fraction,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> BoxPlot:
    """Release the five components of a box plot with differential privacy.

    Parameters
    ----------
    values
        {values}
    grid
        The thresholds from which the components are chosen. They are public, so they must not come
        from the data. A few hundred are enough; with very many, minimum and maximum are less
        accurate.
    epsilon
        The budget of the whole plot, a positive number (a Fraction is taken exactly). The quartiles
        get three fifths of it together, and each end a fifth. Neighbours: "replace-one", so n is
        public.
    rng
        {rng}
    nan_policy
        {nan_policy}

    Returns
    -------
    BoxPlot
        The whiskers end at the minimum and the maximum, and the plot has no outliers.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before anything is drawn.

    Notes
    -----
    The quartiles are found by the recursion of ``dpcore.quantiles``. The minimum and the maximum
    are found by the searches of ``dpcore.bounds`` on the grid, with outside = 20 / epsilon. This is
    two scales of their noise, and not more, because on many thresholds the noise already makes the
    searches stop early (docs/proofs/selection.md). The five components are then sorted. All are
    thresholds, so whole numbers need ``Grid.integers``, as in ``dpcore.quantiles``. The cost is O(n
    + N) for uniform grids.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> found = box_plot(ages, Grid.uniform(0, 120, 120), epsilon=1.0)
    >>> [round(each, -1) for each in (found.first_quartile, found.median, found.third_quartile)]
    [30.0, 40.0, 50.0]
    """
    check_grid_of_numbers("grid", grid)
    budget = Allowance.checked(epsilon, None, "replace-one")
    assert budget.epsilon is not None
    part = budget.epsilon / _PARTS
    asked = check_quantiles(_QUARTILES, grid, 3 * part, rng=rng)
    budget.law(_PARTS, Fraction(1, 2))  # refuses an epsilon that is too small for the two ends
    counts = grid.count(values, nan_policy=nan_policy)
    checked_size("values", int(counts.sum()))
    quarters = rho_of_cuts(asked.cuts, 3 * part)
    cost = with_rho(budget.privacy, quarters + part**2)  # two searches, part^2 / 2 each
    with releasing(cost, "box_plot", rng) as privacy:
        quartiles = quantiles_from_counts(
            counts, _QUARTILES, grid, epsilon=3 * part, method="recursion", rng=rng
        )
        low, high = ends(counts, ceil(_SCALES * 2 / part), part, rng)
    numbers = np.append(quartiles.values, grid.positions[[low, high]])
    least, first, median, third, most = np.sort(numbers).tolist()
    return BoxPlot(least, first, median, third, most, least, most, np.empty(0), privacy)
