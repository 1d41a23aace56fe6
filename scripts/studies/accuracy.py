"""How accurate the mechanisms are: ``python scripts/study.py accuracy [--data DIR]``.

Writes docs/plan.md (predicted errors, and simulations beside them) and docs/accuracy.png. With
a folder of DPBench histograms (Hay et al. 2016; not part of this project), it also writes
docs/dawa-accuracy.md. Takes about a minute. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Tables and a picture of errors, for the docs.")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with a folder dpbench of .npy histograms; default: DPCORE_DATA",
)
DATA: Path | None = parser.parse_args().data
ensure("figures")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.optimize import isotonic_regression  # noqa: E402

import dpcore as dp  # noqa: E402
from dpcore.kernels.trees import hilbert  # noqa: E402
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, Mechanism, ToeplitzGaussian  # noqa: E402
from dpcore.releases.most_accurate import most_accurate  # noqa: E402
from dpcore.releases.plan_shapes import REFERENCE_SHAPES  # noqa: E402

Curves = NDArray[np.float64]
SIZE, RATE, REPLICATES = 2**15, 3, 1000
BUDGETS: list[dict[str, Any]] = [{"epsilon": 1.0}, {"rho": 0.5}]
DELTAS = (1e-12, 1e-9, 1e-6, 1e-3)
TOTALS, EPSILON = (10**4, 10**6, 10**8), 0.1
GREY, ORANGE, BLUE = "#9a9a9a", "#d1602b", "#1f5fa8"
WHICH_NOISE = """
## Which noise for which budget

For epsilon noise is Laplace noise, and for rho Gaussian noise. With epsilon and delta both are
compared: what is epsilon-differentially private is so with any delta, too, and its release
states delta = 0.

For rho, Laplace noise with epsilon = sqrt(2 rho) would do as well (Bun & Steinke 2016,
Proposition 1.4), but it does not win. On a level with the share w it has the scale
s = m / (w epsilon), m = 1 or 2 ([hierarchy.md](hierarchy.md), section 2). Gaussian noise with
sigma = s spends m / (2 s^2) = w^2 epsilon^2 / (2 m), on all levels no more than rho together. Let
x = 1 / (2 s). The variance of that Laplace noise is 2 sum y e^(-2 x y) = 1 / (2 sinh(x)^2), over
y = 1, 2, ...; that of the Gaussian noise is below sigma^2 = 1 / (4 x^2), which is less for
x <= 1, and below 2 sum y^2 e^(-2 x^2 y^2), which is less term by term for x >= 1. Least squares
never gain from more noise, so Gaussian noise on the same tree is better. That the best trees of
both kinds do not turn this around is tested on grids of many sizes."""


class Row(NamedTuple):
    """A mechanism, what is done to its curve, and the errors in squared counts."""

    name: str
    predicted: float | None
    simulated: float


def main() -> None:
    """Compute, write, and say where."""
    counts = np.random.default_rng(1).poisson(RATE, SIZE)
    written = [write("plan.md", plan_page(simulations(counts))), draw(counts)]
    if DATA is None:
        print("dawa-accuracy.md is skipped: it needs --data DIR with DPBench histograms")
    else:
        written.append(write("dawa-accuracy.md", dawa_page(DATA / "dpbench")))
    for path in written:
        print(f"written: {path.relative_to(ROOT)}")


def smoothed(curves: Any, n: int) -> Curves:
    """Return the curves by Eq. 3 of the ECDF paper, norm 2."""
    found = np.full(curves.shape, float(n))
    found[:, :-1] = dp.smooth(curves[:, :-1], n).cumulative
    return found


def isotonic(curves: Any, n: int) -> Curves:
    """Return the nearest monotone curves within [0, n]."""
    return np.array([np.clip(isotonic_regression(curve).x, 0, n) for curve in curves])


def simulations(counts: NDArray[np.int64]) -> list[Row]:
    """Return the mean squared errors, predicted and found, of the paper's curve and of ours."""
    truth, n = np.cumsum(counts), int(counts.sum())
    paper, exact = Dyadic(1.0, sensitivity="paper"), Dyadic(1.0)
    best, root = Hierarchy(1.0), ToeplitzGaussian(0.5)
    rows = []
    studies: list[tuple[str, Dyadic | Hierarchy | ToeplitzGaussian, dict[str, Any]]] = [
        ("dyadic tree, the paper's scale", paper, {"smoothed, norm 2": smoothed}),
        ("dyadic tree, exact sensitivity", exact, {"smoothed, norm 2": smoothed}),
        ("hierarchy: the default for epsilon", best, {"isotonic": isotonic}),
        ("square root: the default for rho = 0.5", root, {"isotonic": isotonic}),
    ]
    for name, mechanism, steps in studies:
        raw = mechanism.release(counts, rng=np.random.default_rng(2), replicates=REPLICATES)
        rows.append(
            Row(name, mechanism.mean_squared_error(SIZE), float(np.mean((raw - truth) ** 2)))
        )
        for step, process in steps.items():
            error = float(np.mean((process(raw, n) - truth) ** 2))
            rows.append(Row(f"{name}, {step}", None, error))
    return rows


