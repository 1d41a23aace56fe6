"""Draws from laws: shapes, types, generators, and parameters that are refused."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.noise import distributions, tables
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import GeneratorSource, source
from tests import reference
from tests.mechanisms.refusals import refusals
from tests.noise.goodness import gaussian_p_value, laplace_p_value


@pytest.mark.parametrize("function", [dp.noise.discrete_laplace, dp.noise.discrete_gaussian])
def test_shapes_and_dtype(function):
    assert function(3, 5).shape == (5,)
    assert function(3, (2, 3)).shape == (2, 3)
    assert function(3, np.int32(4)).shape == (4,)
    assert function(3, 0).dtype == np.int64
    assert not np.any(function(2.0**-50, 100))


@pytest.mark.parametrize(
    ("function", "law"),
    [
        (dp.noise.discrete_laplace, dp.noise.DiscreteLaplace),
        (dp.noise.discrete_gaussian, dp.noise.DiscreteGaussian),
    ],
)
def test_a_law_fills_arrays_with_the_draws_of_its_function(function, law):
    draws = np.empty(100, np.int64)
    law(Fraction(7, 3)).fill(draws, GeneratorSource(np.random.default_rng(5)))
    assert draws.tolist() == function(Fraction(7, 3), 100, np.random.default_rng(5)).tolist()
    assert law(2.5) == law(Fraction(5, 2))


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "fill",
    [
        dp.noise.DiscreteLaplace(15).fill,
        dp.noise.DiscreteLaplace(15).fill_once,
        dp.noise.DiscreteGaussian(15).fill,
        dp.noise.DiscreteGaussian(10**9).fill,
        PolyaShares(15, 2).fill,
    ],
)
@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros(4), DtypeError),
        (np.zeros(4, np.int8), DtypeError),
        (np.zeros(4, ">i8"), DtypeError),
        ([0, 0], DtypeError),
        (np.zeros(8, np.int64)[::2], ParameterError),
        (np.zeros((4, 4), np.int64).T[:2], ParameterError),
        (read_only(np.zeros(4, np.int64)), ParameterError),
        (np.frombuffer(bytes(32), np.int64), ParameterError),
    ],
)
def test_what_cannot_be_filled(fill, out, error):
    with pytest.raises(error, match="out"):
        fill(out, GeneratorSource(np.random.default_rng(5)))


@pytest.mark.parametrize("law", [dp.noise.DiscreteLaplace(15), dp.noise.DiscreteGaussian(10**9)])
def test_arrays_of_any_shape_are_filled(law):
    row, table = np.empty(10, np.int64), np.empty((5, 2), np.int64)
    for out in (row, table):
        law.fill(out, GeneratorSource(np.random.default_rng(5)))
    assert table.reshape(-1).tolist() == row.tolist()


@pytest.mark.parametrize("size", [3, 5000])
def test_nothing_is_kept_of_a_scale_that_is_used_once(size):
    kept, once = (np.empty(size, np.int64) for _ in range(2))
    law = dp.noise.DiscreteLaplace(Fraction(1234567, 891))
    before = tables.kept_laplace_digits.cache_info(), distributions.kept_floors.cache_info()
    law.fill_once(once, GeneratorSource(np.random.default_rng(5)))
    assert (
        tables.kept_laplace_digits.cache_info(),
        distributions.kept_floors.cache_info(),
    ) == before
    law.fill(kept, GeneratorSource(np.random.default_rng(5)))
    assert kept.tolist() == once.tolist()
    assert tables.kept_laplace_digits.cache_info() != before[0]


@pytest.mark.parametrize("bits", [2, 31, 53])
@pytest.mark.parametrize("exact", [Fraction(1, 3), Fraction(2**31 - 1), Fraction(10**15 + 1, 7), 1])
def test_fractions_are_rounded_up_to_so_many_bits(exact, bits):
    short = dp.noise.rounded_up(Fraction(exact), bits)
    assert exact <= short < exact + max(1, exact * Fraction(2, 2**bits))
    assert short == int(short) or short.numerator.bit_length() <= bits + 1
    assert dp.noise.rounded_up(short, bits) == short


def test_floats_ints_and_fractions_of_one_value_are_one_scale():
    draws = [
        dp.noise.discrete_laplace(scale, 100, np.random.default_rng(5)).tolist()
        for scale in (2.5, Fraction(5, 2), np.float64(2.5))
    ]
    assert draws[0] == draws[1] == draws[2]


def test_a_generator_is_advanced_so_two_calls_differ():
    rng = np.random.default_rng(5)
    first, second = (dp.noise.discrete_laplace(50, 100, rng) for _ in range(2))
    assert not np.array_equal(first, second)


LAWS = [
    (dp.noise.discrete_laplace, "scale", [2**53, 1e-30]),
    (dp.noise.discrete_gaussian, "sigma_squared", [2**53, Fraction(1, 2**53)]),
]


@pytest.mark.parametrize(
    ("function", "arguments", "error", "words"),
    [
        (function, {parameter: 1, "size": 3, **change}, error, words)
        for function, parameter, beyond in LAWS
        for change, error, words in refusals(
            {parameter: [0, -1.5, np.nan, np.inf, *beyond], "size": [-3]},
            {parameter: ["2", True], "size": [2.0], "rng": [7, np.random.RandomState(1)]},
        )
    ],
)
def test_bad_arguments(function, arguments, error, words):
    with pytest.raises(error, match=words):
        function(**arguments)


# --- draws against the law

SCALES = [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(40), Fraction(300)]
SIGMAS_SQUARED = [Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(400), Fraction(2**14)]


def drawn(law, rng):
    draws = np.empty(1_000_000, np.int64)
    law.fill(draws, source(rng))
    return draws


def law_p_value(draws, law):
    if isinstance(law, dp.noise.DiscreteLaplace):
        return laplace_p_value(draws, law.scale)
    return gaussian_p_value(draws, law.sigma_squared)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    "law",
    [
        *map(dp.noise.DiscreteLaplace, SCALES),
        *map(dp.noise.DiscreteGaussian, SIGMAS_SQUARED),
    ],
)
@pytest.mark.parametrize("is_seeded", [True, False])
def test_draws_have_the_law(law, is_seeded):
    rng = np.random.default_rng(11) if is_seeded else None
    assert law_p_value(drawn(law, rng), law) > 1e-9


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("wrong", "law"),
    [
        (dp.noise.DiscreteLaplace(10.25), dp.noise.DiscreteLaplace(10)),
        (dp.noise.DiscreteGaussian(102.5), dp.noise.DiscreteGaussian(100)),
    ],
)
def test_the_test_of_laws_would_notice_a_slightly_wrong_one(wrong, law):
    assert law_p_value(drawn(wrong, np.random.default_rng(12)), law) < 1e-9


@pytest.mark.needs_jit
def test_the_test_of_laws_would_notice_rounded_continuous_noise():
    draws = np.rint(np.random.default_rng(12).normal(0, 1, 1_000_000)).astype(np.int64)
    assert gaussian_p_value(draws, Fraction(1)) < 1e-9


@pytest.mark.needs_jit
def test_large_sigma_has_the_continuous_laws_shape():
    draws = dp.noise.discrete_gaussian(Fraction(2**53 - 1), 200_000, np.random.default_rng(12))
    standard = draws / float(2**53) ** 0.5
    for power, moment, deviation in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((standard**power).mean() - moment) < 5 * (deviation / draws.size) ** 0.5


@pytest.mark.parametrize("scale", [*SCALES[:4], Fraction(1, 7)], ids=str)
def test_laplace_variance_in_closed_form(scale):
    y = np.arange(-4000, 4001)
    direct = np.sum(y**2 * reference.discrete_laplace_pmf(y, scale))
    assert dp.noise.DiscreteLaplace(scale).variance == pytest.approx(direct, rel=1e-12)


@pytest.mark.parametrize(
    "sigma_squared",
    [
        *(Fraction(1, k) for k in (1000, 100, 10, 7, 6, 3, 2, 1)),
        Fraction(1.0 / (2 * np.pi)),
        Fraction(22, 7),
        Fraction(1000),
    ],
    ids=float,
)
def test_variance_to_twelve_digits(sigma_squared):
    sigma_squared = sigma_squared.limit_denominator(2**50)
    with mpmath.workdps(50):
        rate = mpmath.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        weights = [mpmath.exp(-rate * y * y) for y in range(1, 500)]
        squares = mpmath.fsum(y * y * weight for y, weight in enumerate(weights, 1))
        exact = squares / (mpmath.fsum(weights) + mpmath.mpf(1) / 2)
    assert dp.noise.DiscreteGaussian(sigma_squared).variance == pytest.approx(
        float(exact), rel=1e-12
    )


def test_variance_far_out():
    assert dp.noise.DiscreteGaussian(2**53 - 1).variance == 2**53 - 1
    assert dp.noise.DiscreteGaussian(Fraction(1, 2**53 - 1)).variance == 0.0
