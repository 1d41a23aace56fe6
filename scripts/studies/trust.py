"""Advice, areas and servers, measured: ``python scripts/study.py trust``.

Measures the constants and the predictions of docs/guides/clients.md, the errors of areas in
docs/guides/calibration.md, and the memory of a server in docs/guides/wire.md; writes their
tables into these pages. Takes some minutes.
"""

from typing import Any

import numpy as np
from _pages import fill, parts, table
from _studies import replicates, run

from dpcore.studies import Results
from dpcore.trust import advise, enough
from dpcore.trust.advice import Purpose

from ._server_memory import memory
from ._trust_experiments import (
    BUCKETS,
    DENSITIES,
    FEW,
    KINDS,
    MANY,
    PURPOSES,
    SIZES,
    areas,
    constants,
    predicted,
)

RUNS = 80
# The columns of the constants.
NOISES: dict[str, dict[str, Any]] = {
    "distributed noise": {"model": "distributed-noise"},
    "local, epsilon 1": {"model": "local", "epsilon": 1},
    "local, epsilon 5": {"model": "local", "epsilon": 5},
}
PREDICTED: tuple[tuple[str, float], ...] = (
    ("distributed-noise", 1.0),
    ("local", 5.0),
    ("local", 1.0),
)
GOALS: tuple[tuple[Purpose, float], ...] = (
    ("auc", 0.01),
    ("auc", 0.001),
    ("metrics", 0.01),
    ("metrics", 0.001),
    ("calibration", 0.05),
    ("calibration", 0.01),
)
CLIENTS, WAITING, EVERY, CELLS = 10**5, 10**4, 10**3, 2**10


def main() -> None:
    """Run, and write the places of all pages."""
    fill("guides/wire.md", of_memory())
    fill("guides/calibration.md", of_areas(run(areas, RUNS)), of="trust")
    found = run(constants, RUNS), run(predicted, RUNS)
    tables = of_clients(), of_constants(found[0]), of_predictions(found[1])
    fill("guides/clients.md", *tables, of="trust")


def of_constants(results: Results) -> list[str]:
    """Return the three constants: the range over the settings of each column."""

    def ranges(*quantities: str, area: bool = False) -> list[str]:
        cells = []
        for selected in NOISES.values():
            found = [results.array(quantity, **selected) for quantity in quantities]
            if area:
                settings = [0.8 * np.sqrt(np.mean(np.square(x), axis=-1)).ravel() for x in found]
            else:
                settings = [np.mean(x, axis=-1).ravel() for x in found]
            known = np.concatenate(settings)
            known = known[~np.isnan(known)]  # not all buckets go with all heights
            low, high = known.min(), known.max()
            cells.append(f"{low:.2f} to {high:.2f}, median {np.median(known):.2f}")
        return cells

    rows = [
        ["recall", *ranges("recall")],
        ["area, 0.8 times the root mean square", *ranges("area", area=True)],
        *(
            [
                f"rate, {sizes[0]} {word} {sizes[-1]} buckets",
                *ranges(*(f"rate, {x}" for x in sizes)),
            ]
            for sizes, word in ((FEW, "to"), (MANY, "and"))
        ),
    ]
    return parts(f"{replicates(results)} releases in each setting.", table(["", *NOISES], rows))


