"""The tree kernels and the mechanism against Eq. 2, brute-force distances, and their variance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import dpcore as dp
from dpcore.kernels.trees import dyadic as kernels
from dpcore.kernels.trees.resistance import largest_resistance
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
    # the paper's scale would not be private for larger bases, and is refused there
    assert kernels.diameter(31, 4) > reference.levels(31, 4) + 1


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
    for size in (0, 2**24 + 1):
        with pytest.raises(dp.ParameterError, match="size"):
            Dyadic(1.0).noise_scale(size)
    with pytest.raises(dp.ParameterError, match="mechanism"):
        Dyadic(rho=1.0).noise_scale(2)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64, float, int, Fraction])
def test_epsilon_of_any_real_type(kind):
    assert Dyadic(kind(2)).noise_scale(2**15) == Fraction(15, 2)
    assert Dyadic(kind(2)).privacy == dp.Privacy(2.0)


def test_the_stated_epsilon_is_not_below_the_one_that_was_used():
    for denominator in range(1, 100):
        epsilon = Fraction(1, denominator)
        assert Fraction(Dyadic(epsilon).privacy.epsilon) >= epsilon


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, 64, 65, 66])
@pytest.mark.parametrize("base", [2, 3, 16])
def test_number_of_terms(size, base):
    expected = reference.levels(size - 1, base) + 1 if size > 1 else 0
    assert Dyadic(1.0, base).levels(size) == expected


def test_the_papers_error():
    mechanism = Dyadic(1.0, sensitivity="paper")
    assert mechanism.variance(2**15) == pytest.approx(2 * 16**3, rel=0.001)


# --- Gaussian noise: the largest effective resistance of the dyadic graph


def resistances(thresholds, base):
    """All effective resistances between boundaries, by the inverse of the Laplacian.

    Without the last boundary's row and column, which are 0 in the inverse: it is grounded. The
    whole Laplacian is singular, and its pseudoinverse depends on what is taken for 0.
    """
    matrix = reference.tree_matrix(thresholds, base)
    incidence = np.diff(np.vstack([np.zeros(matrix.shape[1]), matrix]), axis=0)
    inverse = np.pad(np.linalg.inv(incidence @ incidence.T), (0, 1))
    return np.diag(inverse)[:, None] + np.diag(inverse) - 2.0 * inverse


@pytest.mark.parametrize("base", [2, 3, 4, 7, 50])
def test_largest_resistance_is_that_of_the_laplacian(base):
    for thresholds in [*range(1, 40), 63, 64, 65, 81, 100]:
        expected = resistances(thresholds, base).max()
        assert largest_resistance(thresholds, base) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("cells", "base"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 2), (9, 2)])
def test_an_integral_flow_costs_no_more_than_is_claimed(cells, base):
    mechanism = Dyadic(rho=1.0, base=base)
    law, unit = mechanism.noise(cells)
    claimed = 2 * law.sigma_squared
    matrix = reference.tree_matrix(cells - 1, base)
    most = 0.0
    for a in range(cells):
        for b in range(a + 1, cells):
            change = np.array([1.0 if a <= t < b else 0.0 for t in range(cells - 1)]) * unit
            flow = least_squares_integers(matrix, change)
            assert np.array_equal(matrix @ flow, change)
            most = max(most, int((flow.astype(int) ** 2).sum()))
    assert most <= claimed
    assert most > 0.99 * float(claimed)


def least_squares_integers(matrix, change):
    """An integral flow near the electrical one: rounded, and mended by integer programming."""
    electrical = np.linalg.lstsq(matrix, change, rcond=None)[0]
    low = np.floor(electrical + 1e-9)
    slope = 2 * low + 1 - 2 * electrical  # of the square, where an entry is rounded up
    found = milp(
        slope,
        constraints=LinearConstraint(matrix, change - matrix @ low, change - matrix @ low),
        integrality=np.ones(low.size),
        bounds=Bounds(0, 1),
    )
    assert found.success, found.message
    return low + np.rint(found.x)


def test_electrical_flow_is_cheaper_than_a_shortest_path():
    law, unit = Dyadic(rho=0.5).noise(2**15)
    resistance = float(law.sigma_squared) / unit**2  # 2 rho = 1
    assert resistance == pytest.approx(4.166, abs=2e-3)
    assert Dyadic(epsilon=1.0).noise_scale(2**15) == 15


@pytest.mark.needs_jit
def test_gaussian_noise_on_the_tree_has_its_covariance():
    mechanism, matrix = Dyadic(rho=0.2, base=5), reference.tree_matrix(39, 5)
    released = mechanism.release(np.zeros(40, int), rng=np.random.default_rng(2), replicates=20_000)
    covariance = matrix @ matrix.T
    scale = mechanism.variance(40) / covariance[0, 0]
    assert np.cov(released[:, :-1].T) == pytest.approx(scale * covariance, abs=0.42 * scale)
