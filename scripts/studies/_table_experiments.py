"""The runs of scripts/study.py tables: shapes of tables, mechanisms, and four measures of error."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, Histogram, Mechanism

Values = NDArray[np.float64]
Counts = NDArray[np.int64]

EPSILON = 0.1
SIDES = (8, 16, 32, 64, 128, 256)
RATIOS = (0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # n epsilon for each cell
BOXES = 300
BLUR = 0.1  # of a cell, added to what medians are off by: a ratio of two zeros says nothing
MEASURES = ("cells", "boxes", "marginals", "medians")
RHO = EPSILON**2 / 8  # with as much noise in a count as EPSILON has
PROJECTED = "histogram, projected"
MECHANISMS: dict[str, Mechanism] = {
    "histogram": Histogram(EPSILON),
    "hierarchy": Hierarchy(EPSILON),
    "quadtree": Hierarchy(EPSILON, 4),
    "dawa": Dawa(EPSILON),
    "histogram, rho": Histogram(rho=RHO),
    "dawa, rho": Dawa(rho=RHO),
}


class Run(NamedTuple):
    """The errors of one release, as ``MEASURES`` names them."""

    shape: str
    side: int
    ratio: float
    mechanism: str
    isotonic: bool
    errors: tuple[float, ...]


# --- shapes: (N, N) weights over cells of [0, 1]^2, x first


def uniform(x: Values, y: Values) -> Values:
    """Return the same for all cells."""
    return np.ones_like(x * y)


def bell(x: Values, y: Values) -> Values:
    """Return a round hill."""
    return np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2) / (2 * 0.12**2))


def band(x: Values, y: Values) -> Values:
    """Return two columns that go together, with a correlation of 0.95."""
    a, b = (x - 0.5) / 0.18, (y - 0.5) / 0.18
    return np.exp(-(a * a - 1.9 * a * b + b * b) / (2 * (1 - 0.95**2)))


def fan(x: Values, y: Values) -> Values:
    """Return a spread that grows with x."""
    spread = 0.02 + 0.15 * x
    return np.asarray(np.exp(-((y - 0.5) ** 2) / (2 * spread**2)) / spread)


def curve(x: Values, y: Values) -> Values:
    """Return a bent line with noise around it."""
    return np.exp(-((y - 0.2 - 2.0 * (x - 0.5) ** 2) ** 2) / (2 * 0.05**2))


def spots(x: Values, y: Values) -> Values:
    """Return twelve cells, whatever their number, with all of the records."""
    rng, found = np.random.default_rng(12), np.zeros_like(x * y)
    for _ in range(12):
        i, j = (rng.random(2) * found.shape).astype(int)
        found[i, j] += 0.1 + rng.exponential()
    return found


def ring(x: Values, y: Values) -> Values:
    """Return a circle with noise around it."""
    return np.exp(-((np.hypot(x - 0.5, y - 0.5) - 0.3) ** 2) / (2 * 0.04**2))


def decay(x: Values, y: Values) -> Values:
    """Return two amounts, many of them small."""
    return np.exp(-8 * x - 5 * y)


def hills(x: Values, y: Values) -> Values:
    """Return three hills of different widths."""
    found = np.zeros_like(x * y)
    for a, b, width in ((0.2, 0.2, 0.03), (0.7, 0.3, 0.1), (0.5, 0.8, 0.06)):
        found += np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * width**2))
    return found


def heaped(x: Values, y: Values) -> Values:
    """Return a hill of which half is in every fourth column, as rounded numbers are."""
    columns = np.arange(x.size)[:, np.newaxis]
    hill = np.exp(-((x - 0.5) ** 2 + (y - 0.4) ** 2) / (2 * 0.2**2))
    return np.asarray(hill * (1 + 4 * (columns % 4 == 0)))


TUNING: dict[str, Callable[[Values, Values], Values]] = {
    each.__name__: each for each in (uniform, bell, band, fan, curve, spots)
}
HELD_OUT: dict[str, Callable[[Values, Values], Values]] = {
    each.__name__: each for each in (ring, decay, hills, heaped)
}


def probabilities(side: int, data: Path | None) -> Iterator[tuple[str, Values]]:
    """Yield all shapes over so many cells a side; DPBench's loans if its folder is there."""
    middles = (np.arange(side) + 0.5) / side
    for name, weights in (TUNING | HELD_OUT).items():
        found = weights(middles[:, np.newaxis], middles)
        yield name, found / found.sum()
    if data is not None:
        loans = np.load(data / "dpbench" / "Loan_2D_256_256.npy").astype(np.float64)
        step = loans.shape[0] // side
        found = loans.reshape(side, step, side, step).sum(axis=(1, 3))
        yield "loans", found / found.sum()


