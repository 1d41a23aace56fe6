"""SmoothS: the sensitivity of the area, and the exact law of releases, on all small neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcore.papers import smooth_auc
from dpcore.papers.smooth_auc import SmoothS, area_units
from tests import reference
from tests.audit import harness
from tests.audit.harness import epsilon_lower_bound, replaced

CELLS = 3  # of scores: ties, and scores between any two others


def tables(records: int):
    """All ways to put so many records into the cells of both classes."""
    return map(np.array, harness.tables(2 * CELLS, records))


def neighbours(counts):
    """All inputs with one record replaced: its score, its label, or both."""
    return map(np.array, replaced(counts))


def records_of(counts):
    cells = [*range(CELLS), *range(CELLS)[::-1]]
    scores = np.repeat(cells, counts)
    return np.repeat(np.arange(counts.size) >= CELLS, counts), scores


def area_of(counts):
    labels, scores = records_of(counts)
    if labels.all() or not labels.any():
        return Fraction(1, 2)
    return reference.area_by_pairs(labels, scores)


@pytest.mark.parametrize("records", [2, 3, 4, 5])
def test_local_sensitivity_is_at_most_one_over_the_rarer_class(records):
    largest = {}
    for counts in tables(records):
        area, rarer = area_of(counts), area_units(counts)[1]
        local = max(abs(area - area_of(other)) for other in neighbours(counts))
        assert local <= Fraction(1, max(1, rarer))
        largest[rarer] = max(largest.get(rarer, 0), local)
    for rarer in range(1, records // 2 + 1):
        assert largest[rarer] == Fraction(1, rarer)  # no bound by this number alone is better


@pytest.mark.parametrize("mechanism", [SmoothS(0.5), SmoothS(3.0), SmoothS(0.5, 0.01)])
def test_sensitivity_bounds_changes_and_is_smooth(mechanism):
    for counts in tables(4):
        area, rarer = area_units(counts)
        here = mechanism.sensitivity(rarer)
        for other in neighbours(counts):
            moved, of_other = area_units(other)
            there = mechanism.sensitivity(of_other)
            assert abs(area - moved) <= min(here, there)
            assert here * mechanism.ratio <= there * 2**24


def laws(monkeypatch, mechanism, thin=1.0):
    """Return a function that takes counts, and returns the law of the released units.

    The lattice is coarse here, so that a law is a short array. All but the draw is done by the real
    code: the scale is noted, and the law worked out. ``thin`` is a factor of the scale.
    """
    monkeypatch.setattr(smooth_auc, "_BITS", 4)
    noted = []

    class Noted:
        def __init__(self, scale):
            noted.append(float(scale) * thin)

        def fill_once(self, out, stream):
            out[:] = 0

    def cauchy(scale, stream):
        noted.append(float(scale) * thin)
        return 0

    monkeypatch.setattr(smooth_auc, "DiscreteLaplace", Noted)
    monkeypatch.setattr(smooth_auc, "rounded_cauchy", cauchy)

    def law(counts, at):
        mechanism.release(counts)
        scale, distance = noted.pop(), np.abs(at - area_units(counts)[0])
        if mechanism.delta is None:
            # The angle between two half integers, without cancellation.
            low, high = (distance - 0.5) / scale, (distance + 0.5) / scale
            return np.arctan2(1 / scale, 1 + low * high) / np.pi
        return np.tanh(0.5 / scale) * np.exp(-distance / scale)

    return law


def worst(law, records, at, measure):
    known = {tuple(counts): law(counts, at) for counts in tables(records)}
    return max(
        measure(first, known[tuple(other)])
        for counts, first in known.items()
        for other in neighbours(np.array(counts))
    )


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("records", [2, 4])
def test_cauchy_noise_spends_epsilon(monkeypatch, epsilon, records):
    far = np.unique(np.round(np.geomspace(1, 1e9, 60)))
    at = np.concatenate([-far, np.arange(-60.0, 80.0), far])

    def loss(first, second):
        return np.log(first / second).max()

    law = laws(monkeypatch, SmoothS(epsilon))
    spent = worst(law, records, at, loss)
    assert spent <= epsilon + 1e-9
    assert spent > 0.55 * epsilon  # not all: the area never moves as far as the bound, and 1 more
    thinner = laws(monkeypatch, SmoothS(epsilon), thin=0.5)
    assert worst(thinner, records, at, loss) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 0.1), (3.0, 1e-3)])
@pytest.mark.parametrize("records", [2, 4])
def test_laplace_noise_spends_epsilon_and_delta(monkeypatch, epsilon, delta, records):
    at = np.arange(-4000.0, 4017.0)

    def lost(first, second):
        return np.maximum(first - np.exp(epsilon) * second, 0.0).sum()

    law = laws(monkeypatch, SmoothS(epsilon, delta))
    first = law(next(iter(tables(records))), at)
    assert first.sum() == pytest.approx(1.0, abs=1e-9)
    assert worst(law, records, at, lost) <= delta
    thinner = laws(monkeypatch, SmoothS(epsilon, delta), thin=0.3)
    assert worst(thinner, records, at, lost) > delta


@pytest.mark.needs_jit
@pytest.mark.parametrize("delta", [None, 0.05])
def test_releases_of_neighbours_follow_the_law(monkeypatch, delta):
    """Samples of the real mechanism on neighbours: nothing comes between code and law."""
    monkeypatch.setattr(smooth_auc, "_BITS", 4)
    mechanism = SmoothS(1.0, delta)
    first, second = np.array([1, 0, 0, 1, 0, 0]), np.array([1, 0, 0, 0, 0, 1])  # areas 1 and 1/2
    rng = np.random.default_rng(1)
    outputs = [
        np.round(mechanism.release(counts, rng=rng, replicates=20_000) * 16)[:, None]
        for counts in (first, second)
    ]
    lower = epsilon_lower_bound(*outputs)
    assert lower <= 1.0
    with monkeypatch.context() as patch:
        law = laws(patch, mechanism)
        expected = law(first, np.arange(1.0, 16.0))
    found = np.bincount(outputs[0][:, 0].astype(int), minlength=17)[1:16] / 20_000
    assert found == pytest.approx(expected, abs=5 * np.sqrt(expected.max() / 20_000))
