"""Strangers add a trust model: only public names, and nothing in ``dpcore/trust`` is edited."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore.testing import check_trust_model
from dpcore.trust import Client, Memory, Protocol, Server, agree, combine, release

ROOT = Path(__file__).parents[2]
GRID = dp.Grid.uniform(0, 1, 8)
N = 2_000
CELLS = np.random.default_rng(1).integers(0, 8, N) // 2 + 2
COUNTS = np.bincount(CELLS, minlength=8)


@dataclass(frozen=True)
class RandomisedResponse(dp.trust.TrustModel):
    """Each client names its cell, or now and then another one; nobody has to be trusted."""

    name = "randomised-response"
    epsilon: float
    clients: int

    def round(self, size, servers=None):
        return ResponseRound(self, size)

    def noise_deviation(self, size):
        p, q = (chance / 2**64 for chance in ResponseRound(self, size).chances)
        variance = self.clients * np.arange(1, size + 1) * 0.25 / (p - q) ** 2
        return np.sqrt(variance) * (np.arange(1, size + 1) < size)


class ResponseRound(dp.trust.Round):
    """One cell of each client, in eight bytes, to one server."""

    @property
    def chances(self):  # of the own cell, and of each other one, times 2^64
        exact = 2**64 / (np.exp(self.trust.epsilon) + self.cells - 1)
        q = int(exact * (1 + 2**-40)) + 1  # rounded up, so that epsilon is rounded down
        return 2**64 - (self.cells - 1) * q, q

    def report(self, cells, numbers, stream):
        word = np.empty(1, np.uint64)
        stream.fill(word)
        steps = max(0, int(word[0]) - self.chances[0] + self.chances[1]) // self.chances[1]
        return [int((cells[0] + steps) % self.cells).to_bytes(8, "little")]

    def payload_bytes(self, kind, level=0):
        return 8

    def check(self, kind, payload):
        super().check(kind, payload)
        if int.from_bytes(payload, "little") >= self.cells:
            raise dp.trust.ReportError("payload", "names no cell")

    def counted(self, kind, payload):
        return [(int.from_bytes(payload, "little"), np.ones(1, np.uint64))]

    def mechanism(self, reports):
        return replace(self.trust, clients=reports)

    def estimates(self, sums):
        p, q = (chance / 2**64 for chance in self.chances)
        counts = np.cumsum((sums.totals - sums.reports * q) / (p - q))
        counts[-1] = sums.reports
        return counts


OWN = RandomisedResponse(3.0, clients=N)
PROTOCOL = Protocol(OWN, GRID.size, bytes(range(16)))


def filled(cells, seed=None):
    server = Server(PROTOCOL)
    rng = None if seed is None else np.random.default_rng(seed)
    for cell in cells:
        (report,) = Client(PROTOCOL, rng).report(int(cell))
        server.add(report)
    return server


def test_it_is_that_of_the_page():
    page = (ROOT / "docs" / "guides" / "extending.md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[2]
    for model in (RandomisedResponse, ResponseRound):
        assert inspect.getsource(model).strip() in shown
    another = shown.replace("randomised-response", "of the page")  # a name is of one class
    code = compile(another, "page", "exec", dont_inherit=True)
    exec(code, {"dp": dp, "np": np, "dataclass": dataclass, "__name__": "page"})


def test_it_is_short():
    source = inspect.getsource(RandomisedResponse) + inspect.getsource(ResponseRound)
    assert len([line for line in source.splitlines() if line.strip()]) <= 60


def test_it_is_simulated_in_the_centre():
    curve = dp.cdf_from_counts(COUNTS, GRID, OWN)
    assert np.abs(curve.counts - np.cumsum(COUNTS)).max() < 5 * curve.noise_deviation.max()
    assert curve.privacy == dp.Privacy(3.0)
    assert dp.mechanisms.from_curve(curve) == OWN
    assert dp.CDF.from_json(curve.to_json()) == curve
    with dp.Budget(epsilon=4.0) as budget:
        dp.cdf((CELLS + 0.5) / 8, GRID, OWN)
    assert budget.spent.epsilon == 3.0


def test_each_report_has_the_law_that_epsilon_promises():
    p, q = PROTOCOL.round.chances
    assert p + 7 * q == 2**64
    assert p / q <= np.exp(3.0) < 1.000001 * p / q
    payloads = [PROTOCOL.round.report(np.array([3]), None, Fixed(w))[0] for w in (0, p - 1, p)]
    assert [int.from_bytes(payload, "little") for payload in payloads] == [3, 3, 4]
    (last,) = PROTOCOL.round.report(np.array([3]), None, Fixed(2**64 - 1))
    assert int.from_bytes(last, "little") == 2


class Fixed:
    """A source of one word."""

    simulated = True

    def __init__(self, word):
        self.word = word

    def fill(self, words):
        words[:] = self.word


def test_a_round_over_bytes_with_files_in_between():
    server = Server(PROTOCOL)
    for cell in CELLS:
        (report,) = Client(PROTOCOL).report(int(cell))
        server.add(report)
        if server.accepted % 500 == 0:
            server = Server.from_bytes(server.to_bytes(), PROTOCOL)
    with pytest.raises(dp.trust.ReportError, match="duplicate"):
        server.add(report)
    assert agree([server]) == N
    part = dp.trust.PartialSum.from_bytes(server.close().to_bytes(), PROTOCOL)
    assert combine(part).sum() == N
    curve = release(part, GRID)
    assert (curve.n, curve.privacy, curve.mechanism) == (N, dp.Privacy(3.0), OWN.describe())
    assert np.abs(curve.counts - np.cumsum(COUNTS)).max() < 5 * curve.noise_deviation.max()


def test_servers_merge_and_clients_are_enrolled():
    first, second = filled(CELLS[:5], 1), filled(CELLS[5:9], 2)
    first.merge(second)
    assert (first.accepted, second.is_closed) == (9, True)
    assert release(first.close()).n == 9
    enrolled = replace(PROTOCOL, enrolled=True)
    enrolment = dp.trust.Enrolment(bytes(range(32)))
    ticket = enrolment.ticket(enrolled, "a client")
    server = Server(enrolled, enrolment)
    server.add(Client(enrolled, ticket=ticket).report(3)[0])
    assert server.close().reports == 1


def test_what_no_client_sends_is_refused():
    server, (report,) = Server(PROTOCOL), Client(PROTOCOL).report(3)
    for wrong, reason in ((report[:-1], "length"), (report[:5] + b"\3" + report[6:], "kind")):
        with pytest.raises(dp.trust.ReportError, match=reason):
            server.add(wrong)
    part = filled(CELLS[:5]).close()
    with pytest.raises(dp.trust.RoundError, match="larger"):
        combine(replace(part, totals=part.totals + np.uint64(9)))
    with pytest.raises(dp.ParameterError, match="vectors"):
        Client(PROTOCOL).vector(3)
    with pytest.raises(dp.trust.RoundError, match="FunctionSharing"):
        server.answer([3])
    with pytest.raises(dp.ParameterError, match="servers"):
        replace(PROTOCOL, servers=2)


class Place(Memory):
    """A server that knows its place, and how many reports it has settled: at first it is false."""

    def __init__(self, place, settled=0):
        self._place, self.settled = place, settled

    def __bool__(self):
        return self.settled > 0

    @property
    def place(self):
        return self._place

    def with_settled(self, kind, payloads):
        return Place(self._place, self.settled + len(payloads))

    def with_all_of(self, other):
        return Place(self._place, self.settled + other.settled)

    def to_bytes(self):
        return bytes([self._place])


class TwoServers(dp.trust.Round):
    """Shares for two servers, each of which adds its noise to the first cell."""

    receivers, servers_draw, least_reports, most_reports = 2, True, 10, 3_000

    def report(self, cells, numbers, stream):
        share, own = np.empty(self.cells, np.uint64), np.zeros(self.cells, np.uint64)
        stream.fill(share)
        own[cells] = 1
        return [share.tobytes(), (own - share).tobytes()]

    def payload_bytes(self, kind, level=0):
        return 8 * self.cells

    def counted(self, kind, payload):
        return [(0, np.frombuffer(payload, np.uint64))]

    def memory(self, place, stream):
        return Place(place)

    def given(self, totals, memory, context, simulated):
        assert memory.settled == N
        return totals + np.uint64(7 * 10**memory.place) * (np.arange(self.cells) == 0)

    def estimates(self, sums):
        return np.append(np.cumsum(sums.totals.view(np.int64))[:-1], sums.reports)


class ByTwoServers(RandomisedResponse):
    name = "by two servers"

    def round(self, size, servers=None):
        return TwoServers(self, size)


def test_a_release_has_the_noise_of_each_server():
    model = ByTwoServers(1.0, clients=N)
    released = model.release(COUNTS)
    assert np.array_equal(released - np.cumsum(COUNTS), [77] * 7 + [0])
    protocol = Protocol(model, 8, bytes(16))
    servers = [Server(protocol, place=place) for place in range(2)]
    for cell in CELLS:
        for server, report in zip(servers, Client(protocol).report(int(cell)), strict=True):
            server.add(report)
    agree(servers)
    whole = [server.close() for server in servers]
    assert np.array_equal(release(whole, isotonic=False).counts, released)


@pytest.mark.parametrize("clients", [9, 3_001])
def test_a_release_needs_as_many_clients_as_a_round(clients):
    model, counts = ByTwoServers(1.0, clients=clients), np.array([clients, 0])
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.ParameterError, match="10 to 3000"):
        dp.cdf_from_counts(counts, dp.Grid.uniform(0, 1, 2), model)
    assert budget.spent.epsilon == 0.0


def test_a_refused_number_of_clients_is_not_told_where_a_budget_protects_it():
    values, model = np.linspace(0, 1, 40), dp.trust.Local(1.0, clients=19)
    for relation, options, told in (
        ("add-or-remove-one", {}, "relation of the budget"),
        ("replace-one", {"by": np.arange(40) % 2, "groups": [0, 1]}, "relation of the budget"),
        ("replace-one-within-group", {"by": np.arange(40) % 2, "groups": [0, 1]}, "19 clients"),
    ):
        budget = dp.Budget(epsilon=9.0, neighbours=relation)
        with budget, pytest.raises(dp.ParameterError, match=told):
            dp.cdf(values, GRID, model, **options)
        assert budget.spent.epsilon == 0.0


class OfThreeRecords(ResponseRound):
    """Three records of each client in a report, as if they were of three clients."""

    records = most_records = 3


def test_reports_of_several_records_are_not_made_of_one_record_each():
    made = {
        "name": "of three",
        "round": lambda self, size, servers=None: OfThreeRecords(self, size),
    }
    model = type("OfThree", (RandomisedResponse,), made)(1.0, clients=N)
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.DtypeError, match="several records"):
        dp.cdf_from_counts(COUNTS, GRID, model)
    assert budget.spent.epsilon == 0.0


@pytest.mark.parametrize("kind", ["Local", "SquareWave", "DistributedNoise"])
def test_another_number_of_clients_is_refused_before_the_charge(kind):
    by_epsilon = partial(getattr(dp.trust, kind), clients=19)
    model, counts = by_epsilon(1.0), np.array([5, 5, 5, 5])
    values, labels = np.linspace(0.1, 0.9, 20), np.arange(20) % 2
    grid, cells = dp.Grid.uniform(0, 1, 4), dp.TableGrid.uniform((0, 1), (0, 1), (2, 2))
    releases = [
        lambda: dp.cdf(values, grid, model),
        lambda: dp.cdf_from_counts(counts, grid, model),
    ]
    if not model.one_row_only:
        releases += [
            lambda: dp.score_curves(labels, values, grid, model),
            lambda: dp.score_curves(labels, values, grid, (model, model)),
            lambda: dp.table(values, values, cells, model),
            lambda: dp.residual_plot(values, values, epsilon=3.0, cells=4, mechanism=by_epsilon),
        ]
    for release_one in releases:
        with dp.Budget(epsilon=9.0) as budget, pytest.raises(dp.ParameterError, match="19 clients"):
            release_one()
        assert budget.spent.epsilon == 0.0


def test_no_model_is_asked_for_by_name():
    """Only a model's own files know which model it is."""
    names = "|".join(model.__name__ for model in dp.trust.trust_models())
    asks = re.compile(rf"isinstance\([^)]*\b({names}|TreeOfShares)\b")
    files = [path for path in (ROOT / "dpcore").rglob("*.py") if path.parent.name != "models"]
    assert len(files) > 200
    assert not [path for path in files if asks.search(path.read_text("utf-8"))]


