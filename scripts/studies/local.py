"""Local privacy, measured: ``python scripts/study.py local [--data DIR]``.

Measures how often the bands of local releases cover. Compares square waves, and two adaptive
rounds, with a tree of unary encodings, on all shapes of the study of regret: by root mean square
and by largest errors. Writes both tables into docs/proofs/local.md. Takes some minutes.
"""

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _pages import fill, line, parts, pivot
from _studies import replicates, run
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

import dpcore as dp
from dpcore import studies
from dpcore.trust import Local, SquareWave, adapted_cdf, adapted_grid

from ._regret_shapes import Shape, shapes

Rng = np.random.Generator
Reals = NDArray[np.float64]
DATA = ("dpbench",)  # without it, the tables are not for docs/
CELLS, COVERED, RELEASES, CLIENTS = 2**10, 2**8, 1000, 20_000
SIZES = {"10^4": 10**4, "10^6": 10**6}
FEW_AND_MANY = ("uniform", "normal, wide", "20 clumps", "half at one value", "3 spikes")
RIVALS = {
    "square waves": "chosen",
    "square waves with the paper's smoothing": "paper",
    "two adaptive rounds": "adapted",
}
MEASURES = ("", ", largest")  # of errors of cumulative counts


@functools.cache
def known() -> dict[str, Shape]:
    """Return all shapes that can have so many cells, by their names."""
    given = os.environ.get("DPCORE_DATA")
    found = shapes(Path(given) if given else None)
    return {shape.name: shape for shape in found if shape.weights(CELLS) is not None}


def drawn(shape: str, size: int, clients: int, rng: Rng) -> NDArray[np.int64]:
    """Return the counts of so many cells, for new records."""
    weights = known()[shape].weights(size)
    assert weights is not None
    return rng.multinomial(clients, weights / weights.sum())


@studies.study({"shape": list(known()), "epsilon": [0.5, 1.0, 5.0], "n": list(SIZES)})
def errors(shape: str, epsilon: float, n: str, rng: Rng) -> dict[str, float]:
    """Return mean squared and largest errors of cumulative counts, by Local and by its rivals."""
    clients = SIZES[n]
    counts = drawn(shape, CELLS, clients, rng)
    encoding = SquareWave(epsilon, clients).encoding(CELLS)
    totals = encoding.simulated_totals(counts, rng)
    raw = Local(epsilon, clients).release(counts, rng=rng)
    curves = {
        "local": np.clip(isotonic_regression(raw).x, 0, clients),
        "chosen": clients * np.cumsum(encoding.reconstruct(totals)),
        "paper": clients * np.cumsum(encoding.reconstruct(totals, smoothing=1.0)),
        "adapted": adapted(counts, epsilon, rng),
    }
    away = {name: np.abs(each - np.cumsum(counts)) for name, each in curves.items()}
    squares = {name: float(np.mean(each**2)) for name, each in away.items()}
    return squares | {f"{name}, largest": float(np.max(each)) for name, each in away.items()}


def adapted(counts: NDArray[np.int64], epsilon: float, rng: Rng) -> Reals:
    """Return cumulative counts by two rounds, the first with a fifth of the clients, (N,)."""
    few, clients = int(counts.sum()) // 5, int(counts.sum())
    trust = Local(epsilon, clients - few)
    grid = dp.Grid.integers(1, counts.size)
    asked = rng.multivariate_hypergeometric(counts, few, method="marginals")
    first = dp.cdf_from_counts(asked, grid, Local(epsilon, few), rng=rng)
    fewer = adapted_grid(first, trust)
    starts = np.append(0, fewer.thresholds[:-1]).astype(np.int64)
    joined = np.add.reduceat(counts - asked, starts)
    second = dp.cdf_from_counts(joined, fewer, trust, rng=rng)
    return np.asarray(adapted_cdf(first, second).counts, np.float64)


@studies.study({"epsilon": [1.0, 3.0, 5.0, 8.0], "shape": list(FEW_AND_MANY)})
def bands(epsilon: float, shape: str, rng: Rng) -> dict[str, float]:
    """Return how often bands cover in many releases of the same records, and how wide they are."""
    model, counts = Local(epsilon, CLIENTS), drawn(shape, COVERED, CLIENTS, rng)
    released = model.release(counts, rng=rng, replicates=RELEASES)
    stated = np.array([model.estimated_deviation(each) for each in released])[:, :-1]
    errors = (released - np.cumsum(counts))[:, :-1]
    covered = np.mean(np.abs(errors) <= 1.96 * stated, axis=0)
    spread = errors.std(axis=0).mean()
    bound = model.noise_deviation(COVERED)[:-1].mean()
    return {
        "covered, mean": float(covered.mean()),
        "least": float(covered.min()),
        "width": float(stated.mean() / spread),
        "width of the bound": float(bound / spread),
    }


def main() -> None:
    """Run, and write both tables."""
    fill("proofs/local.md", of_bands(), of_gains())


def of_bands() -> list[str]:
    """Return how often bands cover, and how wide they are."""
    results = run(bands, 1, quick=1)

    def read(of: str, **at: Any) -> str:
        found = float(results.array(of, **at).mean())
        return f"{found:.2f}" if "width" in of else f"{found:.1%}"

    quantities = ("covered, mean", "least", "width", "width of the bound")
    rows, columns = {"epsilon": "{:g}", "shape": "{}"}, {"of": "{}"}
    return parts(
        f"{CLIENTS:,} clients, {COVERED} cells, {RELEASES:,} releases.",
        pivot(results, rows, columns, read, of=quantities),
    )


def of_gains() -> list[str]:
    """Return how many times smaller the errors of the rivals are, with summaries."""
    results = run(errors, 5, quick=1)

    def gains(rival: str, **at: Any) -> list[Reals]:
        """Return the gains in both measures, for each setting."""
        ours, theirs = (
            [results.array(f"{name}{of}", **at).mean(axis=-1) for of in MEASURES]
            for name in (rival, "local")
        )
        return [np.sqrt(theirs[0] / ours[0]), theirs[1] / ours[1]]

    def read(**at: Any) -> str:
        return both(gains("chosen", **at))

    def both(found: Sequence[Any]) -> str:
        return " / ".join(f"{float(each):.2f}" for each in found)

    columns = {"epsilon": "{:g}", "n": "${}$"}
    summaries: dict[str, Callable[[Reals], Reals]] = {
        "geometric mean": lambda each: np.exp(np.log(each).mean(axis=0)),
        "least": lambda each: each.min(axis=0),
    }
    last = []
    for title, rival in RIVALS.items():
        of_rival = gains(rival)
        for name, summary in summaries.items():
            pairs = zip(*(summary(each).flat for each in of_rival), strict=True)
            last.append(line(f"**{title}: {name}**", *(f"**{both(each)}**" for each in pairs)))
    return parts(
        f"{CELLS:,} cells; {replicates(results)} releases each. Columns are epsilon and n. Each"
        " line of a shape is of square waves.",
        [*pivot(results, {"shape": "{}"}, columns, read), *last],
    )
