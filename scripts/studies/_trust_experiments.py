"""The experiments of ``the study trust``: records, releases, errors, and the memory of servers."""

import gc
import tracemalloc
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.mechanisms import Hierarchy, Mechanism, NoNoise
from dpcore.statistics import ScoreHistogram, classifier
from dpcore.statistics.score_histograms import IntervalKind
from dpcore.trust import Client, DistributedNoise, Local, Protocol, Server, advise
from dpcore.trust.advice import TrustModel
from dpcore.trust.protocol.wire import OPEN, client_key, decode, encode, signed

Values = NDArray[np.float64]
PURPOSES: Final = ("auc", "metrics", "calibration")
KINDS: Final[tuple[IntervalKind, ...]] = ("worst-case", "well-behaved")
THRESHOLDS: Final = np.arange(1, 11) / 11
FEW, MANY = (4, 8, 16), (32, 64)  # buckets
FINE: Final = 2**16  # records are in so many cells, narrower than those of any release
CENTRES: Final = (np.arange(FINE) + 0.5) / FINE
DENSITIES: Final = {"uniform": np.ones(FINE), "Beta(2, 3)": CENTRES * (1 - CENTRES) ** 2}


@dataclass(frozen=True, eq=False)
class Records:
    """Scored labels: a share s of those with the score s is positive."""

    negatives: NDArray[np.int64]  # (FINE,)
    positives: NDArray[np.int64]
    rng: np.random.Generator

    @classmethod
    def drawn(cls, n: int, name: str, rng: np.random.Generator) -> Self:
        """Return n new records."""
        counts = rng.multinomial(n, shares(name))
        positives = rng.binomial(counts, CENTRES)
        return cls(counts - positives, positives, rng)

    @property
    def area(self) -> float:
        """Their own area under the ROC curve."""
        below = np.cumsum(self.negatives) - self.negatives / 2
        pairs = float(self.negatives.sum()) * float(self.positives.sum())
        return float(self.positives @ below) / pairs

    @property
    def recall(self) -> Values:
        """Their own recall at the thresholds."""
        above = np.array([self.positives[t < CENTRES].sum() for t in THRESHOLDS])
        return np.asarray(above / self.positives.sum())

    def released(self, height: int, mechanism: Mechanism) -> dp.ScoreCurves:
        """Return curves over 2^height cells."""
        both = (self.negatives, self.positives[::-1])
        cells = np.concatenate([each.reshape(2**height, -1).sum(axis=1) for each in both])
        grid = dp.Grid.uniform(0, 1, 2**height)
        return dp.score_curves_from_counts(cells, grid, mechanism, rng=self.rng)


def shares(name: str) -> Values:
    """Return the probabilities of the fine cells, (FINE,)."""
    return np.asarray(DENSITIES[name] / DENSITIES[name].sum())


def mechanism_of(model: TrustModel, epsilon: float, clients: int) -> DistributedNoise | Local:
    """Return a trust model with noise."""
    kind = Local if model == "local" else DistributedNoise
    return kind(epsilon, clients)


class Constants(NamedTuple):
    """Errors that noise makes, in the units of docs/advice.md, section 1."""

    recall: float
    area: float
    few: tuple[float, ...]  # of rates, for the numbers of buckets that there can be
    many: tuple[float, ...]


def constants(
    model: TrustModel, epsilon: float, clients: int, height: int, rngs: list[np.random.Generator]
) -> Constants:
    """Return the constants of one setting: noisy releases beside exact ones of the same cells."""
    mechanism = mechanism_of(model, epsilon, clients)
    errors = mechanism.noise_deviation(2 ** (height + 1))[:-1]
    unit = float(np.sqrt(np.mean(np.square(errors)))) / clients
    sizes = [size for size in FEW + MANY if size <= 2 ** (height - 2)]
    recalls, areas, rates = [], [], []
    for rng in rngs:
        records = Records.drawn(clients, "uniform", rng)
        exact, noisy = records.released(height, NoNoise()), records.released(height, mechanism)
        true, found = (ScoreHistogram.uniform(each, 2**height) for each in (exact, noisy))
        areas.append(found.auc - true.auc)  # buckets of equal depth would be others
        edges = true.nearest(THRESHOLDS)
        of_recall = classifier.recall(noisy, edges) - classifier.recall(exact, edges)
        recalls.append(np.mean(np.abs(of_recall)))
        rates.append([_rate_error(noisy, exact, size) / size for size in sizes])
    of_rates = dict(zip(sizes, np.mean(rates, axis=0) / unit, strict=True))
    return Constants(
        float(np.mean(recalls)) / unit,
        0.8 * float(np.sqrt(np.mean(np.square(areas)))) / unit,
        tuple(of_rates[size] for size in FEW if size in of_rates),
        tuple(of_rates[size] for size in MANY if size in of_rates),
    )


def _rate_error(noisy: dp.ScoreCurves, exact: dp.ScoreCurves, size: int) -> float:
    """Return the mean error of a bucket's rate, in buckets of the noisy release."""
    bins = ScoreHistogram.quantile(noisy, size).bins
    at = np.searchsorted(exact.thresholds, bins.edges[1:])
    positives = np.diff(exact.positives[at], prepend=0.0)
    counts = positives + np.diff(exact.negatives[at], prepend=0.0)
    filled = counts > 0.0
    rates = np.nan_to_num(bins.positive_rate, nan=0.5)[filled]
    errors = np.abs(rates - positives[filled] / counts[filled])
    return float(errors @ counts[filled] / counts.sum())