def plan_page(rows: list[Row]) -> str:
    """Return docs/plan.md."""
    lines = [
        "# Predicted errors",
        "",
        "Written by `python scripts/study.py accuracy`. `dp.plan(size, epsilon=... | rho=...)`",
        "predicts the errors of all mechanisms whose noise does not depend on the data, from",
        "closed forms. `dp.cdf` takes the first one, or DAWA where n says so (below), and then",
        "isotonic regression. Tables have a rule of their own ([table.md](table.md), section 5).",
        "",
        "Errors are in counts: the root mean square over the thresholds, and the largest standard",
        "deviation at one of them. Divide by n for errors of F.",
        *WHICH_NOISE.split("\n"),
    ]
    for budget in BUDGETS:
        for size in (2**8, 2**12, 2**15):
            lines += options(size, budget, "replace-one")
    for budget in BUDGETS:
        lines += options(SIZE, budget, "add-or-remove-one")
    lines += with_records()
    k = np.arange(1, SIZE)
    known = 1.0 + float(np.sum(np.cumprod((2 * k - 1) / (2 * k)) ** 2))
    lines += [
        "",
        "With rho = 0.5 for one record more or less (sigma = 1 for a sensitivity of 1) the known",
        f"square-root factorisation has the largest standard deviation sum c_k^2 = {known:.4f}",
        "([toeplitz.md](toeplitz.md)). For a replaced record the public total lowers it.",
        *deltas(),
    ]
    paper = rows[0].simulated
    lines += [
        "",
        f"## Simulated: {SIZE:,} cells, counts Poisson({RATE}), epsilon = 1",
        "",
        f"Mean squared errors over all thresholds and {REPLICATES:,} releases, in counts^2, and",
        "how many times smaller than that of the paper's raw curve.",
        "",
        "| curve | predicted | simulated | gain |",
        "|---|---|---|---|",
    ]
    for row in rows:
        predicted = f"{row.predicted:,.0f}" if row.predicted else ""
        gain = f"{paper / row.simulated:.2f}x" if "rho" not in row.name else "another guarantee"
        lines.append(f"| {row.name} | {predicted} | {row.simulated:,.0f} | {gain} |")
    return "\n".join([*lines, "", "![Errors beside the paper's](accuracy.png)", ""])


def options(size: int, budget: dict[str, Any], neighbours: dp.privacy.Neighbours) -> list[str]:
    """Return a plan as a section of a page."""
    (name, value), plan = *budget.items(), dp.plan(size, **budget, neighbours=neighbours)
    lines = ["", f"## {size:,} cells, {name} = {value:g}, {neighbours}", ""]
    lines += ["| mechanism | RMSE | largest |", "|---|---|---|"]
    for option in plan:
        lines.append(f"| {option.name} | {option.error:.4g} | {option.largest_error:.4g} |")
    return lines


def deltas() -> list[str]:
    """Return how accurate the best mechanisms for epsilon = 1 and several deltas are."""
    lines = ["", "## What a delta buys: epsilon = 1, replace-one", ""]
    lines += ["The RMSE of the first option of the plan, and the kind of its noise.", ""]
    lines += [
        "| cells | no delta | " + " | ".join(f"{each:g}" for each in DELTAS) + " |",
        "|---|---" + "|---" * len(DELTAS) + "|",
    ]
    for size in (2**4, 2**6, 2**8, 2**12, 2**15):
        cells = [f"{size:,}"]
        for delta in (None, *DELTAS):
            best = dp.plan(size, epsilon=1.0, delta=delta).options[0]
            kind = "Gaussian" if best.mechanism.privacy.delta else "Laplace"
            cells.append(f"{best.error:.4g} ({kind})")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def with_records() -> list[str]:
    """Return the plans for some numbers of records as a section of a page."""
    size, epsilon = 2**12, 1.0
    lines = [
        "",
        f"## With n: {size:,} cells, epsilon = {epsilon:g}, replace-one",
        "",
        "With `n=` a plan says what `dp.cdf` takes for so many records: DAWA, whose error depends",
        f"on them, where n epsilon is at most N^1.5 ({size**1.5:,.0f} here), or else the first one",
        "above ([dawa.md](dawa.md), section 4). Errors on reference shapes are simulated, and are",
        "those of isotonic curves, in counts.",
        "",
        f"| n | mechanism | {' | '.join(REFERENCE_SHAPES)} |",
        "|---" * (2 + len(REFERENCE_SHAPES)) + "|",
    ]
    for n in (10**3, 10**4, 10**5, 10**6):
        for place, option in enumerate(dp.plan(size, epsilon=epsilon, n=n)):
            if option.on_shapes:
                errors = (f"{option.on_shapes[shape]:.3g}" for shape in REFERENCE_SHAPES)
                name = f"{option.name}, taken" if place == 0 else option.name
                lines.append(f"| {n:,} | {name} | {' | '.join(errors)} |")
    return lines


