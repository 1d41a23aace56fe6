"""Private medians: sensitivities against their definitions, draws against their law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import dpcore as dp
from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.kernels.selection import medians as kernels
from dpcore.mechanisms import median_finders
from dpcore.mechanisms.medians import RecursiveMedians, recursive_medians, smooth_sensitivity
from dpcore.mechanisms.selection import exponential_mechanism
from dpcore.noise import cauchy
from dpcore.noise.cauchy import CauchyNoise, rounded_cauchy
from dpcore.noise.sources import CryptographicSource, GeneratorSource
from tests import reference

METHODS = ("exponential", "smooth", "paper", "curve")
RNG = np.random.default_rng
NODES = st.lists(st.integers(0, 6), min_size=2, max_size=9)
SOME = st.lists(st.integers(0, 3), max_size=4)


def padded(before, counts, after):
    """Cumulative counts of a row in which the node's cells are ``counts``, and its bounds."""
    row = [*before, *counts, *after]
    cumulative = np.concatenate([[0], np.cumsum(np.array(row, np.int64))])
    return cumulative, len(before), len(before) + len(counts)


# --- sensitivities


@settings(max_examples=200)
@given(SOME, NODES, SOME, st.integers(1, 2**24) | st.sampled_from([1, 2**24 - 1, 2**24]))
def test_median_and_sensitivity(before, counts, after, ratio):
    node = padded(before, counts, after)
    median, sensitivity = kernels.median_and_sensitivity(*node, ratio)
    assert median - len(before) == reference.median_position(counts)
    assert sensitivity == reference.node_sensitivity(counts, ratio)


@settings(max_examples=200)
@given(SOME, NODES, SOME, st.floats(1e-3, 3.0))
def test_replace_one_sensitivity(before, counts, after, beta):
    found = kernels.replace_one_sensitivity(*padded(before, counts, after), beta)
    exact = reference.replace_one_sensitivity(*reference.node_positions(counts), beta)
    assert found == pytest.approx(max(exact, 2.0**-50 * (len(counts) - 2)), rel=1e-12)


@settings(max_examples=200)
@given(st.lists(st.floats(-5, 5), max_size=40), st.floats(1e-4, 900.0))
def test_smooth_sensitivity(values, beta):
    exact = reference.replace_one_sensitivity(sorted(np.clip(values, -2, 3)), -2, 3, beta)
    found = smooth_sensitivity(np.array(values, float), -2, 3, beta=beta)
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-300)


@pytest.mark.needs_jit
def test_smooth_sensitivity_of_many_values():
    """By sorting out, for every lower record, what the best upper one is: O(n^2), in NumPy."""
    values = np.sort(RNG(1).beta(0.3, 2, 4001))
    beta, m = 0.003, 2001
    left, right = np.append(values[:m][::-1], 0.0), np.append(values[m - 1 :], 1.0)
    p, q = np.arange(left.size)[:, None], np.arange(right.size)
    exact = np.max((right - left[:, None]) * np.exp(-beta * (p + q - 1)))
    assert smooth_sensitivity(values, 0, 1, beta=beta) == pytest.approx(exact, rel=1e-12)


def neighbours(counts):
    """One record more or less in a tuple of counts."""
    for i, count in enumerate(counts):
        for change in (1, -1):
            if count + change >= 0:
                yield (*counts[:i], count + change, *counts[i + 1 :])


def sensitivity_by_definition(counts, ratio):
    """Largest weight times local sensitivity over all tables, by breadth-first search."""
    n, width = sum(counts), len(counts) - 2
    weights = reference.falling_weights(ratio, n + 1)
    best, seen, ring = 0, {counts}, [counts]
    for weight in weights:
        local = max(
            abs(reference.median_position(table) - reference.median_position(other))
            for table in ring
            for other in neighbours(table)
        )
        best = max(best, weight * local)
        ring = [other for table in ring for other in neighbours(table)]
        ring = [table for table in dict.fromkeys(ring) if table not in seen]
        seen.update(ring)
    assert local <= width
    return best


