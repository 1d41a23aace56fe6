"""Private medians: choices that split every interval, with the law that they state."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.mechanisms.selection import exponential_mechanism
from dpcore.papers import median_finders
from dpcore.papers.cauchy import CauchyNoise
from dpcore.papers.medians import RecursiveMedians, recursive_medians
from tests import reference

METHODS = ("exponential", "smooth", "paper", "curve")
RNG = np.random.default_rng


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
    """Records in every cell and a huge epsilon leave no noise: but Cauchy noise has its tails."""
    many = np.array(counts) * 10**6
    chosen = RecursiveMedians(10.0**6, depth, method).choose(many, rng=RNG(1))
    assert chosen.tolist() == exact_choice(many, depth)


def test_exponential_choices_without_noise_have_the_nearest_ranks():
    counts = np.array([5, 90, 55, 250, 4, 96, 400, 60, 40])
    chosen = RecursiveMedians(10.0**6, 2).choose(counts)
    assert chosen.tolist() == [2, 5, 6, 8]  # ranks 150, 500, 900 of 1000; the lower median is 3


@pytest.mark.needs_jit
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


@settings(max_examples=50)
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


def test_methods_are_described_by_their_names():
    assert RecursiveMedians(0.5, 3, "smooth").describe() == {
        "name": "recursive-medians",
        "epsilon": 0.5,
        "depth": 3,
        "method": "smooth",
    }
    assert RecursiveMedians(Fraction(1, 3)).privacy.epsilon >= Fraction(1, 3)


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


@pytest.mark.parametrize(
    ("values", "change", "error"),
    [
        ([0.5], {"grid": [0, 1]}, DtypeError),
        ([0.5], {"rng": 3}, DtypeError),
        ([0.5, math.nan], {}, MissingValueError),
    ],
)
def test_refusals_of_types(values, change, error):
    with pytest.raises(error, match=next(iter(change), "values")):
        recursive_medians(values, **{"grid": dp.Grid.uniform(0, 1, 8), "epsilon": 1.0, **change})


def test_refusals_of_counts_and_values_that_are_left_out():
    for counts, error in (([0.5], DtypeError), ([2**45, 2**45, 1], ParameterError)):
        with pytest.raises(error, match="counts"):
            RecursiveMedians(1.0).choose(counts)
    omitted, _ = recursive_medians(
        [0.5, math.nan], dp.Grid.uniform(0, 1, 8), epsilon=1.0, nan_policy="omit"
    )
    assert omitted.size == 8
