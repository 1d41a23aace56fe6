"""Objects in all their states: copies and texts show no records, and nobody writes to a release.

Public objects are copied in every way that Python knows. Either the object refuses, or the copy
holds no exact count, no record and none of the noise on them. The few objects that do hold records
by design are listed with the reason.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import json
import pickle
import re
from dataclasses import fields, is_dataclass, replace
from functools import partial

import joblib
import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, statistics, streams, trust
from tests.project.public_rooms import ROOMS

pytestmark = pytest.mark.needs_jit

GRID = dp.Grid.uniform(0, 1, 12)
MIDDLES = (np.arange(12) + 0.5) / 12
# Counts that no noise of a small epsilon gives by chance, and that are in no other number.
COUNTS = 20_011 + 2_003 * np.arange(12) ** 2
CLIENTS = int(COUNTS.sum())
VALUES = np.repeat(MIDDLES, COUNTS)
LABELS = np.arange(VALUES.size) % 3 == 0
EPSILON = 1e-4


def rng():
    return np.random.default_rng(5)


def exact_numbers():
    """The counts of cells and their sums up to each cell, by class, too; n itself is public."""
    own = GRID.count(VALUES)
    assert own.tolist() == COUNTS.tolist()
    by_class = [GRID.count(VALUES[label == LABELS]) for label in (False, True)]
    numbers = {
        int(number)
        for counts in (own, *by_class)
        for number in (*counts, *np.cumsum(counts), *np.cumsum(counts[::-1]))
    }
    return sorted(numbers - {CLIENTS})


def protocol(of, **how):
    return trust.Protocol(of, GRID.size, b"0" * 16, **how)


def servers(of, reports=()):
    both = [
        trust.Server(protocol(of), place=place)
        if isinstance(of, trust.FunctionSharing)
        else trust.Server(protocol(of))
        for place in (0, 1)
    ]
    for cell in reports:
        for server, report in zip(both, trust.Client(protocol(of)).report(cell), strict=True):
            server.add(report)
    return both


def settled(of):
    both = servers(of, [3, 9, 9])
    trust.agree(both)
    return both


def simulated_sum(asked=False):
    made = trust.SimulatedSum(COUNTS, trust.DistributedNoise(EPSILON, clients=CLIENTS), rng())
    if asked:
        made.sum([3, 4])
    return made


def pointwise(aggregator, points=()):
    curve = trust.PointwiseCDF(aggregator)
    for point in points:
        curve(point)
    return curve


def shared_vectors():
    of = trust.DistributedNoise(40.0, clients=3)
    return trust.SharedVectors([trust.PointwiseClient(of, GRID.size, cell) for cell in (3, 9, 9)])


def running_count(steps=()):
    count = streams.RunningCount(100, epsilon=EPSILON, rng=rng())
    for step in steps:
        count.add(int(step))
    return count


def running_cdf(steps=()):
    curve = streams.RunningCDF(GRID, 100, epsilon=EPSILON, rng=rng())
    for step in steps:
        curve.add_counts(np.eye(GRID.size, dtype=int)[int(step) % GRID.size])
    return curve


def running_scores(steps=()):
    scores = streams.RunningScores(GRID, 100, epsilon=EPSILON, window=2, rng=rng())
    for step in steps:
        scores.add_counts(np.eye(2 * GRID.size, dtype=int)[int(step) % GRID.size])
    return scores


def curves():
    return dp.score_curves(LABELS, VALUES, GRID, mechanisms.Hierarchy(EPSILON), rng=rng())


def model(cls, fitted):
    bounds = {"x_bounds": (0, 1)} | ({"y_bounds": (0, 1)} if "Linear" in cls.__name__ else {})
    estimator = cls(EPSILON, **bounds, rng=rng())
    return estimator.fit(VALUES[:5000, None], LABELS[:5000]) if fitted else estimator


def watched_budget():
    budget = dp.Budget(epsilon=10.0)
    with budget:
        dp.cdf(VALUES, GRID, epsilon=EPSILON)
    return budget


def answered():
    return settled(trust.FunctionSharing(40.0))[0].answer([3, 5])


STATES = {
    "CDF": lambda: dp.cdf(VALUES, GRID, mechanisms.Hierarchy(EPSILON), rng=rng()),
    "CDF, raw": lambda: dp.cdf(VALUES, GRID, epsilon=EPSILON, isotonic=False, rng=rng()),
    "CDF, Dawa": lambda: dp.cdf(VALUES, GRID, mechanisms.Dawa(EPSILON), rng=rng()),
    "CDF, pointwise": lambda: pointwise(simulated_sum(), [3, 5]).to_cdf(),
    "GroupedCDF": lambda: dp.cdf(
        VALUES, GRID, by=LABELS, groups=[False, True], epsilon=EPSILON, rng=rng()
    ),
    "ScoreCurves": curves,
    "GroupedScores": lambda: dp.score_curves(
        LABELS, VALUES, GRID, by=LABELS, groups=[False, True], epsilon=EPSILON, rng=rng()
    ),
    "GroupedROC": lambda: dp.roc_curve(
        LABELS, VALUES, GRID, by=LABELS, groups=[False, True], epsilon=EPSILON, rng=rng()
    ),
    "CumulativeIncidence": lambda: dp.cumulative_incidence(
        VALUES, LABELS, GRID, [True], epsilon=EPSILON, rng=rng()
    ),
    "GroupedCumulativeIncidence": lambda: dp.cumulative_incidence(
        VALUES, LABELS, GRID, [True], by=LABELS, groups=[False, True], epsilon=EPSILON, rng=rng()
    ),
    "GroupedSurvival": lambda: dp.survival(
        VALUES, LABELS, GRID, by=LABELS, groups=[False, True], epsilon=EPSILON, rng=rng()
    ),
    "Survival": lambda: dp.survival(VALUES, LABELS, GRID, epsilon=EPSILON, rng=rng()),
    "SurvivalScores": lambda: dp.survival_scores(
        VALUES, LABELS, VALUES, (0, 1), epsilon=EPSILON, rng=rng()
    ),
    "Table": lambda: dp.table(VALUES, VALUES, dp.TableGrid(GRID, GRID), epsilon=EPSILON, rng=rng()),
    "BoxPlot": lambda: dp.box_plot(VALUES, GRID, epsilon=EPSILON, rng=rng()),
    "Bounds": lambda: dp.bounds(VALUES, epsilon=1.0, rng=rng()),
    "Count": lambda: dp.count(VALUES, epsilon=EPSILON, rng=rng()),
    "Counts": lambda: dp.counts(LABELS, [False, True], epsilon=EPSILON, rng=rng()),
    "Mean": lambda: dp.mean(VALUES, (0, 1), epsilon=EPSILON, rng=rng()),
    "ClasswiseCalibration": lambda: dp.classwise_calibration(
        LABELS, np.c_[1 - VALUES, VALUES], [False, True], epsilon=EPSILON, rng=rng()
    ),
    "Quantiles": lambda: dp.quantiles(VALUES, [0.5], GRID, epsilon=EPSILON, rng=rng()),
    "Projection": lambda: dp.project(VALUES, 0, 1, rho=1e-8, rng=rng()),
    "ResidualPlot": lambda: dp.residual_plot(
        VALUES[::1000], VALUES[::1000] - 0.5, epsilon=1.0, rng=rng()
    ),
    "Comparison": lambda: dp.compare(
        *(dp.cdf(VALUES, GRID, epsilon=EPSILON, rng=rng()) for _ in range(2)), simulations=99
    ),
    "DistributionTest": lambda: dp.goodness_of_fit(
        dp.cdf(VALUES, GRID, epsilon=EPSILON, rng=rng()), lambda t: t, simulations=99
    ),
    "PairwiseTests": lambda: dp.pairwise_tests(
        {name: dp.cdf(VALUES, GRID, epsilon=EPSILON, rng=rng()) for name in "ab"}, simulations=99
    ),
    "ReleasedSum": lambda: trust.vector_sum(
        VALUES, trust.functions.Groups(GRID.positions), trust.Central(EPSILON), rng=rng()
    ),
    "Budget": watched_budget,
    "ROC": lambda: statistics.ROC.from_curves(curves()),
    "Bins": lambda: statistics.ScoreHistogram.uniform(curves(), 4).bins,
    "ScoreHistogram": lambda: statistics.ScoreHistogram.uniform(curves(), 4),
    "HosmerLemeshow": lambda: dp.hosmer_lemeshow(LABELS, VALUES, epsilon=EPSILON, rng=rng()),
    "LinearRegression": lambda: model(dp.models.LinearRegression, fitted=False),
    "LinearRegression, fitted": lambda: model(dp.models.LinearRegression, fitted=True),
    "LogisticRegression": lambda: model(dp.models.LogisticRegression, fitted=False),
    "LogisticRegression, fitted": lambda: model(dp.models.LogisticRegression, fitted=True),
    "RunningCount": running_count,
    "RunningCount, used": lambda: running_count(COUNTS),
    "RunningCDF": running_cdf,
    "RunningCDF, used": lambda: running_cdf(COUNTS),
    "RunningScores": running_scores,
    "RunningScores, used": lambda: running_scores(COUNTS),
    "SimulatedSum": simulated_sum,
    "SimulatedSum, asked": lambda: simulated_sum(asked=True),
    "SharedVectors": shared_vectors,
    "FunctionServers": lambda: trust.FunctionServers(settled(trust.FunctionSharing(40.0))),
    "PointwiseCDF, SimulatedSum": lambda: pointwise(simulated_sum()),
    "PointwiseCDF, SimulatedSum, asked": lambda: pointwise(simulated_sum(), [3, 5]),
    "PointwiseCDF, SharedVectors": lambda: pointwise(shared_vectors(), [3]),
    "PointwiseCDF, FunctionServers": lambda: pointwise(
        trust.FunctionServers(settled(trust.FunctionSharing(40.0))), [3]
    ),
    "Client": lambda: trust.Client(protocol(trust.SecureAggregation())),
    "Server": lambda: servers(trust.SecureAggregation())[0],
    "Server, with reports": lambda: servers(trust.SecureAggregation(), [3, 9, 9])[0],
    "Server, settled": lambda: settled(trust.SecureAggregation())[0],
    "Mechanisms": lambda: [
        of
        for of in (mechanisms.Dyadic(EPSILON), mechanisms.Dawa(EPSILON), mechanisms.Hierarchy(0.1))
        if of.release(COUNTS, rng=rng()).size
    ],
    "DistributedNoise": lambda: trust.DistributedNoise(EPSILON, clients=CLIENTS),
    "Local": lambda: trust.Local(1.0, clients=CLIENTS),
}
REFUSED = (
    "Budget",
    "Client",
    "FunctionServers",
    "PointwiseCDF",
    "RunningCDF",
    "RunningCount",
    "RunningScores",
    "Server",
    "SharedVectors",
    "SimulatedSum",
)
OF_PUBLIC_PARAMETERS = """Advice Ball Box BufferedToeplitz Central Charge Coarse ConsistentTree
DiscreteGaussian DiscreteLaplace DyadicTree Enough
FunctionSharing Grid Groups Identity Losses One Overview Plan Polynomials Privacy Product
ProjectionSums Protocol RegressionSums ResidualSums RiskGroupSums
SecureAggregation ShiftedNoise Shuffled Simplex SquareWave SquareWaveEncoding Step Study
SubsetSelection Suggestion TableGrid Together TrustOption UnaryEncoding Vector"""
COMPUTED_FROM_RELEASES = """AreaChange BayesianBinning BinormalROC Confusion HistogramBinning
HosmerLemeshowUnderNoise Interval IsotonicCalibration RatesAtTime Reliability ResidualMoments
RestrictedMeanDifference Results RiskCalibration Smoothing"""
MESSAGES = "Answer Keys Opened PartialSum VectorSum"  # which are sent, and have bytes of their own
EXACT_SUMS = "PolynomialSums"  # by design, as Grid.count returns exact counts
A_CLIENTS_OWN_STATE = "PointwiseClient"  # which its documentation tells to keep as the record
KEYS = "Enrolment Ticket"  # which are made to be stored and sent to their owner
# A file's description, and interfaces.
NO_OBJECTS = (
    "Column Aggregator Bound Function Mechanism Memory Round StreamMechanism Sums TrustModel"
)
KNOWN = " ".join(
    (
        OF_PUBLIC_PARAMETERS,
        COMPUTED_FROM_RELEASES,
        MESSAGES,
        EXACT_SUMS,
        A_CLIENTS_OWN_STATE,
        KEYS,
        NO_OBJECTS,
    )
)


def public_classes():
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and not issubclass(thing, BaseException):
                yield name


def test_all_public_classes_are_known_here():
    known = {name.partition(",")[0] for name in STATES} | {*mechanisms.__all__, *KNOWN.split()}
    assert set(public_classes()) - known == set()


def texts(state):
    """All that an object turns into: bytes and texts, as bytes; nothing where it refuses."""

    def stored(state):
        joblib.dump(state, file := io.BytesIO())
        return file.getvalue()

    yield repr(state).encode()
    yield str(state).encode()
    ways = [partial(pickle.dumps, protocol=level) for level in range(pickle.HIGHEST_PROTOCOL + 1)]
    ways += [lambda state: repr(copy.copy(state)).encode()]
    ways += [lambda state: repr(copy.deepcopy(state)).encode()]
    for way in (*ways, stored):
        with contextlib.suppress(TypeError):
            yield way(state)
    if hasattr(state, "to_json"):
        with contextlib.suppress(dp.DtypeError):  # a part of results is not stored alone
            yield state.to_json().encode()
            yield json.dumps(json.loads(state.to_json())).encode()


def forms(number):
    """How a number looks in the bytes of arrays: as integers and reals."""
    return [np.array(number, kind).tobytes() for kind in ("<i8", ">i8", "<f8")]


EXACT = exact_numbers()
BYTES = [form for number in EXACT for form in forms(number)]
DIGITS = {str(number).encode() for number in EXACT}
WHOLE = re.compile(rb"(?<![\d.])(\d+)(?:\.0+)?(?![\d.])")


def is_exact(text):
    """Whether an exact count is in it, in the bytes of an array or as a number in a text."""
    return any(form in text for form in BYTES) or not DIGITS.isdisjoint(WHOLE.findall(text))


@pytest.mark.sample(22)
@pytest.mark.parametrize("name", STATES)
@pytest.mark.filterwarnings("ignore")
def test_nothing_that_is_written_holds_exact_counts(name):
    assert not any(map(is_exact, texts(STATES[name]())))


@pytest.mark.parametrize("name", [name for name in STATES if name.startswith(REFUSED)])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_holds_records_or_noise_to_come_is_not_copied(name, copied):
    with pytest.raises(dp.DtypeError, match="copied or pickled"):
        copied(STATES[name]())


def test_exact_counts_would_be_found():
    assert is_exact(pickle.dumps(COUNTS))
    assert is_exact(pickle.dumps(np.cumsum(COUNTS).astype(float)))
    assert is_exact(json.dumps(np.cumsum(COUNTS).astype(float).tolist()).encode())
    assert any(map(is_exact, texts(dp.cdf(VALUES, GRID, mechanisms.NoNoise()))))


# --- nobody writes to what was released, however it was made

MORE = {
    "CDF, integers": lambda: dp.cdf(VALUES, GRID, mechanisms.Dyadic(1e-4), isotonic=False),
    "CDF, smooth": lambda: dp.cdf(VALUES, GRID, mechanisms.Dyadic(1e-4), isotonic=False).smooth(),
    "Smoothing": lambda: dp.smooth(np.array([3.0, 1.0, 4.0]), 9),
    "PolynomialSums": lambda: dp.polynomial_sums(VALUES[::1000], 0, 1, 3),
    "Quantiles, several": lambda: dp.quantiles(VALUES, [0.2, 0.5], GRID, epsilon=1.0),
    "Reliability": lambda: statistics.reliability(curves(), 4),
    "HistogramBinning": lambda: statistics.HistogramBinning.fit(curves(), 4),
    "IsotonicCalibration": lambda: statistics.IsotonicCalibration.fit(curves()),
    "BayesianBinning": lambda: statistics.BayesianBinning.fit(curves()),
    "HosmerLemeshowUnderNoise": lambda: dp.hosmer_lemeshow(
        LABELS[::100], VALUES[::100], epsilon=1.0
    ).under_noise(99),
    "PartialSum": lambda: settled(trust.SecureAggregation())[0].close(),
    "Answer": lambda: settled(trust.FunctionSharing(40.0))[0].answer([3, 5]),
    "VectorSum": lambda: trust.VectorSum(
        (of := protocol(trust.DistributedNoise(1.0, clients=3))),
        sum(trust.Client(of).vector(cell) for cell in (3, 9, 9)),
        reports=3,
    ),
    "Keys": lambda: trust.comparison.gen([1, 2], 3)[0],
    "BinormalROC": lambda: statistics.BinormalROC(0.8, 9, dp.Privacy(1.0), {"name": "smooth-auc"}),
    "Protocol": lambda: protocol(trust.DistributedNoise(1.0, clients=3)),
    "Protocol, of a function": lambda: trust.Protocol.of_function(
        trust.DistributedNoise(1.0, clients=3), trust.functions.Identity(0, 1), b"0" * 16
    ),
    "Grid": lambda: dp.Grid([1.0, 2.0, 4.0]),
}
MADE = {name: make for name, make in STATES.items() if not name.startswith(REFUSED)} | MORE
MADE = {name: make for name, make in MADE.items() if "Regression" not in name}  # as scikit-learn's


def attributes(state):
    """Names and values of public fields and properties, as far as there are any."""
    for name in dir(type(state)):
        if name.startswith("_"):
            continue
        try:
            value = getattr(state, name)
        except (dp.DpcoreError, AttributeError):
            continue
        if not callable(value):
            yield name, value


def arrays(state, depth=0):
    """Arrays inside of a value that its owner can reach through public names."""
    if isinstance(state, np.ndarray):
        yield state
    elif isinstance(state, list | tuple):
        for item in state:
            yield from arrays(item, depth + 1)
    elif isinstance(state, dict):
        for item in state.values():
            yield from arrays(item, depth + 1)
    elif type(state).__module__.startswith("dpcore") and depth < 6:
        for _, value in attributes(state):
            yield from arrays(value, depth + 1)


def again(state):
    """The object, and what other ways of making it give."""
    yield state
    yield copy.deepcopy(state)
    for level in (2, pickle.HIGHEST_PROTOCOL):
        yield pickle.loads(pickle.dumps(state, level))
    if getattr(state, "_kind", hasattr(state, "to_json")):  # a part of results is not stored alone
        yield type(state).from_json(state.to_json())
    if is_dataclass(state):
        yield replace(state)


def contents(state):
    """All arrays of its fields, in bytes."""
    return [array.tobytes() for array in arrays(state)]


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", MADE)
@pytest.mark.filterwarnings("ignore")
def test_nobody_writes_to_a_release(name):
    for state in again(MADE[name]()):
        before = contents(state)
        for array in arrays(state):
            if array.size and array.flags.writeable:  # it was made for the caller alone
                array.reshape(-1)[0] = array.dtype.type(0) if array.reshape(-1)[0] else 1
        assert contents(state) == before


def test_there_are_arrays_to_write_to():
    assert len(list(arrays(MADE["CDF"]()))) >= 4
    assert len(list(arrays(MADE["ROC"]()))) >= 8


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", ["CDF", "Bins", "HosmerLemeshow", "BoxPlot", "Quantiles, several", "PolynomialSums"]
)
def test_an_array_of_the_caller_is_neither_frozen_nor_shared(name):
    release = MADE[name]()
    own = {
        field.name: np.array(getattr(release, field.name))
        for field in fields(release)
        if isinstance(getattr(release, field.name), np.ndarray)
    }
    made = replace(release, **own)
    before = contents(made)
    for array in own.values():
        assert array.flags.writeable
        array[:] = 0
    assert contents(made) == before


@pytest.mark.parametrize("frozen", ["the view", "the array", "nothing"])
def test_no_view_of_an_array_of_the_caller_is_shared(frozen):
    release = MADE["CDF"]()
    own = np.array(release.counts)
    earlier, view = own.view(), own.view()
    view.flags.writeable = frozen != "the view"
    own.flags.writeable = frozen != "the array"
    made = replace(release, counts=view if frozen == "the view" else own)
    earlier[:] = 0
    assert made.counts.tolist() == release.counts.tolist()
    own.flags.writeable = True
    own[:] = 0
    assert made.counts.tolist() == release.counts.tolist()


def test_the_thresholds_of_a_grid_are_not_shared():
    own = np.array([1.0, 2.0, 4.0])
    earlier = own.view()
    own.flags.writeable = False
    grid = dp.Grid(own)
    earlier[0] = 1.5
    assert grid == dp.Grid([1.0, 2.0, 4.0])


def test_no_flag_of_an_array_can_be_set_back():
    for made in again(MADE["CDF"]()):
        with pytest.raises(ValueError, match="WRITEABLE"):
            made.counts.flags.writeable = True


def test_what_is_read_only_is_copied_once():
    release = MADE["CDF"]()
    assert np.shares_memory(replace(release, name="other").counts, release.counts)


DESCRIBED = ["CDF", "CDF, raw", "Projection", "BinormalROC", "CDF, pointwise"]


@pytest.mark.parametrize("name", DESCRIBED)
def test_nobody_changes_the_description_of_a_mechanism(name):
    for state in again(MADE[name]()):
        told = dict(state.mechanism)
        for change in (
            lambda of: of.__setitem__("epsilon", 9.0),
            lambda of: of.__delitem__("name"),
            lambda of: of.update(epsilon=9.0),
            lambda of: of.setdefault("other", 9.0),
            lambda of: of.__ior__({"epsilon": 9.0}),
            lambda of: of.pop("name"),
            lambda of: of.popitem(),
            lambda of: of.clear(),
        ):
            with pytest.raises(TypeError, match="change"):
                change(state.mechanism)
        assert state.mechanism == told
        assert repr(state.mechanism) == repr(told)


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_description_of_the_caller_is_not_shared(name):
    state = MADE[name]()
    own = dict(state.mechanism)
    made = replace(state, mechanism=own)
    own["name"] = "another"
    assert made == state
