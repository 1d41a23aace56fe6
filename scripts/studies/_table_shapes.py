"""The shapes of tables in scripts/study.py tables: weights over cells of [0, 1]^2, x first."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from papers._data import folder

__all__ = ["HELD_OUT", "TUNING", "chances"]

Sides = tuple[int, int]  # the numbers of cells along x and along y

Values = NDArray[np.float64]
LOANS = "dpbench/Loan_2D_256_256.npy"


def uniform(x: Values, y: Values) -> Values:
    """Return equal weights for all cells."""
    return np.ones_like(x * y)


def bell(x: Values, y: Values) -> Values:
    """Return a round hill."""
    return np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2) / (2 * 0.12**2))


def band(x: Values, y: Values) -> Values:
    """Return two columns with a correlation of 0.95."""
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
    """Return twelve cells that hold all records, for any number of cells."""
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


def diagonal(x: Values, y: Values) -> Values:
    """Return a thin band across the table."""
    return np.exp(-((x + y - 1) ** 2) / (2 * 0.02**2))


def atoms(x: Values, y: Values) -> Values:
    """Return 25 cells with three fifths of the records, for any number of cells, and the rest."""
    rng, found = np.random.default_rng(5), np.full_like(x * y, 0.4 / (x * y).size)
    for _ in range(25):
        i, j = (rng.random(2) * found.shape).astype(int)
        found[i, j] += 0.6 / 25 * rng.exponential()
    return found


def sparse(x: Values, y: Values) -> Values:
    """Return records in 3 % of the cells."""
    rng = np.random.default_rng(6)
    found = rng.exponential(size=(x * y).shape) * (rng.random((x * y).shape) < 0.03)
    found[0, 0] += 1.0  # a cell has some in any case
    return np.asarray(found)


SHAPES: dict[str, Callable[[Values, Values], Values]] = {
    each.__name__: each
    for each in (
        *(uniform, bell, band, fan, curve, spots),
        *(ring, decay, hills, heaped, diagonal, atoms, sparse),
    )
}
HELD_OUT = ("ring", "decay", "hills", "heaped", "diagonal", "atoms", "sparse")
TUNING = (
    *(name for name in SHAPES if name not in HELD_OUT),
    *(["DPBench's loans"] if folder(LOANS) else []),
)


@functools.cache
def chances(shape: str, sides: Sides) -> Values:
    """Return the probabilities of the cells of a table with these sides."""
    width, height = sides
    if shape == "DPBench's loans":
        found = np.load(f"{folder(LOANS)}/{LOANS}").astype(np.float64)
        across, along = found.shape[0] // width, found.shape[1] // height
        found = found.reshape(width, across, height, along).sum(axis=(1, 3))
    else:
        x, y = ((np.arange(side) + 0.5) / side for side in sides)
        found = SHAPES[shape](x[:, np.newaxis], y)
    return np.asarray(found / found.sum())
