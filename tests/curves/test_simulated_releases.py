"""Simulated releases of a released curve: what they see of a mechanism's error, and what not."""

from __future__ import annotations

import numpy as np

import dpcore as dp
from dpcore.curves.simulated_releases import Simulation, root_mean_square_errors
from dpcore.mechanisms import Hierarchy

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 512)


def test_curves_of_any_size_are_simulated_in_blocks(monkeypatch):
    from dpcore.curves import simulated_releases

    curve = dp.cdf(RNG(1).random(99), GRID, epsilon=1.0, rng=RNG(2))
    mechanism = dp.mechanisms.from_curve(curve)
    sizes = []

    def read(counts):
        sizes.append(len(counts))
        return counts[:, 255]

    monkeypatch.setattr(simulated_releases, "_BLOCK", 3 * 512)
    found = root_mean_square_errors([Simulation(curve, mechanism)], read, replicates=10)
    assert sizes == [1, 3, 3, 3, 1]  # first the truth
    assert found.shape == ()
    assert found > 0.0


def test_releases_are_processed_as_the_curve_was():
    seen = []

    def read(counts):
        seen.append(counts.copy())
        return counts

    for neighbours in ("replace-one", "add-or-remove-one"):
        for isotonic in (False, True):
            tree = Hierarchy(0.5, neighbours=neighbours)
            curve = dp.cdf([0.2, 0.7] * 9, GRID, tree, isotonic=isotonic, rng=RNG(3))
            seen.clear()
            mechanism = dp.mechanisms.from_curve(curve)
            root_mean_square_errors([Simulation(curve, mechanism)], read, replicates=4)
            truth, releases = seen
            assert np.all(np.diff(truth) >= 0.0)
            assert np.array_equal(truth, np.rint(truth))
            assert np.all(np.diff(releases) >= 0.0) == isotonic
            assert np.all(releases[:, -1] == curve.n) == (neighbours == "replace-one")
