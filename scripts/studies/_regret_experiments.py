"""The experiments of scripts/study.py regret: errors of all contenders, case by case."""

import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple, TypeVar

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

Result = TypeVar("Result")
RATIOS = (0.02, 0.1, 0.5, 2.0, 4.0, 10.0, 100.0, 1000.0, 10000.0)  # n epsilon / N
RELEASES = 100  # of each contender in a case
SCARCE = 4.0  # up to which data are said to be scarce
LEVEL = 0.95
_WHOLE = 2**14  # cells up to which a case has all its releases
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


class Error(NamedTuple):
    """Mean squared errors of F over the thresholds, averaged over every other release, and more.

    ``spread`` is the standard error of the mean of both halves, over that mean. ``distance`` is
    the mean Kolmogorov-Smirnov distance.
    """

    halves: tuple[float, float]
    spread: float
    distance: float

    @classmethod
    def of(cls, curves: Curves, truth: Values, least: float) -> "Error":
        """Return the errors of curves of F, (releases, N); squares get ``least`` added."""
        away = np.abs(curves - truth)
        squares = np.mean(away**2, axis=1) + least
        halves = float(squares[::2].mean()), float(squares[1::2].mean())
        spread = float(squares.std(ddof=1) / squares.mean() / np.sqrt(squares.size))
        return cls(halves, spread, float(away.max(axis=1).mean()))

    @property
    def mean(self) -> float:
        """The mean squared error over all releases."""
        return sum(self.halves) / 2


class Outcome(NamedTuple):
    """Errors in a case, by contender, and the default's bands."""

    case: Case
    errors: dict[str, Error]
    coverage: Coverage

    @property
    def best(self) -> str:
        """Who has the least error."""
        return min(self.errors, key=lambda name: self.errors[name].mean)

    @property
    def least(self) -> float:
        """The error of the best in hindsight, who is found on the other half of the releases.

        Of many contenders that are about as good, the least error found is below all true ones.
        """
        first, second = (
            min(self.errors, key=lambda name: self.errors[name].halves[half]) for half in (0, 1)
        )
        return (self.errors[first].halves[1] + self.errors[second].halves[0]) / 2

    def regret(self, name: str = DEFAULT) -> float:
        """Return the root mean square error over that of the best in hindsight."""
        return float(np.sqrt(self.errors[name].mean / self.least))

    def gain(self, name: str = DEFAULT) -> float:
        """Return how many times smaller the mean squared error is than that of the best tree."""
        return self.errors[TREE].mean / self.errors[name].mean

    def spread(self, name: str = DEFAULT) -> float:
        """Return the standard error of the gain, to first order."""
        both = self.errors[TREE].spread, self.errors[name].spread
        return self.gain(name) * float(np.hypot(*both))


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
    shapes: Iterable[Shape],
    settings: Iterable[Setting],
    ratios: tuple[float, ...] = RATIOS,
    releases: int = RELEASES,
) -> list[Task]:
    """Return what is to be done, the longest first. Large grids have fewer releases."""
    found = []
    for setting in sorted(settings, key=lambda each: -each.size):
        for shape in shapes:
            weights = shape.weights(setting.size)
            if weights is not None:
                count = max(2, min(releases, releases * _WHOLE // setting.size))
                found.append(Task(*shape[:2], setting, weights, ratios, count))
    return found


def run(tasks: list[Task], processes: "int | None" = None) -> list[Outcome]:
    """Return the outcomes of all tasks; the processes do not change them."""
    return [each for found in parallel(outcomes, tasks, processes) for each in found]


def parallel(
    function: Callable[[Any], Result], tasks: Iterable[Any], processes: "int | None"
) -> list[Result]:
    """Return what a function makes of each of some tasks, in processes of their own; 1: in none."""
    if processes == 1:
        return list(map(function, tasks))
    # a fresh interpreter each: a copy of one with threads may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return list(pool.map(function, tasks))


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
    errors, coverage = {}, Coverage(np.nan, np.nan, np.nan)
    for name, contender in (among or contenders(setting.kind, setting.size)).items():
        rng = generator("noise", name, *case[:2], *setting, case.ratio)
        if name == DEFAULT:
            curves, coverage = with_bands(counts, given, rng, count, truth)
        else:
            curves = contender(counts, given, rng, count) / n
        errors[name] = Error.of(curves, truth, (_LEAST / n) ** 2)
    return Outcome(case, errors, coverage)


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
