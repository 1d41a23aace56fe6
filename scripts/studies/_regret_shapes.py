"""The shapes of scripts/study.py regret, in two fixed groups, at any number of cells.

Rules may be tuned on the shapes of the group "tuning". Those of "held-out" are for measuring only:
never look at them when a rule is chosen. Which shape is in which group does not change.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dpcore.kernels.trees import hilbert

Values = NDArray[np.float64]
Group = Literal["tuning", "held-out"]


class Shape(NamedTuple):
    """A distribution over the cells of a grid.

    ``weights`` takes N and returns (N,) numbers that are 0 or more, in proportion to the cells'
    probabilities. It returns None if this shape cannot have N cells.
    """

    name: str
    group: Group
    weights: Callable[[int], "Values | None"]


def generator(*names: "str | float") -> np.random.Generator:
    """Return a generator that depends on these names alone."""
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


def middles(size: int) -> Values:
    """Return the middles of cells of one width over [0, 1], (N,)."""
    return (np.arange(size) + 0.5) / size


def bells(size: int, centres: Any, deviations: Any, shares: Any = 1.0) -> Values:
    """Return the cells' probabilities under a mixture of normals."""
    ends = np.arange(size + 1) / size
    found = np.zeros(size)
    for centre, deviation, share in np.broadcast(centres, deviations, shares):
        found += share * np.diff(norm.cdf((ends - centre) / deviation))
    return found


def clumps(count: int) -> Callable[[int], Values]:
    """Return a shape of many normals, narrow and wide, light and heavy."""

    def weights(size: int) -> Values:
        rng = generator("clumps", count)
        places, widths = rng.random(count), 10 ** rng.uniform(-4, -1.5, count)
        return bells(size, places, widths, rng.exponential(size=count))

    return weights


def spikes(count: int) -> Callable[[int], Values]:
    """Return a shape with all mass at a few values."""

    def weights(size: int) -> Values:
        rng, found = generator("spikes", count), np.zeros(size)
        cells = (rng.random(count) * size).astype(np.int64)
        np.add.at(found, cells, 0.1 + rng.exponential(size=count))
        return found

    return weights


def pieces(count: int, empty: float) -> Callable[[int], Values]:
    """Return a shape that is constant in stretches. A share of the stretches is empty."""

    def weights(size: int) -> Values:
        rng = generator("pieces", count)
        starts = np.sort(np.append(rng.random(count - 1), 0.0))
        heights = rng.exponential(size=count) * (rng.random(count) >= empty)
        return np.asarray(heights[np.searchsorted(starts, middles(size), side="right") - 1])

    return weights


