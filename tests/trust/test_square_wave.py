"""Square waves as a mechanism: what it releases, where it is better, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import Local, Protocol, SquareWave, client_cdf

RNG = np.random.default_rng
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
    found = rmse(SquareWave(5.0, 10**6), coarse)
    assert found <= 2 * rmse(SquareWave(5.0, 10**6), fine)


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
    assert [each[:-1].tolist() for each in curve.band()] == [[0.0] * 255, [1.0] * 255]
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


@pytest.mark.parametrize("pair", [False, True])
def test_two_classes_are_not_one_row(pair):
    labels, scores = RNG(1).random((2, 100))
    model = SquareWave(1.0, clients=100)
    mechanism = (Local(1.0, 100), model) if pair else model
    with pytest.raises(ParameterError, match="mechanism must not treat all cells as one row"):
        dp.score_curves(labels < 0.5, scores, mechanism=mechanism)
    if not pair:
        with pytest.raises(ParameterError, match="mechanism must not treat all cells as one row"):
            dp.roc_curve(labels < 0.5, scores, mechanism=mechanism)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SquareWave(0.0, clients=5), ParameterError, "epsilon"),
        (lambda: SquareWave(41, clients=5), ParameterError, "epsilon must be between 2"),
        (lambda: SquareWave(1.0, clients=0), ParameterError, "clients"),
        (lambda: SquareWave(1.0, clients=5, resolution=1), ParameterError, "resolution must be"),
        (lambda: SquareWave(1.0, clients=5, resolution=1.5), DtypeError, "resolution"),
        (lambda: SquareWave(1.0, 5).release(np.ones(4, int)), ParameterError, "must sum to the 5"),
        (lambda: SquareWave(1.0, 5).noise_deviation(0), ParameterError, "size"),
        (lambda: Protocol(SquareWave(1.0, 5), 8, bytes(16)), DtypeError, "trust must be a Secure"),
        (
            lambda: client_cdf([1], [0.5], dp.Grid.uniform(0, 1, 4), SquareWave(1.0, 5)),
            DtypeError,
            "trust must be a Central, .* or Local; got SquareWave",
        ),
    ],
)
def test_bad_parameters(make, error, words):
    with pytest.raises(error, match=words):
        make()
