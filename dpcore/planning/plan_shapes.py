"""The errors to expect on shapes that data often have, by simulation, without data."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.smoothing.isotonic import isotonic
from ..mechanisms import Mechanism
from ..privacy.spending import unwatched

__all__ = ["REFERENCE_SHAPES", "Expected", "expected_errors", "expected_largest"]

REFERENCE_SHAPES: Final = ("uniform", "normal", "half at one", "few values")
_MOST_DRAWS: Final = 2**17  # about so many draws for all releases of a shape
_RELEASES: Final = 32
_MOST_SIMULATED: Final = 2**14  # cells; more of them hardly change the largest error over the RMSE
_NOISES: Final = 32, 256  # the least and the greatest number of simulated noises


class Expected(NamedTuple):
    """Errors of isotonic curves in counts, by shape.

    Parameters
    ----------
    mean
        The root mean squared errors over the thresholds.
    largest
        The mean largest errors over the thresholds.
    """

    mean: dict[str, float]
    largest: dict[str, float]


def expected_errors(mechanism: Mechanism, size: int, n: int) -> Expected:
    """Return the errors of isotonic curves for each of the reference shapes.

    They come from simulated releases of n records and are the same in every call. The shapes are:
    all cells alike; a normal distribution over the cells; half of the records in one cell and the
    others anywhere; and records in only one of 64 cells.
    """
    releases = max(2, min(_RELEASES, _MOST_DRAWS // size))
    errors = Expected({}, {})
    for name, shares in _shapes(size).items():
        rng = np.random.default_rng(0)
        counts = rng.multinomial(n, shares)
        with unwatched():
            noisy = mechanism.release(counts, rng=rng, replicates=releases).astype(np.float64)
        isotonic(noisy[:, :-1], 0.0, float(n))
        noisy -= np.cumsum(counts)
        errors.mean[name] = float(np.sqrt(np.mean(noisy**2)))
        errors.largest[name] = _mean_largest(noisy)
    return errors


def expected_largest(mechanism: Mechanism, size: int) -> float:
    """Return the expected largest error over the thresholds by noise alone, in counts.

    It comes from simulated noise and is the same in every call. For large grids, the error of a
    smaller one grows as the root mean square does. Infinite if the noise depends on the records.
    """
    if not mechanism.is_additive:
        return math.inf
    simulated = min(size, _MOST_SIMULATED)
    replicates = min(max(_MOST_DRAWS // simulated, _NOISES[0]), _NOISES[1])
    noise = mechanism.simulated_noise(simulated, replicates, np.random.default_rng(0))
    least, whole = (mechanism.mean_squared_error(cells) for cells in (simulated, size))
    return _mean_largest(noise) * (math.sqrt(whole / least) if least > 0.0 else 1.0)


def _mean_largest(errors: NDArray[np.int64] | NDArray[np.float64]) -> float:
    return float(np.mean(np.max(np.abs(errors), axis=1)))


def _shapes(size: int) -> dict[str, NDArray[np.float64]]:
    at = (np.arange(size) + 0.5) / size
    half = np.full(size, 0.5 / size)
    half[size // 3] += 0.5
    few = np.zeros(size)
    few[:: min(64, size)] = 1.0
    shapes = np.ones(size), np.exp(-(((at - 0.4) / 0.15) ** 2) / 2), half, few
    return {name: shape / shape.sum() for name, shape in zip(REFERENCE_SHAPES, shapes, strict=True)}
