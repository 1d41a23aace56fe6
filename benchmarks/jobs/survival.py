"""From durations and events to a survival curve over 1,000 thresholds.

The floor: one pass, and random bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.noise.sources import CryptographicSource

from ..registry import Contender, Job
from .noise import words

CELLS = 1_000
LONGEST = 10.0
STANDARD_ERRORS = 8
EXACT_DIFFERENCE = 1e-3  # of ways to take censorings within a cell


class Inputs(NamedTuple):
    durations: np.ndarray
    events: np.ndarray
    grid: dp.Grid


def records(size: int) -> Inputs:
    rng = np.random.default_rng(1)
    until_event, censoring = 4 * rng.weibull(1.3, size), rng.uniform(0, 12, size)
    grid = dp.Grid.uniform(0, LONGEST, CELLS)
    return Inputs(np.minimum(until_event, censoring), until_event <= censoring, grid)


def ours(inputs: Inputs):
    return lambda: dp.survival(*inputs, epsilon=1.0).survival


def numpy_with_noise(inputs: Inputs):
    """Noisy counts of both kinds of each cell, and the product of their shares that stay."""
    rng = np.random.default_rng(1)

    def release():
        events, ends = counts_of(inputs)
        noisy = events + rng.laplace(0, 2, CELLS), ends + rng.laplace(0, 2, CELLS)
        return product(*noisy, len(inputs.durations))

    return release


def numpy_exact(inputs: Inputs):
    return lambda: product(*counts_of(inputs), len(inputs.durations))


def scikit_survival(inputs: Inputs):
    from sksurv.nonparametric import kaplan_meier_estimator

    def estimate():
        times, survival = kaplan_meier_estimator(inputs.events, inputs.durations)
        at = np.searchsorted(times, inputs.grid.thresholds, side="right")
        return np.append(1.0, survival)[at]

    return estimate


def counts_of(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Return events, and ends of any kind, in the cells of the grid."""
    cells = np.ceil(inputs.durations * (CELLS / LONGEST)).astype(np.int64) - 1
    inside = np.clip(cells, 0, CELLS)
    events = np.bincount(inside, inputs.events, CELLS + 1)[:CELLS]
    return events, np.bincount(inside, minlength=CELLS + 1)[:CELLS]


def product(events: np.ndarray, ends: np.ndarray, n: int) -> np.ndarray:
    at_risk = n - np.append(0, np.cumsum(ends)[:-1])
    return np.cumprod(1 - np.clip(events / np.maximum(at_risk, 1), 0, 1))


def pass_and_bits(inputs: Inputs):
    memory = words(2 * CELLS)
    return lambda: (
        inputs.durations.max(),
        inputs.events.max(),
        CryptographicSource().fill(memory),
    )


def disagreements(inputs: Inputs, outcomes):
    exact, n = numpy_exact(inputs)(), len(inputs.durations)
    half = exact > 0.5  # the noise of a number at risk is in each of its hazards
    deviation = 2 * np.sqrt(CELLS) * np.sqrt(8) / n
    bound = EXACT_DIFFERENCE + STANDARD_ERRORS * deviation
    off = {name: np.abs(found - exact)[half].max() for name, found in outcomes.items()}
    return {name: f"off by {o:g}" for name, o in off.items() if not o <= bound}


JOBS = (
    Job(
        name="survival",
        title=f"Survival curve: durations and events, {CELLS:,} thresholds",
        unit="records",
        sizes=(10**5, 10**6),
        quick=(10**5,),
        small=20_000,
        memory=10**6,
        make=records,
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=f"survival down to a half, within {STANDARD_ERRORS} standard deviations",
        contenders=(
            Contender("dpcore, survival", "ours", ours, noise="exact"),
            Contender("NumPy, counts with noise", "numpy", numpy_with_noise, noise="inexact"),
            Contender("NumPy, counts without noise", "numpy", numpy_exact, noise="none"),
            Contender(
                "scikit-survival, all durations",
                "peer",
                scikit_survival,
                needs="sksurv.nonparametric",
                noise="none",
            ),
            Contender("one pass, and random bits: AES", "floor", pass_and_bits),
        ),
    ),
)
