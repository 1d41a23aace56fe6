"""Hierarchies whose noise is finer than a count: releases, exact and with noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.errors import DtypeError, ParameterError
from dpcore.mechanisms import Hierarchy, Histogram
from dpcore.mechanisms.tree import noisy_nodes
from dpcore.noise.sources import CryptographicSource

FINE = [
    Hierarchy(4.0, delta=1e-6),
    Hierarchy(8.0, 3, "equal", delta=1e-6),
    Hierarchy(4.0, delta=1e-6, neighbours="add-or-remove-one"),
    Histogram(3.0, delta=1e-6),
]


@pytest.mark.parametrize("mechanism", FINE)
def test_releases_are_unbiased_and_as_noisy_as_they_say(mechanism):
    counts, replicates = np.arange(11) * 1000, 20_000
    assert mechanism.tree(11).bits > 0
    curves = mechanism.release(counts, rng=np.random.default_rng(1), replicates=replicates)
    errors, deviations = curves - np.cumsum(counts), mechanism.noise_deviation(11)
    noisy = deviations > 0
    assert np.all(errors[:, ~noisy] == 0.0)
    means = errors[:, noisy].mean(axis=0) / deviations[noisy]
    assert np.abs(means).max() < 6 / math.sqrt(replicates)
    assert errors[:, noisy].std(axis=0) == pytest.approx(deviations[noisy], rel=0.04)


@pytest.mark.parametrize("mechanism", FINE)
def test_noise_is_whole_in_its_units(mechanism):
    tree = mechanism.tree(11)
    nodes = tree.node_sums(np.arange(11) * 1000)
    noisy = noisy_nodes(tree, nodes, 3, CryptographicSource())
    assert noisy.dtype == np.int64
    away = noisy / 2**tree.bits - nodes
    assert np.abs(away[:, tree.starts[1] :]).max() < 20 * math.sqrt(tree.variances[1:].max())
    assert len(set((noisy % 2**tree.bits).reshape(-1))) > 1


@pytest.mark.parametrize("size", [100, 1000])
def test_large_noise_stays_on_whole_counts(size):
    assert Hierarchy(0.1, delta=1e-6).tree(size).bits == 0
    assert Hierarchy(rho=50.0).tree(size).bits == Hierarchy(50.0).tree(size).bits == 0


def test_the_noise_is_kept_when_a_tree_gets_other_cells():
    tree = Hierarchy(4.0, delta=1e-6).tree(50)
    other = tree.resized(60)
    assert other is not None
    assert (other.bits, other.laws) == (tree.bits, tree.laws)


def test_the_cells_of_a_tree_have_a_count_each():
    tree = Hierarchy(1.0, branching=[3, 3]).tree(8)
    assert tree.node_sums(np.arange(8)).tolist() == [28, 3, 12, 13, *range(8)]
    for counts in (np.arange(1), np.arange(7), np.arange(9), np.zeros((8, 1), int)):
        with pytest.raises(ParameterError, match=r"counts must have shape \(8,\)"):
            tree.node_sums(counts)
    with pytest.raises(DtypeError, match="counts must be int64"):
        tree.node_sums(np.full(8, 0.5))
