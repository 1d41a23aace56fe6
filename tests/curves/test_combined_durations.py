"""Curves of durations of several sites as one: sums of their rows, with bands of their noise."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms import Dawa, Hierarchy, NoNoise

ENDS = ("low", "high")
GRID = dp.Grid.uniform(0, 12, 12)
SIZES = (700, 400, 900)
RNG = np.random.default_rng


def records(n, seed):
    rng = RNG(seed)
    until_event, until_end = rng.exponential(10, n), rng.uniform(0, 20, n)
    return np.minimum(until_event, until_end), until_event <= until_end


SITES = [records(n, seed) for seed, n in enumerate(SIZES)]
WHOLE = tuple(np.concatenate(column) for column in zip(*SITES, strict=True))
EXACT = dp.survival(*WHOLE, GRID, NoNoise())


def released(rng, mechanism=None):
    spent = {"epsilon": 1.0} if mechanism is None else {"mechanism": mechanism}
    return [dp.survival(*site, GRID, rng=rng, **spent) for site in SITES]


def test_exact_curves_of_sites_are_that_of_all_records():
    found = dp.combine([dp.survival(*site, GRID, NoNoise()) for site in SITES])
    assert type(found) is dp.Survival
    assert np.array_equal(found.survival, EXACT.survival)
    assert np.array_equal(found.at_risk, EXACT.at_risk)
    groups = {"by": np.repeat(["a", "b", "c"], SIZES), "groups": ["a", "b", "c"]}
    of_groups = dp.survival(*WHOLE, GRID, NoNoise(), **groups)
    assert np.array_equal(dp.combine(of_groups).survival, EXACT.survival)
    assert dp.combine(of_groups) == dp.combine(of_groups.values())
    noisy = dp.survival(*WHOLE, GRID, epsilon=1.0, rng=RNG(1), **groups)  # their sizes, too
    low, high = dp.combine(noisy).band()
    assert np.all(low < high)


def test_incidences_are_combined_by_kind():
    kinds = [RNG(seed).integers(0, 3, n) for seed, n in enumerate(SIZES)]
    given = [(site[0], kind, GRID, [1, 2]) for site, kind in zip(SITES, kinds, strict=True)]
    found = dp.combine([dp.cumulative_incidence(*one, NoNoise()) for one in given])
    whole = dp.cumulative_incidence(WHOLE[0], np.concatenate(kinds), GRID, [1, 2], NoNoise())
    assert np.array_equal(found.incidence, whole.incidence)
    other = dp.cumulative_incidence(*given[0][:3], [2, 1], NoNoise())
    with pytest.raises(dp.ParameterError, match="curves must all be a CumulativeIncidence"):
        dp.combine([whole, other])


def test_noise_adds_up():
    of_sites = released(RNG(1), Hierarchy(1.0))
    found = dp.combine(of_sites)
    assert found.n == sum(SIZES)
    assert found.privacy == dp.Privacy(1.0, 0.0, "replace-one-within-group", True)
    expected = np.sqrt(np.sum([site.at_risk_deviation**2 for site in of_sites], axis=0))
    assert found.at_risk_deviation[1:] == pytest.approx(expected[1:], rel=0.4)  # 100 simulations
    assert np.array_equal(found.row.raw, np.sum([site.row.raw for site in of_sites], axis=0))
    other = dp.survival(*records(800, 9), GRID, epsilon=1.0, rng=RNG(2))
    assert 0 < dp.log_rank_test(found, other, simulations=99).pvalue <= 1
    again = dp.load(found.to_json())
    assert np.array_equal(again.survival, found.survival)
    assert again.mechanism is None  # several mechanisms are not made again
    assert list(again.to_frame()) == [name for name in found.to_frame() if name not in ENDS]
    with pytest.raises(dp.ParameterError, match="level"):
        again.to_frame(95)
    assert len(found.plot().collections) == len(again.plot().collections) + 1
    assert "Survival" in dp.report(again)
    rng = RNG(1)
    with pytest.raises(dp.ParameterError, match="rng"):
        found.mechanism.release(np.ones(24, int))
    counts = np.full(24, 50)
    noise = found.mechanism.release(counts, rng=rng, replicates=2000) - np.cumsum(counts)
    assert np.sqrt(np.mean(noise**2, axis=0)) == pytest.approx(found.row.noise_deviation, rel=0.2)


def test_a_mechanism_that_looks_at_records_gets_a_part_of_them():
    found = dp.combine(released(RNG(1), Dawa(1.0)))
    assert not found.mechanism.is_additive
    counts = np.arange(24) + 72
    drawn = found.mechanism.release(counts, rng=RNG(1))
    assert np.abs(drawn - np.cumsum(counts)).max() < 200
    low, high = found.band()
    assert np.all(low < high)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Dawa(1.0)], ids=["hierarchy", "dawa"])
def test_bands_hold(mechanism):
    hits, rng = [], RNG(3)
    for _ in range(40 if mechanism.is_additive else 12):
        low, high = dp.combine(released(rng, mechanism)).band(0.9)
        hits.append((low <= EXACT.survival) & (EXACT.survival <= high))
    assert np.mean(hits) >= 0.84  # of 480, which are alike within a curve
    if mechanism.is_additive:
        assert np.mean(hits) <= 0.96


def test_errors_name_the_arguments():
    first, second, third = released(RNG(1))

    def refused(match, curves, kind=dp.ParameterError, **given):
        with pytest.raises(kind, match=match):
            dp.combine(curves, **given)

    refused("weights must be None", [first, second], weights=[1, 2])
    refused("curves must each be a release of its own", [first, first])
    refused("curves must all be curves of durations", [first, second.row], dp.DtypeError)
    refused("curves", [first.row, second], dp.DtypeError)
    refused("curves must be a list", {first, second}, dp.DtypeError)
    finer = dp.survival(*SITES[2], dp.Grid.uniform(0, 12, 6), epsilon=1.0)
    refused("curves must all be a Survival over one grid", [first, finer])
    later = dp.survival(*SITES[2], dp.Grid.uniform(1, 13, 12), epsilon=1.0, rng=RNG(1))
    refused("curves must all be a Survival over one grid", [first, second, later])
    refused("hold at least one", [])
    assert dp.combine([third]).n == third.n
