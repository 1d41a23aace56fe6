"""Exact sensitivity: what the mechanism claims against every pair of neighbouring inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore.mechanisms import Dyadic
from dpcore.noise import DiscreteLaplace
from tests import reference
from tests.audit.harness import least_shift, neighbouring_counts


def claimed(cells, base, sensitivity="exact"):
    """The sensitivity that a scale at epsilon = 1 stands for."""
    return Dyadic(1.0, base, sensitivity).noise_scale(cells)


def needed(cells, base):
    """The largest least shift over all neighbours, by integer programming."""
    matrix = reference.tree_matrix(cells - 1, base)
    changes = {
        tuple(np.cumsum(first - second)[:-1]) for first, second in neighbouring_counts(cells)
    }
    # a change and its opposite need the same shift
    halves = {max(change, tuple(-c for c in change)) for change in changes}
    return max(least_shift(matrix, np.array(change)) for change in halves)


@pytest.mark.sample(9)
@pytest.mark.parametrize("base", [2, 3, 4, 8])
@pytest.mark.parametrize("cells", [2, 3, 4, 6, 9])
def test_claim_is_exactly_what_integer_programming_finds(cells, base):
    assert claimed(cells, base) == needed(cells, base)


@pytest.mark.full
@pytest.mark.parametrize("base", [2, 3, 5])
@pytest.mark.parametrize("cells", [13, 17, 24, 33])
def test_claim_is_exactly_what_integer_programming_finds_larger(cells, base):
    assert claimed(cells, base) == needed(cells, base)


@pytest.mark.parametrize("base", [2, 3, 4, 5, 8, 16, 63, 64])
def test_claim_is_the_largest_distance_between_any_two_cells(base):
    for cells in range(2, 65):
        assert claimed(cells, base) == reference.distances(cells - 1, base).max(), cells


def test_the_papers_claim_covers_what_is_needed():
    for cells in range(2, 65):
        assert claimed(cells, 2, "paper") >= reference.distances(cells - 1, 2).max()


class Thin(Dyadic):
    """A broken mechanism: its noise is 20 % too small, so it overspends by 25 %."""

    def noise(self, size):
        law, unit = super().noise(size)
        return DiscreteLaplace(law.scale * Fraction(4, 5)), unit


def test_a_scale_that_is_a_fifth_too_small_is_caught():
    for cells in (2, 4, 9):
        assert Thin(1.0).noise_scale(cells) < needed(cells, 2)
