"""The floor of function sharing: as many blocks as are really encrypted."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher

from benchmarks.jobs import function_sharing as jobs
from dpcore.trust import comparison
from dpcore.trust.comparison import prg


class Counting:
    """Stands in for the library's cipher, and for its encryptor: encrypts, and counts bytes."""

    def __init__(self, taken, algorithm, mode):
        self.taken, self.real = taken, Cipher(algorithm, mode).encryptor()

    def encryptor(self):
        return self

    def update_into(self, plain, to):
        self.taken.append(memoryview(plain).nbytes)
        return self.real.update_into(plain, to)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each call encrypts, ours and the floor's."""
    found: list[int] = []
    for module in (prg, jobs):
        monkeypatch.setattr(module, "Cipher", lambda *how: Counting(found, *how))
    return found


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 9, 16, 32])
@pytest.mark.parametrize("clients", [1, 5])
def test_blocks_of_keys(bits, clients, taken):
    comparison.gen(np.zeros(clients, np.int64), bits)
    assert sum(taken) == 16 * clients * jobs.generation_blocks(bits)


@pytest.mark.parametrize(
    ("bits", "thresholds"),
    [
        (1, [0]),
        (2, [0, 3]),
        (9, [5]),
        (9, [511, 0, 4, 5, 4]),
        (10, range(1024)),
        (16, jobs.SPREAD),
        (32, [0, 2**31, 2**32 - 1]),
    ],
    ids=lambda given: str(given)[:12],
)
def test_blocks_of_sums(bits, thresholds, taken):
    keys, _ = comparison.gen([1, 0, 1], bits)
    taken.clear()
    thresholds = np.array(thresholds)
    comparison.evaluate_sum(keys, thresholds, workers=1)
    assert sum(taken) == 16 * 3 * jobs.evaluation_blocks(bits, thresholds)


def test_blocks_of_all_thresholds_are_hardly_more(taken):
    """They are asked in pieces, each with its own way from the root."""
    keys, _ = comparison.gen([1], jobs.FULL_BITS)
    taken.clear()
    comparison.evaluate_sum(keys, workers=1)
    least = jobs.evaluation_blocks(jobs.FULL_BITS, jobs.EVERYWHERE)
    assert least == 7 * 2 ** (jobs.FULL_BITS - 3) - 3
    assert 16 * least <= sum(taken) <= 1.01 * 16 * least


@pytest.mark.parametrize("job", jobs.JOBS, ids=lambda job: job.name)
def test_floors_encrypt_so_many(job, taken):
    """All bytes of the blocks, with none left over and none twice."""
    given = job.make(3)
    for floor in (each for each in job.contenders if each.kind == "floor"):
        floor.start(given)()
    blocks = {
        "function-keys": jobs.generation_blocks(16) + jobs.generation_blocks(32),
        "function-points": jobs.evaluation_blocks(16, jobs.SPREAD),
        "function-everywhere": jobs.evaluation_blocks(15, np.arange(2**15)),
    }
    assert sum(taken) == 16 * 3 * blocks[job.name]
    assert max(taken) <= 2**16
