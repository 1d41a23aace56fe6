"""Local reports by subset selection: each client sends a few of 256 values, and all are added up.

The floor is the random bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore.noise.sources import CryptographicSource
from dpcore.trust import SubsetSelection

from ..registry import Contender, Job

VALUES = 256
STANDARD_ERRORS = 8
CHUNK = 20_000
WINDOW = 2**15


class Clients(NamedTuple):
    encoding: SubsetSelection
    counts: np.ndarray

    @property
    def values(self) -> np.ndarray:
        return np.repeat(np.arange(VALUES), self.counts)

    @property
    def chosen(self) -> int:
        return int(self.encoding.chosen)


def clients(epsilon: float):
    def make(size: int) -> Clients:
        counts = np.full(VALUES, size // VALUES)
        counts[: size % VALUES] += 1
        return Clients(SubsetSelection(epsilon, VALUES), counts)

    return make


def ours_on_threads(workers: int):
    def start(inputs: Clients):
        return lambda: inputs.encoding.perturbed_totals(inputs.counts, workers=workers)

    return start


def ours_in_law(inputs: Clients):
    rng = np.random.default_rng(1)
    return lambda: inputs.encoding.simulated_totals(inputs.counts, rng)


def numpy_in_chunks(inputs: Clients):
    rng, values, chosen = np.random.default_rng(1), inputs.values, inputs.chosen
    missing = float(inputs.encoding.missing)

    def perturb():
        totals = np.zeros(VALUES, np.int64)
        for start in range(0, values.size, CHUNK):
            own = values[start : start + CHUNK]
            without = rng.random(own.size) < missing
            for blind, others in ((own[without], chosen), (own[~without], chosen - 1)):
                sets = subsets(blind.size, VALUES - 1, others, rng)
                sets += sets >= blind[:, None]
                totals += np.bincount(sets.ravel(), minlength=VALUES)
            totals += np.bincount(own[~without], minlength=VALUES)
        return totals

    return perturb


def subsets(rows: int, size: int, chosen: int, rng: np.random.Generator) -> np.ndarray:
    """Choose some of the first integers in each row, by Floyd's algorithm."""
    sets = np.empty((rows, chosen), np.int64)
    for step, highest in enumerate(range(size - chosen, size)):
        drawn = rng.integers(0, highest, rows, endpoint=True)
        known = (sets[:, :step] == drawn[:, None]).any(axis=1)
        sets[:, step] = np.where(known, highest, drawn)
    return sets


def multi_freq_ldpy(inputs: Clients):
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    values, epsilon = inputs.values, float(inputs.encoding.epsilon)

    def perturb():
        totals = np.zeros(VALUES, np.int64)
        for value in values:
            totals[SS_Client(value, VALUES, epsilon)] += 1
        return totals

    return perturb


def aes_words(inputs: Clients):
    """Draw the bits of a report: 64 for whether it has the own value, 32 for each value in it."""
    size = int(inputs.counts.sum()) * (2 + inputs.chosen) // 2
    words, source = np.empty(WINDOW, np.uint64), CryptographicSource()

    def fill():
        for _ in range(-(-size // WINDOW)):
            source.fill(words)

    return fill


def disagreements(inputs: Clients, outcomes):
    reports, chosen = int(inputs.counts.sum()), inputs.chosen
    own = 1 - float(inputs.encoding.missing)
    other = (chosen - own) / (VALUES - 1)
    means = inputs.counts * own + (reports - inputs.counts) * other
    spread = np.sqrt(
        inputs.counts * own * (1 - own) + (reports - inputs.counts) * other * (1 - other)
    )
    found = {}
    for name, totals in outcomes.items():
        if int(totals.sum()) != reports * chosen:
            found[name] = "reports of another size"
        elif np.any(np.abs(totals - means) > STANDARD_ERRORS * spread):
            found[name] = "a total is off"
    return found


def job(name: str, epsilon: float) -> Job:
    return Job(
        name=name,
        title=f"Subset selection: {VALUES:,} values, epsilon = {epsilon:g}",
        unit="clients",
        sizes=(10**5, 10**6),
        quick=(10**5,),
        small=2000,
        memory=10**6,
        make=clients(epsilon),
        outcome=lambda inputs, answer: answer,
        disagreements=disagreements,
        agreement=f"each total within {STANDARD_ERRORS} standard deviations, and their exact sum",
        contenders=(
            Contender("dpcore, one thread", "ours", ours_on_threads(1), noise="exact"),
            Contender("dpcore, two threads", "ours", ours_on_threads(2), noise="exact"),
            Contender(
                "dpcore, law of the totals alone: for studies",
                "ours",
                ours_in_law,
                noise="inexact",
            ),
            Contender("NumPy in chunks", "numpy", numpy_in_chunks, noise="inexact"),
            Contender(
                "multi-freq-ldpy, streamed",
                "peer",
                multi_freq_ldpy,
                needs="multi_freq_ldpy",
                largest=10**5,
                noise="inexact",
            ),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
        ),
    )


JOBS = (job("subsets-3", 3.0), job("subsets-5", 5.0))
