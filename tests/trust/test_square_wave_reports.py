"""Reports of square waves: an exact law, whatever is simulated has it, and bad arguments."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial

import dpcore as dp
from dpcore.kernels.clients import square_wave
from dpcore.trust.models import blocks
from dpcore.trust.models.square_wave_reports import SquareWaveEncoding, _spread
from tests import reference
from tests.trust.unary_bits import fits

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("epsilon", "size", "near"), [(1, 1024, 525), (5, 1024, 29), (5, 64, 1), (40, 2, 1), (1, 2, 1)]
)
def test_how_many_outputs_are_near(epsilon, size, near):
    encoding = SquareWaveEncoding(epsilon, size)
    assert (encoding.near, encoding.outputs) == (near, size + near - 1)


def test_a_small_epsilon_spreads_over_half_of_the_cells():
    assert SquareWaveEncoding(Fraction(1, 2**20), 1000).near == 1 + 2 * 499
    half = (1 - 1 + np.exp(-1)) / (2 * (np.e - 2))
    assert SquareWaveEncoding(1.0, 2**16).near == 1 + 2 * int(half * 2**16)


@pytest.mark.parametrize(("size", "epsilon"), [(2, 0.1), (5, 1), (9, 2.5), (1000, 0.5)])
def test_probabilities_add_up_to_one(size, epsilon):
    encoding = SquareWaveEncoding(epsilon, size)
    p, q = encoding.probabilities
    assert encoding.near * p + (size - 1) * q == 1
    assert p > q > 0
    assert (p / q).__float__() == pytest.approx(np.exp(epsilon), rel=1e-12)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=40), st.integers(2, 30))
@settings(max_examples=60)
def test_reports_are_those_of_the_reference(words, size):
    encoding = SquareWaveEncoding(1.5, size)
    cells = np.arange(3) * (size - 1) // 2
    reports = np.empty(3, np.int64)
    far_share = np.uint64(int(encoding.far_share * 2**64))
    done, used = square_wave.perturb(
        np.array(words, np.uint32), cells, encoding.near, size - 1, far_share, reports
    )
    stream, expected = iter(words), []
    for cell in cells[:done].tolist():
        expected.append(
            reference.square_wave_report(stream, cell, size, encoding.near, encoding.far_share)
        )
    assert reports[:done].tolist() == expected
    assert used == len(words) - len(list(stream))
    assert done == 3 or used + 3 * (3 - done) > 9  # words were missing


def test_a_report_that_words_end_in_is_rolled_back():
    words = RNG(1).integers(0, 2**32, 7, dtype=np.uint32)
    reports = np.empty(5, np.int64)
    share = np.uint64(2**63)
    done, used = square_wave.perturb(words, np.zeros(5, np.int64), 3, 4, share, reports)
    assert (done, used) == (2, 6)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=40))
@settings(max_examples=60)
def test_how_many_words_are_taken_does_not_depend_on_the_cell(words):
    encoding, reports = SquareWaveEncoding(1.5, 21), np.empty(3, np.int64)
    far_share, stream = np.uint64(int(encoding.far_share * 2**64)), np.array(words, np.uint32)
    taken = {
        square_wave.perturb(stream, np.full(3, cell), encoding.near, 20, far_share, reports)
        for cell in (0, 7, 20)
    }
    assert len(taken) == 1


@pytest.mark.needs_jit
@pytest.mark.parametrize(("size", "epsilon"), [(4, 0.5), (7, 1.0), (6, 3.0), (3, 8.0)])
def test_reports_have_the_stated_law(size, epsilon):
    encoding, clients = SquareWaveEncoding(epsilon, size), 60_000
    matrix = reference.square_wave_matrix(size, encoding.near, encoding.far_share)
    for cell in range(size):
        reports = encoding.perturb(np.full(clients, cell), RNG(cell))
        expected = clients * np.array([float(row[cell]) for row in matrix])
        assert fits(encoding.totals(reports), expected)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(blocks, "_CLIENTS", 50)
    encoding = SquareWaveEncoding(1.0, 20)
    cells = np.sort(RNG(1).integers(0, 20, 333))
    one, two = (encoding.perturb(cells, RNG(2), workers) for workers in (1, 2))
    assert np.array_equal(one, two)
    counts = np.bincount(cells, minlength=20)
    assert np.array_equal(encoding.perturbed_totals(counts, RNG(2), 2), encoding.totals(one))


def test_cells_beyond_the_ends_are_the_last_ones():
    encoding = SquareWaveEncoding(30.0, 10)
    beyond = encoding.perturb(np.array([-5, 10, 2**62]), RNG(1))
    assert beyond.tolist() == [0, 9, 9]
    assert encoding.perturb(np.array([2**64 - 1], np.uint64), RNG(1)).tolist() == [9]
    fine = SquareWaveEncoding(30.0, 1000)
    for dtype in (np.int8, np.uint8, np.uint16, np.int32):  # smaller ones than the cells
        assert fine.perturb(np.array([7], dtype), RNG(1)).tolist() == [7]


def test_without_a_generator_reports_differ():
    encoding = SquareWaveEncoding(0.1, 1000)
    first, second = (encoding.perturb(np.zeros(50, int)) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("length", [2, 3, 5, 8, 13])
def test_all_places_are_as_likely(length):
    counts = np.zeros(2 * length + 1, np.int64)
    counts[1] = 50_000
    found = _spread(counts, length, RNG(length))
    assert found.sum() == 50_000
    assert fits(found[1 : 1 + length], np.full(length, 50_000 / length))
    assert counts[1] == 50_000  # it is not changed


@pytest.mark.parametrize(("size", "epsilon"), [(3, 1.0), (4, 3.0)])
def test_simulated_totals_have_the_law_of_the_reports(size, epsilon):
    """Worked out for two clients in the first cell, and one in the last."""
    encoding, repeats = SquareWaveEncoding(epsilon, size), 4000
    counts = np.zeros(size, int)
    counts[0], counts[-1] = 2, 1
    matrix = reference.square_wave_matrix(size, encoding.near, encoding.far_share)
    first, last = ([float(row[cell]) for row in matrix] for cell in (0, size - 1))
    keys = 4 ** np.arange(encoding.outputs)
    expected = np.zeros(4**encoding.outputs)
    for pair in np.ndindex(*[3] * encoding.outputs):
        if sum(pair) == 2:
            weight = repeats * multinomial.pmf(pair, 2, first)
            expected[np.dot(pair, keys) + keys] += weight * np.array(last)
    rng = RNG(3)
    simulated = [encoding.simulated_totals(counts, rng) for _ in range(repeats)]
    found = np.bincount(np.array(simulated) @ keys, minlength=expected.size)
    assert fits(found, expected)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: SquareWaveEncoding(0, 5), dp.ParameterError, "epsilon must be positive"),
        (lambda e: SquareWaveEncoding(41, 5), dp.ParameterError, "epsilon must be between 2"),
        (lambda e: SquareWaveEncoding(1, 1), dp.ParameterError, "size must be between 2"),
        (lambda e: SquareWaveEncoding(1, 2.5), dp.DtypeError, "size"),
        (lambda e: e.perturb([1.0]), dp.DtypeError, "cells must hold integers"),
        (lambda e: e.perturb([[1]]), dp.ParameterError, "cells must have one dimension"),
        (lambda e: e.perturb([1], 7), dp.DtypeError, "no integer seeds"),
        (lambda e: e.perturb([1], workers=0), dp.ParameterError, "workers must be"),
        (lambda e: e.totals([e.outputs]), dp.ParameterError, "reports must be from 0 to"),
        (lambda e: e.totals([-1]), dp.ParameterError, "reports must be from 0 to .* got -1"),
        (lambda e: e.totals([[1]]), dp.ParameterError, "reports must have one dimension"),
        (lambda e: e.reconstruct([1, 2]), dp.ParameterError, "totals must have the shape"),
        (lambda e: e.reconstruct(np.zeros(e.outputs, int)), dp.ParameterError, "at least one"),
        (
            lambda e: e.reconstruct(np.ones(e.outputs, int), tolerance=0),
            dp.ParameterError,
            "tolerance must be positive",
        ),
        (
            lambda e: e.reconstruct(np.ones(e.outputs, int), 1.5),
            dp.ParameterError,
            "smoothing must be between 0 and 1; got 1.5",
        ),
        (
            lambda e: e.reconstruct(np.ones(e.outputs, int), "none"),
            dp.ParameterError,
            "smoothing must be",
        ),
        (lambda e: e.reconstruct(np.ones(e.outputs, int), None), dp.DtypeError, "smoothing"),
        (lambda e: e.simulated_totals([1] * 5, None), dp.DtypeError, "rng must be"),
        (lambda e: e.simulated_totals([1], RNG(1)), dp.ParameterError, "counts must have"),
        (lambda e: e.perturbed_totals([2**39] * 5), dp.ParameterError, "at most 2\\^40"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(SquareWaveEncoding(1, 5))
