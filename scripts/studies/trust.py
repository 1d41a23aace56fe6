"""Advice, areas and servers, measured: ``python scripts/study.py trust [--runs N]``.

Measures the constants and the predictions of docs/advice.md, the errors of areas in
docs/score-histograms.md, and the memory of a server in docs/wire.md; writes their tables into these
pages. Takes some minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
from pathlib import Path

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Advice, areas and servers of the trust models.")
parser.add_argument("--runs", type=int, default=80, metavar="N", help="of every experiment")
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import numpy as np  # noqa: E402

from dpcore.trust import advise, enough  # noqa: E402
from dpcore.trust.advice import Purpose, TrustModel  # noqa: E402

from ._trust_experiments import (  # noqa: E402
    DENSITIES,
    FEW,
    MANY,
    PURPOSES,
    Constants,
    area_errors,
    constants,
    memory,
    predicted,
)

SIZES = (10**4, 10**5, 10**6)
# of each column of the constants: the model, epsilons and heights
NOISES: dict[str, tuple[TrustModel, tuple[float, ...], tuple[int, ...]]] = {
    "distributed noise": ("distributed-noise", (0.5, 1.0, 4.0), (6, 10, 14)),
    "local, epsilon 1": ("local", (1.0,), (4, 7, 10)),
    "local, epsilon 5": ("local", (5.0,), (4, 7, 10)),
}
PREDICTED: tuple[tuple[TrustModel, float], ...] = (
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
RECORDS, BUCKETS = 10**5, (10, 20, 50, 100, 200)
CLIENTS, WAITING, EVERY, CELLS = 10**5, 10**4, 10**3, 2**10
PLACES = {"advice": 3, "score-histograms": 1, "wire": 1}  # for tables, in each page
START, END = "<!-- study: start -->", "<!-- study: end -->"


class Seeds:
    """Generators for experiments, no two of them the same."""

    def __init__(self) -> None:
        self.root = np.random.SeedSequence(1)

    def __call__(self, count: int) -> list[np.random.Generator]:
        """Return so many new ones."""
        return [np.random.default_rng(child) for child in self.root.spawn(count)]


def main() -> None:
    """Run, write, and say where."""
    seeds, runs = Seeds(), ARGUMENTS.runs
    for name, places in PLACES.items():
        page = path_of(name).read_text("utf-8")
        if not page.count(START) == page.count(END) == places:
            raise SystemExit(f"{path_of(name)} has to have {places} times {START} ... {END}")
    blocks = {
        "wire": [of_memory(seeds)],
        "score-histograms": [of_areas(seeds, runs)],
        "advice": [of_constants(seeds, runs), of_predictions(seeds, runs), of_clients()],
    }
    for name, texts in blocks.items():
        write(path_of(name), texts)
        print(f"written: {path_of(name).relative_to(ROOT)}")


def path_of(name: str) -> Path:
    """Return where a page is."""
    return ROOT / "docs" / f"{name}.md"


def write(path: Path, texts: list[list[str]]) -> None:
    """Write each text between marks of its own, in the order of the page."""
    first, *rest = path.read_text("utf-8").split(START)
    parts = [first]
    for lines, after in zip(texts, rest, strict=True):
        parts += ["\n".join([START, *lines, END]), after.partition(END)[2]]
    path.write_text("".join(parts), "utf-8")


def of_constants(seeds: Seeds, runs: int) -> list[str]:
    """Return the three constants: the range over the settings of each column."""
    columns: list[list[Constants]] = [
        [
            constants(model, epsilon, clients, height, seeds(runs))
            for clients in SIZES
            for epsilon in epsilons
            for height in heights
        ]
        for model, epsilons, heights in NOISES.values()
    ]
    rows = {
        "recall": [[each.recall for each in column] for column in columns],
        "area, 0.8 times the root mean square": [
            [each.area for each in column] for column in columns
        ],
        f"rate, {FEW[0]} to {FEW[-1]} buckets": [
            [rate for each in column for rate in each.few] for column in columns
        ],
        f"rate, {MANY[0]} and {MANY[-1]} buckets": [
            [rate for each in column for rate in each.many] for column in columns
        ],
    }
    lines = [f"{runs} releases in each setting.", "", f"| | {' | '.join(NOISES)} |"]
    lines.append("|---" * (len(NOISES) + 1) + "|")
    for name, found in rows.items():
        cells = [
            f"{np.min(each):.2f} to {np.max(each):.2f}, median {np.median(each):.2f}"
            for each in found
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def of_predictions(seeds: Seeds, runs: int) -> list[str]:
    """Return what is expected at the settings that are advised, beside what is measured."""
    heads = [f"{purpose} | expected | measured | Beta" for purpose in PURPOSES]
    lines = [f"Means of {runs} samples with a release each.", ""]
    lines += [f"| model | epsilon | M | {' | '.join(heads)} |", "|---" * 15 + "|"]
    ratios: dict[str, list[float]] = {name: [] for name in DENSITIES}
    for model, epsilon in PREDICTED:
        for clients in SIZES:
            advice = advise(clients, epsilon, model)
            found = {
                name: predicted(model, epsilon, clients, name, seeds(runs)) for name in DENSITIES
            }
            cells = []
            for purpose in PURPOSES:
                expected = advice.expected_errors[purpose]
                errors = [found[name][purpose] for name in DENSITIES]
                cells.append(f"{advice.heights[purpose]} / {advice.buckets[purpose]}")
                cells += [decimals(error) for error in (expected, *errors)]
                for name, error in zip(DENSITIES, errors, strict=True):
                    ratios[name].append(error / expected)
            power = f"10^{round(np.log10(clients))}"
            lines.append(f"| {model} | {epsilon:g} | {power} | {' | '.join(cells)} |")
    ranges = [
        f"{min(each):.2f} to {max(each):.2f} times for {name} scores"
        for name, each in ratios.items()
    ]
    return [*lines, "", f"Measured by expected: {', '.join(ranges)}."]


def of_clients() -> list[str]:
    """Return how many clients an error takes."""
    heads = [f"{purpose} {error:g}" for purpose, error in GOALS]
    lines = ["", f"| model | epsilon | {' | '.join(heads)} |", "|---" * (len(GOALS) + 2) + "|"]
    rows: list[tuple[TrustModel, float | None]] = [("secure-aggregation", None), *PREDICTED]
    for model, epsilon in rows:
        found = [enough(10**5, epsilon, model, error, purpose) for purpose, error in GOALS]
        cells = [f"{each.clients:,}" if each.clients else "more than 2^40" for each in found]
        which = "" if epsilon is None else f"{epsilon:g}"
        lines.append(f"| {model} | {which} | {' | '.join(cells)} |")
    return [*lines, ""]


def of_areas(seeds: Seeds, runs: int) -> list[str]:
    """Return the errors of areas, and how often the intervals covered."""
    heads = (
        "scores | B | 1 / (3 B^2) | equal depth | corrected | one width | worst case |"
        " well-behaved | noise | corrected | stated | local | corrected | stated"
    )
    lines = [f"Means of {runs} repetitions.", "", f"| {heads} |", "|---" * 14 + "|"]
    covered = []
    for name in DENSITIES:
        for size, found in area_errors(RECORDS, name, BUCKETS, seeds(runs)).items():
            values = (1 / (3 * size**2), *found.exact, *found.noisy, *found.local)
            lines.append(f"| {name} | {size} | {' | '.join(map(decimals, values))} |")
            covered.append(found.covered)
    least = round(runs * float(np.min(covered)))
    fewest = "The fewest repetitions in which one of the intervals at the level 0.95 covered"
    return [*lines, "", f"{fewest}: {least} of {runs}."]


def of_memory(seeds: Seeds) -> list[str]:
    """Return the memory of a server."""
    found = memory(CLIENTS, WAITING, EVERY, CELLS, *seeds(1))
    seed, share, most, settled = (
        each / 1e6 for each in (found.seed, found.share, found.most, found.settled)
    )
    return [
        "",
        f"| N = {CELLS:,}, {found.nodes:,} nodes | memory |",
        "|---|---|",
        f"| a waiting seed, of {CLIENTS:,} | {1e3 * seed:.2f} kB |",
        f"| a waiting share, of {WAITING:,} | {1e3 * share:.2f} kB |",
        f"| {CLIENTS:,} waiting seeds | {CLIENTS * seed:.0f} MB |",
        f"| {CLIENTS:,} waiting shares, extrapolated | {CLIENTS * share:.0f} MB |",
        f"| {CLIENTS:,} shares, settled every {EVERY:,}: at most | {most:.1f} MB |",
        f"| of it the ids of settled clients, at the end | {settled:.1f} MB |",
        "",
    ]


def decimals(value: float) -> str:
    """Return two digits, without an exponent."""
    power = int(f"{value:.1e}".partition("e")[2])
    return f"{value:.{max(0, 1 - power)}f}"


if __name__ == "__main__":
    main()
