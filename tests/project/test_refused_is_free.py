"""What is refused because a budget is too small for its task is refused before it is charged.

Between a budget that every check refuses and one that is large enough lie budgets that only one
check refuses: the one that knows how many columns, cells, groups or draws there are.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, trust
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.matching_pursuit import MatchingPursuit
from dpcore.papers.medians import RecursiveMedians, recursive_medians
from dpcore.papers.priroc import priroc, score_curves_at_medians
from dpcore.papers.quantile_roc import quantile_roc
from dpcore.papers.ranked_pairs import RankedPairs
from dpcore.papers.smooth_auc import SmoothS
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.streams import RunningCount

pytestmark = pytest.mark.needs_jit  # many releases: a minute and more where kernels are interpreted

EPSILONS = [2.0**-k for k in (1, 4, *range(8, 48, 3), 60, 1000, 1074)] + [1e300]
DELTA = 2.0**-30

WIDE = dp.Grid.uniform(0, 1, 2**12)
SMALL = dp.Grid.uniform(0, 1, 8)
PLANE = dp.TableGrid(dp.Grid.uniform(0, 1, 64), dp.Grid.uniform(0, 1, 64))
X = np.linspace(0, 1, 300)
Y = np.arange(300) % 3 == 0
IDS = np.arange(300)
COUNTS = WIDE.count(X)
OF_SCORES = dp.score_counts(Y, X, WIDE)
OTHER = mechanisms.Hierarchy(1.0)
PROBABILITIES = np.linspace(0.01, 0.99, 50)

# Made of epsilon, or of rho, alone.
ON_CURVES = {
    "Dyadic": mechanisms.Dyadic,
    "Dyadic, rho": lambda e: mechanisms.Dyadic(rho=e),
    "Hierarchy": mechanisms.Hierarchy,
    "Hierarchy, rho": lambda e: mechanisms.Hierarchy(rho=e),
    "Hierarchy, delta": partial(mechanisms.Hierarchy, delta=DELTA),
    "Histogram": mechanisms.Histogram,
    "Dawa": mechanisms.Dawa,
    "Dawa, rho": lambda e: mechanisms.Dawa(rho=e),
    "ToeplitzGaussian": lambda e: mechanisms.ToeplitzGaussian(rho=e),
    "ToeplitzGaussian, delta": lambda e: mechanisms.ToeplitzGaussian(epsilon=e, delta=DELTA),
    "HistogramQueries": partial(mechanisms.HistogramQueries, bins=300),
    "HistogramQueries, delta": partial(mechanisms.HistogramQueries, bins=300, delta=DELTA),
    "AdaptiveQuantiles": partial(mechanisms.AdaptiveQuantiles, steps=300),
    "AdaptiveQuantiles, rho": lambda e: mechanisms.AdaptiveQuantiles(rho=e, steps=300),
    "PolynomialProjection": lambda e: mechanisms.PolynomialProjection(rho=e),
    "PolynomialProjection, moments": partial(
        mechanisms.PolynomialProjection, delta=DELTA, degree=32, basis="moments"
    ),
}
OF_CLIENTS = {
    "Central": trust.Central,
    "DistributedNoise": partial(trust.DistributedNoise, clients=300),
    "DistributedNoise, dropout": partial(trust.DistributedNoise, clients=300, dropout=0.1),
    "FunctionSharing": trust.FunctionSharing,
    "Local": partial(trust.Local, clients=300),
}
OF_ONE_CURVE = {
    "MatchingPursuit": partial(MatchingPursuit, delta=DELTA),  # up to 4,096 cells
    "Hierarchy, add-or-remove-one": partial(mechanisms.Hierarchy, neighbours="add-or-remove-one"),
    "SquareWave": partial(trust.SquareWave, clients=300),
}
CHECKED = {
    "cdf": lambda e: dp.cdf(X, WIDE, epsilon=e),
    "cdf, rho": lambda e: dp.cdf(X, WIDE, rho=e),
    "cdf, by groups": lambda e: dp.cdf(X, WIDE, by=Y, groups=[False, True], epsilon=e),
    "score_curves, rho": lambda e: dp.score_curves(Y, X, WIDE, rho=e),
    "client_cdf": lambda e: trust.client_cdf(
        IDS, X, WIDE, trust.Central(e, records=4), clients=300
    ),
    "client_cdf, many records": lambda e: trust.client_cdf(
        IDS, X, WIDE, trust.DistributedNoise(e, clients=300, records=1000)
    ),
    "client_score_curves": lambda e: trust.client_score_curves(
        IDS, Y, X, WIDE, trust.DistributedNoise(e, clients=300, records=4)
    ),
    "roc_curve": lambda e: dp.roc_curve(Y, X, epsilon=e),
    "roc_curve, grid": lambda e: dp.roc_curve(Y, X, grid=WIDE, epsilon=e),
    "smooth_roc_curve": lambda e: smooth_roc_curve(Y, X, epsilon=e),
    "smooth_roc_curve, delta": lambda e: smooth_roc_curve(Y, X, epsilon=e, delta=DELTA),
    "SmoothS.release": lambda e: SmoothS(e).release(OF_SCORES),
    "SmoothS.release, delta": lambda e: SmoothS(e, delta=DELTA).release(OF_SCORES),
    "SmoothS.release_pairs": lambda e: SmoothS(e).release_pairs(RankedPairs(50, 10, 10)),
    "score_curves_at_medians": lambda e: score_curves_at_medians(Y, X, WIDE, epsilon=e),
    "quantile_roc": lambda e: quantile_roc(Y, X, epsilon=e),
    "priroc": lambda e: priroc(Y, X, epsilon=e),
    "hosmer_lemeshow": lambda e: dp.hosmer_lemeshow(Y, X, epsilon=e),
    "hosmer_lemeshow_by_groups": lambda e: hosmer_lemeshow_by_groups(Y, X, groups=100, epsilon=e),
    "quantiles": lambda e: dp.quantiles(X, PROBABILITIES, WIDE, epsilon=e),
    "quantiles_from_counts": lambda e: quantiles_from_counts(
        COUNTS, np.linspace(0.01, 0.99, 200), WIDE, epsilon=e
    ),
    "survival": lambda e: dp.survival(X, Y, WIDE, epsilon=e),
    "survival, rho": lambda e: dp.survival(X, Y, WIDE, rho=e),
    "survival, bounds": lambda e: dp.survival(X, Y, (0, 1), epsilon=e),
    "survival_from_counts": lambda e: dp.survival_from_counts(
        np.ones(2 * WIDE.size, int), WIDE, epsilon=e
    ),
    "survival_scores": lambda e: dp.survival_scores(X, Y, X, WIDE, (0, 1), epsilon=e),
    "survival_scores, bounds": lambda e: dp.survival_scores(X, Y, X, (0, 1), epsilon=e),
    "cumulative_incidence, bounds": lambda e: dp.cumulative_incidence(
        X, IDS % 3, (0, 1), [1, 2], epsilon=e
    ),
    "cumulative_incidence": lambda e: dp.cumulative_incidence(X, IDS % 3, WIDE, [1, 2], epsilon=e),
    "count": lambda e: dp.count(X, epsilon=e),
    "counts": lambda e: dp.counts(Y, [False, True], epsilon=e),
    "counts, rho": lambda e: dp.counts(Y, [False, True], rho=e),
    "classwise_calibration": lambda e: dp.classwise_calibration(
        Y, np.c_[1 - X, X], [False, True], epsilon=e
    ),
    "mean": lambda e: dp.mean(X, (0, 1), epsilon=e),
    "mean, delta": lambda e: dp.mean(X, (0, 1), epsilon=e, delta=DELTA),
    "bounds": lambda e: dp.bounds(X, epsilon=e),
    "box_plot": lambda e: dp.box_plot(X, WIDE, epsilon=e),
    "residual_plot": lambda e: dp.residual_plot(X, X - 0.5, epsilon=e),
    "residual_plot, sparse": lambda e: dp.residual_plot(
        X, X - 0.5, epsilon=e, search="sparse-vector"
    ),
    "project": lambda e: dp.project(X, 0, 1, epsilon=e, delta=DELTA),
    "project, rho": lambda e: dp.project(X, 0, 1, rho=e),
    "recursive_medians": lambda e: recursive_medians(X, WIDE, epsilon=e),
    "RunningCount": lambda e: RunningCount(2**31, epsilon=e),
    "RunningCount, rho": lambda e: RunningCount(2**31, rho=e),
    "exponential_mechanism": lambda e: mechanisms.exponential_mechanism(
        COUNTS, epsilon=e, sensitivity=1000
    ),
    "above_threshold": lambda e: mechanisms.above_threshold(COUNTS, 5, epsilon=e, sensitivity=1000),
}
for way in ("exponential", "smooth", "paper", "curve"):
    CHECKED[f"RecursiveMedians, {way}"] = lambda e, way=way: RecursiveMedians(e, 10, way).choose(
        COUNTS
    )
for name, of in (ON_CURVES | OF_CLIENTS | OF_ONE_CURVE).items():
    CHECKED[f"{name}.release"] = lambda e, of=of: of(e).release(COUNTS)
    CHECKED[f"{name}.release, again and again"] = lambda e, of=of: of(e).release(
        SMALL.count(X), replicates=3
    )
    CHECKED[f"cdf, {name}"] = lambda e, of=of: dp.cdf(X, WIDE, of(e))
for name, of in (ON_CURVES | OF_CLIENTS).items():
    CHECKED[f"score_curves, {name}"] = lambda e, of=of: dp.score_curves(Y, X, WIDE, of(e))
    if name in ON_CURVES:
        CHECKED[f"class by class, {name}"] = lambda e, of=of: dp.score_curves(
            Y, X, WIDE, (of(e), OTHER)
        )
    if name.startswith(("Hierarchy", "Dyadic", "Toeplitz")):
        CHECKED[f"table, {name}"] = lambda e, of=of: dp.table(X, X, PLANE, mechanism=of(e))
    if name.startswith(("Distributed", "Function")):
        CHECKED[f"SimulatedSum, {name}"] = lambda e, of=of: trust.SimulatedSum(COUNTS, of(e))
    if name.startswith(("Distributed", "Local")):
        CHECKED[f"client_cdf, {name}"] = lambda e, of=of: trust.client_cdf(IDS, X, WIDE, of(e))
for columns, constant in itertools.product((1, 20, 150), (True, False)):
    data = np.random.default_rng(columns).random((300, columns))
    for way in ("moments", "output"):
        CHECKED[f"LinearRegression, {way}, {columns}, {constant}"] = (
            lambda e, data=data, how={"method": way, "fit_intercept": constant}: (
                dp.models.LinearRegression(e, x_bounds=(0, 1), y_bounds=(0, 1), **how).fit(data, X)
            )
        )
    for way, C in itertools.product(("objective", "output"), (1e-12, 1.0)):
        if columns < 150:
            CHECKED[f"LogisticRegression, {way}, {columns}, {constant}, {C}"] = (
                lambda e, data=data, how={"method": way, "fit_intercept": constant, "C": C}: (
                    dp.models.LogisticRegression(e, x_bounds=(0, 1), **how).fit(data, Y)
                )
            )


@pytest.mark.sample(66)
@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_a_budget_that_is_too_small_is_not_charged(name, watching):
    outcomes = set()
    for epsilon in EPSILONS:
        watching.charged.clear()
        try:
            CHECKED[name](epsilon)
        except dp.DpcoreError as error:
            outcomes.add("refused")
            assert watching.charged == [], (epsilon, error)  # noqa: PT017
        else:
            outcomes.add("released")
            assert len(watching.charged) == 1
    assert outcomes == {"released", "refused"}


class Wrong(mechanisms.Dyadic):
    """A mechanism that describes itself wrongly."""

    def describe(self):
        return {}


class Unknown(mechanisms.Dyadic):
    """A mechanism with a noise that is no number."""

    def noise_deviation(self, size):
        return np.full(size, np.nan)


class Short(mechanisms.Dyadic):
    """A mechanism that knows its noise for other cells."""

    def noise_deviation(self, size):
        return np.zeros(3)


@pytest.mark.parametrize("of", [Wrong, Unknown, Short])
@pytest.mark.parametrize(
    "call",
    [
        lambda made: dp.cdf(X, WIDE, made),
        lambda made: dp.cdf(X, WIDE, made, by=Y, groups=[False, True]),
        lambda made: dp.score_curves(Y, X, WIDE, made),
        lambda made: dp.score_curves(Y, X, WIDE, (made, OTHER)),
        lambda made: dp.score_curves(Y, X, WIDE, (OTHER, made)),
        lambda made: dp.hosmer_lemeshow(Y, X, mechanism=(OTHER, made)),
        lambda made: dp.roc_curve(Y, X, mechanism=made),
        lambda made: dp.table(X, X, PLANE, made),
    ],
)
def test_a_mechanism_that_describes_itself_wrongly_is_not_charged(call, of, watching):
    with pytest.raises(dp.DpcoreError):
        call(of(1.0))
    assert watching.charged == []
