"""Square waves: reports of an exact law, releases, where these are better, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, norm

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.kernels.clients import square_wave
from dpcore.trust import Local, SquareWave, SquareWaveEncoding, client_cdf
from dpcore.trust.models import blocks
from dpcore.trust.models.square_wave_reports import _spread
from tests import reference
from tests.trust.rounds import RNG
from tests.trust.unary_bits import fits

N, SIZE = 20_000, 256
BELL = np.diff(norm.cdf(np.linspace(-4, 4, SIZE + 1)))
SMOOTH = RNG(1).multinomial(N, BELL / BELL.sum())
SPIKES = np.zeros(SIZE, int)
SPIKES[[30, 31, 140]] = N // 2, N // 4, N // 4


def rmse(mechanism, counts, seed=2):
    """Root mean square error of the monotone curve, over 20 releases."""
    released = mechanism.release(counts, rng=RNG(seed), replicates=20)
    curves = np.maximum.accumulate(np.clip(released, 0, counts.sum()), axis=1)
    return math.sqrt(np.mean((curves - np.cumsum(counts)) ** 2))


@pytest.mark.needs_jit
@pytest.mark.parametrize("counts", [SMOOTH, SPIKES])
@pytest.mark.parametrize("size", [2, 100, SIZE])
def test_releases_do_not_fall_and_end_at_the_clients(counts, size):
    model = SquareWave(1.0, clients=N, resolution=size)
    released = model.release(counts, rng=RNG(1), replicates=3)
    assert released.shape == (3, SIZE)
    assert np.all(np.diff(released, axis=1, prepend=0) >= 0)
    assert np.all(released[:, -1] == N)
    again = model.release(counts, rng=RNG(1), replicates=3, workers=1)
    assert np.array_equal(released, again)


def test_cells_beyond_the_resolution_are_on_straight_lines():
    model = SquareWave(5.0, clients=N, resolution=100)
    assert model.edges(SIZE).tolist() == [*range(0, SIZE, 3), SIZE]
    assert model.encoding(SIZE).size == 86
    steps = np.diff(model.release(SMOOTH, rng=RNG(1)), prepend=0)
    assert np.allclose(steps[:255].reshape(-1, 3), steps[:255:3, np.newaxis], atol=1e-6)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_it_is_better_than_local_where_the_density_is_smooth(epsilon):
    assert rmse(SquareWave(epsilon, N), SMOOTH) < 0.8 * rmse(Local(epsilon, N), SMOOTH)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_it_is_little_worse_than_local_where_records_share_values(epsilon):
    clients, counts = 20 * N, np.zeros(1024, int)
    counts[::4] = 20 * SPIKES
    model, rng = SquareWave(epsilon, clients), RNG(3)
    local = rmse(Local(epsilon, clients), counts)
    assert rmse(model, counts) < 2.5 * local
    totals = model.encoding(1024).simulated_totals(counts, rng)
    paper = clients * np.cumsum(model.encoding(1024).reconstruct(totals, smoothing=1.0))
    assert np.sqrt(np.mean((paper - np.cumsum(counts)) ** 2)) > 2 * local


@pytest.mark.needs_jit
def test_coarser_cells_are_smoothed_over_the_same_width():
    """Smoothing every step as on the paper's 1,024 cells would blur 64 of them."""
    fine = RNG(1).multinomial(10**6, np.repeat(BELL / BELL.sum(), 4) / 4)
    coarse = fine.reshape(64, 16).sum(axis=1)
    error = rmse(SquareWave(5.0, 10**6), coarse)
    assert error <= 2 * rmse(SquareWave(5.0, 10**6), fine)


def test_without_a_generator_every_report_is_made():
    model = SquareWave(4.0, clients=N)
    released = model.release(SMOOTH)
    assert np.abs(released - np.cumsum(SMOOTH)).max() < 0.05 * N
    assert not np.array_equal(released, model.release(SMOOTH))


def test_a_curve_is_monotone_has_no_bands_and_is_written():
    grid = dp.Grid.uniform(0, 1, SIZE)
    curve = dp.cdf_from_counts(SMOOTH, grid, SquareWave(4.0, clients=N), rng=RNG(1))
    assert np.isinf(curve.noise_deviation[:-1]).all()
    assert curve.noise_deviation[-1] == 0.0
    assert [side[:-1].tolist() for side in curve.band()] == [[0.0] * 255, [1.0] * 255]
    assert abs(curve.quantile(0.5) - 0.5) < 0.02
    assert curve.privacy == dp.Privacy(4.0, simulated=True)
    again = dp.CDF.from_json(curve.to_json())
    assert again.mechanism == SquareWave(4.0, clients=N).describe()
    assert np.array_equal(again.counts, curve.counts)


