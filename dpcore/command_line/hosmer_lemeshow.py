"""``dpcore hosmer-lemeshow``: the Hosmer-Lemeshow test of predicted probabilities."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Final

import numpy as np

from ..curves.plots import drawable
from ..curves.score_groups import GroupedScores
from ..curves.scores import ScoreCurves
from ..errors import ParameterError, amount
from ..releases.hosmer_lemeshow import FINEST, arcsine_grid, suited, warn_of_few_groups
from ..statistics.hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowUnderNoise
from ..statistics.risk_groups import check_groups, check_minimum, check_testable
from ..summaries.grid import MOST_CELLS
from .by_groups import by_options, groups_of
from .options import given, option
from .reports import drawn, figure_of, lines, picture, shown
from .running import mechanism_of, written
from .scored import about_groups, about_scores, by_groups, counted, released, scored
from .shared_options import size
from .sizes import with_size

__all__ = ["COMMAND"]

_LABELS: Final = "by_groups"  # --groups are those of the test


def _run(options: argparse.Namespace) -> str:
    if labels := groups_of(options, _LABELS):
        return _run_by_groups(options, labels)
    grid = arcsine_grid(FINEST if options.size is None else options.size)
    check_groups(options.groups, MOST_CELLS, options.fitted)  # before the file is read
    minimum = check_minimum(options.minimum_expected)
    mechanism, counts = counted(options, grid, knows_n=False)  # as dpcore.hosmer_lemeshow does
    n = int(counts.sum())
    check_groups(options.groups, n, options.fitted)  # before a release
    check_testable(grid.size, minimum, n, options.fitted, "size")
    if options.size is None:
        grid, counts = suited(counts, options.groups, partial(_noise, options))
        mechanism = mechanism_of(options, 2 * grid.size)(None)
    curves = released(options, grid, mechanism, counts)
    own = given(options, HosmerLemeshow.from_curves) | {"mechanism": mechanism}
    test = HosmerLemeshow.from_curves(curves, **own)
    warn_of_few_groups(test, curves)
    text = with_size(options, _summary(curves, test.under_noise(), options), grid)
    draw = partial(picture, test, size=(8, 4.5), legend="upper left", title=options.y_score)
    written(options, curves.to_json, draw)
    return text


def _run_by_groups(options: argparse.Namespace, labels: list[str]) -> str:
    """Release the curves of groups of records, and test the model on each.

    Their sizes may be private, so the grid is that of few records.
    """
    grid = arcsine_grid() if options.size is None else arcsine_grid(options.size)
    check_groups(options.groups, MOST_CELLS, options.fitted)  # before the file is read
    minimum = check_minimum(options.minimum_expected)
    check_testable(grid.size, minimum, MOST_CELLS, options.fitted, "size")
    try:
        curves, mechanisms = by_groups(options, labels, grid)
    except ParameterError as error:
        if error.argument != "groups":
            raise
        raise ParameterError(_LABELS, error.value, error.requirement) from None
    own = given(options, HosmerLemeshow.from_curves)
    tests = {
        label: HosmerLemeshow.from_curves(each, **own | {"mechanism": mechanism})
        for (label, each), mechanism in zip(curves.items(), mechanisms, strict=True)
        if each.n >= options.groups
    }
    for label, test in tests.items():
        warn_of_few_groups(test, curves[label])
    text = with_size(options, _table_of_tests(curves, tests, options), grid)
    draw = partial(_pictures, tests)
    written(options, curves.to_json, draw)
    return text


def _table_of_tests(
    curves: GroupedScores, tests: dict[str, HosmerLemeshow], options: argparse.Namespace
) -> str:
    """Return a few lines about a release, and a line with the test of each group."""
    fitted = "" if options.fitted else "not "
    heading = (
        f"{'statistic':>9}  {'freedom':>7}  {'p-value':>7}  {'records':>10}  {'positives':>10}"
    )
    table = []
    for label, each in curves.items():
        test = tests.get(label)
        cells = ["none", "-", "-"]  # fewer records than groups
        if test is not None:
            degrees = max(0, test.degrees_of_freedom)
            cells = [
                f"{test.statistic:.4g}",
                str(degrees),
                f"{test.pvalue:.3g}" if degrees else "-",
            ]
        size = f"{each.n:>10}  {each.positives[-1]:>10.0f}"
        table.append(f"{cells[0]:>9}  {cells[1]:>7}  {cells[2]:>7}  {size}  {shown(label)}")
    said = f"Tests as for a model {fitted}fitted to these records, each alone."
    about = about_groups(curves, options)
    return "\n".join([*about, "", f"{heading}  group", *table, "", said])


def _pictures(tests: dict[str, HosmerLemeshow], form: str) -> bytes:
    """Return the pictures of all tests below each other, as a file of Matplotlib's format."""
    figure = figure_of(8, 4.5 * max(1, len(tests)))
    axes = figure.subplots(max(1, len(tests)), squeeze=False).ravel()
    for ax, (label, test) in zip(axes, tests.items(), strict=False):
        test.plot(ax)
        ax.set_title(drawable(label), parse_math=False)
    return drawn(figure, form)


def _noise(options: argparse.Namespace, cells: int) -> float:
    """Return the mean variance of the noise in counts of both classes, 0 if it is not known."""
    mechanism = mechanism_of(options, 2 * cells)(None)
    mean = float(np.mean(np.square(mechanism.noise_deviation(2 * cells))))
    return mean if np.isfinite(mean) else 0.0


def _summary(
    curves: ScoreCurves,
    noisy: HosmerLemeshowUnderNoise,
    options: argparse.Namespace,
) -> str:
    """Return a few lines about a release and its Hosmer-Lemeshow test."""
    test = noisy.test
    pvalue = "none, without a degree of freedom"
    if test.degrees_of_freedom >= 1:
        pvalue = f"{noisy.pvalue:.3g}, by {noisy.null.size} simulated releases"
    rows = about_scores(curves, options) | {
        "statistic": f"{test.statistic:.4g}, {noisy.statistic:.4g} without the mean of the noise",
        "freedom": f"{amount(max(0, test.degrees_of_freedom), 'degree')}, "
        f"as for a model {'' if test.fitted else 'not '}fitted to these records",
        "p-value": pvalue,
    }
    heading = (
        f"{'from':>10}  {'to':>10}  {'positives':>10}  {'expected':>10}"
        f"  {'negatives':>10}  {'expected':>10}"
    )
    printed = [
        f"{test.edges[g]:>10.4g}  {test.edges[g + 1]:>10.4g}"
        f"  {test.observed[g, 1]:>10.1f}  {test.expected[g, 1]:>10.1f}"
        f"  {test.observed[g, 0]:>10.1f}  {test.expected[g, 0]:>10.1f}"
        f"{f'  {merged} groups in one' if (merged := int(test.merged[g])) > 1 else ''}"
        for g in range(test.merged.size)
    ]
    return "\n".join([*lines(rows), "", heading, *printed])


COMMAND: Final = scored(
    _run,
    "the Hosmer-Lemeshow test, with a p-value that takes the noise into account. Scores are "
    "predicted probabilities. Their model must not depend on the records, or must have been "
    "released itself",
    HosmerLemeshow.from_curves,
    options={
        "size": size(
            "of [0, 1], of a width like sqrt(p (1 - p)) (by the number of records and the budget)"
        ),
        "groups": {},
        "minimum_expected": {},
        **by_options(_LABELS),
        "fitted": option(
            "the model was fitted to other records: the test has Q degrees of freedom, not Q - 2",
            flag="--not-fitted",
            action="store_false",
        ),
    },
)
