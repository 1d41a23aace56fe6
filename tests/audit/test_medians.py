"""Recursive medians: the exact law of the real code on all small neighbours, and samples of it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpcore.papers import median_finders
from dpcore.papers.medians import RecursiveMedians
from tests import reference
from tests.audit.harness import both_ways, replaced, tables

TOLERANCE = 1e-9  # of sums in doubles


def laws(monkeypatch, method, step, thin=1.0):
    """Return a function that takes counts, and returns the law of the place of their split.

    All but the draw is done by the real code: the draw is noted, and then its law is worked out.
    ``thin`` is a factor of its scale.
    """
    drawn = []

    def cauchy(scale, stream):
        drawn.append(lambda at, cells: reference.split_law(at, scale * thin, cells))
        return 0

    def selector(epsilon, sensitivity, rng):
        def draw(scores):
            law = reference.exponential_law(scores, epsilon / (2 * sensitivity) / thin)
            drawn.append(lambda at, cells: law)
            return 0

        return draw

    monkeypatch.setattr(median_finders, "rounded_cauchy", cauchy)
    monkeypatch.setattr(median_finders, "selector", selector)

    @cache
    def law(counts):
        if len(counts) == 2:
            return np.ones(1)
        records = median_finders.Records.of(np.array(counts, np.int64))
        at = median_finders.FINDERS[method](records, step, None)(0, len(counts))
        return drawn.pop()(at, len(counts))

    return law


def spent(law, depth):
    """Return a function that takes neighbours, and returns their largest log ratio."""

    @cache
    def worst(first, second, depth):
        if depth == 0 or len(first) < 2 or first == second:
            return 0.0
        ratios = np.log(law(first) / law(second))
        return max(
            ratio
            + worst(first[: at + 1], second[: at + 1], depth - 1)
            + worst(first[at + 1 :], second[at + 1 :], depth - 1)
            for at, ratio in enumerate(ratios.tolist())
        )

    return lambda first, second: worst(first, second, depth)


def one_more(counts):
    for place in range(len(counts)):
        yield (*counts[:place], counts[place] + 1, *counts[place + 1 :])


def largest(measure, cells, records, neighbours):
    return max(
        measure(first, second)
        for n in records
        for first in tables(cells, n)
        for second in neighbours(first)
    )


METHODS = ("exponential", "smooth", "paper")
SIZES = [(3, range(1, 8)), (5, range(1, 6)), (7, range(1, 4))]


@pytest.mark.sample(7)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 12.0])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_all_small_neighbours(monkeypatch, method, epsilon, depth):
    chooser = RecursiveMedians(epsilon, depth, method)
    measure = spent(laws(monkeypatch, method, chooser._step()), depth)
    for cells, records in SIZES:
        assert largest(measure, cells, records, replaced) <= epsilon + TOLERANCE


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", [0.1, 1.0, 5.0])
def test_a_record_that_comes_or_goes_costs_a_step(monkeypatch, method, step):
    law = laws(monkeypatch, method, Fraction(step))
    for cells, records in SIZES:
        both_ways = lambda first, second: np.abs(np.log(law(first) / law(second))).max()  # noqa: E731
        assert largest(both_ways, cells, records, one_more) <= step + TOLERANCE


# neighbours by one record for which next to the whole step is spent
TIGHT = {
    "exponential": ((0, 1, *[0] * 20), (0, 1, *[0] * 19, 1)),
    "smooth": ((0, 0, 1, 0, 0), (1, 0, 1, 0, 0)),
}


@pytest.mark.parametrize("method", TIGHT)
def test_noise_that_is_a_fifth_too_small_overspends(monkeypatch, method):
    def worst(thin):
        law = laws(monkeypatch, method, Fraction(1), thin)
        first, second = TIGHT[method]
        return np.abs(np.log(law(first) / law(second))).max()

    assert 0.95 < worst(1.0) <= 1.0 + TOLERANCE
    assert worst(0.8) > 1.15


def test_what_two_intervals_tell_adds_up(monkeypatch):
    """The first split is sure; a record then leaves one interval and enters the other."""
    half = (0, 0, 1, 0, 0, 0, 0)
    first = (*half, 900, *half)
    second = (0,) * 7 + (900, 0, 1, 1, 0, 0, 0, 0)
    epsilon = 4.0
    measure = spent(laws(monkeypatch, "exponential", Fraction(1)), 2)
    assert measure(first, second) <= epsilon
    charged_once = spent(laws(monkeypatch, "exponential", Fraction(2)), 2)
    assert charged_once(first, second) > epsilon


# --- empirical: the real code


def bound(step, method, first, second, replicates):
    """How close it comes to the truth varies much, with the event that is chosen: it is seeded."""
    outputs, rng = [], np.random.default_rng(1)
    for counts in (first, second):
        records = median_finders.Records.of(np.array(counts, np.int64))
        median = median_finders.FINDERS[method](records, Fraction(step), rng)
        outputs.append([median(0, len(counts)) for _ in range(replicates)])
    return both_ways(*outputs)


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("method", "replicates"),
    [("smooth", 25_000), pytest.param("exponential", 120_000, marks=pytest.mark.full)],
)
def test_medians_hold_the_claim_and_show_a_third_less_noise(method, replicates):
    assert 0.5 < bound(1.0, method, *TIGHT[method], replicates) <= 1.0
    assert bound(1.5, method, *TIGHT[method], replicates) > 1.0


@pytest.mark.full
@pytest.mark.needs_jit
def test_thresholds_of_a_replaced_record_hold_the_claim():
    """Two levels, with a record that changes sides."""
    first, second = (0, 0, 2, 1, 0, 1), (1, 0, 1, 1, 0, 1)
    chooser = RecursiveMedians(3.0, 2, "smooth")
    outputs = (
        [chooser.choose(np.array(counts))[:3] for _ in range(6_000)] for counts in (first, second)
    )
    assert 0.05 < both_ways(*outputs) <= 3.0  # 0.15 to 0.48 of 25 times
