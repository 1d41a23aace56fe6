"""Bands of reliability tables hold in all bins at once as often as they say, and are drawn."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import AdaptiveQuantiles, Dawa, Hierarchy, NoNoise
from dpcore.statistics import equi_depth_bins, reliability

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 40)


def scored(rng, n=2000):
    """Labels, and scores of which many are equal."""
    scores = np.where(rng.random(n) < 0.2, 0.32, rng.beta(2, 3, n))
    return rng.random(n) < scores**1.5, scores


def rates(labels, scores):
    return reliability(dp.score_curves(labels, scores, GRID, NoNoise()), 8).positive_rate


def covers(low, high, rate):
    return np.all(np.isnan(rate) | ((low <= rate + 1e-12) & (rate - 1e-12 <= high)))


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Dawa(0.5)], ids=repr)
@pytest.mark.parametrize("of", ["records", "population"])
def test_they_cover_the_rates_of_all_bins_as_often_as_the_level_says(of, mechanism):
    rng, hits, rounds = RNG(1), 0, 120
    true = rates(*scored(RNG(2), 2_000_000))
    for _ in range(rounds):
        records = scored(rng)
        own = rates(*records) if of == "records" else true
        table = reliability(dp.score_curves(*records, GRID, mechanism, rng=rng), 8)
        band = dp.simultaneous_band(table, 0.9, of=of, replicates=300)
        hits += covers(*band, own)
        rate = table.positive_rate
        assert np.all(np.isnan(rate) | ((band.low <= rate) & (rate <= band.high)))
    spread = math.sqrt(rounds * 0.09)
    assert hits >= 0.9 * rounds - 4 * spread
    assert hits <= 0.9 * rounds + 4 * spread or isinstance(mechanism, Dawa)  # bounds between knots


def test_without_noise_it_is_the_table_and_wilsons_intervals_for_the_population():
    labels, scores = scored(RNG(1))
    table = reliability(dp.score_curves(labels, scores, GRID, NoNoise()), 4)
    low, high = dp.simultaneous_band(table)
    assert low == pytest.approx(table.positive_rate, abs=1e-12)
    assert high == pytest.approx(table.positive_rate, abs=1e-12)
    low, high = dp.simultaneous_band(table, of="population", replicates=4000)
    whole, rate = table.counts, table.positive_rate
    at = 2.49  # the 95 % quantile of the largest of four independent normal errors
    middle = (rate + at**2 / (2 * whole)) / (1 + at**2 / whole)
    reach = at * np.sqrt(rate * (1 - rate) / whole + at**2 / (4 * whole**2)) / (1 + at**2 / whole)
    assert low == pytest.approx(middle - reach, abs=0.004)
    assert high == pytest.approx(middle + reach, abs=0.004)


def test_bins_that_may_be_noise_are_from_0_to_1():
    labels, scores = scored(RNG(1), 300)
    for mechanism in (Hierarchy(0.01), AdaptiveQuantiles(1.0)):
        curves = dp.score_curves(labels, scores, GRID, mechanism, rng=RNG(2))
        for bins in (3, 20, equi_depth_bins(curves, 6)):
            low, high = dp.simultaneous_band(reliability(curves, bins), replicates=50)
            assert np.median(high - low) == 1.0
    table = reliability(dp.score_curves(labels, scores / 2, GRID, Hierarchy(2.0), rng=RNG(2)), 4)
    low, high = dp.simultaneous_band(table, replicates=100)
    assert (low[-1], high[-1]) == (0.0, 1.0)  # an empty bin


def test_a_table_that_does_not_know_its_curves_has_none():
    table = reliability(dp.score_curves(*scored(RNG(1)), GRID, epsilon=1.0, rng=RNG(2)))
    assert dp.statistics.Reliability.from_json(table.to_json()) == table
    alone = replace(table, curves=None)
    assert '"curves"' not in alone.to_json()
    with pytest.raises(dp.ParameterError, match="curve must know its curves"):
        dp.simultaneous_band(alone)
    with pytest.raises(dp.DtypeError, match="curves"):
        replace(table, curves=table.bins)


def test_pictures_show_the_band_in_place_of_the_bars_and_name_it():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    table = reliability(dp.score_curves(*scored(RNG(1)), GRID, epsilon=2.0, rng=RNG(2)), 5)
    band = dp.simultaneous_band(table, 0.9, replicates=100)
    ax = table.plot(level=0.9, band=band)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "90% band for the whole curve" in texts
    assert not any("noise" in text for text in texts)
    boxes = ax.patches[:5]
    assert [box.get_y() for box in boxes] == pytest.approx(band.low)
    assert [box.get_y() + box.get_height() for box in boxes] == pytest.approx(band.high)
    with pytest.raises(dp.DtypeError, match="band"):
        table.plot(band=(0.0, 1.0))
    with pytest.raises(dp.ParameterError, match="band"):
        table.plot(band=dp.Interval(np.zeros(3), np.ones(3)))
    pyplot.close("all")
