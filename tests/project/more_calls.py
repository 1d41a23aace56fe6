"""More public functions and methods, with arguments that they take; see test_bad_arguments."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np

import dpcore as dp
from dpcore import files, mechanisms, models, noise, privacy, studies, trust
from dpcore import statistics as st
from dpcore.statistics import classifier
from dpcore.streams import RunningCount

GRID = dp.Grid.uniform(0, 1, 8)
DAYS = dp.Grid.uniform(np.datetime64("2020-01-01"), np.datetime64("2020-12-31"), 8)
LABELS, SCORES = [0, 1, 1, 0, 1], [0.1, 0.2, 0.6, 0.7, 0.9]
COUNTS = np.ones(8, int)
SEED = 1


def rng():
    return np.random.default_rng(SEED)


NOISY = dp.cdf(SCORES * 40, GRID, mechanisms.Dyadic(20.0), isotonic=False, rng=rng())
TIMES = dp.cdf(np.array(["2020-05-05"] * 200, "M8[D]"), DAYS, epsilon=20.0, rng=rng())
CURVES = dp.score_curves(LABELS * 40, SCORES * 40, GRID, mechanisms.Dyadic(20.0), rng=rng())
PROJECTION = dp.project(SCORES * 40, 0, 1, rho=1.0, rng=rng())
TEST = st.HosmerLemeshow.from_curves(CURVES, 3, mechanism=mechanisms.Dyadic(20.0))
POLYNOMIAL = mechanisms.PolynomialProjection(rho=1.0, degree=3)
GUARANTEE = dp.Privacy(1.0)
STUDY = studies.Study(lambda n, rng: {"x": rng.random()}, {"n": [1, 2]})
X, Y = [[0.1], [0.4], [0.9]] * 40, [0, 1, 1] * 40
LINEAR = models.LinearRegression(9.0, x_bounds=(0, 1), y_bounds=(0, 1), rng=rng()).fit(X, Y)
LOGISTIC = models.LogisticRegression(9.0, x_bounds=(0, 1), rng=rng()).fit(X, Y)
RELEASES = {"counts": COUNTS, "rng": None, "replicates": None, "workers": None}
ALL = {
    "AdaptiveQuantiles": mechanisms.AdaptiveQuantiles(rho=1.0, steps=3),
    "Dawa": mechanisms.Dawa(1.0),
    "Dyadic": mechanisms.Dyadic(1.0),
    "Hierarchy": mechanisms.Hierarchy(1.0),
    "Histogram": mechanisms.Histogram(1.0),
    "HistogramQueries": mechanisms.HistogramQueries(rho=1.0, bins=4),
    "NoNoise": mechanisms.NoNoise(),
    "PolynomialProjection": POLYNOMIAL,
    "ToeplitzGaussian": mechanisms.ToeplitzGaussian(rho=1.0),
    "Central": trust.Central(1.0),
    "DistributedNoise": trust.DistributedNoise(1.0, clients=8),
    "FunctionSharing": trust.FunctionSharing(1.0),
    "Local": trust.Local(1.0, clients=8),
    "SecureAggregation": trust.SecureAggregation(),
    "SquareWave": trust.SquareWave(1.0, clients=8, resolution=16),
}
SIZES = [
    "answer_deviation",
    "branching_for",
    "ends",
    "least_variance",
    "levels",
    "mean_squared_error",
    "noise",
    "noise_deviation",
    "noise_scale",
    "polynomial_deviation",
    "questions",
    "shares",
    "shares_for",
    "tree",
    "variance",
]


def budget(epsilon=1.0, rho=None, delta=None, neighbours="replace-one"):
    return dp.Budget(epsilon, rho=rho, delta=delta, neighbours=neighbours)


def batches(source=None, column="x", format="csv", delimiter=",", on_progress=None, unit=None):  # noqa: A002
    source = io.BytesIO(b"x,y\n1,2\n") if source is None else source
    told = {"format": format, "delimiter": delimiter, "on_progress": on_progress, "unit": unit}
    return list(files.column_batches(source, column, **told))


def linear(epsilon=9.0, x_bounds=(0, 1), y_bounds=(0, 1), X=X, y=Y, **options):
    return models.LinearRegression(
        epsilon, x_bounds=x_bounds, y_bounds=y_bounds, rng=rng(), **options
    ).fit(X, y)


def logistic(epsilon=9.0, x_bounds=(0, 1), classes=(0, 1), X=X, y=Y, **options):
    return models.LogisticRegression(
        epsilon, x_bounds=x_bounds, classes=classes, rng=rng(), **options
    ).fit(X, y)


FIT = {"epsilon": 9.0, "x_bounds": (0, 1), "fit_intercept": True, "X": X, "y": Y}


def resumed(path):
    """Resume a count, which is saved first, if it can be at that place."""
    if isinstance(path, str) and path == "count":
        RunningCount(8, epsilon=1.0).save(path)
    return RunningCount.resume(path)


MORE = {
    "Grid.integers of times": (DAYS.count, {"values": np.array(["2020-05-05"], "M8[D]")}),
    "Budget": (budget, {"epsilon": 1.0, "rho": None, "delta": None, "neighbours": "replace-one"}),
    "Budget.charge": (
        lambda privacy, what: budget().charge(privacy, what),
        {"privacy": GUARANTEE, "what": "release"},
    ),
    "Budget.open": (dp.Budget.open, {"path": "budget", "epsilon": 1.0, "rho": None}),
    "Privacy.implied": (GUARANTEE.implied, {"neighbours": "replace-one"}),
    "Privacy of rho": (dp.Privacy, {"rho": 0.5, "delta": 1e-9}),
    "composed": (privacy.composed, {"guarantees": [GUARANTEE], "delta": 0.5}),
    "double_above": (privacy.double_above, {"exact": Fraction(1, 3)}),
    "rounded_up": (noise.rounded_up, {"exact": Fraction(1, 3), "bits": 31}),
    "DiscreteGaussian": (noise.DiscreteGaussian, {"sigma_squared": Fraction(1)}),
    "DiscreteLaplace": (noise.DiscreteLaplace, {"scale": Fraction(1)}),
    "column_batches": (
        batches,
        {"source": None, "column": "x", "format": "csv", "delimiter": ",", "unit": None},
    ),
    "Projection.moment_errors": (PROJECTION.moment_errors, {"order": 2}),
    "classifier.accuracy": (classifier.accuracy, {"curves": CURVES, "t": 0.5}),
    "classifier.precision": (classifier.precision, {"curves": CURVES, "t": 0.5}),
    "classifier.recall": (classifier.recall, {"curves": CURVES, "t": 0.5}),
    "ScoreCurves": (dp.ScoreCurves, {"grid": GRID, "joint": CURVES.joint}),
    "ScoreCurves.smooth": (CURVES.smooth, {"norm": 2, "solver": "graph", "tolerance": 1e-6}),
    "CDF of times": (TIMES, {"t": np.datetime64("2020-05-05")}),
    "CDF.histogram of times": (TIMES.histogram, {"bins": 3}),
    "CDF.quantile of times": (TIMES.quantile, {"p": 0.5}),
    "HosmerLemeshow.from_curves": (
        st.HosmerLemeshow.from_curves,
        {
            "curves": CURVES,
            "groups": 3,
            "mechanism": None,
            "minimum_expected": None,
            "fitted": True,
        },
    ),
    "HosmerLemeshow.under_noise": (TEST.under_noise, {"replicates": 3, "rng": None}),
    "ScoreHistogram": (
        st.ScoreHistogram,
        {"curves": CURVES, "bins": st.uniform_bins(CURVES, 2), "mechanism": None},
    ),
    "ScoreHistogram.auc_discretisation": (
        st.ScoreHistogram.uniform(CURVES, 4).auc_discretisation,
        {"kind": "worst-case", "level": 0.9},
    ),
    "expected_calibration_error_interval, with a mechanism": (
        st.expected_calibration_error_interval,
        {"curves": CURVES, "bins": 4, "level": 0.9, "mechanism": mechanisms.Dyadic(20.0)},
    ),
    "population_expected_calibration_error_interval, with a mechanism": (
        st.population_expected_calibration_error_interval,
        {"curves": CURVES, "bins": 4, "level": 0.9, "mechanism": mechanisms.Dyadic(20.0)},
    ),
    "ROC, with a mechanism": (
        st.ROC.from_curves,
        {"curves": CURVES, "mechanism": mechanisms.Dyadic(20.0)},
    ),
    "with_simulated_deviation, of noise": (
        mechanisms.with_simulated_deviation,
        {"curve": NOISY, "mechanism": mechanisms.Dyadic(20.0), "replicates": 2, "rng": rng()},
    ),
    "from_curve": (mechanisms.from_curve, {"curve": NOISY}),
    "Enrolment": (trust.Enrolment, {"key": b"0" * 32}),
    "Ticket.from_bytes": (trust.Ticket.from_bytes, {"data": b"0" * 48}),
    "PolynomialProjection.release_totals": (
        POLYNOMIAL.release_totals,
        {"sums": dp.polynomial_sums(SCORES, 0, 1, 3).sums, "rng": None},
    ),
    "studies.study": (
        lambda parameters, batch: studies.study(parameters, batch=batch)(lambda n, rng: {"x": n}),
        {"parameters": {"n": [1, 2]}, "batch": None},
    ),
    "Study, of cells": (
        lambda parameters: studies.Study(lambda n, rng: {"x": n}, parameters),
        {"parameters": {"n": [1, 2]}},
    ),
    "studies.run, in a folder": (
        lambda workers, progress: studies.run(
            STUDY, replicates=1, seed=1, workers=workers, progress=progress
        ),
        {"workers": 1, "progress": False},
    ),
    "LinearRegression": (
        linear,
        {**FIT, "y_bounds": (0, 1), "method": "moments", "alpha": 1.0},
    ),
    "LinearRegression.predict": (LINEAR.predict, {"X": X}),
    "LogisticRegression": (logistic, {**FIT, "classes": (0, 1), "method": "objective", "C": 1.0}),
    "LogisticRegression.predict": (LOGISTIC.predict, {"X": X}),
    "LogisticRegression.predict_proba": (LOGISTIC.predict_proba, {"X": X}),
    "LogisticRegression.decision_function": (LOGISTIC.decision_function, {"X": X}),
    "RunningCount.resume": (resumed, {"path": "count"}),
    "RunningCount.save": (RunningCount(8, epsilon=1.0).save, {"path": "count"}),
    "client_cdf, of shares": (
        trust.client_cdf,
        {"values": SCORES, "client_ids": [1, 2, 3, 4, 5], "grid": GRID}
        | {"trust": trust.DistributedNoise(9.0, clients=9)},
    ),
    "Column": (
        lambda name, holds: list(
            files.record_batches(io.BytesIO(b"x\n1\n"), [files.Column(name, holds)], format="csv")
        ),
        {"name": "x", "holds": "numbers"},
    ),
}
MORE |= {f"{name}.release": (found.release, RELEASES) for name, found in ALL.items()}
MORE |= {
    f"{name}.{method}": (getattr(found, method), {"size": 8})
    for name, found in ALL.items()
    for method in SIZES
    if hasattr(found, method) and (name, method) != ("PolynomialProjection", "noise")
}