def of_predictions(results: Results) -> list[str]:
    """Return the expected and the measured errors at the advised settings."""
    rows: list[list[str]] = []
    ratios: dict[str, list[float]] = {name: [] for name in DENSITIES}
    for model, epsilon in PREDICTED:
        for clients in SIZES:
            advice = advise(clients, epsilon, model)
            row = [model, f"{epsilon:g}", f"$10^{round(np.log10(clients))}$"]
            for purpose in PURPOSES:
                expected = advice.expected_errors[purpose]
                at: dict[str, Any] = {"model": model, "epsilon": epsilon, "clients": clients}
                errors = results.array(purpose, **at).mean(axis=1)
                row.append(f"{advice.heights[purpose]} / {advice.buckets[purpose]}")
                row += [decimals(error) for error in (expected, *errors)]
                for name, error in zip(DENSITIES, errors, strict=True):
                    ratios[name].append(error / expected)
            rows.append(row)
    heads = [head for purpose in PURPOSES for head in (purpose, "expected", "measured", "Beta")]
    ranges = [
        f"{min(each):.2f} to {max(each):.2f} for {name} scores" for name, each in ratios.items()
    ]
    return parts(
        f"Means of {replicates(results)} samples with a release each.",
        table(["model", "epsilon", "M", *heads], rows),
        f"Measured errors divided by expected errors: {', '.join(ranges)}.",
    )


def of_clients() -> list[str]:
    """Return the number of clients that an error needs."""
    rows = []
    models: list[tuple[str, float | None]] = [("secure-aggregation", None), *PREDICTED]
    for model, epsilon in models:
        found = [enough(10**5, epsilon, model, error, purpose) for purpose, error in GOALS]
        cells = [f"{each.clients:,}" if each.clients else "more than $2^{40}$" for each in found]
        rows.append([model, "" if epsilon is None else f"{epsilon:g}", *cells])
    heads = [f"{purpose} {error:g}" for purpose, error in GOALS]
    return ["", *table(["model", "epsilon", *heads], rows), ""]


def of_areas(results: Results) -> list[str]:
    """Return the errors of areas, and how often the intervals covered."""
    shown = {
        "exact": "equal depth",
        "exact, corrected": "corrected",
        "one width": "one width",
        "worst-case": "worst case",
        "well-behaved": "well-behaved",
        "noise": "noise",
        "noise, corrected": "corrected",
        "noise, stated": "stated",
        "local": "local",
        "local, corrected": "corrected",
        "local, stated": "stated",
    }
    rows = []
    for scores in DENSITIES:
        means = [results.array(name, scores=scores).mean(axis=0) for name in shown]
        for place, size in enumerate(BUCKETS):
            values = (1 / (3 * size**2), *(mean[place] for mean in means))
            rows.append([scores, size, *map(decimals, values)])
    covered = [
        results.array(f"{name}, covered, {kind}").sum(axis=1).min()
        for name in ("exact", "noise", "local")
        for kind in KINDS
    ]
    runs = replicates(results)
    return parts(
        f"Means of {runs} repetitions.",
        table(["scores", "B", "1 / (3 B^2)", *shown.values()], rows),
        "The fewest repetitions in which one of the intervals at the level 0.95 covered:"
        f" {min(covered):.0f} of {runs}.",
    )


def of_memory() -> list[str]:
    """Return the memory of a server."""
    found = memory(CLIENTS, WAITING, EVERY, CELLS, np.random.default_rng(1))
    seed, share, most, settled = (
        each / 1e6 for each in (found.seed, found.share, found.most, found.settled)
    )
    return [
        "",
        f"| N = {CELLS:,}, {found.nodes:,} nodes | memory |",
        "|---|---|",
        f"| one waiting seed, if {CLIENTS:,} wait | {1e3 * seed:.2f} kB |",
        f"| one waiting share, if {WAITING:,} wait | {1e3 * share:.2f} kB |",
        f"| {CLIENTS:,} waiting seeds | {CLIENTS * seed:.0f} MB |",
        f"| {CLIENTS:,} waiting shares, extrapolated | {CLIENTS * share:.0f} MB |",
        f"| {CLIENTS:,} shares, settled every {EVERY:,}: at most | {most:.1f} MB |",
        f"| the part of it for ids of settled clients, at the end | {settled:.1f} MB |",
        "",
    ]


def decimals(value: float) -> str:
    """Return two digits, without an exponent."""
    power = int(f"{value:.1e}".partition("e")[2])
    return f"{value:.{max(0, 1 - power)}f}"
