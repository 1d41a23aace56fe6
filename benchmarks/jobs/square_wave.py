"""Square waves over 1,024 cells: a report for each client, and a reconstruction from reports.

The floor of reports is their random bits. The floor of a reconstruction is as many steps that only
divide reports by their expected numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore.kernels.clients import smoothed_likelihood
from dpcore.noise.sources import CryptographicSource
from dpcore.trust.models.square_wave_reports import SquareWaveEncoding

from ..registry import Contender, Job

CELLS = 1024
STANDARD_ERRORS = 8
WINDOW = 2**15
CLOSE = 1e-4
TOLERANCE = 1e-5
STEPS = 10_000


# --- reports


class Clients(NamedTuple):
    encoding: SquareWaveEncoding
    counts: np.ndarray


def clients(epsilon: float):
    def make(size: int) -> Clients:
        weights = np.exp(-0.5 * ((np.arange(CELLS) - 400) / 120) ** 2)
        counts = np.random.default_rng(1).multinomial(size, weights / weights.sum())
        return Clients(SquareWaveEncoding(epsilon, CELLS), counts)

    return make


def ours_on_threads(workers: int):
    def start(inputs: Clients):
        return lambda: inputs.encoding.perturbed_totals(inputs.counts, workers=workers)

    return start


def ours_in_law(inputs: Clients):
    rng = np.random.default_rng(1)
    return lambda: inputs.encoding.simulated_totals(inputs.counts, rng)


def numpy_at_once(inputs: Clients):
    rng, encoding = np.random.default_rng(1), inputs.encoding
    near, outputs, far_share = encoding.near, encoding.outputs, float(encoding.far_share)

    def perturb():
        cells = np.repeat(np.arange(CELLS), inputs.counts)
        places = rng.integers(0, near, cells.size)
        others = rng.integers(0, outputs - near, cells.size)
        others += near * (others >= cells)
        is_far = rng.random(cells.size) < far_share
        return np.bincount(np.where(is_far, others, cells + places), minlength=outputs)

    return perturb


def aes_words(inputs: Clients):
    words, source = np.empty(WINDOW, np.uint64), CryptographicSource()
    whole, rest = divmod(3 * int(inputs.counts.sum()) // 2, WINDOW)

    def fill():
        for _ in range(whole):
            source.fill(words)
        source.fill(words[:rest])

    return fill


def expected(inputs: Clients) -> np.ndarray:
    p, q = map(float, inputs.encoding.probabilities)
    near = np.convolve(inputs.counts, np.ones(inputs.encoding.near))
    return q * inputs.counts.sum() + (p - q) * near


def report_disagreements(inputs: Clients, outcomes):
    means, found = expected(inputs), {}
    for name, totals in outcomes.items():
        if totals.sum() != inputs.counts.sum():
            found[name] = "not a report for each client"
        elif np.any(np.abs(totals - means) > STANDARD_ERRORS * np.sqrt(means + 1)):
            found[name] = "a total is off"
    return found


def reports_job(name: str, epsilon: float) -> Job:
    return Job(
        name=name,
        title=f"Square waves: {CELLS:,} cells, epsilon = {epsilon:g}",
        unit="clients",
        sizes=(10**5, 10**6),
        quick=(10**5,),
        small=2000,
        memory=10**6,
        make=clients(epsilon),
        outcome=lambda inputs, answer: answer,
        disagreements=report_disagreements,
        agreement=f"each total within {STANDARD_ERRORS} standard deviations",
        contenders=(
            Contender("dpcore, one thread", "ours", ours_on_threads(1), noise="exact"),
            Contender("dpcore, two threads", "ours", ours_on_threads(2), noise="exact"),
            Contender(
                "dpcore, law of the totals alone: for studies",
                "ours",
                ours_in_law,
                noise="inexact",
            ),
            Contender("NumPy, all clients at once", "numpy", numpy_at_once, noise="inexact"),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
        ),
    )


# --- reconstruction


class Totals(NamedTuple):
    encoding: SquareWaveEncoding
    totals: np.ndarray


def totals(size: int) -> Totals:
    weights = np.exp(-0.5 * ((np.arange(size) - 0.4 * size) / (0.12 * size)) ** 2)
    encoding, rng = SquareWaveEncoding(2.0, size), np.random.default_rng(1)
    counts = rng.multinomial(10**5, weights / weights.sum())
    return Totals(encoding, encoding.simulated_totals(counts, rng))


def ours_reconstruction(inputs: Totals):
    return lambda: inputs.encoding.reconstruct(inputs.totals, 1.0, TOLERANCE)


def numpy_matrix(inputs: Totals):
    """The published way: a dense matrix, and products with it."""
    encoding, size = inputs.encoding, inputs.encoding.size
    p, q = map(float, encoding.probabilities)
    ahead = np.arange(encoding.outputs)[:, np.newaxis] - np.arange(size)
    matrix = np.where((ahead >= 0) & (ahead < encoding.near), p, q)
    weight = paper_weight(size)

    def fit():
        shares = np.full(size, 1 / size)
        for _ in range(STEPS):
            fitted = shares * (matrix.T @ (inputs.totals / (matrix @ shares)))
            fitted /= fitted.sum()
            around = np.pad(fitted, 1, "edge")
            around = 0.25 * (around[:-2] + around[2:]) - 0.5 * fitted
            before, shares = shares, fitted + weight * around
            if np.abs(shares - before).sum() <= TOLERANCE:
                break
        return shares

    return fit


def divisions(inputs: Totals):
    encoding, shares = inputs.encoding, np.full(inputs.encoding.size, 1 / inputs.encoding.size)
    p, q = map(float, encoding.probabilities)
    steps = smoothed_likelihood.reconstruct(
        inputs.totals.astype(np.float64),
        encoding.near,
        p,
        q,
        paper_weight(encoding.size),
        TOLERANCE,
        STEPS,
        shares,
    )
    found, means, ratios = (np.ones(encoding.outputs) for _ in range(3))

    def divide():
        for _ in range(steps):
            np.divide(found, means, out=ratios)

    return divide


def paper_weight(size: int) -> float:
    return min(1.0, (size / 1024) ** 2)


def reconstruction_disagreements(inputs: Totals, outcomes):
    found = {name: "no shares" for name, each in outcomes.items() if abs(each.sum() - 1) > CLOSE}
    right = [name for name in outcomes if name not in found]
    for name in right[1:]:
        if np.abs(outcomes[name] - outcomes[right[0]]).sum() > CLOSE:
            found[name] = "other shares"
    return found


JOBS = (
    reports_job("wave-1", 1.0),
    reports_job("wave-5", 5.0),
    Job(
        name="reconstruct",
        title="Reconstruct a distribution from square waves, epsilon = 2",
        unit="cells",
        sizes=(256, 1024, 4096),
        quick=(256,),
        small=40,
        memory=1024,
        make=totals,
        outcome=lambda inputs, answer: answer,
        disagreements=reconstruction_disagreements,
        agreement=f"the shares sum to 1, and differ by at most {CLOSE:g} in sum",
        contenders=(
            Contender("dpcore, the paper's smoothing", "ours", ours_reconstruction),
            Contender("NumPy, a dense matrix", "numpy", numpy_matrix, largest=1024),
            Contender("a division for each output and step", "floor", divisions),
        ),
    ),
)
