"""``dpcore compare``: two stored distributions or ROC curves, or the groups of one file."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from typing import Any, Final

import numpy as np

import dpcore

from ..curves.cdf import CDF
from ..curves.confidence import in_percent
from ..curves.groups import GroupedCDF
from ..curves.score_groups import GroupedScores
from ..curves.scores import ScoreCurves
from ..planning.compare import Comparison
from ..records.files import FileError
from ..statistics.area_differences import (
    auc_difference_interval,
    population_auc_difference_interval,
)
from ..statistics.roc import ROC
from .arguments import UsageError
from .options import Command, given, option
from .reports import between, lines, shown

__all__ = ["COMMAND"]


def _run(options: argparse.Namespace) -> str:
    first = _stored(options.first, "FIRST")
    if options.second is None:
        return _of_groups(first, options)
    second = _stored(options.second, "SECOND")
    if isinstance(first, CDF) and isinstance(second, CDF):
        own = given(options, dpcore.compare) | {"first": first, "second": second}
        found = dpcore.compare(**own | {"probabilities": _probabilities(options.probabilities)})
        return _summary(found, options)
    if isinstance(first, ScoreCurves) and isinstance(second, ScoreCurves):
        curves = [(options.first, _roc(first)), (options.second, _roc(second))]
        rows: dict[str, object] = {
            name: f"{path}, {roc.n} records, {roc.privacy}"
            for name, (path, roc) in zip(("first", "second"), curves, strict=True)
        }
        return "\n".join([*lines(rows), "", *_areas(combinations(curves, 2), options)])
    kinds = " and ".join(f"a {type(one).__name__}" for one in (first, second))
    raise UsageError(
        "FIRST and SECOND must both be files of dpcore cdf --json, or both of dpcore roc --json, "
        f"without --by; got {kinds}. The groups of a file with --by are compared with each other: "
        "give this file alone"
    )


def _of_groups(groups: Any, options: argparse.Namespace) -> str:
    """Compare the groups of a file with each other."""
    if not isinstance(groups, GroupedCDF | GroupedScores):
        kind = type(groups).__name__
        what = f"SECOND is missing: a file alone must hold groups, as of --by; got a {kind}"
        raise UsageError(what)
    if len(groups) < 2:
        raise UsageError(f"FIRST {options.first!r} must hold two groups or more; got {len(groups)}")
    about = lines({"groups": f"{options.first}, {groups.privacy}"})
    if isinstance(groups, GroupedScores):
        pairs = combinations([(shown(str(of)), _roc(one)) for of, one in groups.items()], 2)
        return "\n".join([*about, "", *_areas(pairs, options)])
    found = dpcore.pairwise_tests(groups, simulations=options.simulations)
    tested = zip(found.pairs, found.statistics, found.pvalues, found.adjusted_pvalues, strict=True)
    table = [
        f"{statistic:>9.4g}  {own:>8.3g}  {adjusted:>8.3g}  {_named(pair)}"
        for pair, statistic, own, adjusted in tested
    ]
    heading = f"{'K-S':>9}  {'p-value':>8}  {'adjusted':>8}  groups"
    said = "Adjusted p-values are Holm's, for all pairs at once."
    return "\n".join([*about, "", heading, *table, "", said])


def _areas(
    pairs: Iterable[tuple[tuple[str, ROC], tuple[str, ROC]]], options: argparse.Namespace
) -> list[str]:
    """Return lines with the difference of the areas under two ROC curves of each pair."""
    level = in_percent(options.level)
    table = []
    for (name, first), (other, second) in pairs:
        ends = [
            between(interval(first, second, options.level))
            for interval in (auc_difference_interval, population_auc_difference_interval)
        ]
        areas = f"{first.auc:>9.4g}  {second.auc:>9.4g}  {first.auc - second.auc:>10.4g}"
        table.append(f"{areas}  {ends[0]:>22}  {ends[1]:>22}  {_named((name, other))}")
    heading = f"{'AUC':>9}  {'other':>9}  {'difference':>10}  {f'{level} (records)':>22}"
    return [f"{heading}  {f'{level} (population)':>22}  of", *table]


def _named(pair: tuple[Any, Any]) -> str:
    return " and ".join(shown(str(one)) for one in pair)


def _roc(curves: ScoreCurves) -> ROC:
    """Return the ROC curve of stored scores, with its mechanism if the file names it."""
    mechanism = None
    with suppress(dpcore.DpcoreError):
        mechanism = dpcore.mechanisms.from_curve(curves.joint)
    try:
        return ROC.from_curves(curves, mechanism)
    except dpcore.DpcoreError:  # smoothed curves are not simulated
        return ROC.from_curves(curves)


def _stored(path: str, name: str) -> Any:
    """Return the result in a file that a command wrote with ``--json``."""
    try:
        return dpcore.load(path)
    except FileError as error:
        raise UsageError(f"{name} {error}") from None
    except dpcore.FormatError as error:
        raise UsageError(f"{name} must be a stored distribution: {error}") from None


def _probabilities(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        what = f"must be numbers within [0, 1], between commas; got {text!r}"
        raise UsageError(f"--probabilities {what}") from None


def _summary(found: Comparison, options: argparse.Namespace) -> str:
    """Return a few lines about the comparison, and the difference of each quantile."""
    first, second = found.privacy
    rows: dict[str, object] = {
        "first": f"{options.first}, {found.n[0]} records, {first}",
        "second": f"{options.second}, {found.n[1]} records, {second}",
        "K-S": f"{found.statistic:.4g}, the largest distance of the curves",
        "p-value": f"{found.p_value:.3g}, of the same population, by {found.simulations} "
        "simulated pairs of releases",
    }
    low, high = found.population_interval
    level = f"{in_percent(found.level)} (population)"
    columns = found.probabilities, found.differences, low, high, found.p_values
    table = [
        f"{100 * p:>7g} %  {_text(value):>16}  {_text(least):>16} to {_text(most):>16}  {own:>8.3g}"
        for p, value, least, most, own in zip(*map(np.atleast_1d, columns), strict=True)
    ]
    heading = f"{'share':>9}  {'first - second':>16}  {level:>36}  {'p-value':>8}"
    return "\n".join([*lines(rows), "", heading, *table])


def _text(difference: float | np.timedelta64) -> str:
    """Return a difference as a text: to the second for times."""
    if isinstance(difference, np.timedelta64):
        return str(difference.astype("m8[s]").item())
    return f"{difference:.6g}"


COMMAND: Final = Command(
    _run,
    "Compare two distributions that dpcore cdf stored with --json: are the records samples of one "
    "population, and how far apart are quantiles? Or compare the areas of two ROC curves that "
    "dpcore roc stored, or all groups of one file of either with --by. This reads no records, and "
    "costs no privacy. Two distributions must be of different records, on one grid: give both the "
    "same bounds and --size.",
    functions=(dpcore.compare,),
    options={
        "first": option("a file of dpcore cdf or dpcore roc, with --json", "FIRST", flag="first"),
        "second": option(
            "another one of the same command; none if the first holds groups",
            "SECOND",
            flag="second",
            nargs="?",
        ),
        "probabilities": option(
            "of the quantiles to compare, between commas (0.25,0.5,0.75)",
            "P",
            default="0.25,0.5,0.75",
        ),
    },
)
