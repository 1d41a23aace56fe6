"""Sums that no reports can make are refused, and so is what is no sum at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import (
    DistributedNoise,
    Local,
    PartialSum,
    Protocol,
    RoundError,
    SecureAggregation,
    Server,
    agree,
    combine,
    release,
    release_scores,
)
from dpcore.trust.protocol import storage
from tests.trust.rounds import ROUND, closed, settled

SECURE = Protocol(SecureAggregation(), 8, ROUND)
NOISY = Protocol(DistributedNoise(1.0, clients=20, branching=2), 8, ROUND)
LOCAL = Protocol(Local(4.0, clients=60, branching=2), 8, ROUND)
BITS = Protocol(Local(0.5, clients=60, branching=(16, 2)), 32, ROUND)  # too many for subsets


def sums_of(protocol, clients):
    return closed(settled(protocol, np.arange(clients) % 8, seed=1))


def changed(part, at, by):
    totals = part.totals.copy()
    totals[[at]] += np.uint64(by % 2**64)
    return replace(part, totals=totals)


def refused(sums, words):
    """Combined or released, and after a way over the wire."""
    back = [PartialSum.from_bytes(part.to_bytes(), part.protocol) for part in sums]
    for take in (combine, release):
        for given in (sums, back):
            with pytest.raises(RoundError, match=words):
                take(given)


def test_local_totals_have_at_most_a_one_from_each_report():
    (part,) = sums_of(BITS, 60)
    combine(part)
    for level, reports in enumerate(part.by_level, 1):
        at = BITS.starts[level]
        most = changed(part, at, reports - int(part.totals[at]))
        assert combine(most)[at] == reports
        for more in (1, 1000, 2**62, 2**63):
            refused([changed(most, at, more)], f"level {level} has .* {reports} ")
    refused([changed(part, 0, 1)], "level 0 has .* 0 ")
    refused([changed(part, -1, -1 - int(part.totals[-1]))], "more ones")


def test_local_totals_of_subsets_have_their_number_from_each_report():
    (part,) = sums_of(LOCAL, 60)
    for level, (encoding, reports) in enumerate(
        zip(LOCAL.trust.encodings(8), part.by_level, strict=True), 1
    ):
        at = LOCAL.starts[level]
        less = changed(part, at, -1 if int(part.totals[at]) else 1)
        refused([less], f"level {level} have not {encoding.chosen} ones|more ones .* {reports} ")


def test_local_levels_add_up():
    (part,) = sums_of(LOCAL, 60)
    first, *others = part.by_level
    refused([replace(part, by_level=(first + 1, *others))], "add up to 61, .* 60")
    refused([replace(part, reports=59)], "add up to 60, .* 59")
    refused([replace(part, reports=2**41)], "2\\^40 clients")
    with pytest.raises(RoundError, match="levels add up to"):
        combine(replace(part, by_level=(60,)))


def test_exact_cells_are_counts():
    sums = sums_of(SECURE, 20)
    assert combine(sums).tolist() == [3, 3, 3, 3, 2, 2, 2, 2]
    below = changed(changed(sums[0], 4, -3), 0, 3)
    refused([below, sums[1]], "below 0")
    around = changed(changed(sums[0], 4, 2**62), 0, -(2**62))
    refused([around, sums[1]], "below 0")
    refused([changed(sums[0], 4, 1), sums[1]], "number of reports")


def test_levels_that_are_not_counted_stay_empty():
    sums = sums_of(NOISY, 20)
    assert NOISY.noise[1] is NOISY.noise[2] is None
    assert combine(sums)[1:7].tolist() == [0] * 6
    refused([changed(sums[0], 2, 5), sums[1]], "level 1")
    combine([changed(sums[0], 9, 5), sums[1]])  # a level with noise


@pytest.mark.parametrize("wrong", [None, 7, "sum", "sums"])
def test_what_is_no_sum_or_no_bytes(wrong):
    server = Server(SECURE)
    uses = [
        lambda: combine(wrong),
        lambda: release(wrong),
        lambda: agree(wrong),
        lambda: server.settle(wrong),
        lambda: server.settle([wrong]),
        lambda: server.add(wrong),
        lambda: Server.from_bytes(wrong, SECURE),
        lambda: PartialSum.from_bytes(wrong, SECURE),
        lambda: Server.from_bytes(server.to_bytes(), wrong),
        lambda: PartialSum.from_bytes(b"", wrong),
        lambda: storage.opened(b"DPCS", wrong),
    ]
    for use in uses:
        with pytest.raises(DtypeError):
            use()


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": None},
        {"totals": None},
        {"totals": [0] * 8},
        {"totals": np.zeros(7, np.uint64)},
        {"totals": np.zeros(1, np.uint64)},  # would be added to all
        {"totals": np.zeros((1, 8), np.uint64)},
        {"totals": np.zeros(8, np.int64)},
        {"totals": np.zeros(8)},
        {"reports": "20"},
        {"reports": None},
        {"by_level": None},
        {"by_level": ("1",)},
    ],
    ids=str,
)
def test_sums_made_by_hand_hold_what_sums_hold(wrong):
    good = sums_of(SECURE, 20)
    for sums in ([good[0], replace(good[1], **wrong)], [replace(good[0], **wrong), good[1]]):
        for take in (combine, release):
            with pytest.raises(DtypeError, match="sums"):
                take(sums)


def test_one_id_is_not_several():
    with pytest.raises(DtypeError, match="ids"):
        Server(SECURE).settle(bytes(16))


def test_sums_that_do_not_belong_together():
    sums = sums_of(NOISY, 20)
    few = [replace(part, reports=1, totals=part.totals) for part in sums]
    for use, error, words in (
        (lambda: combine([]), RoundError, "no sums"),
        (lambda: combine(sums[0]), RoundError, "1 sums for 2"),
        (lambda: combine([*sums, sums[0]]), RoundError, "3 sums for 2"),
        (lambda: combine([sums[0], sums_of(SECURE, 20)[1]]), RoundError, "different"),
        (lambda: combine([sums[0], sums[0].to_bytes()]), DtypeError, "sums"),
        (lambda: combine(few), RoundError, "1 report,"),
        (lambda: release(sums, dp.Grid.uniform(0, 1, 7)), ParameterError, "grid"),
        (lambda: release(sums, isotonic=1), DtypeError, "isotonic"),
        (lambda: release_scores(sums, dp.Grid.uniform(0, 1, 8)), ParameterError, "grid"),
    ):
        with pytest.raises(error, match=words):
            use()