@pytest.mark.parametrize("ratio", [2**24 * 2 // 3, 2**24 * 19 // 20])
def test_sensitivity_is_the_least_that_is_smooth(ratio):
    """A record more or less moves the median, in the worst tables k records away, by x_j - x_i."""
    for counts in itertools.product(range(3), repeat=4):
        if sum(counts) <= 4:
            found = kernels.median_and_sensitivity(*padded([], counts, []), ratio)[1]
            assert found == sensitivity_by_definition(counts, ratio)


@settings(max_examples=200)
@given(NODES, st.data(), st.integers(2**22, 2**24), st.floats(0.01, 1.0))
def test_sensitivities_are_smooth_and_sufficient(counts, data, ratio, beta):
    """If records come or go: replace-one sensitivity bounds that, too."""
    other = data.draw(st.sampled_from(list(neighbours(tuple(counts)))))
    moved = abs(reference.median_position(counts) - reference.median_position(other))
    first, second = (
        kernels.median_and_sensitivity(*padded([], c, []), ratio)[1] for c in (counts, other)
    )
    assert moved * kernels.UNIT <= min(first, second)
    assert first * ratio <= second * 2**24
    assert second * ratio <= first * 2**24
    first, second = (
        kernels.replace_one_sensitivity(*padded([], c, []), beta) for c in (counts, other)
    )
    assert moved <= min(first, second) * (1 + 1e-12)
    assert abs(math.log(first / second)) <= beta * (1 + 1e-9) if len(counts) > 2 else first == 0


def test_records_that_come_or_go_need_no_more_noise_than_replaced_ones():
    rng, better = RNG(2), 0
    for _ in range(50):
        counts = rng.poisson(rng.uniform(0, 5, 30))
        node = padded([], counts, [])
        ratio = round(2**24 * math.exp(-0.05))
        ours = kernels.median_and_sensitivity(*node, ratio)[1] / kernels.UNIT
        theirs = kernels.replace_one_sensitivity(*node, 0.05)
        assert ours <= theirs * (1 + 1e-6)
        better += ours < 0.99 * theirs
    assert better > 10


# --- noise


@pytest.mark.parametrize("epsilon", [2.0**-16, 1e-3, 0.01, 0.3, 1.0, 4.0, 8.0, 100.0])
def test_noise_is_sufficient_and_hardly_more(epsilon):
    """The largest log ratio of two Cauchy densities is a distance in the hyperbolic plane."""
    noise = CauchyNoise.least(Fraction(epsilon))
    with mpmath.workdps(40):
        spent = min(mpmath.mpf(epsilon), 8)
        z = mpmath.mpf(2**24) / noise.ratio
        shift = mpmath.mpf(noise.shift.numerator) / noise.shift.denominator
        distances = [
            mpmath.acosh(1 + (shift**2 + (factor - 1) ** 2) / (2 * factor))
            for factor in (mpmath.mpf(1), z)
        ]
        assert max(distances) <= spent
        assert max(distances) >= spent * (1 - 1e-10)
        assert mpmath.log(z) <= spent / mpmath.sqrt(2)


@settings(max_examples=100)
@given(st.floats(-3, 3), st.floats(0.05, 20), st.floats(-3, 3), st.floats(0.05, 20))
def test_harnack(first, scale, second, other_scale):
    y = np.tan(np.linspace(-1.57, 1.57, 20001))
    densities = [s / ((y - f) ** 2 + s**2) for f, s in ((first, scale), (second, other_scale))]
    largest = np.abs(np.log(densities[0] / densities[1])).max()
    squares = (first - second) ** 2 + (scale - other_scale) ** 2
    x = squares / (2 * scale * other_scale)
    distance = math.log1p(x + math.sqrt(x * (x + 2)))  # arcosh(1 + x), for small x, too
    assert largest <= distance + 1e-9
    assert largest >= 0.95 * distance - 0.01


class Words:
    """A stream that is known."""

    simulated = True

    def __init__(self, words):
        self.words = iter(words)

    def fill(self, words):
        words[:] = [next(self.words) for _ in range(words.size)]

    def spawn(self, count):
        raise NotImplementedError


SCALES = [Fraction(1, 100), Fraction(1), Fraction(22, 7), Fraction(2**60, 3), Fraction(3, 2**70)]


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 2**64 - 1]), max_size=12),
    st.sampled_from(SCALES),
    st.integers(0, 2**32),
)
def test_draws_are_those_of_the_plain_algorithm(start, scale, seed):
    words = [*start, *RNG(seed).integers(0, 2**64, 60, dtype=np.uint64).tolist()]
    assert rounded_cauchy(scale, Words(words)) == reference.rounded_cauchy(iter(words), scale)


