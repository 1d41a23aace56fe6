"""Every function that draws noise is known here: it is charged, or there is a reason why not."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import dpcore
import dpcore as dp
from dpcore.noise import sources
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.papers.medians import RecursiveMedians, recursive_medians
from dpcore.papers.priroc import priroc, priroc_fix, score_curves_at_medians
from dpcore.papers.quantile_roc import quantile_roc
from dpcore.papers.ranked_pairs import ranked_pairs
from dpcore.papers.smooth_auc import SmoothS
from dpcore.papers.smooth_roc_curve import smooth_roc_curve
from dpcore.privacy import spending
from dpcore.releases.quantiles import quantiles_from_counts
from dpcore.statistics import (
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)
from dpcore.trust import (
    Central,
    Local,
    Shuffled,
    SquareWave,
    SquareWaveEncoding,
    SubsetSelection,
    UnaryEncoding,
    client_cdf,
    client_score_curves,
    functions,
    vector_sum,
)
from tests.privacy.releases import COUNTS, GRID, X, Y
from tests.project.public_rooms import ROOMS

CELLS = dp.TableGrid(GRID, GRID)
CLIENTS = np.arange(2000)
HALVES = CLIENTS % 2

PAIR = dp.mechanisms.Dyadic(0.25), dp.mechanisms.Dyadic(0.75)
# Each returns something that says what it cost.
VERBS = {
    "cdf": lambda: dp.cdf(X, GRID, epsilon=1.0),
    "cdf_from_counts": lambda: dp.cdf_from_counts(COUNTS, GRID, epsilon=1.0),
    "score_curves": lambda: dp.score_curves(Y, X, GRID, epsilon=1.0),
    "score_curves_from_counts": lambda: dp.score_curves_from_counts(
        dp.score_counts(Y, X, GRID), GRID, PAIR
    ),
    "score_curves_at_medians": lambda: score_curves_at_medians(Y, X, epsilon=1.0),
    "roc_curve": lambda: dp.roc_curve(Y, X, epsilon=1.0),
    "counts": lambda: dp.counts(Y, [False, True], epsilon=1.0),
    "mean": lambda: dp.mean(X, (0, 1), epsilon=1.0),
    "classwise_calibration": lambda: dp.classwise_calibration(
        Y, np.c_[1 - X, X], [False, True], epsilon=1.0
    ),
    "quantiles": lambda: dp.quantiles(X, [0.5], GRID, epsilon=1.0),
    "bounds": lambda: dp.bounds(X, epsilon=1.0),
    "compact_bounds": lambda: dp.compact_bounds(X, unit=1.0, epsilon=1.0),
    "symmetric_bounds": lambda: dp.symmetric_bounds(X, epsilon=1.0),
    "box_plot": lambda: dp.box_plot(X, GRID, epsilon=1.0),
    "hosmer_lemeshow": lambda: dp.hosmer_lemeshow(Y, X, epsilon=1.0),
    "residual_plot": lambda: dp.residual_plot(X, X - 0.5, epsilon=1.0),
    "survival": lambda: dp.survival(X, Y, GRID, epsilon=1.0),
    "cumulative_incidence": lambda: dp.cumulative_incidence(X, Y, GRID, [True], epsilon=1.0),
    "survival_scores": lambda: dp.survival_scores(X, Y, X, GRID, GRID, epsilon=1.0),
    "table": lambda: dp.table(X, X, dp.TableGrid(GRID, GRID), epsilon=1.0),
    "project": lambda: dp.project(X, 0, 1, epsilon=1.0, delta=1e-6),
    "client_cdf": lambda: client_cdf(CLIENTS, X, GRID, Central(1.0), clients=2000),
    "vector_sum": lambda: vector_sum(X, functions.Identity(0, 1), Central(1.0)),
    "RunningCount": lambda: dp.streams.RunningCount(10, epsilon=1.0),
    "RunningCDF": lambda: dp.streams.RunningCDF(GRID, 10, epsilon=1.0),
    "RunningScores": lambda: dp.streams.RunningScores(GRID, 10, epsilon=1.0),
}

CHARGED = {
    **VERBS,
    # twice its epsilon to a budget for replace-one, under which the count is public
    "count": lambda: dp.count(X, epsilon=1.0),
    "survival_from_counts": lambda: dp.survival_from_counts(
        dp.survival_counts(X, Y, GRID), GRID, epsilon=1.0
    ),
    "cumulative_incidence, between bounds": lambda: dp.cumulative_incidence(
        X, Y, (0, 1), [True], epsilon=1.0
    ),
    "survival, between bounds": lambda: dp.survival(X, Y, (0, 1), epsilon=1.0),
    "survival_scores, between bounds": lambda: dp.survival_scores(X, Y, X, (0, 1), epsilon=1.0),
    "table_from_counts": lambda: dp.table_from_counts(CELLS.count(X, X), CELLS, epsilon=1.0),
    "project_sums": lambda: dp.project_sums(
        dp.polynomial_sums(X, 0, 1, 3), dp.mechanisms.PolynomialProjection(rho=0.5, degree=3)
    ),
    "quantiles_from_counts": lambda: quantiles_from_counts(COUNTS, [0.5], GRID, epsilon=1.0),
    "PolynomialProjection.release_totals": lambda: dp.mechanisms.PolynomialProjection(
        1.0, delta=1e-6, degree=3
    ).release_totals(dp.polynomial_sums(X, 0, 1, 3).sums),
    "smooth_roc_curve": lambda: smooth_roc_curve(Y, X, epsilon=1.0),
    "hosmer_lemeshow_by_groups": lambda: hosmer_lemeshow_by_groups(Y, X, epsilon=1.0),
    "quantile_roc": lambda: quantile_roc(Y, X, epsilon=1.0),
    "priroc": lambda: priroc(Y, X, epsilon=1.0),
    "priroc_fix": lambda: priroc_fix(Y, X, epsilon=1.0),
    "client_score_curves": lambda: client_score_curves(
        CLIENTS, Y, X, GRID, Central(1.0), clients=2000
    ),
    "recursive_medians": lambda: recursive_medians(X, GRID, epsilon=1.0, depth=2)[1],
    "RecursiveMedians.choose": lambda: RecursiveMedians(1.0, 2).choose(COUNTS),
    "RecursiveMedians.choose, smooth": lambda: RecursiveMedians(1.0, 2, "smooth").choose(COUNTS),
    "RecursiveMedians.choose, paper": lambda: RecursiveMedians(1.0, 2, "paper").choose(COUNTS),
    "RecursiveMedians.choose, curve": lambda: RecursiveMedians(1.0, 2, "curve").choose(COUNTS),
    "Mechanism.release": lambda: dp.mechanisms.Hierarchy(0.5).release(COUNTS, replicates=2),
    "Local.release": lambda: Local(1.0, clients=2000).release(COUNTS),
    "Shuffled.release": lambda: Shuffled(1.0, 1e-3, clients=2000).release(COUNTS),
    "SquareWave.release": lambda: SquareWave(1.0, clients=2000).release(COUNTS),
    "UnaryEncoding.perturbed_totals": lambda: UnaryEncoding(1.0).perturbed_totals(COUNTS, 2000),
    "UnaryEncoding.simulated_totals": lambda: UnaryEncoding(0.5).simulated_totals(
        COUNTS, 2000, np.random.default_rng(1), replicates=2
    ),
    "SubsetSelection.perturbed_totals": lambda: SubsetSelection(1.0, COUNTS.size).perturbed_totals(
        COUNTS
    ),
    "SubsetSelection.simulated_totals": lambda: SubsetSelection(1.0, COUNTS.size).simulated_totals(
        COUNTS, np.random.default_rng(1)
    ),
    "SquareWaveEncoding.perturbed_totals": lambda: SquareWaveEncoding(
        1.0, COUNTS.size
    ).perturbed_totals(COUNTS),
    "SquareWaveEncoding.simulated_totals": lambda: SquareWaveEncoding(
        1.0, COUNTS.size
    ).simulated_totals(COUNTS, np.random.default_rng(1)),
    "Mechanism.release_with_deviation": lambda: dp.mechanisms.Hierarchy(1.0).release_with_deviation(
        COUNTS
    ),
    "Mechanism.release_rows": lambda: dp.mechanisms.Hierarchy(1.0).release_rows(COUNTS[None]),
    "Mechanism.release_rows, by Dawa": lambda: dp.mechanisms.Dawa(1.0).release_rows(COUNTS[None]),
    "Dawa.release_with_deviation": lambda: dp.mechanisms.Dawa(1.0).release_with_deviation(COUNTS),
    "AdaptiveQuantiles.release_from_sites": lambda: dp.mechanisms.AdaptiveQuantiles(
        1.0
    ).release_from_sites(np.stack([COUNTS, COUNTS])),
    "SmoothS.release": lambda: SmoothS(0.5).release(dp.score_counts(Y, X, GRID), replicates=2),
    "SmoothS.release_pairs": lambda: SmoothS(1.0).release_pairs(ranked_pairs(Y, X)),
    "exponential_mechanism": lambda: dp.mechanisms.exponential_mechanism([1, 2], epsilon=1.0),
    "above_threshold": lambda: dp.mechanisms.above_threshold([1, 2], 2, epsilon=1.0),
    "score_curves, class by class": lambda: dp.score_curves(Y, X, GRID, PAIR),
    "roc_curve, class by class": lambda: dp.roc_curve(Y, X, grid=GRID, mechanism=PAIR),
    "cdf, by Dawa": lambda: dp.cdf(X, GRID, dp.mechanisms.Dawa(1.0)),
    "cdf, by groups": lambda: dp.cdf(X, GRID, by=Y, groups=[False, True], epsilon=1.0),
    "score_curves, by groups": lambda: dp.score_curves(Y, X, by=HALVES, groups=[0], epsilon=1.0),
    "survival, by groups": lambda: dp.survival(X, Y, GRID, by=HALVES, groups=[0], epsilon=1.0),
    "cumulative_incidence, by groups": lambda: dp.cumulative_incidence(
        X, Y, GRID, [True], by=HALVES, groups=[0], epsilon=1.0
    ),
    "roc_curve, by groups": lambda: dp.roc_curve(Y, X, by=HALVES, groups=[0], epsilon=1.0),
    "residual_plot, sparse": lambda: dp.residual_plot(
        X, X - 0.5, epsilon=1.0, search="sparse-vector"
    ),
}

NOT_CHARGED = {
    "read off a release, or records of nobody": {
        "CDF.sample",
        "Table.sample",
        "ResidualPlot.from_json",
        "BoxPlot.from_curve",
        "chi_square_test",
        "log_rank_test",
        "restricted_mean_difference",
        "compare",
        "equivalence_test",
        "goodness_of_fit",
        "pairwise_tests",
        "two_sample_test",
        "root_mean_square_errors",
        "with_simulated_deviation",
        "HosmerLemeshow.under_noise",
        "Simulation.generator",
        "Simulation.of_counts",
        "Simulation.of_losses",
        "Simulation.of_population",
        "Simulation.of_records",
        "Simulation.of_samples",
        "Simulation.samples",
        "simulated_pairs",
        "interval",
        "simultaneous_band",
        "band_of_rates",
        "Mechanism.simulated_noise",
        "Releases.simulated_noise",
        "Simulation.of_noise",
        "RightLabels.draw",
        "AfterSteps.release",
        "SumOfReleases.release",
        "SumOfReleases.simulated_noise",
    },
    "what clients and servers do on their own machines (docs/guides/budget.md)": {
        "Client.__init__",
        "PointwiseClient.__init__",
        "Server.__init__",
        "SquareWaveEncoding.perturb",
        "SubsetSelection.perturb",
        "UnaryEncoding.perturb",
        "gen",
    },
    "noise alone": {"discrete_laplace", "discrete_gaussian"},
    "draws nothing, or keeps the generator until something is released": {
        "GeneratorSource.__init__",
        "public_generator",
        "releasing",
        "source",
        "Draws.__init__",
        "BufferedToeplitz.noise",
        "ConsistentTree.noise",
        "DyadicTree.noise",
        "StreamMechanism.noise",
        "noise_of",
        "child_of",
        "LinearRegression.__init__",
        "LogisticRegression.__init__",
        "check_quantiles",
        "checked",
        "checked_spender",
        "checked_budget",
    },
    "parts of what is charged, for dpcore alone": {
        "compact_end",
        "curve",
        "ends",
        "ends_of",
        "exponential",
        "labelled_score_curves",
        "paper",
        "raw_release",
        "raw_rows",
        "raw_score_curves",
        "event_row",
        "event_rows",
        "released_by_groups",
        "released_incidence",
        "released_incidences",
        "released_survival",
        "score_curves_by_groups",
        "survival_by_groups",
        "raw_table",
        "residual_bounds",
        "selector",
        "smooth",
        "symmetric_end",
    },
    "a protocol of classes that are charged": {"Releases.release"},
}
REPORTS_ALONE = {"Round.report", "Round.memory"}  # as Client and Server: the release is charged
OF_NOISE_ALONE = {
    f"{law}.{method}"
    for law in ("DiscreteLaplace", "DiscreteGaussian")
    for method in ("fill", "fill_once")
}
ELSEWHERE = {
    "RunningCDF.__init__": "RunningCDF",
    "RunningCount.__init__": "RunningCount",
    "RunningScores.__init__": "RunningScores",
    "SimulatedSum.__init__": "SimulatedSum",
    "simulated_totals": "SubsetSelection",
}


def takes_a_generator():
    """Names of all functions and methods of public modules that have an argument ``rng``."""
    for found in pkgutil.walk_packages(dpcore.__path__, "dpcore."):
        if "._" in found.name or found.name.startswith(("dpcore.kernels", "dpcore.studies.named")):
            continue
        module = importlib.import_module(found.name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != found.name:
                continue
            inside = {name: thing}
            if isinstance(thing, type):
                inside = {f"{name}.{key}": each for key, each in vars(thing).items()}
            for full, each in inside.items():
                function = getattr(each, "__func__", each)
                inner = full.rpartition(".")[2].startswith("_") and "__init__" not in full
                if inner or not inspect.isfunction(function):
                    continue
                if "rng" in inspect.signature(function).parameters:
                    yield full


def test_every_function_that_takes_a_generator_is_known_here():
    pytest.importorskip("sklearn")
    free = set().union(*NOT_CHARGED.values())
    charged = {name.partition(",")[0] for name in CHARGED} | set(ELSEWHERE)
    assert not free & charged
    assert set(takes_a_generator()) - free - charged == set()


class Watching:
    """A budget without a cap, for whatever relation."""

    _key, neighbours = ("test", ""), "replace-one"

    def __init__(self):
        self.charged = []

    def _asked(self, privacy, what, stack):
        return lambda: self.charged.append((privacy, what))


@pytest.fixture
def watched():
    budget = Watching()
    spending.entered(budget, everywhere=True)
    yield budget
    spending.left(budget, everywhere=True)


@pytest.fixture
def uncovered(monkeypatch):
    """Sources of which words were taken where nothing had been charged."""
    found = []
    for kind in (sources.CryptographicSource, sources.GeneratorSource):

        def fill(self, words, before=kind.fill):
            if not spending._IS_COVERED.get():
                found.append(type(self).__name__)
            before(self, words)

        monkeypatch.setattr(kind, "fill", fill)
    return found


BEFORE = {"client_cdf", "client_score_curves"}  # which records of a client count, shown to nobody


@pytest.mark.parametrize("name", CHARGED)
def test_all_of_it_is_charged_once_and_before_noise_is_drawn(name, watched, uncovered):
    released = CHARGED[name]()
    ((privacy, what),) = watched.charged
    stated = released if isinstance(released, dp.Privacy) else getattr(released, "privacy", None)
    assert privacy == (stated or privacy)
    assert (privacy.epsilon or 2 * privacy.rho) == 1.0
    if name in VERBS:
        assert (what, privacy) == (name, released.privacy)
    if name not in BEFORE:
        assert not uncovered


@pytest.mark.parametrize("name", sorted(set(VERBS) - BEFORE))
def test_beyond_the_cap_nothing_is_drawn(name, monkeypatch):
    def no_bits(*_):
        raise AssertionError("noise was drawn")

    budget = dp.Budget(epsilon=0.9, delta=1e-5)
    monkeypatch.setattr("dpcore.noise.sources.CryptographicSource.fill", no_bits)
    with budget, pytest.raises(dp.BudgetError) as caught:
        VERBS[name]()
    assert budget.log == ()
    assert caught.value.remaining == budget.remaining
    assert caught.value.privacy.epsilon == 1.0


@pytest.mark.needs_jit
def test_intervals_of_calibration_errors_are_free():
    roc = dp.roc_curve(Y, X, epsilon=1.0)
    with dp.Budget(epsilon=1.0) as budget:
        expected_calibration_error_interval(roc.curves, mechanism=roc.mechanism)
        population_expected_calibration_error_interval(roc.curves, mechanism=roc.mechanism)
    assert budget.log == ()


def test_simulations_of_pairs_are_free_and_their_mechanism_by_hand_is_not():
    roc = dp.roc_curve(Y, X, grid=GRID, mechanism=PAIR)
    with dp.Budget(epsilon=2.0) as budget:
        assert roc.auc_interval().low < roc.auc
        assert budget.log == ()
        roc.mechanism.release(dp.score_counts(Y, X, GRID), replicates=2)
    assert [charge.privacy.epsilon for charge in budget.log] == [1.0, 1.0]


@pytest.mark.parametrize("room", [room for room in ROOMS if "records" not in room])
def test_no_public_object_takes_a_source_of_noise_and_so_passes_budgets_by(room):
    pytest.importorskip("sklearn")
    module = importlib.import_module(room)
    wrong = []
    for name in module.__all__:
        thing = getattr(module, name)
        methods = {name: thing}
        if isinstance(thing, type):
            methods = {
                f"{name}.{key}": getattr(of, "__func__", of)
                for of_class in thing.__mro__
                for key, of in vars(of_class).items()
                if not key.startswith("_")
            }
        for full, method in methods.items():
            if not inspect.isfunction(method):
                continue
            kinds = [str(each.annotation) for each in inspect.signature(method).parameters.values()]
            if any(kind.split(" | ")[0] == "Source" for kind in kinds):
                wrong.append(full)
    assert [name for name in wrong if name not in OF_NOISE_ALONE | REPORTS_ALONE] == []
