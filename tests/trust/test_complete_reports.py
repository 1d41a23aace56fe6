"""Rounds with one server: cells in plain for a curator, and outputs of square waves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

import dpcore as dp
from dpcore.errors import FormatError, ParameterError
from dpcore.noise.sources import KeyedSource, source
from dpcore.trust import (
    Central,
    Client,
    Protocol,
    RoundError,
    Server,
    SquareWave,
    combine,
    release,
    release_scores,
)
from dpcore.trust.protocol import wire
from tests.trust.rounds import CURATED, RNG, ROUND, WAVE, filled, refusal, reports_of, resigned

CELLS = np.arange(60) % 20 // 2
COUNTS = np.bincount(CELLS, minlength=20)


def curated(protocol, cells=CELLS, rng=None):
    server = Server(protocol, rng=rng)
    for (report,) in reports_of(protocol, cells):
        server.add(report)
    return server


# --- Central


def test_a_curator_releases_what_the_mechanism_would_with_its_key():
    server = curated(CURATED)
    secret = server._tally.memory
    key = secret.key(b"".join(CURATED.key) + CURATED.round._of_tree())
    expected = np.empty((1, 20))
    CURATED.trust._prepared(COUNTS).fill(expected, KeyedSource(key))
    part = server.close()
    np.testing.assert_array_equal(combine(part), expected[0])
    curve = release(part, isotonic=False)
    np.testing.assert_array_equal(curve.counts, expected[0])
    assert (curve.n, curve.privacy.epsilon) == (60, 1.0)
    np.testing.assert_array_equal(curve.noise_deviation, Central(1.0).noise_deviation(20))


def test_a_curator_gives_away_the_same_again_and_other_noise_for_other_reports():
    server = curated(CURATED)
    saved = server.to_bytes()
    first = combine(server.close())
    np.testing.assert_array_equal(combine(server.close()), first)
    again = Server.from_bytes(saved, CURATED)
    np.testing.assert_array_equal(combine(again.close()), first)
    more = Server.from_bytes(saved, CURATED)
    more.add(Client(CURATED).report(19)[0])
    assert np.count_nonzero(combine(more.close())[:-1] - first[:-1]) > 9
    other = combine(curated(CURATED).close())  # another secret
    assert np.count_nonzero(other[:-1] - first[:-1]) > 9


def test_a_curator_with_another_tree_has_other_random_words(monkeypatch):
    """In a later version "auto" may stand for another tree, and files stay."""
    saved, keys = curated(CURATED).to_bytes(), []

    def kept(key, *, simulated):
        keys.append(key)
        return KeyedSource(key, simulated=simulated)

    monkeypatch.setattr("dpcore.trust.models.central.KeyedSource", kept)
    for branching in (None, None, (5, 4)):
        if branching is not None:
            other = dp.mechanisms.Hierarchy(1.0, branching=branching)
            monkeypatch.setattr(Central, "_hierarchy", lambda self, own=other: own)
        Server.from_bytes(saved, CURATED).close()
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.needs_jit
def test_the_noise_of_a_curator_has_the_deviation_of_the_model():
    of = Protocol(Central(0.5), 8, ROUND).round
    totals = np.bincount([1, 5], minlength=8).astype(np.uint64)
    secrets = (of.memory(None, source(RNG(seed))) for seed in range(2000))
    released = [of.numbers(of.given(totals, secret, b"", True)) for secret in secrets]
    expected = Central(0.5).noise_deviation(8)
    errors = np.std(np.array(released) - np.cumsum(np.bincount([1, 5], minlength=8)), axis=0)
    np.testing.assert_allclose(errors, expected, rtol=0.1)


def test_a_curator_is_sent_all_records_that_count():
    protocol = Protocol(Central(40.0, records=3), 8, ROUND, empty=8)
    server = Server(protocol)
    for seed, cells in enumerate(([], [1], [2, 2, 7, 7, 7], [0, 0, 0])):
        server.add(Client(protocol, RNG(seed)).report(np.array(cells, int))[0])
    part = server.close()
    assert combine(part)[-1] == 12
    curve = release(part)
    assert curve.privacy == dp.Privacy(40.0, neighbours="replace-client", simulated=True)
    assert 6 <= curve.n <= 8


def test_a_seeded_curator_is_a_study_and_an_exact_budget_is_part_of_the_round():
    assert release(curated(CURATED, rng=RNG(1)).close()).privacy.simulated
    budgets = [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1, "delta": 1e-9}]
    budgets += [{"epsilon": 1 + Fraction(1, 2**60)}]
    digests = {Protocol(Central(**budget), 20, ROUND).digest for budget in budgets}
    assert len(digests) == 4
    with pytest.raises(ParameterError, match="place"):
        Server(CURATED, place=0)
    with pytest.raises(ParameterError, match="rng"):
        Server(WAVE, rng=RNG(1))


@pytest.mark.parametrize(
    "budget", [np.float32(0.1), np.longdouble("0.1"), np.int8(2), Fraction(1, 3)]
)
def test_a_curator_takes_each_type_of_budget_in_a_round(budget):
    for trust in (dp.trust.Central(budget), dp.trust.Central(rho=budget)):
        exact = dp.trust.Protocol(trust, 8, ROUND).round.exact
        assert dp.Privacy(float(Fraction(exact.replace("-", "").strip()))).epsilon >= 0.1
    delta = np.float32(1e-6)
    exact = dp.trust.Protocol(dp.trust.Central(budget, delta=delta), 8, ROUND).round.exact
    assert Fraction(exact.split()[2]) == Fraction(float(delta))


def test_classes_of_scores_by_a_curator():
    grid = dp.Grid.uniform(0, 1, 10)
    curves = release_scores(curated(Protocol(Central(40.0), 20, ROUND)).close(), grid)
    assert curves.negatives[-1] + curves.positives[-1] == 60


# --- SquareWave


@pytest.mark.needs_jit
@pytest.mark.parametrize("trust", [SquareWave(1.0, 9), SquareWave(3.0, 9, resolution=5)])
def test_each_report_has_the_law_of_the_model(trust):
    """The audit of the reports themselves: all outputs, of two cells."""
    of, encoding = Protocol(trust, 8, ROUND).round, trust.encoding(8)
    p, q = map(float, encoding.probabilities)
    assert p / q <= np.exp(float(trust.epsilon)) * (1 + 1e-12)
    runs = np.searchsorted(trust.edges(8), [0, 6], side="right") - 1
    for cell, run in zip([0, 6], runs, strict=True):
        stream = source(RNG(cell))
        counts = np.zeros(encoding.outputs, np.int64)
        for _ in range(20_000):
            (payload,) = of.report(np.array([cell]), np.ones(1, int), stream)
            counts[int.from_bytes(payload, "little")] += 1
        law = np.full(encoding.outputs, q)
        law[run : run + encoding.near] = p
        assert chisquare(counts, 20_000 * law).pvalue > 1e-4


def test_a_square_wave_round_reconstructs_what_the_model_does():
    cells = np.clip(RNG(1).normal(10, 3, 3000), 0, 19).astype(int)
    protocol = Protocol(SquareWave(2.0, clients=10), 20, ROUND)
    (server,) = filled(protocol, reports_of(protocol, cells))
    part = server.close()
    curve = release(part)
    assert (curve.n, curve.mechanism["clients"]) == (3000, 3000)
    encoding = protocol.trust.encoding(20)
    shares = encoding.reconstruct(combine(part))
    np.testing.assert_allclose(curve.counts, 3000 * np.cumsum(shares), atol=1e-6)
    exact = np.cumsum(np.bincount(cells, minlength=20))
    assert np.abs(curve.counts - exact).max() < 250


def test_neighbouring_cells_are_on_one_line():
    with pytest.raises(ParameterError, match="empty"):
        Protocol(SquareWave(1.0, 9), 20, ROUND, empty=20)
    (server,) = filled(WAVE, reports_of(WAVE, [3, 4]))
    with pytest.raises(ParameterError, match="sums"):
        release_scores(server.close(), dp.Grid.uniform(0, 1, 10))


# --- both


@pytest.mark.parametrize("protocol", [CURATED, WAVE])
def test_what_no_client_sends_is_refused(protocol):
    server, (report,) = Server(protocol), Client(protocol).report(3)
    words = protocol.words
    assert refusal(server, resigned(report, payload=int(words).to_bytes(8, "little"))) == "payload"
    assert refusal(server, resigned(report, payload=b"\xff" * 8)) == "payload"
    assert refusal(server, resigned(report, payload=bytes(16))) == "length"
    assert refusal(server, resigned(report, kind=wire.BITS)) == "kind"
    server.add(resigned(report, payload=int(words - 1).to_bytes(8, "little")))


def test_impossible_sums_release_nothing():
    part = curated(CURATED).close()
    released = combine(part)
    for wrong in (np.append(released[:-1], 61.0), np.full(20, np.nan), np.zeros(20)):
        with pytest.raises(RoundError, match="number of records"):
            combine(replace(part, totals=wrong.view(np.uint64)))
    (server,) = filled(WAVE, reports_of(WAVE, [3, 4]))
    part = server.close()
    for wrong in (np.zeros_like(part.totals), 2 * part.totals, np.full_like(part.totals, 2**63)):
        with pytest.raises(RoundError):
            combine(replace(part, totals=wrong))


@pytest.mark.parametrize("protocol", [CURATED, WAVE])
def test_files_that_are_cut_or_of_others_are_refused(protocol):
    from dpcore.trust.protocol import storage

    body = storage.opened(b"DPCS", curated(protocol, [1, 2]).to_bytes())
    for end in (8, 40, len(body) - 1):
        with pytest.raises(FormatError):
            Server.from_bytes(storage.sealed(b"DPCS", body[:end]), protocol)
    waiting = bytearray(body)
    waiting[33 + 24] = 1  # the number of seeds that wait, in a round in which nothing waits
    with pytest.raises(FormatError, match="wait"):
        Server.from_bytes(storage.sealed(b"DPCS", bytes(waiting)), protocol)
