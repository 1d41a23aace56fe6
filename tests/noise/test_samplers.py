"""Samplers' parts against the plain algorithm, and discrete Laplace draws against the law."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore import _threads
from dpcore.kernels.noise import samplers
from tests import reference


@pytest.mark.parametrize("bound", [1, 2, 3, 12, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 - 1])
def test_uniform_at_the_edges_of_rejection(bound):
    edges = [0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 3, 2**32 - 2, 2**32 - 1]
    for first in edges:
        for second in edges:
            words = [first, second, 12345, 678, 91011, 1213]
            stream = iter(words)
            value, at = samplers.uniform(np.array(words, np.uint32), 0, np.uint64(bound))
            assert value == reference.uniform(stream, bound)
            assert at == len(words) - len(list(stream))


@pytest.mark.parametrize(
    "word",
    # one word on each side of every step of 12! / k!, and the one that needs a thirteenth step
    [1, *[-(-(2**32) * 1 // f) + d for f in (2, 6, 24, 120, 720, 40320) for d in (-2, -1, 0, 1)]],
)
def test_bernoulli_exp_one_at_its_steps(word):
    words = [word, 5, 0, 1, 2**31, 7, 2**32 - 1, 123456789]
    stream = iter(words)
    value, at = samplers.bernoulli_exp_one(np.array(words, np.uint32), 0)
    assert value == reference.bernoulli_exp_one(stream)
    assert at == len(words) - len(list(stream))


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_block_is_worked_on_once_and_errors_come_through(workers):
    done = []
    _threads.on_threads(done.append, list(range(50)), workers)
    assert sorted(done) == list(range(50))

    def fail(block):
        raise IndexError(f"block {block}")

    with pytest.raises(IndexError, match="block"):
        _threads.on_threads(fail, [1, 2, 3], workers)
