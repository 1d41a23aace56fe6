"""Vectors of clients, for a secure aggregation that somebody else runs, and curves of their sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from dpcore.trust import (
    Client,
    DistributedNoise,
    Enrolment,
    Protocol,
    ReportError,
    RoundError,
    VectorSum,
    agree,
    cell_of,
    client_cdf,
    combine,
    release,
    release_scores,
)
from dpcore.trust.functions.sum_noise import most_noise
from tests.trust.rounds import (
    FUNCTIONS,
    LOCAL,
    NOISY,
    RNG,
    ROUND,
    SECURE,
    TABLES,
    closed,
    send,
    servers_of,
)

SITES = 12
ALL = Protocol(DistributedNoise(1.0, clients=SITES, dropout=0.25, records=None), 20, ROUND)
BOUNDED = Protocol(DistributedNoise(1.0, clients=SITES, records=3), 20, ROUND, empty=20)
ONE = Protocol(DistributedNoise(1.0, clients=SITES), 20, ROUND)


def holdings(protocol, clients=SITES, seed=1):
    """The cells of each client's records: any number of them where the protocol allows it."""
    rng = RNG(seed)
    alone = protocol.records == 1 and protocol.empty is None
    return [rng.integers(20, size=1 if alone else rng.integers(40)) for _ in range(clients)]


def by_servers(protocol, held):
    """The totals of dpcore's own servers."""
    servers = servers_of(protocol)
    for seed, cells in enumerate(held):
        send(servers, Client(protocol, RNG(seed)).report(cells))
    agree(servers)
    return closed(servers)


def by_vectors(protocol, held):
    """The sum of the vectors of the same clients, with the same shares."""
    vectors = [Client(protocol, RNG(seed)).vector(cells) for seed, cells in enumerate(held)]
    return VectorSum(protocol, np.sum(vectors, axis=0), len(held), simulated=True)


@pytest.mark.sample(2)
@pytest.mark.parametrize("protocol", [ALL, BOUNDED, ONE, SECURE], ids=["all", "3", "1", "secure"])
def test_a_sum_of_vectors_releases_what_servers_do(protocol):
    held = holdings(protocol)
    first, second = by_servers(protocol, held), by_vectors(protocol, held)
    assert np.array_equal(combine(first), combine(second))
    grid = dp.Grid.uniform(0, 1, 20)
    assert release(first, grid) == release(second, grid)
    assert release(second).privacy.simulated


def test_scores_are_released_from_a_sum_of_vectors():
    grid, rng = dp.Grid.uniform(0, 1, 10), RNG(2)
    labels, scores = rng.random(900) < 0.4, rng.random(900)
    held = np.array_split(cell_of(scores, grid, labels), SITES)
    curves = release_scores(by_vectors(ALL, held), grid)
    assert curves == release_scores(by_servers(ALL, held), grid)
    assert curves.n == 900
    roc = dp.statistics.ROC.from_curves(curves)
    assert roc.privacy.epsilon == 1.0
    with_mechanism = dp.statistics.ROC.from_curves(curves, ALL.mechanism(SITES))
    assert with_mechanism.auc == roc.auc
    widths = [high - low for low, high in (with_mechanism.auc_interval(), roc.auc_interval())]
    assert widths[0] < widths[1]


def test_without_a_bound_all_records_of_a_site_count():
    held = holdings(ALL, clients=9)  # three have dropped out
    curve = release(by_vectors(ALL, held))
    assert curve.n == sum(map(len, held))
    assert (curve.privacy.epsilon, curve.privacy.neighbours) == (1.0, "replace-one")
    assert curve.mechanism["records"] == "any number"
    assert dp.CDF.from_json(curve.to_json()) == curve


def test_without_a_bound_the_noise_is_that_of_one_record_for_each_client():
    """The same seeds make the same shares, whatever a site holds."""
    one = Protocol(DistributedNoise(1.0, clients=SITES, dropout=0.25), 20, ROUND)
    of_many, of_one = (
        Client(protocol, RNG(7)).vector(cells)
        - protocol.trust.tree(20).node_sums(np.bincount(cells, minlength=20))
        for protocol, cells in ((ALL, np.repeat([3, 9], 500)), (one, np.array([4])))
    )
    assert np.array_equal(of_many, of_one)


