"""Reports as bytes: what is written is read back, and whatever is wrong is refused by its name."""

from __future__ import annotations

import contextlib
import hmac
import json
import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import DpcoreError, DtypeError, FormatError, ParameterError
from dpcore.mechanisms import NoNoise
from dpcore.trust import (
    Client,
    DistributedNoise,
    Local,
    Protocol,
    ReportError,
    RoundError,
    SecureAggregation,
    Server,
    release,
)
from dpcore.trust.models import levels
from dpcore.trust.protocol import storage, wire
from dpcore.trust.protocol.wire import REASONS, Report, decode, encode
from tests.trust.rounds import LOCAL, RNG, ROUND, SECURE, resigned
from tests.trust.rounds import refusal as reason_of

NOISY = Protocol(DistributedNoise(1.0, clients=50), 20, ROUND)
PROTOCOLS = [SECURE, NOISY, LOCAL]

# Where the fields of docs/guides/wire.md are, and what a flipped bit in each is refused for.
FIELDS = {
    "magic": range(4),
    "version": range(4, 5),
    "flags": range(6, 8),
    "round": range(8, 24),
    "parameters": range(24, 40),
    "length": range(56, 60),
    "tag": range(60, 92),
}


def one(protocol, kind=None, seed=1):
    """A client's report, of this kind if there is a choice."""
    reports = Client(protocol, RNG(seed)).report(7)
    return next(report for report in reports if kind in (None, report[5]))


KINDS = [(SECURE, 1), (SECURE, 2), (NOISY, 1), (NOISY, 2), (LOCAL, 3)]
kinds = pytest.mark.parametrize(("protocol", "kind"), KINDS)


def refusal(server, report):
    """The reason, after a check that nothing else has changed."""
    before = state(server)
    reason = reason_of(server, report)
    assert state(server) == before
    return reason


def state(server):
    """All of a server's state but how many it refused."""
    twin = Server.from_bytes(server.to_bytes(), server.protocol)
    twin._tally.refused = dict.fromkeys(REASONS, 0)
    return twin.to_bytes()


@given(
    st.sampled_from([1, 2, 3]),
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=16, max_size=16),
    st.binary(max_size=100),
    st.booleans(),
    st.binary(min_size=32, max_size=32),
)
def test_what_is_written_is_read_back(kind, round_id, digest, report_id, payload, simulated, tag):
    report = Report(kind, round_id, digest, report_id, payload, simulated, tag)
    data = encode(report)
    assert decode(data) == decode(bytearray(data)) == decode(memoryview(data)) == report
    assert len(data) == 92 + len(payload)


def test_layout_is_the_documented_one():
    report = Report(2, b"r" * 16, b"d" * 16, b"i" * 16, b"payload", True)
    head = b"DPCR" + bytes([2, 2, 1, 0]) + b"r" * 16 + b"d" * 16 + b"i" * 16 + struct.pack("<I", 7)
    assert encode(report) == head + bytes(32) + b"payload"
    tag = hmac.new(b"k" * 32, head + b"payload", "sha256").digest()
    assert encode(report, b"k" * 32) == head + tag + b"payload"
    key = hmac.new(b"e" * 32, b"dpcore client key" + b"r" * 16 + b"i" * 16, "sha256").digest()
    assert wire.client_key(b"e" * 32, report.round_id, report.report_id) == key


def test_reports_and_states_of_the_first_version_are_refused_by_name():
    report = one(SECURE)
    old = report[:4] + b"\x01" + report[5:60] + report[92:]
    assert refusal(Server(SECURE), old) == "version"
    saved = bytearray(Server(SECURE).to_bytes())
    saved[4] = 1
    with pytest.raises(FormatError, match=r"version 1.*2"):
        Server.from_bytes(bytes(saved), SECURE)


@kinds
def test_every_truncation_is_refused(protocol, kind):
    report, server = one(protocol, kind), Server(protocol)
    for end in range(len(report)):
        assert refusal(server, report[:end]) == "length"
    assert refusal(server, report + b"\0") == "length"
    server.add(report)
    assert (server.accepted, server.refused["length"]) == (1, len(report) + 1)


