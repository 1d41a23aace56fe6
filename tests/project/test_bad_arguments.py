"""Whatever an argument is, the answer is a result, or an error of dpcore's own that can be shown.

Every argument of every public function in turn, replaced by things of some forty kinds.
"""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, noise, privacy, studies, trust
from dpcore import statistics as st
from dpcore.mechanisms.medians import smooth_sensitivity
from dpcore.statistics import classifier
from dpcore.streams import RunningCount
from tests.project.bad_values import BAD
from tests.project.calls_of_results import RESULTS as OF_RESULTS
from tests.project.more_calls import MORE

GRID = dp.Grid.uniform(0, 1, 8)
LABELS, SCORES = [0, 1, 1, 0, 1], [0.1, 0.2, 0.6, 0.7, 0.9]
RECORDS = {"y_true": LABELS, "y_score": SCORES}
BUDGET = {"epsilon": 1.0, "rho": None, "delta": None}
HOW = {"rng": None, "nan_policy": "omit"}
EXACT = mechanisms.NoNoise()
CURVE = dp.cdf(SCORES, GRID, EXACT, isotonic=False)
NOISY = dp.cdf(SCORES, GRID, mechanisms.Dyadic(20.0), isotonic=False, rng=np.random.default_rng(1))
OTHER = dp.cdf(SCORES, GRID, mechanisms.Dyadic(20.0), isotonic=False, rng=np.random.default_rng(2))
GROUPED = dp.cdf(SCORES, GRID, epsilon=20.0, by=[1, 1, 1, 2, 2], groups=[1, 2])
CURVES = dp.score_curves(LABELS, SCORES, GRID, EXACT)
HISTOGRAM = st.ScoreHistogram.uniform(CURVES, 4)
ROC = st.ROC.from_curves(CURVES)
SUMS = dp.polynomial_sums(SCORES, 0, 1, 3)
PROJECTION = dp.project(SCORES, 0, 1, rho=1.0, rng=np.random.default_rng(1))
BINORMAL = st.BinormalROC(0.8, 9, dp.Privacy(1.0), {"name": "exact"})
LOCAL = trust.Local(1.0, clients=5)
PROTOCOL = trust.Protocol(trust.DistributedNoise(1.0, clients=5), 8, b"0" * 16, servers=2)
VECTOR = sum(trust.Client(PROTOCOL).vector(1) for _ in range(5))
FUNCTIONS = trust.Protocol(trust.FunctionSharing(1.0), 8, b"0" * 16)
COUNTS = np.ones(8, int)
SUM = trust.SimulatedSum(COUNTS, trust.SecureAggregation())
RESIDUALS = dp.residual_plot(SCORES, SCORES, epsilon=20.0, rng=np.random.default_rng(1))
CELLS = dp.TableGrid.uniform((0, 1), (0, 1), (4, 2))
TABLE = dp.table(SCORES, SCORES, CELLS, epsilon=20.0, rng=np.random.default_rng(1))
KEYS, _ = trust.comparison.gen([1, 2], 3)
CENTRAL = trust.Central(1.0)
CLIENTS = {"client_ids": [1, 2, 3, 4, 5], "grid": GRID, "trust": CENTRAL, "clients": 9}
STUDY = studies.Study(lambda n, rng: {"x": rng.random()}, {"n": [1, 2]})
RESULTS = studies.run(STUDY, replicates=2, seed=1)


def run_study(study=STUDY, replicates=1, seed=1):
    return studies.run(study, replicates=replicates, seed=seed)


def function_servers():
    servers = [trust.Server(FUNCTIONS, place=place) for place in (0, 1)]
    for server, report in zip(servers, trust.Client(FUNCTIONS).report(1), strict=True):
        server.add(report)
    trust.agree(servers)
    return servers


def partial_sums():
    servers = [trust.Server(PROTOCOL), trust.Server(PROTOCOL)]
    for _ in range(5):
        client = trust.Client(PROTOCOL)
        for server, report in zip(servers, client.report(1), strict=True):
            server.add(report)
    trust.agree(servers)
    return [server.close() for server in servers]