def test_all_trust_models_are_known():
    models = dp.trust.trust_models()
    assert RandomisedResponse in models
    public = {getattr(dp.trust, name) for name in dp.trust.__all__}
    own = {model for model in models if model.__module__.startswith("dpcore.")}
    assert own == {cls for cls in public if isinstance(cls, type) and cls in models}
    assert len(own) == 6


MODELS = [
    OWN,
    dp.trust.Central(1.0),
    dp.trust.Central(rho=0.1, records=3),
    dp.trust.DistributedNoise(1.0, clients=220, dropout=0.1),
    dp.trust.DistributedNoise(1.0, clients=220, dropout=0.1, records=None),
    dp.trust.DistributedNoise(rho=0.5, clients=220, dropout=0.1),
    dp.trust.FunctionSharing(1.0),
    dp.trust.FunctionSharing(1.0, servers=3),
    dp.trust.Local(2.0, clients=200),
    dp.trust.Local(2.0, clients=200, records=3),
    dp.trust.SecureAggregation(),
    dp.trust.SquareWave(2.0, clients=200),
]


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_all_checks_of_trust_models(model):
    check_trust_model(model)


def test_no_trust_model_is_left_out():
    own = {model for model in dp.trust.trust_models() if model.__module__.startswith("dpcore.")}
    assert own <= set(map(type, MODELS))


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        ("the same", {"report": lambda self, cells, numbers, stream: [bytes(8)]}),
        ("bytes is taken", {"check": lambda self, kind, payload: None}),
        ("times its deviation", {"estimates": lambda self, sums: np.full(8, sums.reports)}),
        ("another guarantee", {"mechanism": lambda self, n: replace(self.trust, delta=1e-9)}),
    ],
)
def test_a_broken_trust_model_is_found(told, changed):
    broken = type("Broken", (ResponseRound,), changed)
    made = {"name": told, "round": lambda self, size, servers=None: broken(self, size)}
    model = type(f"Broken {told}", (WithDelta,), made)
    with pytest.raises(AssertionError, match=told):
        check_trust_model(model(3.0, clients=200))


@dataclass(frozen=True)
class WithDelta(RandomisedResponse):
    delta: float = 1e-6

    @property
    def privacy(self):
        return dp.Privacy(self.epsilon, self.delta)


@pytest.mark.parametrize(
    ("told", "arguments"),
    {
        "trust must be a .*; got Dyadic": (dp.mechanisms.Dyadic(1.0),),
        "trust must be a .*; got ABCMeta": (dp.trust.Local,),
        "size must be between 2": (MODELS[-1], 1),
        "clients must be between 80": (MODELS[-1], 8, 79),
        "clients must be an integer": (MODELS[-1], 8, 100.0),
    }.items(),
)
def test_what_is_no_trust_model_or_no_number_of_clients(told, arguments):
    with pytest.raises((dp.DtypeError, dp.ParameterError), match=told):
        check_trust_model(*arguments)
