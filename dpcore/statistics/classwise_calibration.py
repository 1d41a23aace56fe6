"""Class-wise calibration: how often each of several classes occurs where it is predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.by_groups import LABEL
from ..curves.confidence import Interval, deviations, deviations_of_noise, in_percent
from ..curves.drawing import drawing
from ..curves.field_tables import Rows, cut, text
from ..curves.frames import frame_of, labels_in_frame
from ..curves.likely_mistakes import SURE
from ..curves.readings import with_intervals
from ..curves.shown import cost, line, short
from ..curves.stored import Stored
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from ..summaries.class_probabilities import classes_of
from ..summaries.class_sums import CLASS_BITS, check_classes_and_cells
from ..summaries.grid import Grid, check_grid_of_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["ClasswiseCalibration"]

Reals = NDArray[np.float64]

_MOST: Final = 2**53
_FAR: Final = 1e3  # so many deviations from 0, noise adds nothing


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ClasswiseCalibration(Stored):
    """Observed and expected numbers of records of each class, by its predicted probability.

    ``dpcore.classwise_calibration`` makes it. In the records, an expected number is the sum of the
    probabilities that the classifier gave to the class. If it is calibrated, observed and expected
    numbers agree in every cell, up to sampling.

    Parameters
    ----------
    classes
        (K,) the public labels of the classes.
    grid
        The N cells of probabilities: thresholds within [0, 1], the last one 1.
    observed
        (K, N) released numbers of records of each class with its probability in each cell.
    expected
        (K, N) released sums of the probabilities of each class in each cell, over all records.
    n
        The public number of records.
    noise_deviation
        The standard deviation of the noise in each number.
    privacy
        The guarantee of the release.
    bits
        Probabilities were rounded down to multiples of 2^-bits.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> y_prob = rng.dirichlet([1, 1, 1], 20_000)
    >>> y_true = (rng.random(20_000)[:, np.newaxis] > y_prob.cumsum(axis=1)).sum(axis=1)
    >>> steep = y_prob**2 / (y_prob**2).sum(axis=1, keepdims=True)  # too sure of itself
    >>> found = dp.classwise_calibration(y_true, steep, [0, 1, 2], epsilon=1.0, rng=rng)
    >>> found
    <ClasswiseCalibration: 3 classes, error 0.09351, n = 20000, epsilon = 1, SIMULATED>
    >>> low, high = found.expected_calibration_error_interval()
    >>> round(low, 3), round(high, 3)
    (0.092, 0.095)
    """

    _kind = "dpcore.classwise-calibration"

    classes: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    grid: Grid = field(metadata=forms.GRID)
    observed: Reals = field(metadata=forms.NUMBERS)
    expected: Reals = field(metadata=forms.NUMBERS)
    n: int = field(metadata=forms.WHOLE)
    noise_deviation: float = field(metadata=forms.NUMBER)
    privacy: Privacy = field(metadata=forms.PRIVACY)
    bits: int = field(default=CLASS_BITS, metadata=forms.WHOLE)

    def __post_init__(self) -> None:
        _check.instance("classes", self.classes, tuple, "must be a tuple")
        object.__setattr__(self, "classes", classes_of(self.classes))
        check_grid_of_numbers("grid", self.grid)
        if self.grid.positions[0] < 0.0 or self.grid.positions[-1] != 1.0:
            what = "must have thresholds within [0, 1], the last one 1"
            raise ParameterError("grid", self.grid, what)
        check_classes_and_cells(len(self.classes), self.grid.size)
        _check.integer("n", self.n, 1, _MOST)
        _check.integer("bits", self.bits, 0, CLASS_BITS)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        for name in ("observed", "expected"):
            given = getattr(self, name)
            _check.held(name, given, (len(self.classes), self.grid.size))
            is_held = np.abs(given) <= forms.MOST
            if not is_held.all():
                first = float(given.flat[np.argmin(is_held)])
                raise ParameterError(name, first, f"must be within +-{forms.MOST:g}")
            object.__setattr__(self, name, given.astype(np.float64))
        if not 0.0 <= _check.finite("noise_deviation", self.noise_deviation) <= forms.MOST:
            what = f"must be 0 or more, and at most {forms.MOST:g}"
            raise ParameterError("noise_deviation", self.noise_deviation, what)

    def __repr__(self) -> str:
        error = short(self.expected_calibration_error)
        known = f"n = {self.n}, {cost(self.privacy)}"
        return line("ClasswiseCalibration", f"{len(self.classes)} classes, error {error}, {known}")

    @property
    def expected_calibration_error(self) -> float:
        """The class-wise expected calibration error: the mean of ``class_errors``, up to 2 / K."""
        return min(float(self.class_errors.mean()), self._largest_error)

    @property
    def class_errors(self) -> Reals:
        """(K,) the expected calibration error of each class, less what the noise adds, from 0 to 1.

        It is the sum over the cells of the absolute difference of observed and expected numbers,
        divided by n. The mean rise by noise around the released differences is subtracted.
        """
        gaps = self._gaps
        rises = _mean_rise(gaps, self._gap_deviation, gaussian=self._is_gaussian)
        return np.asarray(np.clip(np.sum(gaps - rises, axis=1) / self.n, 0.0, 1.0))

    def expected_calibration_error_interval(self, level: float = 0.95) -> Interval[float]:
        """Return an interval for the class-wise error of these records in these cells.

        It counts the noise, and not that the records are a sample.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Notes
        -----
        docs/proofs/vector-sums.md, section 8. It is rather too wide than too narrow.

        Examples
        --------
        >>> import dpcore as dp
        >>> y_prob = [[0.9, 0.1], [0.9, 0.1]]  # half of the records are of the first class
        >>> found = dp.classwise_calibration(["a", "b"], y_prob, ["a", "b"], epsilon=1e4)
        >>> low, high = found.expected_calibration_error_interval()
        >>> round(low, 1), round(high, 1)
        (0.4, 0.4)
        """
        z, deviation = deviations(level), self._gap_deviation
        gaps = self._gaps
        least = np.maximum(gaps - z * deviation, 0.0)
        rise = float(_mean_rise(least, deviation, gaussian=self._is_gaussian).sum())
        reach = z * deviation * math.sqrt(gaps.size)
        total, rounding = float(gaps.sum()), 2.0**-self.bits
        size = self.n * len(self.classes)
        low = (total - rise - reach) / size - rounding
        high = (total + reach) / size + rounding
        return Interval(min(max(low, 0.0), self._largest_error), min(high, self._largest_error))

    @property
    def ratio(self) -> Reals:
        """(K, N) observed over expected numbers, 1 where probabilities are right.

        It is from 0 to 1 / l, where l is the lower end of the cell. NaN where the expected number
        is at most 3 standard deviations of its noise.
        """
        is_sure = self.expected > SURE * self.noise_deviation
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = np.clip(self.observed / self.expected, 0.0, self._largest_ratio)
        return np.where(is_sure & (self.expected > 0.0), ratio, np.nan)

    def ratio_interval(self, level: float = 0.95) -> Interval[Reals]:
        """Return intervals for the ratios of these records, (K, N) ends. They count the noise.

        Each holds alone, and contains ``ratio``. Where the expected number may be 0, it is all that
        the cell allows.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Notes
        -----
        All ratios r with abs(observed - r expected) within so many deviations of its noise (Fieller
        1954), which has the variance (1 + r^2) noise_deviation^2.

        Examples
        --------
        >>> import dpcore as dp
        >>> y_prob, grid = [[0.9, 0.1]] * 300, dp.Grid.uniform(0, 1, 2)
        >>> found = dp.classwise_calibration([0, 1, 1] * 100, y_prob, [0, 1], grid, epsilon=1e4)
        >>> low, high = found.ratio_interval()
        >>> low.round(2)[0, 1:].tolist(), high.round(2)[0, 1:].tolist()
        ([0.37], [0.37])
        """
        return self._ratios(level, 0.0)

    def population_ratio_interval(self, level: float = 0.95) -> Interval[Reals]:
        """Return intervals for the ratios of the population. They count noise and sampling.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Notes
        -----
        As ``ratio_interval``, with the variance r expected (1 - r l) of a sum of labels beside that
        of the noise: the largest that they can have, given the probabilities of a cell from l on.
        The probabilities are taken as they are, and labels as independent.

        Examples
        --------
        >>> import dpcore as dp
        >>> y_prob, grid = [[0.9, 0.1]] * 300, dp.Grid.uniform(0, 1, 2)
        >>> found = dp.classwise_calibration([0, 1, 1] * 100, y_prob, [0, 1], grid, epsilon=1e4)
        >>> low, high = found.population_ratio_interval()
        >>> low.round(2)[0, 1:].tolist(), high.round(2)[0, 1:].tolist()
        ([0.3], [0.45])
        """
        return self._ratios(level, 1.0)

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each class and cell.

        Parameters
        ----------
        level
            The level of ``ratio_interval``, whose ends are low and high.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> y_prob, grid = [[0.75, 0.25]] * 400, dp.Grid.uniform(0, 1, 2)
        >>> found = dp.classwise_calibration([0, 1] * 200, y_prob, [0, 1], grid, epsilon=1e4)
        >>> print(found.to_frame().iloc[[1, 2], :6].round(1))
           class  lower  upper  observed  expected  ratio
        1      0    0.5    1.0     200.0     300.0    0.7
        2      1    0.0    0.5     200.0     100.0    2.0
        """
        (low, high), count = self.ratio_interval(level), len(self.classes)
        of_row = np.repeat(np.arange(count), self.grid.size)
        lower, upper = (np.tile(ends, count) for ends in self._ends)
        return frame_of(
            {
                "class": labels_in_frame(self.classes).take(of_row).reset_index(drop=True),
                "lower": lower,
                "upper": upper,
                "observed": self.observed.ravel(),
                "expected": self.expected.ravel(),
                "ratio": self.ratio.ravel(),
                "low": low.ravel(),
                "high": high.ravel(),
            }
        )

    @drawing
    def plot(self, ax: Axes | None = None, *, level: float = 0.95, **line: Any) -> Axes:
        """Draw a reliability diagram with a line for each class. Needs the extra ``plot``.

        Mean probabilities in cells are not released. So points of classes stand beside each other
        around the middle of their cell, each at a height of its place x times ``ratio``. Cells
        where that is NaN are left out.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        level
            The level of the bars: x times the ends of ``ratio_interval`` (thick), which is for the
            noise alone, and of ``population_ratio_interval`` (thin).
        **line
            Passed on to ``Axes.plot``.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the diagram.

        Examples
        --------
        >>> import dpcore as dp
        >>> y_prob = [[0.75, 0.25]] * 400
        >>> found = dp.classwise_calibration([0, 1] * 200, y_prob, [0, 1], epsilon=9.0)
        >>> ax = found.plot()
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['calibrated', '0', '95%, noise alone', '95%, noise and sampling', '1']
        """
        from ..curves.plots import axes, drawable, one_legend

        ax = axes(ax, figsize=(5, 5))
        looks = (
            (self.ratio_interval(level), f"{in_percent(level)}, noise alone", 4.0, 0.35),
            (
                self.population_ratio_interval(level),
                f"{in_percent(level)}, noise and sampling",
                1.0,
                1.0,
            ),
        )
        if "calibrated" not in ax.get_legend_handles_labels()[1]:
            ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="calibrated")
        lower, upper = self._ends
        places = np.linspace(0.0, 1.0, len(self.classes) + 2)[1:-1]  # of classes, within a cell
        for k, (label, ratio) in enumerate(zip(self.classes, self.ratio, strict=True)):
            some = np.flatnonzero(~np.isnan(ratio))
            at = lower[some] + places[k] * (upper - lower)[some]
            name = {"label": drawable(str(label)), "marker": "o", "markersize": 4, "linewidth": 1}
            (drawn,) = ax.plot(at, np.minimum(at * ratio[some], 1.0), **{**name, **line})
            for ends, of, width, alpha in looks:
                bars = (np.minimum(at * end[k, some], 1.0) for end in ends)
                text = f"_{of}" if of in ax.get_legend_handles_labels()[1] else of
                look: dict[str, Any] = {"color": drawn.get_color(), "alpha": alpha}
                ax.vlines(at, *bars, linewidth=width, label=text, **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set(xlabel="predicted probability of the class", ylabel="share of the class")
        return one_legend(ax, self.privacy, "upper left")

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "groups": self.classes, "n": self.n}

    def _readings(self, level: float) -> list[Rows]:
        name, error = "class-wise calibration error", self.expected_calibration_error
        errors = [(name, error, self.expected_calibration_error_interval(level))]
        of_classes = zip(map(str, self.classes), map(text, self.class_errors), strict=True)
        return [
            with_intervals(level, errors),
            cut("Calibration errors of classes", ("class", "error"), list(of_classes)),
        ]

    def _ratios(self, level: float, sampled: float) -> Interval[Reals]:
        """Return all ratios r whose distance from the numbers has at most so many deviations.

        observed - r expected has the variance (1 + r^2) s^2 of the noise, and of sampling
        r expected (1 - r l) at most, so this is a quadratic inequality in r.
        """
        c = deviations_of_noise(level, self.privacy)
        noise, sampling = (c * self.noise_deviation) ** 2, sampled * c**2
        lower, observed = self._ends[0], self.observed
        expected = np.maximum(self.expected, 0.0)
        square = expected**2 - noise + sampling * lower * expected
        linear = observed * expected + sampling * expected / 2.0
        root = np.sqrt(np.maximum(linear**2 - square * (observed**2 - noise), 0.0))
        is_sure = (expected**2 > noise) & (expected > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [
                np.clip((linear + side) / square, 0.0, self._largest_ratio)
                for side in (-root, root)
            ]
        low, high = np.fmin(ends[0], self.ratio), np.fmax(ends[1], self.ratio)
        return Interval(np.where(is_sure, low, 0.0), np.where(is_sure, high, self._largest_ratio))

    @property
    def _largest_ratio(self) -> Reals:
        """What a ratio can be, as no probability in a cell is below its lower end; (N,)."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(1.0 / self._ends[0])

    @property
    def _ends(self) -> tuple[Reals, Reals]:
        """Where cells begin and end, (N,) each."""
        upper = self.grid.positions
        return np.append(max(self.grid.start, 0.0), upper[:-1]), upper

    @property
    def _largest_error(self) -> float:
        """What the mean error can be, as all differences of a record add up to 2 at most."""
        return 2.0 / len(self.classes)

    @property
    def _gaps(self) -> Reals:
        """(K, N) absolute differences of observed and expected numbers."""
        return np.abs(self.observed - self.expected)

    @property
    def _gap_deviation(self) -> float:
        """The standard deviation of the noise in a difference."""
        return math.sqrt(2.0) * self.noise_deviation

    @property
    def _is_gaussian(self) -> bool:
        return self.privacy.epsilon is None or self.privacy.delta > 0.0


def _mean_rise(gaps: Reals, deviation: float, *, gaussian: bool) -> Reals:
    """Return E|t + e| - |t| for differences t, 0 or more: what noise e adds to their size.

    e is Gaussian, or the difference of two Laplace variables of scale b: its density is
    (1 + |x| / b) exp(-|x| / b) / (4 b), and twice the integral of (x - t) over it beyond t is
    (b / 2) (3 + t / b) exp(-t / b).
    """
    if deviation == 0.0:
        return np.zeros_like(gaps)
    scale = deviation if gaussian else deviation / 2.0
    with np.errstate(divide="ignore", over="ignore"):
        t = np.minimum(gaps / max(scale, 5e-324), _FAR)
    if gaussian:
        density = np.exp(-(t**2) / 2.0) / math.sqrt(2.0 * math.pi)
        return np.asarray(2.0 * deviation * (density - t * ndtr(-t)))
    return np.asarray(scale / 2.0 * (3.0 + t) * np.exp(-t))
