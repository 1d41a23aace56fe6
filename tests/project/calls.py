"""Calls of public functions, classes and methods that succeed, with their arguments by name."""

from __future__ import annotations

import inspect
import io
from fractions import Fraction

import numpy as np

import dpcore as dp
from dpcore import files, mechanisms, models, noise, privacy, studies, trust
from dpcore import statistics as st
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.medians import RecursiveMedians, recursive_medians, smooth_sensitivity
from dpcore.papers.priroc import score_curves_at_medians
from dpcore.papers.quantile_roc import quantile_roc
from dpcore.papers.smooth_auc import SmoothS
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.statistics import classifier
from dpcore.streams import RunningCount
from dpcore.trust import comparison
from dpcore.trust.models.unary import UnaryEncoding

CALLS = {}
CALLED = set()  # functions, classes and methods that have a call


def call(function, note="", of=None, /, **arguments):
    """Add a call. Parameters that are not named here have their defaults, and are tried, too.

    A call that is wrapped says of which public function, class or method it is.
    """
    named = function if hasattr(function, "__qualname__") else type(function).__call__
    name = named.__qualname__.replace("<lambda>", "") + note
    assert name not in CALLS, name
    CALLED.add(getattr(named if of is None else of, "__func__", named if of is None else of))
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is not parameter.empty and "factory" not in repr(parameter.default)
    }
    if "nan_policy" in defaults:
        defaults["nan_policy"] = "omit"
    CALLS[name] = function, defaults | arguments


def rng():
    return np.random.default_rng(1)


GRID = dp.Grid.uniform(0, 1, 8)
HALF = dp.Grid.uniform(0, 1, 4)
DAYS = dp.Grid.uniform(np.datetime64("2020-01-01"), np.datetime64("2020-12-31"), 8)
DAY = np.array(["2020-05-05"], "M8[D]")
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))
COUNTS = np.ones(8, int)
LABELS, SCORES = [0, 1, 1, 0, 1], [0.1, 0.2, 0.6, 0.7, 0.9]
RECORDS = {"y_true": LABELS, "y_score": SCORES}
BY_GROUPS = {"by": LABELS, "groups": [0, 1], "epsilon": 20.0}
MANY = {"y_true": LABELS * 20, "y_prob": SCORES * 20, "groups": 3, "epsilon": 1.0, "grid": GRID}
EXACT, DYADIC = mechanisms.NoNoise(), mechanisms.Dyadic(20.0)
PAIR = mechanisms.Dyadic(0.5), mechanisms.Hierarchy(0.5)
POLYNOMIAL = mechanisms.PolynomialProjection(rho=1.0, degree=3)
BOTH_AXES = {"predicted": SCORES, "residuals": SCORES, "epsilon": 1}

CURVE = dp.cdf(SCORES, GRID, EXACT, isotonic=False)
NOISY, OTHER = (
    dp.cdf(SCORES * 40, GRID, DYADIC, isotonic=False, rng=np.random.default_rng(seed))
    for seed in (1, 2)
)
TIMES = dp.cdf(np.repeat(DAY, 200), DAYS, epsilon=20.0, rng=rng())
GROUPED = dp.cdf(SCORES, GRID, epsilon=20.0, by=LABELS, groups=[0, 1], rng=rng())
TABLE = dp.table(SCORES, SCORES, CELLS, epsilon=20.0, rng=rng())
RESIDUALS = dp.residual_plot(SCORES, SCORES, epsilon=20.0, rng=rng())
SUMS = dp.polynomial_sums(SCORES, 0, 1, 3)
PROJECTION = dp.project(SCORES, 0, 1, rho=1.0, rng=rng())
CATEGORIES = dp.counts(LABELS * 20, [0, 1], epsilon=1.0, rng=rng())
MEAN = dp.mean(SCORES, (0, 1), epsilon=1.0, rng=rng())
OF_CLASSES = {"y_true": LABELS, "y_prob": np.c_[SCORES, SCORES[::-1]], "classes": [0, 1]}
CLASSWISE = dp.classwise_calibration(**OF_CLASSES, epsilon=1.0, rng=rng())
SMOOTHED = dp.smooth([1.0, 3.0, 2.0], 4)
CURVES = dp.score_curves(LABELS, SCORES, GRID, EXACT)
NOISY_CURVES = dp.score_curves(LABELS * 40, SCORES * 40, GRID, DYADIC, rng=rng())
TEST = st.HosmerLemeshow.from_curves(NOISY_CURVES, 3, mechanism=DYADIC)
ROC = st.ROC.from_curves(CURVES)
NOISY_ROC = st.ROC(NOISY_CURVES)
HISTOGRAM = st.ScoreHistogram.uniform(CURVES, 4)
BINORMAL = {"auc": 0.8, "n": 9, "privacy": dp.Privacy(1.0), "mechanism": {"name": "exact"}}

# --- grids, counts and curves

