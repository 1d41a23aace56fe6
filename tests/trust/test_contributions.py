"""Clients with several records: what counts of them, in simulations and in real rounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.statistics import (
    ROC,
    HosmerLemeshow,
    ScoreHistogram,
    classifier,
    expected_calibration_error,
)
from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    Local,
    PartialSum,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    Server,
    agree,
    cell_of,
    client_cdf,
    client_score_curves,
    release,
    release_scores,
)

RNG = np.random.default_rng
STRINGS = np.dtypes.StringDType(na_object=np.nan)
GRID = dp.Grid.uniform(0, 1, 8)
M, RECORDS = 400, 1000
IDS = RNG(1).integers(M, size=RECORDS)
SCORES = RNG(2).random(RECORDS)
LABELS = RNG(3).random(RECORDS) < SCORES
MOST = int(np.bincount(IDS).max())
MODELS = [
    Central(1.0, records=3),
    SecureAggregation(records=3),
    DistributedNoise(1.0, clients=M, records=3),
    DistributedNoise(1.0, clients=2 * M, dropout=0.75, reporting=M, records=3),
    Local(4.0, clients=M, records=3),
]


def clients_of(model):
    return None if isinstance(model, DistributedNoise | Local) else M


def capped(bound):
    """How many records count of each client."""
    return np.minimum(np.bincount(IDS, minlength=M), bound)


# --- what counts


def test_a_bound_that_cuts_nothing_counts_every_record():
    trust = SecureAggregation(records=MOST)
    curve = client_cdf(IDS, SCORES, GRID, trust, clients=M, rng=RNG(4))
    assert np.array_equal(curve.counts, np.cumsum(GRID.count(SCORES)))
    assert curve.n == RECORDS
    curves = client_score_curves(IDS, LABELS, SCORES, GRID, trust, clients=M, rng=RNG(4))
    plain = dp.score_curves(LABELS, SCORES, GRID, SecureAggregation(), rng=RNG(4))
    assert np.array_equal(curves.negatives, plain.negatives)
    assert np.array_equal(curves.positives, plain.positives)
    assert curves.n == plain.n == RECORDS
    assert curves.has_empty
    assert not plain.has_empty


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_so_many_records_of_each_client_count(bound):
    trust = SecureAggregation(records=bound)
    seen = client_cdf(IDS, IDS, dp.Grid(np.arange(float(M))), trust, clients=M)
    assert np.array_equal(np.diff(seen.counts, prepend=0), capped(bound))


def test_any_of_a_clients_records_may_count():
    rng, grid = RNG(5), dp.Grid(np.arange(5.0))
    picked = sum(
        np.diff(
            client_cdf(
                [7] * 5, range(5), grid, Central(40.0, records=2), clients=1, rng=rng
            ).counts,
            prepend=0,
        )
        for _ in range(500)
    )
    assert np.all(np.abs(picked - 200) <= 5 * np.sqrt(500 * 0.4 * 0.6))


@pytest.mark.needs_jit
def test_local_reports_one_slot_of_each_client():
    grid, rng = dp.Grid.uniform(0, 1, 2), RNG(6)
    trust = Local(20.0, clients=M, records=4)
    found = [client_cdf(IDS, SCORES, grid, trust, rng=rng).n for _ in range(200)]
    assert abs(np.mean(found) - capped(4).sum() / 4) <= 5 * np.std(found) / np.sqrt(200)


@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: model.describe()["name"])
def test_who_has_a_record_does_not_matter(model):
    """Where all of them count, it is the counts alone that do, with one seed."""
    ids = np.repeat(np.arange(M), 2)
    scores = RNG(7).random(ids.size)
    labels = scores > 0.5
    found = [
        client_score_curves(
            owner, labels, scores, GRID, model, clients=clients_of(model), rng=RNG(8)
        )
        for owner in (ids, RNG(9).permutation(ids), ids[np.argsort(np.argsort(labels))])
    ]
    assert np.array_equal(found[0].joint.counts, found[1].joint.counts)
    assert np.array_equal(found[0].joint.counts, found[2].joint.counts)  # of one class each


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.describe()["name"])
def test_releases_are_unbiased(model):
    """For the records that count."""
    each = 1 if isinstance(model, Local) else 3
    ids = np.repeat(np.arange(M), 2)  # nothing is cut
    scores = np.resize(SCORES, ids.size)
    exact = np.cumsum(GRID.count(scores)) * (each / 3)
    options = {"clients": clients_of(model), "isotonic": False}
    rng = RNG(10)
    found = np.array(
        [client_cdf(ids, scores, GRID, model, rng=rng, **options).counts for _ in range(400)]
    )[:, :-1]  # the last one is rounded
    spread = np.maximum(found.std(axis=0), 1e-9)
    assert np.all(np.abs(found.mean(axis=0) - exact[:-1]) <= 5 * spread / np.sqrt(400))


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS[:4], ids=lambda model: model.describe()["name"])
def test_the_stated_error_is_that_of_the_noise(model):
    ids = np.repeat(np.arange(M), 2)
    scores = np.resize(SCORES, ids.size)
    labels = scores > 0.4
    options = {"clients": clients_of(model), "isotonic": False}
    rng = RNG(11)
    releases = [
        client_score_curves(ids, labels, scores, GRID, model, rng=rng, **options)
        for _ in range(400)
    ]
    for name, stated in zip(("negatives", "positives"), releases[0].deviations, strict=True):
        found = np.array([getattr(each, name) for each in releases]).std(axis=0)
        assert np.all(np.abs(found - stated) <= 0.2 * stated)


# --- statistics


def test_statistics_are_those_of_the_records():
    trust = SecureAggregation(records=MOST)
    curves = client_score_curves(IDS, LABELS, SCORES, GRID, trust, clients=M, rng=RNG(4))
    plain = dp.score_curves(LABELS, SCORES, GRID, SecureAggregation(), rng=RNG(4))
    for statistic in (
        lambda each: ROC.from_curves(each).auc,
        lambda each: classifier.accuracy(each, 0.5),
        lambda each: classifier.precision(each, 0.5),
        lambda each: expected_calibration_error(each, 4),
        lambda each: ScoreHistogram.uniform(each, 4).auc,
        lambda each: HosmerLemeshow.from_curves(each, 4).statistic,
    ):
        assert statistic(curves) == pytest.approx(statistic(plain), rel=1e-12)


@pytest.mark.needs_jit
def test_a_right_model_is_not_rejected_under_noise():
    trust = DistributedNoise(2.0, clients=M, records=3)
    rng = RNG(12)
    options = {"groups": 4, "mechanism": trust, "fitted": False}
    found = []
    for _ in range(20):
        labels = rng.random(RECORDS) < SCORES
        curves = client_score_curves(IDS, labels, SCORES, GRID, trust, rng=rng)
        found.append(HosmerLemeshow.from_curves(curves, **options).under_noise(99, rng).pvalue)
    assert np.mean(np.array(found) < 0.05) <= 0.3


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.describe()["name"])
def test_releases_are_stored_and_say_what_they_promise(model):
    options = {"clients": clients_of(model), "rng": RNG(13)}
    curves = client_score_curves(IDS, LABELS, SCORES, GRID, model, **options)
    curve = client_cdf(IDS, SCORES, GRID, model, **options)
    assert curve.counts[-1] == curve.n
    assert curve.is_monotone
    assert curve.mechanism["records"] == ("1 of 3" if isinstance(model, Local) else 3)
    if isinstance(model, SecureAggregation):
        return
    again = dp.ScoreCurves.from_json(curves.to_json())
    assert np.array_equal(again.joint.counts, curves.joint.counts)
    assert again.privacy == curves.privacy
    assert again.has_empty
    assert dp.CDF.from_json(curve.to_json()).privacy == curve.privacy
    assert curve.privacy.neighbours == "replace-client"
    assert curve.privacy.simulated
    assert model.privacy.epsilon == model.epsilon


def test_guarantees_of_records():
    assert DistributedNoise(1.0, clients=5, records=4).record_privacy == dp.Privacy(0.25)
    assert Central(rho=0.5, records=2).record_privacy == dp.Privacy(rho=0.125)
    found = Local(1.0, clients=5, records=4).record_privacy
    assert found.epsilon == pytest.approx(np.log(1 + (np.e - 1) / 4), rel=1e-13)
    for one in (Central(1.0), DistributedNoise(1.0, clients=5), Local(1.0, clients=5)):
        assert one.privacy == one.record_privacy == dp.Privacy(1.0)
    assert SecureAggregation(records=3).record_privacy == dp.Privacy(np.inf)


def test_guarantees_for_clients_and_for_records_do_not_add_up():
    with pytest.raises(ParameterError, match="neighbours"):
        Central(1.0, records=2).privacy + dp.Privacy(1.0)
    assert (Central(1.0, records=2).privacy + Central(1.0, records=3).privacy).epsilon == 2.0


# --- real rounds


def run(protocol, held, rng=None):
    """Let clients report the cells of their records, and return the sums of all servers."""
    servers = [Server(protocol) for _ in range(protocol.receivers)]
    for cells in held:
        own = None if rng is None else rng.spawn(1)[0]
        for server, report in zip(servers, Client(protocol, own).report(cells), strict=True):
            server.add(report)
    agree(servers)
    return [server.close() for server in servers]


def cells_by_client(grid, scores, labels=None):
    found = [[] for _ in range(M)]
    for at, owner in enumerate(IDS):
        label = None if labels is None else bool(labels[at])
        found[owner].append(cell_of(scores[at], grid, label))
    return found


def test_a_round_of_scored_labels_counts_what_clients_have():
    trust = SecureAggregation(records=MOST)
    protocol = Protocol(trust, 2 * GRID.size, bytes(16), empty=GRID.size)
    curves = release_scores(run(protocol, cells_by_client(GRID, SCORES, LABELS)), GRID)
    plain = dp.score_curves(LABELS, SCORES, GRID, SecureAggregation(), rng=RNG(4))
    assert np.array_equal(curves.negatives, plain.negatives)
    assert np.array_equal(curves.positives, plain.positives)


def test_a_round_of_values_chooses_and_fills_up():
    trust = SecureAggregation(records=2)
    protocol = Protocol(trust, GRID.size, bytes(16), empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES)), GRID)
    assert curve.n == capped(2).sum()
    assert np.all(np.diff(curve.counts, prepend=0) <= GRID.count(SCORES))


def test_a_round_with_noise_releases_what_a_simulation_does():
    trust = DistributedNoise(50.0, clients=M, records=MOST)
    protocol = Protocol(trust, GRID.size, bytes(16), empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES), RNG(14)), GRID, isotonic=False)
    simulated = client_cdf(IDS, SCORES, GRID, trust, rng=RNG(15))
    assert np.array_equal(curve.noise_deviation, simulated.noise_deviation)
    assert curve.mechanism == simulated.mechanism
    assert curve.privacy == simulated.privacy
    exact = np.cumsum(GRID.count(SCORES))
    assert np.all(np.abs(curve.counts - exact) <= 6 * curve.noise_deviation + 1)


def test_a_local_round_releases_what_a_simulation_does():
    trust = Local(12.0, clients=M, records=4)
    protocol = Protocol(trust, GRID.size, bytes(16), empty=GRID.size)
    curve = release(run(protocol, cells_by_client(GRID, SCORES), RNG(16)), GRID, isotonic=False)
    rng = RNG(17)
    simulated = [
        client_cdf(IDS, SCORES, GRID, trust, rng=rng, isotonic=False).counts for _ in range(200)
    ]
    middle, spread = np.mean(simulated, axis=0), np.std(simulated, axis=0)
    assert np.all(np.abs(curve.counts - middle) <= 5 * spread)


def test_all_servers_together_know_how_many_records_there_must_be():
    trust = SecureAggregation(records=2)
    protocol = Protocol(trust, 4, bytes(16), empty=4)
    honest = run(protocol, [[0, 1], [2]])
    totals = honest[0].totals.copy()
    totals[0] += np.uint64(1)
    forged = PartialSum(protocol, totals, honest[0].reports, honest[0].clients)
    with pytest.raises(RoundError, match="2 records"):
        release([forged, honest[1]])


def test_protocols_differ_by_bound_and_empty_cell():
    protocols = [
        Protocol(SecureAggregation(records=c), 8, bytes(16), empty=empty)
        for c in (1, 2)
        for empty in (4, 8)
    ]
    protocols.append(Protocol(SecureAggregation(), 8, bytes(16)))
    assert len({protocol.digest for protocol in protocols}) == 5


# --- what is refused


def test_several_records_need_an_empty_cell():
    with pytest.raises(ParameterError, match="empty"):
        Protocol(SecureAggregation(records=2), 4, bytes(16))
    for cells in ([], [1, 2]):
        client = Client(Protocol(SecureAggregation(), 4, bytes(16)))
        with pytest.raises(ParameterError, match="one record"):
            client.report(cells)
        client.report(1)  # it has not reported before
        with pytest.raises(ReportError):
            client.report(1)


@pytest.mark.parametrize("empty", [0, 1, 3, 9, 4.0, True, "8"])
def test_the_empty_cell_is_at_the_end_or_in_the_middle(empty):
    with pytest.raises((DtypeError, ParameterError), match="empty"):
        Protocol(SecureAggregation(), 8, bytes(16), empty=empty)


@pytest.mark.parametrize(
    "cells", [3, np.int64(3), np.array(3), [3], np.array([3]), (3,), range(3, 4)]
)
def test_cells_are_any_integers(cells):
    protocol = Protocol(SecureAggregation(), 4, bytes(16), empty=4)
    assert release(run(protocol, [cells])).counts.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "cells",
    [
        [4],
        [-1],
        4,
        [[1]],
        ["a"],
        1.0,
        [True],
        "1",
        "",
        b"\x01",
        b"",
        bytearray(b"1"),
        {1},
        None,
        np.zeros((0, 3), int),
        np.zeros((1, 1), int),
    ],
)
def test_cells_are_checked(cells):
    client = Client(Protocol(SecureAggregation(records=2), 4, bytes(16), empty=4))
    with pytest.raises((DtypeError, ParameterError), match="cells"):
        client.report(cells)


def test_a_round_is_released_as_what_it_is():
    scores = run(Protocol(SecureAggregation(), 8, bytes(16), empty=4), [[1], []])
    with pytest.raises(ParameterError, match="release_scores"):
        release(scores)
    values = run(Protocol(SecureAggregation(), 8, bytes(16), empty=8), [[1], []])
    with pytest.raises(ParameterError, match="grid"):
        release_scores(values, dp.Grid.uniform(0, 1, 4))
    assert release_scores(scores, dp.Grid.uniform(0, 1, 4)).n == 1


@pytest.mark.parametrize("records", [0, -1, 65, 1.0, True, "2"])
@pytest.mark.parametrize(
    "model",
    [
        lambda c: Central(1.0, records=c),
        lambda c: SecureAggregation(records=c),
        lambda c: DistributedNoise(1.0, clients=2**40, records=c),
        lambda c: Local(1.0, clients=2**40, records=c),
    ],
)
def test_bounds_are_checked(model, records):
    with pytest.raises((DtypeError, ParameterError), match="records"):
        model(records)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"client_ids": IDS[:-1]}, ParameterError, "client_ids"),
        ({"client_ids": IDS.astype(float)}, DtypeError, "client_ids"),
        ({"client_ids": [None] * RECORDS}, MissingValueError, "client_ids"),
        ({"client_ids": np.ma.masked_equal(IDS, IDS[0])}, MissingValueError, "client_ids"),
        ({"client_ids": [["a"]] + ["b"] * (RECORDS - 1)}, DtypeError, "client_ids"),
        ({"client_ids": np.arange(RECORDS)}, ParameterError, "clients must be no less"),
        ({"client_ids": set(range(RECORDS))}, ParameterError, "client_ids"),
        ({"client_ids": iter(range(RECORDS))}, ParameterError, "client_ids"),
        ({"client_ids": [1, "1"] * (RECORDS // 2)}, DtypeError, "client_ids"),
        ({"client_ids": [True, 2] * (RECORDS // 2)}, DtypeError, "client_ids"),
        (
            {"client_ids": np.array(["a", np.nan] * (RECORDS // 2), STRINGS)},
            MissingValueError,
            "client_ids",
        ),
        ({"client_ids": pd.DataFrame({"id": IDS})}, DtypeError, "client_ids"),
        (
            {"client_ids": pd.MultiIndex.from_arrays([IDS, IDS])},
            (DtypeError, ParameterError),
            "client_ids",
        ),
        ({"values": np.where(SCORES > 0.5, np.nan, SCORES)}, MissingValueError, "values"),
        ({"values": ["a"] * RECORDS}, DtypeError, "values"),
        ({"grid": 3}, DtypeError, "grid"),
        ({"trust": dp.mechanisms.Hierarchy(1.0)}, DtypeError, "trust"),
        ({"trust": Central(1.0)}, ParameterError, "clients"),
        ({"clients": M}, ParameterError, "clients"),
        ({"trust": Central(1.0), "clients": 0}, ParameterError, "clients"),
        ({"isotonic": 1}, DtypeError, "isotonic"),
        ({"rng": 3}, DtypeError, "rng"),
    ],
)
def test_arguments_are_checked(change, error, match):
    given = {"client_ids": IDS, "values": SCORES, "grid": GRID, "trust": MODELS[2], **change}
    with pytest.raises(error, match=match):
        client_cdf(**given)


def test_labels_are_checked():
    with pytest.raises(ParameterError, match="y_score"):
        client_score_curves(IDS, LABELS, SCORES[:-1], GRID, MODELS[2])


def test_names_may_be_strings_and_there_may_be_no_records():
    names = np.char.add("client ", IDS.astype(str))
    for ids in (
        names,
        names.tolist(),
        names.astype(object),
        pd.Series(names),
        names.astype(STRINGS),
    ):
        trust = SecureAggregation(records=2)
        assert client_cdf(ids, SCORES, GRID, trust, clients=M).n == capped(2).sum()
    for none in (np.zeros(0, int), []):
        nobody = client_cdf(none, [], GRID, MODELS[2], rng=RNG(18))
        assert nobody.n >= 1
        assert nobody.is_monotone


def test_a_long_name_takes_no_more_memory_than_it_has():
    names = [f"client {i}" for i in IDS]
    names[0] = "x" * 10**7
    trust = SecureAggregation(records=MOST)
    assert client_cdf(names, SCORES, GRID, trust, clients=M + 1).n == RECORDS


def test_names_are_told_apart_to_the_last_character():
    trust = SecureAggregation(records=1)
    assert client_cdf(["a", "a\0"], [0.1, 0.2], GRID, trust, clients=2).n == 2


def test_how_many_clients_have_records_is_not_told():
    with pytest.raises(ParameterError) as error:
        client_cdf(np.arange(9532), np.zeros(9532), GRID, Central(1.0), clients=1)
    assert "9532" not in str(error.value)


def test_records_of_unknown_clients_have_no_guarantee_for_clients():
    for model in (Central(1.0, records=2), DistributedNoise(1.0, clients=500, records=2)):
        for call in (
            lambda model=model: dp.cdf(SCORES, GRID, model),
            lambda model=model: dp.score_curves(LABELS, SCORES, GRID, model),
            lambda model=model: dp.score_curves(LABELS, SCORES, GRID, (model, model)),
            lambda model=model: dp.hosmer_lemeshow(LABELS, SCORES, mechanism=model),
        ):
            with pytest.raises(ParameterError, match="mechanism"):
                call()


def test_releases_of_the_same_clients_add_up_whatever_counts_of_them():
    options = {"clients": M, "rng": RNG(19), "isotonic": False}
    one, two, three = (
        client_cdf(IDS, SCORES, GRID, Central(1.0, records=c), **options) for c in (1, 2, 2)
    )
    assert (one.privacy + two.privacy).epsilon == 2.0
    assert dp.average([two, three]).privacy.epsilon == 2.0
    with pytest.raises(ParameterError, match="same number of records"):
        dp.average([one, two])
    with pytest.raises(ParameterError, match="all at once"):
        dp.average([dp.combine([one, two]), dp.combine([one, two])])


def test_counts_of_local_reports_do_not_go_with_others():
    def released(trust):
        return client_cdf(IDS, SCORES, GRID, trust, isotonic=False, rng=RNG(24))

    noisy, local, other, single = (
        released(trust)
        for trust in (
            DistributedNoise(1.0, clients=M, records=2),
            Local(4.0, clients=M, records=2),
            Local(4.0, clients=M, records=3),
            Local(4.0, clients=M),
        )
    )
    for parts in ([noisy, local], [local, other], [local, single]):
        with pytest.raises(ParameterError, match="same number of records"):
            dp.combine(parts)
        dp.combine(parts, weights=[1, 1])
    assert dp.combine([noisy, single]).n == noisy.n + single.n
    one = released(DistributedNoise(1.0, clients=M))
    assert dp.average([one, single]).privacy.epsilon == 5.0


def test_messages_do_not_quote_records():
    for cells in (pd.Series([3, 5, 77]), {3, 77}, [77], np.array([7.7]), 77, "77"):
        client = Client(Protocol(SecureAggregation(), 8, bytes(16), empty=8))
        with pytest.raises((DtypeError, ParameterError)) as error:
            client.report(cells)
        assert "7" not in str(error.value).replace("0 to 7", "")


def test_a_round_has_no_more_cells_than_a_grid():
    with pytest.raises(ParameterError, match="size"):
        Protocol(SecureAggregation(records=2), 2**24, bytes(16), empty=2**24)


@pytest.mark.needs_jit
def test_bands_count_the_noise_of_the_number_of_records():
    trust, rng = Central(rho=0.5, records=4), RNG(20)
    ids, inside = np.repeat(np.arange(M), 2), []
    scores = np.resize(SCORES, ids.size)
    exact = np.cumsum(GRID.count(scores)) / ids.size
    for _ in range(300):
        curve = client_cdf(ids, scores, GRID, trust, clients=M, isotonic=False, rng=rng)
        low, high = curve.band(0.9)
        inside.append((low <= exact) & (exact <= high))
    assert np.mean(inside, axis=0).min() >= 0.88


def test_accuracies_are_within_bounds():
    labels, scores, rng = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], RNG(21)
    trust = DistributedNoise(8.0, clients=20)
    for _ in range(100):
        curves = client_score_curves([0, 1, 2, 3], labels, scores, GRID, trust, rng=rng)
        assert not classifier.accuracy(curves, 0.5) > 1.0


def test_no_records_have_no_accuracy_and_no_calibration_error():
    empty = client_score_curves([], [], [], GRID, SecureAggregation(), clients=3)
    assert np.isnan(classifier.accuracy(empty, 0.5))
    assert np.isnan(expected_calibration_error(empty, 4))


@pytest.mark.needs_jit
def test_simulated_releases_of_few_records_do_not_stop_the_test():
    trust = DistributedNoise(0.1, clients=1000, records=8)
    scores = RNG(22).random(1000)
    options = {"groups": 10, "mechanism": trust, "fitted": False}
    for seed in range(10):
        rng = RNG(seed)
        labels = rng.random(1000) < scores
        grid = dp.Grid.uniform(0, 1, 64)
        curves = client_score_curves(np.arange(1000), labels, scores, grid, trust, rng=rng)
        if curves.n >= 10:
            found = HosmerLemeshow.from_curves(curves, **options).under_noise(49, rng)
            assert 0.02 <= found.pvalue <= 1