def predicted(
    model: TrustModel, epsilon: float, clients: int, name: str, rngs: list[np.random.Generator]
) -> dict[str, float]:
    """Return the mean absolute errors at the settings that are advised, by purpose."""
    mechanism, found = mechanism_of(model, epsilon, clients), advise(clients, epsilon, model)
    weights = shares(name)
    errors: list[list[float]] = []
    for rng in rngs:
        records = Records.drawn(clients, name, rng)
        curves = {
            height: records.released(height, mechanism) for height in {*found.heights.values()}
        }
        for_area, for_rates = (
            ScoreHistogram.quantile(curves[found.heights[purpose]], found.buckets[purpose])
            for purpose in ("auc", "calibration")
        )
        cells = ScoreHistogram.uniform(curves[found.heights["metrics"]], found.buckets["metrics"])
        recall = classifier.recall(cells.curves, cells.nearest(THRESHOLDS))
        bins = for_rates.bins
        rates = bins.positive_rate[np.searchsorted(bins.edges[1:], CENTRES)]
        errors.append(
            [
                abs(for_area.auc - records.area),
                float(np.mean(np.abs(recall - records.recall))),
                float(weights @ np.abs(np.nan_to_num(rates, nan=0.5) - CENTRES)),
            ]
        )
    return dict(zip(PURPOSES, np.mean(errors, axis=0).tolist(), strict=True))


class Areas(NamedTuple):
    """Means of errors of areas from B buckets, and how often intervals covered."""

    exact: Values  # equal depth, corrected, one width, worst case, well-behaved
    noisy: Values  # error, corrected, stated deviation
    local: Values
    covered: Values  # (3, 2): exact, noisy, local; by KINDS


def area_errors(
    n: int, name: str, buckets: tuple[int, ...], rngs: list[np.random.Generator]
) -> dict[int, Areas]:
    """Return the errors for exact counts, the tree of a trusted curator, and local privacy."""
    found: dict[int, list[Areas]] = {size: [] for size in buckets}
    for rng in rngs:
        records = Records.drawn(n, name, rng)
        exact = records.released(12, NoNoise())
        releases = (
            exact,
            records.released(12, Hierarchy(epsilon=1)),
            records.released(8, Local(5.0, n)),
        )
        for size in buckets:
            uniform = ScoreHistogram.uniform(exact, size)
            histograms = [ScoreHistogram.quantile(curves, size) for curves in releases]
            of_noise = [
                [
                    abs(each.auc - records.area),
                    abs(each.auc_corrected - records.area),
                    each.auc_noise_deviation,
                ]
                for each in histograms
            ]
            of_exact = [
                *of_noise[0][:2],
                abs(uniform.auc - records.area),
                *(histograms[0].auc_discretisation(kind) for kind in KINDS),
            ]
            intervals = [[each.auc_interval(kind) for kind in KINDS] for each in histograms]
            covered = [[low <= records.area <= high for low, high in row] for row in intervals]
            found[size].append(Areas(*map(np.array, (of_exact, *of_noise[1:], covered))))
    return {
        size: Areas(*(np.mean(part, axis=0) for part in zip(*each, strict=True)))
        for size, each in found.items()
    }


class Memory(NamedTuple):
    """Bytes that Python has allocated for a server."""

    nodes: int
    seed: float  # each, waiting
    share: float
    most: int  # of all shares, settled now and then
    settled: int


def memory(clients: int, waiting: int, every: int, size: int, rng: np.random.Generator) -> Memory:
    """Return the bytes of waiting seeds and shares, and of a server that settles now and then.

    So many clients as are settled together make their reports; the others have copies of these with
    ids of their own. A message is dropped when it has been added: what is traced is what the server
    keeps.
    """
    protocol = Protocol(DistributedNoise(1.0, clients), size, rng.bytes(16))
    made = [Client(protocol, rng).report(0) for _ in range(every)]
    seeds, shares = ([reports[place] for reports in made] for place in range(2))
    tracemalloc.start()
    try:
        seed = _waiting(protocol, seeds, clients, rng)
        share = _waiting(protocol, shares, waiting, rng)
        most, settled = _settling(protocol, shares, clients, rng)
    finally:
        tracemalloc.stop()
    return Memory(protocol.words, seed, share, most, settled)


def _waiting(
    protocol: Protocol, reports: list[bytes], clients: int, rng: np.random.Generator
) -> float:
    """Return the bytes of a report that waits."""
    before, server = traced(), Server(protocol)
    for at in range(clients):
        server.add(renamed(reports[at % len(reports)], rng.bytes(16)))
    return (traced() - before) / clients


def _settling(
    protocol: Protocol, reports: list[bytes], clients: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Return the most bytes of a server of shares, and those at the end, all being settled."""
    before, server = traced(), Server(protocol)
    tracemalloc.reset_peak()
    for _ in range(clients // len(reports)):
        ids = [rng.bytes(16) for _ in reports]
        for report, identity in zip(reports, ids, strict=True):
            server.add(renamed(report, identity))
        server.settle(ids)
    most = tracemalloc.get_traced_memory()[1]
    del ids, report, identity
    return most - before, traced() - before


def renamed(report: bytes, identity: bytes) -> bytes:
    """Return a report as a client with another id would have sent it."""
    found = replace(decode(report), report_id=identity)
    return encode(signed(found, client_key(OPEN, found.round_id, identity)))


def traced() -> int:
    """Return how many bytes Python objects and arrays take."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
