"""A private median, and private bounds around zero. The floors are one pass over the input."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

import dpcore as dp
from dpcore.releases.quantiles import quantiles_from_counts

from ..registry import Contender, Job

RECORDS = 10**6
EPSILON = 1.0
COVERAGE, DOUBLINGS = 0.95, 62
FAILURE = 1e-9  # the probability that a right answer counts as wrong


class Cells(NamedTuple):
    counts: np.ndarray
    grid: dp.Grid


def cells(size: int) -> Cells:
    grid = dp.Grid.uniform(0, 1, size)
    return Cells(grid.count(np.random.default_rng(1).beta(2, 5, RECORDS)), grid)


def ours(inputs: Cells):
    how = {"epsilon": EPSILON, "method": "recursion"}
    return lambda: quantiles_from_counts(inputs.counts, [0.5], inputs.grid, **how).values[0]


def scores(counts: np.ndarray) -> np.ndarray:
    return -abs(np.cumsum(counts) - RECORDS // 2)


def numpy_gumbel(inputs: Cells):
    rng = np.random.default_rng(1)

    def draw():
        noise = rng.gumbel(0.0, 2 / EPSILON, inputs.counts.size)
        return inputs.grid.thresholds[np.argmax(scores(inputs.counts) + noise)]

    return draw


def opendp_noisy_max(measure: str):
    def start(inputs: Cells):
        import opendp.prelude as odp

        odp.enable_features("contrib")
        select = odp.m.make_noisy_max(
            odp.vector_domain(odp.atom_domain(T="i64")),
            odp.linf_distance(T="i64"),
            getattr(odp, measure)(),
            scale=2 / EPSILON,
        )
        return lambda: inputs.grid.thresholds[select(scores(inputs.counts).tolist())]

    return start


def one_pass(inputs: Cells):
    return lambda: inputs.counts.sum()


def rank(inputs: Cells, threshold: float) -> int:
    """Return how many records are up to a threshold, beyond all of them for one above the last."""
    cumulative = np.append(np.cumsum(inputs.counts), 2 * RECORDS)
    return int(cumulative[np.searchsorted(inputs.grid.thresholds, threshold)])


def disagreements(inputs: Cells, outcomes):
    # McSherry & Talwar 2007, Theorem 7; the nearest rank is within half of the largest cell.
    size = inputs.counts.size
    # Ours may be in any of 2^14 places of a cell, and names the end of the cell.
    bound = inputs.counts.max() + 2 / EPSILON * math.log(2**14 * size / FAILURE)
    off = {name: abs(found - RECORDS / 2) for name, found in outcomes.items()}
    return {name: f"{o:g} ranks off the median" for name, o in off.items() if o > bound}


# --- bounds around zero: the first of some doubling intervals with 95 % of the records


def residuals(size: int) -> np.ndarray:
    return np.random.default_rng(1).normal(0, 50, size)  # 95.4 % are within 100, 80 % within 64


def our_bounds(values: np.ndarray):
    return lambda: dp.symmetric_bounds(values, epsilon=EPSILON, doublings=DOUBLINGS).upper


def rungs() -> np.ndarray:
    return 2.0 ** np.arange(DOUBLINGS + 1)


def numpy_query_by_query(values: np.ndarray):
    """Algorithm 1 as published, with its noise."""
    rng = np.random.default_rng(1)

    def search():
        threshold = COVERAGE * values.size + rng.laplace(0.0, 2 / EPSILON)
        for rung in rungs():
            inside = np.count_nonzero((values >= -rung) & (values <= rung))
            if inside + rng.laplace(0.0, 4 / EPSILON) >= threshold:
                return rung
        return rung

    return search


def numpy_counted_once(values: np.ndarray):
    rng = np.random.default_rng(1)

    def search():
        found = np.searchsorted(rungs()[:-1], np.abs(values))
        inside = np.cumsum(np.bincount(found, minlength=DOUBLINGS + 1))
        threshold = COVERAGE * values.size + rng.laplace(0.0, 2 / EPSILON)
        noisy = inside + rng.laplace(0.0, 2 / EPSILON, inside.size)
        return rungs()[np.argmax(np.append(noisy[:-1], np.inf) >= threshold)]

    return search


def opendp_quantile(values: np.ndarray):
    """The nearest that OpenDP has: a quantile of absolute values, by noisy max over these rungs."""
    import opendp.prelude as odp

    odp.enable_features("contrib")
    release = odp.m.make_private_quantile(
        odp.vector_domain(odp.atom_domain(T=float, nan=False)),
        odp.symmetric_distance(),
        odp.max_divergence(),
        candidates=rungs().tolist(),
        alpha=COVERAGE,
        scale=2 / EPSILON,
    )
    return lambda: release(np.abs(values))


def bounds_disagreements(values: np.ndarray, outcomes):
    inside = [np.count_nonzero(np.abs(values) <= rung) for rung in rungs()]
    expected = rungs()[np.argmax(np.array(inside) >= COVERAGE * values.size)]
    return {name: f"{found:g}" for name, found in outcomes.items() if found != expected}


JOBS = (
    Job(
        name="symmetric-bounds",
        title="Private bounds around zero: the first of 63 doubling intervals with 95 %",
        unit="records",
        sizes=(10**6,),
        quick=(10**6,),
        small=20_000,
        memory=10**6,
        make=residuals,
        outcome=lambda values, found: found,
        disagreements=bounds_disagreements,
        agreement="the same results as a search without noise, as the noise is far too small here",
        contenders=(
            Contender("dpcore", "ours", our_bounds, noise="exact"),
            Contender(
                "OpenDP, a quantile of absolute values",
                "peer",
                opendp_quantile,
                "opendp.prelude",
                noise="exact",
            ),
            Contender("NumPy, query by query", "numpy", numpy_query_by_query, noise="inexact"),
            Contender("NumPy, counted once", "numpy", numpy_counted_once, noise="inexact"),
            Contender("one pass over the values", "floor", lambda values: values.max),
        ),
    ),
    Job(
        name="selection",
        title="A private median by the exponential mechanism, of 10^6 records in cells",
        unit="cells",
        sizes=(2**15,),
        quick=(2**15,),
        small=2**9,
        memory=2**15,
        make=cells,
        outcome=rank,
        disagreements=disagreements,
        agreement=f"more ranks off than allowed only with a probability of {FAILURE:g}",
        contenders=(
            Contender("dpcore", "ours", ours, noise="exact"),
            Contender(
                "OpenDP, Gumbel noise",
                "peer",
                opendp_noisy_max("zero_concentrated_divergence"),
                "opendp.prelude",
                noise="exact",
            ),
            Contender(
                "OpenDP, permute and flip: another law",
                "peer",
                opendp_noisy_max("max_divergence"),
                "opendp.prelude",
                noise="exact",
            ),
            Contender("NumPy, Gumbel noise", "numpy", numpy_gumbel, noise="inexact"),
            Contender("one pass over the counts", "floor", one_pass),
        ),
    ),
)
