"""dpcore: a fast numeric core for differentially private distribution curves.

>>> import dpcore as dp
>>> grid = dp.Grid.uniform(0, 100, 256)
>>> curve = dp.cdf([*range(100)] * 10, grid, epsilon=2.0)
>>> curve.n
1000
"""

from __future__ import annotations

import concurrent.futures.thread as _threads_of  # noqa: F401 (too late as the interpreter ends)
import importlib as _importlib
import os as _os
from collections.abc import Iterator as _Iterator
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if not _os.path.isdir(_os.path.join(__path__[0], "kernels")):
    # dpcore is not installed, and the link to ../kernels is missing. This is a source distribution,
    # or a checkout where
    # Git makes no symbolic links.
    __path__.append(_os.path.dirname(__path__[0]))

if _TYPE_CHECKING:
    from . import mechanisms, models, noise, privacy, statistics, streams, studies, testing, trust
    from ._load import load
    from .curves import distances
    from .curves.cdf import CDF
    from .curves.combination import average, combine
    from .curves.confidence import Interval
    from .curves.counts import Count, Counts
    from .curves.cumulative_incidence import CumulativeIncidence
    from .curves.cumulative_incidence_groups import GroupedCumulativeIncidence
    from .curves.groups import GroupedCDF
    from .curves.mean import Mean
    from .curves.projection import Projection
    from .curves.residual_plot import ResidualPlot
    from .curves.restricted_means import RestrictedMeanDifference, restricted_mean_difference
    from .curves.score_groups import GroupedScores
    from .curves.scores import ScoreCurves
    from .curves.smoothing import Smoothing, smooth
    from .curves.survival import Survival
    from .curves.survival_groups import GroupedSurvival
    from .curves.table import Table
    from .errors import (
        ConvergenceError,
        DpcoreError,
        DpcoreWarning,
        DtypeError,
        EngineError,
        FormatError,
        MissingExtraError,
        MissingValueError,
        ParameterError,
    )
    from .planning.bands import simultaneous_band
    from .planning.chi_square import chi_square_test
    from .planning.compare import Comparison, compare
    from .planning.distribution_tests import DistributionTest
    from .planning.equivalence import equivalence_test
    from .planning.goodness_of_fit import goodness_of_fit
    from .planning.interval import interval
    from .planning.log_rank import log_rank_test
    from .planning.pairwise import PairwiseTests, pairwise_tests
    from .planning.plan import Plan, plan
    from .planning.suggest import Suggestion, suggest
    from .planning.two_samples import two_sample_test
    from .privacy.budgets import Budget, BudgetError
    from .privacy.guarantees import Privacy
    from .records import files
    from .releases.bounds import Bounds, bounds
    from .releases.bounds_around_zero import compact_bounds, symmetric_bounds
    from .releases.box_plot import BoxPlot, box_plot
    from .releases.cdf import cdf, cdf_from_counts
    from .releases.classwise_calibration import classwise_calibration
    from .releases.counts import count, counts
    from .releases.cumulative_incidence import cumulative_incidence
    from .releases.hosmer_lemeshow import hosmer_lemeshow
    from .releases.mean import mean
    from .releases.project import project, project_sums
    from .releases.quantiles import Quantiles, quantiles
    from .releases.residual_plot import residual_plot
    from .releases.roc_curve import roc_curve
    from .releases.score_curves import score_curves, score_curves_from_counts
    from .releases.survival import survival, survival_from_counts
    from .releases.survival_scores import survival_scores
    from .releases.table import table, table_from_counts
    from .reports.report import report
    from .summaries.grid import Grid
    from .summaries.group_counts import group_counts
    from .summaries.polynomial_sums import PolynomialSums, polynomial_sums
    from .summaries.score_counts import score_counts
    from .summaries.sql import sql
    from .summaries.survival_counts import survival_counts
    from .summaries.table_grid import TableGrid
    from .summaries.top_labels import top_label

__version__ = "0.1.0"

