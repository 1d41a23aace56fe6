"""The experiments of scripts/study.py regret: errors of all contenders, case by case."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._regret_contenders import (
    DEFAULT,
    TREE,
    Budget,
    Contender,
    Counts,
    Curves,
    Kind,
    budget,
    contenders,
    releases,
)
from ._regret_shapes import Group, Shape, Values, generator

RATIOS = (0.02, 0.1, 0.5, 2.0, 4.0, 10.0, 100.0, 1000.0, 10000.0)  # n epsilon / N
SCARCE = 4.0  # up to which data are said to be scarce
LEVEL = 0.95
_LEAST = 0.01  # records: what is added to errors, so that they can be divided by


class Setting(NamedTuple):
    """A kind of budget, its epsilon, and how many cells."""

    kind: Kind
    epsilon: float
    size: int


class Case(NamedTuple):
    """What a table has an error for: a shape, a setting, and n epsilon / N."""

    shape: str
    group: Group
    setting: Setting
    ratio: float

    @property
    def n(self) -> int:
        """How many records."""
        return max(1, round(self.ratio * self.setting.size / self.setting.epsilon))


class Coverage(NamedTuple):
    """Bands of the default: which share of thresholds and releases they cover, and their width.

    ``inside`` is of the thresholds where the records' own F is strictly within 0 and 1, NaN if
    there are none.
    """

    all: float
    inside: float
    width: float


class Outcome(NamedTuple):
    """Errors of F in a case, by contender, and the default's bands.

    ``errors`` are mean squares over thresholds and releases, ``halves`` those of every other
    release, and ``distances`` are mean Kolmogorov-Smirnov distances.
    """

    case: Case
    errors: dict[str, float]
    halves: dict[str, tuple[float, float]]
    distances: dict[str, float]
    coverage: Coverage

    @property
    def best(self) -> str:
        """Who has the least error."""
        return min(self.errors, key=lambda name: self.errors[name])

    @property
    def least(self) -> float:
        """The error of the best in hindsight, who is found on the other half of the releases.

        Of many contenders that are about as good, the least error found is below all true ones.
        """
        first, second = (
            min(self.halves, key=lambda name: self.halves[name][half]) for half in (0, 1)
        )
        return (self.halves[first][1] + self.halves[second][0]) / 2

    def regret(self, name: str = DEFAULT) -> float:
        """Return the root mean square error over that of the best in hindsight."""
        return float(np.sqrt(self.errors[name] / self.least))

    def gain(self, name: str = DEFAULT) -> float:
        """Return how many times smaller the mean squared error is than that of the best tree."""
        return self.errors[TREE] / self.errors[name]


class Task(NamedTuple):
    """The cases of a shape in a setting; it can go to another process."""

    shape: str
    group: Group
    setting: Setting
    weights: Values
    ratios: tuple[float, ...]
    releases: int


SETTINGS = (
    *(Setting("epsilon", 0.1, size) for size in (2**6, 2**10, 2**12, 2**16)),
    *(Setting("epsilon", 1.0, size) for size in (2**8, 2**12)),
)
OTHER_SETTINGS = tuple(
    Setting(kind, 0.1, size) for kind in ("delta", "rho") for size in (2**8, 2**12)
)
QUICK_SETTINGS = (Setting("epsilon", 0.1, 2**10), Setting("epsilon", 1.0, 2**12))


def cases(
    shapes: Iterable[Shape], settings: Iterable[Setting], ratios: tuple[float, ...], releases: int
) -> list[Task]:
    """Return what is to be done, the longest first."""
    found = []
    for setting in sorted(settings, key=lambda each: -each.size):
        for shape in shapes:
            weights = shape.weights(setting.size)
            if weights is not None:
                found.append(Task(*shape[:2], setting, weights, ratios, releases))
    return found


def run(tasks: list[Task], processes: "int | None" = None) -> list[Outcome]:
    """Return the outcomes of all tasks; the processes do not change them."""
    return list(_run(tasks, os.cpu_count() if processes is None else processes))


def _run(tasks: list[Task], processes: "int | None") -> Iterator[Outcome]:
    if processes == 1:
        for task in tasks:
            yield from outcomes(task)
        return
    # a fresh interpreter each: a copy of one with threads may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for found in pool.map(outcomes, tasks):
            yield from found


def outcomes(task: Task) -> list[Outcome]:
    """Return the outcomes of a task."""
    found = []
    for ratio in task.ratios:
        case = Case(task.shape, task.group, task.setting, ratio)
        found.append(evaluate(case, records(case, task.weights), task.releases))
    return found


def records(case: Case, weights: Values) -> Counts:
    """Return counts of n records that are drawn from a shape."""
    rng = generator("records", case.shape, case.setting.size, case.setting.epsilon, case.ratio)
    return np.asarray(rng.multinomial(case.n, weights / weights.sum()), np.int64)


def evaluate(
    case: Case, counts: Counts, count: int, among: "dict[str, Contender] | None" = None
) -> Outcome:
    """Return the errors of all contenders, or of some, against the records' own F."""
    setting, n = case.setting, int(counts.sum())
    given, truth = budget(setting.kind, setting.epsilon), np.cumsum(counts) / n
    halves, distances, coverage = {}, {}, Coverage(np.nan, np.nan, np.nan)
    for name, contender in (among or contenders(setting.kind, setting.size)).items():
        rng = generator("noise", name, *case[:2], *setting, case.ratio)
        if name == DEFAULT:
            curves, coverage = with_bands(counts, given, rng, count, truth)
        else:
            curves = contender(counts, given, rng, count) / n
        away = np.abs(curves - truth)
        squares = np.mean(away**2, axis=1) + (_LEAST / n) ** 2
        halves[name] = float(squares[::2].mean()), float(squares[1::2].mean())
        distances[name] = float(away.max(axis=1).mean())
    errors = {name: sum(both) / 2 for name, both in halves.items()}
    return Outcome(case, errors, halves, distances, coverage)


def with_bands(
    counts: Counts, given: Budget, rng: np.random.Generator, count: int, truth: Values
) -> "tuple[Curves, Coverage]":
    """Return the default's curves of F, and how its bands do."""
    found = releases(counts, given, rng, count)
    covered: NDArray[np.float64] = np.zeros(truth.size)
    width = 0.0
    for curve in found:
        low, high = curve.band(LEVEL)
        covered += (low <= truth + 1e-9) & (truth <= high + 1e-9)
        width += float(np.mean(high[:-1] - low[:-1]))
    shares = covered[:-1] / count
    inside = (truth[:-1] > 0) & (truth[:-1] < 1)
    coverage = Coverage(
        float(shares.mean()),
        float(shares[inside].mean()) if inside.any() else float("nan"),
        width / count,
    )
    return np.array([curve.counts for curve in found]) / counts.sum(), coverage
