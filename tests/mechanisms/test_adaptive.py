"""Adaptive quantiles: the definition, what is asked, several sites, and the ends of the grid."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.selection import adaptive as kernels
from dpcore.mechanisms.adaptive import AdaptiveQuantiles
from dpcore.noise.sources import source
from tests import reference

BETWEEN = ["step", "linear"]
BUDGETS = [{"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6}]
COUNTS = st.lists(st.integers(0, 20), min_size=1, max_size=40)


def first_noise(mechanism, size, seed, sites=1):
    """The noise of the first of some releases with a generator of that seed, in counts."""
    law, bits = mechanism.noise(size)
    draws = np.zeros((sites, mechanism.questions(size)), np.int64)
    if law:
        law.fill(draws.reshape(-1), source(np.random.default_rng(seed)).spawn(1)[0])
    return draws * 2.0**-bits


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("budget", BUDGETS)
@settings(max_examples=25)
@given(counts=COUNTS, steps=st.integers(1, 50), seed=st.integers(0, 2**32))
def test_releases_are_those_of_the_definition(counts, steps, seed, between, budget):
    mechanism = AdaptiveQuantiles(steps=steps, between=between, **budget)
    noise = first_noise(mechanism, len(counts), seed)[0]
    expected = reference.adaptive_quantiles(counts, noise.tolist(), between)
    found = mechanism.release(np.array(counts), rng=np.random.default_rng(seed))
    assert found == pytest.approx(expected, abs=1e-9)
    assert found[0] >= 0
    assert np.all(np.diff(found) >= 0)
    assert found[-1] == sum(counts)


@settings(max_examples=60)
@given(st.data())
def test_questions_and_sorting(data):
    counts = data.draw(st.lists(st.integers(0, 20), min_size=2, max_size=40))
    asked = data.draw(st.integers(1, len(counts) - 1))
    noise = data.draw(st.lists(st.integers(-30, 30), min_size=asked, max_size=asked))
    totals = np.cumsum(counts)
    thresholds = np.empty((1, asked + 2), np.int64)
    answers = np.empty((1, asked + 2))
    kernels.adaptive_quantiles(
        totals, np.array([noise]), 1.0, float(totals[-1]), thresholds, answers
    )
    expected = dict(reference.adaptive_questions(counts, noise))
    inside = zip(thresholds[0, 1:-1].tolist(), answers[0, 1:-1].tolist(), strict=True)
    assert dict(inside) == expected
    assert thresholds[0, [0, -1]].tolist() == [0, len(counts)]
    assert answers[0, [0, -1]].tolist() == [0, totals[-1]]
    # no threshold is asked twice, and sorting brings no answer further away, all in all
    assert np.all(np.diff(thresholds) > 0)
    true = np.append(0, totals)[thresholds[0]]
    for power in (1, 2, 3):
        before, after = (np.sum(np.abs(a - true) ** power) for a in (answers, np.sort(answers)))
        assert after <= before + 1e-9


def test_one_question_goes_where_the_curve_rises_most():
    # all records in one cell: with answers that are exact, every question halves the search
    size = 2**12
    for cell in (0, 1, 1000, 2**11 - 1, 2**11, size - 1):
        counts = np.zeros(size, int)
        counts[cell] = 10**6
        for steps in (1, 5, 12):
            found = AdaptiveQuantiles(1e7, steps).release(counts)
            assert found[cell] in (0, 10**6)
            lines = AdaptiveQuantiles(1e7, steps, between="linear").release(counts)
            between = np.count_nonzero((lines > 0) & (lines < 10**6))
            assert between == size // 2**steps - 1


@pytest.mark.parametrize("size", [1, 2, 3, 10, 51])
def test_a_grid_with_fewer_thresholds_than_steps_has_each_asked_once(size):
    counts = np.random.default_rng(1).integers(0, 50, size)
    for between in BETWEEN:
        mechanism = AdaptiveQuantiles(1e7, 50, between=between)
        assert mechanism.questions(size) == size - 1
        assert mechanism.release(counts).tolist() == np.cumsum(counts).tolist()
    law, _ = AdaptiveQuantiles(0.5, 50).noise(size)
    assert (law is None) == (size == 1)
    assert size == 1 or law.scale == Fraction(size - 1) / Fraction(1, 2)


def test_without_noise_to_speak_of_known_thresholds_are_exact():
    counts = np.random.default_rng(1).integers(0, 50, 1000)
    true = np.cumsum(counts)
    for budget in ({"epsilon": 1e8}, {"rho": 1e9}):
        steps = AdaptiveQuantiles(steps=20, **budget).release(counts)
        jumps = np.flatnonzero(np.diff(steps, prepend=0.0))
        assert jumps.size == 21
        assert steps[jumps].tolist() == true[jumps].tolist()
        lines = AdaptiveQuantiles(steps=20, between="linear", **budget).release(counts)
        assert lines[jumps].tolist() == true[jumps].tolist()
        assert np.abs(lines - true).max() < 0.05 * true[-1]


@settings(max_examples=60)
@given(st.data())
def test_lines_and_steps_through_known_points(data):
    size = data.draw(st.integers(1, 40))
    inner = data.draw(st.sets(st.integers(1, size), max_size=size))
    at = np.array([[0, *sorted(inner - {size}), size]])
    known = data.draw(st.lists(st.floats(-1e9, 1e9), min_size=at.size, max_size=at.size))
    counts = np.array([known])
    points = dict(zip(at[0].tolist(), known, strict=True))
    out = np.empty((1, size))
    kernels.steps_through(at, counts, out)
    assert out[0].tolist() == reference.through(points, size, "step").tolist()
    kernels.lines_through(at, counts, out)
    assert out[0] == pytest.approx(reference.through(points, size, "linear"), rel=1e-9, abs=1e-3)
    kernels.lines_through(at, np.sort(counts), out)  # monotone, with no tolerance
    assert np.all(np.diff(out, prepend=min(known)) >= 0)
    assert out[0, -1] == max(known)


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", BUDGETS)
def test_an_answers_noise_is_as_predicted(budget):
    counts = np.array([10**6, 10**6])
    mechanism = AdaptiveQuantiles(**budget)
    found = mechanism.release(counts, rng=np.random.default_rng(2), replicates=20_000)
    assert found[:, 0].std() == pytest.approx(mechanism.answer_deviation(2), rel=0.05)
    assert abs(found[:, 0].mean() - 10**6) < 5.5 * mechanism.answer_deviation(2) / 20_000**0.5
    sites = np.array([[10**6, 0], [0, 10**6], [5, 7], [0, 0]])
    found = mechanism.release_from_sites(sites, rng=np.random.default_rng(2), replicates=20_000)
    assert found[:, 0].std() == pytest.approx(2 * mechanism.answer_deviation(2), rel=0.05)
    assert found[:, 0].mean() == pytest.approx(10**6 + 5, abs=0.05 * found[:, 0].std())
    assert np.all(found[:, 1] == 2 * 10**6 + 12)


def test_every_answer_pays_its_share_of_the_budget():
    deviations = [AdaptiveQuantiles(1.0, steps).answer_deviation(1000) for steps in (1, 4, 16)]
    assert deviations[1] / deviations[0] == pytest.approx(4, rel=0.06)
    assert deviations[2] / deviations[1] == pytest.approx(4, rel=0.01)
    for budget in BUDGETS[1:]:  # Gaussian noise is paid by the root
        deviations = [AdaptiveQuantiles(steps=s, **budget).answer_deviation(99) for s in (4, 16)]
        assert deviations[1] / deviations[0] == pytest.approx(2, rel=0.001)
    assert AdaptiveQuantiles(1.0).answer_deviation(1) == 0.0


# --- several sites


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_site_is_a_release(budget):
    counts = np.random.default_rng(1).integers(0, 9, 300)
    mechanism = AdaptiveQuantiles(steps=20, between="linear", **budget)
    for replicates in (None, 100):
        alone = mechanism.release(
            counts, rng=np.random.default_rng(3), replicates=replicates, workers=1
        )
        asked = mechanism.release_from_sites(
            counts[np.newaxis], rng=np.random.default_rng(3), replicates=replicates, workers=2
        )
        assert np.array_equal(alone, asked)
        assert asked.dtype == alone.dtype


@settings(max_examples=60)
@given(
    sites=st.lists(st.lists(st.integers(0, 9), min_size=12, max_size=12), min_size=1, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_sites_answers_add_up(sites, seed):
    mechanism = AdaptiveQuantiles(2.0, 7)
    noise = first_noise(mechanism, 12, seed, len(sites)).sum(axis=0)
    summed = np.sum(sites, axis=0)
    expected = reference.adaptive_quantiles(summed.tolist(), noise.tolist(), "step")
    found = mechanism.release_from_sites(np.array(sites), rng=np.random.default_rng(seed))
    assert found.tolist() == expected.tolist()


def test_sites_round_their_own_totals():
    # on a lattice of 2 counts each of the sites' odd totals is rounded down
    mechanism = AdaptiveQuantiles(1e-9, 2, delta=1.45e-8)
    _, bits = mechanism.noise(3)
    assert bits == -1
    seen = []
    for sites in ([[1, 0, 2**40]] * 4, [[0, 0, 2**40]] * 4):
        work = mechanism._asking(np.array(sites))
        out = np.empty((50, 3))
        work.fill(out, source(np.random.default_rng(1)))
        seen.append(out[:, :2])
    assert np.array_equal(*seen)


# --- in releases


@pytest.mark.needs_jit
def test_releases_from_sites_do_not_depend_on_threads():
    sites = np.random.default_rng(1).poisson(3, (3, 700))
    first, second = (
        AdaptiveQuantiles(0.5, 10).release_from_sites(
            sites, rng=np.random.default_rng(3), replicates=4000, workers=workers
        )
        for workers in (1, 3)
    )
    assert np.array_equal(first, second)
    assert np.unique(first[:, 400]).size > 30


def test_its_curves_are_monotone_and_their_error_is_not_known():
    mechanism = AdaptiveQuantiles(0.5, 8, between="linear")
    values = np.linspace(0, 1, 1000)
    curve = dp.cdf(values, dp.Grid.uniform(0, 1, 64), mechanism, isotonic=False)
    assert curve.is_monotone
    assert curve.isotonic().counts.tolist() == curve.counts.tolist()
    assert curve.noise_deviation.tolist() == [np.inf] * 63 + [0]
    low, high = curve.band()
    assert np.all(low[:-1] == 0)
    assert np.all(high[:-1] == 1)


@pytest.mark.parametrize(
    "counts",
    [
        [3, 4],
        np.zeros((0, 4), int),
        np.zeros((4, 0), int),
        [[3.0, 4.0]],
        [[3, -1], [0, 4]],
        [[2**45, 1], [2**45, 2]],
    ],
)
def test_bad_sites(counts):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match="counts"):
        AdaptiveQuantiles(1.0).release_from_sites(counts)
    with pytest.raises(dp.DtypeError, match="rng"):
        AdaptiveQuantiles(1.0).release_from_sites([[1, 2]], rng=5)