__all__ = [
    "CDF",
    "Bounds",
    "BoxPlot",
    "Budget",
    "BudgetError",
    "Comparison",
    "ConvergenceError",
    "Count",
    "Counts",
    "CumulativeIncidence",
    "DistributionTest",
    "DpcoreError",
    "DpcoreWarning",
    "DtypeError",
    "EngineError",
    "FormatError",
    "Grid",
    "GroupedCDF",
    "GroupedCumulativeIncidence",
    "GroupedScores",
    "GroupedSurvival",
    "Interval",
    "Mean",
    "MissingExtraError",
    "MissingValueError",
    "PairwiseTests",
    "ParameterError",
    "Plan",
    "PolynomialSums",
    "Privacy",
    "Projection",
    "Quantiles",
    "ResidualPlot",
    "RestrictedMeanDifference",
    "ScoreCurves",
    "Smoothing",
    "Suggestion",
    "Survival",
    "Table",
    "TableGrid",
    "average",
    "bounds",
    "box_plot",
    "cdf",
    "cdf_from_counts",
    "chi_square_test",
    "classwise_calibration",
    "combine",
    "compact_bounds",
    "compare",
    "count",
    "counts",
    "cumulative_incidence",
    "distances",
    "equivalence_test",
    "files",
    "goodness_of_fit",
    "group_counts",
    "hosmer_lemeshow",
    "interval",
    "load",
    "log_rank_test",
    "mean",
    "mechanisms",
    "models",
    "noise",
    "pairwise_tests",
    "plan",
    "polynomial_sums",
    "privacy",
    "project",
    "project_sums",
    "quantiles",
    "report",
    "residual_plot",
    "restricted_mean_difference",
    "roc_curve",
    "score_counts",
    "score_curves",
    "score_curves_from_counts",
    "simultaneous_band",
    "smooth",
    "sql",
    "statistics",
    "streams",
    "studies",
    "suggest",
    "survival",
    "survival_counts",
    "survival_from_counts",
    "survival_scores",
    "symmetric_bounds",
    "table",
    "table_from_counts",
    "testing",
    "top_label",
    "trust",
    "two_sample_test",
]


def _state() -> tuple[int, int] | None:
    """Return what changes when another version of dpcore takes the place of this one."""
    try:
        status = _os.stat(__file__)
    except OSError:  # in an archive; or the package is being replaced right now
        return None
    return status.st_size, status.st_mtime_ns


_STATE = _state()


def _check_version() -> None:
    if _state() != _STATE:  # parts of two versions would make one release
        raise ImportError(
            "dpcore was replaced on disk, as by an upgrade, after this process had imported it:"
            " start the process again",
            name="dpcore",
        )


class _Path(list[str]):
    """The package's folders, which Python looks through whenever a room is imported."""

    def __iter__(self) -> _Iterator[str]:
        _check_version()
        return super().__iter__()


__path__ = _Path(__path__)

