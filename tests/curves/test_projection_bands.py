"""Bands of projections: all thresholds at once, for the polynomial and for the records."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.confidence import deviations, deviations_at_once
from dpcore.mechanisms import PolynomialProjection
from dpcore.summaries.polynomials import scheme

GRID = dp.Grid.uniform(-1, 1, 200)
SCHEMES = [("legendre", "auto", 8), ("legendre", "equal", 12), ("moments", "equal", 4)]
VALUES = np.random.default_rng(1).beta(2, 5, 2000) * 2 - 1


def without_noise(basis, budgets, degree, values=VALUES, grid=GRID):
    quiet = PolynomialProjection(1e9, degree, basis, budgets, delta=0.5)
    return dp.project(values, -1, 1, quiet).curve(grid).counts / values.size


def projected(basis="legendre", budgets="auto", degree=8, rng=2, values=VALUES, epsilon=1.0):
    mechanism = PolynomialProjection(epsilon, degree, basis, budgets, delta=1e-6)
    return dp.project(values, -1, 1, mechanism, rng=np.random.default_rng(rng))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(("basis", "budgets", "degree"), SCHEMES)
def test_the_largest_of_normal_variables(basis, budgets, degree, level):
    """The bound holds for a whole curve, and is sharp where it matters."""
    asked = scheme(degree, basis, budgets, "exact")
    x = np.cos(np.linspace(0.01, math.pi - 0.01, 300))
    noise = np.polynomial.legendre.legvander(x, degree) @ asked.curve.matrix
    units = noise / np.linalg.norm(noise, axis=1)[:, None]
    z = np.random.default_rng(3).normal(size=(degree + 1, 5000))
    largest = np.abs(units @ z).max(axis=0)
    for count in (1, 3, 10**6):
        width = deviations_at_once(level, count, asked.length())
        seen = largest if count > 3 else np.abs(units[:: 300 // count] @ z)[:count].max(axis=0)
        covered = np.mean(seen <= width)
        spread = math.sqrt(level * (1 - level) / 5000)
        assert covered > level - 4 * spread
        if level > 0.5:
            assert covered < 1 - 0.3 * (1 - level) + 4 * spread


def test_one_threshold_is_as_wide_as_a_pointwise_interval():
    for level in (0.05, 0.5, 0.95, 0.9999):
        assert deviations_at_once(level, 1, 30.0) == pytest.approx(deviations(level))
        assert deviations_at_once(level, 10**6, 0.0) == pytest.approx(deviations(level))


@pytest.mark.needs_jit
@pytest.mark.parametrize(("basis", "budgets", "degree"), SCHEMES)
def test_releases_cover_the_polynomial_without_noise(basis, budgets, degree):
    curve = without_noise(basis, budgets, degree)
    covered = 0
    for seed in range(200):
        found = projected(basis, budgets, degree, rng=seed)
        low, high = found.polynomial_band(GRID, 0.8)
        covered += bool(np.all((low <= curve) & (curve <= high)))
    assert 0.8 * 200 - 3 * math.sqrt(0.16 * 200) < covered < 200


@pytest.mark.needs_jit
def test_sums_of_projections_cover_with_the_noise_of_both():
    first, second = VALUES[:500], VALUES[500:]
    curve = without_noise("legendre", "auto", 8)
    covered = 0
    for seed in range(150):
        both = projected(values=first, rng=seed, epsilon=3.0)
        both += projected(values=second, rng=1000 + seed)
        low, high = both.polynomial_band(GRID, 0.8)
        covered += bool(np.all((low <= curve) & (curve <= high)))
    assert 0.8 * 150 - 3 * math.sqrt(0.16 * 150) < covered < 150


@pytest.mark.needs_jit
def test_the_band_of_the_records_needs_the_error_of_the_polynomial():
    """Half of the records are one value, which no polynomial follows."""
    rng = np.random.default_rng(4)
    values = np.concatenate([np.full(1000, 0.305), rng.uniform(-1, 1, 1000)])
    exact = np.array([np.mean(values <= t) for t in GRID.thresholds])
    missed = np.abs(without_noise("legendre", "auto", 8, values) - exact).max()
    assert missed > 0.1
    known, unknown = 0, 0
    for seed in range(60):
        found = projected(values=values, rng=seed)
        for approximation in (missed, 0.0):
            low, high = found.band(GRID, approximation, 0.8)
            assert np.all(np.diff(low) >= 0)
            assert np.all(np.diff(high) >= 0)
            assert low.min() >= 0
            assert high.max() <= 1
            covers = bool(np.all((low <= exact) & (exact <= high)))
            known += covers and approximation > 0
            unknown += covers and approximation == 0
    assert known > 60 * 0.8 - 3 * math.sqrt(60 * 0.16)
    assert unknown == 0


def test_what_is_public_is_certain():
    grid = dp.Grid([-3.0, -1.0, 0.0, 0.999, 1.0, 2.0])
    low, high = projected().band(grid, 0.05)
    assert (low[0], high[0]) == (0, 0)
    assert low[4:].tolist() == high[4:].tolist() == [1, 1]
    assert 0 < low[2] < high[2] < 1
    flat = projected(degree=1).polynomial_band(GRID)  # both ends are public
    assert flat[0] == pytest.approx(flat[1], abs=1e-12)


def test_bands_are_of_the_raw_curve():
    found = projected(epsilon=0.1, degree=32)
    low, high = found.polynomial_band(GRID)
    raw = found.curve(GRID).counts / found.n
    assert (low + high) / 2 == pytest.approx(raw)
    wide = found.polynomial_band(GRID, 0.999)
    assert np.all(wide[0][:-1] < low[:-1])
    assert np.all(wide[1][:-1] > high[:-1])


@pytest.mark.parametrize(
    ("call", "error", "argument"),
    [
        (lambda found: found.polynomial_band(GRID, 0.0), dp.ParameterError, "level"),
        (lambda found: found.polynomial_band([0.0, 1.0]), dp.DtypeError, "grid"),
        (lambda found: found.band(GRID, -0.1), dp.ParameterError, "approximation"),
        (lambda found: found.band(GRID, "0"), dp.DtypeError, "approximation"),
        (lambda found: found.band(GRID, 0.1, 1.5), dp.ParameterError, "level"),
    ],
)
def test_bad_arguments_are_named(call, error, argument):
    with pytest.raises(error, match=argument):
        call(projected())
