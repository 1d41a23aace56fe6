"""The part on curves of scripts/study.py rivals: matching pursuit over dictionaries."""

import functools
import os
from pathlib import Path
from typing import Any

import numpy as np
from _pages import parts, table
from _studies import replicates
from numpy.typing import NDArray
from papers._data import weights

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import PolynomialProjection
from dpcore.papers.matching_pursuit import MatchingPursuit

from ._regret_shapes import column, shapes
from ._rival_scores import spread

CELLS, DELTA, RUNS = 2**10, 1e-6, 24
SIZES, EPSILONS = (1_000, 10_000, 100_000), (0.1, 0.3, 1.0, 3.0)
WEIGHTS = "SOCR weights"
SHAPES = (
    *(WEIGHTS, "MEDCOST", "HEPTH", "area of a tumour", "age of voters"),
    *("beta(2, 5)", "two normals", "20 clumps", "half at one value"),
)
CDF, PROJECT = "dp.cdf", "dp.project"
DICTIONARIES: tuple[Any, ...] = ("legendre", "splines", "distributions", "all")
WAYS = (CDF, PROJECT, *DICTIONARIES)
MEASURES = ("RMSE", "K-S distance")


@functools.cache
def probabilities(name: str) -> NDArray[np.float64]:
    """Return the probabilities of the cells of a shape; of a uniform one, if it needs a folder."""
    folder = os.environ.get("DPCORE_DATA")
    known = {shape.name: shape.weights for shape in shapes(Path(folder) if folder else None)}
    known[WEIGHTS] = column(weights()[0], 60.0, 200.0)
    found = known[name](CELLS) if name in known else None
    found = np.ones(CELLS) if found is None else found
    return np.asarray(found / found.sum())


@studies.study({"shape": SHAPES, "n": SIZES})
def errors_of_curves(shape: str, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the errors of releases of n records, as parts of n, by ways, then by epsilons."""
    counts = rng.multinomial(n, probabilities(shape))
    grid, truth = dp.Grid.uniform(0, 1, CELLS), np.cumsum(counts)

    def off(way: Any, epsilon: float) -> tuple[float, float]:
        budget: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
        asked = budget
        if way == PROJECT:
            asked = {"mechanism": PolynomialProjection(**budget)}
        elif way in DICTIONARIES:
            asked = {"mechanism": MatchingPursuit(**budget, dictionary=way)}
        error = (dp.cdf_from_counts(counts, grid, **asked, rng=rng).counts - truth) / n
        return float(np.sqrt(np.mean(error**2))), float(np.max(np.abs(error)))

    found = [[off(way, epsilon) for epsilon in EPSILONS] for way in WAYS]
    return dict(zip(MEASURES, np.array(found).reshape(-1, len(MEASURES)).T, strict=True))


def means(results: Any, measure: str, **at: Any) -> NDArray[np.float64]:
    """Return mean errors, (ways, epsilons)."""
    found = results.array(measure, **at).mean(axis=0)
    return np.asarray(found.reshape(len(WAYS), len(EPSILONS)))


def of_curves(results: Any) -> list[str]:
    """Return this part of the page."""
    epsilons = tuple(f"{epsilon:g}" for epsilon in EPSILONS)
    return parts(
        CURVES.format(cells=CELLS, runs=replicates(results), delta=DELTA, spread=spread(results)),
        table(("records", "n", *epsilons), by_shapes(results)),
        "Geometric means of ratios to `dp.cdf`:",
        table(("", "", "n", *epsilons), summary(results)),
    )


def by_shapes(results: Any) -> list[tuple[str, ...]]:
    """Return the errors of ``dp.cdf``, and the ratios of the others to them."""
    rows = []
    for name in SHAPES:
        for n in SIZES:
            own, project, *rivals = means(results, MEASURES[0], shape=name, n=n)
            least = np.min(rivals, axis=0)
            entries = [
                f"{100 * a:.3f} ({b / a:.2f}, {c / a:.2f})"
                for a, b, c in zip(own, project, least, strict=True)
            ]
            rows.append((name, f"{n:,}", *entries))
    return rows


def summary(results: Any) -> list[tuple[str, ...]]:
    """Return geometric means of the ratios to ``dp.cdf``, by measure, way and n."""
    rows = []
    for measure in MEASURES:
        for place, way in enumerate(WAYS[1:], 1):
            for n in SIZES:
                found = [means(results, measure, shape=name, n=n) for name in SHAPES]
                logs = [np.log(each[place] / each[0]) for each in found]
                ratios = np.exp(np.mean(logs, axis=0))
                rows.append((measure, way, f"{n:,}", *(f"{each:.2f}" for each in ratios)))
    return rows


CURVES = """\
## Curves by matching pursuit

Tao & Sarwate 2026 (`dpcore.papers.matching_pursuit`). {cells:,} cells, delta = {delta:g}, {runs}
runs, median standard error {spread:.0%}. Root mean square error in percent of n: `dp.cdf`, and in
brackets `dp.project` and the best of four dictionaries over it."""
