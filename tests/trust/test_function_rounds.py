"""Rounds about declared functions: servers, vectors, sites, dropouts, storage, released sums."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, FormatError, MissingValueError, ParameterError
from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    Enrolment,
    FunctionSharing,
    Local,
    PartialSum,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    Server,
    VectorSum,
    agree,
    combine,
    release,
    release_scores,
    release_sum,
    vector_sum,
)
from dpcore.trust.functions import (
    Ball,
    Box,
    Coarse,
    Groups,
    Identity,
    One,
    Product,
    Step,
    Together,
    Vector,
)
from dpcore.trust.functions.sum_noise import most_noise
from dpcore.trust.protocol import wire
from tests.trust.rounds import RNG, ROUND, closed, send

CLIENTS = 12
AGE, SCORE = Identity(0, 100), Identity(-1, 1, at=1)
MOMENTS = Together([AGE, SCORE, Product(AGE, SCORE), Product(Groups([0, 50, 100]), SCORE)])
EXACTLY = ("secure", "three servers")
RECORDS = np.stack([RNG(1).uniform(0, 100, CLIENTS), RNG(2).uniform(-1, 1, CLIENTS)], axis=1)
EXACT = MOMENTS.values(RECORDS).sum(axis=0)
TRUST = {
    "secure": SecureAggregation(),
    "three servers": SecureAggregation(servers=3),
    "epsilon": DistributedNoise(1.0, clients=CLIENTS, dropout=0.25),
    "rho": DistributedNoise(rho=0.5, clients=CLIENTS, dropout=0.25),
    "delta": DistributedNoise(1.0, delta=1e-6, clients=CLIENTS),
    "sites": DistributedNoise(1.0, clients=CLIENTS, records=None),
    "central": Central(1.0),
    "central, rho": Central(rho=0.5),
}


def protocol_of(name, function=MOMENTS, **how):
    return Protocol.of_function(TRUST[name], function, ROUND, **how)


def servers_of(protocol):
    seeds = range(protocol.receivers)
    draws = protocol.round.servers_draw
    return [Server(protocol, rng=RNG(seed) if draws else None) for seed in seeds]


def held(protocol, at):
    return RECORDS[at : at + 1] if protocol.records is None else RECORDS[at]


def reports_of(protocol, clients=CLIENTS):
    return [Client(protocol, RNG(at)).report(held(protocol, at)) for at in range(clients)]


def sums_of(protocol, clients=CLIENTS):
    servers = servers_of(protocol)
    send(servers, *reports_of(protocol, clients))
    agree(servers)
    return closed(servers)


@pytest.mark.parametrize("name", TRUST)
def test_a_round_releases_the_sum_and_says_how_far_off_it_is(name):
    released = release_sum(sums_of(protocol_of(name)))
    assert released.n == CLIENTS
    assert released.simulated
    assert np.all(np.abs(released.total - EXACT) < 6 * released.deviation)
    if name in EXACTLY:
        assert np.allclose(released.total, EXACT, atol=1e-3)
    else:
        assert dp.load(released.to_json()) == released


@pytest.mark.parametrize("name", [name for name in TRUST if "central" not in name])
def test_vectors_that_others_add_up_give_the_same_release(name):
    protocol = protocol_of(name)
    vectors = [Client(protocol, RNG(at)).vector(held(protocol, at)) for at in range(CLIENTS)]
    total = VectorSum(protocol, np.sum(vectors, axis=0), CLIENTS, simulated=True)
    assert np.array_equal(combine(total), combine(sums_of(protocol)))
    assert release_sum(total) == release_sum(sums_of(protocol))


def test_a_curators_clients_have_no_vectors():
    with pytest.raises(ParameterError, match="protocol must be of"):
        Client(protocol_of("central")).vector(RECORDS[0])


@pytest.mark.parametrize("name", TRUST)
def test_a_server_that_starts_again_gives_the_same_away(name):
    protocol = protocol_of(name)
    servers = servers_of(protocol)
    rows = reports_of(protocol)
    send(servers, *rows[:7])
    servers = [Server.from_bytes(server.to_bytes(), protocol) for server in servers]
    send(servers, *rows[7:])
    agree(servers)
    saved = [server.to_bytes() for server in servers]
    sums = closed(servers)
    again = closed([Server.from_bytes(data, protocol) for data in saved])
    assert release_sum(sums) == release_sum(again) == release_sum(sums_of(protocol))
    sent = [PartialSum.from_bytes(part.to_bytes(), protocol) for part in sums]
    assert release_sum(sent) == release_sum(sums)


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_too_few_reports_are_not_released_and_dropouts_add_no_noise(name):
    protocol = protocol_of(name)
    servers = servers_of(protocol)
    send(servers, *reports_of(protocol, 8))
    agree(servers)
    with pytest.raises(RoundError, match="8 reports are settled, but at least 9"):
        servers[0].close()
    fewer, all_of_them = (release_sum(sums_of(protocol, clients)) for clients in (9, CLIENTS))
    assert np.allclose(fewer.deviation * np.sqrt(12 / 9), all_of_them.deviation, rtol=1e-3)
    assert fewer.n == 9
    full = [Client(protocol, RNG(at)).report(RECORDS[0]) for at in range(CLIENTS + 1)]
    servers = servers_of(protocol)
    send(servers, *full[:-1])
    with pytest.raises(ReportError, match="full"):
        servers[0].add(full[-1][0])


@pytest.mark.parametrize("name", TRUST)
def test_double_late_and_malformed_reports_are_refused(name):
    protocol = protocol_of(name)
    servers, rows = servers_of(protocol), reports_of(protocol)
    send(servers, *rows[:-1])
    refusals = {
        "duplicate": rows[0][0],
        "length": rows[-1][0][:-1],
        "tag": rows[-1][0][:-1] + bytes([rows[-1][0][-1] ^ 1]),
        "parameters": Client(protocol_of(name, function=AGE)).report(
            [[1.0]] if protocol.records is None else 1.0
        )[0],
    }
    if protocol.receivers == 1:  # a curator looks at numbers first
        refusals["tag"] = rows[-1][0][:60] + bytes(32) + rows[-1][0][92:]
    for reason, report in refusals.items():
        with pytest.raises(ReportError, match=reason):
            servers[0].add(report)
    send(servers, rows[-1])
    agree(servers)
    expected = release_sum(sums_of(protocol))
    assert release_sum(closed(servers)) == expected
    with pytest.raises(RoundError, match="closed"):
        servers[0].add(Client(protocol).report(held(protocol, 0))[0])


def forged(protocol, words):
    """A report with a right tag, of a client that does not keep to the bound."""
    identity = bytes(15) + b"x"
    key = wire.client_key(wire.OPEN, protocol.round_id, identity)
    payload = np.asarray(words, "<i8").tobytes()
    of = protocol.round_id, protocol.digest, identity, payload
    return wire.encode(wire.Report(wire.OWN, *of), key)


@pytest.mark.parametrize(
    "function", [Vector(Ball(2, 1.0)), Vector(Ball(2, 1.0, norm=1)), Groups([0, 1, 2])], ids=str
)
def test_a_curator_takes_no_vector_beyond_the_bound(function):
    protocol = protocol_of("central", function=function)
    steps = 2**protocol.round.sum_noise.bits
    server = servers_of(protocol)[0]
    wrong = [[1, steps, steps], [1, steps + 3, 0], [1, -steps - 3, 0], [2, 0, 0], [0, 0, 0]]
    for words in [*wrong, [1, -(2**63), 0], [1, 2**63 - 1, 2**63 - 1]]:
        with pytest.raises(ReportError, match="not a vector within the bound"):
            server.add(forged(protocol, words))
    server.add(forged(protocol, [1, 0, steps]))


def test_sums_that_no_clients_make_are_refused():
    protocol = protocol_of("epsilon")
    vectors = [Client(protocol, RNG(at)).vector(RECORDS[at]) for at in range(CLIENTS)]
    total = np.sum(vectors, axis=0)
    for place, by in ((0, 1), (1, 2**60), (3, -(2**60))):
        wrong = total.copy()
        wrong[place] += by
        with pytest.raises(RoundError):
            VectorSum(protocol, wrong, CLIENTS)
    secure = protocol_of("secure")
    exact = np.sum([Client(secure).vector(record) for record in RECORDS], axis=0)
    exact[1] = CLIENTS * 2**secure.round.sum_noise.bits + 1
    with pytest.raises(RoundError, match="possible sums"):
        VectorSum(secure, exact, CLIENTS)


def test_sites_have_any_number_of_records_and_the_guarantee_is_for_one():
    trust = DistributedNoise(rho=0.5, clients=3, records=None)
    protocol = Protocol.of_function(trust, MOMENTS, ROUND)
    servers = servers_of(protocol)
    for seed, site in enumerate((RECORDS[:0], RECORDS[:5], RECORDS[5:])):
        send(servers, Client(protocol, RNG(seed)).report(site))
    agree(servers)
    released = release_sum(closed(servers))
    alone = vector_sum(RECORDS, MOMENTS, Central(rho=0.5), rng=RNG(1))
    assert released.n == CLIENTS
    assert np.allclose(released.deviation, alone.deviation, rtol=1e-3)
    assert released.privacy == dp.Privacy(rho=0.5, simulated=True)


def test_a_site_with_more_records_than_sums_have_room_for_is_refused():
    trust = DistributedNoise(1.0, clients=2**39, records=None)
    own = Protocol.of_function(trust, AGE, ROUND).round
    with pytest.raises(RoundError, match="more than the 2 records"):
        own.entries(np.zeros((3, 1)), None)


def test_records_that_are_no_records_are_refused_before_the_client_has_reported():
    protocol = protocol_of("secure")
    client = Client(protocol, RNG(1))
    for wrong in ([1.0], [1.0, 2.0, 3.0], RECORDS, [[1.0, 2.0], [3.0, 4.0]], "12", [{}, 1.0]):
        with pytest.raises((DtypeError, ParameterError)):
            client.report(wrong)
    for missing in ([1.0, np.nan], [None, 1.0]):
        with pytest.raises(MissingValueError):
            client.report(missing)
    assert len(client.report([1.0, 2.0])) == 2


def test_rounds_of_cells_and_of_functions_are_not_mixed_up():
    sums = sums_of(protocol_of("secure"))
    for refusing in (release, lambda own: release_scores(own, dp.Grid.uniform(0, 1, 4))):
        with pytest.raises(ParameterError, match="release_sum"):
            refusing(sums)
    cells = Protocol(SecureAggregation(), 4, ROUND)
    servers = servers_of(cells)
    send(servers, Client(cells).report(2))
    agree(servers)
    with pytest.raises(ParameterError, match="see release"):
        release_sum(closed(servers))


def test_protocols_differ_in_their_functions_and_can_be_replaced():
    protocol = protocol_of("epsilon")
    assert replace(protocol, round_id=bytes(16)).function == MOMENTS
    digests = {protocol_of("epsilon", function=of).digest for of in (AGE, Step(1.0), One())}
    digests |= {protocol_of(name).digest for name in TRUST}
    assert len(digests) == 3 + len(TRUST)
    enrolment = Enrolment(b"k" * 32)
    enrolled = protocol_of("secure", enrolled=True)
    client = Client(enrolled, ticket=enrolment.ticket(enrolled, "a"))
    assert len(client.report(RECORDS[0])) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Protocol.of_function(Local(1.0, clients=3), AGE, ROUND),
        lambda: Protocol.of_function(FunctionSharing(1.0), AGE, ROUND),
        lambda: Protocol.of_function(SecureAggregation(), 5, ROUND),
        lambda: Protocol.of_function(SecureAggregation(records=2), AGE, ROUND),
        lambda: Protocol.of_function(Central(1.0, records=2), AGE, ROUND),
        lambda: Protocol(SecureAggregation(), 5, ROUND, function=AGE),
        lambda: Protocol(SecureAggregation(), 1, ROUND, empty=1, function=AGE),
        lambda: Protocol(SecureAggregation(), 1, ROUND, function="identity"),
        lambda: DistributedNoise(1.0, rho=1.0, clients=3),
        lambda: DistributedNoise(clients=3),
        lambda: DistributedNoise(delta=1e-6, clients=3),
        lambda: DistributedNoise(1.0),
        lambda: vector_sum(RECORDS, AGE, Local(1.0, clients=CLIENTS)),
        lambda: vector_sum(RECORDS, 5, Central(1.0)),
        lambda: vector_sum(RECORDS[:0], AGE, Central(1.0)),
        lambda: vector_sum(RECORDS, AGE, DistributedNoise(1.0, clients=CLIENTS + 1)),
        lambda: vector_sum(RECORDS, AGE, SecureAggregation(), neighbours="replace-client"),
        lambda: vector_sum(
            RECORDS, AGE, DistributedNoise(1.0, clients=CLIENTS), neighbours="add-or-remove-one"
        ),
        lambda: vector_sum(RECORDS, AGE, Central(1e-14)),
        lambda: vector_sum(RECORDS, AGE, Central(1.0), rng=3),
    ],
)
def test_what_has_no_sum_is_refused_and_costs_nothing(make):
    with dp.Budget(epsilon=10.0) as budget, pytest.raises((DtypeError, ParameterError)):
        make()
    assert not budget.log


# --- sums of records in one place


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TRUST)
def test_a_study_has_the_deviation_of_the_protocol(name):
    trust = TRUST[name]
    by_protocol = release_sum(sums_of(protocol_of(name)))
    released = [vector_sum(RECORDS, MOMENTS, trust, rng=RNG(at)) for at in range(400)]
    assert np.array_equal(released[0].deviation, by_protocol.deviation)
    errors = np.array([one.total for one in released]) - EXACT
    if name not in EXACTLY:
        stated = released[0].deviation
        assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * stated / 20)
        assert np.all(np.abs(errors.std(axis=0) / stated - 1) < 0.25)
    else:
        assert np.all(np.abs(errors) <= CLIENTS * by_protocol.deviation)


def test_results_do_not_depend_on_the_number_of_threads():
    records = RNG(1).normal(0, 1, (30_000, 16))
    function, trust = Vector(Ball(16, 2.0)), Central(rho=0.5)
    first, second = (
        vector_sum(records, function, trust, rng=RNG(2), workers=workers) for workers in (1, 3)
    )
    assert first == second


def test_without_a_public_number_of_records_a_record_changes_less():
    function = Vector(Box([-1, -1], [1, 1]))
    records = RNG(1).uniform(-1, 1, (1000, 2))
    hidden = vector_sum(records, function, Central(1.0), neighbours="add-or-remove-one", rng=RNG(1))
    public = vector_sum(records, function, Central(1.0), rng=RNG(1))
    assert hidden.n is None
    assert hidden.privacy == dp.Privacy(1.0, neighbours="add-or-remove-one", simulated=True)
    assert np.allclose(2 * hidden.deviation, public.deviation, rtol=1e-3)
    assert dp.load(hidden.to_json()) == hidden


@pytest.mark.parametrize(
    "function",
    [Identity(0, 1), Coarse(Identity(-1, 1), 4), Vector(Ball(3, 1.0)), Groups([0, 1, 2])],
)
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_a_number_of_records_that_is_not_public_is_nowhere_in_the_release(function, budget):
    def stored(n):
        given, trust = np.full((n, 3), 0.3), Central(**budget)
        released = vector_sum(given, function, trust, neighbours="add-or-remove-one")
        return json.loads(released.to_json()) | {"total": None}

    assert stored(1000) == stored(1001) == stored(0)


def test_noise_is_as_little_as_for_counts_of_groups():
    """With one number a record, the noise is that of a histogram with the same budget."""
    groups = Groups(np.arange(9.0))
    noise = Central(epsilon=1.0).sum_noise(groups).deviation(0, is_whole=True)
    assert np.allclose(noise, np.sqrt(2) * 2, rtol=1e-6)  # two cells change by one
    gaussian = Central(rho=0.5).sum_noise(groups).deviation(0, is_whole=True)
    assert np.allclose(gaussian, np.sqrt(2), rtol=1e-6)


def test_precision_divides_the_noise_of_a_part():
    x = Identity(0, 1)
    first, second = (
        Central(1.0).sum_noise(Together([x, x], precision)).deviation(0, is_whole=True)
        for precision in (None, [4, 1])
    )
    assert np.allclose(first, 2 * np.sqrt(2))
    assert np.allclose(second, np.sqrt(2) * np.array([1.25, 5.0]))


def test_a_budget_is_charged_once_and_for_the_whole_sum():
    with dp.Budget(epsilon=3.0) as budget:
        vector_sum(RECORDS, MOMENTS, Central(1.0))
        assert budget.spent.epsilon == 1.0
        with pytest.raises(dp.BudgetError):
            vector_sum(RECORDS, MOMENTS, Central(2.5))


def test_a_sum_of_another_function_is_no_released_sum():
    text = vector_sum(RECORDS, AGE, Central(1.0), rng=RNG(1)).to_json()
    for wrong in (
        text.replace('"identity"', '"unknown"'),
        text.replace('"upper": 100.0', '"upper": -1.0'),
        text.replace('"n": 12', '"n": -12'),
    ):
        assert wrong != text
        with pytest.raises(FormatError):
            dp.load(wrong)


def test_neither_values_nor_noise_have_more_room_than_there_is():
    """Even if one client's noise is enough, and 2^40 add it."""
    for trust in (
        DistributedNoise(1.0, clients=2**40, dropout=1 - 2**-40),
        DistributedNoise(rho=1e-9, clients=2**40, dropout=0.5),
        DistributedNoise(1.0, clients=2, records=None),
    ):
        noise = trust.sum_noise(MOMENTS)
        records = 2**40
        assert noise.lattice.largest * records <= 2**61
        assert most_noise(noise.share, trust.clients, MOMENTS.size) <= 2**61
    fewer = replace(trust, clients=2)
    assert fewer.sum_noise(MOMENTS).bits == trust.sum_noise(MOMENTS).bits


