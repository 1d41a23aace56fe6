"""What a round releases: curves with the noise and the law that the mechanisms state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpcore as dp
from dpcore.noise.sources import GeneratorSource, source
from dpcore.trust import (
    Client,
    DistributedNoise,
    Local,
    Protocol,
    RoundError,
    SecureAggregation,
    Server,
    UnaryEncoding,
    agree,
    cell_of,
    combine,
    release,
    release_scores,
)
from dpcore.trust.protocol.wire import decode
from tests.trust.rounds import LOCAL, NOISY, RNG, ROUND, closed, filled, reports_of, settled


def counts_of(protocol, seed, cell):
    """What a client's report is made of, before it is split."""
    rng = RNG(seed)
    return protocol.round.vector(np.array([cell]), np.ones(1, int), source(rng))


# --- the law of what is released


@pytest.mark.needs_jit
def test_distributed_noise_has_the_variance_that_is_stated():
    protocol = Protocol(DistributedNoise(1.0, clients=20, dropout=0.25, branching=4), 16, ROUND)
    rng, rounds = RNG(11), 200
    errors, nodes = np.empty((rounds, 15)), np.empty((rounds, protocol.words))
    cells = np.arange(18) % 16
    truth = np.cumsum(np.bincount(cells, minlength=16))
    for i in range(rounds):
        servers = filled(protocol, [Client(protocol, rng).report(int(cell)) for cell in cells])
        agree(servers)
        sums = closed(servers)
        nodes[i] = combine(sums)
        curve = release(sums, isotonic=False)
        errors[i] = (curve.counts - truth)[:-1]
    # A discrete Laplace sum has a kurtosis near 6, that of 18 of 15 shares somewhat less.
    tolerance = 5 * np.sqrt(5 / rounds)
    expected = curve.noise_deviation[:-1] ** 2
    assert np.mean(errors**2, axis=0) == pytest.approx(expected, rel=tolerance)
    assert np.mean(np.mean(errors**2, axis=0) / expected) == pytest.approx(1, abs=0.2)
    tree = protocol.trust.tree(16)
    for level, law in enumerate(tree.laws):
        part = nodes[:, tree.starts[level] : tree.starts[level + 1]]
        stated = 0.0 if law is None else 18 / 15 * law.variance
        assert part.var(axis=0).mean() == pytest.approx(stated, rel=0.25)


def test_local_totals_are_those_of_the_encoding():
    rows = {level: [] for level in range(1, len(LOCAL.asked) + 1)}
    reports = reports_of(LOCAL, np.arange(50) % 20)
    for (report,) in reports:
        payload = decode(report).payload
        padded = payload[1:] + bytes(-(len(payload) - 1) % 8)
        rows[payload[0]].append(np.frombuffer(padded, "<u8").astype(np.uint64))
    part = filled(LOCAL, reports)[0].close()
    assert part.by_level == tuple(map(len, rows.values()))
    for level, bits in rows.items():
        totals = part.totals[LOCAL.starts[level] : LOCAL.starts[level + 1]]
        if bits:
            expected = UnaryEncoding(1.0).totals(np.array(bits), LOCAL.level_size(level))
            assert np.array_equal(totals, expected)


@pytest.mark.needs_jit
def test_levels_are_drawn_in_proportion():
    protocol = Protocol(Local(1.0, clients=1000, branching=(2, 5, 4)), 40, ROUND)
    (server,) = filled(protocol, reports_of(protocol, np.zeros(1000)))
    assert len(protocol.asked) == 3
    assert chisquare(server.close().by_level, protocol.asked).pvalue > 1e-4


def test_a_level_that_nobody_reported_is_not_used():
    protocol = Protocol(Local(8.0, clients=50, branching=2), 8, ROUND)
    rows = reports_of(protocol, np.zeros(200), seed=4)
    (server,) = filled(protocol, [row for row in rows if decode(row[0]).payload[0] != 2])
    part = server.close()
    assert part.by_level[1] == 0
    curve = release(part, isotonic=False)
    assert np.all(np.isfinite(curve.counts))
    assert abs(curve.counts[0] / part.reports - 1) < 0.5