call(dp.Grid, thresholds=[1.0, 2.0], lower=0.0)
call(dp.Grid.uniform, lower=0, upper=1, size=4)
call(dp.Grid.integers, first=0, last=4)
call(dp.Grid.days, first="2024-01-01", last="2024-01-04")
call(dp.Grid.log, lower=1, upper=2, size=4)
call(GRID.count, values=SCORES)
call(DAYS.count, " of times", values=DAY)
call(dp.TableGrid, x=GRID, y=GRID)
call(dp.TableGrid.uniform, x_bounds=(0, 1), y_bounds=(0, 1), shape=(4, 2))
call(CELLS.count, x=SCORES, y=SCORES)
call(dp.group_counts, values=SCORES, by=LABELS, grid=GRID, groups=[0, 1])
call(dp.score_counts, **RECORDS, grid=GRID, pos_label=1)
DURATIONS = {"durations": SCORES, "event": LABELS, "event_label": 1, "grid": GRID}
call(dp.survival_counts, **DURATIONS)
call(dp.top_label, **OF_CLASSES)
call(dp.polynomial_sums, values=SCORES, lower=0, upper=1, degree=3)
call(dp.PolynomialSums, lower=0.0, upper=1.0, basis="legendre", sums=SUMS.sums)
call(CURVE, t=0.5)
call(TIMES, " of times", t=DAY[0])
call(CURVE.quantile, p=0.5, method="linear", level=0.9)
call(TIMES.quantile, " of times", p=0.5)
call(NOISY.quantile_interval, p=[0.5], method="linear")
call(NOISY.population_quantile_interval, p=0.5, method="inverted_cdf")
call(NOISY.mean_interval, level=0.9)
call(NOISY.population_mean_interval, level=0.9)
for of_ends in (NOISY.share, NOISY.share_interval, NOISY.population_share_interval):
    call(of_ends, lower=0.2, upper=[0.5, 0.7])
call(TIMES.share, " of times", upper=DAY)
call(NOISY.histogram, bins=[0.1, 0.6])
call(TIMES.histogram, " of times", bins=3)
call(GROUPED.histogram, bins=[0.1, 0.6])
call(NOISY.to_frame, level=0.9)
call(NOISY.smooth)
call(NOISY_CURVES.smooth)
call(CURVE.sample, size=3, method="linear")
call(CURVE.band, level=0.9)
call(dp.GroupedCDF, groups=("a",), curves=(CURVE,))
call(dp.GroupedScores, groups=("a",), curves=(NOISY_CURVES,))
call(NOISY_ROC.precision_recall_band, level=0.9)
for difference in (st.auc_difference_interval, st.population_auc_difference_interval):
    call(difference, first=ROC, second=NOISY_ROC)
call(st.GroupedROC, groups=("a",), curves=(ROC,))
call(dp.ScoreCurves, grid=GRID, joint=NOISY_CURVES.joint)
SURVIVAL = dp.survival(SCORES * 40, LABELS * 40, GRID, DYADIC, event_label=1, rng=rng())
call(dp.Survival, grid=GRID, row=SURVIVAL.row, mechanism=DYADIC)
call(dp.GroupedSurvival, groups=("a",), curves=(SURVIVAL,))
call(dp.GroupedSurvival(("a",), (SURVIVAL,)).to_frame, level=0.9)
call(SURVIVAL, t=[0.3, 0.5])
call(SURVIVAL.quantile, p=[0.1, 0.2])
call(SURVIVAL.restricted_mean, until=0.3)
call(SURVIVAL.band, level=0.9)
call(SURVIVAL.to_frame, level=0.9)
call(SURVIVAL.interval, t=[0.3, 0.5], level=0.9)
call(SURVIVAL.quantile_interval, p=0.1, level=0.9)
call(SURVIVAL.restricted_mean_interval, until=0.3, level=0.9)
KINDS = {"durations": SCORES * 40, "event": LABELS * 40, "kinds": [1], "grid": GRID}
INCIDENCE = dp.cumulative_incidence(**KINDS, mechanism=DYADIC, rng=rng())
call(dp.CumulativeIncidence, grid=GRID, kinds=(1,), row=INCIDENCE.row, mechanism=DYADIC)
call(INCIDENCE, t=[0.3, 0.5])
call(INCIDENCE.band)
call(INCIDENCE.to_frame)
call(dp.GroupedCumulativeIncidence, groups=("a",), curves=(INCIDENCE,))
call(dp.GroupedCumulativeIncidence(("a",), (INCIDENCE,)).to_frame)
SCORED = {"durations": SCORES * 40, "event": LABELS * 40, "scores": SCORES * 40}
FORETOLD = dp.survival_scores(
    **SCORED, grid=GRID, score_grid=GRID, mechanism=DYADIC, event_label=1, rng=rng()
)
call(st.SurvivalScores, grid=GRID, table=FORETOLD.table, mechanism=DYADIC)
call(FORETOLD.roc, until=0.3)
call(FORETOLD.auc, until=0.3)
call(FORETOLD.concordance_interval, level=0.9)
call(FORETOLD.auc_interval, until=0.3, level=0.9)
call(FORETOLD.calibration, until=0.3, bins=2, level=0.9)
call(FORETOLD.to_frame, until=0.3)
OTHERS = dp.survival(SCORES * 40, LABELS * 40, GRID, DYADIC, event_label=1, rng=rng())
call(dp.log_rank_test, first=SURVIVAL, second=OTHERS, simulations=19)
call(dp.restricted_mean_difference, first=SURVIVAL, second=OTHERS, until=0.3)
call(
    dp.ScoreCurves.from_classes,
    grid=dp.Grid.uniform(0, 1, 7),
    negatives=NOISY,
    positives=OTHER,
)
call(dp.Table, grid=CELLS, row=TABLE.row, integers=(True, None))
call(TABLE.marginal, axis="x")
call(TABLE.conditional, axis="x", lower=0.1, upper=0.7)
call(TABLE.conditional_quantiles, axis="x", p=0.5)
call(TABLE.sample, size=3)
call(dp.BoxPlot.from_sample, sample=SCORES)
call(dp.BoxPlot.from_curve, curve=CURVE, size=5)
call(
    dp.ResidualPlot,
    table=RESIDUALS.table,
    points=RESIDUALS.points,
    privacy=RESIDUALS.privacy,
)
call(RESIDUALS.quantiles, p=[0.5])
call(PROJECTION.curve, grid=GRID)
call(PROJECTION.moments, order=2)
call(PROJECTION.moment_errors, order=2)
for stored in (NOISY, GROUPED, TABLE, RESIDUALS, PROJECTION, NOISY_CURVES):
    call(type(stored).from_json, f", {type(stored).__name__}", text=stored.to_json())
