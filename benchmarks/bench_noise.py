"""Exact noise: 65,535 draws, as many as a tree over 2^15 thresholds needs; and whole trees.

Run: pytest benchmarks/bench_noise.py. Within a group, the figure in brackets is the ratio to the
fastest. "floor" is what the random bits alone cost: four 64-bit words a draw.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

import dpcore as dp
from dpcore.randomness import CryptographicSource

DRAWS, SCALE = 65_535, 15
CELLS, REPLICATES = 2**15, 1000


@pytest.mark.benchmark(group="65,535 discrete Laplace draws")
class TestDraws:
    def test_dpcore_cryptographic(self, measure):
        measure(lambda: dp.noise.discrete_laplace(SCALE, DRAWS), rounds=25)

    def test_dpcore_seeded(self, measure):
        rng = np.random.default_rng(1)
        measure(lambda: dp.noise.discrete_laplace(SCALE, DRAWS, rng), rounds=25)

    def test_opendp(self, measure, peer):
        odp = peer("opendp.prelude")
        odp.enable_features("contrib")
        space = (
            odp.vector_domain(odp.atom_domain(T="i64"), size=DRAWS),
            odp.l1_distance(T="i64"),
        )
        release = space >> odp.m.then_laplace(float(SCALE))
        zeros = [0] * DRAWS
        measure(lambda: release(zeros), rounds=5)

    def test_numpy_geometric_difference_not_exact(self, measure):
        rng = np.random.default_rng(1)
        p = -np.expm1(-1 / SCALE)
        measure(lambda: rng.geometric(p, DRAWS) - rng.geometric(p, DRAWS), rounds=25)

    def test_floor_aes_counter_mode(self, measure):
        words = np.empty(4 * DRAWS, np.uint64)
        source = CryptographicSource()
        measure(lambda: source.fill(words), rounds=25)

    def test_random_bits_from_chacha20(self, measure):
        zeros = bytes(4 * 8 * DRAWS)
        stream = Cipher(ChaCha20(os.urandom(32), os.urandom(16)), mode=None).encryptor()
        measure(lambda: stream.update(zeros), rounds=25)

    def test_random_bits_from_pcg64(self, measure):
        rng = np.random.default_rng(1)
        measure(lambda: rng.integers(0, 2**64, 4 * DRAWS, dtype=np.uint64), rounds=25)

    def test_random_bits_from_os_urandom(self, measure):
        measure(lambda: os.urandom(4 * 8 * DRAWS), rounds=25)


@pytest.mark.benchmark(group="dyadic noise, 1,000 replicates of 2^15 cells")
class TestTrees:
    def test_dpcore_one_thread(self, measure):
        counts = np.ones(CELLS, int)
        mechanism = dp.mechanisms.Dyadic(1.0)
        measure(lambda: mechanism.release(counts, replicates=REPLICATES, workers=1), rounds=3)

    def test_dpcore_two_threads(self, measure):
        counts = np.ones(CELLS, int)
        mechanism = dp.mechanisms.Dyadic(1.0)
        measure(lambda: mechanism.release(counts, replicates=REPLICATES, workers=2), rounds=3)

    def test_the_variates_alone(self, measure):
        def draw():
            for _ in range(REPLICATES):
                dp.noise.discrete_laplace(SCALE, DRAWS)

        measure(draw, rounds=3)

    def test_numpy_not_exact(self, measure):
        rng = np.random.default_rng(1)
        p = -np.expm1(-1 / SCALE)

        def release():
            for _ in range(REPLICATES):
                noise = np.zeros(CELLS, np.int64)
                for level in range(16):
                    nodes = CELLS >> level
                    draws = rng.geometric(p, nodes) - rng.geometric(p, nodes)
                    noise += np.repeat(draws, 1 << level)
                np.arange(CELLS) + noise

        measure(release, rounds=1)