# Each name is imported when it is first used, together with the compiler that it needs (SPEC 1 of
# Scientific Python). A test compares this list with the names for type checkers above.
_MODULES = {
    "curves": "curves",
    "distances": "curves.distances",
    "files": "records.files",
    "mechanisms": "mechanisms",
    "models": "models",
    "noise": "noise",
    "privacy": "privacy",
    "records": "records",
    "releases": "releases",
    "statistics": "statistics",
    "streams": "streams",
    "studies": "studies",
    "summaries": "summaries",
    "testing": "testing",
    "trust": "trust",
}
_HOMES = {
    "_load": ("load",),
    "curves.cdf": ("CDF",),
    "curves.combination": ("average", "combine"),
    "curves.confidence": ("Interval",),
    "curves.counts": ("Count", "Counts"),
    "curves.cumulative_incidence": ("CumulativeIncidence",),
    "curves.cumulative_incidence_groups": ("GroupedCumulativeIncidence",),
    "curves.groups": ("GroupedCDF",),
    "curves.mean": ("Mean",),
    "curves.projection": ("Projection",),
    "curves.residual_plot": ("ResidualPlot",),
    "curves.restricted_means": ("RestrictedMeanDifference", "restricted_mean_difference"),
    "curves.score_groups": ("GroupedScores",),
    "curves.scores": ("ScoreCurves",),
    "curves.smoothing": ("Smoothing", "smooth"),
    "curves.survival": ("Survival",),
    "curves.survival_groups": ("GroupedSurvival",),
    "curves.table": ("Table",),
    "errors": (
        "ConvergenceError",
        "DpcoreError",
        "DpcoreWarning",
        "DtypeError",
        "EngineError",
        "FormatError",
        "MissingExtraError",
        "MissingValueError",
        "ParameterError",
    ),
    "planning.bands": ("simultaneous_band",),
    "planning.chi_square": ("chi_square_test",),
    "planning.compare": ("Comparison", "compare"),
    "planning.distribution_tests": ("DistributionTest",),
    "planning.equivalence": ("equivalence_test",),
    "planning.goodness_of_fit": ("goodness_of_fit",),
    "planning.interval": ("interval",),
    "planning.log_rank": ("log_rank_test",),
    "planning.pairwise": ("PairwiseTests", "pairwise_tests"),
    "planning.plan": ("Plan", "plan"),
    "planning.suggest": ("Suggestion", "suggest"),
    "planning.two_samples": ("two_sample_test",),
    "privacy.budgets": ("Budget", "BudgetError"),
    "privacy.guarantees": ("Privacy",),
    "releases.bounds": ("Bounds", "bounds"),
    "releases.bounds_around_zero": ("compact_bounds", "symmetric_bounds"),
    "releases.box_plot": ("BoxPlot", "box_plot"),
    "releases.cdf": ("cdf", "cdf_from_counts"),
    "releases.classwise_calibration": ("classwise_calibration",),
    "releases.counts": ("count", "counts"),
    "releases.cumulative_incidence": ("cumulative_incidence",),
    "releases.hosmer_lemeshow": ("hosmer_lemeshow",),
    "releases.mean": ("mean",),
    "releases.project": ("project", "project_sums"),
    "releases.quantiles": ("Quantiles", "quantiles"),
    "releases.residual_plot": ("residual_plot",),
    "releases.roc_curve": ("roc_curve",),
    "releases.score_curves": ("score_curves", "score_curves_from_counts"),
    "releases.survival": ("survival", "survival_from_counts"),
    "releases.survival_scores": ("survival_scores",),
    "releases.table": ("table", "table_from_counts"),
    "reports.report": ("report",),
    "summaries.grid": ("Grid",),
    "summaries.group_counts": ("group_counts",),
    "summaries.polynomial_sums": ("PolynomialSums", "polynomial_sums"),
    "summaries.score_counts": ("score_counts",),
    "summaries.sql": ("sql",),
    "summaries.survival_counts": ("survival_counts",),
    "summaries.table_grid": ("TableGrid",),
    "summaries.top_labels": ("top_label",),
}
# What other libraries call something, and what it is called here.
_NEAR = {
    **dict.fromkeys(("avg", "mean_of"), "dp.mean"),
    **dict.fromkeys(("sum", "total"), "dp.trust.vector_sum, or dp.mean times n"),
    **dict.fromkeys(("histogram", "hist", "group_by"), "dp.counts of categories, or dp.cdf"),
    **dict.fromkeys(("len", "size", "count_nonzero"), "dp.count, or dp.counts of categories"),
    **dict.fromkeys(("percentile", "percentiles", "quantile", "median"), "dp.quantiles"),
    **dict.fromkeys(("var", "variance", "std"), "dp.trust.vector_sum (docs/guides/sums.md)"),
    **dict.fromkeys(("ecdf", "distribution"), "dp.cdf"),
    **dict.fromkeys(("min", "max"), "dp.bounds, or dp.quantiles"),
    **dict.fromkeys(("histogram2d", "crosstab", "contingency_table"), "dp.table"),
    **dict.fromkeys(("roc", "auc", "roc_auc_score"), "dp.roc_curve, whose result has auc"),
    **dict.fromkeys(("chisquare", "chi2", "chi_square"), "dp.chi_square_test"),
    **dict.fromkeys(("kaplan_meier", "KaplanMeierFitter", "kaplan_meier_estimator"), "dp.survival"),
    **dict.fromkeys(("concordance_index", "cumulative_dynamic_auc"), "dp.survival_scores"),
    **dict.fromkeys(("aalen_johansen", "AalenJohansenFitter"), "dp.cumulative_incidence"),
    **dict.fromkeys(("ks_2samp", "ks_test"), "dp.two_sample_test"),
    **dict.fromkeys(("logrank", "logrank_test", "multivariate_logrank_test"), "dp.log_rank_test"),
    **dict.fromkeys(("calibration_curve", "reliability"), "dp.statistics.Reliability"),
}


def _missing(name: str) -> str:
    """Return the message for a name that is not here, with the name that may be meant."""
    told = f"module 'dpcore' has no attribute {name!r}"
    if name.startswith("_"):
        return told
    near = _NEAR.get(name)
    if near is None:
        from difflib import get_close_matches

        alike = get_close_matches(name, __all__, 1, 0.75)
        near = f"dp.{alike[0]}" if alike else None
    return told if near is None else f"{told}: did you mean {near}?"


def __getattr__(name: str) -> _Any:
    if name in _MODULES or any(name in names for names in _HOMES.values()):
        _check_version()
    if name in _MODULES:
        member: _Any = _importlib.import_module(f"dpcore.{_MODULES[name]}")
    else:
        home = next((module for module, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(_missing(name))
        member = getattr(_importlib.import_module(f"dpcore.{home}"), name)
    globals()[name] = member  # so that Python asks only once
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
