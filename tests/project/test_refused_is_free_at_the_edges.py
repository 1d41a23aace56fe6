"""What is refused because a budget is too small for its task is refused before it is charged.

Between a budget that every check refuses and one that is large enough lie budgets that only one
check refuses: the one that knows how many columns, cells, groups or draws there are.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, trust
from dpcore.mechanisms.medians import RecursiveMedians, recursive_medians
from dpcore.mechanisms.smooth_auc import SmoothS
from dpcore.privacy.spending import entered, left
from dpcore.releases.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.priroc import priroc, score_curves_at_medians
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.releases.roc_curve import smooth_roc_curve
from dpcore.streams import RunningCount
from dpcore.summaries.ranked_pairs import RankedPairs

pytestmark = pytest.mark.needs_jit  # many releases: a minute and more where kernels are interpreted

EPSILONS = [2.0**-k for k in (1, 4, *range(8, 48, 3), 60, 1000, 1074)] + [2.0**40, 1e300]
DELTA = 2.0**-30

WIDE = dp.Grid.uniform(0, 1, 2**12)
PLANE = dp.TableGrid(dp.Grid.uniform(0, 1, 64), dp.Grid.uniform(0, 1, 64))
SMALL = dp.Grid.uniform(0, 1, 8)
X = np.linspace(0, 1, 300)
Y = np.arange(300) % 3 == 0
IDS = np.arange(300)
COUNTS = WIDE.count(X)
COLUMNS = {d: np.random.default_rng(d).random((300, d)) for d in (1, 20, 150)}


def linear(data, how):
    bounds = {"x_bounds": (0, 1), "y_bounds": (0, 1)}
    return lambda e: dp.models.LinearRegression(e, **bounds, **how).fit(data, X)


def logistic(data, how):
    return lambda e: dp.models.LogisticRegression(e, x_bounds=(0, 1), **how).fit(data, Y)


def of_models():
    for columns, fit_intercept in itertools.product(COLUMNS, (True, False)):
        data, of = COLUMNS[columns], f"{columns}, {fit_intercept}"
        for method in ("moments", "output"):
            how = {"method": method, "fit_intercept": fit_intercept}
            yield f"LinearRegression, {method}, {of}", linear(data, how)
        for method, C in itertools.product(("objective", "output"), (1e-12, 1.0)):
            how = {"method": method, "fit_intercept": fit_intercept, "C": C}
            if columns < 150:
                yield f"LogisticRegression, {method}, {of}, {C}", logistic(data, how)


ON_CURVES = {
    "Dyadic": lambda e: mechanisms.Dyadic(e),
    "Dyadic, rho": lambda e: mechanisms.Dyadic(rho=e),
    "Hierarchy": lambda e: mechanisms.Hierarchy(e),
    "Hierarchy, add-or-remove-one": lambda e: mechanisms.Hierarchy(
        e, neighbours="add-or-remove-one"
    ),
    "Hierarchy, rho": lambda e: mechanisms.Hierarchy(rho=e),
    "Hierarchy, delta": lambda e: mechanisms.Hierarchy(e, delta=DELTA),
    "Histogram": lambda e: mechanisms.Histogram(e),
    "Dawa": lambda e: mechanisms.Dawa(e),
    "Dawa, rho": lambda e: mechanisms.Dawa(rho=e),
    "ToeplitzGaussian": lambda e: mechanisms.ToeplitzGaussian(rho=e),
    "ToeplitzGaussian, delta": lambda e: mechanisms.ToeplitzGaussian(epsilon=e, delta=DELTA),
    "HistogramQueries": lambda e: mechanisms.HistogramQueries(e, 300),
    "HistogramQueries, delta": lambda e: mechanisms.HistogramQueries(e, 300, delta=DELTA),
    "AdaptiveQuantiles": lambda e: mechanisms.AdaptiveQuantiles(e, 300),
    "AdaptiveQuantiles, rho": lambda e: mechanisms.AdaptiveQuantiles(rho=e, steps=300),
    "PolynomialProjection": lambda e: mechanisms.PolynomialProjection(rho=e),
    "PolynomialProjection, moments": lambda e: mechanisms.PolynomialProjection(
        e, DELTA, degree=32, basis="moments"
    ),
    "Central": lambda e: trust.Central(e),
    "DistributedNoise": lambda e: trust.DistributedNoise(e, clients=300),
    "DistributedNoise, dropout": lambda e: trust.DistributedNoise(e, clients=300, dropout=0.1),
    "FunctionSharing": lambda e: trust.FunctionSharing(e),
    "Local": lambda e: trust.Local(e, clients=300),
    "SquareWave": lambda e: trust.SquareWave(e, clients=300),
}
CHECKED = {
    **dict(of_models()),
    **{
        f"{name}.release": (lambda e, of=of: of(e).release(COUNTS))
        for name, of in ON_CURVES.items()
    },
    **{
        f"{name}.release, again and again": (
            lambda e, of=of: of(e).release(SMALL.count(X), replicates=3)
        )
        for name, of in ON_CURVES.items()
    },
    **{f"cdf, {name}": (lambda e, of=of: dp.cdf(X, WIDE, of(e))) for name, of in ON_CURVES.items()},
    **{
        f"score_curves, {name}": (lambda e, of=of: dp.score_curves(Y, X, WIDE, of(e)))
        for name, of in ON_CURVES.items()
        if "add-or-remove-one" not in name and name != "SquareWave"
    },
    **{
        f"score_curves, class by class, {name}": (
            lambda e, of=of: dp.score_curves(Y, X, WIDE, (of(e), mechanisms.Hierarchy(1.0)))
        )
        for name, of in ON_CURVES.items()
        if not name.startswith(("Central", "Distributed", "Function", "Local", "Square"))
        if "add-or-remove-one" not in name
    },
    **{
        f"table, {name}": (lambda e, of=of: dp.table(X, X, PLANE, mechanism=of(e)))
        for name, of in ON_CURVES.items()
        if name.startswith(("Hierarchy", "Histogram,", "Dyadic", "Toeplitz"))
    },
    **{
        f"SimulatedSum, {name}": (lambda e, of=of: trust.SimulatedSum(COUNTS, of(e)))
        for name, of in ON_CURVES.items()
        if name.startswith(("Distributed", "Function"))
    },
    **{
        f"client_cdf, {name}": (lambda e, of=of: trust.client_cdf(IDS, X, WIDE, of(e)))
        for name, of in ON_CURVES.items()
        if name.startswith(("Distributed", "Local"))
    },
    "cdf": lambda e: dp.cdf(X, WIDE, epsilon=e),
    "cdf, rho": lambda e: dp.cdf(X, WIDE, rho=e),
    "score_curves, rho": lambda e: dp.score_curves(Y, X, WIDE, rho=e),
    "cdf, by groups": lambda e: dp.cdf(X, WIDE, by=Y, groups=[False, True], epsilon=e),
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
    "SmoothS.release": lambda e: SmoothS(e).release(dp.score_counts(Y, X, WIDE)),
    "SmoothS.release, delta": lambda e: SmoothS(e, delta=DELTA).release(
        dp.score_counts(Y, X, WIDE)
    ),
    "SmoothS.release_pairs": lambda e: SmoothS(e).release_pairs(RankedPairs(50, 10, 10)),
    "score_curves_at_medians": lambda e: score_curves_at_medians(Y, X, WIDE, epsilon=e),
    "priroc": lambda e: priroc(Y, X, epsilon=e),
    "hosmer_lemeshow": lambda e: dp.hosmer_lemeshow(Y, X, epsilon=e),
    "hosmer_lemeshow_by_groups": lambda e: hosmer_lemeshow_by_groups(Y, X, groups=100, epsilon=e),
    "quantiles": lambda e: dp.quantiles(X, np.linspace(0, 1, 50), WIDE, epsilon=e),
    "quantiles_from_counts": lambda e: quantiles_from_counts(
        COUNTS, np.linspace(0.01, 0.99, 200), WIDE, epsilon=e
    ),
    "bounds": lambda e: dp.bounds(X, epsilon=e),
    "box_plot": lambda e: dp.box_plot(X, WIDE, epsilon=e),
    "residual_plot": lambda e: dp.residual_plot(X, X - 0.5, epsilon=e),
    "residual_plot, sparse": lambda e: dp.residual_plot(
        X, X - 0.5, epsilon=e, search="sparse-vector"
    ),
    "project": lambda e: dp.project(X, 0, 1, epsilon=e, delta=DELTA),
    "project, rho": lambda e: dp.project(X, 0, 1, rho=e),
    "recursive_medians": lambda e: recursive_medians(X, WIDE, epsilon=e),
    **{
        f"RecursiveMedians, {method}": (
            lambda e, method=method: RecursiveMedians(e, 10, method).choose(COUNTS)
        )
        for method in ("exponential", "smooth", "paper", "curve")
    },
    "RunningCount": lambda e: RunningCount(2**31, epsilon=e),
    "RunningCount, rho": lambda e: RunningCount(2**31, rho=e),
    "exponential_mechanism": lambda e: mechanisms.exponential_mechanism(
        COUNTS, epsilon=e, sensitivity=1000
    ),
    "above_threshold": lambda e: mechanisms.above_threshold(COUNTS, 5, epsilon=e, sensitivity=1000),
}


class Watching:
    """A budget without a cap, for whatever relation."""

    _key, neighbours = ("test", ""), "replace-one"

    def __init__(self):
        self.charged = []

    def _asked(self, privacy, what, stack):
        return lambda: self.charged.append((what, privacy))


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_a_budget_that_is_too_small_is_not_charged(name):
    outcomes = set()
    for epsilon in EPSILONS:
        watching = Watching()
        entered(watching, everywhere=True)
        try:
            CHECKED[name](epsilon)
        except dp.DpcoreError as error:
            outcomes.add("refused")
            assert watching.charged == [], (epsilon, error)  # noqa: PT017
        else:
            outcomes.add("released")
            assert len(watching.charged) == 1
        finally:
            left(watching, everywhere=True)
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


GROUPED = {"by": Y, "groups": [False, True]}


@pytest.mark.parametrize("of", [Wrong, Unknown, Short])
@pytest.mark.parametrize(
    "call",
    [
        lambda made, right: dp.cdf(X, WIDE, made),
        lambda made, right: dp.cdf(X, WIDE, made, **GROUPED),
        lambda made, right: dp.score_curves(Y, X, WIDE, made),
        lambda made, right: dp.score_curves(Y, X, WIDE, (made, right)),
        lambda made, right: dp.score_curves(Y, X, WIDE, (right, made)),
        lambda made, right: dp.hosmer_lemeshow(Y, X, mechanism=(right, made)),
        lambda made, right: dp.roc_curve(Y, X, mechanism=made),
        lambda made, right: dp.table(X, X, PLANE, made),
    ],
)
def test_a_mechanism_that_describes_itself_wrongly_is_not_charged(call, of):
    budget = dp.Budget(epsilon=9.0, neighbours="replace-one-within-group")
    with budget, pytest.raises(dp.DpcoreError):
        call(of(1.0), mechanisms.Dyadic(1.0))
    assert budget.log == ()