def test_one_cell():
    model = SquareWave(1.0, clients=N)
    assert model.release(np.array([N]), rng=RNG(1)).tolist() == [N]
    assert model.noise_deviation(1).tolist() == [0.0]
    assert model.release(np.array([N, 0])).tolist()[-1] == N


def test_two_classes_are_not_one_row():
    labels, scores = RNG(1).random((2, 100))
    model = SquareWave(1.0, clients=100)
    for use in (
        lambda: dp.score_curves(labels < 0.5, scores, mechanism=model),
        lambda: dp.score_curves(labels < 0.5, scores, mechanism=(Local(1.0, 100), model)),
        lambda: dp.roc_curve(labels < 0.5, scores, mechanism=model),
    ):
        with pytest.raises(ParameterError, match="mechanism"):
            use()


UNIT = dp.Grid.uniform(0, 1, 4)


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: SquareWave(0.0, clients=5), ParameterError, "epsilon"),
        (lambda: SquareWave(41, clients=5), ParameterError, "epsilon"),
        (lambda: SquareWave(1.0, clients=0), ParameterError, "clients"),
        (lambda: SquareWave(1.0, clients=5, resolution=1), ParameterError, "resolution"),
        (lambda: SquareWave(1.0, clients=5, resolution=1.5), DtypeError, "resolution"),
        (lambda: SquareWave(1.0, 5).release(np.ones(4, int)), ParameterError, "counts .* 5 "),
        (lambda: SquareWave(1.0, 5).noise_deviation(0), ParameterError, "size"),
        (lambda: client_cdf([1], [0.5], UNIT, SquareWave(1.0, 5)), DtypeError, "trust"),
    ],
)
def test_bad_parameters(make, error, name):
    with pytest.raises(error, match=name):
        make()


# --- reports


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
    stream, (near, share) = iter(words), (encoding.near, encoding.far_share)
    expected = [
        reference.square_wave_report(stream, cell, size, near, share)
        for cell in cells[:done].tolist()
    ]
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
    spread = _spread(counts, length, RNG(length))
    assert spread.sum() == 50_000
    assert fits(spread[1 : 1 + length], np.full(length, 50_000 / length))
    assert counts[1] == 50_000  # it is not changed


@pytest.mark.sample(1)
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
    assert fits(np.bincount(np.array(simulated) @ keys, minlength=expected.size), expected)


ONES = np.ones(SquareWaveEncoding(1, 5).outputs, int)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: SquareWaveEncoding(0, 5), ParameterError, "epsilon"),
        (lambda e: SquareWaveEncoding(41, 5), ParameterError, "epsilon"),
        (lambda e: SquareWaveEncoding(1, 1), ParameterError, "size"),
        (lambda e: SquareWaveEncoding(1, 2.5), DtypeError, "size"),
        (lambda e: e.perturb([1.0]), DtypeError, "cells"),
        (lambda e: e.perturb([[1]]), ParameterError, "cells"),
        (lambda e: e.perturb([1], 7), DtypeError, "rng"),
        (lambda e: e.perturb([1], workers=0), ParameterError, "workers"),
        (lambda e: e.totals([e.outputs]), ParameterError, "reports"),
        (lambda e: e.totals([-1]), ParameterError, "reports .*got -1"),
        (lambda e: e.totals([[1]]), ParameterError, "reports"),
        (lambda e: e.reconstruct([1, 2]), ParameterError, "totals"),
        (lambda e: e.reconstruct(0 * ONES), ParameterError, "totals"),
        (lambda e: e.reconstruct(ONES, tolerance=0), ParameterError, "tolerance"),
        (lambda e: e.reconstruct(ONES, 1.5), ParameterError, "smoothing .*got 1.5"),
        (lambda e: e.reconstruct(ONES, "none"), ParameterError, "smoothing"),
        (lambda e: e.reconstruct(ONES, None), DtypeError, "smoothing"),
        (lambda e: e.simulated_totals([1] * 5, None), DtypeError, "rng"),
        (lambda e: e.simulated_totals([1], RNG(1)), ParameterError, "counts"),
        (lambda e: e.perturbed_totals([2**39] * 5), ParameterError, "counts"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(SquareWaveEncoding(1, 5))