def saved_study(out):
    """Load a study, which is run into its folder first, if it can be one."""
    if isinstance(out, str) and out == "study":
        studies.run(STUDY, replicates=1, seed=1, out=out)
    return studies.load(out)


def run(horizon=10, epsilon=1.0, rho=None, base=2, sensitivity="exact", rng=None):
    return RunningCount(horizon, epsilon=epsilon, rho=rho, base=base, sensitivity=sensitivity)


ANSWERS = [server.answer([1, 2]) for server in function_servers()]
PARTIAL_SUMS = partial_sums()

CALLS = {
    "Grid": (dp.Grid, {"thresholds": [1.0, 2.0], "lower": 0.0}),
    "Grid.uniform": (dp.Grid.uniform, {"lower": 0, "upper": 1, "size": 4}),
    "Grid.integers": (dp.Grid.integers, {"first": 0, "last": 4}),
    "Grid.days": (dp.Grid.days, {"first": "2024-01-01", "last": "2024-01-04"}),
    "Grid.log": (dp.Grid.log, {"lower": 1, "upper": 2, "size": 4}),
    "Grid.count": (GRID.count, {"values": SCORES, "nan_policy": "omit"}),
    "TableGrid": (dp.TableGrid, {"x": GRID, "y": GRID}),
    "TableGrid.uniform": (
        dp.TableGrid.uniform,
        {"x_bounds": (0, 1), "y_bounds": (0, 1), "shape": (4, 2)},
    ),
    "TableGrid.count": (CELLS.count, {"x": SCORES, "y": SCORES, "nan_policy": "omit"}),
    "table": (
        dp.table,
        {"x": SCORES, "y": SCORES, "grid": CELLS, "mechanism": None, "neighbours": "replace-one"}
        | {"isotonic": True, "integers": (None, True), **BUDGET, **HOW},
    ),
    "table_from_counts": (
        dp.table_from_counts,
        {"counts": np.ones((4, 2), int), "grid": CELLS, "isotonic": True, **BUDGET}
        | {"integers": True},
    ),
    "Table": (dp.Table, {"grid": CELLS, "row": TABLE.row, "integers": (True, None)}),
    "Table.marginal": (TABLE.marginal, {"axis": "x"}),
    "Table.conditional": (TABLE.conditional, {"axis": "x", "lower": 0.1, "upper": 0.7}),
    "Table.conditional_quantiles": (TABLE.conditional_quantiles, {"axis": "x", "p": 0.5}),
    "Table.sample": (TABLE.sample, {"size": 3, "rng": None}),
    "Table.from_json": (dp.Table.from_json, {"text": TABLE.to_json()}),
    "cdf": (
        dp.cdf,
        {"values": SCORES, "grid": GRID, "mechanism": None, "neighbours": "replace-one"}
        | {"isotonic": True, "integers": None, **BUDGET, **HOW},
    ),
    "suggest": (
        dp.suggest,
        {"n": 1000, "lower": 0, "upper": 1, "epsilon": 1.0, "rho": None, "delta": None}
        | {"neighbours": "replace-one", "error": 0.1, "unit": "values", "integers": True},
    ),
    "cdf by groups": (
        dp.cdf,
        {"values": SCORES, "grid": GRID, "by": LABELS, "groups": [0, 1], "epsilon": 20.0, **HOW},
    ),
    "GroupedCDF": (dp.GroupedCDF, {"groups": ("a",), "curves": (CURVE,)}),
    "GroupedCDF.from_json": (dp.GroupedCDF.from_json, {"text": GROUPED.to_json()}),
    "cdf_from_counts": (
        dp.cdf_from_counts,
        {"counts": COUNTS, "grid": GRID, "integers": True, **BUDGET},
    ),
    "bounds": (
        dp.bounds,
        {"values": SCORES * 99, "epsilon": 1, "grid": None, "outside": 5, **HOW},
    ),
    "symmetric_bounds": (
        dp.symmetric_bounds,
        {"values": SCORES, "epsilon": 1, "unit": 1.0, "coverage": 0.9, "doublings": 9, **HOW},
    ),
    "compact_bounds": (
        dp.compact_bounds,
        {"values": SCORES, "epsilon": 1, "unit": 1.0, "gain": 0.1, **HOW},
    ),
    "residual_plot": (
        dp.residual_plot,
        {"predicted": SCORES, "residuals": SCORES, "epsilon": 1, "unit": (1.0, 2.0), **HOW}
        | {"predicted_range": (0, 1), "residual_range": None, "search": "compact"}
        | {"cells": 2, "mechanism": None},
    ),
    "residual_plot, all released": (
        dp.residual_plot,
        {"predicted": SCORES, "residuals": SCORES, "epsilon": 1, "unit": 1.0, "cells": (2, 3)}
        | {"mechanism": mechanisms.Dawa, "search": "sparse-vector"},
    ),
    "ResidualPlot": (
        dp.ResidualPlot,
        {"table": RESIDUALS.table, "points": RESIDUALS.points, "privacy": RESIDUALS.privacy},
    ),
    "ResidualPlot.quantiles": (RESIDUALS.quantiles, {"p": [0.5]}),
    "ResidualPlot.from_json": (
        dp.ResidualPlot.from_json,
        {"text": RESIDUALS.to_json(), "rng": None},
    ),
    "residual_plot_distance": (
        st.residual_plot_distance,
        {"first": RESIDUALS, "second": RESIDUALS.points, "cells": 3, "margin": 0.1},
    ),
    "quantiles": (
        dp.quantiles,
        {"values": SCORES, "probabilities": [0.5], "grid": GRID, "epsilon": 1.0, **HOW},
    ),
    "box_plot": (dp.box_plot, {"values": SCORES, "grid": GRID, "epsilon": 1.0, **HOW}),
    "BoxPlot.from_sample": (dp.BoxPlot.from_sample, {"sample": SCORES}),
    "BoxPlot.from_curve": (dp.BoxPlot.from_curve, {"curve": CURVE, "size": 5, "rng": None}),
    "smooth": (
        dp.smooth,
        {"noisy_cumulative": [1.0, 3.0, 2.0], "n": 4, "norm": 2, "solver": "graph", "base": 2}
        | {"at": [0, 2], "tolerance": 1e-6, "max_iterations": 1000, "workers": 1},
    ),
    "smooth by OSQP": (
        dp.smooth,
        {"noisy_cumulative": [1.0, 3.0, 2.0], "n": 4, "norm": 1, "solver": "osqp", "base": 2}
        | {"at": None, "tolerance": 1e-6, "max_iterations": 1000, "workers": None},
    ),
    "polynomial_sums": (
        dp.polynomial_sums,
        {"values": SCORES, "lower": 0, "upper": 1, "degree": 3, "basis": "legendre"}
        | {"nan_policy": "omit"},
    ),
    "PolynomialSums": (
        dp.PolynomialSums,
        {"lower": 0.0, "upper": 1.0, "basis": "legendre", "sums": SUMS.sums},
    ),
    "project": (
        dp.project,
        {"values": SCORES, "lower": 0, "upper": 1, "mechanism": None, **HOW}
        | {"epsilon": 1.0, "delta": 1e-6, "rho": None},
    ),
    "project_sums": (
        dp.project_sums,
        {"sums": SUMS, "mechanism": mechanisms.PolynomialProjection(rho=1.0, degree=3)},
    ),
    "Projection.curve": (PROJECTION.curve, {"grid": GRID}),
    "Projection.moments": (PROJECTION.moments, {"order": 2}),
    "kolmogorov_smirnov": (dp.distances.kolmogorov_smirnov, {"first": SCORES, "second": CURVE}),
    "earth_mover": (dp.distances.earth_mover, {"first": CURVE, "second": SCORES}),
    "energy": (dp.distances.energy, {"first": SCORES, "second": SCORES}),
    "compare": (
        dp.compare,
        {"first": CURVE, "second": NOISY, "probabilities": [0.5], "level": 0.9, "simulations": 19}
        | {"rng": None},
    ),
    "combine": (dp.combine, {"curves": [NOISY, OTHER], "weights": [1, 2]}),
    "average": (dp.average, {"curves": [NOISY, OTHER], "weights": None}),
    "score_counts": (
        dp.score_counts,
        {**RECORDS, "grid": GRID, "pos_label": 1, "nan_policy": "omit"},
    ),
    "score_curves": (
        dp.score_curves,
        {**RECORDS, "grid": GRID, "mechanism": None, "pos_label": 1, "isotonic": True}
        | {**BUDGET, **HOW},
    ),
    "score_curves_from_counts": (
        dp.score_curves_from_counts,
        {"counts": np.ones(16, int), "grid": GRID, "epsilon": 1.0},
    ),
    "ScoreCurves.from_classes": (
        dp.ScoreCurves.from_classes,
        {"grid": dp.Grid.uniform(0, 1, 7), "negatives": NOISY, "positives": OTHER},
    ),
    "hosmer_lemeshow": (
        dp.hosmer_lemeshow,
        {"y_true": LABELS, "y_prob": SCORES, "groups": 3, "grid": None, "pos_label": None}
        | {**BUDGET, **HOW},
    ),
    "roc_curve": (dp.roc_curve, {**RECORDS, **BUDGET, **HOW}),
    "plan": (dp.plan, {"size": 100, "neighbours": "replace-one", **BUDGET}),
    "Privacy": (
        dp.Privacy,
        {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one", "simulated": False}
        | {"rho": None},
    ),
    "Privacy.epsilon_at": (dp.Privacy(rho=1.0).epsilon_at, {"delta": 0.1}),
    "CDF": (CURVE, {"t": 0.5}),
    "CDF.quantile": (CURVE.quantile, {"p": 0.5, "method": "linear", "level": 0.9}),
    "CDF.quantile_interval": (
        NOISY.quantile_interval,
        {"p": [0.5], "level": 0.9, "method": "linear"},
    ),
    "CDF.population_quantile_interval": (
        NOISY.population_quantile_interval,
        {"p": 0.5, "level": 0.9, "method": "inverted_cdf"},
    ),
    "CDF.mean_interval": (NOISY.mean_interval, {"level": 0.9}),
    "CDF.population_mean_interval": (NOISY.population_mean_interval, {"level": 0.9}),
    "CDF.histogram": (NOISY.histogram, {"bins": [0.1, 0.6]}),
    "CDF.to_frame": (NOISY.to_frame, {"level": 0.9}),
    "CDF.from_json": (dp.CDF.from_json, {"text": NOISY.to_json()}),
    "ScoreCurves.from_json": (
        dp.ScoreCurves.from_json,
        {"text": dp.score_curves(**RECORDS, grid=GRID, epsilon=20.0).to_json()},
    ),
    "Projection.from_json": (dp.Projection.from_json, {"text": PROJECTION.to_json()}),
    "CDF.smooth": (NOISY.smooth, {"norm": 2, "solver": "graph", "tolerance": 1e-6}),
    "CDF.sample": (CURVE.sample, {"size": 3, "rng": None, "method": "linear"}),
    "CDF.band": (CURVE.band, {"level": 0.9}),
    "exponential_mechanism": (
        mechanisms.exponential_mechanism,
        {"scores": [1, 2], "epsilon": 1.0, "sensitivity": 1, "rng": None, "replicates": None}
        | {"monotonic": True},
    ),
    "above_threshold": (
        mechanisms.above_threshold,
        {"queries": [1, 2], "threshold": 1, "epsilon": 1.0, "sensitivity": 1}
        | {"monotonic": False, "rng": None, "replicates": 3},
    ),
    "confusion": (classifier.confusion, {"curves": CURVES, "t": 0.5}),
    "precision_interval": (
        classifier.precision_interval,
        {"curves": CURVES, "t": 0.5, "level": 0.9},
    ),
    "recall_interval": (classifier.recall_interval, {"curves": CURVES, "t": 0.5, "level": 0.9}),
    "population_precision_interval": (
        classifier.population_precision_interval,
        {"curves": CURVES, "t": 0.5, "level": 0.9},
    ),
    "population_recall_interval": (
        classifier.population_recall_interval,
        {"curves": CURVES, "t": 0.5, "level": 0.9},
    ),
    "f1": (classifier.f1, {"curves": CURVES, "t": 0.5}),
    "uniform_bins": (st.uniform_bins, {"curves": CURVES, "bins": 3}),
    "equi_depth_bins": (st.equi_depth_bins, {"curves": CURVES, "bins": 3}),
    "reliability": (st.reliability, {"curves": CURVES, "bins": 3}),
    "expected_calibration_error_interval": (
        st.expected_calibration_error_interval,
        {"curves": CURVES, "bins": 4, "level": 0.9, "mechanism": None},
    ),
    "population_expected_calibration_error_interval": (
        st.population_expected_calibration_error_interval,
        {"curves": CURVES, "bins": 4, "level": 0.9, "mechanism": None},
    ),
    "expected_calibration_error": (
        st.expected_calibration_error,
        {"curves": CURVES, "bins": 3, "norm": 1},
    ),
    "maximum_calibration_error": (st.maximum_calibration_error, {"curves": CURVES, "bins": 3}),
    "BayesianBinning": (st.BayesianBinning.fit, {"curves": CURVES, "sizes": [1, 2]}),
    "HistogramBinning": (st.HistogramBinning.fit, {"curves": CURVES, "bins": 3}),
    "IsotonicCalibration": (st.IsotonicCalibration.fit, {"curves": CURVES, "bins": None}),
    "BayesianBinning.predict": (st.BayesianBinning.fit(CURVES).predict, {"y_score": [0.5]}),
    "HistogramBinning.predict": (st.HistogramBinning.fit(CURVES, 3).predict, {"y_score": [0.5]}),
    "IsotonicCalibration.predict": (st.IsotonicCalibration.fit(CURVES).predict, {"y_score": 0.5}),
    "ScoreHistogram.uniform": (st.ScoreHistogram.uniform, {"curves": CURVES, "buckets": 4}),
    "with_simulated_deviation": (
        mechanisms.with_simulated_deviation,
        {"curve": CURVE, "mechanism": EXACT, "replicates": 2, "rng": None},
    ),
    "ScoreHistogram.quantile": (st.ScoreHistogram.quantile, {"curves": CURVES, "buckets": 4}),
    "ScoreHistogram.nearest": (HISTOGRAM.nearest, {"t": [0.5]}),
    "ScoreHistogram.auc_interval": (HISTOGRAM.auc_interval, {"kind": "worst-case", "level": 0.9}),
    "ROC": (st.ROC.from_curves, {"curves": CURVES, "mechanism": None}),
    "ROC.population_auc_interval": (ROC.population_auc_interval, {"level": 0.9}),
    "ROC.auc_interval": (ROC.auc_interval, {"level": 0.9}),
    "ROC.band": (ROC.band, {"level": 0.9}),
    "BinormalROC": (
        st.BinormalROC,
        {"auc": 0.8, "n": 9, "privacy": dp.Privacy(1.0), "mechanism": {"name": "exact"}},
    ),
    "BinormalROC.at": (BINORMAL, {"fpr": [0.5]}),
    "symmetric_difference": (st.symmetric_difference, {"first": ROC, "second": ROC}),
    "Hierarchy": (
        mechanisms.Hierarchy,
        {"neighbours": "replace-one", "branching": (2, 2), "budgets": "auto", **BUDGET},
    ),
    "Hierarchy.noise_deviation": (mechanisms.Hierarchy(1.0).noise_deviation, {"size": 8}),
    "Histogram": (mechanisms.Histogram, {"neighbours": "replace-one", **BUDGET}),
    "Dyadic": (mechanisms.Dyadic, {"epsilon": 1.0}),
    "Dyadic.release": (mechanisms.Dyadic(1.0).release, {"counts": COUNTS, "rng": None}),
    "ToeplitzGaussian": (mechanisms.ToeplitzGaussian, {"rho": 0.5}),
    "Dawa": (mechanisms.Dawa, {"epsilon": 1.0, "split": 0.25}),
    "AdaptiveQuantiles": (mechanisms.AdaptiveQuantiles, {"steps": 3, "between": "step", **BUDGET}),
    "HistogramQueries": (mechanisms.HistogramQueries, {"bins": 3, "between": "step", **BUDGET}),
    "PolynomialProjection": (
        mechanisms.PolynomialProjection,
        {"epsilon": None, "delta": None, "degree": 3, "rho": 1.0},
    ),
    "smooth_sensitivity": (
        smooth_sensitivity,
        {"values": SCORES, "lower": 0, "upper": 1, "beta": 0.5},
    ),
    "RunningCount": (
        run,
        {"horizon": 9, "epsilon": 1.0, "rho": None, "base": 2, "sensitivity": "exact"},
    ),
    "RunningCount.add": (lambda increment: run().add(increment), {"increment": 1}),
    "RunningCount.extend": (lambda increments: run().extend(increments), {"increments": [1]}),
    "gaussian_sigma": (privacy.gaussian_sigma, {"epsilon": 1.0, "delta": 1e-5}),
    "gaussian_delta": (privacy.gaussian_delta, {"sigma": 1.0, "epsilon": 1.0}),
    "discrete_gaussian_delta": (
        privacy.discrete_gaussian_delta,
        {"sigma_squared": 1, "epsilon": 1.0},
    ),
    "zcdp_rho": (privacy.zcdp_rho, {"epsilon": 1.0, "delta": 1e-5}),
    "zcdp_epsilon": (privacy.zcdp_epsilon, {"rho": 1.0, "delta": 1e-5}),
    "zcdp_delta": (privacy.zcdp_delta, {"rho": 1.0, "epsilon": 1.0}),
    "discrete_laplace": (noise.discrete_laplace, {"scale": 1, "size": 2, "rng": None}),
    "discrete_gaussian": (noise.discrete_gaussian, {"sigma_squared": 1, "size": 2, "rng": None}),
    "Central": (trust.Central, {"records": 1, **BUDGET}),
    "DistributedNoise": (
        trust.DistributedNoise,
        {"epsilon": 1.0, "clients": 9, "dropout": 0.1, "reporting": None, "branching": (2, 4)}
        | {"budgets": "auto", "records": 1},
    ),
    "Local": (trust.Local, {"epsilon": 1.0, "clients": 9, "branching": "auto", "records": 1}),
    "SquareWave": (trust.SquareWave, {"epsilon": 1.0, "clients": 9, "resolution": 64}),
    "SecureAggregation": (trust.SecureAggregation, {"servers": 2, "records": 1}),
    "FunctionSharing": (
        trust.FunctionSharing,
        {"epsilon": 1.0, "servers": 2, "honest": 1, "branching": "auto", "budgets": "auto"},
    ),
    "Server, of functions": (trust.Server, {"protocol": FUNCTIONS, "place": 0, "rng": None}),
    "Server.answer": (
        lambda cells: function_servers()[0].answer(cells),
        {"cells": [1, 2]},
    ),
    "Answer.from_bytes": (
        trust.Answer.from_bytes,
        {"data": ANSWERS[0].to_bytes(), "protocol": FUNCTIONS},
    ),
    "opened": (trust.opened, {"answers": ANSWERS}),
    "Protocol": (
        trust.Protocol,
        {"trust": LOCAL, "size": 8, "round_id": b"0" * 16, "servers": None, "empty": None},
    ),
    "Client": (trust.Client, {"protocol": PROTOCOL, "rng": None}),
    "Client.report": (lambda cells: trust.Client(PROTOCOL).report(cells), {"cells": 1}),
    "Protocol.mechanism": (PROTOCOL.mechanism, {"reports": 5}),
    "Client.vector": (lambda cells: trust.Client(PROTOCOL).vector(cells), {"cells": 1}),
    "VectorSum": (
        trust.VectorSum,
        {"protocol": PROTOCOL, "total": VECTOR, "reports": 5, "simulated": False},
    ),
    "Server": (trust.Server, {"protocol": PROTOCOL}),
    "Server.add": (trust.Server(PROTOCOL).add, {"report": trust.Client(PROTOCOL).report(1)[0]}),
    "Server.settle": (lambda ids: trust.Server(PROTOCOL).settle(ids), {"ids": []}),
    "Server.merge": (trust.Server(PROTOCOL).merge, {"other": trust.Server(PROTOCOL)}),
    "Server.from_bytes": (
        trust.Server.from_bytes,
        {"data": trust.Server(PROTOCOL).to_bytes(), "protocol": PROTOCOL},
    ),
    "PartialSum.from_bytes": (
        trust.PartialSum.from_bytes,
        {"data": PARTIAL_SUMS[0].to_bytes(), "protocol": PROTOCOL},
    ),
    "agree": (trust.agree, {"servers": [trust.Server(PROTOCOL), trust.Server(PROTOCOL)]}),
    "trust.combine": (trust.combine, {"sums": PARTIAL_SUMS}),
    "trust.release": (trust.release, {"sums": PARTIAL_SUMS, "grid": GRID, "isotonic": True}),
    "trust.release_scores": (
        trust.release_scores,
        {"sums": PARTIAL_SUMS, "grid": dp.Grid.uniform(0, 1, 4)},
    ),
    "PointwiseClient": (
        trust.PointwiseClient,
        {"trust": PROTOCOL.trust, "size": 8, "cell": 3, "key": None, "rng": None},
    ),
    "PointwiseClient.vector": (
        trust.PointwiseClient(PROTOCOL.trust, 8, 3).vector,
        {"cells": [1, 7]},
    ),
    "FunctionServers": (trust.FunctionServers, {"servers": function_servers()}),
    "SharedVectors": (
        trust.SharedVectors,
        {"clients": [trust.PointwiseClient(PROTOCOL.trust, 8, 3) for _ in range(5)], "servers": 2},
    ),
    "SimulatedSum": (
        trust.SimulatedSum,
        {"counts": [1, 4], "trust": PROTOCOL.trust, "rng": None},
    ),
    "SimulatedSum.sum": (SUM.sum, {"cells": [1, 7]}),
    "PointwiseCDF": (trust.PointwiseCDF, {"aggregator": SUM, "grid": GRID, "integers": None}),
    "PointwiseCDF.__call__": (trust.PointwiseCDF(SUM, GRID), {"t": 0.5}),
    "PointwiseCDF.counts_at": (trust.PointwiseCDF(SUM, GRID).counts_at, {"t": [0.5]}),
    "PointwiseCDF.noise_at": (trust.PointwiseCDF(SUM, GRID).noise_at, {"t": [0.5]}),
    "PointwiseCDF.quantile": (
        trust.PointwiseCDF(SUM, GRID).quantile,
        {"p": 0.5, "method": "linear"},
    ),
    "comparison.gen": (trust.comparison.gen, {"values": [1, 2], "bits": 3, "rng": None}),
    "comparison.evaluate": (
        trust.comparison.evaluate,
        {"keys": KEYS, "thresholds": [1, 2], "workers": None},
    ),
    "comparison.evaluate_sum": (
        trust.comparison.evaluate_sum,
        {"keys": KEYS, "thresholds": [1, 2], "workers": None},
    ),
    "comparison.Keys.from_packed": (
        trust.comparison.Keys.from_packed,
        {"packed": KEYS.packed, "bits": 3, "party": 0},
    ),
    "comparison.key_bytes": (trust.comparison.key_bytes, {"bits": 3}),
    "cell_of": (trust.cell_of, {"score": 0.5, "grid": GRID, "label": None}),
    "client_cdf": (trust.client_cdf, {"values": SCORES, "isotonic": True, **CLIENTS}),
    "client_score_curves": (trust.client_score_curves, {**RECORDS, **CLIENTS, "pos_label": 1}),
    "advise": (trust.advise, {"clients": 1000, "epsilon": 1.0, "model": "local"}),
    "enough": (
        trust.enough,
        {"clients": 1000, "epsilon": 1.0, "model": "local", "error": 0.1} | {"purpose": "metrics"},
    ),
    "UnaryEncoding": (trust.models.unary.UnaryEncoding, {"epsilon": 1.0}),
    "UnaryEncoding.perturb": (
        trust.models.unary.UnaryEncoding(1.0).perturb,
        {"values": [1, 2], "size": 3, "rng": None, "workers": None},
    ),
    "UnaryEncoding.totals": (
        trust.models.unary.UnaryEncoding(1.0).totals,
        {"reports": np.ones((2, 1), np.uint64), "size": 3},
    ),
    "UnaryEncoding.estimates": (
        trust.models.unary.UnaryEncoding(1.0).estimates,
        {"totals": [1, 2], "reports": 3},
    ),
}

CALLS |= {
    "Study": (
        studies.Study,
        {"function": lambda n, rng: {"x": n}, "parameters": {"n": [1, 2]}, "batch": None},
    ),
    "Study, a parameter": (
        lambda n: studies.Study(lambda n, rng: {"x": n}, {"n": n}),
        {"n": [1, 2]},
    ),
    "Study.over": (STUDY.over, {"n": [1, 2]}),
    "Study.replay": (
        lambda call, seed, n: STUDY.replay(call, seed, n=n),
        {"call": 0, "seed": 1, "n": 2},
    ),
    "studies.run": (run_study, {"study": STUDY, "replicates": 1, "seed": 1}),
    "studies.load": (saved_study, {"out": "study"}),
    "Results": (studies.Results, {"table": RESULTS.table}),
    "Results.array": (lambda quantity, n: RESULTS.array(quantity, n=n), {"quantity": "x", "n": 1}),
    "Results.summary": (RESULTS.summary, {"level": 0.9, "quantiles": [0.5]}),
}
CALLS |= MORE | OF_RESULTS


# Their arguments X and y are checked by scikit-learn, whose errors its users know.
def by_scikit_learn(name, argument):
    return name.startswith(("LinearRegression", "LogisticRegression")) and argument in ("X", "y")


@pytest.mark.parametrize("name", CALLS)
def test_the_arguments_as_they_are_succeed(name, tmp_path, monkeypatch):
    """Otherwise an error about one of them would hide what others do."""
    monkeypatch.chdir(tmp_path)
    call, arguments = CALLS[name]
    call(**arguments)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
def test_any_argument_gives_a_result_or_an_error_that_can_be_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file
    call, arguments = CALLS[name]
    for argument, kind in itertools.product(arguments, BAD):
        bad = (i for i in [1]) if kind == "a generator" else BAD[kind]
        try:
            result = call(**{**arguments, argument: bad})
            if type(result).__module__.startswith("dpcore"):
                assert repr(result)
        except dp.DpcoreError as error:
            assert 0 < len(str(error)) < 1000  # noqa: PT017  # it need not be raised
        except Exception as error:
            if not by_scikit_learn(name, argument) or type(error) not in (TypeError, ValueError):
                error.add_note(f"{name}: {argument} was {kind}")
                raise


def other_shapes(value):
    """Return the numbers with an entry less and an entry more on each axis, and an axis more."""
    if not isinstance(value, np.ndarray | list | tuple):
        return []
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        return []
    if array.dtype.kind not in "biuf" or array.size == 0:
        return []
    found = [array[np.newaxis], array[..., np.newaxis]]
    for axis in range(array.ndim):
        found += [np.delete(array, -1, axis), np.repeat(array, 2, axis)]
        found += [np.concatenate([array, array.take([-1], axis)], axis), array.take([], axis)]
    return found


SHAPED = [name for name, (_, given) in CALLS.items() if any(map(other_shapes, given.values()))]


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.filterwarnings("ignore", "error::RuntimeWarning")
def test_kernels_get_arrays_that_fit(name, tmp_path, monkeypatch):
    """With NUMBA_BOUNDSCHECK=1, a kernel raises an IndexError where it would leave an array."""
    monkeypatch.chdir(tmp_path)
    call, arguments = CALLS[name]
    for argument, value in arguments.items():
        if by_scikit_learn(name, argument):
            continue
        for other in other_shapes(value):
            with contextlib.suppress(dp.DpcoreError):
                call(**{**arguments, argument: other})


NO_NUMBERS = ["a time span", "no date", "pandas' NaT", "a masked element", "a multi-index"]


@pytest.mark.parametrize("name", CALLS)
def test_times_and_masked_elements_are_no_numbers(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, arguments = CALLS[name]
    for argument, kind in itertools.product(arguments, NO_NUMBERS):
        if by_scikit_learn(name, argument):
            continue
        with pytest.raises(dp.DpcoreError):
            pytest.fail(f"{argument} was {kind}: {call(**{**arguments, argument: BAD[kind]})!r}")
