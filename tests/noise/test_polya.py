"""Polya shares: the kernel against the plain algorithm, on any windows, and its ends."""

from __future__ import annotations

from fractions import Fraction
from math import exp, factorial, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import ParameterError
from dpcore.kernels.noise import polya as kernels
from dpcore.noise import windows
from dpcore.noise.polya import PolyaShares
from tests.mechanisms.refusals import refusals
from tests.noise.plain_polya import (
    LARGE,
    THIRD,
    WEIGHTS,
    EndError,
    FromWords,
    blocks_of,
    law_of,
    plain_shares,
    poisson_trial,
    proposal,
    proposed_size,
    seeded,
)

SCALES = [
    THIRD,
    Fraction(1),
    Fraction(15),
    LARGE,
    Fraction(2**32 + 1, 3),
    Fraction(2**53 - 1),
    Fraction(2**53 - 1, 2**40),
    Fraction(1, 2**40),
    Fraction(1, 2**62 + 1),
]
MOST_WORD = 2**32 - 1


# --- the kernel, and the plain algorithm on the same words


def run(words, out, scale, shape, begun=0, pending=0):
    """The kernel, and whether it is done."""
    mean = 2 * out.size * (blocks_of(scale) + 1) * shape
    full, part = divmod(mean.numerator, mean.denominator)
    begun, pending, used = kernels.add_shares(
        np.array(words, np.uint32),
        out,
        blocks_of(scale),
        np.uint64(scale.numerator),
        np.uint64(scale.denominator),
        full,
        np.uint64(part),
        np.uint64(mean.denominator),
        begun,
        pending,
    )
    return begun, pending, used, pending == 0 and begun == full + (part > 0)


@pytest.mark.parametrize("shape", [Fraction(1), Fraction(1, 10), Fraction(7, 3), Fraction(1, 999)])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_is_the_plain_algorithm_on_the_same_words(scale, shape):
    for seed, length in [(1, 3000), (2, 200), (3, 20), (4, 1)]:
        words = np.random.default_rng(seed).integers(0, 2**32, length, dtype=np.uint32)
        out = np.zeros(7, np.int64)
        done = run(words, out, scale, shape)[3]
        assert (out.tolist(), done) == plain_shares(FromWords(words.tolist()), 7, scale, shape)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("periods", [1, 2, 5, 30, 61, 62, 63])
def test_sizes_of_far_blocks(scale, periods):
    """The last block, so many periods, each passed; then the largest size there, or any."""
    to_block = [MOST_WORD] * (2 if 2 * (blocks_of(scale) + 1) >= 2**32 else 1)
    bits = [1] * (periods - 1) + [0]
    shape = Fraction(1, 2 * (blocks_of(scale) + 1))  # one proposal on average
    for rest in ([MOST_WORD] * 2 + [0] * 400, [0] * 400, [5, 2**31, 1, MOST_WORD, 3, 8] * 60):
        words = to_block + bits + [MOST_WORD] * periods + rest
        out = np.zeros(1, np.int64)
        _, pending, used, _ = run(words, out, scale, shape, begun=1, pending=1)
        try:
            _, event = proposal(FromWords(words), 1, scale)
        except EndError:
            assert (pending, used) == (1, 0)
        else:
            assert out.tolist() == [event]
            assert pending == 0
            assert abs(event) < 2**62


def test_poisson_one_by_its_tree():
    """All choices enumerated: in proportion to 1 / n!, and a trial almost never fails."""
    law = law_of(poisson_trial, Fraction(1, 10**40))
    assert sum(WEIGHTS[:13]) == 1302061345
    for n in range(23):
        assert law[n] == Fraction(factorial(12), factorial(n)) / sum(WEIGHTS)
    accepted = sum(p for n, p in law.items() if n is not None)
    assert 1 - accepted < 1e-9
    assert float(law[3] / accepted) == pytest.approx(exp(-1) / 6, rel=1e-14)


def poisson_of(words):
    """What the kernel makes of its first words; None if they are too few."""
    begun, pending, used, _ = run(words, np.zeros(1, np.int64), Fraction(15), Fraction(1))
    return (pending, used) if begun else None


