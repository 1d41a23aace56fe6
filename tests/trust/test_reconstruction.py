"""What explains the reports of a square wave: as the plain reference does, and no smoother."""

from __future__ import annotations

import numpy as np
import pytest

from dpcore.trust.models import reconstruction
from dpcore.trust.models.reconstruction import Wave
from dpcore.trust.models.square_wave_reports import SquareWaveEncoding
from tests import reference
from tests.trust.rounds import RNG


def wave_and_matrix(size, epsilon):
    """The law of a report, and all its probabilities, (D, N)."""
    encoding = SquareWaveEncoding(epsilon, size)
    matrix = reference.square_wave_matrix(size, encoding.near, encoding.far_share)
    p, q = encoding.probabilities
    return Wave(size, encoding.near, float(p), float(q)), np.array(matrix, float)


@pytest.mark.parametrize(
    ("size", "epsilon", "steps"), [(2, 1.0, 50), (7, 0.5, 200), (16, 3.0, 40), (30, 8.0, 5)]
)
@pytest.mark.parametrize("tolerance", [1e-12, 1e-3])
@pytest.mark.parametrize("smoothing", [1.0, 0.25, 0.0])
def test_shares_are_those_of_the_reference(size, epsilon, steps, tolerance, smoothing, monkeypatch):
    monkeypatch.setattr(reconstruction, "_MOST_STEPS", steps)
    monkeypatch.setattr(reconstruction, "_FULLY_SMOOTHED", 20)
    wave, matrix = wave_and_matrix(size, epsilon)
    totals = RNG(size).integers(0, 50, len(matrix))
    weight = smoothing * min(1.0, (size / 20) ** 2)
    expected = reference.smoothed_likelihood(totals, matrix, weight, tolerance, steps)
    shares = SquareWaveEncoding(epsilon, size).reconstruct(totals, smoothing, tolerance)
    assert np.allclose(shares, expected, rtol=1e-9, atol=1e-13)
    likelihood = np.sum(totals * np.log(matrix @ expected))
    assert wave.log_likelihood(totals, expected) == pytest.approx(likelihood, rel=1e-12)


def test_what_is_expected_of_a_uniform_column_gives_it_back():
    _, matrix = wave_and_matrix(50, 2.0)
    totals = np.round(1e9 * matrix.sum(axis=1) / 50).astype(int)
    assert np.allclose(SquareWaveEncoding(2.0, 50).reconstruct(totals), 1 / 50, atol=1e-5)


@pytest.mark.needs_jit
@pytest.mark.parametrize("smoothing", ["auto", 1.0, 0.0])
@pytest.mark.parametrize("totals", ["one report", "one output", "ends"])
@pytest.mark.parametrize("epsilon", [2.0**-20, 1.0, 40.0])
def test_shares_are_shares_whatever_is_reported(totals, epsilon, smoothing):
    encoding = SquareWaveEncoding(epsilon, 40)
    given = np.zeros(encoding.outputs, int)
    given[{"one report": [3], "one output": [-1], "ends": [0, -1]}[totals]] = (
        1 if totals == "one report" else 10**12
    )
    shares = encoding.reconstruct(given, smoothing)
    assert np.all(shares >= 0)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("size", "epsilon"), [(60, 1.0), (60, 4.0), (120, 2.0)])
@pytest.mark.parametrize("smoothing", [1.0, 2.0**-4, 2.0**-8])
def test_parameters_are_the_trace_of_what_smoothing_does(size, epsilon, smoothing):
    """Near a uniform column a fit is linear in what would fit best; all directions but the sum."""
    wave, matrix = wave_and_matrix(size, epsilon)
    step = matrix.T @ (matrix / matrix.sum(axis=1, keepdims=True))
    smoother = np.eye(size)
    weight = smoothing * (size / 1024) ** 2
    for i in range(size):
        smoother[i, i] -= weight / 2
        for j in (max(i - 1, 0), min(i + 1, size - 1)):
            smoother[i, j] += weight / 4
    # of what is left, which has the sum 0
    others = np.eye(size) - 1 / size
    fitted = np.linalg.solve(
        np.eye(size) - smoother @ (np.eye(size) - step) @ others, smoother @ step
    )
    trace = np.trace(others @ fitted @ others)
    assert 0.65 * trace < wave.parameters(smoothing) < trace
    assert 0 < wave.parameters(smoothing) < size - 1


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_smooth_column_is_smoothed_and_spikes_are_not(epsilon):
    clients, rng = 200_000, RNG(5)
    encoding = SquareWaveEncoding(epsilon, 512)
    bell = np.exp(-0.5 * ((np.arange(512) - 300) / 60) ** 2)
    spikes = np.zeros(512)
    spikes[[100, 101, 350]] = 2, 1, 1
    for density, smoothing in ((bell, 1.0), (spikes, 0.0)):
        totals = encoding.simulated_totals(rng.multinomial(clients, density / density.sum()), rng)
        fitted = encoding.reconstruct(totals)
        fits = {weight: encoding.reconstruct(totals, weight) for weight in (0.0, 1.0)}
        distances = {weight: np.abs(np.cumsum(fitted - fit)).max() for weight, fit in fits.items()}
        assert distances[smoothing] < 0.5 * distances[1.0 - smoothing]


def test_a_fit_goes_on_from_another():
    wave, matrix = wave_and_matrix(30, 2.0)
    totals = RNG(1).integers(0, 50, len(matrix))
    start = RNG(2).dirichlet(np.ones(30))
    kept = start.copy()
    long = wave.fit(totals, 1.0, 1e-9)
    assert np.allclose(wave.fit(totals, 1.0, 1e-9, start), long, atol=1e-6)
    assert np.array_equal(start, kept)
