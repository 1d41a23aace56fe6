"""From values to counts of 2^15 cells. The floor is one pass over the values."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import dpcore as dp

from ..registry import Contender, Job

CELLS = 2**15
CHUNK = 2**18  # few enough values for Grid.count to stay on one thread
MOVED = 1e-5  # the share of values that rounding near a threshold may move to the next cell


class Inputs(NamedTuple):
    values: np.ndarray
    grid: dp.Grid
    edges: np.ndarray


def uniform(size: int) -> Inputs:
    grid = dp.Grid.uniform(0, 1, CELLS)
    return Inputs(np.random.default_rng(1).beta(2, 5, size), grid, np.r_[0.0, grid.thresholds])


def logarithmic(size: int) -> Inputs:
    grid = dp.Grid.log(1e-6, 1, CELLS)
    values = np.maximum(np.random.default_rng(1).beta(2, 5, size), 1e-6)
    return Inputs(values, grid, np.r_[0.0, grid.thresholds])


def ours(inputs: Inputs):
    return lambda: inputs.grid.count(inputs.values)


def ours_in_chunks(inputs: Inputs):
    starts = range(0, inputs.values.size, CHUNK)
    return lambda: sum(inputs.grid.count(inputs.values[i : i + CHUNK]) for i in starts)


def numpy_histogram(inputs: Inputs):
    return lambda: np.histogram(inputs.values, bins=CELLS, range=(0, 1))[0]


def numpy_searchsorted(inputs: Inputs):
    thresholds, values = inputs.grid.thresholds, inputs.values
    return lambda: np.bincount(np.searchsorted(thresholds, values), minlength=CELLS)


def boost_histogram(axis: str, threads: int):
    def start(inputs: Inputs):
        import boost_histogram as bh

        def count():
            if axis == "regular":
                cells: Any = bh.axis.Regular(CELLS, 0, 1)
            else:
                cells = bh.axis.Variable(inputs.edges)
            histogram = bh.Histogram(cells, storage=bh.storage.Int64())
            return histogram.fill(inputs.values, threads=threads).view()

        return count

    return start


def fast_histogram(inputs: Inputs):
    from fast_histogram import histogram1d

    return lambda: histogram1d(inputs.values, bins=CELLS, range=(0, 1))


def memory_pass(inputs: Inputs):
    return inputs.values.max


def in_other_cells(expected: np.ndarray, outcomes):
    """Return the errors of contenders whose counts are not as expected, by name."""
    allowed = 2 + MOVED * expected.sum()
    found = {}
    for name, counts in outcomes.items():
        moved = np.abs(np.cumsum(counts) - np.cumsum(expected)).sum()
        if moved > (0 if name.startswith("dpcore") else allowed):
            found[name] = f"{moved:g} values in other cells"
    return found


def disagreements(inputs: Inputs, outcomes):
    cells = np.searchsorted(inputs.grid.thresholds, inputs.values)
    return in_other_cells(np.bincount(cells, minlength=CELLS), outcomes)


AGREEMENT = (
    f"dpcore's counts are exact; others may have a share of {MOVED:g} of the values (and two more)"
    " in the neighbouring cell"
)
EVERY_THREAD = 0  # as boost-histogram calls it


def job(name, title, make, sizes, quick, disagreements, *contenders):
    return Job(
        name=name,
        title=title,
        unit="values",
        sizes=sizes,
        quick=(quick,),
        small=quick // 100,
        memory=sizes[-1],
        make=make,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=AGREEMENT,
        contenders=contenders,
    )


JOBS = (
    job(
        "count-uniform",
        "Count doubles in 2^15 uniform cells",
        uniform,
        (10**6, 10**7),
        10**6,
        disagreements,
        Contender("dpcore, all threads", "ours", ours),
        Contender("dpcore, one thread", "ours", ours_in_chunks),
        Contender(
            "boost-histogram, all threads",
            "peer",
            boost_histogram("regular", EVERY_THREAD),
            "boost_histogram",
        ),
        Contender(
            "boost-histogram, one thread",
            "peer",
            boost_histogram("regular", 1),
            "boost_histogram",
        ),
        Contender("fast-histogram", "peer", fast_histogram, "fast_histogram"),
        Contender("np.histogram", "numpy", numpy_histogram),
        Contender("memory pass", "floor", memory_pass),
    ),
    job(
        "count-search",
        "Count doubles in 2^15 cells of a logarithmic grid (as on any grid, by search)",
        logarithmic,
        (10**6, 10**7),
        10**6,
        disagreements,
        Contender("dpcore, all threads", "ours", ours),
        Contender("dpcore, one thread", "ours", ours_in_chunks),
        Contender(
            "boost-histogram, all threads",
            "peer",
            boost_histogram("variable", EVERY_THREAD),
            "boost_histogram",
        ),
        Contender(
            "boost-histogram, one thread",
            "peer",
            boost_histogram("variable", 1),
            "boost_histogram",
        ),
        Contender("np.searchsorted", "numpy", numpy_searchsorted),
        Contender("memory pass", "floor", memory_pass),
    ),
)
