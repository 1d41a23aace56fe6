"""Histogram queries and adaptive quantiles, from cell counts. The floor: bits and curves."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.mechanisms.adaptive import AdaptiveQuantiles
from dpcore.mechanisms.queries import HistogramQueries
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import difference, words

BINS, STEPS, EPSILON = 30, 50, 1.0
STANDARD_ERRORS = 8


class Inputs(NamedTuple):
    counts: np.ndarray
    mechanism: dp.mechanisms.Mechanism
    asked: int
    replicates: int
    error: float  # of a cumulative count: noise, and the error between steps


def bins(replicates: int):
    def make(cells: int) -> Inputs:
        counts = np.random.default_rng(1).poisson(3, cells)
        mechanism = HistogramQueries(EPSILON, BINS)
        noise = float(mechanism.noise_deviation(cells)[mechanism.ends(cells) - 1].max())
        return Inputs(counts, mechanism, BINS, replicates, noise + counts.sum() / BINS)

    return make


def quantiles(replicates: int):
    def make(cells: int) -> Inputs:
        counts = np.random.default_rng(1).poisson(3, cells)
        mechanism = AdaptiveQuantiles(EPSILON, STEPS)
        noise = mechanism.answer_deviation(cells)
        return Inputs(counts, mechanism, STEPS, replicates, noise + counts.sum() / STEPS)

    return make


def ours(workers: int | None):
    def start(inputs: Inputs):
        release, counts = inputs.mechanism.release, inputs.counts
        return lambda: release(counts, replicates=inputs.replicates, workers=workers)

    return start


def numpy_bins(inputs: Inputs):
    rng, counts = np.random.default_rng(1), inputs.counts
    ends = np.arange(BINS + 1) * counts.size // BINS
    widths = np.diff(np.append(ends, counts.size + 1))

    def release():
        n = counts.sum()
        noisy = np.add.reduceat(counts, ends[:-1]) + difference(
            rng, 2 / EPSILON, (inputs.replicates, BINS)
        )
        noisy = noisy + (n - noisy.sum(axis=1, keepdims=True)) / BINS
        known = np.zeros((inputs.replicates, BINS + 1))
        np.cumsum(noisy, axis=1, out=known[:, 1:])
        known[:, -1] = n
        return np.repeat(known, widths, axis=1)[:, 1:]

    return release


def numpy_quantiles(inputs: Inputs):
    """One release after the other, with the gaps on a heap."""
    rng, counts = np.random.default_rng(1), inputs.counts
    size = counts.size

    def release():
        totals = np.append(0, np.cumsum(counts))
        n = int(totals[-1])
        out = np.empty((inputs.replicates, size))
        noise = difference(rng, STEPS / EPSILON, (inputs.replicates, STEPS))
        for row, own in zip(out, noise.tolist(), strict=True):
            thresholds, answers = [0, size], [0, n]
            gaps = [(-n, 0, size, 0, n)]
            for z in own:
                _, a, b, low, high = heapq.heappop(gaps)
                middle = (a + b) // 2
                answer = min(max(int(totals[middle]) + z, 0), n)
                thresholds.append(middle)
                answers.append(answer)
                if middle - a > 1:
                    heapq.heappush(gaps, (low - answer, a, middle, low, answer))
                if b - middle > 1:
                    heapq.heappush(gaps, (answer - high, middle, b, answer, high))
            widths = np.diff([*sorted(thresholds), size + 1])
            row[:] = np.repeat(np.array(sorted(answers), float), widths)[1:]
        return out

    return release


def bits_and_curves(inputs: Inputs):
    memory = words(inputs.asked * inputs.replicates)
    return lambda: (
        CryptographicSource().fill(memory),
        np.ones((inputs.replicates, inputs.counts.size)),
    )


def disagreements(inputs: Inputs, outcomes):
    true = np.cumsum(inputs.counts)
    bound = STANDARD_ERRORS * inputs.error
    off = {name: np.abs(curve - true).max() for name, curve in outcomes.items()}
    return {name: f"off by {o:g} counts" for name, o in off.items() if not o <= bound}


def job(name, title, make, numpy, replicates):
    contenders = [
        Contender("dpcore", "ours", ours(None), noise="exact"),
        Contender("NumPy by hand", "numpy", numpy, noise="inexact"),
        Contender("random bits, and memory for the curves", "floor", bits_and_curves),
    ]
    if replicates > 1:
        contenders.insert(1, Contender("dpcore, one thread", "ours", ours(1), noise="exact"))
    return Job(
        name=name,
        title=title,
        unit="cells",
        sizes=(2**15,),
        quick=(2**15,),
        small=2**8,
        memory=2**15,
        make=make(replicates),
        outcome=lambda inputs, answer: np.asarray(answer).mean(axis=0),
        disagreements=disagreements,
        agreement=(
            f"counts are off by at most {STANDARD_ERRORS} times a standard error of the noise plus "
            "a step of the curve; for many releases, the mean is compared"
        ),
        contenders=tuple(contenders),
    )


JOBS = (
    job("queries", f"Histogram queries, {BINS} bins", bins, numpy_bins, 1),
    job("queries-1000", f"1,000 histogram queries, {BINS} bins", bins, numpy_bins, 1000),
    job("quantiles", f"Adaptive quantiles, {STEPS} steps", quantiles, numpy_quantiles, 1),
    job(
        "quantiles-1000",
        f"1,000 adaptive quantiles, {STEPS} steps",
        quantiles,
        numpy_quantiles,
        1000,
    ),
)
