"""Noise of one density in all directions: its law, and how near it is to the ideal variate."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import gamma, kstest, laplace

from dpcore.models.spherical import longest, relative_error, spherical
from dpcore.noise.sources import GeneratorSource
from tests.reference.models import ideal_spherical

ONES = 2**64 - 1


class Noted:
    """A source that hands out given words first, and notes all."""

    simulated = True

    def __init__(self, given=(), seed=1):
        self.given = iter(given)
        self.rng = np.random.default_rng(seed)
        self.rows = []

    def fill(self, words):
        words[:] = self.rng.integers(0, 2**64, words.size, dtype=np.uint64)
        if (row := next(self.given, None)) is not None:
            words[:] = row
        self.rows.append(words.copy())


def relative_distance(size, stream):
    """How far a draw is from the ideal one, in units of its length and of the bound."""
    drawn = spherical(size, stream)
    ideal = ideal_spherical(stream.rows, size)
    with mp.workdps(60):
        apart = mp.sqrt(
            sum((mp.mpf(d) - i) ** 2 for d, i in zip(drawn.tolist(), ideal, strict=True))
        )
        return float(apart / mp.sqrt(sum(i**2 for i in ideal))) / relative_error(size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_draws_are_near_the_ideal_variate(size):
    assert max(relative_distance(size, Noted(seed=seed)) for seed in range(20)) < 0.25


TOP_ZERO = [ONES] * 7 + [0]  # 2^-64 or so: the last word is the most significant one
TOP_ONES = [0] * 7 + [ONES]
NEAR_HALF = [ONES] * 7 + [2**63 - 1]
DEEP = [5, 1, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_draws_are_near_it_in_the_tails(size):
    """Very long and short ones, and angles near an axis; in one dimension signs are the angle's."""
    edges = [TOP_ZERO, TOP_ONES, NEAR_HALF, DEEP]
    for length, radius, angle in itertools.product(edges, repeat=3):
        given = [length] * size + [radius, angle]
        stream = Noted(given)
        drawn = spherical(size, stream)
        assert np.isfinite(drawn).all()
        assert 0.0 < math.hypot(*drawn) <= longest(size)
        if length is not DEEP or size == 1:  # else it is beyond the longest
            cut = float(mp.sqrt(sum(i**2 for i in ideal_spherical(stream.rows, size))))
            if cut < longest(size):
                assert relative_distance(size, Noted(given)) < 0.25


def test_longer_vectors_are_cut():
    stream = Noted([[0] * 8] * 2)
    assert math.hypot(*spherical(2, stream)) == pytest.approx(longest(2), rel=1e-14)
    assert all(gamma.logsf(longest(size), size) < -180 for size in range(1, 9000, 7))


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_law(size):
    stream = GeneratorSource(np.random.default_rng(2))
    drawn = np.array([spherical(size, stream) for _ in range(4000)])
    lengths = np.linalg.norm(drawn, axis=1)
    assert kstest(lengths, gamma(size).cdf).pvalue > 0.001
    if size == 1:
        assert kstest(drawn[:, 0], laplace.cdf).pvalue > 0.001
    # directions: no mean, equal squares, no products
    directions = drawn / lengths[:, None]
    assert np.abs(directions.mean(axis=0)).max() < 5 / math.sqrt(4000 * size)
    squares = directions.T @ directions / 4000
    assert np.abs(squares - np.eye(size) / size).max() < 5 / math.sqrt(4000) / size
    assert np.mean(directions[:, 0] > 0) == pytest.approx(0.5, abs=5 / 2 / math.sqrt(4000))
    assert abs(np.corrcoef(lengths, directions[:, 0])[0, 1]) < 5 / math.sqrt(4000)


def test_every_quadrant_is_used():
    stream = GeneratorSource(np.random.default_rng(3))
    signs = {tuple(np.sign(spherical(2, stream)).astype(int)) for _ in range(64)}
    assert signs == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