@kinds
def test_every_flipped_bit_of_the_header_and_every_other_kind_is_refused(protocol, kind):
    report, server = one(protocol, kind), Server(protocol)
    for reason, places in FIELDS.items():
        for bit in range(8 * places.start, 8 * places.stop):
            flipped = bytearray(report)
            flipped[bit // 8] ^= 1 << bit % 8
            simulated = bit == 8 * 6  # a flag that has a meaning, but not this report's
            assert refusal(server, bytes(flipped)) == ("tag" if simulated else reason)
    for at in (40, 55, 92, len(report) - 1):  # the id, and the payload
        flipped = bytearray(report)
        flipped[at] ^= 1
        reasons = {"tag", "payload", "length"} if kind == 3 and at == 92 else {"tag"}
        assert refusal(server, bytes(flipped)) in reasons
    for other in {*range(8), 255} - {kind}:
        changed = report[:5] + bytes([other]) + report[6:]
        both_additive = {kind, other} == {1, 2}
        assert refusal(server, changed) == ("length" if both_additive else "kind")


@settings(max_examples=150)
@given(st.sampled_from(KINDS), st.data())
def test_mangled_reports_are_refused_or_well_formed(which, data):
    protocol, kind = which
    report, server = bytearray(one(protocol, kind)), Server(protocol)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(report) - 1))
        report[at] = data.draw(st.integers(0, 255))
    before = state(server)
    with contextlib.suppress(ReportError):
        server.add(bytes(report))
    assert server.accepted + sum(server.refused.values()) == 1
    if not server.accepted:
        assert state(server) == before
    else:
        read = decode(bytes(report))
        assert (read.round_id, read.digest) == (protocol.round_id, protocol.digest)
        assert server.ids == {read.report_id}


@given(st.binary(max_size=200), st.booleans())
def test_noise_on_the_line_is_refused(data, begins_well):
    with pytest.raises(ReportError):
        Server(NOISY).add(b"DPCR\x02" + data[:100] if begins_well else data)


def test_levels_and_padding_of_local_reports():
    server, report = Server(LOCAL), one(LOCAL)
    last, rest = len(LOCAL.branching), decode(report).payload[1:]
    assert LOCAL.level_size(last) == 20
    for level in [0, last + 1, 255]:
        assert refusal(server, resigned(report, payload=bytes([level]) + rest)) == "payload"
    for payload in (b"", bytes([last, 0, 0])):
        assert refusal(server, resigned(report, payload=payload)) == "length"
    for bit in range(8):
        payload = bytes([last, 0, 0, 1 << bit])
        sent = resigned(report, payload=payload, report_id=bytes([bit]) * 16)
        if bit < 4:
            server.add(sent)
        else:
            assert refusal(server, sent) == "payload"


def test_reports_of_subsets_have_their_number_of_ones():
    protocol = Protocol(Local(3.0, clients=9, branching=(8,)), 8, ROUND)
    assert protocol.trust.encodings(8)[0].chosen == 1
    server, report = Server(protocol), one(protocol)
    for bits in (0, 0b11, 0b10010000):
        assert refusal(server, resigned(report, payload=bytes([1, bits]))) == "payload"
    server.add(report)
    part = server.close()
    assert release(part).n == 1
    with pytest.raises(RoundError, match="have not 1 ones for each report"):
        release(replace(part, totals=np.zeros_like(part.totals)))


def test_how_levels_are_encoded_is_part_of_the_parameters(monkeypatch):
    trust = Local(3.0, clients=9, branching=(8,))
    subsets = Protocol(trust, 8, ROUND)
    assert json.loads(subsets.parameters())["ones"] == [1]
    monkeypatch.setattr(levels, "_WORTH", 0.0)  # as another version may choose
    levels._level.cache_clear()
    bits = Protocol(trust, 8, ROUND)
    levels._level.cache_clear()
    assert (bits.branching, bits.asked) == (subsets.branching, subsets.asked)
    assert bits.digest != subsets.digest
    assert refusal(Server(subsets), one(bits)) == "parameters"


def test_messages_quote_nothing_of_the_payload():
    report = Report(1, ROUND, SECURE.digest, bytes(16), b"\xc3SECRET\xc3")
    assert "SECRET" not in repr(report)
    with pytest.raises(ReportError) as raised:
        Server(SECURE).add(encode(report))
    assert "SECRET" not in str(raised.value)
    assert isinstance(raised.value, DpcoreError)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("report", ["DPCR", None, 7, [1, 2]])