def test_draws_that_are_not_certain_take_more_bits():
    """V / U = 1 to 63 bits, so that 7/2 V / U may be on either side of a half."""
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62, 0, 2**64 - 1])) == 4
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62, 2**64 - 1, 0])) == 3
    assert rounded_cauchy(Fraction(7, 2), Words([2**62, 2**62 + 1, 2**64 - 1, 0])) == -3
    # on the circle to 63 bits, and outside
    outside = [2**64 - 1, 0, 2**64 - 1, 2**64 - 1]
    with pytest.raises(StopIteration):
        rounded_cauchy(Fraction(1), Words(outside))


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2), Fraction(40)])
@pytest.mark.parametrize("secret", [True, False])
def test_law_of_draws(scale, secret):
    stream = CryptographicSource() if secret else GeneratorSource(RNG(1))
    drawn = np.array([rounded_cauchy(scale, stream) for _ in range(20_000)], float)
    size = 61
    inside, outside = reference.rounded_cauchy_law(30, scale, size)
    shifted = drawn + 30
    observed = [np.sum(shifted == i) for i in range(size)]
    observed.append(drawn.size - sum(observed))
    expected = drawn.size * np.append(inside, outside)
    big = expected > 5
    rest = expected[~big].sum() + 10
    found = chisquare(
        np.append(np.array(observed)[big], np.array(observed)[~big].sum() + 10),
        np.append(expected[big], rest),
        sum_check=False,
    )
    assert found.pvalue > 1e-7


# --- thresholds


@settings(max_examples=60)
@given(
    st.sampled_from([1, 2, 3, 7, 40]),
    st.integers(1, 6),
    st.sampled_from(METHODS),
    st.integers(0, 2**32),
)
def test_choices_are_distinct_and_split_every_interval(size, depth, method, seed):
    counts = RNG(seed).integers(0, 9, size) * RNG(seed).integers(0, 2, size)
    chosen = RecursiveMedians(1.0, depth, method).choose(counts, rng=RNG(seed))
    assert chosen.dtype == np.int64
    assert chosen[0] >= 0
    assert chosen[-1] == size - 1
    assert np.all(np.diff(chosen) > 0)
    assert min(depth + 1, size) <= chosen.size <= 2**depth
    if depth >= size - 1:
        assert chosen.size == size


def exact_choice(counts, depth):
    """Recursive medians without noise, as sets of cells."""
    chosen, nodes = {len(counts) - 1}, [(0, len(counts))]
    for _ in range(depth):
        halves = []
        for start, stop in nodes:
            if stop - start > 1:
                at = start + reference.median_position(counts[start:stop])
                chosen.add(at)
                halves += [(start, at + 1), (at + 1, stop)]
        nodes = halves
    return sorted(chosen)


@settings(max_examples=40)
@given(
    st.lists(st.integers(1, 30).map(lambda c: 2 * c), min_size=1, max_size=30), st.integers(1, 4)
)
@pytest.mark.parametrize("method", ["smooth", "paper", "curve"])
def test_choices_without_noise_are_medians(method, counts, depth):
    """Records in every cell and a huge epsilon leave no noise."""
    many = np.array(counts) * 10**6
    chosen = RecursiveMedians(10.0**6, depth, method).choose(many)
    assert chosen.tolist() == exact_choice(many, depth)


def test_exponential_choices_without_noise_have_the_nearest_ranks():
    counts = np.array([5, 90, 55, 250, 4, 96, 400, 60, 40])
    chosen = RecursiveMedians(10.0**6, 2).choose(counts)
    assert chosen.tolist() == [2, 5, 6, 8]  # ranks 150, 500, 900 of 1000; the lower median is 3


@pytest.mark.parametrize("method", METHODS)
def test_shares_are_even(method):
    values = RNG(3).beta(0.4, 3, 200_000)
    grid, privacy = recursive_medians(
        values, dp.Grid.uniform(0, 1, 2**12), epsilon=8.0, depth=3, method=method
    )
    assert grid.size == 8
    assert grid.thresholds[-1] == 1.0
    assert privacy == dp.Privacy(8.0)
    assert np.abs(grid.count(values) / values.size - 1 / 8).max() < 0.02


@pytest.mark.parametrize("method", METHODS)
def test_generators_are_repeatable_and_marked(method):
    values = RNG(3).normal(size=1000)
    grid = dp.Grid.uniform(-4, 4, 300)
    first, second, third = (
        recursive_medians(values, grid, epsilon=1.0, depth=5, method=method, rng=RNG(seed))
        for seed in (1, 1, 2)
    )
    assert first[0] == second[0]
    assert first[0] != third[0]
    assert first[1].simulated


