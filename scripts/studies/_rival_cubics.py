"""The part on quantiles of scripts/study.py rivals: a monotone cubic between thresholds."""

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
from _pages import parts, table
from _studies import replicates
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies

from ._regret_shapes import shapes

FINE, RUNS, EPSILON = 2**14, 24, 1.0
CELLS, SIZES = (16, 64, 256, 1024), {"10^4": 10**4, "10^6": 10**6}
SMOOTH = ("beta(2, 5)", "two normals", "Pareto", "normal, narrow")
ATOMS = (
    *("3 spikes", "nine tenths at 0, and a tail", "heaps at every 5th cell"),
    *("60 steps, half of them empty", "age of voters", "years married"),
)
GROUPS = {"smooth": SMOOTH, "others": ATOMS}
DECILES = np.arange(1, 10) / 10
METHODS: tuple[Any, ...] = ("linear", "cubic")


@functools.cache
def probabilities(name: str) -> NDArray[np.float64]:
    """Return the probabilities of fine cells, whose middles are the records' values."""
    folder = os.environ.get("DPCORE_DATA")
    known = {shape.name: shape.weights for shape in shapes(Path(folder) if folder else None)}
    found = known[name](FINE)
    assert found is not None
    return np.asarray(found / found.sum())


@studies.study({"shape": (*SMOOTH, *ATOMS), "n": list(SIZES)})
def errors_of_deciles(shape: str, n: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return the mean errors of the deciles by each method, by the number of cells."""
    counts, middles = (
        rng.multinomial(SIZES[n], probabilities(shape)),
        (np.arange(FINE) + 0.5) / FINE,
    )
    own = middles[np.searchsorted(np.cumsum(counts), DECILES * SIZES[n])]
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for cells in CELLS:
        joined, grid = counts.reshape(cells, -1).sum(axis=1), dp.Grid.uniform(0, 1, cells)
        curve = dp.cdf_from_counts(joined, grid, epsilon=EPSILON, rng=rng)
        for method in METHODS:
            off = np.abs(curve.quantile(DECILES, method=method) - own)
            found[method].append(float(off.mean()))
    return {method: np.array(errors) for method, errors in found.items()}


def of_deciles(results: Any) -> list[str]:
    """Return this part of the page."""
    head = [f"N = {cells:,}, ${n}$" for n in SIZES for cells in CELLS]
    rows, logs = [], {}
    for name in (*SMOOTH, *ATOMS):
        pairs = [
            [results.array(method, shape=name, n=n).mean(axis=0) for method in METHODS]
            for n in SIZES
        ]
        ratios = np.concatenate([cubic / linear for linear, cubic in pairs])
        logs[name] = np.log(ratios)
        rows.append((name, *(f"{each:.2f}" for each in ratios)))
    for group, names in GROUPS.items():
        mean = np.exp(np.mean([logs[name] for name in names], axis=0))
        rows.append((f"**{group}, geometric mean**", *(f"**{each:.2f}**" for each in mean)))
    text = DECILES_TEXT.format(epsilon=EPSILON, runs=replicates(results))
    return parts(text, table(("records", *head), rows))


DECILES_TEXT = """\
## Cubics between thresholds

The mean error of deciles by `CDF.quantile(method="cubic")` over that by "linear", by cells and n;
epsilon = {epsilon:g}, {runs} runs."""