def sparse(share: float, power: float) -> Callable[[int], Values]:
    """Return a shape with mass in a random share of the cells."""

    def weights(size: int) -> Values:
        rng = generator("sparse", share, size)
        found = rng.exponential(size=size) ** power * (rng.random(size) < share)
        found[size // 3] += 1.0  # one cell has mass in any case
        return np.asarray(found)

    return weights


def at_one_value(share: float, place: float, others: Callable[[int], Values]) -> Any:
    """Return a shape with a share of the records at one value."""

    def weights(size: int) -> Values:
        found = others(size)
        found *= (1.0 - share) / found.sum()
        found[int(place * size)] += share
        return found

    return weights


def heaped(every: int, share: float, whole: Callable[[int], Values]) -> Callable[[int], Values]:
    """Return a shape with a share of the records rounded down to a multiple of some cells."""

    def weights(size: int) -> Values:
        found = whole(size)
        starts = np.arange(0, size, every)
        heaps = np.add.reduceat(found, starts) * share
        found *= 1.0 - share
        found[starts] += heaps
        return found

    return weights


def integers(count: int) -> Callable[[int], Values]:
    """Return a shape of so many whole numbers, with a normal envelope, on a finer grid."""

    def weights(size: int) -> Values:
        found, values = np.zeros(size), np.arange(count)
        np.add.at(found, values * size // count, norm.pdf((values / count - 0.4) / 0.15))
        return found

    return weights


def column(values: Any, low: float, high: float) -> Callable[[int], Values]:
    """Return the shape of real values on a grid with public bounds."""

    def weights(size: int) -> Values:
        cells = (np.asarray(values, np.float64) - low) / (high - low) * size
        inside = np.clip(cells.astype(np.int64), 0, size - 1)
        return np.bincount(inside, minlength=size).astype(np.float64)

    return weights


def table(histogram: Any) -> Callable[[int], "Values | None"]:
    """Return the shape of a histogram, whose cells are merged if fewer cells are asked for."""

    def weights(size: int) -> "Values | None":
        if histogram.size % size:
            return None
        return np.asarray(histogram.reshape(size, -1).sum(axis=1), np.float64)

    return weights


def normal(mean: float, deviation: float) -> Callable[[int], Values]:
    """Return a normal shape."""
    return lambda size: bells(size, mean, deviation)


def density(of: Callable[[Values], Any]) -> Callable[[int], Values]:
    """Return the shape of a density at the middles of cells over [0, 1]."""
    return lambda size: np.asarray(of(middles(size)), np.float64)


SYNTHETIC = (
    Shape("uniform", "tuning", density(np.ones_like)),
    Shape("normal, wide", "tuning", normal(0.45, 0.12)),
    Shape("exponential", "tuning", density(lambda x: np.exp(-12 * x))),
    Shape("wave", "tuning", density(lambda x: 1.0 + 0.8 * np.sin(6 * np.pi * x))),
    Shape("20 clumps", "tuning", clumps(20)),
    Shape("10 spikes", "tuning", spikes(10)),
    Shape("half at one value", "tuning", at_one_value(0.5, 0.37, density(np.ones_like))),
    Shape("8 steps", "tuning", pieces(8, 0.0)),
    Shape("heaps at every 10th cell", "tuning", heaped(10, 0.8, normal(0.5, 0.15))),
    Shape("64 integers", "tuning", integers(64)),
    Shape("1 % of the cells", "tuning", sparse(0.01, 1.0)),
    Shape("Zipf, in order", "tuning", lambda size: 1.0 / np.arange(1.0, size + 1)),
    Shape("beta(2, 5)", "held-out", density(lambda x: x * (1 - x) ** 4)),
    Shape("normal, narrow", "held-out", normal(0.62, 0.01)),
    Shape("two normals", "held-out", lambda n: bells(n, [0.25, 0.7], [0.03, 0.1], [0.4, 0.6])),
    Shape("Pareto", "held-out", density(lambda x: (x + 0.01) ** -2.0)),
    Shape("100 clumps", "held-out", clumps(100)),
    Shape("3 spikes", "held-out", spikes(3)),
    Shape(
        "nine tenths at 0, and a tail",
        "held-out",
        at_one_value(0.9, 0.0, density(lambda x: np.exp(-(np.log(8 * x) ** 2)) / x)),
    ),
    Shape("60 steps, half of them empty", "held-out", pieces(60, 0.5)),
    Shape("heaps at every 5th cell", "held-out", heaped(5, 0.5, normal(0.3, 0.08))),
    Shape("sawtooth", "held-out", density(lambda x: 0.05 + (16 * x) % 1.0)),
    Shape("10 % of the cells, unequal", "held-out", sparse(0.1, 3.0)),
    Shape("rough", "held-out", lambda size: generator("rough", size).lognormal(0, 1.5, size)),
)
HISTOGRAMS: "dict[str, Group]" = {
    "BIDS-FJ": "tuning",
    "SEARCHLOGS": "tuning",
    "HEPTH": "held-out",
    "Loan_2D_256_256": "held-out",
    "MEDCOST": "held-out",
}


def shapes(folder: "Path | None" = None) -> list[Shape]:
    """Return all shapes; those of DPBench need a folder with a folder dpbench of .npy files."""
    return [*SYNTHETIC, *of_packages(), *of_files(folder)]


def of_packages() -> list[Shape]:
    """Return columns of data sets that statsmodels and scikit-learn bring with them."""
    try:
        from sklearn.datasets import load_breast_cancer
        from statsmodels.datasets import anes96, fair, randhie
    except ImportError:
        return []
    visits, affairs, voters = (
        each.load_pandas().data.to_dict("series") for each in (randhie, fair, anes96)
    )
    tumours = load_breast_cancer(as_frame=True).data
    return [
        Shape("visits to a doctor", "tuning", column(visits["mdvis"], 0, 128)),
        Shape("a family's incentive", "tuning", column(visits["lpi"], 0, 8)),
        Shape("area of a tumour", "tuning", column(tumours["mean area"], 0, 4000)),
        Shape("time in affairs", "tuning", column(affairs["affairs"], 0, 60)),
        Shape("chronic diseases", "held-out", column(visits["disea"], 0, 60)),
        Shape("a family's deductible", "held-out", column(visits["fmde"], 0, 10)),
        Shape("concavity of a tumour", "held-out", column(tumours["worst concavity"], 0, 2)),
        Shape("age of voters", "held-out", column(voters["age"], 0, 128)),
        Shape("years married", "held-out", column(affairs["yrs_married"], 0, 32)),
    ]


def of_files(folder: "Path | None") -> list[Shape]:
    """Return the DPBench histograms in a folder; a table is in the order of Hilbert's curve."""
    found = []
    for path in sorted((folder / "dpbench").glob("*.npy")) if folder else []:
        name, histogram = path.stem.partition(".")[0], np.load(path)
        if histogram.ndim == 2:
            histogram = histogram.reshape(-1)[hilbert.rectangle(*histogram.shape)]
        found.append(Shape(name, HISTOGRAMS[name], table(histogram)))
    return found
