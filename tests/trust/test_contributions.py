"""Clients with several records: what counts of them in simulations, and what follows for curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.errors import DpcoreError, DtypeError, MissingValueError, ParameterError
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
    Protocol,
    SecureAggregation,
    client_cdf,
    client_score_curves,
)
from tests.trust.rounds import RNG
from tests.trust.several_records import (
    GRID,
    IDS,
    LABELS,
    MODELS,
    MOST,
    RECORDS,
    SCORES,
    M,
    capped,
    clients_of,
)

STRINGS = np.dtypes.StringDType(na_object=np.nan)
EVERYONE = np.repeat(np.arange(M), 2)  # two records of each client
VALUES = np.resize(SCORES, EVERYONE.size)


def name_of(model):
    return model.describe()["name"]


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
    for statistic in (
        lambda some: ROC.from_curves(some).auc,
        lambda some: classifier.accuracy(some, 0.5),
        lambda some: classifier.precision(some, 0.5),
        lambda some: expected_calibration_error(some, 4),
        lambda some: ScoreHistogram.uniform(some, 4).auc,
        lambda some: HosmerLemeshow.from_curves(some, 4).statistic,
    ):
        assert statistic(curves) == pytest.approx(statistic(plain), rel=1e-12)


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_so_many_records_of_each_client_count(bound):
    trust = SecureAggregation(records=bound)
    seen = client_cdf(IDS, IDS, dp.Grid(np.arange(float(M))), trust, clients=M)
    assert np.array_equal(np.diff(seen.counts, prepend=0), capped(bound))


def test_any_of_a_clients_records_may_count():
    rng, grid, trust = RNG(5), dp.Grid(np.arange(5.0)), Central(40.0, records=2)
    picked = np.zeros(5)
    for _ in range(400):
        curve = client_cdf([7] * 5, range(5), grid, trust, clients=1, rng=rng)
        picked += np.diff(curve.counts, prepend=0)
    assert np.all(np.abs(picked - 160) <= 5 * np.sqrt(400 * 0.4 * 0.6))


@pytest.mark.needs_jit
def test_local_reports_one_slot_of_each_client():
    grid, rng = dp.Grid.uniform(0, 1, 2), RNG(6)
    trust = Local(20.0, clients=M, records=4)
    counted = [client_cdf(IDS, SCORES, grid, trust, rng=rng).n for _ in range(100)]
    assert abs(np.mean(counted) - capped(4).sum() / 4) <= 5 * np.std(counted) / np.sqrt(100)


@pytest.mark.parametrize("model", MODELS[:4], ids=name_of)
def test_who_has_a_record_does_not_matter(model):
    """Where all of them count, it is the counts alone that do, with one seed."""
    scores = RNG(7).random(EVERYONE.size)
    labels = scores > 0.5
    options = {"clients": clients_of(model)}
    released = [
        client_score_curves(owner, labels, scores, GRID, model, rng=RNG(8), **options).joint.counts
        for owner in (
            EVERYONE,
            RNG(9).permutation(EVERYONE),
            EVERYONE[np.argsort(np.argsort(labels))],  # of one class each
        )
    ]
    assert np.array_equal(released[0], released[1])
    assert np.array_equal(released[0], released[2])


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_releases_of_the_records_that_count_are_unbiased(model):
    part = 1 / 3 if isinstance(model, Local) else 1
    exact = np.cumsum(GRID.count(VALUES))[:-1] * part
    options = {"clients": clients_of(model), "isotonic": False, "rng": RNG(10)}
    released = np.array(
        [client_cdf(EVERYONE, VALUES, GRID, model, **options).counts for _ in range(300)]
    )[:, :-1]  # the last one is rounded
    spread = np.maximum(released.std(axis=0), 1e-9)
    assert np.all(np.abs(released.mean(axis=0) - exact) <= 5 * spread / np.sqrt(300))


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS[:4], ids=name_of)
def test_the_stated_error_is_that_of_the_noise(model):
    labels = VALUES > 0.4
    options = {"clients": clients_of(model), "isotonic": False, "rng": RNG(11)}
    releases = [
        client_score_curves(EVERYONE, labels, VALUES, GRID, model, **options) for _ in range(400)
    ]
    for name, stated in zip(("negatives", "positives"), releases[0].deviations, strict=True):
        spread = np.array([getattr(curves, name) for curves in releases]).std(axis=0)
        assert np.all(np.abs(spread - stated) <= 0.2 * stated)


# --- statistics


@pytest.mark.needs_jit
def test_a_right_model_is_not_rejected_under_noise():
    trust = DistributedNoise(2.0, clients=M, records=3)
    rng, pvalues = RNG(12), []
    options = {"groups": 4, "mechanism": trust, "fitted": False}
    for _ in range(20):
        labels = rng.random(RECORDS) < SCORES
        curves = client_score_curves(IDS, labels, SCORES, GRID, trust, rng=rng)
        pvalues.append(HosmerLemeshow.from_curves(curves, **options).under_noise(99, rng).pvalue)
    assert np.mean(np.array(pvalues) < 0.05) <= 0.3


@pytest.mark.parametrize("model", MODELS, ids=name_of)
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
    assert Local(1.0, clients=5, records=4).record_privacy.epsilon == pytest.approx(
        np.log(1 + (np.e - 1) / 4), rel=1e-13
    )
    for one in (Central(1.0), DistributedNoise(1.0, clients=5), Local(1.0, clients=5)):
        assert one.privacy == one.record_privacy == dp.Privacy(1.0)
    assert SecureAggregation(records=3).record_privacy == dp.Privacy(np.inf)


# --- statistics of few records


@pytest.mark.needs_jit
def test_bands_count_the_noise_of_the_number_of_records():
    trust, rng, inside = Central(rho=0.5, records=4), RNG(20), []
    exact = np.cumsum(GRID.count(VALUES)) / VALUES.size
    for _ in range(300):
        curve = client_cdf(EVERYONE, VALUES, GRID, trust, clients=M, isotonic=False, rng=rng)
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
            tested = HosmerLemeshow.from_curves(curves, **options).under_noise(49, rng)
            assert 0.02 <= tested.pvalue <= 1


def odd(kind):
    """A subclass whose values equal none."""
    return type("Odd", (kind,), {"__eq__": lambda *_: False, "__hash__": id})


@pytest.mark.parametrize(("kind", "name"), [(str, "a"), (int, 2**70)])
def test_clients_are_told_by_the_content_of_their_ids(kind, name):
    ids = [odd(kind)(name) for _ in range(4)]
    curve = client_cdf(ids, [0.5] * 4, dp.Grid([1.0]), SecureAggregation(), clients=1)
    assert curve.n == 1


# --- what is refused, what adds up, and what is not told


@pytest.mark.parametrize("records", [0, 65, 1.0, True, "2"])
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
    with pytest.raises(ParameterError if records in (0, 65) else DtypeError, match="records"):
        model(records)


HALF = RECORDS // 2


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("client_ids", IDS[:-1], ParameterError),
        ("client_ids", IDS.astype(float), DtypeError),
        ("client_ids", [None] * RECORDS, MissingValueError),
        ("client_ids", np.ma.masked_equal(IDS, IDS[0]), MissingValueError),
        ("client_ids", [["a"]] + ["b"] * (RECORDS - 1), DtypeError),
        ("client_ids", set(range(RECORDS)), ParameterError),
        ("client_ids", iter(range(RECORDS)), ParameterError),
        ("client_ids", [1, "1"] * HALF, DtypeError),
        ("client_ids", [True, 2] * HALF, DtypeError),
        ("client_ids", np.array(["a", np.nan] * HALF, STRINGS), MissingValueError),
        ("client_ids", pd.DataFrame({"id": IDS}), DtypeError),
        ("client_ids", IDS.astype("m8[ns]"), DtypeError),
        ("client_ids", np.where(IDS[0] == IDS, np.timedelta64("NaT"), IDS), DtypeError),
        ("client_ids", [np.timedelta64(1, "ns")] * RECORDS, DtypeError),
        ("client_ids", pd.MultiIndex.from_arrays([IDS, IDS]), DpcoreError),
        ("values", np.where(SCORES > 0.5, np.nan, SCORES), MissingValueError),
        ("values", ["a"] * RECORDS, DtypeError),
        ("grid", 3, DtypeError),
        ("trust", dp.mechanisms.Hierarchy(1.0), DtypeError),
        ("clients", M, ParameterError),
        ("isotonic", 1, DtypeError),
        ("rng", 3, DtypeError),
    ],
)
def test_arguments_are_checked(name, value, error):
    given = {"client_ids": IDS, "values": SCORES, "grid": GRID, "trust": MODELS[2], name: value}
    with pytest.raises(error, match=name):
        client_cdf(**given)


@pytest.mark.parametrize(
    ("ids", "trust", "clients"),
    [(IDS, Central(1.0), None), (IDS, Central(1.0), 0), (np.arange(RECORDS), MODELS[2], None)],
)
def test_clients_are_counted(ids, trust, clients):
    with pytest.raises(ParameterError, match="clients"):
        client_cdf(ids, SCORES, GRID, trust, clients=clients)


def test_errors_about_ids_quote_no_record():
    class Failing:
        def __array__(self, *args, **options):
            raise KeyError("secret")

    with pytest.raises(DtypeError) as failed:
        client_cdf([Failing()] * RECORDS, SCORES, GRID, MODELS[2])
    assert "secret" not in str(failed.value)


def test_integers_of_numpy_in_a_list_are_ids_like_others():
    given = [np.int32(own) if own % 2 else own for own in IDS.tolist()]
    ours, theirs = (
        client_cdf(ids, SCORES, GRID, MODELS[2], rng=np.random.default_rng(1))
        for ids in (given, IDS.tolist())
    )
    assert ours == theirs


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


@pytest.mark.parametrize(
    "model", [Central(1.0, records=2), DistributedNoise(1.0, clients=500, records=2)]
)
@pytest.mark.parametrize(
    "call",
    [
        lambda model: dp.cdf(SCORES, GRID, model),
        lambda model: dp.score_curves(LABELS, SCORES, GRID, model),
        lambda model: dp.score_curves(LABELS, SCORES, GRID, (model, model)),
        lambda model: dp.hosmer_lemeshow(LABELS, SCORES, mechanism=model),
    ],
)
def test_records_of_unknown_clients_have_no_guarantee_for_clients(call, model):
    with pytest.raises(ParameterError, match="mechanism"):
        call(model)


def test_releases_of_the_same_clients_add_up_whatever_counts_of_them():
    options = {"clients": M, "rng": RNG(19), "isotonic": False}
    one, two, three = (
        client_cdf(IDS, SCORES, GRID, Central(1.0, records=c), **options) for c in (1, 2, 2)
    )
    assert (one.privacy + two.privacy).epsilon == 2.0
    assert (Central(1.0, records=2).privacy + Central(1.0, records=3).privacy).epsilon == 2.0
    with pytest.raises(ParameterError, match="neighbours"):
        two.privacy + dp.Privacy(1.0)
    assert dp.average([two, three]).privacy.epsilon == 2.0
    with pytest.raises(ParameterError, match="records"):
        dp.average([one, two])
    with pytest.raises(ParameterError, match="at once"):
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
        with pytest.raises(ParameterError, match="records"):
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
