"""Local reports: the exact law of a report for all inputs, and samples of the real code."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.trust.models.square_wave_reports import SquareWaveEncoding
from dpcore.trust.models.subset import SubsetSelection
from dpcore.trust.models.unary import UnaryEncoding
from tests import reference
from tests.audit.harness import both_ways

EPSILONS = (Fraction(1, 2**20), 0.1, 1, Fraction(5, 2), 5.0, 20, 40)
SIZES = (2, 3, 8, 21)


def law(size, value, q):
    """Return the exact probabilities of all 2^d reports of a client."""
    ones = [Fraction(1, 2) if i == value else q for i in range(size)]
    chances = []
    for bits in itertools.product((0, 1), repeat=size):
        probability = Fraction(1)
        for bit, one in zip(bits, ones, strict=True):
            probability *= one if bit else 1 - one
        chances.append(probability)
    return chances


def law_of_report(encoding, size, value):
    """Return the exact probability of each possible report, of a level's encoding."""
    if isinstance(encoding, UnaryEncoding):
        reports = itertools.product((0, 1), repeat=size)
        return dict(zip(reports, law(size, value, encoding.q), strict=True))
    sets = reference.subset_law(size, encoding.chosen, value, encoding.missing)
    return {tuple(int(i in each) for i in range(size)): chance for each, chance in sets}


def of_unary(size, q):
    """The largest ratio of probabilities, over all pairs of inputs, no input among them."""
    laws = [law(size, value, q) for value in range(-1, size)]
    assert all(sum(chances) == 1 for chances in laws)
    pairs = itertools.permutations(laws, 2)
    return max(a / b for first, second in pairs for a, b in zip(first, second, strict=True))


def of_waves(size, near, far_share):
    """The largest ratio of two cells' probabilities of an output, over all outputs."""
    matrix = reference.square_wave_matrix(size, near, far_share)
    assert all(sum(row[cell] for row in matrix) == 1 for cell in range(size))
    return max(max(row) / min(row) for row in matrix)


def of_subsets(size, chosen, missing):
    """The largest ratio of two values' probabilities of a set, over all sets."""
    laws = [list(reference.subset_law(size, chosen, value, missing)) for value in range(size)]
    assert all(sum(chance for _, chance in law) == 1 for law in laws)
    chances = [[chance for _, chance in law] for law in laws]
    return max(max(each) / min(each) for each in zip(*chances, strict=True))


def within(ratio, epsilon):
    with mpmath.workdps(60):
        exponent = Fraction(epsilon)
        bound = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        return mpmath.mpf(ratio.numerator) / ratio.denominator <= bound


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_unary_report_tells_more_than_epsilon(epsilon):
    q = UnaryEncoding(epsilon).q
    for size in (1, 2, 3):
        ratio = of_unary(size, q)
        assert within(ratio, epsilon)
        assert size == 1 or ratio == (1 - q) / q
    # The guarantee is tight: no multiple of 2^-64 below q has it.
    assert not within(of_unary(2, q - Fraction(1, 2**64)), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", SIZES)
def test_no_wave_tells_more_than_epsilon(size, epsilon):
    encoding = SquareWaveEncoding(epsilon, size)
    assert within(of_waves(size, encoding.near, encoding.far_share), epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [*SIZES, 2**16])
def test_one_unit_less_and_a_wave_would(size, epsilon):
    """The guarantee is tight: no multiple of 2^-64 below the far outputs' share has it."""
    encoding = SquareWaveEncoding(epsilon, size)
    for units, kept in ((0, True), (1, False)):
        far_share = encoding.far_share - Fraction(units, 2**64)
        p, q = (1 - far_share) / encoding.near, far_share / (size - 1)
        assert p > q
        assert within(p / q, epsilon) is kept


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("size", "chosen"), [(2, 1), (3, 1), (5, 2), (6, 5), (8, 3)])
def test_no_subset_tells_more_than_epsilon(size, chosen, epsilon):
    """And one unit less of the missing share would: the guarantee is tight."""
    missing = SubsetSelection(epsilon, size, chosen).missing
    assert within(of_subsets(size, chosen, missing), epsilon)
    assert not within(of_subsets(size, chosen, missing - Fraction(1, 2**64)), epsilon)


def test_the_exact_audits_notice_an_overspent_epsilon():
    spent = Fraction(6, 5)  # instead of 1
    assert not within(of_unary(2, UnaryEncoding(spent).q), 1)
    for size in SIZES:
        wave = SquareWaveEncoding(spent, size)
        assert not within(of_waves(size, wave.near, wave.far_share), 1)
    for size, chosen in ((2, 1), (5, 2), (6, 5)):
        assert not within(of_subsets(size, chosen, SubsetSelection(spent, size, chosen).missing), 1)


def unary(epsilon, clients, values, size=3):
    """A lower bound on epsilon from reports of the kernel for two values."""
    encoding, rng = UnaryEncoding(epsilon), np.random.default_rng(11)
    return both_ways(
        *(encoding.perturb(np.full(clients, v), size, rng).astype(np.int64) for v in values)
    )


def wave(epsilon, clients, cells):
    encoding, rng = SquareWaveEncoding(epsilon, 8), np.random.default_rng(11)
    return both_ways(*(encoding.perturb(np.full(clients, cell), rng) for cell in cells))


def subset(epsilon, clients, values, chosen=2):
    encoding, rng = SubsetSelection(epsilon, 5, chosen), np.random.default_rng(11)
    reports = (encoding.perturb(np.full(clients, value), rng).astype(np.int64) for value in values)
    return both_ways(*reports)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])  # both samplers
@pytest.mark.parametrize(
    ("bound", "inputs"),
    [
        *((unary, pair) for pair in [(0, 1), (1, 2), (2, -1)]),
        *((wave, pair) for pair in [(0, 1), (7, 0), (3, 6)]),
        *((subset, pair) for pair in [(0, 1), (4, 0)]),
    ],
)
def test_reports_of_the_kernels_stay_within_epsilon(bound, inputs, epsilon):
    assert bound(epsilon, 200_000, inputs) <= epsilon


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 3.5])
def test_copies_that_overspend_by_a_fifth_are_caught(epsilon):
    assert unary(1.2 * epsilon, 1_000_000, (0, 1), size=2) > epsilon
    assert wave(1.2 * epsilon, 1_000_000, (0, 7)) > epsilon
    assert subset(1.2 * epsilon, 1_000_000, (0, 4), chosen=1) > epsilon
    assert subset(1.2 * epsilon, 1_000_000, (0, 4)) > epsilon
