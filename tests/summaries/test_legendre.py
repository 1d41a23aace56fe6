"""Sums of Legendre polynomials and powers: exact, additive, near the truth; series."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.kernels.polynomials import legendre, moments
from tests import reference

UNIT = 2**28
U = 2.0**-53
SUMS = [
    pytest.param(legendre.legendre_sums, reference.legendre_terms, id="legendre"),
    pytest.param(moments.moment_sums, reference.moment_terms, id="moments"),
]
COUNTS = [
    pytest.param(legendre.legendre_counts, reference.legendre_terms, id="legendre"),
    pytest.param(moments.moment_counts, reference.moment_terms, id="moments"),
]
TINY = np.nextafter(0.0, 1.0)
HUGE = np.finfo(float).max


def sums_of(add, values, lower, upper, size, dtype=np.float64):
    out = np.zeros(size, np.int64)
    missing = add(np.asarray(values, dtype), lower, upper, out)
    return out.tolist(), missing


def nasty_positions():
    ends = [1 - 2.0**-i for i in (53, 52, 40, 30, 20, 16, 14, 12, 10, 8, 6, 4, 2)]
    zeros = [0.0, 1e-6, 1e-3, *2.0 ** -np.array([14, 29, 30, 31, 40, 53]), 3 * 2.0**-30]
    # ties: 2^28 x is a half
    ties = [0.5 / UNIT, 1.5 / UNIT, (UNIT - 0.5) / UNIT]
    rng = np.random.default_rng(1)
    drawn = np.concatenate([rng.uniform(0, 1, 20), np.cos(rng.uniform(0, 1.6, 20))]).tolist()
    some = [1.0, *ends, *zeros, *ties, *drawn]
    return sorted({reference.position(sign * x, -1.0, 1.0) for x in some for sign in (-1.0, 1.0)})


# --- where records are


finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def bounds(draw):
    lower, upper = sorted([draw(finite), draw(finite)])
    return (lower, upper) if lower < upper else (0.0, 1.0)


@given(st.floats(allow_nan=False), bounds())
def test_positions_are_near_the_exact_ones(value, ends):
    lower, upper = ends
    x = reference.position(value, lower, upper)
    assert -1 <= x <= 1
    assert x == 0 or abs(x) >= U
    low, high = Fraction(lower), Fraction(upper)
    clipped = Fraction(min(max(value, lower), upper))
    exact = 2 * (clipped - low) / (high - low) - 1
    assert abs(Fraction(x) - exact) <= Fraction(2) ** -50
    (_, found), _ = sums_of(legendre.legendre_sums, [value], lower, upper, 2)
    assert abs(found - UNIT * exact) <= Fraction(51, 100)


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.0, TINY), (-TINY, TINY), (-HUGE, HUGE), (0.0, HUGE), (1.0, 1 + 2 * U), (-3e-310, 0.1)],
)
@pytest.mark.parametrize(("add", "terms"), SUMS)
def test_bounds_and_what_is_beyond_are_the_ends(add, terms, lower, upper):
    for value in (lower, -HUGE, -np.inf):
        assert sums_of(add, [value], lower, upper, 5) == ([UNIT, -UNIT, UNIT, -UNIT, UNIT], 0)
    for value in (upper, HUGE, np.inf):
        assert sums_of(add, [value], lower, upper, 5) == ([UNIT] * 5, 0)


# --- sums


@settings(max_examples=40)
@given(
    st.lists(st.floats(), max_size=30),
    bounds(),
    st.integers(2, 34),
    st.sampled_from([np.float64, np.float32]),
    st.data(),
)
@pytest.mark.parametrize(("add", "terms"), SUMS)
def test_sums_are_those_of_the_terms(add, terms, values, ends, size, dtype, data):
    with np.errstate(over="ignore"):
        values = np.asarray(values).astype(dtype)
    lower, upper = ends
    whole = [value for value in values.astype(float).tolist() if value == value]
    expected = [0] * size
    for value in whole:
        found = terms(reference.position(value, lower, upper), size)
        expected = [a + b for a, b in zip(expected, found, strict=True)]
    out = np.zeros(size, np.int64)
    cut = data.draw(st.integers(0, values.size))
    missing = add(values[:cut], lower, upper, out) + add(values[cut:], lower, upper, out)
    assert out.tolist() == expected
    assert missing == values.size - len(whole)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 1300), max_size=6), st.booleans())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("add", "terms"), SUMS)
def test_sums_of_parts_add_up_to_the_bit(add, terms, dtype, seed, cuts, with_missing):
    rng = np.random.default_rng(seed)
    values = rng.normal(0.4, 0.5, 1300).astype(dtype)
    if with_missing:
        values[rng.random(values.size) < 0.05] = np.nan
    whole, missing = sums_of(add, values, 0.0, 1.0, 7, dtype)
    parts = [sums_of(add, part, 0.0, 1.0, 7, dtype) for part in np.split(values, sorted(cuts))]
    assert [sum(column) for column in zip(*(sums for sums, _ in parts), strict=True)] == whole
    assert sum(count for _, count in parts) == missing == np.isnan(values).sum()
    assert sums_of(add, rng.permutation(values), 0.0, 1.0, 7, dtype) == (whole, missing)
    assert whole[0] == UNIT * (values.size - missing)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 15, 16, 511, 512, 513, 1023])
@pytest.mark.parametrize(("add", "terms"), SUMS)
def test_a_record_adds_the_same_wherever_it_is(add, terms, place):
    value = 0.7312345
    expected = terms(reference.position(value, 0.0, 1.0), 19)
    for size in (place + 1, place + 2, 1100):
        values = np.full(size, np.nan)
        values[place] = value
        assert sums_of(add, values, 0.0, 1.0, 19) == (expected, size - 1)
        values[:] = 1.0  # all of whose terms are 1
        values[place] = value
        others = (size - 1) * UNIT
        assert sums_of(add, values, 0.0, 1.0, 19) == ([term + others for term in expected], 0)


# Records 1 - i / 2^30 with a term that fused multiplications and additions would round to another
# integer, by its degree: found by searching millions.
FUSED = {30: 41327, 47: 1407279, 66: 50929, 77: 733296, 93: 129242, 118: 21721, 129: 683049}


def fused_terms(x, size):
    values = [1.0, x]
    for k in range(2, size):
        product, c = x * values[-1], Fraction((k - 1) / k)
        difference = float(Fraction(x) * Fraction(values[-1]) - Fraction(values[-2]))
        values.append(float(Fraction(product) + c * Fraction(difference)))
    return [round(2.0**28 * value) for value in values]


@pytest.mark.parametrize("degree", FUSED)
def test_no_operation_is_fused_with_another(degree):
    x = 1 - FUSED[degree] / 2**30
    assert reference.position(x, -1.0, 1.0) == x
    expected = reference.legendre_terms(x, 130)
    assert fused_terms(x, degree + 1)[degree] != expected[degree]
    for copies in (1, 16):  # out of vectors, and in them
        found, _ = sums_of(legendre.legendre_sums, [x] * copies, -1.0, 1.0, 130)
        assert found == [copies * term for term in expected]


@pytest.mark.parametrize(("add", "terms"), SUMS)
def test_no_records_and_few_sums(add, terms):
    assert sums_of(add, [], 0.0, 1.0, 3) == ([0, 0, 0], 0)
    assert sums_of(add, [0.25, np.nan], 0.0, 1.0, 2) == ([UNIT, -UNIT // 2], 1)


def test_legendre_terms_are_near_the_truth():
    size = 130
    worst = 0.0
    for x in nasty_positions():
        found, _ = sums_of(legendre.legendre_sums, [x], -1.0, 1.0, size)
        assert max(abs(term) for term in found) <= UNIT
        opposite, _ = sums_of(legendre.legendre_sums, [-x], -1.0, 1.0, size)
        if reference.position(-x, -1.0, 1.0) == -x:
            assert opposite == [(-1) ** k * term for k, term in enumerate(found)]
        exact = reference.legendre_values(reference.position(x, -1.0, 1.0), size)
        with mpmath.workdps(50):
            errors = [abs(f - UNIT * p) for f, p in zip(found, exact, strict=True)]
        worst = max(worst, float(max(errors)))
    assert 0.4 < worst < 0.5 + 0.0023


def test_moment_terms_are_near_the_truth():
    worst = Fraction(0)
    for x in nasty_positions():
        found, _ = sums_of(moments.moment_sums, [x], -1.0, 1.0, 34)
        exact = Fraction(reference.position(x, -1.0, 1.0))
        assert max(abs(term) for term in found) <= UNIT
        worst = max(worst, *(abs(term - UNIT * exact**i) for i, term in enumerate(found)))
    assert 0.4 < worst < 0.501


# --- counts


@settings(max_examples=40)
@given(st.lists(st.integers(0, 2**20), min_size=1, max_size=40), st.integers(2, 34))
@pytest.mark.parametrize(("add", "terms"), COUNTS)
def test_counts_are_records_in_the_middles(add, terms, counts, size):
    expected = [0] * size
    for i, count in enumerate(counts):
        found = terms((2 * i + 1 - len(counts)) / len(counts), size)
        expected = [total + count * term for total, term in zip(expected, found, strict=True)]
    out = np.ones(size, np.int64)  # added to
    add(np.array(counts, np.int64), out)
    assert out.tolist() == [total + 1 for total in expected]


@pytest.mark.parametrize(("add", "terms"), COUNTS)
def test_eight_billion_records_fit(add, terms):
    counts = np.zeros(1001, np.int64)
    counts[0] = 2**33
    out = np.zeros(34, np.int64)
    add(counts, out)
    assert out.tolist() == [2**33 * term for term in terms(-1000 / 1001, 34)]


# --- series


@settings(max_examples=30)
@given(
    st.integers(1, 4),
    st.integers(0, 13),
    st.sampled_from([0, 1, 3, 255, 256, 257, 300]),
    st.integers(0, 2**32),
)
def test_series_are_sums_of_polynomials(rows, degree, size, seed):
    rng = np.random.default_rng(seed)
    coefficients, points = rng.normal(size=(rows, degree + 1)), rng.uniform(-1, 1, size)
    out = np.full((rows, size), np.nan)
    legendre.series(coefficients, points, out)
    expected = np.polynomial.legendre.legvander(points, degree) @ coefficients.T
    assert out == pytest.approx(expected.T, abs=1e-13)


@pytest.mark.sample(2)
@pytest.mark.parametrize("degree", [1, 2, 16, 127, 128, 256])
def test_series_of_a_high_degree(degree):
    rng = np.random.default_rng(degree)
    points = np.array(nasty_positions())
    coefficients = np.stack(
        [
            np.eye(degree + 1)[degree],
            np.ones(degree + 1),
            (-1.0) ** np.arange(degree + 1),
            rng.normal(size=degree + 1),
            rng.normal(size=degree + 1) / (1 + np.arange(degree + 1)) ** 2,
        ]
    )
    out = np.empty((len(coefficients), points.size))
    legendre.series(coefficients, points, out)
    exact = [reference.legendre_values(x, degree + 1) for x in points.tolist()]
    for row, found in zip(coefficients, out, strict=True):
        with mpmath.workdps(50):
            sums = [mpmath.fdot(zip(row.tolist(), values, strict=True)) for values in exact]
            errors = [abs(float(f - s)) for f, s in zip(found.tolist(), sums, strict=True)]
        # a thirteenth of what is proved
        assert max(errors) <= (degree**2 / 3 + degree + 2) * U * np.abs(row).sum()