@pytest.mark.parametrize("n", range(13))
@pytest.mark.parametrize("off", [-2, -1, 0, 1])
def test_poisson_one_at_its_steps(n, off):
    total = sum(WEIGHTS)
    word = -(-(2**32) * sum(WEIGHTS[:n]) // total) + off
    if 0 <= word < 2**32 and (word * total) % 2**32 >= 2**32 % total:
        r = word * total >> 32
        expected = next(i for i in range(14) if r < sum(WEIGHTS[: i + 1]))
        if expected == 0:  # the next unit follows
            assert poisson_of([word])[0] == 0
        elif expected < 13:
            assert poisson_of([word]) == (expected, 1)
        else:
            assert poisson_of([word]) is None


def test_poisson_one_beyond_twelve():
    total = sum(WEIGHTS)
    last = next(
        word
        for word in range(2**32 - 1, 0, -1)
        if word * total >> 32 == total - 1 and (word * total) % 2**32 >= 2**32 % total
    )
    # 1 makes a uniform number 0, and is a bit; of a number below 13 it is the least word kept
    assert poisson_of([last, 1, 0]) == (13, 3)
    assert poisson_of([last, 1, 1, 1, 2]) == (14, 5)
    assert poisson_of([last, 1, 1, 1, 1, 1, 0]) == (15, 7)
    assert poisson_of([last, 1, 1, 1, 1]) is None
    assert poisson_of([last, MOST_WORD, MOST_WORD // 2]) == (1, 3)  # refused, and begun again
    assert poisson_trial(FromWords([last, 1, 1, 1, 2])) == 14
    assert poisson_trial(FromWords([last, MOST_WORD])) is None


@pytest.mark.parametrize("scale", [THIRD, Fraction(1), Fraction(5, 2), Fraction(7)], ids=str)
def test_sizes_by_their_tree(scale):
    """All choices enumerated: every size of every block has probability exp(-k / s) / k."""
    found = {}
    for block in range(blocks_of(scale) + 1):
        law = law_of(lambda choose, block=block: proposed_size(choose, block, scale), 1e-7)
        for k, p in law.items():
            found[k] = found.get(k, 0) + float(p)
    for k in range(1, max(3, int(4 * scale))):
        assert found[k] == pytest.approx(exp(-k / scale) / k, rel=1e-9)


# --- windows, streams, ends


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(SCALES),
    st.sampled_from([Fraction(1), Fraction(1, 9), Fraction(5, 2)]),
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_shares_depend_on_the_stream_and_not_on_its_windows(seed, scale, shape, cuts):
    words = np.random.default_rng(seed).integers(0, 2**32, 300, dtype=np.uint32)
    whole, pieces = np.zeros(5, np.int64), np.zeros(5, np.int64)
    expected = run(words, whole, scale, shape)
    start = end = begun = pending = 0
    for cut in [*cuts, 300]:  # ever longer windows, each from where the last proposal ended
        end = min(300, end + cut)
        begun, pending, used, done = run(words[start:end], pieces, scale, shape, begun, pending)
        start += used
    assert pieces.tolist() == whole.tolist()
    assert (begun, pending, start, done) == expected


@pytest.mark.parametrize("count", [1, 3, 10, 24])
def test_python_windows_give_the_same_shares_as_one_long_window(monkeypatch, count):
    law = PolyaShares(Fraction(9, 2), 4 if count < 4 else 100)
    many = law.sum_of(count, 200, seeded(3))
    monkeypatch.setattr(windows, "WINDOW", 5)
    few = law.sum_of(count, 200, seeded(3))
    assert few.tolist() == many.tolist()
    assert np.any(few != 0)


def test_a_window_without_words_changes_nothing():
    out = np.zeros(4, np.int64)
    assert run([], out, Fraction(15), Fraction(1)) == (0, 0, 0, False)
    assert run([], out, Fraction(15), Fraction(1), 3, 2) == (3, 2, 0, False)
    assert not out.any()


@pytest.mark.parametrize("scale", [Fraction(2**53 - 1), Fraction(15), THIRD], ids=str)
@pytest.mark.parametrize("shares", [1, 1000])
def test_saturation_is_out_of_reach(scale, shares):
    """Chernoff: P(|sum| > t) <= 2 (4 / 3)^r exp(-t / (2 s)), at t = 2^62, for all r allowed."""
    most = int(2**61 * shares / scale)
    bound = log(2) + Fraction(most, shares) * Fraction(log(4 / 3)) - Fraction(2**61) / scale
    assert bound < -180
    with pytest.raises(ParameterError, match=f"count .* {most}"):
        PolyaShares(scale, shares).sum_of(most + 1, 1, seeded(1))


# --- errors


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals(
        {"scale": [0, Fraction(2**53)], "shares": [0, 2**40 + 1]},
        {"scale": ["a"], "shares": [2.5, True]},
    ),
)
def test_bad_parameters(change, error, words):
    with pytest.raises(error, match=words):
        PolyaShares(**{"scale": 15, "shares": 5, **change})


@pytest.mark.parametrize(
    ("change", "error", "words"),
    refusals({"count": [-1, 2**62], "size": [-1]}, {"count": [1.5], "size": [2.0]}),
)
def test_bad_sums(change, error, words):
    with pytest.raises(error, match=words):
        PolyaShares(15, 2).sum_of(**{"count": 1, "size": 5, "stream": seeded(1), **change})


def test_a_float_is_the_fraction_it_is():
    assert PolyaShares(0.5, 3) == PolyaShares(Fraction(1, 2), 3)
    assert isinstance(PolyaShares(15, np.int64(3)).shares, int)
