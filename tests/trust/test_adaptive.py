"""Adaptive local curves: the cells of the second round, and one curve of both rounds."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import Local, UnaryEncoding, adapted_cdf, adapted_grid
from tests import reference
from tests.trust.rounds import RNG

CELLS, ONE, TWO = 64, 4_000, 16_000
GRID = dp.Grid.uniform(0, 1, CELLS)
RISING = np.arange(1.0, CELLS + 1) ** 3
MODELS = {epsilon: (Local(epsilon, ONE), Local(epsilon, TWO)) for epsilon in (1.0, 4.0)}


def divided(counts, rng):
    """Chance decides who is in which round."""
    first = rng.multivariate_hypergeometric(counts, ONE)
    return first, counts - first


def released(counts, grid, trust, rng, isotonic=True):
    return dp.cdf_from_counts(counts, grid, trust, isotonic=isotonic, rng=rng)


def joined(counts, grid):
    """The counts of cells of the coarser grid."""
    ends = np.searchsorted(GRID.positions, grid.positions)
    return np.diff(np.cumsum(counts)[ends], prepend=0)


def both_rounds(epsilon, seed, isotonic=True):
    rng = RNG(seed)
    counts = rng.multinomial(ONE + TWO, RISING / RISING.sum())
    (one, two), (in_first, in_second) = MODELS[epsilon], divided(counts, rng)
    first = released(in_first, GRID, one, rng, isotonic)
    grid = adapted_grid(first, two)
    second = released(joined(in_second, grid), grid, two, rng, isotonic)
    return counts, first, second


@pytest.mark.parametrize("size", [2, 3, 7, 64, 100])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_cells_are_those_of_the_plain_recursion(size, epsilon):
    rng, grid = RNG(size), dp.Grid.uniform(0, 1, size)
    for clients in (100, 10_000, 1_000_000):
        counts = rng.multinomial(clients, rng.dirichlet(np.full(size, 0.3)))
        curve = released(counts, grid, Local(epsilon, clients), rng)
        trust = Local(epsilon, 4 * clients)
        least = 4.5 * np.sqrt(UnaryEncoding(trust.epsilon).variance(trust.clients)) / trust.clients
        below = [0.0, *(curve.counts / curve.n)]
        ends = np.array(reference.halved(below, least)) - 1
        found = adapted_grid(curve, trust)
        assert found == dp.Grid(grid.thresholds[ends])
        assert found.lower == 0


def test_cells_are_fine_where_the_records_are():
    _, first, _ = both_rounds(4.0, 1)
    grid = adapted_grid(first, MODELS[4.0][1])
    assert 4 < grid.size < CELLS
    widths = np.diff(grid.thresholds, prepend=0.0)
    assert widths[0] > 8 * widths[-1]
    assert adapted_grid(first, Local(2.0**-20, 10)).size == 2
    assert adapted_grid(first, Local(40.0, 10**9)).size > CELLS / 2


@pytest.mark.parametrize(
    "grid", [dp.Grid.integers(5, 68), dp.Grid.days("2024-01-01", "2024-03-04")]
)
def test_grids_of_whole_numbers_and_of_days(grid):
    counts, rng = np.full(CELLS, 200), RNG(1)
    first = released(counts, grid, Local(4.0, 200 * CELLS), rng)
    adapted = adapted_grid(first, MODELS[4.0][1])
    assert adapted.unit == grid.unit
    assert adapted.lower == grid.lower
    second = released(
        joined(counts, dp.Grid(GRID.positions[np.searchsorted(grid.positions, adapted.positions)])),
        adapted,
        Local(4.0, 200 * CELLS),
        rng,
    )
    curve = adapted_cdf(first, second)
    assert curve.grid is grid
    assert curve.quantile(0.5) in grid.thresholds  # a whole number, or a day


@pytest.mark.parametrize("isotonic", [True, False])
def test_the_curve_is_the_weighted_mean_and_straight_between_knots(isotonic):
    _, first, second = both_rounds(1.0, 3, isotonic)
    curve = adapted_cdf(first, second)
    ends = np.searchsorted(GRID.positions, second.grid.positions)
    rounds = [
        (each.as_released().counts[at] / each.n, each.noise_deviation[at] / each.n)
        for each, at in ((first, ends), (second, slice(None)))
    ]
    weights = np.array([1 / np.mean(deviation**2) for _, deviation in rounds])
    weights /= weights.sum()
    expected = sum(w * share for w, (share, _) in zip(weights, rounds, strict=True))
    raw = curve.as_released()
    assert raw.counts[ends] / curve.n == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(curve.knots, ends)
    for each in (raw, curve):
        lines = np.interp(np.arange(CELLS), [-1, *ends], [0.0, *each.counts[ends]])
        assert each.counts == pytest.approx(lines, abs=1e-9)
    assert curve.n == ONE + TWO
    assert curve.is_monotone or not isotonic
    assert (curve.processing == ("isotonic()",)) == isotonic
    assert curve.privacy == dp.Privacy(1.0, neighbours="replace-one-within-group", simulated=True)
    assert len(first.releases) == 0
    assert dp.CDF.from_json(curve.to_json()) == curve


def test_intervals_for_a_population_count_chance_once():
    """The deviations have that of who is in which round, beside the sampling of all records."""
    _, first, second = both_rounds(4.0, 3, isotonic=False)
    curve = adapted_cdf(first, second)
    at = int(curve.knots[len(curve.knots) // 2])
    upper, share = curve.thresholds[at], curve.counts[at] / curve.n
    sampling = 1.96 * np.sqrt(share * (1 - share) / curve.n)
    high = curve.population_share_interval(upper=upper).high
    assert high - share == pytest.approx(np.hypot(curve.band()[1][at] - share, sampling), rel=1e-3)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_errors_are_as_large_as_stated(epsilon):
    """At the knots; chance of who is in which round is a large part for epsilon = 4."""
    rng, one, two = RNG(4), *MODELS[epsilon]
    counts = rng.multinomial(ONE + TWO, RISING / RISING.sum())
    grid = dp.Grid(GRID.thresholds[[31, 39, 47, 55, 59, 63]], lower=0)
    scores = []
    for _ in range(150):
        in_first, in_second = divided(counts, rng)
        first = released(in_first, GRID, one, rng, isotonic=False)
        second = released(joined(in_second, grid), grid, two, rng, isotonic=False)
        curve = adapted_cdf(first, second)
        at = curve.knots[:-1]
        errors = curve.counts - np.cumsum(counts)
        scores.append(errors[at] / curve.noise_deviation[at])
    assert np.sqrt(np.mean(np.square(scores))) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_bands_cover_between_knots(epsilon):
    covered = []
    for seed in range(60):
        counts, first, second = both_rounds(epsilon, seed)
        low, high = adapted_cdf(first, second).band(0.95)
        true = np.cumsum(counts) / counts.sum()
        covered.append(np.mean((low <= true) & (true <= high)))
    assert np.mean(covered) > 0.94


def test_two_rounds_have_smaller_errors():
    rng, grid = RNG(5), dp.Grid.uniform(0, 1, 1024)
    whole, one, two = (Local(1.0, clients) for clients in (100_000, 20_000, 80_000))
    errors = []
    for _ in range(20):
        values = rng.beta(2, 5, 100_000)
        first = dp.cdf(values[:20_000], grid, one, rng=rng)
        second = dp.cdf(values[20_000:], adapted_grid(first, two), two, rng=rng)
        true = np.cumsum(grid.count(values))
        for curve in (adapted_cdf(first, second), dp.cdf(values, grid, whole, rng=rng)):
            differences = np.abs(curve.counts - true)
            errors.append((np.sqrt(np.mean(differences**2)), differences.max()))
    ours, theirs = np.mean(errors[::2], axis=0), np.mean(errors[1::2], axis=0)
    assert np.all(ours < 0.9 * theirs)


def test_errors_name_the_argument():
    _, first, second = both_rounds(1.0, 1)
    one = released(np.array([ONE]), dp.Grid([1.0]), Local(1.0, ONE), RNG(1))
    for wrong, error, name in [
        (lambda: adapted_grid(3, MODELS[1.0][0]), DtypeError, "first"),
        (lambda: adapted_grid(first, 1.0), DtypeError, "trust"),
        (lambda: adapted_grid(first, Local(1.0, 100, records=2)), ParameterError, "trust"),
        (lambda: adapted_grid(one, MODELS[1.0][0]), ParameterError, "first"),
        (lambda: adapted_cdf(first, None), DtypeError, "second"),
        (lambda: adapted_cdf(second, first), ParameterError, "second"),
        (lambda: adapted_cdf(first, one), ParameterError, "first"),
        (lambda: adapted_cdf(first, first), ParameterError, "second"),
    ]:
        with pytest.raises(error, match=name):
            wrong()
    exact = dp.cdf_from_counts(np.full(CELLS, 9), GRID, dp.mechanisms.NoNoise())
    with pytest.raises(ParameterError, match="first"):
        adapted_cdf(exact, second)
    other = dp.Grid(GRID.thresholds[[3, 40]])  # without the last threshold
    short = released(np.array([1, TWO - 1]), other, MODELS[1.0][1], RNG(1))
    with pytest.raises(ParameterError, match="second"):
        adapted_cdf(first, short)
