"""Seeded releases are what they were: digests, recorded before files were moved and merged.

A digest changes when noise is drawn in another way, and then it is written anew, on purpose:
``python -m tests.project.test_same_bits``. Reals are compared to nine digits, since processors
round some functions differently; integers to the last bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp

pytestmark = pytest.mark.needs_jit  # some draw millions of words

RECORDED = Path(__file__).with_name("same_bits.json")
SIZE = 200
CLIENTS = 4_000


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and values, the same on every machine: no floating-point law is drawn."""
    rng = np.random.default_rng(20)
    scores = rng.integers(0, 2**20, CLIENTS) / 2**20
    labels = rng.integers(0, 2**20, CLIENTS) / 2**20 < scores
    return labels, scores, np.round(100 * scores**2, 3)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


LABELS, SCORES, VALUES = data()
GRID = dp.Grid.uniform(0, 100, SIZE)
UNIT = dp.Grid.uniform(0, 1, 64)
COUNTS = GRID.count(VALUES)

MECHANISMS = {
    "dyadic": dp.mechanisms.Dyadic(epsilon=0.5),
    "dyadic, base 3": dp.mechanisms.Dyadic(epsilon=0.5, base=3),
    "dyadic, rho": dp.mechanisms.Dyadic(rho=0.5),
    "hierarchy": dp.mechanisms.Hierarchy(epsilon=0.5),
    "hierarchy, add or remove": dp.mechanisms.Hierarchy(
        epsilon=0.5, neighbours="add-or-remove-one"
    ),
    "hierarchy, rho": dp.mechanisms.Hierarchy(rho=0.1),
    "histogram": dp.mechanisms.Histogram(epsilon=0.5),
    "toeplitz": dp.mechanisms.ToeplitzGaussian(rho=0.1),
    "dawa": dp.mechanisms.Dawa(epsilon=0.5),
    "polynomial": dp.mechanisms.PolynomialProjection(epsilon=0.5, delta=1e-6),
    "queries": dp.mechanisms.HistogramQueries(epsilon=0.5, delta=1e-6),
    "quantiles asked": dp.mechanisms.AdaptiveQuantiles(epsilon=0.5, delta=1e-6),
    "central": dp.trust.Central(epsilon=0.5),
    "distributed noise": dp.trust.DistributedNoise(epsilon=0.5, clients=CLIENTS, dropout=0.1),
    "distributed noise, rho": dp.trust.DistributedNoise(rho=0.1, clients=CLIENTS, dropout=0.1),
    "function sharing": dp.trust.FunctionSharing(epsilon=0.5, servers=3, honest=2),
    "local": dp.trust.Local(2.0, CLIENTS),
    "shuffled": dp.trust.Shuffled(1.0, 1e-6, CLIENTS),
    "square wave": dp.trust.SquareWave(2.0, CLIENTS),
}


def _roc() -> np.ndarray:
    roc = dp.roc_curve(LABELS, SCORES, epsilon=1.0, grid=UNIT, rng=rng())
    return np.concatenate([roc.fpr, roc.tpr, [roc.auc]])


def _hosmer_lemeshow() -> np.ndarray:
    test = dp.hosmer_lemeshow(LABELS, SCORES, epsilon=1.0, fitted=False, rng=rng())
    return np.concatenate([test.observed.ravel(), test.expected.ravel(), [test.statistic]])


def _running_count() -> np.ndarray:
    counter = dp.streams.RunningCount(1_000, dp.streams.DyadicTree(1.0), rng=rng())
    return np.asarray(counter.extend(np.arange(1_000) % 3))


def _bounds() -> np.ndarray:
    found = dp.bounds(VALUES, epsilon=1.0, rng=rng())
    return np.array([found.lower, found.upper])


def _box_plot() -> np.ndarray:
    box = dp.box_plot(VALUES, GRID, epsilon=1.0, rng=rng())
    return np.array([box.minimum, box.first_quartile, box.median, box.third_quartile, box.maximum])


def _projection() -> np.ndarray:
    found = dp.project(VALUES, 0, 100, epsilon=1.0, delta=1e-6, rng=rng())
    return np.array([total % 2**62 for total in found.totals])


