"""Tables of what is read off results, with intervals: one function for each kind of result.

A result of another kind, also of a class of your own, shows the fields that it declares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial, singledispatch
from typing import Any, Final

import numpy as np

from ..curves.cdf import CDF
from ..curves.confidence import deviations
from ..curves.counts import Count, Counts
from ..curves.field_tables import MOST_ROWS, Rows, cut, field_tables, text
from ..curves.groups import GroupedCDF
from ..curves.mean import Mean
from ..curves.table import Table
from ..errors import DpcoreError
from ..planning.pairwise import PairwiseTests
from ..planning.plan import Plan
from ..privacy.guarantees import Privacy, of_public_size
from ..statistics import ROC, HosmerLemeshow, Reliability
from ..statistics.roc_groups import GroupedROC
from ..trust import ReleasedSum

__all__ = ["public_choices", "readings"]

_SHARES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
_CHOICES: Final = {"n", "groups"}  # they are not said twice
_WITH_INTERVAL: Final = ("", "value", "from", "to")


@singledispatch
def readings(result: Any, level: float) -> list[Rows]:
    """Return the tables of a result, with intervals of a level where it has them."""
    return field_tables(result, _CHOICES)


@readings.register
def _of_count(result: Count, level: float) -> list[Rows]:
    return [_with_intervals(level, [("records", result.value, result.interval(level))])]


@readings.register
def _of_counts(result: Counts, level: float) -> list[Rows]:
    ends = zip(*result.interval(level), strict=True)
    every = zip(result.categories, result.values, ends, strict=True)
    return [_with_intervals(level, ((str(name), value, pair) for name, value, pair in every))]


@readings.register
def _of_mean(result: Mean, level: float) -> list[Rows]:
    population = result.population_interval(level)
    rows = [
        ("mean of the records", result.value, result.interval(level)),
        ("mean of the population", result.value, population),
    ]
    return [_with_intervals(level, rows)]


@readings.register
def _of_sum(result: ReleasedSum, level: float) -> list[Rows]:
    ends = zip(result.total, deviations(level) * result.deviation, strict=True)
    rows = [(f"value {at}", x, (x - reach, x + reach)) for at, (x, reach) in enumerate(ends)]
    return [_with_intervals(level, rows)]


@readings.register
def _of_curve(result: CDF, level: float) -> list[Rows]:
    def mean() -> tuple[str, Any, Any]:
        return "mean", result.mean(), result.mean_interval(level)

    rows = [*_read(partial(_quantile, result, p, level) for p in _SHARES), *_read([mean])]
    return [_with_intervals(level, rows)]


@readings.register
def _of_groups(result: GroupedCDF, level: float) -> list[Rows]:
    def median(group: Any, curve: CDF) -> tuple[str, Any, Any]:
        _, value, ends = _quantile(curve, 0.5, level)
        return f"median of {group}, n = {curve.n}", value, ends

    pairs = result.items()
    return [_with_intervals(level, _read(partial(median, *pair) for pair in pairs))]


@readings.register
def _of_roc(result: ROC, level: float) -> list[Rows]:
    rows = _read(
        [
            lambda: ("area, of the records", result.auc, result.auc_interval(level)),
            lambda: ("area, of the population", result.auc, result.population_auc_interval(level)),
        ]
    )
    return [_with_intervals(level, rows)]


@readings.register
def _of_roc_groups(result: GroupedROC, level: float) -> list[Rows]:
    def area(group: Any, roc: ROC) -> tuple[str, Any, Any]:
        return f"area of {group}, of the population", roc.auc, roc.population_auc_interval(level)

    pairs = result.items()
    return [_with_intervals(level, _read(partial(area, *pair) for pair in pairs))]


@readings.register
def _of_pairs(result: PairwiseTests, level: float) -> list[Rows]:
    rows = [
        (*map(str, pair), text(test.statistic), text(test.pvalue))
        for pair, test in zip(result.pairs, result.tests, strict=True)
    ]
    return [cut("Tests, each alone", ("first", "second", "statistic", "p-value"), rows)]


@readings.register
def _of_plan(result: Plan, level: float) -> list[Rows]:
    rows = [(option.name, text(option.error)) for option in result.options]
    return [cut("Expected errors", ("mechanism", "error"), rows)]


@readings.register
def _of_reliability(result: Reliability, level: float) -> list[Rows]:
    reach = deviations(level) * result.standard_error
    rate, edges = result.positive_rate, result.bins.edges
    low, high = np.maximum(rate - reach, 0.0), np.minimum(rate + reach, 1.0)
    every = (edges[:-1], edges[1:], result.counts, result.mean_score, rate, low, high)
    of_bins = [column[result.counts > 0.0] for column in every]
    names = ("from", "to", "records", "mean score", "share of positives", "low", "high")
    rows = [tuple(map(text, row)) for row in zip(*of_bins, strict=True)]
    return [cut(f"Bins, with {100 * level:g}% intervals of noise and sampling", names, rows)]


@readings.register
def _of_hosmer_lemeshow(result: HosmerLemeshow, level: float) -> list[Rows]:
    whole = [("statistic", text(result.statistic))]
    with suppress(DpcoreError):
        whole.append(("p-value", text(result.pvalue)))
    reach, edges = deviations(level) * result.deviations[:, 1], result.edges
    observed, expected = result.observed[:, 1], result.expected[:, 1]
    size = result.observed.sum(axis=1)
    of_groups = (
        edges[:-1],
        edges[1:],
        size,
        expected,
        observed,
        observed - reach,
        observed + reach,
    )
    names = ("from", "to", "records", "positives, expected", "observed", "low", "high")
    rows = [tuple(map(text, row)) for row in zip(*of_groups, strict=True)]
    groups = cut(f"Groups, with {100 * level:g}% intervals of the noise", names, rows)
    return [Rows("Test", ("", "value"), whole), groups]


@readings.register
def _of_table(result: Table, level: float) -> list[Rows]:
    return [Rows("Fields", ("", "value"), [("cells", " x ".join(map(str, result.grid.shape)))])]


def public_choices(result: Any) -> Rows:
    """Return what was chosen before the records were seen, as far as the result keeps it."""
    rows = [("kind", type(result).__name__)]
    curve = _first(result, "grid")
    if curve is not None:
        rows.append(("grid", repr(curve.grid)))
    groups = getattr(result, "groups", None) or getattr(result, "categories", None)
    if isinstance(groups, tuple):
        said = ", ".join(map(str, groups[:MOST_ROWS]))
        rows.append(("groups", said if len(groups) <= MOST_ROWS else f"{said}, ..."))
    if hasattr(result, "n"):
        released = _are_released(getattr(result, "privacy", None))
        n = "not public" if result.n is None else _joined(result.n)
        rows.append(("records, as released" if released else "records", n))
    if hasattr(result, "bins") and hasattr(result.bins, "edges"):
        rows.append(("bins", str(len(result.bins.edges) - 1)))
    described = _first(result, "mechanism")
    mechanism = None if described is None else described.mechanism
    if mechanism is not None:
        stated = mechanism if isinstance(mechanism, Mapping) else mechanism.describe()
        rows.append(("mechanism", ", ".join(f"{name}: {value}" for name, value in stated.items())))
    return Rows("Public choices", ("", "value"), list(rows))


def _first(result: Any, attribute: str) -> Any:
    """Return the result, or the first part of it, that has an attribute; None if there is none."""
    for path in ((), ("joint",), ("curves",), ("curves", "joint"), ("row",), ("table", "row")):
        part = result
        for name in path:
            part = getattr(part, name, None)
        if isinstance(part, tuple | list) and part:
            part = part[0]
        if getattr(part, attribute, None) is not None:
            return part
    return None


def _are_released(privacy: Any) -> bool:
    """Return whether numbers of records are protected, so that they are known with noise only."""
    return isinstance(privacy, Privacy) and not of_public_size(privacy.neighbours)


def _quantile(curve: CDF, p: float, level: float) -> tuple[str, Any, Any]:
    return f"quantile {p:g}", curve.quantile(p), curve.quantile_interval(p, level=level)


def _read(
    calls: Iterable[Callable[[], tuple[str, Any, Any]]],
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what can be read: some readings need a known mechanism, or numbers, not times."""
    for call in calls:
        with suppress(DpcoreError):
            yield call()


def _with_intervals(level: float, rows: Iterable[tuple[str, Any, Any]]) -> Rows:
    caption = f"Values, with {100 * level:g}% intervals"
    texts = [(name, *map(text, (value, *ends))) for name, value, ends in rows]
    return cut(caption, _WITH_INTERVAL, texts)


def _joined(n: Any) -> str:
    return ", ".join(f"{int(one):,}" for one in np.ravel(n)[:MOST_ROWS])