def test_rounds_with_fewer_reports_than_levels_stay_open():
    """They used to be closed, once and for all, and then could not be released."""
    protocol = Protocol(Local(1.0, clients=50, branching=2), 8, ROUND)
    server = Server(protocol)
    rows = reports_of(protocol, np.zeros(40), seed=4)
    for (report,) in [row for row in rows if decode(row[0]).payload[0] == 3][:2]:
        with pytest.raises(RoundError, match="3 are needed"):
            server.close()
        server.add(report)
    with pytest.raises(RoundError, match=r"2 .* 3 are needed"):
        server.close()
    assert not server.is_closed
    server.add(next(row[0] for row in rows if decode(row[0]).payload[0] == 2))
    assert release(server.close()).n == 3
    (server,) = filled(protocol, [row for row in rows if decode(row[0]).payload[0] < 3])
    with pytest.raises(RoundError, match="cells"):
        server.close()


def test_levels_without_noise_are_not_told():
    counts = counts_of(NOISY, 1, 7)
    assert counts[0] == 1  # the root is no secret: it has no noise
    hidden = (NOISY.noise[0], None, *NOISY.noise[2:])
    protocol = replace(NOISY)
    protocol.round.noise = hidden
    assert not np.any(counts_of(protocol, 1, 7)[protocol.starts[1] : protocol.starts[2]])


@settings(max_examples=30)
@given(st.integers(2, 300), st.integers(2, 17), st.data())
def test_a_record_is_in_one_node_of_each_level(size, branching, data):
    protocol = Protocol(DistributedNoise(1.0, clients=50, branching=branching), size, ROUND)
    cell = data.draw(st.integers(0, size - 1))
    rng = RNG(1)
    counts, source = counts_of(protocol, 1, cell), GeneratorSource(rng)
    for level, share in enumerate(protocol.noise):
        if share is not None:
            noise = np.empty(protocol.level_size(level), np.int64)
            share.fill(noise, source)
            counts[protocol.starts[level] : protocol.starts[level + 1]] -= noise
    exact = np.zeros(size, np.int64)
    exact[cell] = 1
    expected = protocol.trust.tree(size).node_sums(exact)
    for level, share in enumerate(protocol.noise):
        if share is None and level > 0:  # not counted
            expected[protocol.starts[level] : protocol.starts[level + 1]] = 0
    assert np.array_equal(counts, expected)


# --- scored labels


def test_scored_labels():
    grid = dp.Grid.uniform(0, 1, 10)
    rng = RNG(3)
    y_true, y_score = rng.random(60) < 0.4, rng.random(60)
    protocol = Protocol(SecureAggregation(), 20, ROUND)
    servers = settled(protocol, cell_of(y_score, grid, y_true))
    curves = release_scores(closed(servers), grid)
    exact = dp.score_curves(y_true, y_score, grid, dp.mechanisms.NoNoise())
    assert np.array_equal(curves.negatives, exact.negatives)
    assert np.array_equal(curves.positives, exact.positives)


def test_sums_that_are_opened_twice_are_one_release():
    protocol = Protocol(DistributedNoise(1.0, clients=40), 8, ROUND)
    servers = filled(protocol, [Client(protocol).report(cell % 8) for cell in range(40)])
    agree(servers)
    sums = closed(servers)
    first, second = release(sums), release(sums[::-1])
    with pytest.raises(dp.ParameterError, match="release of its own"):
        dp.average([first, second])
    other = replace(protocol, round_id=bytes(15) + b"b")
    servers = filled(other, [Client(other).report(cell % 8) for cell in range(40)])
    agree(servers)
    assert dp.average([first, release(closed(servers))]).n == 40
