"""More calls: sums of declared functions, running curves, and what trust models and laws have."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import polars as pl

import dpcore as dp
from dpcore import files, mechanisms, noise, statistics, streams, testing, trust
from dpcore.noise.sources import source
from dpcore.trust import comparison
from dpcore.trust import functions as of
from tests.project.calls import (
    ALL,
    ANSWERS,
    CELLS,
    COUNTS,
    CURVE,
    CURVES,
    DYADIC,
    FUNCTIONS,
    GRID,
    GROUPED,
    HALF,
    KEYS,
    LABELS,
    NOISY,
    POLYNOMIAL,
    PROJECTION,
    RECORDS,
    SCORES,
    STUDY,
    X,
    Y,
    call,
    function_servers,
    linear,
    logistic,
    pointwise_client,
    rng,
)

# --- declared functions, their bounds and their sums

AGES, STEP = of.Identity(0, 1), of.Step(0.5)
GROUPS = of.Groups([0, 0.5, 1])
CENTRAL = trust.Central(1.0)
SHARED = trust.DistributedNoise(1.0, clients=5)
PAIRS = np.column_stack([LABELS, SCORES])


def summed(records, function):
    return trust.vector_sum(records, function, trust.Central(20.0), rng=rng())


REGRESSION = of.RegressionSums((0, 1), (0, 1))
RISKS, RESIDUALS = of.RiskGroupSums([0, 0.5, 1]), of.ResidualSums([0, 0.5, 1], reach=1)

call(of.Step, threshold=0.5)
call(of.Groups, edges=[0, 1, 2])
call(of.RegressionSums, x_bounds=(0, 1), y_bounds=(0, 1))
call(of.ResidualSums, edges=[0, 1, 2], reach=1)
call(of.RiskGroupSums, edges=[0, 0.5, 1])
call(of.Vector, within=of.Ball(3, 1.0))
call(of.Product, first=GROUPS, second=AGES)
call(of.Together, parts=[of.One(), STEP], precision=[1, 2])
call(of.Coarse, function=AGES, bits=7)
call(of.Box, lower=0, upper=1)
call(of.Box, " with units", lower=[0], upper=[1], units=[1.0], change=1.0, absolute_change=1.0)
call(of.Ball, dimension=3, radius=1.0)
call(of.Simplex, dimension=3, most=1.0)
call(of.Step.from_description, description={"threshold": 0.5, "at": 0})
call(of.function_from, description=of.Together([GROUPS, of.Vector(of.Ball(2, 1))]).describe())
call(lambda given: AGES.records(given), "records", of.Function.records, given=SCORES)
call(REGRESSION.of, name="x_bounds")
call(trust.vector_sum, records=SCORES, function=AGES, trust=CENTRAL)


# The values of a function, whose parameters are as extreme as they may be.
call(
    lambda lower, upper, at: summed(SCORES, of.Identity(lower, upper, at)),
    "sum of Identity",
    of.Identity,
    lower=0,
    upper=1,
    at=0,
)
call(
    lambda lower, upper, degree, basis: summed(SCORES, of.Polynomials(lower, upper, degree, basis)),
    "sum of Polynomials",
    of.Polynomials,
    lower=0,
    upper=1,
    degree=3,
    basis="legendre",
)
call(
    lambda lower, upper, degree, budgets: summed(
        SCORES, of.ProjectionSums(lower, upper, degree, budgets)
    ),
    "sum of ProjectionSums",
    of.ProjectionSums,
    lower=0,
    upper=1,
    degree=3,
    budgets="auto",
)
call(
    lambda edges, reach: summed(PAIRS, of.ResidualSums(edges, reach)),
    "sum of ResidualSums",
    edges=[0, 1, 2],
    reach=1,
)
call(
    lambda lower, upper: summed(SCORES, of.Vector(of.Box(lower, upper))),
    "sum of Box",
    lower=0,
    upper=1,
)
call(lambda radius: summed(SCORES, of.Vector(of.Ball(1, radius))), "sum of Ball", radius=1)
call(lambda most: summed(SCORES, of.Vector(of.Simplex(1, most))), "sum of Simplex", most=1)
call(
    lambda x_bounds, y_bounds: summed(PAIRS, of.RegressionSums(x_bounds, y_bounds)),
    "sum of RegressionSums",
    x_bounds=(0, 1),
    y_bounds=(0, 1),
)

SUM = summed(SCORES, AGES)
call(
    trust.ReleasedSum,
    total=SUM.total,
    deviation=SUM.deviation,
    n=5,
    function=AGES,
    privacy=SUM.privacy,
    mechanism=dict(SUM.mechanism),
)
call(trust.projection, released=summed(SCORES, of.ProjectionSums(0, 1)))
call(trust.linear_regression, released=summed(PAIRS, REGRESSION), alpha=1.0)
call(
    trust.hosmer_lemeshow,
    " of sums",
    released=summed(PAIRS, RISKS),
    trust=trust.Central(20.0),
)
call(trust.reliability, " of sums", released=summed(PAIRS, RISKS))
call(trust.residual_moments, released=summed(PAIRS, RESIDUALS))
MOMENTS = trust.residual_moments(summed(PAIRS, RESIDUALS))
call(trust.Protocol.of_function, trust=SHARED, function=AGES, round_id=b"0" * 16)
OF_AGES = trust.Protocol.of_function(SHARED, AGES, b"0" * 16)
AGE_VECTOR = sum(trust.Client(OF_AGES).vector(0.5) for _ in range(5))
call(
    lambda cells: trust.Client(OF_AGES).report(cells),
    "Client.report of a function",
    cells=0.5,
)
call(trust.release_sum, sums=trust.VectorSum(OF_AGES, AGE_VECTOR, 5))
call(trust.Enrolment(b"0" * 32).ticket, protocol=trust.Protocol(SHARED, 8, b"0" * 16), client="a")

# --- running curves, and mechanisms of streams


TREE = streams.DyadicTree(1.0)


def running_cdf(horizon=10, mechanism=TREE, integers=None, isotonic=True, window=None):
    how = {"integers": integers, "isotonic": isotonic, "window": window}
    return streams.RunningCDF(GRID, horizon, mechanism, **how)


def running_scores(grid=HALF, isotonic=True, window=2):
    return streams.RunningScores(grid, 10, TREE, isotonic=isotonic, window=window)


def change(false_alarm_rate):
    scores = running_scores()
    for _ in range(4):
        scores.add_counts(np.full(8, 100))
    return scores.change(false_alarm_rate)


call(
    lambda mechanism, window: streams.RunningCount(10, mechanism, window=window),
    "running count by a mechanism",
    mechanism=streams.ConsistentTree(1.0),
    window=None,
)
call(streams.RunningCount(10, epsilon=1.0).noise_deviation, step=3)
call(running_cdf, "", streams.RunningCDF)
call(
    lambda values, nan_policy: running_cdf().add(values, nan_policy=nan_policy),
    "RunningCDF.add",
    streams.RunningCDF.add,
    values=SCORES,
    nan_policy="omit",
)
call(
    lambda counts: running_cdf().add_counts(counts),
    "RunningCDF.add_counts",
    streams.RunningCDF.add_counts,
    counts=COUNTS,
)
call(running_scores, "", streams.RunningScores)
call(
    lambda y_true, y_score, pos_label, nan_policy: running_scores().add(
        y_true, y_score, pos_label=pos_label, nan_policy=nan_policy
    ),
    "RunningScores.add",
    streams.RunningScores.add,
    **RECORDS,
    pos_label=1,
    nan_policy="omit",
)
call(
    lambda counts: running_scores().add_counts(counts),
    "RunningScores.add_counts",
    streams.RunningScores.add_counts,
    counts=COUNTS,
)
call(change, "", streams.RunningScores.change, false_alarm_rate=0.05)
call(streams.DyadicTree, epsilon=1.0)
call(streams.DyadicTree, " of rho", rho=1.0)
call(streams.ConsistentTree, epsilon=1.0, branching=(2, 2))
call(streams.BufferedToeplitz, rho=1.0)
for stream_mechanism in (
    streams.DyadicTree(1.0),
    streams.ConsistentTree(1.0),
    streams.BufferedToeplitz(rho=1.0),
):
    kind = f" of {type(stream_mechanism).__name__}"
    call(stream_mechanism.noise_deviation, kind, horizon=10, steps=[1, 2])
    call(stream_mechanism.noise, kind, horizon=10)
    call(stream_mechanism.with_share, kind, share=Fraction(1, 2))

# --- grids, laws, studies, files and checks

call(dp.Grid.from_description, description=GRID.describe())
call(dp.TableGrid.from_description, description=CELLS.describe())
call(lambda values: GRID.points("values", values), "points", dp.Grid.points, values=SCORES)
call(GRID.shown, positions=np.array([0.5]), whole=False)
call(GRID.shown_differences, differences=np.array([0.5]))
call(dp.sql, values=pl.LazyFrame({"x": SCORES}), grid=GRID)
for law in (noise.DiscreteLaplace(2), noise.DiscreteGaussian(2)):
    for fill in ("fill", "fill_once"):
        if hasattr(law, fill):
            call(getattr(law, fill), out=np.zeros(3, np.int64), stream=source(rng()))
call(mechanisms.Hierarchy(1.0).release_rows, counts=np.ones((2, 8), int))
call(mechanisms.Hierarchy(1.0).release_with_deviation, counts=COUNTS)
call(mechanisms.Hierarchy(1.0).estimated_deviation, released=np.ones(8))
call(
    lambda columns: list(files.record_batches(io.BytesIO(b"x\n1\n"), columns, format="csv")),
    "record_batches",
    columns=[files.Column("x")],
)
CELL = STUDY.cells[0]
call(STUDY.rng, cell=CELL, call=0, seed=1)
call(STUDY.call, cell=CELL, call=0, seed=1)
call(testing.check_mechanism, mechanism=mechanisms.Histogram(1.0), size=3, records=60)
call(testing.check_trust_model, trust=trust.SecureAggregation(), size=2, clients=20)
call(trust.trust_models, kind=None)

# --- what trust models and protocols say of themselves

call(SHARED.remembered, size=8)
call(SHARED.shared_noise, size=8)
call(trust.SquareWave(1.0, clients=8, resolution=16).encoding, size=8)
call(trust.SquareWave(1.0, clients=8, resolution=16).edges, size=8)


def rounds(model):
    """Add calls of what a trust model has for a round; some need not look at ``servers``."""
    own, name = type(model), type(model).__name__
    call(lambda size: model.round(size), f"round of {name}", own.round, size=8)
    if hasattr(model, "sum_noise"):
        call(model.sum_noise, f" of {name}", function=AGES)
        call(
            lambda function: model.sum_round(function),
            f"sum_round of {name}",
            own.sum_round,
            function=AGES,
        )


for trust_model in ALL:
    if isinstance(trust_model, trust.TrustModel):
        rounds(trust_model)
call(trust.Ticket, report_id=b"1" * 16, key=b"1" * 32)
call(comparison.Keys, words=KEYS.words, bits=3, party=0)
call(trust.FunctionServers(function_servers()).sum, cells=[1, 2])
call(trust.SharedVectors([pointwise_client() for _ in range(5)]).sum, cells=[1, 2])
ANSWER = ANSWERS[0]
call(
    trust.Answer,
    protocol=FUNCTIONS,
    cells=ANSWER.cells,
    shares=ANSWER.shares,
    total=ANSWER.total,
    reports=1,
    clients=ANSWER.clients,
)

# --- curves of groups, projections, and what is stored

call(GROUPED.quantile, " of groups", p=0.5)
call(GROUPED.quantile_interval, " of groups", p=0.5)
call(GROUPED.band, " of groups")
call(GROUPED.mean_interval, " of groups")
OF_TREES = dp.cdf(SCORES, GRID, DYADIC, by=LABELS, groups=[0, 1], isotonic=False, rng=rng())
call(OF_TREES.smooth, " of groups")
call(GROUPED.to_frame, " of groups")
for distance in ("kolmogorov_smirnov", "earth_mover", "energy"):
    call(getattr(GROUPED, distance), " of groups", reference=CURVE)
call(PROJECTION.band, grid=GRID, approximation=0.1)
call(PROJECTION.polynomial_band, grid=GRID)
call(POLYNOMIAL.error_bound, records=1000, approximation=0.1)
call(CURVES.classes, joint=np.ones(16, int))
call(dp.load, path_or_text=NOISY.to_json())
call(
    statistics.ResidualMoments,
    edges=np.array([0.0, 1.0]),
    counts=np.array([5.0]),
    mean=np.array([0.5]),
    deviation=np.array([0.1]),
    noise_deviation=np.array([1.0]),
    privacy=dp.Privacy(1.0),
)
LINEAR, LOGISTIC = linear(), logistic()
call(LINEAR.fit, X=X, y=Y)
call(LOGISTIC.fit, X=X, y=Y)
call(LOGISTIC.predict_log_proba, X=X)