call(dp.GroupedCDF.from_arrow, table=GROUPED.to_arrow())
for distance in ("kolmogorov_smirnov", "earth_mover", "energy"):
    call(getattr(dp.distances, distance), first=SCORES, second=CURVE)
call(dp.compare, first=CURVE, second=NOISY, probabilities=[0.5], simulations=19)
for test, given in (
    (dp.two_sample_test, {}),
    (dp.equivalence_test, {"margin": 0.5}),
):
    call(
        test,
        first=NOISY,
        second=OTHER,
        **given,
        statistic="wasserstein",
        mechanism=DYADIC,
        simulations=19,
    )
call(
    dp.pairwise_tests,
    curves=GROUPED,
    statistic="kuiper",
    reference=1,
    mechanism=None,
    simulations=19,
)
call(dp.report, results=MEAN, level=0.9)
call(dp.chi_square_test, counts=CATEGORIES, other=[0.5, 0.5], simulations=19)
call(dp.Count(5, 1.5, dp.Privacy(1.0, neighbours="add-or-remove-one")).interval, level=0.9)
call(CATEGORIES.interval, level=0.9)
DRAWN = dp.quantiles(SCORES, [0.5], GRID, epsilon=1.0, neighbours="add-or-remove-one")
call(DRAWN.interval, level=0.9, n=5)
call(DRAWN.population_interval, level=0.9, n=5)
call(DRAWN.probability_interval, level=0.9, n=5)
for known in (
    DRAWN,
    CATEGORIES,
    dp.Count(5, 1.5, dp.Privacy(1.0, neighbours="add-or-remove-one")),
    MEAN,
    NOISY_ROC,
    st.GroupedROC(("a",), (NOISY_ROC,)),
    st.reliability(NOISY_CURVES),
    dp.trust.vector_sum(SCORES, dp.trust.functions.One(), dp.trust.Central(epsilon=1.0)),
):
    call(known.to_frame, f" of a {type(known).__name__}", level=0.9)
call(MEAN.interval, level=0.9)
call(MEAN.population_interval, level=0.9, deviation=0.3)
call(
    dp.goodness_of_fit,
    curve=NOISY,
    law=lambda thresholds: np.linspace(0, 1, thresholds.size),
    statistic="kuiper",
    mechanism=DYADIC,
    simulations=19,
)
call(
    lambda curves, level, of, mechanism, replicates, rng: dp.interval(
        curves, dp.CDF.mean, level, of=of, mechanism=mechanism, replicates=replicates, rng=rng
    ),
    "interval",
    dp.interval,
    curves=NOISY,
    level=0.9,
    of="population",
    mechanism=DYADIC,
    replicates=2,
    rng=None,
)
call(
    dp.simultaneous_band,
    curve=NOISY,
    level=0.9,
    of="population",
    mechanism=DYADIC,
    replicates=2,
    rng=None,
)
call(NOISY.band_of_deviations, width=2.0, sampling=1.0)
call(dp.combine, curves=[NOISY, OTHER], weights=[1, 2])
call(dp.combine, " of durations", curves=[SURVIVAL, OTHERS])
call(dp.average, curves=[NOISY, OTHER])
call(dp.smooth, noisy_cumulative=[1.0, 3.0, 2.0], n=4, at=[0, 2], workers=1)
call(dp.smooth, " by OSQP", noisy_cumulative=[1.0, 3.0, 2.0], n=4, norm=1, solver="osqp")
call(
    lambda matrix, lower, upper: dp.smooth(
        [1.0, 3.0, 2.0], 4, solver="osqp", constraints=(matrix, lower, upper)
    ),
    "smooth under constraints",
    dp.smooth,
    matrix=[[1, 0, 0]],
    lower=[0],
    upper=[1],
)
call(SMOOTHED.is_optimal, tolerance=1e-4)
call(SMOOTHED.reshaped, shape=(1, 1))

# --- releases

