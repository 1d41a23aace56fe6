"""Knots: the thresholds of a release at which the error is noise alone."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.simulated_releases import Simulation
from dpcore.mechanisms import Dawa, Hierarchy

RNG = np.random.default_rng
GRID = dp.Grid.uniform(0, 1, 256)


def values(rng, n=4000):
    return np.where(rng.random(n) < 0.3, 0.307, rng.normal(0.6, 0.15, n))


def released(mechanism=Dawa(0.1), seed=1, **how):  # noqa: B008 (it is frozen)
    return dp.cdf(values(RNG(seed)), GRID, mechanism, rng=RNG(seed + 1), **how)


def test_a_release_is_straight_between_knots_and_its_noise_is_known_at_them():
    raw = released(isotonic=False)
    at = np.append(-1, raw.knots)
    counts = np.append(0.0, raw.counts)
    assert np.allclose(np.interp(np.arange(GRID.size), at, counts[at + 1]), raw.counts)
    errors = []
    truth = np.cumsum(GRID.count(values(RNG(1))))
    for seed in range(300):
        own = dp.cdf(values(RNG(1)), GRID, Dawa(0.1), rng=RNG(seed), isotonic=False)
        errors.append(
            ((own.counts - truth) / np.maximum(own.noise_deviation, 1e-9))[own.knots[:-1]]
        )
    assert np.mean(np.concatenate(errors) ** 2) == pytest.approx(1.0, abs=0.05)


def test_other_mechanisms_have_noise_alone_everywhere():
    assert released(Hierarchy(1.0)).knots is None


def test_knots_stay_with_a_curve():
    curve = released()
    raw = curve.as_released()
    copies = [
        dp.load(curve.to_json()),
        pickle.loads(pickle.dumps(curve)),
        copy.deepcopy(curve),
        raw.isotonic(),
        raw.without_negative_counts(),
        dp.GroupedCDF(("a",), (curve,))["a"],
    ]
    for other in copies:
        assert np.array_equal(other.knots, curve.knots)
    assert copies[0] == curve
    assert replace(curve, knots=None) != curve
    assert not curve.knots.flags.writeable


def test_combined_curves_have_the_knots_that_all_have():
    parts = [released(seed=seed) for seed in (1, 2)]
    common = np.intersect1d(*(part.knots for part in parts))
    assert common.size < parts[0].knots.size
    for whole in (dp.combine(parts), dp.average(parts)):
        assert np.array_equal(whole.knots, common)
    trees = released(Hierarchy(1.0), seed=3)
    assert np.array_equal(dp.combine([parts[0], trees]).knots, parts[0].knots)


def test_groups_have_knots_of_their_own():
    rng = RNG(1)
    by = rng.integers(0, 3, 4000)
    groups = dp.cdf(values(rng), GRID, Dawa(0.1), by=by, groups=range(3), rng=rng)
    low, high = groups.band()
    for at, curve in enumerate(groups.values()):
        own = curve.band()
        assert np.array_equal(low[at], own[0])
        assert np.array_equal(high[at], own[1])
    rows = groups.quantile_interval([0.1, 0.5])
    alone = [curve.quantile_interval([0.1, 0.5]) for curve in groups.values()]
    assert np.array_equal(rows.low, [one.low for one in alone])
    assert np.array_equal(rows.high, [one.high for one in alone])


def test_both_classes_know_where_their_errors_are_noise_alone():
    rng = RNG(1)
    scores = rng.random(2000)
    labels = rng.random(2000) < scores
    curves = dp.score_curves(labels, scores, GRID, Dawa(0.5), rng=rng)
    negatives, positives = curves.known
    joint = set(curves.joint.knots.tolist())
    assert np.flatnonzero(negatives).tolist() == [at for at in range(256) if at in joint]
    mirrored = [at for at in range(255) if 510 - at in joint]
    assert np.flatnonzero(positives[:-1]).tolist() == mirrored

    cells = dp.Grid.integers(1, GRID.size + 1)  # the last one: records of the other class
    alone = [
        dp.cdf(np.where(of, np.ceil(scores * 256), 257), cells, Dawa(0.5), rng=rng)
        for of in (~labels, labels)
    ]
    both = dp.ScoreCurves.from_classes(GRID, *alone)
    for known, curve in zip(both.known, alone, strict=True):
        assert np.flatnonzero(known[:-1]).tolist() == [
            at for at in curve.knots.tolist() if at < GRID.size - 1
        ]


@pytest.mark.parametrize(
    ("knots", "error"),
    [
        ([255], dp.DtypeError),
        (np.array([255.0]), dp.DtypeError),
        (np.array([True]), dp.DtypeError),
        (np.array([[255]]), dp.ParameterError),
        (np.array([], np.int64), dp.ParameterError),
        (np.array([4, 7]), dp.ParameterError),
        (np.array([4, 4, 255]), dp.ParameterError),
        (np.array([7, 4, 255]), dp.ParameterError),
        (np.array([-1, 255]), dp.ParameterError),
        (np.array([255, 256]), dp.ParameterError),
    ],
)
def test_what_are_no_knots_is_refused(knots, error):
    with pytest.raises(error, match="knots"):
        replace(released(), knots=knots)


@pytest.mark.parametrize("knots", [[], [4], [255.0], ["255"], [300], None, "255", [[255]]])
def test_a_file_with_other_knots_is_refused(knots):
    text = json.dumps(json.loads(released().to_json()) | {"knots": knots})
    with pytest.raises(dp.FormatError, match="knots"):
        dp.load(text)


@pytest.mark.parametrize("p", [0.5, [0.1, 0.9]])
def test_groups_with_noise_of_several_kinds_have_the_intervals_of_each(p):
    curves = released(Hierarchy(1.0)), released(Hierarchy(rho=0.5)), released(Dawa(rho=0.01))
    found = dp.GroupedCDF(("a", "b", "c"), curves)
    low, high = found.band(0.99)
    ends = found.quantile_interval(p, 0.99)
    for at, curve in enumerate(curves):
        assert np.array_equal([low[at], high[at]], curve.band(0.99))
        own = curve.quantile_interval(p, 0.99)
        assert np.array_equal([ends.low[at], ends.high[at]], own)


def test_a_band_of_rates_contains_raw_rates_that_fall_between_knots():
    counts = np.array([30.0, 25.0, 20.0, 50.0, 50.0, 50.0, 50.0, 100.0])
    raw = dp.cdf(np.ones(100), dp.Grid.integers(1, 8), Dawa(1.0), rng=RNG(1), isotonic=False)
    joint = replace(
        raw,
        counts=counts,
        noise_deviation=np.append(np.ones(7), 0.0),
        knots=np.array([0, 2, 3, 4, 7]),
    )
    roc = dp.statistics.ROC(dp.ScoreCurves(dp.Grid([0.25, 0.5, 0.75, 1.0]), joint))
    band = roc.band()
    assert np.all((band.fpr_low <= roc.fpr) & (roc.fpr <= band.fpr_high))
    assert np.all((band.tpr_low <= roc.tpr) & (roc.tpr <= band.tpr_high))


def test_losses_have_one_sign_between_knots_and_everywhere_without_them():
    mechanism = Dawa(0.1)
    raw = released(mechanism, isotonic=False)
    for curve, least in ((raw, 2), (replace(raw, knots=None), 1)):
        simulation = Simulation(curve, mechanism)
        moved = (simulation.of_losses(8, RNG(3)) - simulation.truth)[:, :-1]
        own = simulation.losses[:-1] > 0.0
        assert own.any()
        assert np.allclose(np.abs(moved), simulation.losses[:-1])
        signs = {tuple(np.unique(np.sign(row[own]))) for row in moved}
        assert max(map(len, signs)) == least


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_survival_curve_whose_losses_are_not_known_has_no_band():
    durations, event = RNG(1).integers(1, 9, (2, 300))
    how = {"event_label": 1, "rng": RNG(2)}
    curve = dp.survival(durations, event, dp.Grid.uniform(0, 8, 4), Dawa(2.0), **how)
    stored = json.loads(curve.to_json())
    stored["row"]["noise_deviation"][0][0] = None
    read = dp.Survival.from_json(json.dumps(stored))
    for of in ("records", "population"):
        with pytest.raises(dp.ParameterError, match="noise_deviation"):
            read.band(of=of)
        with pytest.raises(dp.ParameterError, match="noise_deviation"):
            read.restricted_mean_interval(6, of=of)
