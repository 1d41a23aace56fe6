"""More than two servers: a table for the last, seeds for the others; nothing but all together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from dpcore.trust import Client, FunctionSharing, Protocol, Server, agree, opened
from dpcore.trust.protocol import wire

RNG = np.random.default_rng
ROUND = bytes(range(16))


def tables_of(cell, size, servers, clients, seed):
    """(servers, clients, size) the shares of the values of one cell's step function."""
    protocol = Protocol(FunctionSharing(1.0, servers=servers), size, ROUND)
    found = np.empty((servers, clients, size), np.uint64)
    rng = RNG(seed)
    for client in range(clients):
        for server, report in enumerate(Client(protocol, rng).report(cell)):
            read = wire.decode(report)
            found[server, client] = wire.share(read.kind, read.payload, size)
    return found


@pytest.mark.parametrize("servers", [3, 4])
@pytest.mark.parametrize("size", [2, 3, 64, 1000, 1024])
def test_shares_add_up_to_the_step(servers, size):
    for cell in {0, 1, size // 2, size - 1}:
        found = tables_of(cell, size, servers, 3, 1).sum(axis=0, dtype=np.uint64)
        np.testing.assert_array_equal(found, np.tile(np.arange(size) >= cell, (3, 1)))


@pytest.mark.sample(1)
@pytest.mark.parametrize("cell", [0, 5, 7])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_all_servers_but_one_have_uniform_words(cell, missing):
    """Whoever is missing: the words that the others have, and the sum of these."""
    found = np.delete(tables_of(cell, 8, 3, 4000, 2), missing, axis=0)
    for words in (*found, found.sum(axis=0, dtype=np.uint64)):
        octets = words.reshape(-1, 8).view(np.uint8).reshape(-1, 8)
        for place in range(8):
            counts = np.bincount(octets[:, place], minlength=256)
            assert chisquare(counts).pvalue > 1e-6
        bits = np.unpackbits(words.view(np.uint8), axis=1).mean(axis=0)
        assert np.all(np.abs(bits - 0.5) < 6 * 0.5 / np.sqrt(4000))


def test_what_servers_but_one_have_is_the_same_for_all_values():
    """From one stream of random numbers: only the last server's table depends on the value."""
    first, other = (tables_of(cell, 64, 4, 20, 3) for cell in (2, 60))
    np.testing.assert_array_equal(first[:-1], other[:-1])
    changed = (first[-1] - other[-1]).view(np.int64)
    np.testing.assert_array_equal(changed, np.tile(_between(2, 60, 64), (20, 1)))


def _between(low, high, size):
    cells = np.arange(size)
    return ((cells >= low) & (cells < high)).astype(np.int64)


def test_counts_are_exact_at_all_of_many_cells():
    size = 1024
    cells = RNG(4).integers(0, size, 50)
    protocol = Protocol(FunctionSharing(10_000.0, servers=3), size, ROUND)
    servers = [Server(protocol, place=place) for place in range(3)]
    for cell in cells:
        for server, report in zip(servers, Client(protocol).report(int(cell)), strict=True):
            server.add(report)
    agree(servers)
    found = opened([server.answer(np.arange(size)) for server in servers])
    np.testing.assert_array_equal(found.counts, np.cumsum(np.bincount(cells, minlength=size)))