call(dp.cdf, values=SCORES, grid=GRID, epsilon=1.0)
call(dp.cdf, " by groups", values=SCORES, grid=GRID, by=LABELS, groups=[0, 1], epsilon=20.0)
call(dp.cdf_from_counts, counts=COUNTS, grid=GRID, integers=True, epsilon=1.0)
call(dp.score_curves, **RECORDS, grid=GRID, pos_label=1, epsilon=1.0)
call(dp.score_curves, " by groups", **RECORDS, **BY_GROUPS, grid=GRID)
call(dp.score_curves, " class by class", **RECORDS, grid=GRID, mechanism=PAIR, pos_label=1)
call(dp.score_curves_from_counts, counts=np.ones(16, int), grid=GRID, epsilon=1.0)
call(
    dp.score_curves_from_counts,
    " class by class",
    counts=np.ones(16, int),
    grid=GRID,
    mechanism=PAIR,
)
call(score_curves_at_medians, **RECORDS, epsilon=1.0, depth=2, grid=GRID)
call(dp.roc_curve, **RECORDS, epsilon=1.0)
call(dp.roc_curve, " by groups", **RECORDS, **BY_GROUPS, grid=GRID)
call(quantile_roc, **RECORDS, epsilon=1.0, quantiles=4, branching=2, pos_label=1)
call(smooth_roc_curve, **RECORDS, epsilon=1.0, pos_label=1)
call(dp.hosmer_lemeshow, **MANY, fitted=True, pos_label=1)
call(hosmer_lemeshow_by_groups, **MANY)
call(dp.survival, **DURATIONS, epsilon=1.0)
call(dp.cumulative_incidence, **KINDS, epsilon=1.0)
call(dp.cumulative_incidence, " between bounds", **KINDS | {"grid": (0, 1)}, epsilon=1.0)
call(dp.survival, " between bounds", **DURATIONS | {"grid": (0, 1)}, epsilon=1.0)
call(dp.survival_scores, **SCORED, grid=GRID, score_grid=GRID, event_label=1, epsilon=1.0)
call(dp.survival_scores, " between bounds", **SCORED, grid=(0, 1), event_label=1, epsilon=1.0)
call(dp.survival_from_counts, counts=np.ones(16, int), grid=GRID, epsilon=1.0)
call(dp.table, x=SCORES, y=SCORES, grid=CELLS, integers=(None, True), epsilon=1.0)
call(dp.table_from_counts, counts=np.ones((4, 2), int), grid=CELLS, integers=True, epsilon=1.0)
call(
    dp.table_from_counts,
    " by a mechanism",
    counts=np.ones((4, 2), int),
    grid=CELLS,
    mechanism=mechanisms.Hierarchy(1.0),
)
call(dp.bounds, values=SCORES * 99, epsilon=1, outside=5)
call(dp.symmetric_bounds, values=SCORES, epsilon=1, unit=1.0, coverage=0.9, doublings=9)
call(dp.compact_bounds, values=SCORES, epsilon=1, unit=1.0, gain=0.1)
call(dp.residual_plot, **BOTH_AXES, unit=(1.0, 2.0), predicted_range=(0, 1), cells=2)
call(
    dp.residual_plot,
    " of a paper",
    **BOTH_AXES,
    cells=(2, 3),
    mechanism=mechanisms.Dawa,
    search="sparse-vector",
)
call(dp.quantiles, values=SCORES, probabilities=[0.5], grid=GRID, epsilon=1.0)
call(quantiles_from_counts, counts=COUNTS, probabilities=[0.5], grid=GRID, epsilon=1.0)
call(recursive_medians, values=SCORES, grid=GRID, epsilon=1.0, depth=2)
call(dp.box_plot, values=SCORES, grid=GRID, epsilon=1.0)
call(dp.count, values=SCORES, epsilon=1.0)
call(dp.counts, values=LABELS, categories=[0, 1], epsilon=1.0)
call(dp.mean, values=SCORES, bounds=(0, 1), epsilon=1.0)
call(dp.classwise_calibration, **OF_CLASSES, grid=GRID, epsilon=1.0)
call(CLASSWISE.expected_calibration_error_interval, level=0.9)
call(CLASSWISE.ratio_interval, level=0.9)
call(CLASSWISE.population_ratio_interval, level=0.9)
call(CLASSWISE.to_frame, level=0.9)
call(dp.project, values=SCORES, lower=0, upper=1, epsilon=1.0, delta=1e-6)
call(dp.project_sums, sums=SUMS, mechanism=POLYNOMIAL)

# --- budgets and plans


def budget(epsilon=1.0, rho=None, delta=None, neighbours="replace-one", composition="basic"):
    how = {"neighbours": neighbours, "composition": composition}
    return dp.Budget(epsilon, rho=rho, delta=delta, **how)


call(budget, "", dp.Budget)
call(
    lambda releases: budget().affordable(releases),
    "Budget.affordable",
    dp.Budget.affordable,
    releases=3,
)
call(
    lambda privacy, what: budget().charge(privacy, what),
    "Budget.charge",
    dp.Budget.charge,
    privacy=dp.Privacy(1.0),
    what="release",
)


def labelled(label):
    with budget().label(label) as entered:
        return entered.cap


call(labelled, "Budget.label", dp.Budget.label, label="weekly")
call(dp.Budget.open, path="budget", epsilon=1.0)
call(dp.Privacy, epsilon=1.0)
call(dp.Privacy, " of rho", rho=0.5, delta=1e-9)
call(dp.Privacy, " of both", epsilon=1.0, delta=1e-9, rho=0.1)
call(dp.Privacy(rho=1.0).epsilon_at, delta=0.1)
call(dp.Privacy(1.0).implied, neighbours="replace-one")
call(dp.plan, size=100, epsilon=1.0)
call(dp.suggest, n=1000, lower=0, upper=1, epsilon=1.0, error=0.1, unit="values", integers=True)
call(privacy.composed, guarantees=[dp.Privacy(1.0)], delta=0.5)
SHIFTED = privacy.ShiftedNoise(dp.noise.DiscreteLaplace(2), 1)
call(privacy.ShiftedNoise, law=dp.noise.DiscreteLaplace(2), shift=1, count=2)
call(privacy.Losses, privacy=dp.Privacy(1.0), noise=(SHIFTED,))
call(privacy.double_above, exact=Fraction(1, 3))
call(privacy.gaussian_sigma, epsilon=1.0, delta=1e-5)
call(privacy.gaussian_delta, sigma=1.0, epsilon=1.0)
call(privacy.discrete_gaussian_delta, sigma_squared=1, epsilon=1.0)
call(privacy.zcdp_rho, epsilon=1.0, delta=1e-5)
call(privacy.shuffled, epsilon=1.0, clients=1000, delta=1e-5)
call(privacy.subsampled, privacy=dp.Privacy(1.0), sample=10, records=100)
call(privacy.local_epsilon, epsilon=1.0, clients=1000, delta=1e-5)
call(privacy.zcdp_epsilon, rho=1.0, delta=1e-5)
call(privacy.zcdp_delta, rho=1.0, epsilon=1.0)

