"""No pickle, copy, JSON or text of an object shows exact counts, records, or the noise on them.

Public objects in all their states are copied in every way that Python knows. Either the object
refuses, or the copy holds no exact count. The few objects that do hold records by design are listed
with the reason.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import pickle
import re

import numpy as np
import pytest

import dpcore as dp
from dpcore import mechanisms, statistics, streams, trust
from tests.project.public_rooms import ROOMS

pytestmark = pytest.mark.needs_jit

GRID = dp.Grid.uniform(0, 1, 12)
MIDDLES = (np.arange(12) + 0.5) / 12
# Counts that no noise of a small epsilon gives by chance, and that are in no other number.
COUNTS = 100_003 + 10_007 * np.arange(12) ** 2
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
    found = [
        trust.Server(protocol(of), place=place)
        if isinstance(of, trust.FunctionSharing)
        else trust.Server(protocol(of))
        for place in (0, 1)
    ]
    for cell in reports:
        for server, report in zip(found, trust.Client(protocol(of)).report(cell), strict=True):
            server.add(report)
    return found


def settled(of):
    found = servers(of, [3, 9, 9])
    trust.agree(found)
    return found


def simulated_sum(asked=False):
    found = trust.SimulatedSum(COUNTS, trust.DistributedNoise(EPSILON, clients=CLIENTS), rng())
    if asked:
        found.sum([3, 4])
    return found


def pointwise(aggregator, points=()):
    curve = trust.PointwiseCDF(aggregator)
    for point in points:
        curve(point)
    return curve


def shared_vectors():
    of = trust.DistributedNoise(40.0, clients=3)
    return trust.SharedVectors([trust.PointwiseClient(of, GRID.size, cell) for cell in (3, 9, 9)])


def running_count(steps=()):
    found = streams.RunningCount(100, epsilon=EPSILON, rng=rng())
    for step in steps:
        found.add(int(step))
    return found


def curves():
    return dp.score_curves(LABELS, VALUES, GRID, mechanisms.Hierarchy(EPSILON), rng=rng())


def model(cls, fitted):
    bounds = {"x_bounds": (0, 1)} | ({"y_bounds": (0, 1)} if "Linear" in cls.__name__ else {})
    found = cls(EPSILON, **bounds, rng=rng())
    return found.fit(VALUES[:5000, None], LABELS[:5000]) if fitted else found


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
    "Table": lambda: dp.table(VALUES, VALUES, dp.TableGrid(GRID, GRID), epsilon=EPSILON, rng=rng()),
    "BoxPlot": lambda: dp.box_plot(VALUES, GRID, epsilon=EPSILON, rng=rng()),
    "Bounds": lambda: dp.bounds(VALUES, epsilon=1.0, rng=rng()),
    "Quantiles": lambda: dp.quantiles(VALUES, [0.5], GRID, epsilon=EPSILON, rng=rng()),
    "Projection": lambda: dp.project(VALUES, 0, 1, rho=1e-8, rng=rng()),
    "ResidualPlot": lambda: dp.residual_plot(
        VALUES[::1000], VALUES[::1000] - 0.5, epsilon=1.0, rng=rng()
    ),
    "Comparison": lambda: dp.compare(
        *(dp.cdf(VALUES, GRID, epsilon=EPSILON, rng=rng()) for _ in range(2)), simulations=99
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
    "RunningCount",
    "Server",
    "SharedVectors",
    "SimulatedSum",
)
NO_RECORDS = {
    "of public parameters alone": {
        *mechanisms.__all__,
        "Advice",
        "Central",
        "Charge",
        "DiscreteGaussian",
        "DiscreteLaplace",
        "Enough",
        "FunctionSharing",
        "Grid",
        "Plan",
        "Privacy",
        "Protocol",
        "SecureAggregation",
        "SquareWave",
        "SquareWaveEncoding",
        "Study",
        "Suggestion",
        "TableGrid",
        "UnaryEncoding",
    },
    "computed from releases": {
        "BayesianBinning",
        "BinormalROC",
        "Confusion",
        "HistogramBinning",
        "HosmerLemeshowUnderNoise",
        "Interval",
        "IsotonicCalibration",
        "Reliability",
        "Results",
        "Smoothing",
    },
    "messages of a protocol, which are sent and have bytes of their own": {
        "Answer",
        "Keys",
        "Opened",
        "PartialSum",
        "VectorSum",
    },
}
HOLD_SECRETS = {
    "exact sums by design, as Grid.count returns exact counts": {"PolynomialSums"},
    "a client's own state, which its documentation tells to keep as the record": {
        "PointwiseClient"
    },
    "keys, which are made to be stored and sent to their owner": {"Enrolment", "Ticket"},
    "a description of a file, with no records": {"Column"},
    "protocols of typing": {"Aggregator", "Mechanism"},
}


def public_classes():
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and not issubclass(thing, BaseException):
                yield name


def test_all_public_classes_are_known_here():
    pytest.importorskip("sklearn")
    known = {name.partition(",")[0] for name in STATES}
    known |= set().union(*NO_RECORDS.values(), *HOLD_SECRETS.values())
    assert set(public_classes()) - known == set()


def texts(found):
    """All that an object turns into: bytes and texts, as bytes; nothing where it refuses."""
    yield repr(found).encode()
    yield str(found).encode()
    for copied in (copy.copy, copy.deepcopy):
        try:
            again = copied(found)
        except TypeError:
            continue
        yield repr(again).encode()
    for level in range(pickle.HIGHEST_PROTOCOL + 1):
        try:
            yield pickle.dumps(found, level)
        except TypeError:
            continue
    try:
        import joblib
    except ImportError:
        pass
    else:
        file = io.BytesIO()
        try:
            joblib.dump(found, file)
            yield file.getvalue()
        except TypeError:
            pass
    if hasattr(found, "to_json"):
        yield found.to_json().encode()
        yield json.dumps(json.loads(found.to_json())).encode()


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
    pytest.importorskip("sklearn")
    assert not any(map(is_exact, texts(STATES[name]())))


@pytest.mark.parametrize("name", [name for name in STATES if name.startswith(REFUSED)])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_what_holds_records_or_noise_to_come_is_not_copied(name, copied):
    with pytest.raises(TypeError, match=r"not (be )?copied or pickled"):
        copied(STATES[name]())


def test_exact_counts_would_be_found():
    assert is_exact(pickle.dumps(COUNTS))
    assert is_exact(pickle.dumps(np.cumsum(COUNTS).astype(float)))
    assert is_exact(json.dumps(np.cumsum(COUNTS).astype(float).tolist()).encode())
    assert any(map(is_exact, texts(dp.cdf(VALUES, GRID, mechanisms.NoNoise()))))
