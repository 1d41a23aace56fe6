"""Releases that tests charge: short ones, and long ones that are used again and again."""

from __future__ import annotations

import numpy as np

import dpcore as dp

GRID = dp.Grid.uniform(0, 1, 16)
RNG = np.random.default_rng(1)
X = RNG.random(2000)
Y = RNG.random(2000) < X
COUNTS = GRID.count(X)


def released(epsilon=1.0):
    return dp.cdf(X, GRID, epsilon=epsilon)


# --- made, and then used by calling what is returned


def counter():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    return lambda: made.add(5)


def extended():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    return lambda: made.extend([5, 6])


def summed():
    made = dp.trust.SimulatedSum(COUNTS, dp.trust.DistributedNoise(1.0, clients=X.size))
    return lambda: made.sum([3, 4])


def asked():
    made = dp.trust.SimulatedSum(COUNTS, dp.trust.FunctionSharing(1.0))
    curve, points = dp.trust.PointwiseCDF(made, GRID), iter([0.25, 0.5, 0.75])
    return lambda: curve(next(points))