def dawa_page(folder: Path) -> str:
    """Return docs/dawa-accuracy.md."""
    lines = [
        "# DAWA on benchmark histograms",
        "",
        "Written by `python scripts/study.py accuracy --data DIR` from histograms of DPBench (Hay",
        "et al. 2016), resampled to n records. Root mean square error of the cumulative counts,",
        f"epsilon = {EPSILON:g}, one record replaced, after isotonic regression as in `dp.cdf`;",
        "the mean of 40 releases. A gain below 1: the hierarchy is better. The default is the one",
        "that `dp.cdf` takes ([dawa.md](dawa.md), section 4). The two-dimensional table is in the",
        "order of Hilbert's curve.",
        "",
        "| histogram | cells | empty | n | hierarchy | DAWA | gain | default |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rng = np.random.default_rng(3)
    for path in sorted(folder.glob("*.npy")):
        histogram = np.load(path)
        if histogram.ndim == 2:
            histogram = histogram.reshape(-1)[hilbert.rectangle(*histogram.shape)]
        for n in TOTALS:
            counts = rng.multinomial(n, histogram / histogram.sum())
            mechanisms = Hierarchy(EPSILON), Dawa(EPSILON)
            plain, dawa = (rmse(mechanism, counts, rng) for mechanism in mechanisms)
            best = most_accurate(counts.size, EPSILON, None, "replace-one", n=n)
            taken = "DAWA" if isinstance(best, Dawa) else "hierarchy"
            lines.append(
                f"| {path.stem.partition('.')[0]} | {counts.size:,} | {np.mean(counts == 0):.0%} "
                f"| {n:,} | {plain:.1f} | {dawa:.1f} | {plain / dawa:.2f}x | {taken} |"
            )
    return "\n".join([*lines, ""])


def rmse(mechanism: Mechanism, counts: NDArray[np.int64], rng: np.random.Generator) -> float:
    """Return the root mean square error after isotonic regression."""
    curves = isotonic(mechanism.release(counts, rng=rng, replicates=40), int(counts.sum()))
    return float(np.sqrt(np.mean((curves - np.cumsum(counts)) ** 2)))


def draw(counts: NDArray[np.int64]) -> Path:
    """Draw one release of each kind, and the predicted errors against the size of the grid."""
    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    truth, n = np.cumsum(counts), int(counts.sum())
    raw = Dyadic(1.0, sensitivity="paper").release(
        counts, rng=np.random.default_rng(5), replicates=1
    )
    best = Hierarchy(1.0).release(counts, rng=np.random.default_rng(6), replicates=1)
    for name, curve, color, width in [
        ("the paper's curve", raw, GREY, 0.3),
        ("the same, smoothed", smoothed(raw, n), ORANGE, 0.7),
        ("dp.cdf", isotonic(best, n), BLUE, 0.7),
    ]:
        left.plot((curve[0] - truth), color=color, linewidth=width, label=name)
    left.set_title("One release: error of the cumulative count", loc="left")
    left.set_xlabel(f"threshold, of {SIZE:,}")
    left.set_ylabel("counts")
    sizes = 2 ** np.arange(3, 19)
    compared: list[tuple[str, Dyadic | Hierarchy, str]] = [
        ("the paper's scale", Dyadic(1.0, sensitivity="paper"), GREY),
        ("dyadic tree, exact", Dyadic(1.0), ORANGE),
        ("hierarchy (default)", Hierarchy(1.0), BLUE),
    ]
    for name, mechanism, color in compared:
        errors = [mechanism.mean_squared_error(int(size)) ** 0.5 for size in sizes]
        right.plot(sizes, errors, "o-", color=color, markersize=3, label=name)
    right.set_xscale("log", base=2)
    right.set_title("Predicted error, epsilon = 1", loc="left")
    right.set_xlabel("cells")
    right.set_ylabel("root mean square, counts")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        legend = axes.legend(framealpha=0.9, edgecolor="none")
        for line in legend.get_lines():
            line.set_linewidth(2)
    path: Path = ROOT / "docs" / "accuracy.png"
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
    return path


def write(name: str, text: str) -> Path:
    """Write a page of the docs, and return where it is."""
    path: Path = ROOT / "docs" / name
    path.write_text(text, "utf-8")
    return path


if __name__ == "__main__":
    main()