def test_what_is_not_bytes_is_refused(report):
    server = Server(SECURE)
    with pytest.raises(DtypeError, match="report"):
        server.add(report)
    assert not any(server.refused.values())


def test_seeds_expand_by_aes_in_counter_mode():
    seed = bytes(range(32))
    stream = Cipher(algorithms.AES(seed), modes.CTR(bytes(16))).encryptor().update(bytes(80))
    expected = [int.from_bytes(stream[i : i + 8], "little") for i in range(0, 80, 8)]
    assert wire.expanded(seed, 10).tolist() == expected
    # Without the mode: the first words are the encryption of a block of zeros.
    block = Cipher(algorithms.AES(seed), modes.ECB()).encryptor().update(bytes(16))
    assert stream[:16] == block


# --- what a protocol is


def test_digest_tells_parameters_apart():
    trusts = [
        SecureAggregation(),
        SecureAggregation(3),
        SecureAggregation(records=2),
        DistributedNoise(1.0, clients=50),
        DistributedNoise(1.0, clients=51),
        DistributedNoise(1.0, clients=50, records=None),
        DistributedNoise(1.0, clients=50, dropout=0.1),
        DistributedNoise(Fraction(10**17 + 1, 10**17), clients=50),
        DistributedNoise(1.0, clients=50, branching=2),
        DistributedNoise(1.0, clients=50, branching=(4, 5), budgets=(1.0, 2.0)),
        DistributedNoise(1.0, clients=50, branching=(4, 5), budgets=(1.0, 2.0000001)),
        Local(1.0, clients=50),
        Local(2.0, clients=50),
        Local(1.0, clients=50, branching=2),
    ]
    protocols = [
        Protocol(trust, size, ROUND, empty=size if trust.records == 2 else None)
        for trust in trusts
        for size in (20, 19)
    ]
    protocols.append(Protocol(DistributedNoise(1.0, clients=50), 20, ROUND, servers=3))
    protocols.append(Protocol(SecureAggregation(), 20, ROUND, empty=10))
    protocols.append(Protocol(SecureAggregation(), 20, ROUND, empty=20))
    assert len({protocol.digest for protocol in protocols}) == len(protocols)
    for protocol in protocols:
        assert protocol.parameters() == replace(protocol).parameters()


def test_who_reports_is_not_part_of_the_parameters():
    trust = DistributedNoise(1.0, clients=50, dropout=0.2)
    late = Protocol(replace(trust, reporting=45), 20, ROUND)
    assert late == Protocol(trust, 20, ROUND)
    assert late.least_reports == 40


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_reports_of_other_rounds_and_parameters_are_refused(protocol):
    server = Server(protocol)
    assert refusal(server, one(replace(protocol, round_id=bytes(16)))) == "round"
    assert refusal(server, one(replace(protocol, size=19))) == "parameters"


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: Protocol(NoNoise(), 20, ROUND), DtypeError, "trust"),
        (lambda: replace(SECURE, size=1), ParameterError, "size"),
        (lambda: replace(SECURE, size=20.0), DtypeError, "size"),
        (lambda: replace(SECURE, round_id="0" * 16), DtypeError, "round_id"),
        (lambda: replace(SECURE, round_id=bytes(15)), ParameterError, "round_id"),
        (lambda: replace(SECURE, servers=3), ParameterError, "servers"),
        (lambda: replace(NOISY, servers=1), ParameterError, "servers"),
        (lambda: replace(LOCAL, servers=2), ParameterError, "servers"),
        (lambda: replace(SECURE, enrolled=1), DtypeError, "enrolled"),
    ],
)
def test_wrong_protocols_are_refused(make, error, name):
    with pytest.raises(error, match=name):
        make()


# --- what is kept and exchanged


def test_sealed_content_is_opened_or_refused():
    data = storage.sealed(b"DPCS", b"body")
    assert storage.opened(b"DPCS", data) == b"body"
    for end in range(len(data)):
        with pytest.raises(FormatError):
            storage.opened(b"DPCS", data[:end])
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            storage.opened(b"DPCS", bytes(flipped))
