"""From pairs of values to the counts of a table of 100 x 100 cells, and to a private table.

The floor is one pass over both columns, plus the random bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .counts import CHUNK, EVERY_THREAD, MOVED
from .noise import words

SIDE = 100
RANGE = (0.0, 1.0), (0.0, 1.0)
NOISE = 10  # standard deviations of the noise of a cell


class Inputs(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    grid: dp.TableGrid


def pairs(size: int) -> Inputs:
    rng = np.random.default_rng(1)
    x = rng.beta(2, 5, size)
    y = np.clip(rng.normal(x, 0.1), 1e-9, 1 - 1e-9)  # others leave out values at an end
    return Inputs(x, y, dp.TableGrid.uniform(*RANGE, SIDE))


def searched_pairs(size: int) -> Inputs:
    x, y, grid = pairs(size)
    return Inputs(x, y, dp.TableGrid(dp.Grid(grid.x.thresholds), dp.Grid(grid.y.thresholds)))


def ours(inputs: Inputs):
    return lambda: inputs.grid.count(inputs.x, inputs.y)


def ours_in_chunks(inputs: Inputs):
    x, y, grid = inputs
    starts = range(0, x.size, CHUNK)
    return lambda: sum(grid.count(x[i : i + CHUNK], y[i : i + CHUNK]) for i in starts)


def numpy_histogram2d(inputs: Inputs):
    return lambda: np.histogram2d(inputs.x, inputs.y, bins=SIDE, range=RANGE)[0]


def numpy_edges(inputs: Inputs):
    edges = [np.r_[0.0, each.thresholds] for each in (inputs.grid.x, inputs.grid.y)]
    return lambda: np.histogram2d(inputs.x, inputs.y, bins=edges)[0]


def numpy_searchsorted(inputs: Inputs):
    x, y, grid = inputs

    def count():
        cells = np.searchsorted(grid.x.thresholds, x) * SIDE + np.searchsorted(grid.y.thresholds, y)
        return np.bincount(cells, minlength=SIDE * SIDE).reshape(SIDE, SIDE)

    return count


def boost_histogram(axis: str, threads: int):
    def start(inputs: Inputs):
        import boost_histogram as bh

        def cells(grid: dp.Grid) -> Any:
            if axis == "regular":
                return bh.axis.Regular(SIDE, 0, 1)
            return bh.axis.Variable(np.r_[0.0, grid.thresholds])

        def count():
            axes = cells(inputs.grid.x), cells(inputs.grid.y)
            histogram = bh.Histogram(*axes, storage=bh.storage.Int64())
            return histogram.fill(inputs.x, inputs.y, threads=threads).view()

        return count

    return start


def fast_histogram(inputs: Inputs):
    from fast_histogram import histogram2d

    return lambda: histogram2d(inputs.x, inputs.y, bins=SIDE, range=RANGE)


def memory_pass(inputs: Inputs):
    return lambda: (inputs.x.max(), inputs.y.max())


def exact(inputs: Inputs) -> np.ndarray:
    return np.asarray(numpy_searchsorted(inputs)())


def count_disagreements(inputs: Inputs, outcomes):
    expected = exact(inputs)
    found = {}
    for name, counts in outcomes.items():
        moved = np.abs(counts - expected).sum() / 2
        if moved > (0 if name.startswith("dpcore") else 2 + MOVED * inputs.x.size):
            found[name] = f"{moved:g} pairs in other cells"
    return found


# --- a release


def ours_released(inputs: Inputs):
    return lambda: dp.table(inputs.x, inputs.y, inputs.grid, epsilon=1.0).counts


def ours_raw(inputs: Inputs):
    mechanism = dp.mechanisms.Histogram(1.0)
    return lambda: dp.table(inputs.x, inputs.y, inputs.grid, mechanism, isotonic=False).counts


def ours_dawa(inputs: Inputs):
    mechanism = dp.mechanisms.Dawa(1.0)
    return lambda: dp.table(inputs.x, inputs.y, inputs.grid, mechanism).counts


def numpy_noise(inputs: Inputs):
    count, rng = numpy_histogram2d(inputs), np.random.default_rng()
    return lambda: count() + rng.laplace(0.0, 2.0, (SIDE, SIDE))


def pass_and_bits(inputs: Inputs):
    memory, passed = words(SIDE * SIDE), memory_pass(inputs)
    return lambda: (passed(), CryptographicSource().fill(memory))


def release_disagreements(inputs: Inputs, outcomes):
    expected = exact(inputs).cumsum(axis=0).cumsum(axis=1)
    bound = NOISE * 8**0.5 * SIDE  # of the sum of all cells
    off = {
        name: np.abs(np.cumsum(np.cumsum(counts, axis=0), axis=1) - expected).max()
        for name, counts in outcomes.items()
    }
    return {name: f"a corner off by {gap:g}" for name, gap in off.items() if not gap <= bound}


def job(name, title, make, disagreements, agreement, *contenders):
    return Job(
        name=name,
        title=title,
        unit="pairs",
        sizes=(10**6,),
        quick=(10**6,),
        small=10**4,
        memory=10**6,
        make=make,
        outcome=lambda inputs, answer: np.asarray(answer),
        disagreements=disagreements,
        agreement=agreement,
        contenders=contenders,
    )


COUNTS = (
    f"dpcore's counts are exact; others may have a share of {MOVED:g} of the pairs (and two more)"
    " in the neighbouring cell"
)
JOBS = (
    job(
        "pairs-uniform",
        "Count pairs of doubles in a table of 100 x 100 uniform cells",
        pairs,
        count_disagreements,
        COUNTS,
        Contender("dpcore, all threads", "ours", ours),
        Contender("dpcore, one thread", "ours", ours_in_chunks),
        Contender(
            "boost-histogram, all threads",
            "peer",
            boost_histogram("regular", EVERY_THREAD),
            "boost_histogram",
        ),
        Contender(
            "boost-histogram, one thread", "peer", boost_histogram("regular", 1), "boost_histogram"
        ),
        Contender("fast-histogram", "peer", fast_histogram, "fast_histogram"),
        Contender("np.histogram2d", "numpy", numpy_histogram2d),
        Contender("memory pass", "floor", memory_pass),
    ),
    job(
        "pairs-search",
        "Count pairs of doubles in a table of 100 x 100 cells, by search",
        searched_pairs,
        count_disagreements,
        COUNTS,
        Contender("dpcore, all threads", "ours", ours),
        Contender("dpcore, one thread", "ours", ours_in_chunks),
        Contender(
            "boost-histogram, all threads",
            "peer",
            boost_histogram("variable", EVERY_THREAD),
            "boost_histogram",
        ),
        Contender(
            "boost-histogram, one thread", "peer", boost_histogram("variable", 1), "boost_histogram"
        ),
        Contender("np.histogram2d", "numpy", numpy_edges),
        Contender("np.searchsorted", "numpy", numpy_searchsorted),
        Contender("memory pass", "floor", memory_pass),
    ),
    job(
        "table",
        "From 10^6 pairs of doubles to a private table of 100 x 100 cells, epsilon = 1",
        pairs,
        release_disagreements,
        f"sums from a corner off by no more than {NOISE} standard deviations of the noise of all"
        " cells",
        Contender("dpcore", "ours", ours_released, noise="exact"),
        Contender("dpcore, noise on each cell, raw", "ours", ours_raw, noise="exact"),
        Contender("dpcore, DAWA", "ours", ours_dawa, noise="exact"),
        Contender("np.histogram2d and Laplace noise", "numpy", numpy_noise, noise="inexact"),
        Contender("memory pass and random bits", "floor", pass_and_bits),
    ),
)
