"""The experiments of scripts/study.py regret: errors of all contenders, case by case."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from papers._data import folder

import dpcore as dp
from dpcore import studies

from ._regret_contenders import (
    DEFAULT,
    Counts,
    Curves,
    Kind,
    budget,
    contenders,
    releases,
)
from ._regret_shapes import Group, Values, generator, shapes

RATIOS = (0.02, 0.1, 0.5, 2.0, 4.0, 10.0, 100.0, 1000.0, 10000.0)  # n epsilon / N
RELEASES = 60  # of each contender in a case
SCARCE = 4.0  # the largest n epsilon / N at which data count as scarce
LEVEL = 0.95
BATCH = 15  # all numbers of releases are multiples of this
_LEAST = 0.01  # records: added to errors, so that ratios are defined
DECILES = np.arange(1, 10) / 10
OTHERS = ("K-S", "Wasserstein", "deciles", "mean")  # the measures besides the mean squared error


class Setting(NamedTuple):
    """A kind of budget, its epsilon, and the number of cells."""

    kind: Kind
    epsilon: float
    cells: int


LARGEST = (Setting("epsilon", 0.1, 2**16),)  # which has fewer releases
SETTINGS = (
    *(Setting("epsilon", 0.1, cells) for cells in (2**12, 2**10, 2**6)),
    *(Setting("epsilon", 1.0, cells) for cells in (2**12, 2**8)),
)
OTHER_SETTINGS = tuple(
    Setting(kind, 0.1, cells) for kind in ("delta", "rho") for cells in (2**12, 2**8)
)
QUICK_SETTINGS = (Setting("epsilon", 0.1, 2**10), Setting("epsilon", 1.0, 2**12))

SHAPES = shapes(folder())
WEIGHTS = {shape.name: shape.weights for shape in SHAPES}
GROUPS: dict[str, Group] = {shape.name: shape.group for shape in SHAPES}


def cases(
    settings: Iterable[Setting],
    group: Group | None = None,
    ratios: tuple[float, ...] = RATIOS,
) -> list[dict[str, Any]]:
    """Return the parameters of a study: the shapes of one group or both, in settings."""
    found = []
    for setting in settings:
        fitting = [name for name, weights in WEIGHTS.items() if weights(setting.cells) is not None]
        names = [name for name in fitting if group in (GROUPS[name], None)]
        found.append({**setting._asdict(), "shape": names, "ratio": ratios})
    return found


@studies.study(cases((*LARGEST, *SETTINGS, *OTHER_SETTINGS)), batch=BATCH)
def errors(
    kind: Kind,
    epsilon: float,
    cells: int,
    shape: str,
    ratio: float,
    rng: np.random.Generator,
    replicates: int,
) -> Mapping[str, Values]:
    """Return the errors of all contenders against the F of the same records in each release."""
    counts = records(shape, Setting(kind, epsilon, cells), ratio)
    given, n = budget(kind, epsilon), int(counts.sum())
    truth, found = np.cumsum(counts) / n, {}
    for name, contender in contenders(kind, cells).items():
        if name == DEFAULT:
            drawn = releases(counts, given, rng, replicates)
            curves = np.array([each.counts for each in drawn], np.float64) / n
            found["covered"], found["covered inside"] = coverage(drawn, truth)
        else:
            curves = contender(counts, given, rng, replicates) / n
        found[name] = squared(curves, truth) + (_LEAST / n) ** 2
        for measure, off in distances(curves, truth).items():
            found[quantity(measure, name)] = off + _LEAST / n
    return found


def records(shape: str, setting: Setting, ratio: float) -> Counts:
    """Return counts of n records that are drawn from a shape."""
    weights = WEIGHTS[shape](setting.cells)
    assert weights is not None
    rng = generator("records", shape, setting.cells, setting.epsilon, ratio)
    n = max(1, round(ratio * setting.cells / setting.epsilon))
    return np.asarray(rng.multinomial(n, weights / weights.sum()), np.int64)


def squared(curves: Curves, truth: Values) -> Values:
    """Return the mean squared errors over the thresholds, (releases,)."""
    return np.asarray(np.mean((curves - truth) ** 2, axis=1))


def quantity(measure: str, contender: str) -> str:
    """Return the name under which the study keeps an error of a contender in another measure."""
    return f"{measure}: {contender}"


def distances(curves: Curves, truth: Values) -> dict[str, Values]:
    """Return the errors in the other measures, (releases,) each.

    The largest and the mean absolute error of F over the thresholds; the mean distance of the
    deciles in ranks; and the absolute error of the mean, as a share of the grid's range.
    """
    off = curves - truth
    away, of_mean = np.abs(off), np.abs(off.mean(axis=1))
    errors = away.max(axis=1), away.mean(axis=1), of_deciles(curves, truth), of_mean
    return dict(zip(OTHERS, errors, strict=True))


def of_deciles(curves: Curves, truth: Values) -> Values:
    """Return the mean errors of the deciles, (releases,).

    A decile is the first cell at whose end the curve, made monotone, reaches p. Its error is the
    distance of p from the ranks of the records in that cell.
    """
    ends = np.append(0.0, truth)
    errors = np.empty(len(curves))
    for row, curve in enumerate(np.maximum.accumulate(curves, axis=1)):
        cell = np.minimum(np.searchsorted(curve, DECILES), truth.size - 1)
        off = np.maximum(ends[cell] - DECILES, DECILES - ends[cell + 1])
        errors[row] = np.maximum(off, 0.0).mean()
    return errors


def coverage(curves: list[dp.CDF], truth: Values) -> tuple[Values, Values]:
    """Return the shares of thresholds that bands cover: all but the last, and where 0 < F < 1."""
    covered = np.array(
        [(low <= truth + 1e-9) & (truth <= high + 1e-9) for low, high in map(_band, curves)]
    )[:, :-1]
    inside = (truth[:-1] > 0) & (truth[:-1] < 1)
    nothing = np.full(len(curves), np.nan)
    return covered.mean(axis=1), covered[:, inside].mean(axis=1) if inside.any() else nothing


def _band(curve: dp.CDF) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return curve.band(LEVEL)