def test_as_a_mechanism_it_takes_any_number_of_records():
    trust, grid = ALL.trust, dp.Grid.uniform(0, 1, 20)
    values = RNG(3).random(5000)
    curve = dp.cdf(values, grid, trust, rng=RNG(4))
    assert curve.n == 5000
    assert trust.privacy == trust.record_privacy
    assert np.array_equal(
        curve.noise_deviation, DistributedNoise(1.0, SITES, 0.25).noise_deviation(20)
    )
    for use, words in (
        (lambda: dp.cdf(values, grid, DistributedNoise(1.0, clients=SITES)), "records=None"),
        (lambda: client_cdf([1, 2], [0.5, 0.5], grid, trust), "trust"),
        (lambda: Protocol(trust, 20, ROUND, empty=20), "empty"),
    ):
        with pytest.raises(ParameterError, match=words):
            use()


# --- what is refused


@pytest.mark.parametrize(
    ("first", "second"), [("vector", "report"), ("report", "vector"), ("vector", "vector")]
)
def test_a_client_has_one_vector_or_one_report(first, second):
    client = Client(NOISY)
    getattr(client, first)(3)
    with pytest.raises(ReportError, match="duplicate"):
        getattr(client, second)(3)


@pytest.mark.parametrize("protocol", [LOCAL, FUNCTIONS, TABLES])
def test_other_trust_models_have_no_vectors(protocol):
    client = Client(protocol)
    with pytest.raises(ParameterError, match="DistributedNoise or SecureAggregation"):
        client.vector(3)
    client.report(3)  # nothing was spent
    with pytest.raises(ParameterError, match="protocol"):
        VectorSum(protocol, np.zeros(protocol.words, int), 50)


@pytest.mark.parametrize("cells", [[20], "1", None, np.array([True]), np.zeros((2, 2), int)])
def test_a_refused_record_does_not_use_the_client_up(cells):
    client = Client(ALL)
    with pytest.raises((DtypeError, ParameterError), match="cells"):
        client.vector(cells)
    client.vector([])  # a site without records still adds its share


def with_root(root, protocol=ALL):
    return [root, *[0] * (protocol.words - 1)]


@pytest.mark.parametrize(
    ("protocol", "total", "reports", "error", "words"),
    [
        ("protocol", with_root(12), SITES, DtypeError, "protocol"),
        (ALL, with_root(12), 8, RoundError, "9 to 12"),
        (ALL, with_root(12), 13, RoundError, "9 to 12"),
        (ALL, with_root(12), 0, RoundError, "9 to 12"),
        (ALL, with_root(12), "12", DtypeError, "reports"),
        (ALL, [0.5] * ALL.words, SITES, DtypeError, "total"),
        (ALL, None, SITES, DtypeError, "total"),
        (ALL, "sum", SITES, DtypeError, "total"),
        (ALL, with_root(12)[:-1], SITES, ParameterError, "total"),
        (ALL, [with_root(12)], SITES, ParameterError, "total"),
        (ALL, np.full(ALL.words, 2**63, np.uint64), SITES, ParameterError, "total"),
        (ALL, with_root(0), SITES, RoundError, "1 to 2"),
        (ALL, with_root(-1), SITES, RoundError, "1 to 2"),
        (ALL, with_root(2**46 + 1), SITES, RoundError, "1 to 2"),
        (ONE, with_root(SITES + 1, ONE), SITES, RoundError, "number of reports"),
        (SECURE, [-1, 2, *[0] * 18], 1, RoundError, "below 0"),
    ],
)
def test_impossible_totals_release_nothing(protocol, total, reports, error, words):
    with pytest.raises(error, match=words):
        VectorSum(protocol, total, reports)


def test_totals_that_were_left_modulo_a_number_are_noticed():
    honest = by_vectors(ALL, holdings(ALL))
    total = honest.total.copy()
    total[np.argmin(total)] += 2**32
    with pytest.raises(RoundError, match="modulo"):
        VectorSum(ALL, total, SITES)
    total[np.argmax(total)] = -(2**40)
    object.__setattr__(honest, "total", total)
    with pytest.raises(RoundError, match="modulo"):
        release(honest)
    with pytest.raises(DtypeError, match="sums"):
        combine([honest])
    with pytest.raises(DtypeError, match="simulated"):
        replace(by_vectors(ALL, holdings(ALL)), simulated=1)


