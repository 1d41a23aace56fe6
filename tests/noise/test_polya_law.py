"""Polya shares: the law of a share, and the law of their sums."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dpcore.noise import DiscreteLaplace, polya
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from tests import reference
from tests.noise.goodness import laplace_p_value, p_value
from tests.noise.plain_polya import LARGE, THIRD, seeded

LAW_SCALES = [THIRD, Fraction(1), Fraction(15), LARGE]


def negative_binomial_terms(shape, ratio, size):
    """binomial(k - 1 + r, k) a^k, which is P(k) but for (1 - a)^r."""
    terms = [Fraction(1)]
    for k in range(1, size):
        terms.append(terms[-1] * (k - 1 + shape) / k * ratio)
    return terms


# --- laws


def law_on(edge, scale, shape):
    """P(-edge), ..., P(edge) of NB(r, a) - NB(r, a), from its characteristic function."""
    size = 2 ** int(np.ceil(np.log2(200 * float(scale) + 4 * edge + 64)))
    a = np.exp(-1 / float(scale))
    angle = 2 * np.pi * np.arange(size) / size
    # |1 - a e^(i t)|^2 = (1 - a)^2 + 2 a (1 - cos t)
    transform = (1 + 4 * a * np.sin(angle / 2) ** 2 / (1 - a) ** 2) ** -float(shape)
    law = np.fft.ifft(transform).real
    return np.r_[law[-edge:], law[: edge + 1]]


def share_p_value(draws, scale, shape):
    edge = int(np.ceil(5 * scale)) + 3
    law = law_on(edge, scale, shape)
    return p_value(draws, edge, lambda y: law[y + edge])


def test_the_law_from_its_transform_is_the_law():
    scale, shape, a = Fraction(2), Fraction(1, 3), exp(-1 / 2)
    terms = np.array(negative_binomial_terms(shape, a, 200), float) * (1 - a) ** float(shape)
    both = np.convolve(terms, terms[::-1])
    assert law_on(20, scale, shape) == pytest.approx(both[199 - 20 : 199 + 21], abs=1e-14)
    expected = reference.discrete_laplace_pmf(np.arange(-20, 21), scale)
    assert law_on(20, scale, 1) == pytest.approx(expected, abs=1e-14)


@pytest.mark.needs_jit
@pytest.mark.parametrize("shares", [1, 2, 10, 1000])
@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
def test_law_of_a_share(scale, shares):
    draws = np.zeros(60_000 * min(shares, 20), np.int64)
    polya.add_events(draws, scale, Fraction(1, shares), seeded(11))
    assert share_p_value(draws, scale, Fraction(1, shares)) > 1e-6
    assert abs(draws.mean()) < 5 * np.sqrt(PolyaShares(scale, shares).variance / draws.size)


@pytest.mark.needs_jit
def test_law_from_the_cryptographic_source():
    draws = np.empty((300, 2000), np.int64)
    PolyaShares(15, 10).fill(draws, source(None))
    assert share_p_value(draws.reshape(-1), Fraction(15), Fraction(1, 10)) > 1e-9


@pytest.mark.needs_jit
@pytest.mark.parametrize("wrong", [(Fraction(29, 2), 10), (Fraction(15), 11)], ids=str)
def test_the_law_test_would_notice_a_slightly_wrong_law(wrong):
    draws = np.empty(600_000, np.int64)
    PolyaShares(*wrong).fill(draws, seeded(11))
    assert share_p_value(draws, Fraction(15), Fraction(1, 10)) < 1e-6


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
@pytest.mark.parametrize("shares", [2, 10, 1000])
def test_reports_add_up_to_discrete_laplace_noise(scale, shares):
    reports = np.empty((shares, 40_000 // min(shares, 10)), np.int64)
    PolyaShares(scale, shares).fill(reports, seeded(12))
    assert laplace_p_value(reports.sum(axis=0), scale) > 1e-6


@pytest.mark.needs_jit
@pytest.mark.parametrize("count", [1, 6, 9, 10, 13, 20, 25])
def test_sums_of_more_or_fewer_shares_than_needed(count):
    law = PolyaShares(Fraction(7, 2), 10)
    at_once = law.sum_of(count, 60_000, seeded(13))
    assert share_p_value(at_once, law.scale, Fraction(count, 10)) > 1e-6
    one_by_one = np.empty((count, 60_000), np.int64)
    law.fill(one_by_one, seeded(14))
    assert share_p_value(one_by_one.sum(axis=0), law.scale, Fraction(count, 10)) > 1e-6
    assert at_once.var() == pytest.approx(count * law.variance, rel=0.1)


def test_no_shares_make_no_noise():
    law = PolyaShares(15, 4)
    assert law.sum_of(0, 5, seeded(1)).tolist() == [0] * 5
    assert law.sum_of(4, 0, seeded(1)).shape == (0,)
    law.fill(np.empty((3, 0), np.int64), seeded(1))


def test_one_share_is_all_the_noise():
    out, expected = np.empty(50, np.int64), np.empty(50, np.int64)
    PolyaShares(15, 1).fill(out, seeded(2))
    DiscreteLaplace(Fraction(15)).fill(expected, seeded(2))
    assert out.tolist() == expected.tolist()
    assert PolyaShares(15, 1).variance == DiscreteLaplace(Fraction(15)).variance


@pytest.mark.needs_jit
def test_entries_and_signs_are_independent():
    draws = np.empty((200_000, 3), np.int64)
    PolyaShares(1, 2).fill(draws, seeded(15))
    products = draws[:, :2] * draws[:, 1:]
    variance = PolyaShares(1, 2).variance
    assert np.all(np.abs(products.mean(axis=0)) < 5 * variance / np.sqrt(200_000))
    squares = (draws[:, 0] ** 2 - variance) * (draws[:, 1] ** 2 - variance)
    assert abs(squares.mean()) < 5 * squares.std() / np.sqrt(200_000)


# --- clients at once, and moments


def test_clients_at_once_have_the_law_of_one_vector():
    flat, rows = np.empty(60, np.int64), np.full((3, 4, 5), 99)
    matrix = np.full((3, 20), 99).view(np.matrix)
    law = PolyaShares(15, 7)
    for out in (flat, rows, matrix):
        law.fill(out, seeded(4))
    assert rows.reshape(-1).tolist() == flat.tolist() == np.asarray(matrix).reshape(-1).tolist()


@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
def test_variance_in_closed_form(scale):
    edge = 60 * int(np.ceil(scale)) + 10
    y = np.arange(-edge, edge + 1)
    direct = np.sum(y**2 * law_on(edge, scale, Fraction(1, 10)))
    assert PolyaShares(scale, 10).variance == pytest.approx(direct, rel=1e-7)