# --- statistics

for reading in (
    classifier.confusion,
    classifier.accuracy,
    classifier.precision,
    classifier.recall,
    classifier.f1,
    classifier.precision_interval,
    classifier.recall_interval,
    classifier.population_precision_interval,
    classifier.population_recall_interval,
):
    call(reading, curves=CURVES, t=0.5)
for of_curve in (st.interquartile_range, st.interquartile_range_interval, st.gini):
    call(of_curve, curve=NOISY)
for of_curve in (st.quantile_ratio, st.quantile_ratio_interval):
    call(of_curve, curve=NOISY, upper=0.9, lower=0.2)
call(st.trimmed_mean, curve=NOISY, lower=0.1, upper=0.9)
call(st.conditional_mean, curve=NOISY, lower=0.2, upper=0.8)
call(st.lorenz_curve, curve=NOISY, p=[0.2, 0.5])
for of_bins in (
    st.uniform_bins,
    st.equi_depth_bins,
    st.reliability,
    st.expected_calibration_error,
    st.maximum_calibration_error,
    st.expected_calibration_error_interval,
    st.population_expected_calibration_error_interval,
    st.HistogramBinning.fit,
    st.IsotonicCalibration.fit,
):
    call(of_bins, curves=CURVES, bins=3)
for of_bins in (
    st.expected_calibration_error,
    st.expected_calibration_error_interval,
    st.population_expected_calibration_error_interval,
):
    call(of_bins, " with a mechanism", curves=NOISY_CURVES, bins=4, mechanism=DYADIC)
call(st.BayesianBinning.fit, curves=CURVES, sizes=[1, 2])
call(st.BayesianBinning.fit(CURVES).predict, y_score=[0.5])
call(st.HistogramBinning.fit(CURVES, 3).predict, y_score=[0.5])
call(st.IsotonicCalibration.fit(CURVES).predict, y_score=0.5)
call(st.ScoreHistogram, curves=NOISY_CURVES, bins=st.uniform_bins(NOISY_CURVES, 2))
call(st.ScoreHistogram.uniform, curves=CURVES, buckets=4)
call(st.ScoreHistogram.quantile, curves=CURVES, buckets=4)
call(HISTOGRAM.nearest, t=[0.5])
call(HISTOGRAM.auc_interval, kind="worst-case")
call(st.ScoreHistogram.uniform(NOISY_CURVES, 4).auc_discretisation, kind="worst-case")
call(st.ROC.from_curves, curves=CURVES)
call(st.ROC.from_curves, " with a mechanism", curves=NOISY_CURVES, mechanism=DYADIC)
call(ROC.population_auc_interval, level=0.9)
call(ROC.auc_interval, level=0.9)
call(ROC.band, level=0.9)
call(ROC.band_of_deviations, width=2.0, sampling=1.0)
call(
    dp.simultaneous_band,
    " of a reliability table",
    curve=st.reliability(NOISY_CURVES, 4),
    mechanism=DYADIC,
    replicates=2,
)
call(
    dp.simultaneous_band,
    " of a ROC curve",
    curve=st.ROC.from_curves(NOISY_CURVES),
    mechanism=DYADIC,
    replicates=2,
    rng=None,
)
call(st.BinormalROC, **BINORMAL)
call(st.BinormalROC(**BINORMAL), fpr=[0.5])
call(st.symmetric_difference, first=ROC, second=ROC)
call(st.HosmerLemeshow.from_curves, curves=NOISY_CURVES, groups=3)
call(TEST.under_noise, replicates=3)
call(
    st.residual_plot_distance,
    first=RESIDUALS,
    second=RESIDUALS.points,
    cells=3,
    margin=0.1,
)

# --- mechanisms and noise

