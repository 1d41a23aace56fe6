"""The floor of function sharing: as many blocks as are really encrypted."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.jobs import function_sharing as jobs
from dpcore.trust import comparison
from dpcore.trust.comparison.prg import Ciphers


@pytest.fixture
def encrypted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many blocks each call of the cipher encrypts, from now on."""
    numbers: list[int] = []
    encrypt = Ciphers.encrypt

    def counted(self, which, blocks, start, stop, out):
        numbers.append(max(0, stop - start))
        encrypt(self, which, blocks, start, stop, out)

    monkeypatch.setattr(Ciphers, "encrypt", counted)
    return numbers


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 9, 16, 32])
@pytest.mark.parametrize("clients", [1, 5])
def test_blocks_of_keys(bits, clients, encrypted):
    comparison.gen(np.zeros(clients, np.int64), bits)
    assert sum(encrypted) == clients * jobs.generation_blocks(bits)


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
    ids=str,
)
def test_blocks_of_sums(bits, thresholds, encrypted):
    keys, _ = comparison.gen([1, 0, 1], bits)
    encrypted.clear()
    thresholds = np.array(thresholds)
    comparison.evaluate_sum(keys, thresholds, workers=1)
    assert sum(encrypted) == 3 * jobs.evaluation_blocks(bits, thresholds)


@pytest.mark.parametrize("job", jobs.JOBS, ids=lambda job: job.name)
def test_floors_encrypt_so_many(job, monkeypatch):
    """All bytes of the blocks, with none left over and none twice."""
    taken = []

    class Encryptor:
        def update_into(self, plain, to):
            assert to.size > plain.size
            taken.append(plain.size)

    class Cipher:
        def __init__(self, algorithm, mode):
            pass

        def encryptor(self):
            return Encryptor()

    monkeypatch.setattr(jobs, "Cipher", Cipher)
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
