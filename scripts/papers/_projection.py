"""The studies of the projection paper's figures: the distances of curves from the truth."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies
from dpcore.curves import distances
from dpcore.mechanisms import NoNoise

from ._projection_methods import AGAIN, EVENLY, METHODS, Method, Task, adaptive_quantiles

__all__ = [
    "BETA",
    "BOUNDS",
    "CELLS",
    "DISTANCES",
    "EPSILONS",
    "LAVISH",
    "OTHERS",
    "PARTS",
    "POPULATIONS",
    "RECORDS",
    "alone",
    "counted",
    "far_off",
    "in_parts",
    "population_curve",
    "with_and_without_noise",
]

Values = NDArray[np.float64]

BETA = "beta(2, 5)"
RECORDS, CELLS, PARTS = 10_000, 2**10, 10
LAVISH = 1e4  # an epsilon with no noise to speak of
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)  # the paper's text names 0.1 and 1
DISTANCES: dict[str, Callable[[Any, Any], float]] = {
    "Kolmogorov-Smirnov": distances.kolmogorov_smirnov,
    "earth mover's": distances.earth_mover,
    "energy": distances.energy,
}


def far_off(methods: Mapping[str, Method], task: Task, **truths: dp.CDF) -> dict[str, list[float]]:
    """Return the distances of each method's curve from the curve of the same records.

    The distances are in the order of DISTANCES. Distances from other truths have their names.
    """
    found = {"": task.truth(), **{f", {name}": truth for name, truth in truths.items()}}
    curves = {name: method(task) for name, method in methods.items()}
    return {
        f"{name}{suffix}": [d(curve, truth) for d in DISTANCES.values()]
        for suffix, truth in found.items()
        for name, curve in curves.items()
    }


def normal(rng: np.random.Generator, n: int) -> Values:
    """Standard normal."""
    return rng.normal(0, 1, n)


def beta(rng: np.random.Generator, n: int) -> Values:
    """Beta(2, 5)."""
    return rng.beta(2, 5, n)


def exponential(rng: np.random.Generator, n: int) -> Values:
    """Exponential, with mean 1."""
    return rng.exponential(1, n)


def uniform(rng: np.random.Generator, n: int) -> Values:
    """Uniform on [-1, 1]."""
    return rng.uniform(-1, 1, n)


def bimodal(rng: np.random.Generator, n: int) -> Values:
    """A mixture: 0.4 normal around -2 (deviation 0.4), 0.6 normal around 1.6 (deviation 0.5)."""
    return np.where(rng.random(n) < 0.4, rng.normal(-2, 0.4, n), rng.normal(1.6, 0.5, n))


def spike(rng: np.random.Generator, n: int) -> Values:
    """Half of the records are 0.8. The others are normal with standard deviation 1.2."""
    return np.where(rng.random(n) < 0.5, 0.8, rng.normal(0, 1.2, n))


POPULATIONS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "normal": normal,
    BETA: beta,
    "exponential": exponential,
    "uniform": uniform,
    "bimodal": bimodal,
    "spike": spike,
}
OTHERS = [BETA, "exponential", "uniform", "bimodal"]  # of the figures; no spike
BOUNDS = {  # public
    "normal": (-4.0, 4.0),
    BETA: (0.0, 1.0),
    "exponential": (0.0, 8.0),
    "uniform": (-2.0, 2.0),
    "bimodal": (-4.0, 4.0),
    "spike": (-4.0, 4.0),
}


def counted(population: str, epsilon: float, rng: np.random.Generator, parts: int = 1) -> Task:
    """Return new records of a population, dealt out to parts."""
    grid = dp.Grid.uniform(*BOUNDS[population], CELLS)
    values = POPULATIONS[population](rng, RECORDS)
    counts = np.stack([grid.count(part) for part in np.array_split(values, parts)])
    return Task(counts, grid, epsilon, rng)


@functools.cache
def population_curve(population: str) -> dp.CDF:
    """Return a population's curve, from enough records for an error of about 0.0004."""
    values = POPULATIONS[population](np.random.default_rng(0), 5_000_000)
    return dp.cdf(values, dp.Grid.uniform(*BOUNDS[population], CELLS), NoNoise())


@studies.study({"population": ["normal"], "epsilon": [0.1]})
def with_and_without_noise(
    population: str, epsilon: float, rng: np.random.Generator
) -> dict[str, float]:
    """Return each method's Kolmogorov-Smirnov distance, with noise and without.

    Also return the shares of the adaptive steps and of the cells between the records' quartiles.
    """
    task, found = counted(population, epsilon, rng), {}
    truth = task.truth()
    for name, method in METHODS.items():
        for noise, each in (("with", task), ("without", task._replace(epsilon=LAVISH))):
            found[f"{name}, {noise} noise"] = distances.kolmogorov_smirnov(method(each), truth)
    low, high = truth.quantile([0.25, 0.75])
    steps = task.grid.thresholds[np.diff(adaptive_quantiles(task).counts, prepend=0.0) > 0.0]
    found["steps between quartiles"] = float(np.mean((steps >= low) & (steps <= high)))
    found["cells between quartiles"] = float(high - low) / float(np.ptp(task.grid.thresholds))
    return found


@studies.study({"population": ["normal"], "epsilon": EPSILONS})
def alone(population: str, epsilon: float, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the distances of a curator's curves from those of records and population."""
    task = counted(population, epsilon, rng)
    return far_off(METHODS | EVENLY, task, population=population_curve(population))


@studies.study({"population": ["normal"], "epsilon": EPSILONS})
def in_parts(population: str, epsilon: float, rng: np.random.Generator) -> dict[str, list[float]]:
    """Return the distances for ten sites, alone or asked together, and after ten rounds."""
    return far_off(METHODS | EVENLY | AGAIN, counted(population, epsilon, rng, PARTS))