call(mechanisms.Hierarchy, epsilon=1.0, branching=(2, 2))
call(mechanisms.Histogram, epsilon=1.0)
call(mechanisms.Dyadic, epsilon=1.0)
call(mechanisms.ToeplitzGaussian, rho=0.5)
call(mechanisms.Dawa, epsilon=1.0)
call(mechanisms.AdaptiveQuantiles, steps=3, epsilon=1.0)
call(mechanisms.HistogramQueries, bins=3, epsilon=1.0)
call(mechanisms.PolynomialProjection, degree=3, rho=1.0)
call(POLYNOMIAL.release_totals, sums=SUMS.sums)
call(
    mechanisms.AdaptiveQuantiles(rho=1.0, steps=3).release_from_sites,
    counts=np.ones((2, 8), int),
)
call(mechanisms.Dawa(1.0).release_with_deviation, counts=COUNTS)
call(
    mechanisms.Dawa(1.0).simulated_noise,
    ", by Dawa",
    size=8,
    replicates=2,
    rng=rng(),
    knots=np.array([3, 7]),
    n=40,
)
call(mechanisms.Histogram(1.0).simulated_noise, size=8, replicates=2, rng=rng())
call(SmoothS(1.0).release, counts=COUNTS, replicates=2)
call(RecursiveMedians(1.0).choose, counts=COUNTS)
call(mechanisms.exponential_mechanism, scores=[1, 2], epsilon=1.0, sensitivity=1)
call(
    mechanisms.above_threshold,
    queries=[1, 2],
    threshold=1,
    epsilon=1.0,
    sensitivity=1,
    replicates=3,
)
call(mechanisms.with_simulated_deviation, curve=CURVE, mechanism=EXACT, replicates=2)
call(
    mechanisms.with_simulated_deviation,
    " of noise",
    curve=NOISY,
    mechanism=DYADIC,
    replicates=2,
    rng=rng(),
)
call(mechanisms.from_curve, curve=NOISY)
call(smooth_sensitivity, values=SCORES, lower=0, upper=1, beta=0.5)
call(noise.rounded_up, exact=Fraction(1, 3), bits=31)
call(noise.DiscreteGaussian, sigma_squared=Fraction(1))
call(noise.DiscreteLaplace, scale=Fraction(1))
call(noise.discrete_laplace, scale=1, size=2)
call(noise.discrete_gaussian, sigma_squared=1, size=2)

# --- streams


def running_count(horizon=10, epsilon=1.0, rho=None, neighbours=None, delta=None):
    budget = {"epsilon": epsilon, "rho": rho, "neighbours": neighbours, "delta": delta}
    return RunningCount(horizon, **budget)


def resumed(path):
    """Resume a count, which is saved first, if it can be at that place."""
    if isinstance(path, str) and path == "count":
        running_count().save(path)
    return RunningCount.resume(path)


# The stream is made first, each time.
PAID_BEFORE = {"add", "extend", "RunningCDF.add", "RunningCDF.add_counts"}
PAID_BEFORE |= {"RunningScores.add", "RunningScores.add_counts", "change"}
call(running_count, "", RunningCount)
call(lambda increment: running_count().add(increment), "add", RunningCount.add, increment=1)
call(
    lambda increments: running_count().extend(increments),
    "extend",
    RunningCount.extend,
    increments=[1],
)
call(running_count().save, path="count")
call(resumed, "", RunningCount.resume, path="count")

# --- trust

LOCAL = trust.Local(1.0, clients=5)
ADDED = trust.DistributedNoise(1.0, clients=5)
PROTOCOL = trust.Protocol(ADDED, 8, b"0" * 16, servers=2)
FUNCTIONS = trust.Protocol(trust.FunctionSharing(1.0), 8, b"0" * 16)
VECTOR = sum(trust.Client(PROTOCOL).vector(1) for _ in range(5))
SUM = trust.SimulatedSum(COUNTS, trust.SecureAggregation())
KEYS, _ = comparison.gen([1, 2], 3)
CLIENTS = {"client_ids": [1, 2, 3, 4, 5], "grid": GRID, "trust": trust.Central(1.0), "clients": 9}


def function_servers():
    servers = [trust.Server(FUNCTIONS, place=place) for place in (0, 1)]
    for server, report in zip(servers, trust.Client(FUNCTIONS).report(1), strict=True):
        server.add(report)
    trust.agree(servers)
    return servers


def partial_sums():
    servers = [trust.Server(PROTOCOL), trust.Server(PROTOCOL)]
    for _ in range(5):
        for server, report in zip(servers, trust.Client(PROTOCOL).report(1), strict=True):
            server.add(report)
    trust.agree(servers)
    return [server.close() for server in servers]


def pointwise_client():
    return trust.PointwiseClient(ADDED, 8, 3)


ANSWERS = [server.answer([1, 2]) for server in function_servers()]
PARTIAL_SUMS = partial_sums()

