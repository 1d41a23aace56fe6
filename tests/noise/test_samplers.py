"""Samplers' parts against the plain algorithm, and discrete Laplace draws against the law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dpcore import _threads, noise
from dpcore.kernels.noise import samplers
from dpcore.noise.sources import CryptographicSource
from tests import reference

SCALES = [
    Fraction(1),
    Fraction(15),
    Fraction(1, 7),
    Fraction(22, 7),
    Fraction(2**32 - 1),
    Fraction(2**32 + 1, 3),
    Fraction(2**53 - 1, 2**40),
    Fraction(1, 2**40),
]


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


def p_value(draws, edge, pmf):
    """Of a chi-square test of draws against a law, with one class for the rare values."""
    inside = np.arange(-edge, edge + 1)
    probability = pmf(inside)
    observed = np.bincount(np.clip(draws, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    tail = (1 - probability.sum()) / 2
    expected = np.r_[tail, probability, tail] * draws.size
    big = expected > 5
    return chisquare(
        np.r_[observed[big], observed[~big].sum() + 10],
        np.r_[expected[big], expected[~big].sum() + 10],
        sum_check=False,
    ).pvalue


def laplace_p_value(draws, scale):
    edge = int(np.ceil(6 * scale)) + 2
    return p_value(draws, edge, lambda y: reference.discrete_laplace_pmf(y, scale))


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(40), Fraction(300)]
)
@pytest.mark.parametrize("stream", ["seeded", "cryptographic"])
def test_law(scale, stream):
    rng = np.random.default_rng(11) if stream == "seeded" else None
    assert laplace_p_value(noise.discrete_laplace(scale, 1_000_000, rng), scale) > 1e-9


@pytest.mark.needs_jit
def test_the_law_test_would_notice_a_slightly_wrong_scale():
    draws = noise.discrete_laplace(Fraction(41, 4), 1_000_000, np.random.default_rng(11))
    assert laplace_p_value(draws, Fraction(10)) < 1e-9


@pytest.mark.parametrize("scale", SCALES[:4], ids=str)
def test_variance_in_closed_form(scale):
    y = np.arange(-4000, 4001)
    direct = np.sum(y**2 * reference.discrete_laplace_pmf(y, scale))
    assert noise.DiscreteLaplace(scale).variance == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_every_block_is_worked_on_once_and_errors_come_through(workers):
    done = []
    _threads.on_threads(done.append, list(range(50)), workers)
    assert sorted(done) == list(range(50))

    def fail(block):
        raise IndexError(f"block {block}")

    with pytest.raises(IndexError, match="block"):
        _threads.on_threads(fail, [1, 2, 3], workers)


def test_cryptographic_streams_differ_and_look_uniform():
    first, second = (np.zeros(2**15 + 7, np.uint64) for _ in range(2))
    source = CryptographicSource()
    source.fill(first)
    source.spawn(1)[0].fill(second)
    assert np.unique(np.r_[first, second]).size == 2 * (2**15 + 7)
    ones = np.unpackbits(first.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 8 * 0.5 / np.sqrt(64 * first.size)