def test_noise_is_within_its_bound_and_not_far_below_it():
    for scale, shares, reports in [(1, 50, 50), (5, 50, 70), (40, 9, 12), (3, 10, 1000)]:
        share = PolyaShares(scale, shares)
        largest = np.abs(share.sum_of(reports, 1000, source(RNG(1)))).max()
        most = most_noise(share, reports, 1000)
        whole = -(-reports // shares)
        assert largest < most < whole * scale * 150


def test_enrolled_clients_have_no_vectors():
    protocol = Protocol(ALL.trust, 20, ROUND, enrolled=True)
    client = Client(protocol, ticket=Enrolment(bytes(range(32))).ticket(protocol, "a site"))
    for use in (lambda: client.vector(3), lambda: VectorSum(protocol, [0] * ALL.words, SITES)):
        with pytest.raises(ParameterError, match="enrolled=True"):
            use()


@pytest.mark.parametrize("protocol", [ALL, SECURE, LOCAL, FUNCTIONS])
def test_the_mechanism_is_of_those_who_have_reported(protocol):
    assert protocol.mechanism(12).privacy == protocol.trust.privacy
    for wrong in (None, 0, 2**40 + 1, 12.0):
        with pytest.raises((DtypeError, ParameterError), match="reports"):
            protocol.mechanism(wrong)
    local = LOCAL.mechanism(12)
    assert (local.clients, local.branching) == (12, LOCAL.branching)


def test_the_sum_is_a_copy_that_cannot_change():
    total = by_vectors(ALL, holdings(ALL)).total.copy()
    kept = VectorSum(ALL, total, SITES)
    total[:] = 0
    assert kept.total.any()
    assert not kept.total.flags.writeable


# --- cells of many records


@given(
    st.lists(st.floats(-2, 2) | st.sampled_from([0.0, 0.25, 0.5, 1.0, np.inf]), max_size=30),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_cells_of_many_records_are_those_of_the_counts(values, uniform, random):
    grid = dp.Grid.uniform(0, 1, 8) if uniform else dp.Grid([0.0, 0.1, 0.25, 0.9])
    labels = np.array([random.random() < 0.5 for _ in values], dtype=bool)
    cells = cell_of(values, grid)
    assert cells.dtype == np.int64
    assert np.array_equal(np.bincount(cells, minlength=grid.size), grid.count(values))
    if values:
        scored = np.bincount(cell_of(values, grid, labels), minlength=2 * grid.size)
        assert np.array_equal(scored, dp.score_counts(labels, values, grid, pos_label=True))
    for value, label, cell in zip(values, labels, cells, strict=True):
        assert cell_of(value, grid) == cell
        assert cell_of([value], grid, [label])[0] == cell_of(value, grid, label)


@pytest.mark.parametrize(
    ("score", "label", "error", "name"),
    [
        (np.nan, None, MissingValueError, "score"),
        (None, None, MissingValueError, "score"),
        ([0.5, np.nan], None, MissingValueError, "score"),
        (["a"], None, DtypeError, "score"),
        ("a", None, DtypeError, "score"),
        (object(), None, DtypeError, "score"),
        ([0.5, 0.6], [True], ParameterError, "label"),
        ([0.5, 0.6], True, ParameterError, "label"),
        ([0.5, 0.6], [0, 1], DtypeError, "label"),
        (0.5, 2, DtypeError, "label"),
    ],
)
def test_cells_of_records_are_checked(score, label, error, name):
    grid = dp.Grid.uniform(0, 1, 4)
    with pytest.raises(error, match=name):
        cell_of(score, grid, label)
    assert cell_of(np.array(0.5), grid) == 1
    with pytest.raises(DtypeError, match="grid"):
        cell_of(0.5, [0.0, 1.0])
    days = dp.Grid.uniform("2024-01-01", "2024-01-05", 4)
    with pytest.raises((DtypeError, ParameterError), match="grid"):
        cell_of(np.array(["2024-01-02"], "datetime64[D]"), days)