call(trust.Central, epsilon=1.0)
call(trust.DistributedNoise, epsilon=1.0, clients=9, dropout=0.1, branching=(2, 4))
call(trust.Local, epsilon=1.0, clients=9)
call(LOCAL.estimated_deviation, released=np.ones(8))
call(trust.Shuffled, epsilon=1.0, delta=1e-3, clients=9)
SHUFFLED = trust.Shuffled(1.0, 1e-3, clients=8)
call(SHUFFLED.local, size=8)
call(SHUFFLED.estimated_deviation, released=np.ones(8))
call(trust.SquareWave, epsilon=1.0, clients=9, resolution=64)
call(trust.SecureAggregation)
call(trust.FunctionSharing, epsilon=1.0)
call(trust.Protocol, trust=LOCAL, size=8, round_id=b"0" * 16)
call(PROTOCOL.mechanism, reports=5)
call(trust.Client, protocol=PROTOCOL)
call(
    lambda cells: trust.Client(PROTOCOL).report(cells),
    "Client.report",
    trust.Client.report,
    cells=1,
)
call(
    lambda cells: trust.Client(PROTOCOL).vector(cells),
    "Client.vector",
    trust.Client.vector,
    cells=1,
)
call(trust.VectorSum, protocol=PROTOCOL, total=VECTOR, reports=5, simulated=False)
call(trust.Server, protocol=PROTOCOL)
call(trust.Server, " of functions", protocol=FUNCTIONS, place=0)
call(trust.Server(PROTOCOL).add, report=trust.Client(PROTOCOL).report(1)[0])
call(
    lambda ids: trust.Server(PROTOCOL).settle(ids),
    "Server.settle",
    trust.Server.settle,
    ids=[],
)
call(trust.Server(PROTOCOL).merge, other=trust.Server(PROTOCOL))
call(trust.Server.from_bytes, data=trust.Server(PROTOCOL).to_bytes(), protocol=PROTOCOL)
call(
    lambda cells: function_servers()[0].answer(cells),
    "Server.answer",
    trust.Server.answer,
    cells=[1, 2],
)
call(trust.Answer.from_bytes, data=ANSWERS[0].to_bytes(), protocol=FUNCTIONS)
call(trust.opened, answers=ANSWERS)
call(trust.PartialSum.from_bytes, data=PARTIAL_SUMS[0].to_bytes(), protocol=PROTOCOL)
call(trust.agree, servers=[trust.Server(PROTOCOL), trust.Server(PROTOCOL)])
call(trust.combine, " of servers", sums=PARTIAL_SUMS)
call(trust.release, sums=PARTIAL_SUMS, grid=GRID)
call(trust.release_scores, sums=PARTIAL_SUMS, grid=HALF)
call(trust.release_survival, sums=PARTIAL_SUMS, grid=HALF)
call(trust.PointwiseClient, trust=ADDED, size=8, cell=3)
call(pointwise_client().vector, cells=[1, 7])
call(trust.FunctionServers, servers=function_servers())
call(trust.SharedVectors, clients=[pointwise_client() for _ in range(5)], servers=2)
call(trust.SimulatedSum, counts=[1, 4], trust=ADDED)
call(SUM.sum, cells=[1, 7])
call(trust.PointwiseCDF, aggregator=SUM, grid=GRID)
call(trust.PointwiseCDF(SUM, GRID), t=0.5)
call(trust.PointwiseCDF(SUM, GRID).counts_at, t=[0.5])
call(trust.PointwiseCDF(SUM, GRID).noise_at, t=[0.5])
call(trust.PointwiseCDF(SUM, GRID).quantile, p=0.5, method="linear")
call(comparison.gen, values=[1, 2], bits=3)
call(comparison.evaluate, keys=KEYS, thresholds=[1, 2])
call(comparison.evaluate_sum, keys=KEYS, thresholds=[1, 2])
call(comparison.Keys.from_packed, packed=KEYS.packed, bits=3, party=0)
call(comparison.key_bytes, bits=3)
call(trust.cell_of, score=0.5, grid=GRID)
call(trust.cell_of, " of a duration", score=0.5, grid=GRID, event=True)
ROUNDS = [dp.cdf_from_counts(COUNTS * 500, GRID, trust.Local(4.0, clients=4000)) for _ in "12"]
call(trust.adapted_grid, first=ROUNDS[0], trust=LOCAL)
call(trust.adapted_cdf, first=ROUNDS[0], second=ROUNDS[1])
call(trust.client_cdf, values=SCORES, **CLIENTS)
call(trust.client_cdf, " locally", values=SCORES, **CLIENTS | {"trust": LOCAL, "clients": None})
call(trust.client_cdf, " of shares", values=SCORES, **CLIENTS | {"trust": ADDED, "clients": None})
call(trust.client_score_curves, **RECORDS, **CLIENTS, pos_label=1)
call(trust.advise, clients=1000, epsilon=1.0, model="local")
call(trust.overview, clients=1000, grid=64, epsilon=1.0, delta=1e-6)
call(trust.enough, clients=1000, epsilon=1.0, model="local", error=0.1, purpose="metrics")
call(trust.Enrolment, key=b"0" * 32)
call(trust.Ticket.from_bytes, data=b"0" * 48)
UNARY, WAVE = UnaryEncoding(1.0), trust.SquareWaveEncoding(1.0, 8)
SUBSET = trust.SubsetSelection(1.0, 8)
call(UnaryEncoding, epsilon=1.0)
call(UNARY.perturb, values=[1, 2], size=3)
call(UNARY.perturbed_totals, counts=COUNTS, reports=8)
call(UNARY.simulated_totals, counts=COUNTS, reports=8, rng=rng())
call(UNARY.totals, reports=np.ones((2, 1), np.uint64), size=3)
call(UNARY.estimates, totals=[1, 2], reports=3)
call(UNARY.variance, reports=8, count=0)
call(trust.SubsetSelection, epsilon=1.0, size=8)
call(SUBSET.perturb, values=[1, 2])
call(SUBSET.perturbed_totals, counts=COUNTS)
call(SUBSET.simulated_totals, counts=COUNTS, rng=rng())
call(SUBSET.totals, reports=np.ones((2, 1), np.uint64))
call(SUBSET.estimates, totals=COUNTS)
call(SUBSET.variance, reports=8, count=0)
call(trust.SquareWaveEncoding, epsilon=1.0, size=8)
call(WAVE.perturb, cells=[1, 2])
call(WAVE.perturbed_totals, counts=COUNTS)
call(WAVE.simulated_totals, counts=COUNTS, rng=rng())
call(WAVE.totals, reports=[1, 2])
call(WAVE.reconstruct, totals=WAVE.totals([1, 2]))

# --- what all mechanisms and models of trust do

