"""A model of the errors in statistics of a release, and the settings where they are least.

docs/guides/clients.md explains the terms, the measurement of the three constants, and the theorems.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from .models.advised import Advised, Purpose
from .protocol.rounds import MOST_CLIENTS

__all__ = ["MOST_HEIGHT", "Population", "Setting", "best_setting"]

MOST_HEIGHT: Final = 16
# Measured (docs/guides/clients.md, section 6): the mean absolute errors that noise causes, in units
# of its deviation in a cumulative count over M. For a bucket's rate, multiply by the number of
# buckets.
_RECALL: Final = 1.45
_SHARE: Final = math.sqrt(2.0 / math.pi)  # of normal noise, not measured
_AREA: Final = 1.25
_RATE: Final = 0.5


class Population(NamedTuple):
    """Clients with one record each, and how they are asked.

    Parameters
    ----------
    clients
        M, 1 to 2^40.
    epsilon
        The epsilon of the mechanism; without a meaning where sums are exact.
    model
        Who is trusted.
    is_exact
        Whether there is no noise.
    """

    clients: int
    epsilon: float
    model: type[Advised]
    is_exact: bool

    def noise(self, height: int, classes: int = 2) -> float:
        """Return the noise deviation of a cumulative count, over M, with 2^h cells for a class."""
        unit = _unit_noise(self.epsilon, self.model, classes * 2**height)
        return unit / (math.sqrt(self.clients) if self.model.noisy_reports else self.clients)


class Setting(NamedTuple):
    """How to read a release for one purpose, and the mean absolute error that is expected.

    Parameters
    ----------
    height
        h, for 2^h cells for each class.
    buckets
        B, how many buckets to read off the release; at most 2^h.
    error
        The square root of the sum of the squares of the terms, or 1 if that is less.
    noise, bucketing, sampling
        The terms: from noise, from the width of buckets or cells, and from the records being a
        sample.
    """

    height: int
    buckets: int
    error: float
    noise: float
    bucketing: float
    sampling: float = 0.0


def best_setting(population: Population, purpose: Purpose) -> Setting:
    """Return the setting with the least error, which is at most 1."""
    if population.is_exact and purpose != "calibration":
        height = min(max(1, math.ceil(math.log2(population.clients))), MOST_HEIGHT)
        best = _setting(population, purpose, height)
    else:
        best = min(
            (_setting(population, purpose, height) for height in range(1, MOST_HEIGHT + 1)),
            key=lambda setting: setting.error,
        )
    return best._replace(error=min(best.error, 1.0))


@lru_cache(maxsize=1024)
def _unit_noise(epsilon: float, model: type[Advised], size: int) -> float:
    """Return the root mean square error over thresholds, for N cells and spread records.

    If reports have noise, it is proportional to the square root of M, and divided by it.
    """
    error = model.for_advice(epsilon, MOST_CLIENTS).mean_squared_error(size)
    scale = MOST_CLIENTS if model.noisy_reports else 1.0
    return math.sqrt(error / scale * size / (size - 1))


def _setting(population: Population, purpose: Purpose, height: int) -> Setting:
    """Return how to read a release of a given height."""
    if purpose == "cdf":
        return _metrics(_SHARE * population.noise(height, classes=1), height)
    noise = population.noise(height)
    if purpose == "metrics":
        return _metrics(_RECALL * noise, height)
    if purpose == "calibration":
        return _calibration(population.clients, noise, height)
    return _area(population.clients, noise, height)


def _metrics(of_noise: float, height: int) -> Setting:
    """Take all cells; a threshold is on average a quarter of a cell from the nearest edge."""
    cell = 0.25 * 2.0**-height
    return Setting(height, 2**height, math.hypot(of_noise, cell), of_noise, cell)


def _area(clients: int, noise: float, height: int) -> Setting:
    """Take the fewest buckets, of four cells or more, that add a tenth of the noise's error."""
    of_noise = _AREA * noise
    most = 1 << (height if noise == 0.0 else max(height - 2, 0))
    buckets = _area_buckets(clients, most, of_noise / 10.0)
    bucketing = _area_bucketing(clients, buckets)
    return Setting(height, buckets, math.hypot(of_noise, bucketing), of_noise, bucketing)


def _area_buckets(clients: int, most: int, goal: float) -> int:
    """Return the fewest buckets that add no more than ``goal``, or the largest number allowed."""
    if _area_bucketing(clients, most) >= goal:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        if _area_bucketing(clients, middle) <= goal:
            high = middle
        else:
            low = middle
    return high


def _area_bucketing(clients: int, buckets: int) -> float:
    """Return the error of Eq. 5's buckets: a rate that rises linearly, and labels that are random.

    The latter goes with the third power of m, the number of records in a bucket. If they are few, m
    is nearly Poisson with mean M / B, and E (m^3 - m) is (M / B)^3 (1 + 3 B / M).
    """
    labels = 0.38 / (buckets * math.sqrt(clients)) * math.sqrt(1.0 + 3.0 * buckets / clients)
    return math.hypot(1.0 / (3.0 * buckets**2), labels)


def _calibration(clients: int, noise: float, height: int) -> Setting:
    """Take the number of buckets with the least error, of at least four cells each."""
    sizes = np.unique(np.round(np.geomspace(1, 1 << max(height - 2, 0), 8 * height + 1)))
    return min(
        (_calibration_of(clients, noise, height, int(size)) for size in sizes),
        key=lambda setting: setting.error,
    )


def _calibration_of(clients: int, noise: float, height: int, buckets: int) -> Setting:
    """Return the error of buckets with one rate each, which is of a sample, and has noise."""
    one_rate = 0.25 / buckets
    sampling = math.sqrt(2.0 / math.pi) * math.pi / 8.0 * math.sqrt(buckets / clients)
    of_noise = _RATE * noise * buckets
    error = math.hypot(one_rate, sampling, of_noise)
    return Setting(height, buckets, error, of_noise, one_rate, sampling)
