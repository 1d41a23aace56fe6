"""Local reports: each client perturbs a bit for each of 1,024 values, and all are added up.

The floor is the random bits, or one pass over the packed reports.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcore.noise.sources import CryptographicSource
from dpcore.trust.models.unary import UnaryEncoding

from ..registry import Contender, Job

VALUES = 1024
STANDARD_ERRORS = 8
CHUNK = 1000
WINDOW = 2**15
WORDS = {1.0: 129.0, 5.0: 9.4}  # of 16 random bits that a client takes


# --- reports


class Clients(NamedTuple):
    encoding: UnaryEncoding
    counts: np.ndarray
    reports: int


def clients(epsilon: float):
    def make(size: int) -> Clients:
        counts = np.full(VALUES, size // VALUES)
        counts[: size % VALUES] += 1
        return Clients(UnaryEncoding(epsilon), counts, size)

    return make


def ours_on_threads(workers: int):
    def start(inputs: Clients):
        encoding, counts, reports = inputs
        return lambda: encoding.perturbed_totals(counts, reports, workers=workers)

    return start


def ours_in_law(inputs: Clients):
    rng = np.random.default_rng(1)
    return lambda: inputs.encoding.simulated_totals(inputs.counts, inputs.reports, rng)


def numpy_in_chunks(inputs: Clients):
    rng, q = np.random.default_rng(1), np.float32(inputs.encoding.q)
    values = np.repeat(np.arange(VALUES), inputs.counts)

    def perturb():
        totals = np.zeros(VALUES, np.int64)
        for start in range(0, inputs.reports, CHUNK):
            own = values[start : start + CHUNK]
            bits = rng.random((own.size, VALUES), np.float32) < q
            bits[np.arange(own.size), own] = rng.random(own.size, np.float32) < 0.5
            totals += bits.sum(axis=0)
        return totals

    return perturb


def multi_freq_ldpy(inputs: Clients):
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    values, epsilon = np.repeat(np.arange(VALUES), inputs.counts), float(inputs.encoding.epsilon)

    def perturb():
        totals = np.zeros(VALUES)
        for value in values:
            totals += UE_Client(value, VALUES, epsilon)
        return totals

    return perturb


def pure_ldp(inputs: Clients):
    from pure_ldp.frequency_oracles import UEClient, UEServer

    values, epsilon = np.repeat(np.arange(VALUES), inputs.counts), float(inputs.encoding.epsilon)
    client, server = (
        role(epsilon, VALUES, use_oue=True, index_mapper=int) for role in (UEClient, UEServer)
    )

    def perturb():
        server.aggregated_data = np.zeros(VALUES)
        for value in values:
            server.aggregate(client.privatise(value))
        return server.aggregated_data

    return perturb


def aes_words(inputs: Clients):
    windows = -(-int(inputs.reports * WORDS[float(inputs.encoding.epsilon)]) // (4 * WINDOW))
    words, source = np.empty(WINDOW, np.uint64), CryptographicSource()

    def fill():
        for _ in range(windows):
            source.fill(words)

    return fill


def report_disagreements(inputs: Clients, outcomes):
    q = float(inputs.encoding.q)
    means = inputs.reports * q + inputs.counts * (0.5 - q)
    spread = np.sqrt((inputs.reports - inputs.counts) * q * (1 - q) + inputs.counts / 4)
    found = {}
    for name, totals in outcomes.items():
        if np.abs(totals - means).max() > STANDARD_ERRORS * spread.max():
            found[name] = "a total is off"
        elif abs(np.sum(totals - means)) > STANDARD_ERRORS * np.sqrt(np.sum(spread**2)):
            found[name] = "the totals' sum is off"
    return found


def reports_job(name: str, epsilon: float) -> Job:
    return Job(
        name=name,
        title=f"Local reports: {VALUES:,} values, epsilon = {epsilon:g}",
        unit="clients",
        sizes=(10**5, 10**6),
        quick=(10**5,),
        small=2000,
        memory=10**6,
        make=clients(epsilon),
        outcome=lambda inputs, answer: answer,
        disagreements=report_disagreements,
        agreement=f"each total, and their sum, within {STANDARD_ERRORS} standard deviations",
        contenders=(
            Contender("dpcore, one thread", "ours", ours_on_threads(1), noise="exact"),
            Contender("dpcore, two threads", "ours", ours_on_threads(2), noise="exact"),
            Contender(
                "dpcore, law of the totals alone: for studies",
                "ours",
                ours_in_law,
                noise="inexact",
            ),
            Contender("NumPy in chunks, float32", "numpy", numpy_in_chunks, noise="inexact"),
            Contender(
                "multi-freq-ldpy, streamed",
                "peer",
                multi_freq_ldpy,
                needs="multi_freq_ldpy",
                largest=10**5,
                noise="inexact",
            ),
            Contender(
                "pure-ldp, streamed",
                "peer",
                pure_ldp,
                needs="pure_ldp.frequency_oracles",
                largest=10**5,
                noise="inexact",
            ),
            Contender("random bits alone: AES in counter mode", "floor", aes_words),
        ),
    )


# --- totals


class Reports(NamedTuple):
    packed: np.ndarray
    totals: np.ndarray


def packed_reports(size: int) -> Reports:
    packed = np.random.default_rng(1).integers(0, 2**64, (size, VALUES // 64), dtype=np.uint64)
    return Reports(packed, unpacked_totals(packed))


def unpacked_totals(packed: np.ndarray) -> np.ndarray:
    totals = np.zeros(VALUES, np.int64)
    for start in range(0, len(packed), CHUNK):
        octets = packed[start : start + CHUNK].astype("<u8", copy=False).view(np.uint8)
        totals += np.unpackbits(octets, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    return totals


def ours_totals(inputs: Reports):
    encoding = UnaryEncoding(1.0)
    return lambda: encoding.totals(inputs.packed, VALUES)


JOBS = (
    reports_job("local-1", 1.0),
    reports_job("local-5", 5.0),
    Job(
        name="packed",
        title=f"Aggregate packed reports: {VALUES:,} values",
        unit="reports",
        sizes=(10**6,),
        quick=(10**5,),
        small=2000,
        memory=10**6,
        make=packed_reports,
        outcome=lambda inputs, answer: answer,
        disagreements=lambda inputs, outcomes: {
            name: "other totals"
            for name, totals in outcomes.items()
            if not np.array_equal(totals, inputs.totals)
        },
        agreement="equal totals",
        contenders=(
            Contender("dpcore", "ours", ours_totals),
            Contender(
                "NumPy unpackbits, in chunks", "numpy", lambda i: lambda: unpacked_totals(i.packed)
            ),
            Contender("one pass over the reports: sum", "floor", lambda i: i.packed.sum),
            Contender(
                "one pass over the reports: exclusive or",
                "floor",
                lambda i: lambda: np.bitwise_xor.reduce(i.packed),
            ),
        ),
    ),
)