ALL = [
    mechanisms.AdaptiveQuantiles(rho=1.0, steps=3),
    mechanisms.Dawa(1.0),
    mechanisms.Dyadic(1.0),
    mechanisms.Hierarchy(1.0),
    mechanisms.Histogram(1.0),
    mechanisms.HistogramQueries(rho=1.0, bins=4),
    EXACT,
    POLYNOMIAL,
    mechanisms.ToeplitzGaussian(rho=1.0),
    trust.Central(1.0),
    trust.DistributedNoise(1.0, clients=8),
    trust.FunctionSharing(1.0),
    trust.Local(1.0, clients=8),
    trust.SecureAggregation(),
    SHUFFLED,
    trust.SquareWave(1.0, clients=8, resolution=16),
]
OF_A_SIZE = """answer_deviation branching_for encodings ends least_mean_squared_error least_variance
levels losses_for mean_squared_error noise noise_deviation noise_scale polynomial_deviation
privacy_for questions shares shares_for tree variance"""
for mechanism in ALL:
    kind = type(mechanism).__name__
    call(mechanism.release, f" of {kind}", counts=COUNTS)
    for method in OF_A_SIZE.split():
        if hasattr(mechanism, method) and (kind, method) != ("PolynomialProjection", "noise"):
            call(getattr(mechanism, method), f" of {kind}", size=8)

# --- models, whose arguments X and y scikit-learn checks

X, Y = [[0.1], [0.4], [0.9]] * 40, [0, 1, 1] * 40


def linear(epsilon=9.0, X=X, y=Y, x_bounds=(0, 1), y_bounds=(0, 1), alpha=1.0, **how):
    bounds = {"x_bounds": x_bounds, "y_bounds": y_bounds}
    return models.LinearRegression(epsilon, **bounds, alpha=alpha, rng=rng(), **how).fit(X, y)


def logistic(epsilon=9.0, X=X, y=Y, x_bounds=(0, 1), classes=(0, 1), C=1.0, **how):
    bounds = {"x_bounds": x_bounds, "classes": classes}
    return models.LogisticRegression(epsilon, **bounds, C=C, rng=rng(), **how).fit(X, y)


call(linear, "", models.LinearRegression, fit_intercept=True, method="moments")
call(linear().predict, X=X)
call(logistic, "", models.LogisticRegression, fit_intercept=True, method="objective")
call(logistic().predict, X=X)
call(logistic().predict_proba, X=X)
call(logistic().decision_function, X=X)

# --- studies and files

STUDY = studies.Study(lambda n, rng: {"x": rng.random()}, {"n": [1, 2]})
RESULTS = studies.run(STUDY, replicates=2, seed=1)


def decorated(parameters, batch=None):
    return studies.study(parameters, batch=batch)(lambda n, rng: {"x": n})


def ran(study=STUDY, replicates=1, seed=1, workers=1, progress=False, out=None):
    how = {"workers": workers, "progress": progress, "out": out}
    return studies.run(study, replicates=replicates, seed=seed, **how)


def loaded(out):
    """Load a study, which is run into its folder first, if it can be one."""
    if isinstance(out, str) and out == "study":
        studies.run(STUDY, replicates=1, seed=1, out=out)
    return studies.load(out)


def batches(source=None, column="x", format="csv", delimiter=",", unit=None):  # noqa: A002
    source = io.BytesIO(b"x,y\n1,2\n") if source is None else source
    told = {"format": format, "delimiter": delimiter, "unit": unit}
    return list(files.column_batches(source, column, **told))


def columns(name, holds):
    wanted = [files.Column(name, holds)]
    return list(files.record_batches(io.BytesIO(b"x\n1\n"), wanted, format="csv"))


call(studies.Study, function=lambda n, rng: {"x": n}, parameters={"n": [1, 2]})
call(decorated, "", studies.study, parameters={"n": [1, 2]})
call(lambda n: studies.Study(lambda n, rng: {"x": n}, {"n": n}), "parameter", n=[1, 2])
call(STUDY.over, n=[1, 2])
call(
    lambda call, seed, n: STUDY.replay(call, seed, n=n),
    "replay",
    studies.Study.replay,
    call=0,
    seed=1,
    n=2,
)
call(ran, "", studies.run)
call(loaded, "", studies.load, out="study")
call(studies.Results, table=RESULTS.table)
call(
    lambda quantity, n: RESULTS.array(quantity, n=n),
    "array",
    studies.Results.array,
    quantity="x",
    n=1,
)
call(RESULTS.summary, level=0.9, quantiles=[0.5])
call(batches, "", files.column_batches)
call(columns, "", files.record_batches, name="x", holds="numbers")

# --- pictures


def drawn(plot):
    """Return a function that plots, and closes the picture."""

    def plotted(**arguments):
        from matplotlib import pyplot

        try:
            plot(**arguments)
        finally:
            pyplot.close("all")

    plotted.__qualname__, plotted.__signature__ = plot.__qualname__, inspect.signature(plot)
    return plotted


PICTURED = (
    NOISY,
    GROUPED,
    st.ROC.from_curves(NOISY_CURVES),
    st.GroupedROC(("a",), (NOISY_ROC,)),
    st.reliability(NOISY_CURVES),
    TEST,
    RESIDUALS,
    SURVIVAL,
    dp.GroupedSurvival(("a",), (SURVIVAL,)),
    dp.GroupedCumulativeIncidence(("a",), (INCIDENCE,)),
    TABLE,
    INCIDENCE,
    FORETOLD,
    dp.BoxPlot.from_curve(NOISY),
    CLASSWISE,
)
for released in PICTURED:
    call(drawn(released.plot), "", type(released).plot)
call(
    drawn(st.ROC.from_curves(NOISY_CURVES).plot_precision_recall),
    "",
    st.ROC.plot_precision_recall,
)