def test_coarse_values_fit_an_aggregation_modulo_a_small_number():
    """With few steps, sums of clients in 32 bits, as of SecAgg+, have the same law of noise."""
    coarse, modulus = Coarse(MOMENTS, bits=10), 2**32
    for trust in (TRUST["epsilon"], TRUST["rho"], TRUST["sites"]):
        protocol = Protocol.of_function(trust, coarse, ROUND)
        assert protocol.round.sum_noise.bits == 10
        vectors = [Client(protocol, RNG(at)).vector(held(protocol, at)) for at in range(CLIENTS)]
        masked = np.sum([vector % modulus for vector in vectors], axis=0) % modulus
        total = np.where(masked >= modulus // 2, masked - modulus, masked)
        released = release_sum(VectorSum(protocol, total, CLIENTS, simulated=True))
        assert np.all(np.abs(released.total - EXACT) < 6 * released.deviation)
        fine = trust.sum_noise(MOMENTS).deviation(CLIENTS, is_whole=False)
        assert np.allclose(released.deviation, fine, rtol=0.01)
    assert Together([coarse, AGE]).most_bits == 10
    assert Product(AGE, Coarse(AGE, 3)).most_bits == 3
    with pytest.raises(ParameterError, match="sigma_squared"):
        DistributedNoise(rho=100.0, clients=1000).sum_noise(Coarse(AGE, 1))
