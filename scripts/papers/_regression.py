"""Shared by figures of the regression-diagnostics paper: records, released plots, their signals.

Chen, Machanavajjhala, Reiter & Barrientos, *Differentially private regression diagnostics* (2016),
section III.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy.stats import ks_2samp

import dpcore as dp
from dpcore.statistics import residual_plot_distance
from dpcore.summaries.table_grid import in_a_row

from ._figure import BLUE, GREY, VERMILION
from ._published_dawa import published_dawa

__all__ = [
    "CHECKED",
    "COLOURS",
    "LESS",
    "SCENARIOS",
    "THEIR_DAWA",
    "WAYS",
    "Records",
    "Way",
    "cloud",
    "default",
    "drawn",
    "fitted",
    "prirp",
    "quietly",
    "separation",
    "signals",
    "typical",
    "variation",
]

Values = NDArray[np.float64]
Rng = np.random.Generator
COVERAGE, MOST_SHARE, ENOUGH = 0.95, 0.3, 470  # of the paper's bounds
THEIR_DAWA = (
    "DAWA has the first stage of its authors' code, which has no proof of privacy and spends more"
    " than its share (docs/proofs/dawa.md, section 2); dpcore does not offer it. The second"
    " stage is dpcore's."
)
DOUBLINGS = 62  # after which a search ends; that of the paper may go on for ever
BINS = 20
SHOWN = 1500  # points of a cloud: more of them make a blot, and a large file


class Records(NamedTuple):
    """Predicted values of a fitted line, and the residuals, each (n,)."""

    predicted: Values
    residuals: Values

    @property
    def points(self) -> Values:
        """(n, 2) both columns."""
        return np.column_stack(self)


def fitted(columns: Values, y: Values) -> Records:
    """Return the predictions of least squares from columns and a constant, and the residuals."""
    design = np.column_stack([np.ones(y.size), columns])
    predicted = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return Records(predicted, y - predicted)


def drawn(
    n: int,
    rng: Rng,
    *,
    constant: float = 1.0,
    slope: float = 0.0,
    curvature: float = 0.0,
    start: float = 1.0,
) -> Records:
    """Return records y = x + curvature x^2 + N(0, constant + slope x), and the line of their OLS.

    x is uniform on [start, 50]. We read the paper's N(0, x) as variance x.
    """
    x = rng.uniform(start, 50, n)
    noise = np.sqrt(constant + slope * x) * rng.normal(size=n)
    return fitted(x[:, None], x + curvature * x**2 + noise)


SCENARIOS: dict[str, dict[str, float]] = {
    "Ideal": {},
    "Heteroscedastic": {"constant": 0.0, "slope": 1.0},
    "Nonlinear": {"curvature": 0.01},
}


@contextmanager
def quietly() -> Iterator[None]:
    """Silence warnings about much noise, because the figures study it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dp.DpcoreWarning)
        yield


def default(records: Records, epsilon: float, rng: Rng, unit: float = 1.0) -> Values:
    """Return the points that ``dp.residual_plot`` releases, (k, 2)."""
    with quietly():
        return dp.residual_plot(*records, epsilon=epsilon, unit=unit, rng=rng).points


def bound(z: Values, epsilon: float, rng: Rng, unit: float) -> float:
    """Return the bound b of Algorithm 1, as published: most of z is in [-b, b]."""
    doublings = np.ceil(np.log2(np.maximum(np.abs(z) / unit, 1.0))).astype(np.int64)
    inside = np.cumsum(np.bincount(np.minimum(doublings, DOUBLINGS), minlength=DOUBLINGS + 1))
    enough = COVERAGE * z.size + rng.laplace(scale=2 / epsilon)
    found = inside + rng.laplace(scale=4 / epsilon, size=inside.size) > enough
    return unit * 2.0 ** (int(np.argmax(found)) if found.any() else DOUBLINGS)


def bound_of_less(z: Values, epsilon: float, rng: Rng, unit: float) -> float:
    """Return the bound of ``dp.symmetric_bounds``. Its queries have half of the published noise."""
    return dp.symmetric_bounds(z, epsilon=epsilon, unit=unit, coverage=COVERAGE, rng=rng).upper


