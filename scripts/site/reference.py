"""What the reference has: its pages, and the public names on each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple


class Page(NamedTuple):
    """A page of the reference: names of a module, in the order in which they are shown."""

    file: str
    title: str
    text: str
    module: str
    names: tuple[str, ...]

    def paths(self) -> list[str]:
        """Return the full names."""
        return [f"{self.module}.{name}" for name in self.names]

    def markdown(self) -> str:
        """Return the page, for mkdocstrings to fill in."""
        objects = "\n\n".join(f"::: {path}" for path in self.paths())
        return f"# {self.title}\n\n{self.text}\n\n{objects}\n"


def _page(file: str, title: str, text: str, module: str, names: str) -> Page:
    return Page(file, title, text, module, tuple(names.split()))


PAGES: Final = (
    _page(
        "releases",
        "Releases",
        "Functions that spend privacy: they take records, or counts of records, and return a"
        " result to which noise has been added. All that is read off the result is free.",
        "dpcore",
        "cdf count counts mean quantiles bounds box_plot roc_curve score_curves hosmer_lemeshow"
        " classwise_calibration residual_plot survival cumulative_incidence survival_scores table"
        " project compact_bounds symmetric_bounds cdf_from_counts score_curves_from_counts"
        " survival_from_counts table_from_counts project_sums",
    ),
    _page(
        "grids",
        "Grids and counts",
        "A grid is public: it says at which thresholds a curve is known. Counts of chunks add up.",
        "dpcore",
        "Grid TableGrid group_counts score_counts survival_counts top_label polynomial_sums"
        " PolynomialSums sql",
    ),
    _page(
        "results",
        "Curves and other results",
        "What releases return. Nothing here spends privacy.",
        "dpcore",
        "CDF GroupedCDF Count Counts Mean Quantiles Bounds BoxPlot ScoreCurves GroupedScores Table"
        " ResidualPlot Survival GroupedSurvival CumulativeIncidence"
        " GroupedCumulativeIncidence Projection"
        " Interval load",
    ),
    _page(
        "working-with-curves",
        "Working with curves",
        "Functions of released curves. Nothing here spends privacy.",
        "dpcore",
        "combine average compare Comparison chi_square_test goodness_of_fit two_sample_test"
        " log_rank_test restricted_mean_difference RestrictedMeanDifference"
        " equivalence_test DistributionTest pairwise_tests PairwiseTests interval"
        " simultaneous_band smooth Smoothing report",
    ),
    _page(
        "distances",
        "Distances",
        "How far two released curves are apart.",
        "dpcore.curves.distances",
        "kolmogorov_smirnov earth_mover energy",
    ),
    _page(
        "budgets",
        "Budgets and guarantees",
        "What a release costs, what several cost together, and a cap on it.",
        "dpcore",
        "Budget BudgetError Privacy",
    ),
    _page(
        "privacy",
        "dpcore.privacy",
        "Conversions between epsilon, delta, rho and the deviation of noise, and composition."
        " `Budget`, `BudgetError` and `Privacy` are those of [Budgets and guarantees](budgets.md).",
        "dpcore.privacy",
        "Charge composed Losses ShiftedNoise gaussian_sigma gaussian_delta discrete_gaussian_delta"
        " zcdp_epsilon zcdp_delta zcdp_rho shuffled local_epsilon subsampled double_above"
        " Neighbours Relation",
    ),
    _page(
        "choosing",
        "Choosing a grid and a mechanism",
        "From public numbers alone, before anything is spent.",
        "dpcore",
        "suggest Suggestion plan Plan",
    ),
    _page(
        "mechanisms",
        "dpcore.mechanisms",
        "What adds the noise. `dpcore.cdf` chooses one, or takes the one that it is given.",
        "dpcore.mechanisms",
        "Hierarchy Histogram ToeplitzGaussian Dawa Dyadic PolynomialProjection HistogramQueries"
        " AdaptiveQuantiles NoNoise Mechanism Released exponential_mechanism above_threshold"
        " from_curve with_simulated_deviation",
    ),
    _page(
        "testing",
        "dpcore.testing",
        "For those who write a mechanism or a trust model of their own.",
        "dpcore.testing",
        "check_mechanism check_trust_model",
    ),
    _page(
        "statistics",
        "dpcore.statistics",
        "What is read off released curves: ROC curves, calibration, tests, inequality.",
        "dpcore.statistics",
        "ROC GroupedROC auc_difference_interval population_auc_difference_interval"
        " Reliability reliability ClasswiseCalibration Bins uniform_bins equi_depth_bins"
        " expected_calibration_error expected_calibration_error_interval"
        " population_expected_calibration_error_interval maximum_calibration_error HosmerLemeshow"
        " HosmerLemeshowUnderNoise ScoreHistogram BinormalROC HistogramBinning BayesianBinning"
        " IsotonicCalibration symmetric_difference residual_plot_distance ResidualMoments"
        " interquartile_range interquartile_range_interval quantile_ratio quantile_ratio_interval"
        " trimmed_mean conditional_mean lorenz_curve gini SurvivalScores RatesAtTime"
        " RiskCalibration",
    ),
    _page(
        "classifier",
        "dpcore.statistics.classifier",
        "Metrics of a classifier at thresholds, read off released curves of scores.",
        "dpcore.statistics.classifier",
        "Confusion confusion accuracy precision recall f1 precision_interval recall_interval"
        " population_precision_interval population_recall_interval",
    ),
    _page(
        "models",
        "dpcore.models",
        "Private regression models, as estimators of scikit-learn.",
        "dpcore.models",
        "LogisticRegression LinearRegression",
    ),
    _page(
        "trust",
        "dpcore.trust: trust models",
        "Where the noise is made, and so who has to be trusted. A trust model goes wherever a"
        " mechanism does.",
        "dpcore.trust",
        "Central SecureAggregation DistributedNoise Local Shuffled SquareWave FunctionSharing"
        " client_cdf client_score_curves adapted_grid adapted_cdf"
        " overview Overview TrustOption advise Advice enough Enough"
        " UnaryEncoding SubsetSelection SquareWaveEncoding"
        " TrustModel Round Sums Memory trust_models",
    ),
    _page(
        "protocols",
        "dpcore.trust: clients and servers",
        "The protocols for which the trust models stand: reports are bytes.",
        "dpcore.trust",
        "Protocol agree Client cell_of Enrolment Ticket Server PartialSum VectorSum combine Answer"
        " Opened opened release release_scores release_survival release_sum ReleasedSum vector_sum"
        " projection hosmer_lemeshow linear_regression reliability residual_moments ReportError"
        " RoundError PointwiseCDF PointwiseClient Aggregator FunctionServers SharedVectors"
        " SimulatedSum",
    ),
    _page(
        "functions",
        "dpcore.trust.functions",
        "Functions of a record that clients and servers can sum, and their bounds.",
        "dpcore.trust.functions",
        "One Step Identity Groups Polynomials ProjectionSums RegressionSums ResidualSums"
        " RiskGroupSums Vector"
        " Product Together Coarse Box Ball Simplex Bound Function function_from",
    ),
    _page(
        "comparison",
        "dpcore.trust.comparison",
        "Keys of shared step functions, as arrays.",
        "dpcore.trust.comparison",
        "gen evaluate evaluate_sum Keys key_bytes",
    ),
    _page(
        "noise",
        "dpcore.noise",
        "Exact integer noise from a cryptographic source, or from a generator for studies.",
        "dpcore.noise",
        "discrete_laplace discrete_gaussian DiscreteLaplace DiscreteGaussian rounded_up",
    ),
    _page(
        "streams",
        "dpcore.streams",
        "Counts and curves that grow, released step by step, and their mechanisms.",
        "dpcore.streams",
        "RunningCount RunningCDF RunningScores AreaChange ConsistentTree BufferedToeplitz"
        " DyadicTree StreamMechanism CounterBusyError CounterClosedError",
    ),
    _page(
        "studies",
        "dpcore.studies",
        "Monte Carlo studies on any number of workers, in tables that grow.",
        "dpcore.studies",
        "study Study run load Results StudyError StudyWarning",
    ),
    _page(
        "files",
        "dpcore.files",
        "Columns of files that are larger than memory.",
        "dpcore.records.files",
        "column_batches record_batches Column Source Format Progress FileError",
    ),
    _page(
        "errors",
        "Errors and warnings",
        "All errors of dpcore, but for those of its modules.",
        "dpcore",
        "DpcoreError DtypeError ParameterError MissingValueError MissingExtraError FormatError"
        " EngineError ConvergenceError DpcoreWarning",
    ),
)


def contents() -> str:
    """Return the first page of the reference: all names, and where they are."""
    parts = ["# Reference", "", "Every public name; each is described in its docstring, too.", ""]
    for page in PAGES:
        names = ", ".join(f"[`{name}`][{page.module}.{name}]" for name in page.names)
        parts += [f"**[{page.title}]({page.file}.md)**", "", names, ""]
    return "\n".join(parts)


def command_line() -> str:
    """Return the page of the command line: the help of each command."""
    from dpcore.command_line.arguments import COMMANDS, parser

    whole = parser(COMMANDS)
    parts = ["# The command line", "", '`pip install "dpcore[cli]"` installs `dpcore`.', ""]
    parts += _fenced(whole.format_help())
    for name, command in _commands(whole):
        parts += [f"## dpcore {name}", "", *_fenced(command.format_help())]
    return "\n".join(parts)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _fenced(text: str) -> list[str]:
    return ["```text", *text.rstrip().split("\n"), "```", ""]
