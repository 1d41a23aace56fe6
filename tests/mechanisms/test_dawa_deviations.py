"""DAWA's two stages see what they should, and the error that it tells with a release is honest."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.kernels.selection.adaptive import add_parabolas
from dpcore.mechanisms import Dawa
from dpcore.mechanisms.bucket_counts import Records
from dpcore.noise.sources import source

RNG = np.random.default_rng
RELATIONS = ["replace-one", "add-or-remove-one"]
BUDGETS = [{"epsilon": 0.3}, {"rho": 0.02}, {"epsilon": 0.3, "delta": 1e-6}]
SIZE = 256


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 33, 257, 1000])
def test_a_release_with_its_deviation_is_the_release(size, budget, neighbours):
    mechanism = Dawa(**budget, neighbours=neighbours)
    for total in (0, 1, 40, 10**4, 10**7):
        counts = RNG(1).multinomial(total, RNG(2).dirichlet(np.full(size, 0.2)))
        released, deviation, _ = mechanism.release_with_deviation(counts, rng=RNG(3))
        assert np.array_equal(released, mechanism.release(counts, rng=RNG(3)))
        assert deviation.shape == (size,)
        assert deviation.dtype == np.float64
        assert np.all(np.isfinite(deviation))
        assert np.all(deviation >= 0.0)
        if neighbours == "replace-one":
            assert deviation[-1] == 0.0
            assert released[-1] == pytest.approx(total, abs=1e-6)
        else:
            assert deviation[-1] > 0.0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_buckets_are_found_by_nothing_but_the_noisy_costs(budget):
    """Tables with the same costs are cut alike, wherever their records are."""
    counts = np.zeros(SIZE, int)
    counts[[0, 40, 41, 200]] = 300, 20, 90, 7
    stages = Dawa(**budget)._stages(SIZE, int(counts.sum()))
    first = Records.of(counts, stages)
    longest = int(stages.scales.lengths[0])
    moved = np.concatenate([each[::-1] for each in np.split(counts, range(longest, SIZE, longest))])
    other = Records.of(moved, stages)
    assert not np.array_equal(first.cumulative, other.cumulative)
    assert np.array_equal(first.costs, other.costs)
    for seed in range(20):
        edges, unevenness = first.find_buckets(source(RNG(seed)))
        same = other.find_buckets(source(RNG(seed)))
        assert np.array_equal(edges, same.edges)
        assert np.array_equal(unevenness, same.unevenness)
        blind = first._replace(cumulative=np.zeros_like(first.cumulative))
        assert np.array_equal(blind.find_buckets(source(RNG(seed))).edges, edges)


def test_what_lines_miss_is_a_parabola_in_each_bucket():
    edges, means = np.array([0, 1, 5, 9, 40]), np.array([3.0, 0.0, 2.0, 0.5])
    found = np.full(40, 7.0)
    add_parabolas(edges, means, found)
    for start, stop, mean in zip(edges[:-1], edges[1:], means, strict=True):
        along = np.arange(1, stop - start + 1) / (stop - start)
        assert found[start:stop] == pytest.approx(7 + 6 * mean * along * (1 - along))
        assert found[stop - 1] == 7.0  # nothing at its end
    assert np.mean(found[9:] - 7) == pytest.approx(0.5, rel=2e-3)


def test_buckets_are_counted_at_their_ends_alone():
    counts = RNG(1).poisson(3, SIZE)
    records = Records.of(counts, Dawa(0.5)._stages(SIZE, int(counts.sum())))
    edges = np.array([0, 8, 9, 100, SIZE])
    scrambled = np.full(SIZE + 1, 10**9)
    scrambled[edges] = records.cumulative[edges]
    other = records._replace(cumulative=scrambled, costs=np.empty(0, np.int64))
    found, expected = (each.count_buckets(edges, source(RNG(2)))[0] for each in (records, other))
    assert np.array_equal(found, expected)


def shapes():
    """Return shares of records in the cells, by name: smooth, flat, a jump, and mostly nothing."""
    at = (np.arange(SIZE) + 0.5) / SIZE
    half, spikes = np.full(SIZE, 0.5 / SIZE), np.zeros(SIZE)
    half[SIZE // 3] += 0.5
    spikes[RNG(5).integers(0, SIZE, 12)] = 1.0
    normal = np.exp(-(((at - 0.4) / 0.15) ** 2) / 2)
    found = {"normal": normal, "uniform": np.ones(SIZE), "half": half, "spikes": spikes}
    return {name: shape / shape.sum() for name, shape in found.items()}


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", list(shapes()))
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.03}], ids=str)
def test_bands_of_the_default_cover_at_each_threshold(budget, shape):
    """Strictly within the records, from scarce to plentiful ones."""
    signal = budget.get("epsilon") or np.sqrt(8 * budget["rho"])
    grid, share = dp.Grid.uniform(0, 1, SIZE), shapes()[shape]
    names, covered = set(), {}
    for records_per_cell in (0.1, 0.5, 2, 10, 100):
        n = round(records_per_cell * SIZE / signal)
        counts = RNG(1).multinomial(n, share)
        truth = np.cumsum(counts) / n
        inside = (truth > 0) & (truth < 1)
        rng, hits = RNG(2), np.zeros(SIZE)
        for _ in range(150):
            curve = dp.cdf_from_counts(counts, grid, **budget, rng=rng)
            low, high = curve.band(0.95)
            hits += (low <= truth + 1e-12) & (truth <= high + 1e-12)
        names.add(curve.mechanism["name"])
        covered[records_per_cell] = round(float(hits[inside].min()) / 150, 4)
    assert names == {"dawa", "hierarchy" if "epsilon" in budget else "toeplitz"}
    least = 0.95 - 4.5 * np.sqrt(0.95 * 0.05 / 150)  # the worst of up to 255 thresholds
    assert all(least <= each for each in covered.values()), covered
