"""Running scores: what one record changes in all draws of both classes, for all neighbours."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.running import questions
from dpcore.streams import BufferedToeplitz, ConsistentTree, DyadicTree, RunningScores
from tests.audit.harness import both_ways
from tests.audit.test_running_cdf import (
    RELATIONS,
    answers_of,
    never_and_moved,
    outputs,
    spent_of_epsilon,
    thin,
    toeplitz_shifts,
    tree_flows,
)

SIZES = list(itertools.product((1, 2, 3, 4), (1, 2, 3)))  # steps, and cells of each class


def running(horizon, cells, mechanism, kind=RunningScores):
    return kind(dp.Grid.uniform(0, 1, cells), horizon, mechanism)


@pytest.mark.parametrize("cells", [1, 2, 40, 130])
@pytest.mark.parametrize("is_gaussian", [False, True])
def test_a_record_changes_the_answers_of_its_class_alone(cells, is_gaussian):
    both = answers_of(questions(2 * cells, is_gaussian=is_gaussian, classes=2), 2 * cells)
    one = answers_of(questions(cells, is_gaussian=is_gaussian), cells)
    for cell, parts in enumerate(both):
        for part, alone in zip(parts, one[cell % cells], strict=True):
            halves = np.split(part, 2)
            assert np.array_equal(halves[cell // cells], alone)
            assert not halves[1 - cell // cells].any()


@pytest.mark.sample(10)
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), [*SIZES, (3, 40), (2, 130)])
def test_epsilon_of_both_classes_is_what_one_record_spends(horizon, cells, neighbours):
    epsilon = Fraction(1, 3)
    stream = running(horizon, cells, ConsistentTree(epsilon, neighbours=neighbours))
    spent = spent_of_epsilon(stream, horizon, neighbours)
    assert 0.99 * epsilon < spent <= epsilon
    assert spent_of_epsilon(stream, horizon, neighbours, thinned=True) > 1.2 * epsilon


def spent_of_rho(stream, columns, sigma_squared, neighbours):
    largest = max(
        sum(float((part**2).sum()) for part in change)
        for change in never_and_moved(stream._questions, columns, stream._cells.size, neighbours)
    )
    return largest / (2 * float(sigma_squared))


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(("horizon", "cells"), SIZES)
def test_rho_of_both_classes(horizon, cells, neighbours):
    rho = Fraction(1, 7)
    for mechanism in (
        BufferedToeplitz(rho=rho, neighbours=neighbours),
        DyadicTree(rho=rho, neighbours=neighbours),
    ):
        stream = running(horizon, cells, mechanism)
        (noise,) = stream._noises
        if isinstance(mechanism, DyadicTree):
            columns, law, unit = tree_flows(horizon, mechanism.base), noise.draws.law, 1
        else:
            law, unit = noise.inner.draws.law, 4**noise.inner.bits
            columns = toeplitz_shifts(noise, horizon)
        spent = spent_of_rho(stream, columns, law.sigma_squared / unit, neighbours)
        assert 0.99 * rho < spent <= rho
        thinned = law.sigma_squared / unit * Fraction(4, 5) ** 2  # a fifth less noise
        assert spent_of_rho(stream, columns, thinned, neighbours) > 1.2 * rho


class Thin(RunningScores):
    """A broken stream: its noise is 20 % too small, so it overspends by 25 %."""

    __slots__ = ()

    kind = "thin-scores"

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._noises = tuple(replace(n, epochs=thin(n.epochs)) for n in self._noises)


@pytest.mark.full
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("neighbours", "second", "look"),
    [
        ("add-or-remove-one", [[4, 5], [4, 4]], [[1, 0, 0, 0]]),
        # to the other class and another step: it shows in the first answer of one class, and in
        # what the second step adds to the other
        ("replace-one", [[4, 5], [4, 5]], [[1, 0, 0, 0], [0, -1, 0, 1]]),
    ],
)
def test_claim_holds_and_a_fifth_less_noise_is_caught(neighbours, second, look):
    epsilon, first = 3.0, [[5, 5], [4, 4]]
    bounds = []
    for kind in (RunningScores, Thin):
        mechanism = ConsistentTree(epsilon, neighbours=neighbours, branching=(2,))
        stream = running(2, 1, mechanism, kind)
        pair = [outputs(stream, batches, 1_000_000) for batches in (first, second)]
        bounds.append(both_ways(*(seen @ np.transpose(look) for seen in pair)))
    assert 0.75 * epsilon < bounds[0] <= epsilon < bounds[1]
