"""Clients with several records: what is refused, what adds up, and what is not told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcore as dp
from dpcore.errors import DpcoreError, DtypeError, MissingValueError, ParameterError
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
from tests.trust.several_records import GRID, IDS, LABELS, MODELS, MOST, RECORDS, SCORES, M, capped

STRINGS = np.dtypes.StringDType(na_object=np.nan)


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