def _clients() -> np.ndarray:
    model = dp.trust.Central(epsilon=1.0, records=2)
    names = np.arange(CLIENTS) // 4
    return dp.trust.client_cdf(names, VALUES, GRID, model, clients=CLIENTS // 4, rng=rng()).counts


def _sum(**budget: float) -> np.ndarray:
    functions = dp.trust.functions
    both = functions.Together([functions.Identity(0, 100), functions.Groups([0, 25, 50, 101])])
    trust = dp.trust.DistributedNoise(clients=CLIENTS, **budget)
    return dp.trust.vector_sum(VALUES, both, trust, rng=rng()).total


def _table(epsilon: float) -> np.ndarray:
    grid = dp.TableGrid(GRID, UNIT)
    return dp.table(VALUES, SCORES, grid, epsilon=epsilon, rng=rng()).row.counts


def _residual_plot(**arguments: object) -> np.ndarray:
    plot = dp.residual_plot(VALUES, 8 * SCORES - 4, epsilon=0.5, rng=rng(), **arguments)
    ends = [*plot.predicted_range, *plot.residual_range]
    return np.concatenate([ends, plot.table.row.counts, plot.points.ravel()])


RELEASES: dict[str, Callable[[], np.ndarray]] = {
    "discrete Laplace": lambda: dp.noise.discrete_laplace(7.5, 1_000, rng=rng()),
    "discrete Gaussian": lambda: dp.noise.discrete_gaussian(7.5, 1_000, rng=rng()),
    "cdf": lambda: dp.cdf(VALUES, GRID, epsilon=1.0, rng=rng()).counts,
    "cdf, smoothed": lambda: (
        dp.cdf(VALUES, GRID, dp.mechanisms.Dyadic(epsilon=1.0), isotonic=False, rng=rng())
        .smooth(norm=1)
        .counts
    ),
    "roc curve": _roc,
    "Hosmer-Lemeshow": _hosmer_lemeshow,
    "running count": _running_count,
    "quantiles": lambda: dp.quantiles(VALUES, [0.1, 0.5], GRID, epsilon=1.0, rng=rng()).values,
    "counts": lambda: dp.counts(VALUES > 0.5, [False, True], epsilon=1.0, rng=rng()).noisy,
    "mean": lambda: np.array(dp.mean(VALUES, (0, 1), epsilon=1.0, rng=rng()).totals),
    "class-wise calibration": lambda: (
        dp.classwise_calibration(
            LABELS, np.c_[1 - SCORES, SCORES], [False, True], epsilon=1.0, rng=rng()
        ).observed
    ),
    "bounds": _bounds,
    "box plot": _box_plot,
    "projection": _projection,
    "residual plot": _residual_plot,
    "residual plot, as the paper": lambda: _residual_plot(
        search="sparse-vector", mechanism=dp.mechanisms.Dawa
    ),
    "clients": _clients,
    "sum": lambda: _sum(epsilon=1.0),
    "sum, rho": lambda: _sum(rho=0.1),
    "table": lambda: _table(1.0),
    "table, many records": lambda: _table(100.0),
    **{
        f"mechanism: {name}": lambda mechanism=mechanism: mechanism.release(
            COUNTS, rng=rng(), replicates=3
        )
        for name, mechanism in MECHANISMS.items()
    },
}


def digest(name: str) -> str:
    found = np.asarray(RELEASES[name]())
    if found.dtype.kind == "f":
        return hashlib.sha256(" ".join(f"{x + 0.0:.9g}" for x in found.flat).encode()).hexdigest()
    return hashlib.sha256(found.astype("<i8").tobytes()).hexdigest()


@pytest.mark.parametrize("name", RELEASES)
def test_a_seeded_release_is_what_it_was(name):
    assert digest(name) == json.loads(RECORDED.read_text())[name]


def test_every_digest_is_of_a_release():
    assert set(json.loads(RECORDED.read_text())) == set(RELEASES)


if __name__ == "__main__":
    RECORDED.write_text(json.dumps({name: digest(name) for name in RELEASES}, indent=1) + "\n")
