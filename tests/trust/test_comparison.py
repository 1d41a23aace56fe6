"""Comparison functions: exact when added up, and bit for bit what the plain reference says."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.trust import comparison
from dpcore.trust.comparison.generation import keys_from_seeds
from tests import reference


def reached(values, thresholds):
    """Which values are at most which thresholds."""
    return (np.asarray(values)[:, None] <= np.asarray(thresholds)).astype(np.uint64)


def integers(blocks):
    """(n, 2) words as integers of 128 bits."""
    return [int(low) + 2**64 * int(high) for low, high in blocks]


MANY = [pytest.param(bits, marks=pytest.mark.needs_jit) for bits in range(7, 11)]


@pytest.mark.parametrize("bits", [*range(1, 7), *MANY])
def test_shares_add_up_to_the_comparison_for_all_values_and_thresholds(bits):
    values = np.arange(2**bits)
    first, second = comparison.gen(values, bits)
    exact = reached(values, values)
    assert np.array_equal(comparison.evaluate(first) + comparison.evaluate(second), exact)
    sums = comparison.evaluate_sum(first) + comparison.evaluate_sum(second)
    assert np.array_equal(sums, np.arange(1, 2**bits + 1, dtype=np.uint64))
    thresholds = np.random.default_rng(bits).integers(0, 2**bits, 9)
    some = comparison.evaluate(first, thresholds) + comparison.evaluate(second, thresholds)
    assert np.array_equal(some, exact[:, thresholds])


@pytest.mark.parametrize("bits", [16, 32])
def test_shares_add_up_around_the_values(bits):
    rng = np.random.default_rng(bits)
    most = 2**bits - 1
    values = np.array([0, 1, most - 1, most, *rng.integers(2, most - 1, 20)])
    thresholds = np.concatenate([values - 1, values, values + 1, [0, most]]).clip(0, most)
    first, second = comparison.gen(values, bits)
    shares = comparison.evaluate(first, thresholds) + comparison.evaluate(second, thresholds)
    assert np.array_equal(shares, reached(values, thresholds))
    sums = comparison.evaluate_sum(first, thresholds) + comparison.evaluate_sum(second, thresholds)
    assert np.array_equal(sums, reached(values, thresholds).sum(axis=0, dtype=np.uint64))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 9, 16, 32])
def test_keys_and_shares_are_the_references_bit_for_bit(bits):
    rng = np.random.default_rng(bits)
    values = np.array([0, 2**bits - 1, *rng.integers(0, 2**bits, 5)], np.uint64)
    seeds = rng.integers(0, 2**64, (2, values.size, 2), dtype=np.uint64)
    roots = list(zip(integers(seeds[0]), integers(seeds[1]), strict=True))
    both = keys_from_seeds(values, seeds, bits)
    plain = [reference.comparison_keys(int(v), bits, r) for v, r in zip(values, roots, strict=True)]
    thresholds = [0, 2**bits - 1, int(values[-1]), *rng.integers(0, 2**bits, 4).tolist()]
    for party, keys in enumerate(both):
        words = [pair[party] for pair in plain]
        assert keys.packed.view("<u8").tolist() == words
        shares = [[reference.comparison(party, key, bits, t) for t in thresholds] for key in words]
        assert comparison.evaluate(keys, thresholds).tolist() == shares
        sums = [sum(column) % 2**64 for column in zip(*shares, strict=True)]
        assert comparison.evaluate_sum(keys, thresholds).tolist() == sums