@settings(max_examples=100)
@given(
    st.lists(st.integers(-60, 0), min_size=1, max_size=50),
    st.fractions(Fraction(1, 50), 5, max_denominator=99),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_selections_are_those_of_the_exponential_mechanism(scores, epsilon, sensitivity, seed):
    """Bit by bit."""
    array = np.array(scores)
    prepared = median_finders.selector(epsilon, sensitivity, RNG(seed))
    plain = exponential_mechanism(array, epsilon=epsilon, sensitivity=sensitivity, rng=RNG(seed))
    assert prepared(array) == plain


def test_noise_that_leaves_the_interval_means_its_middle(monkeypatch):
    monkeypatch.setattr(median_finders, "rounded_cauchy", lambda scale, stream: 10**9)
    chosen = RecursiveMedians(1.0, 2, "smooth").choose(np.array([9, 0, 0, 0, 0, 0, 0, 0]))
    assert chosen.tolist() == [1, 3, 5, 7]


def test_an_empty_interval_is_split_with_noise_like_any_other(monkeypatch):
    """Whether there are records in an interval is private."""
    scales = []

    def recorded(scale, stream):
        scales.append(scale)
        return 0

    monkeypatch.setattr(median_finders, "rounded_cauchy", recorded)
    RecursiveMedians(1.0, 1, "smooth").choose(np.zeros(10, np.int64))
    noise = CauchyNoise.least(Fraction(1, 2))
    assert scales == [8 / noise.shift]


def test_methods_are_documented_by_their_names():
    assert RecursiveMedians(0.5, 3, "smooth").describe() == {
        "name": "recursive-medians",
        "epsilon": 0.5,
        "depth": 3,
        "method": "smooth",
    }
    assert tuple(median_finders.FINDERS) == METHODS
    assert RecursiveMedians(Fraction(1, 3)).privacy.epsilon >= Fraction(1, 3)
    assert cauchy.RATIO_UNIT == 2**24


# --- what is refused


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1.0, "depth": 0}, "depth"),
        ({"epsilon": 1.0, "depth": 25}, "depth"),
        ({"epsilon": 1.0, "method": "laplace"}, "method"),
        ({"epsilon": 10 / 2**15 - 1e-9, "method": "smooth"}, "epsilon"),
        ({"epsilon": 10 / 2**15 - 1e-9, "method": "paper"}, "epsilon"),
        ({"epsilon": 1e-11}, "epsilon"),
        ({"epsilon": 1e-15, "method": "curve"}, "epsilon"),
    ],
)
def test_refused_before_anything_is_drawn(arguments, named, monkeypatch):
    monkeypatch.setattr(dp.Grid, "count", None)
    with pytest.raises(ParameterError, match=f"^{named}"):
        recursive_medians([0.5], dp.Grid.uniform(0, 1, 8), **arguments)


def test_refusals_of_types():
    grid = dp.Grid.uniform(0, 1, 8)
    with pytest.raises(DtypeError, match="grid"):
        recursive_medians([0.5], [0, 1], epsilon=1.0)
    with pytest.raises(DtypeError, match="rng"):
        recursive_medians([0.5], grid, epsilon=1.0, rng=3)
    with pytest.raises(MissingValueError):
        recursive_medians([0.5, math.nan], grid, epsilon=1.0)
    with pytest.raises(DtypeError, match="counts"):
        RecursiveMedians(1.0).choose([0.5])
    with pytest.raises(ParameterError, match="sum to at most"):
        RecursiveMedians(1.0).choose([2**45, 2**45, 1])
    omitted, _ = recursive_medians([0.5, math.nan], grid, epsilon=1.0, nan_policy="omit")
    assert omitted.size == 8


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        (([1.0], 0, 0), ParameterError, "upper"),
        (([1.0], -1e308, 1e308), ParameterError, "upper"),
        (([math.nan], 0, 1), MissingValueError, "values"),
        ((["a"], 0, 1), DtypeError, "values"),
    ],
)
def test_sensitivities_that_are_refused(arguments, error, named):
    with pytest.raises(error, match=named):
        smooth_sensitivity(*arguments, beta=0.1)
    with pytest.raises(ParameterError, match="beta"):
        smooth_sensitivity([1.0], 0, 1, beta=0)
