"""The tree kernels and the mechanism against Eq. 2, brute-force distances, and their variance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.trees import dyadic as kernels
from dpcore.mechanisms import Dyadic
from tests import reference


@settings(max_examples=60)
@given(st.integers(1, 70), st.integers(2, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_noise_in_a_threshold_is_the_sum_over_its_nodes(size, base, replicates, seed):
    matrix = reference.tree_matrix(size, base)
    assert kernels.node_count(size, base) == matrix.shape[1]
    draws = np.random.default_rng(seed).integers(-100, 100, (replicates, matrix.shape[1]))
    out = np.full((replicates, size), 1000)
    kernels.add_ancestors(draws.copy(), base, out)
    assert np.array_equal(out, 1000 + draws @ matrix.T)


@pytest.mark.parametrize("base", [2, 3, 4, 5, 7, 10, 31, 64, 100])
def test_diameter_is_the_largest_shortest_path(base):
    for size in range(1, 65):
        assert kernels.diameter(size, base) == reference.distances(size, base).max(), size


@settings(max_examples=25)
@given(st.integers(65, 160), st.integers(2, 20))
def test_diameter_beyond_the_small_sizes(size, base):
    assert kernels.diameter(size, base) == reference.distances(size, base).max()


def test_known_sensitivities():
    assert [kernels.diameter(2**level, 2) for level in range(1, 12)] == list(range(1, 12))
    assert kernels.diameter(0, 2) == 0
    assert kernels.diameter(2**24, 2) == 24


@pytest.mark.parametrize("epsilon", [1, 0.1, 0.3, Fraction(1, 3), 1000.0, 1e-9, 2**20 + 0.5])
@pytest.mark.parametrize("size", [2, 3, 100, 2**15])
def test_scale_never_overspends_and_wastes_little(epsilon, size):
    exact = int(kernels.diameter(size - 1, 2)) / Fraction(epsilon)
    scale = Dyadic(epsilon).noise_scale(size)
    assert exact <= scale <= exact * (1 + Fraction(1, 2**29))
    assert scale.numerator < 2**31 or scale.denominator == 1


def test_scales_of_whole_ratios_are_whole():
    assert Dyadic(1.0).noise_scale(2**15) == 15
    assert Dyadic(0.1).noise_scale(2**15) == 150
    assert Dyadic(1.0, sensitivity="paper").noise_scale(2**15) == 16
    assert Dyadic(0.5, sensitivity="paper").noise_scale(2**10) == 22
    assert Dyadic(1.0).noise_scale(1) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, float, int, Fraction])
def test_epsilon_of_any_real_type(kind):
    assert Dyadic(kind(2)).noise_scale(2**15) == Fraction(15, 2)
    assert Dyadic(kind(2)).privacy == dp.Privacy(2.0)


def test_the_stated_epsilon_is_not_below_the_one_that_was_used():
    for denominator in range(1, 100):
        epsilon = Fraction(1, denominator)
        assert Fraction(Dyadic(epsilon).privacy.epsilon) >= epsilon


def test_the_papers_scale_is_refused_where_it_would_not_be_private():
    assert kernels.diameter(31, 4) > reference.levels(31, 4) + 1
    with pytest.raises(dp.ParameterError, match="base must be 2 with sensitivity"):
        Dyadic(1.0, base=4, sensitivity="paper")


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 65, 66])
@pytest.mark.parametrize("base", [2, 3, 16])
def test_number_of_terms(size, base):
    expected = reference.levels(size - 1, base) + 1 if size > 1 else 0
    assert Dyadic(1.0, base).levels(size) == expected


@pytest.mark.needs_jit
@pytest.mark.parametrize(("size", "base"), [(2, 2), (64, 2), (100, 2), (37, 5), (200, 200)])
def test_mean_squared_error_in_closed_form(size, base):
    mechanism = Dyadic(0.7, base)
    counts = np.arange(size)
    released = mechanism.release(counts, rng=np.random.default_rng(2), replicates=40_000)
    errors = released - np.cumsum(counts)
    assert np.mean(errors**2.0) == pytest.approx(mechanism.mean_squared_error(size), rel=0.03)
    deviation = mechanism.noise_deviation(size)
    assert np.std(errors[:, :-1]) == pytest.approx(deviation[0], rel=0.02)
    assert deviation[-1] == 0
    assert np.all(errors[:, -1] == 0)


def test_the_papers_error():
    mechanism = Dyadic(1.0, sensitivity="paper")
    assert mechanism.variance(2**15) == pytest.approx(2 * 16**3, rel=0.001)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_replicates_are_the_same_on_any_number_of_threads(size, monkeypatch):
    monkeypatch.setattr("dpcore.mechanisms.budgeted._BLOCK_DRAWS", 1000)
    counts = np.arange(size)
    releases = [
        Dyadic(1.0).release(counts, rng=np.random.default_rng(9), replicates=57, workers=workers)
        for workers in (1, 2, 7, None)
    ]
    assert releases[0].shape == (57, size)
    for other in releases[1:]:
        assert np.array_equal(releases[0], other)


def test_replicates_and_calls_are_independent():
    rng = np.random.default_rng(4)
    counts = np.zeros(50, int)
    first = Dyadic(0.1).release(counts, rng=rng, replicates=30)
    second = Dyadic(0.1).release(counts, rng=rng, replicates=30)
    assert np.unique(np.vstack([first, second]), axis=0).shape[0] == 60


def test_release_leaves_its_input_alone_and_draws_anew():
    counts = np.arange(20)
    first, second = (Dyadic(0.01).release(counts) for _ in range(2))
    assert np.array_equal(counts, np.arange(20))
    assert not np.array_equal(first, second)
    assert first.shape == (20,)
    assert first[-1] == second[-1] == counts.sum()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dyadic(0), "epsilon must be positive and finite; got 0"),
        (lambda: Dyadic(-1.0), "epsilon must be positive and finite; got -1.0"),
        (lambda: Dyadic(float("nan")), "epsilon must be finite; got nan"),
        (lambda: Dyadic(float("inf")), "epsilon must be finite; got inf"),
        (lambda: Dyadic("1"), "epsilon must be a real number; got '1'"),
        (lambda: Dyadic(1.0, 1), "base must be between 2"),
        (lambda: Dyadic(1.0, 2.0), "base must be an integer"),
        (lambda: Dyadic(1.0, sensitivity="none"), "sensitivity must be one of 'exact', 'paper'"),
        (lambda: Dyadic(1.0).noise_scale(0), "size must be between 1"),
        (lambda: Dyadic(1e-15).noise_scale(100), "epsilon is too small"),
        (lambda: Dyadic(1.0).release(np.ones(3)), "counts must hold integers"),
        (lambda: Dyadic(1.0).release(np.ones((2, 2), int)), "counts must be one-dimensional"),
        (lambda: Dyadic(1.0).release(np.ones(2, int), replicates=0), "replicates must be"),
        (lambda: Dyadic(1.0).release(np.ones(2, int), workers=0), "workers must be"),
        (lambda: Dyadic(1.0).release(np.ones(2, int), rng=1), "rng must be a generator"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        make()