# --- what is measured


def box_sums(counts: Values, corners: NDArray[np.int64]) -> Values:
    """Return the sums of counts over boxes, by (4, k) corners."""
    sums = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
    sums[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    left, right, low, high = corners
    return np.asarray(sums[right, high] - sums[left, high] - sums[right, low] + sums[left, low])


def medians(counts: Values) -> Values:
    """Return where each column of cells has half of its records, as a share of the axis."""
    sums = np.maximum.accumulate(counts.cumsum(axis=1), axis=1)
    at = np.argmax(sums >= sums[:, -1:] / 2, axis=1)
    return np.asarray((at + 0.5) / counts.shape[1])


def errors(found: Values, true: Counts, corners: NDArray[np.int64]) -> tuple[float, ...]:
    """Return one number for each measure."""
    n, exact = float(true.sum()), true.astype(np.float64)
    gap = found - exact
    across = [gap.sum(axis=axis).cumsum() / n for axis in (0, 1)]
    own = exact.sum(axis=1)
    off = medians(found) - medians(exact)
    return (
        float(np.abs(gap).sum() / (2 * n)),
        float(np.sqrt(np.mean(box_sums(gap, corners) ** 2)) / n),
        float(np.sqrt(np.mean(np.concatenate(across) ** 2))),
        float(np.sqrt(np.sum(own * off**2) / n + (BLUR / true.shape[1]) ** 2)),
    )


def projected(counts: Values) -> Values:
    """Return the nearest cells, in least squares, that are 0 or more, with the same sum."""
    falling = np.sort(counts, axis=None)[::-1]
    excess = (np.cumsum(falling) - counts.sum()) / np.arange(1, falling.size + 1)
    return np.asarray(np.maximum(counts - excess[np.flatnonzero(falling > excess)[-1]], 0.0))


def boxes(side: int) -> NDArray[np.int64]:
    """Return the corners of random boxes, (4, BOXES): left, right, low, high."""
    rng = np.random.default_rng(side)
    ends = [np.sort(rng.integers(0, side + 1, (2, BOXES)), axis=0) for _ in range(2)]
    return np.concatenate(ends)


def runs(replicates: int, data: Path | None) -> Iterator[Run]:
    """Release all of it, and yield how far off it was. Every mechanism sees the same records."""
    for side in SIDES:
        grid, corners = dp.TableGrid.uniform((0, 1), (0, 1), side), boxes(side)
        for shape, chances in probabilities(side, data):
            for ratio in RATIOS:
                n = round(ratio * side * side / EPSILON)
                rng = np.random.default_rng(zlib.crc32(f"{side} {shape} {ratio}".encode()))
                for _ in range(replicates):
                    true = rng.multinomial(n, chances.ravel()).reshape(chances.shape)
                    for name, mechanism in MECHANISMS.items():
                        raw = dp.table_from_counts(true, grid, mechanism, isotonic=False, rng=rng)
                        for table, isotonic in ((raw, False), (raw.isotonic(), True)):
                            found = errors(table.counts, true, corners)
                            yield Run(shape, side, ratio, name, isotonic, found)
                        if name == "histogram":
                            found = errors(projected(raw.counts), true, corners)
                            yield Run(shape, side, ratio, PROJECTED, False, found)
