"""Clients are dealt out to levels exactly, from secret bits."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpcore as dp
from dpcore.kernels.clients import dealing as kernels
from dpcore.noise import windows
from dpcore.noise.sources import CryptographicSource, source
from dpcore.trust import Local
from dpcore.trust.models.dealing import dealt, dealt_exactly
from tests import reference
from tests.trust.rounds import RNG


def seeded(seed):
    return source(RNG(seed))


def plainly(words, counts, asked):
    """One client after the other draws a place from all that are left."""
    stream, parts = iter(words), np.zeros((len(asked), len(counts)), np.int64)
    urn = [kind for kind, places in enumerate(asked) for _ in range(places)]
    for cell, number in enumerate(counts):
        for _ in range(number):
            parts[urn.pop(reference.uniform(stream, len(urn))), cell] += 1
    return parts


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.lists(st.integers(0, 6), min_size=1, max_size=6),
    st.integers(1, 4),
    st.data(),
)
def test_the_kernel_is_the_plain_algorithm_whatever_the_windows(seed, counts, kinds, data):
    total = sum(counts)
    cuts = sorted(data.draw(st.integers(0, total)) for _ in range(kinds - 1))
    asked = np.diff([0, *cuts, total])
    words = RNG(seed).integers(0, 2**32, 4 * total + 8, dtype=np.uint32)
    people, places = np.array(counts), asked.copy()
    parts, cell, start, end = np.zeros((kinds, len(counts)), np.int64), 0, 0, 0
    while cell < len(counts):
        end += data.draw(st.integers(0, 5))
        cell, used = kernels.deal(words[start:end], people, places, parts, cell)
        start += used
    assert np.array_equal(parts, plainly(words.tolist(), counts, asked))
    assert not people.any()
    assert not places.any()


def test_windows_do_not_matter(monkeypatch):
    counts, asked = np.array([40, 0, 300, 7]), np.array([200, 100, 47])
    whole = dealt_exactly(counts, asked, seeded(3))
    monkeypatch.setattr(windows, "WINDOW", 3)
    assert np.array_equal(dealt_exactly(counts, asked, seeded(3)), whole)
    assert [part.sum() for part in whole] == asked.tolist()
    assert np.array_equal(np.sum(whole, axis=0), counts)
    assert counts.tolist() == [40, 0, 300, 7]


def tables(counts, asked):
    """All ways to divide counts, with their probabilities: multivariate hypergeometric."""
    columns = [
        [column for column in product(range(n + 1), repeat=len(asked)) if sum(column) == n]
        for n in counts
    ]
    whole = factorial(sum(asked)) // prod(map(factorial, asked))
    for table in product(*columns):
        if all(
            sum(row) == places for row, places in zip(zip(*table, strict=True), asked, strict=True)
        ):
            ways = prod(
                factorial(n) // prod(map(factorial, column))
                for n, column in zip(counts, table, strict=True)
            )
            yield table, ways / whole


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("exact", [True, False])
def test_the_law(exact):
    counts, asked = [3, 1, 4], [4, 2, 2]
    law = dict(tables(counts, asked))
    assert sum(law.values()) == pytest.approx(1)
    stream, seen = seeded(5), dict.fromkeys(law, 0)
    deal = dealt_exactly if exact else dealt
    for _ in range(10_000):
        parts = deal(np.array(counts), np.array(asked), stream)
        seen[tuple(zip(*(part.tolist() for part in parts), strict=True))] += 1
    expected = 10_000 * np.array(list(law.values()))
    assert chisquare(list(seen.values()), expected).pvalue > 1e-6


def test_releases_take_no_generator_of_numpys(monkeypatch):
    def refuse(*_):
        raise AssertionError("a release draws from NumPy's generators")

    monkeypatch.setattr(np.random, "default_rng", refuse)
    counts = np.array([30, 50, 20, 100])
    trust = Local(4.0, clients=200, branching=2)
    assert trust.release(counts)[-1] == 200
    assert dp.cdf_from_counts(counts, dp.Grid.uniform(0, 1, 4), trust).n == 200


@pytest.mark.needs_jit
def test_many_clients_in_many_cells():
    rng = RNG(1)
    counts = rng.multinomial(10**6, rng.dirichlet(np.ones(4096)))
    asked = np.array([500_000, 300_000, 200_000])
    parts = dealt_exactly(counts, asked, CryptographicSource())
    assert [part.sum() for part in parts] == asked.tolist()
    assert np.array_equal(np.sum(parts, axis=0), counts)
    wide = counts > 20  # hypergeometric, but for what is drawn from so many
    scores = (parts[0] - counts / 2)[wide] / np.sqrt(counts[wide] / 4)
    assert abs(np.mean(scores**2) - 1) < 7 * np.sqrt(2 / wide.sum())
