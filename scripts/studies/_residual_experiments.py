"""What the study of residual plots runs: models of records, two ways to release, distances."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

import dpcore as dp
from dpcore.mechanisms import Dawa
from dpcore.statistics import residual_plot_distance

from ._regret_shapes import generator

Values = NDArray[np.float64]
Rng = np.random.Generator

LARGEST = 5000  # number of records
CELLS, MARGIN = 10, 0.1  # of the frame in which plots are compared
COVERAGE, MOST_SHARE, ENOUGH = 0.95, 0.3, 470  # of bounds, in the paper
TOLD, STEPS, EXPECTED_FROM = 0.95, 7, 200
ALPHAS, BETAS = (2.0**-8, 2.0**8), (2.0**-15, 2.0)  # to look between


class Setting(NamedTuple):
    """How many records there are, and what is spent; inf where a plot is shown as it is."""

    n: int
    epsilon: float

    @property
    def product(self) -> int:
        """What accuracy depends on."""
        return round(self.n * self.epsilon)


class Records(NamedTuple):
    """Predicted values of a fitted line, and what is left."""

    predicted: Values
    residuals: Values

    @property
    def points(self) -> Values:
        """(n, 2) both columns."""
        return np.column_stack(self)


@dataclass(frozen=True, slots=True)
class Model:
    """Records y = x + curvature x^2 + noise with x uniform on [start, 50], and a line fitted to y.

    The noise is normal. Its variance is constant + slope x, or its standard deviation is.
    """

    constant: float = 1.0
    slope: float = 0.0
    curvature: float = 0.0
    start: float = 1.0
    is_deviation: bool = False

    def draw(self, n: int, rng: Rng) -> Records:
        """Return n records with the line of least squares."""
        x = rng.uniform(self.start, 50, n)
        spread = self.constant + self.slope * x
        noise = (spread if self.is_deviation else np.sqrt(spread)) * rng.normal(size=n)
        return fitted(x[:, None], x + self.curvature * x**2 + noise)


def fitted(columns: Values, y: Values) -> Records:
    """Return what least squares predicts from columns and a constant, and what is left."""
    design = np.column_stack([np.ones(y.size), columns])
    predicted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return Records(predicted, y - predicted)


SCENARIOS = {
    "Ideal": Model(),
    "Heteroscedastic": Model(constant=0.0, slope=1.0),
    "Nonlinear": Model(curvature=0.01),
}
DEVIATION = Model(constant=0.0, slope=1.0, is_deviation=True)


# --- ways to release

DEFAULT, KNOWN, PUBLISHED = "default", "default, range known", "PriRP"
RANGE = (-10.0, 80.0)  # of predicted values, whatever the scenario


def released(name: str, records: Records, epsilon: float, rng: Rng) -> dp.ResidualPlot:
    """Release by the default, by the default with a public range, or by the paper's way."""
    if name == DEFAULT:
        return dp.residual_plot(*records, epsilon=epsilon, rng=rng)
    if name == KNOWN:
        return dp.residual_plot(*records, epsilon=epsilon, predicted_range=RANGE, rng=rng)
    n = records.predicted.size
    rest = epsilon - min(MOST_SHARE * epsilon, ENOUGH / n)
    return dp.residual_plot(
        *records,
        epsilon=epsilon,
        search="sparse-vector",
        mechanism=Dawa,
        cells=published_side(n, rest),
        rng=rng,
    )


def published_side(n: int, epsilon: float) -> int:
    """Return how many cells the paper's rule has along an axis."""
    return max(1, round(math.sqrt(COVERAGE**2 * n * epsilon / 10)))


# --- how plots differ


class Frame:
    """The cells over a plot and a margin, to compare others with what is expected in them."""

    def __init__(self, points: Values, expected_from: Iterable[Values]) -> None:
        self._low = points.min(axis=0) - MARGIN
        self._widths = (points.max(axis=0) + MARGIN - self._low) / CELLS
        self.expected = np.mean([self.shares(each) for each in expected_from], axis=0)

    def shares(self, points: Values) -> Values:
        """Return which share of the points each cell has; some may be in none."""
        at = np.floor((points - self._low) / self._widths).astype(np.int64)
        at = at[np.logical_and(at >= 0, at < CELLS).all(axis=1)]
        return np.bincount(at @ [CELLS, 1], minlength=CELLS**2) / max(len(points), 1)

    def distance(self, points: Values) -> float:
        """Return what ``residual_plot_distance`` does, to the expected shares."""
        shares = self.shares(points)
        return float((np.abs(self.expected - shares).sum() + 1 - shares.sum()) / 2)


def separation(first: Values, second: Values) -> float:
    """Return how well a threshold tells two samples apart: their Kolmogorov distance."""
    return float(ks_2samp(first, second, method="asymp").statistic)


def plots(model: Model, setting: Setting, name: str, runs: int) -> Iterator[Values]:
    """Yield points of plots, each of new records: the same ones whatever the model's parameters."""
    for rng in generator(*setting, name).spawn(runs):
        records = model.draw(setting.n, rng)
        shown = setting.epsilon == np.inf
        yield records.points if shown else released(name, records, setting.epsilon, rng).points


def distances(
    models: dict[str, Model], setting: Setting, name: str, runs: int
) -> dict[str, Values]:
    """Return how far released plots of each model are from one true Ideal plot: Figure 3."""
    true = SCENARIOS["Ideal"].draw(setting.n, generator("true", setting.n)).points
    return {
        each: np.array(
            [residual_plot_distance(true, points) for points in plots(model, setting, name, runs)]
        )
        for each, model in models.items()
    }


def smallest(
    models: Sequence[tuple[Callable[[float], Model], tuple[float, float]]],
    setting: Setting,
    name: str,
    runs: int,
) -> list[float]:
    """Return the least parameter of each model that can be told from 0, inf if none can: Table I.

    Each model comes with the ends between which to look. Plots are compared with what is expected
    of y = x + N(0, 1), and told apart if the separation of their distances is 0.95. By
    bisection of the logarithm.
    """
    rngs, plain = generator("expected", setting.n).spawn(EXPECTED_FROM), Model(start=0.0)
    drawn = [plain.draw(setting.n, rng).points for rng in rngs]
    frame = Frame(drawn[0], drawn)

    def of(model: Model) -> Values:
        return np.array([frame.distance(each) for each in plots(model, setting, name, runs)])

    without, found = of(plain), []
    for model, (low, high) in models:
        if separation(without, of(model(high))) < TOLD:
            high = np.inf
        for _ in range(STEPS if high < np.inf else 0):
            middle = float(np.sqrt(low * high))
            told = separation(without, of(model(middle))) >= TOLD
            low, high = (low, middle) if told else (middle, high)
        found.append(high)
    return found
