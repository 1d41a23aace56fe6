"""The largest effective resistance of the dyadic graph, and Gaussian noise on the tree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from dpcore.kernels.trees.resistance import largest_resistance
from dpcore.mechanisms import Dyadic
from tests import reference


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


@pytest.mark.needs_jit
@pytest.mark.parametrize("base", [2, 5])
def test_gaussian_noise_on_the_tree_has_the_variance_that_is_claimed(base):
    counts = np.random.default_rng(1).poisson(3, 40)
    mechanism = Dyadic(rho=0.2, base=base)
    found = mechanism.release(counts, rng=np.random.default_rng(2), replicates=20_000)
    errors = found - np.cumsum(counts)
    assert errors.std(axis=0) == pytest.approx(mechanism.noise_deviation(40), rel=0.03, abs=1e-12)
    assert np.all(errors[:, -1] == 0.0)
    covariance = reference.tree_matrix(39, base) @ reference.tree_matrix(39, base).T
    scale = mechanism.variance(40) / covariance[0, 0]
    assert np.cov(errors[:, :-1].T) == pytest.approx(scale * covariance, abs=0.06 * scale * 7)


def test_electrical_flow_is_cheaper_than_a_shortest_path():
    law, unit = Dyadic(rho=0.5).noise(2**15)
    resistance = float(law.sigma_squared) / unit**2  # 2 rho = 1
    assert resistance == pytest.approx(4.166, abs=2e-3)
    assert Dyadic(epsilon=1.0).noise_scale(2**15) == 15
