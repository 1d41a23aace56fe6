"""The Hosmer-Lemeshow test knows of a score only its cell: this is not taken for a misfit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import chi2, ncx2

import dpcore as dp
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.hosmer_lemeshow import FINEST, arcsine_grid, suited
from dpcore.statistics.binning import Cells
from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow, _normal_scores
from dpcore.statistics.right_labels import RightLabels

RNG = np.random.default_rng
MANY = 500_000
FEW = np.array([0.02, 0.05, 0.11, 0.17, 0.23, 0.31, 0.42, 0.55, 0.68, 0.9])


def few_values(n, rng):
    return FEW[rng.integers(0, FEW.size, n)]


def spikes(n, rng):
    """Half of the probabilities are whole percentages, and half are anywhere."""
    smooth = rng.beta(1.5, 5, n)
    return np.where(rng.random(n) < 0.5, np.clip(smooth.round(2), 0.01, 0.99), smooth)


def at_upper_ends(n, rng):
    """Probabilities that are the ends of 128 cells, where the middle is off by the most."""
    return arcsine_grid().thresholds[rng.integers(20, 100, n)]


def labels(p, rng, slope=1.0):
    return rng.random(p.size) < (p if slope == 1.0 else expit(slope * logit(p)))


def rejected(shape, n, runs, slope=1.0, release=dp.hosmer_lemeshow, **options):
    """Return in how many runs the p-value is at most 0.05."""
    count = 0
    for seed in range(runs):
        rng = RNG(seed)
        p = shape(n, rng)
        test = release(labels(p, rng, slope), p, fitted=False, rng=rng, **options)
        count += test.under_noise(39, rng).pvalue <= 0.05
    return count


# --- how often models are rejected


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", [few_values, spikes, at_upper_ends])
def test_a_right_model_with_discrete_scores_is_not_rejected(shape):
    assert rejected(shape, MANY, 8, epsilon=1.0) <= 3  # of 8, where less than 1 is expected


@pytest.mark.needs_jit
def test_published_groups_do_not_reject_it():
    options = {"release": hosmer_lemeshow_by_groups, "epsilon": 1.0}
    assert rejected(few_values, 50_000, 8, **options) <= 3


@pytest.mark.sample(2)
@pytest.mark.needs_jit
@pytest.mark.parametrize("mechanism", [Hierarchy(1.0), Dyadic(5.0)])
@pytest.mark.parametrize("grid", [arcsine_grid(), dp.Grid.uniform(0, 1, 100)])
def test_nor_on_coarse_cells_of_ones_own(mechanism, grid):
    assert rejected(at_upper_ends, MANY, 6, grid=grid, mechanism=mechanism) <= 2


@pytest.mark.needs_jit
@pytest.mark.parametrize("shape", [few_values, spikes])
def test_a_wrong_slope_is_still_found(shape):
    assert rejected(shape, MANY, 3, slope=1.1, epsilon=1.0) == 3


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("fitted", [True, False])
def test_without_noise_either(fitted):
    rng = RNG(1)
    p = at_upper_ends(10 * MANY, rng)
    y = labels(p, rng)
    test = dp.hosmer_lemeshow(y, p, grid=arcsine_grid(), mechanism=NoNoise(), fitted=fitted)
    assert test.pvalue_ignoring_noise < 1e-9
    assert test.pvalue > 0.05
    fine = dp.hosmer_lemeshow(y, p, mechanism=NoNoise(), fitted=False)
    assert fine.pvalue > 0.01
    steep = dp.hosmer_lemeshow(labels(p, rng, 1.1), p, mechanism=NoNoise(), fitted=False)
    assert steep.pvalue < 1e-9


# --- what the width of cells can do


@pytest.mark.needs_jit
@pytest.mark.parametrize("fitted", [True, False])
def test_the_simulation_has_the_worst_places_in_cells(fitted):
    """Of a fit, all upper ends are less bad: they are near the directions in which it is exact."""
    rng, n = RNG(1), 50_000
    p = rng.beta(1.5, 5, n)
    test = dp.hosmer_lemeshow(labels(p, rng), p, fitted=fitted, epsilon=1.0, rng=rng)
    given, cells = test.simulation, Cells.of(test.simulation.curves)
    assert test.cell_noncentrality > 1
    scores = []
    for places in (cells.starts, cells.middles):
        other = RightLabels.of(given.labels[0].records, places, fitted)
        scores.append(_normal_scores(*replace(given, labels=(other, other))(2000, RNG(2))))
    worst = np.quantile(_normal_scores(*given(2000, RNG(3))), 0.95)
    lower, middle = (np.mean(each >= worst) for each in scores)
    assert middle < 0.04  # without a thought for cells, a right model would be at 0.05
    assert lower < (0.05 if fitted else 0.065)


@settings(max_examples=60)
@given(st.lists(st.floats(0, 1), min_size=3, max_size=60), st.integers(1, 40))
def test_what_arcsine_cells_add_is_bounded_by_public_numbers(probabilities, cells):
    """The proof's bound, for any records."""
    curves = dp.score_curves(
        np.arange(len(probabilities)) % 2, probabilities, arcsine_grid(cells), NoNoise()
    )
    test = HosmerLemeshow.from_curves(curves, 3, fitted=False)
    assert test.cell_noncentrality <= test.n * np.sin(np.pi / (2 * cells)) ** 2 * (1 + 1e-9)


