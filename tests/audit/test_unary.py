"""Unary encodings: the exact law of all reports of small inputs, and samples of the real code."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.trust.models.unary import UnaryEncoding
from tests.audit.harness import epsilon_lower_bound

EPSILONS = (Fraction(1, 2**20), 0.1, 1, Fraction(5, 2), 5.0, 20, 40)
HALF = Fraction(1, 2)


def law(size, value, q):
    """Return the exact probabilities of all 2^d reports of a client."""
    ones = [HALF if i == value else q for i in range(size)]
    found = []
    for bits in itertools.product((0, 1), repeat=size):
        probability = Fraction(1)
        for bit, one in zip(bits, ones, strict=True):
            probability *= one if bit else 1 - one
        found.append(probability)
    return found


def largest_ratio(size, q):
    """Return the largest ratio of probabilities, over all pairs of inputs and all reports."""
    laws = [law(size, value, q) for value in range(-1, size)]
    assert all(sum(each) == 1 for each in laws)
    pairs = itertools.permutations(laws, 2)
    return max(a / b for first, second in pairs for a, b in zip(first, second, strict=True))


def within(ratio, epsilon):
    with mpmath.workdps(60):
        exponent = Fraction(epsilon)
        bound = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        return mpmath.mpf(ratio.numerator) / ratio.denominator <= bound


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_report_tells_more_than_epsilon(size, epsilon):
    q = UnaryEncoding(epsilon).q
    ratio = largest_ratio(size, q)
    assert within(ratio, epsilon)
    if size > 1:
        assert ratio == (1 - q) / q


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_unit_less_and_it_would(epsilon):
    """The guarantee is tight: no multiple of 2^-64 below q has it."""
    q = UnaryEncoding(epsilon).q - Fraction(1, 2**64)
    assert not within(largest_ratio(2, q), epsilon)


def test_the_exact_audit_notices_an_overspent_epsilon():
    q = UnaryEncoding(Fraction(6, 5)).q  # for 1.2 instead of 1
    assert not within(largest_ratio(2, q), 1)


def bound(encoding, first, second, size, clients):
    """Return a lower bound on epsilon from reports of the kernel for two values."""
    rng = np.random.default_rng(11)
    samples = [
        encoding.perturb(np.full(clients, value), size, rng).astype(np.int64)
        for value in (first, second)
    ]
    return epsilon_lower_bound(*samples)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])  # both samplers
@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 2), (2, -1), (-1, 0)])
def test_reports_of_the_kernel_stay_within_epsilon(epsilon, first, second):
    assert bound(UnaryEncoding(epsilon), first, second, 3, 200_000) <= epsilon


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])
def test_a_copy_that_overspends_by_a_fifth_is_caught(epsilon):
    overspent = UnaryEncoding(1.2 * epsilon)
    assert bound(overspent, 0, 1, 2, 1_000_000) > epsilon