def prirp(
    records: Records,
    epsilon: float,
    rng: Rng,
    unit: float = 1.0,
    search: Callable[[Values, float, Rng, float], float] = bound,
) -> Values:
    """Return the points that PriRP releases, (k, 2): section III.B, as published.

    The share for bounds is garbled in our copy of the paper (docs/proofs/residuals.md). DAWA has
    the first stage of its authors' code, with noise for a replaced record. It knows n, as in the
    paper: the records outside are a bucket of their own.
    """
    n = records.predicted.size
    first = min(MOST_SHARE * epsilon, ENOUGH / n)
    right, top = (search(z, first / 2, rng, unit) for z in records)
    rest = epsilon - first
    side = max(1, round(np.sqrt(COVERAGE**2 * n * rest / 10)))
    inside = (np.abs(records.predicted) < right) & (np.abs(records.residuals) < top)
    grid = dp.TableGrid.uniform((-right, right), (-top, top), (side, side))
    counts = grid.count(*(z[inside] for z in records))
    row = in_a_row(counts.shape)
    cumulative = published_dawa(
        counts.reshape(-1)[row],
        rest,
        rng,
        neighbours="replace-one",
        outside=int(n - inside.sum()),
    )
    released = np.empty(counts.shape)
    released.reshape(-1)[row] = np.diff(cumulative, prepend=0.0)
    whole = np.maximum(np.rint(released), 0).astype(np.int64)
    at = np.repeat(np.indices(whole.shape).reshape(2, -1).T, whole.ravel(), axis=0)
    ends = np.array([right, top])
    return np.asarray(ends * (2 * (at + rng.random(at.shape)) / side - 1))


Way = Callable[..., Values]
WAYS: dict[str, Way] = {"PriRP": prirp, "dpcore": default}
LESS = "PriRP with half of the noise of its queries"
CHECKED: dict[str, Way] = {**WAYS, LESS: partial(prirp, search=bound_of_less)}
COLOURS = dict(zip(WAYS, (VERMILION, BLUE), strict=True))


def signals(points: Values) -> tuple[float, float]:
    """Return the fan and the hook of a residual plot: 1 and 0 if all assumptions hold.

    The points are cut into thirds by predicted value. The fan is the interquartile range of the
    residuals in the last third, divided by that in the first. The hook is the distance of the
    median of the middle third below those of the others, divided by the interquartile range of
    all. Both are NaN for too few points.
    """
    if len(points) < 24:
        return np.nan, np.nan
    thirds = np.array_split(points[np.argsort(points[:, 0]), 1], 3)
    low, median, high = np.transpose([np.quantile(each, [0.25, 0.5, 0.75]) for each in thirds])
    spread = high - low
    whole = np.subtract(*np.quantile(points[:, 1], [0.75, 0.25]))
    if spread[0] <= 0 or whole <= 0:
        return np.nan, np.nan
    return float(spread[2] / spread[0]), float((median[0] + median[2] - 2 * median[1]) / 2 / whole)


def variation(first: Values, second: Values) -> float:
    """Return the total variation distance of two samples, in 20 bins over both."""
    ends = np.histogram_bin_edges(np.concatenate([first, second]), BINS)
    shares = [np.histogram(each, ends)[0] / each.size for each in (first, second)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def separation(first: Values, second: Values) -> float:
    """Return how well a threshold tells two samples apart: their Kolmogorov distance.

    This distance is at most their total variation distance, and needs no bins.
    """
    return float(ks_2samp(first, second, method="asymp").statistic)


def typical(way: Way, records: Records, epsilon: float, unit: float = 1.0) -> Values:
    """Return the points of the one of 21 releases with the median distance to the true plot."""
    rngs = np.random.default_rng(2).spawn(21)
    released = [way(records, epsilon, rng, unit) for rng in rngs]
    far = [residual_plot_distance(records.points, each) for each in released]
    return released[int(np.argsort(far)[10])]


def cloud(ax: Axes, points: Values, colour: str, limits: tuple[Any, Any]) -> None:
    """Draw a residual plot: up to 1,500 of its points, the first ones of a fixed shuffle."""
    shown = np.random.default_rng(1).permutation(len(points))[:SHOWN]
    ax.axhline(0.0, color=GREY, linewidth=0.8)
    style: dict[str, Any] = {"markersize": 1.4, "markeredgewidth": 0, "antialiased": False}
    ax.plot(*points[shown].T, "s", color=colour, **style)
    ax.set(xlim=limits[0], ylim=limits[1])
