"""Square waves: the exact law of a report for all cells, and samples of the real code."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.trust.models.square_wave_reports import SquareWaveEncoding
from tests import reference
from tests.audit.harness import epsilon_lower_bound

EPSILONS = (Fraction(1, 2**20), 0.1, 1, Fraction(5, 2), 5.0, 20, 40)
SIZES = (2, 3, 8, 21)


def largest_ratio(size, near, far_share):
    """Return the largest ratio of two cells' probabilities of an output, over all outputs."""
    matrix = reference.square_wave_matrix(size, near, far_share)
    assert all(sum(row[cell] for row in matrix) == 1 for cell in range(size))
    return max(max(row) / min(row) for row in matrix)


def within(ratio, epsilon):
    with mpmath.workdps(60):
        exponent = Fraction(epsilon)
        bound = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        return mpmath.mpf(ratio.numerator) / ratio.denominator <= bound


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", SIZES)
def test_no_report_tells_more_than_epsilon(size, epsilon):
    encoding = SquareWaveEncoding(epsilon, size)
    assert within(largest_ratio(size, encoding.near, encoding.far_share), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [*SIZES, 2**16])
def test_one_unit_less_and_it_would(size, epsilon):
    """The guarantee is tight: no multiple of 2^-64 below the far outputs' share has it."""
    encoding = SquareWaveEncoding(epsilon, size)
    for units, kept in ((0, True), (1, False)):
        far_share = encoding.far_share - Fraction(units, 2**64)
        p, q = (1 - far_share) / encoding.near, far_share / (size - 1)
        assert p > q
        assert within(p / q, epsilon) is kept


@pytest.mark.parametrize("size", SIZES)
def test_the_exact_audit_notices_an_overspent_epsilon(size):
    spent = SquareWaveEncoding(Fraction(6, 5), size)  # for 1.2 instead of 1
    assert not within(largest_ratio(size, spent.near, spent.far_share), 1)


def bound(encoding, first, second, clients):
    """Return a lower bound on epsilon from reports of the kernel for two cells."""
    rng = np.random.default_rng(11)
    samples = [encoding.perturb(np.full(clients, cell), rng) for cell in (first, second)]
    return epsilon_lower_bound(*(each[:, np.newaxis] for each in samples))


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])
@pytest.mark.parametrize(("first", "second"), [(0, 1), (7, 0), (3, 6)])
def test_reports_of_the_kernel_stay_within_epsilon(epsilon, first, second):
    assert bound(SquareWaveEncoding(epsilon, 8), first, second, 200_000) <= epsilon


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])
def test_a_copy_that_overspends_by_a_fifth_is_caught(epsilon):
    overspent = SquareWaveEncoding(1.2 * epsilon, 8)
    assert bound(overspent, 0, 7, 1_000_000) > epsilon
