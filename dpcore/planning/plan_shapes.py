"""The errors to expect on shapes that data often have, by simulation, without data."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..kernels.smoothing.isotonic import isotonic
from ..mechanisms import Mechanism
from ..privacy.spending import unwatched

__all__ = ["REFERENCE_SHAPES", "expected_errors"]

REFERENCE_SHAPES: Final = ("uniform", "normal", "half at one", "few values")
_MOST_DRAWS: Final = 2**17  # about so many draws for all releases of a shape
_RELEASES: Final = 32


def expected_errors(mechanism: Mechanism, size: int, n: int) -> dict[str, float]:
    """Return the root mean squared error of isotonic curves for each of the reference shapes.

    Errors are in counts, over the thresholds. They come from simulated releases of n records and
    are the same in every call. The shapes are: all cells alike; a normal distribution over the
    cells; half of the records in one cell and the others anywhere; and records in only one of
    64 cells.
    """
    releases = max(2, min(_RELEASES, _MOST_DRAWS // size))
    errors = {}
    for name, shares in _shapes(size).items():
        rng = np.random.default_rng(0)
        counts = rng.multinomial(n, shares)
        with unwatched():
            noisy = mechanism.release(counts, rng=rng, replicates=releases).astype(np.float64)
        isotonic(noisy[:, :-1], 0.0, float(n))
        errors[name] = float(np.sqrt(np.mean((noisy - np.cumsum(counts)) ** 2)))
    return errors


def _shapes(size: int) -> dict[str, NDArray[np.float64]]:
    at = (np.arange(size) + 0.5) / size
    half = np.full(size, 0.5 / size)
    half[size // 3] += 0.5
    few = np.zeros(size)
    few[:: min(64, size)] = 1.0
    shapes = np.ones(size), np.exp(-(((at - 0.4) / 0.15) ** 2) / 2), half, few
    return {name: shape / shape.sum() for name, shape in zip(REFERENCE_SHAPES, shapes, strict=True)}
