"""Sensitivities of private medians, against their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import DtypeError, MissingValueError, ParameterError
from dpcore.kernels.selection import medians as kernels
from dpcore.papers.medians import smooth_sensitivity
from tests import reference

RNG = np.random.default_rng
NODES = st.lists(st.integers(0, 6), min_size=2, max_size=9)
SOME = st.lists(st.integers(0, 3), max_size=4)


def padded(before, counts, after):
    """Cumulative counts of a row in which the node's cells are ``counts``, and its bounds."""
    row = [*before, *counts, *after]
    cumulative = np.concatenate([[0], np.cumsum(np.array(row, np.int64))])
    return cumulative, len(before), len(before) + len(counts)


@settings(max_examples=80)
@given(SOME, NODES, SOME, st.integers(1, 2**24) | st.sampled_from([1, 2**24 - 1, 2**24]))
def test_median_and_sensitivity(before, counts, after, ratio):
    node = padded(before, counts, after)
    median, sensitivity = kernels.median_and_sensitivity(*node, ratio)
    assert median - len(before) == reference.median_position(counts)
    assert sensitivity == reference.node_sensitivity(counts, ratio)


@settings(max_examples=80)
@given(SOME, NODES, SOME, st.floats(1e-3, 3.0))
def test_replace_one_sensitivity(before, counts, after, beta):
    found = kernels.replace_one_sensitivity(*padded(before, counts, after), beta)
    exact = reference.replace_one_sensitivity(*reference.node_positions(counts), beta)
    assert found == pytest.approx(max(exact, 2.0**-50 * (len(counts) - 2)), rel=1e-12)


@settings(max_examples=80)
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


def test_sensitivity_is_the_least_that_is_smooth():
    """A record more or less moves the median, in the worst tables k records away, by x_j - x_i."""
    ratio = 2**24 * 2 // 3
    for counts in itertools.product(range(3), repeat=4):
        if sum(counts) <= 3:
            found = kernels.median_and_sensitivity(*padded([], counts, []), ratio)[1]
            assert found == sensitivity_by_definition(counts, ratio)


@settings(max_examples=80)
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


# --- what is refused


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
