"""Local privacy, measured: ``python scripts/study.py local [--runs N] [--data DIR]``.

Square waves beside a tree of unary encodings, on all shapes of the study of regret, into
docs/square-wave.md; and how often the bands of local releases cover, into docs/trust.md. Takes some
minutes. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Square waves, and bands of local releases.")
parser.add_argument("--runs", type=int, default=5, metavar="N", help="releases of every shape")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with a folder dpbench of .npy histograms; default: DPCORE_DATA",
)
ARGUMENTS = parser.parse_args()
ensure("figures")

# What follows needs the environment.
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.optimize import isotonic_regression  # noqa: E402

from dpcore.trust import Local, SquareWave  # noqa: E402

from ._regret_shapes import Shape, shapes  # noqa: E402

Values = NDArray[np.float64]
CELLS, COVERED, RELEASES, CLIENTS = 2**10, 2**8, 1000, 20_000
SETTINGS = tuple((n, epsilon) for epsilon in (0.5, 1.0, 5.0) for n in (10**4, 10**6))
FEW_AND_MANY = ("uniform", "normal, wide", "20 clumps", "3 spikes", "half at one value")
START, END = "<!-- study: start -->", "<!-- study: end -->"


class Gains(NamedTuple):
    """How many times smaller the root mean square error of square waves is than Local's."""

    chosen: float
    paper: float


def main() -> None:
    """Measure, write, and say where."""
    rng = np.random.default_rng(1)
    for name, table in (("trust", bands(rng)), ("square-wave", gains(rng))):
        page = ROOT / "docs" / f"{name}.md"
        before, _, rest = page.read_text("utf-8").partition(START)
        _, found, after = rest.partition(END)
        if not found:
            raise SystemExit(f"{page} has no place for a table: {START} ... {END}")
        page.write_text("\n".join([before + START, *table, END]) + after, "utf-8")
        print(f"written: {page.relative_to(ROOT)}")


def gains(rng: np.random.Generator) -> list[str]:
    """Return the gains on all shapes, and what they come to."""
    known = [shape for shape in shapes(ARGUMENTS.data) if shape.weights(CELLS) is not None]
    heads = [f"{epsilon:g}, 10^{round(np.log10(n))}" for n, epsilon in SETTINGS]
    found = {shape.name: [gain(shape, *each, rng) for each in SETTINGS] for shape in known}
    lines = [f"{CELLS:,} cells; {ARGUMENTS.runs} releases each; columns are epsilon and n.", ""]
    lines += [f"| | {' | '.join(heads)} |", "|---" * (len(SETTINGS) + 1) + "|"]
    for name, row in found.items():
        lines.append(f"| {name} | {' | '.join(f'{each.chosen:.2f}' for each in row)} |")
    for title, what in (("", "chosen"), (", with the paper's smoothing", "paper")):
        columns = [[getattr(row[i], what) for row in found.values()] for i in range(len(SETTINGS))]
        for name, summary in (("geometric mean", geometric_mean), ("least", min)):
            cells = " | ".join(f"**{summary(column):.2f}**" for column in columns)
            lines.append(f"| **{name}{title}** | {cells} |")
    return lines


def gain(shape: Shape, n: int, epsilon: float, rng: np.random.Generator) -> Gains:
    """Return what square waves gain on one shape."""
    wave, local = SquareWave(epsilon, n), Local(epsilon, n)
    encoding = wave.encoding(CELLS)
    squares = np.zeros(3)
    for _ in range(ARGUMENTS.runs):
        counts = rng.multinomial(n, weights(shape, CELLS))
        totals = encoding.simulated_totals(counts, rng)
        raw = local.release(counts, rng=rng)
        curves = [
            np.clip(isotonic_regression(raw).x, 0, n),
            n * np.cumsum(encoding.reconstruct(totals)),
            n * np.cumsum(encoding.reconstruct(totals, smoothing=1.0)),
        ]
        squares += [np.mean((curve - np.cumsum(counts)) ** 2) for curve in curves]
    return Gains(*np.sqrt(squares[0] / squares[1:]).tolist())


def bands(rng: np.random.Generator) -> list[str]:
    """Return how often bands cover, and how wide they are."""
    lines = [
        f"{CLIENTS:,} clients, {COVERED} cells, {RELEASES:,} releases.",
        "",
        "| epsilon | shape | covered, mean | least | width | width of the bound |",
        "|---|---|---|---|---|---|",
    ]
    for epsilon in (1.0, 3.0, 5.0, 8.0):
        model = Local(epsilon, CLIENTS)
        for shape in (each for each in shapes() if each.name in FEW_AND_MANY):
            counts = rng.multinomial(CLIENTS, weights(shape, COVERED))
            released = model.release(counts, rng=rng, replicates=RELEASES)
            stated = np.array([model.estimated_deviation(each) for each in released])[:, :-1]
            errors = (released - np.cumsum(counts))[:, :-1]
            covered = np.mean(np.abs(errors) <= 1.96 * stated, axis=0)
            width = stated.mean() / errors.std(axis=0).mean()
            bound = model.noise_deviation(COVERED)[:-1].mean() / errors.std(axis=0).mean()
            lines.append(
                f"| {epsilon:g} | {shape.name} | {covered.mean():.1%} | {covered.min():.1%} "
                f"| {width:.2f} | {bound:.2f} |"
            )
    return lines


def weights(shape: Shape, size: int) -> Values:
    """Return the probabilities of cells."""
    found = shape.weights(size)
    assert found is not None
    return np.asarray(found / found.sum())


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


if __name__ == "__main__":
    main()