def test_what_room_for_cells_costs_if_scores_are_in_the_middles():
    """The proof's numbers, for 10 groups without noise."""
    shifts = np.linspace(0.01, 4.0, 400)
    lost = 0.05 - chi2.sf(ncx2.ppf(0.95, 10, shifts), 10)
    assert np.all(lost <= 0.029 * shifts)
    assert lost[0] == pytest.approx(chi2.pdf(chi2.ppf(0.95, 10), 12) * shifts[0], rel=0.02)
    assert shifts[lost > 0.01][0] == pytest.approx(0.39, abs=0.011)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=3, max_size=60),
    st.sampled_from([arcsine_grid(7), dp.Grid.uniform(0, 1, 5), dp.Grid([0.1, 0.7, 1.0])]),
)
def test_expected_numbers_are_within_their_bounds(records, grid):
    y, p = (np.array(column) for column in zip(*records, strict=True))
    curves = dp.score_curves(y, p, grid, NoNoise())
    test = HosmerLemeshow.from_curves(curves, 3, minimum_expected=0)
    lower = np.append(-1.0, test.edges[1:-1])
    inside = (lower[:, None] < p) & (p <= test.edges[1:, None])
    assert np.all(np.abs(test.expected[:, 1] - inside @ p) <= test.cell_errors + 1e-9)


@pytest.mark.parametrize("cells", [16, 128, 1024])
def test_the_pvalue_without_noise_is_the_noncentral_tail(cells):
    rng = RNG(2)
    p = rng.beta(2, 5, 20_000)
    for slope in (1.0, 1.2):
        test = dp.hosmer_lemeshow(
            labels(p, rng, slope), p, grid=arcsine_grid(cells), mechanism=NoNoise(), fitted=False
        )
        variances = test.expected.prod(axis=1) / test.expected.sum(axis=1)
        shift = np.sum(test.cell_errors**2 / variances)
        expected = ncx2.sf(test.statistic, test.degrees_of_freedom, shift)
        assert test.pvalue == pytest.approx(expected, rel=1e-6, abs=1e-14)


def test_published_groups_have_no_cells():
    rng = RNG(3)
    p = few_values(1000, rng)
    test = hosmer_lemeshow_by_groups(labels(p, rng), p, epsilon=1.0)
    assert test.cell_errors.tolist() == [0.0] * 10


# --- the default grid


@pytest.mark.parametrize("n", [100, 5000, 50_000, 500_000, 10**8])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_default_has_the_least_error(n, epsilon):
    def variance(cells):
        return Hierarchy(epsilon).mean_squared_error(2 * cells)

    counts = np.zeros(2 * FINEST, np.int64)
    counts[:2] = n - 7, 7
    grid, joined = suited(counts, 10, variance)
    sizes = [2**k for k in range(7, 13)]
    errors = [(np.pi * n / 10 / (4 * size)) ** 2 + 3 * variance(size) for size in sizes]
    assert grid == arcsine_grid(sizes[int(np.argmin(errors))])
    assert joined.sum() == n
    other = np.zeros(2 * FINEST, np.int64)
    other[-1] = n
    assert suited(other, 10, variance)[0] == grid  # it depends on n alone


@pytest.mark.parametrize(
    ("options", "cells"),
    [
        ({"mechanism": NoNoise()}, FINEST),
        ({"mechanism": Dawa(1.0)}, FINEST),  # its error depends on the records
        ({"epsilon": 1.0}, 128),
        ({"mechanism": (Hierarchy(0.5), Dyadic(0.5))}, 128),
        ({"epsilon": 1.0, "grid": arcsine_grid(77)}, 77),
    ],
)
def test_the_counts_are_those_of_the_grid(options, cells):
    rng = RNG(4)
    p = spikes(2000, rng)
    y = labels(p, rng)
    grid = arcsine_grid(cells)
    test = dp.hosmer_lemeshow(y, p, rng=RNG(5), **options)
    again = dp.hosmer_lemeshow(y, p, rng=RNG(5), **{**options, "grid": grid})
    assert np.array_equal(test.observed, again.observed)
    assert np.array_equal(test.edges, again.edges)
    assert set(test.edges) <= {0.0, *grid.thresholds}


@pytest.mark.parametrize("mechanism", [(), (NoNoise(),), "dyadic", (NoNoise(), "dyadic"), NoNoise])
def test_no_mechanism_is_an_error_of_its_own(mechanism):
    with pytest.raises(dp.DpcoreError, match="mechanism"):
        dp.hosmer_lemeshow([0, 1] * 20, [0.3, 0.6] * 20, mechanism=mechanism)


def test_a_budget_too_small_for_the_finest_grid_is_enough_for_a_coarser_one():
    def variance(cells):
        if cells > 256:
            raise dp.ParameterError("epsilon", 0.0, "is too small")
        return 0.0

    counts = np.full(2 * FINEST, 1000)
    assert suited(counts, 10, variance)[0].size == 256
    with pytest.raises(dp.ParameterError, match="epsilon"):
        suited(counts, 10, lambda cells: variance(cells + FINEST))
