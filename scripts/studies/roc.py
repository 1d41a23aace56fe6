"""Private ROC curves beside each other: ``python scripts/study.py roc --data DIR [--runs N]``.

Runs Figure 5 of the ECDF paper and Figure 9 of the regression-diagnostics paper again, with our
ways beside the published ones, and writes docs/roc-accuracy.md and docs/roc-accuracy.png. It needs
a folder with bank-full.csv (UCI Bank Marketing; not part of this project). 100 runs take half an
hour. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from pathlib import Path

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors of private ROC curves.")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with bank-full.csv; default: DPCORE_DATA",
)
parser.add_argument("--runs", type=int, default=100, metavar="N", help="of every release")
ARGUMENTS = parser.parse_args()
if ARGUMENTS.data is None:
    raise SystemExit("skipped: roc-accuracy.md needs --data DIR with bank-full.csv")
ensure("figures", "bench")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import dpcore as dp  # noqa: E402

from ._roc_experiments import (  # noqa: E402
    CANDIDATES,
    CELLS,
    CONTENDERS,
    FEW,
    MEDIANS,
    METHODS,
    OURS,
    PUBLISHED,
    Scored,
    Values,
    area,
    areas,
    bank,
    binormal,
    errors,
    exact_roc,
    first_ranks,
    p_values,
    roc_of,
    unevenness,
)

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
SHOWN_EPSILON = 0.2
PRODUCTS, RECORDS, STEP = (100, 300, 1000, 3000, 10000), 10**4, 0.025
AUCS = [round(0.7 + STEP * i, 3) for i in range(12)]  # the last one is what 0.95 is told from
DISCRIMINATE = (OURS, FEW, "PriROC-fix", "PriROC", MEDIANS)
RUNS_OF_A_TEST, LEVEL = 20, 0.05
COLOURS = {
    PUBLISHED: "#d1602b",
    OURS: "#1f5fa8",
    FEW: "#7fb2e5",
    "PriROC-fix": "#5b9a68",
    "PriROC": "#b8860b",
    MEDIANS: "#8a5fb0",
}


def main() -> None:
    """Run, write, and say where."""
    records = bank(ARGUMENTS.data)
    means = {
        name: [errors(records, name, epsilon, ARGUMENTS.runs) for epsilon in EPSILONS]
        for name in CONTENDERS
    }
    page, picture = ROOT / "docs" / "roc-accuracy.md", ROOT / "docs" / "roc-accuracy.png"
    lines = [*of_curves(records, means), *of_thresholds(records), *of_areas()]
    page.write_text("\n".join(lines) + "\n", "utf-8")
    draw(records, means, picture)
    for path in (page, picture):
        print(f"written: {path.relative_to(ROOT)}")


def of_curves(records: Scored, means: dict[str, list[Values]]) -> list[str]:
    """Return Figure 5 as a table, and whether the aim is met."""
    mean = {name: [float(each.mean()) for each in found] for name, found in means.items()}
    ratios = {
        name: [p / o for p, o in zip(mean[PUBLISHED], mean[name], strict=True)]
        for name in (OURS, MEDIANS)
    }
    lines = [
        "# The accuracy of private ROC curves",
        "",
        "Written by `python scripts/study.py roc --data DIR`. The mechanisms are those of",
        "[scores.md](scores.md), [medians.md](medians.md) and [dawa.md](dawa.md).",
        "",
        "## The area between the released curve and the exact one",
        "",
        f"Figure 5 of the ECDF paper: {records.labels.size:,} records of the Bank data,",
        f"{records.labels.mean():.1%} of them positive, scored by a logistic regression",
        f"(AUC {area(exact_roc(records)):.4f}). The mean of {ARGUMENTS.runs} releases; for",
        "neighbours by one replaced record. The exact curve has a point for every score.",
        "",
        f"- {PUBLISHED}: two dyadic trees with epsilon / 2 and the published scale over {CELLS:,}",
        "  even cells, each smoothed in norm 2;",
        f"- {OURS}: its default over the same cells, or over 32 even ones;",
        "- PriROC-fix: the same cells, by DAWA;",
        f"- PriROC: 2^10 recursive medians among {CANDIDATES:,} even cells with a fifth of",
        '  epsilon, method "paper", and DAWA with the rest;',
        f"- {MEDIANS}: 2^5 recursive medians among those, method",
        '  "exponential", a hierarchy ("hb") with the rest; and with one thing changed.',
        "",
        f"| | {' | '.join(f'{epsilon:g}' for epsilon in EPSILONS)} |",
        "|---" * (len(EPSILONS) + 1) + "|",
    ]
    least = [min(column) for column in zip(*mean.values(), strict=True)]
    for name, row in mean.items():
        cells = [
            f"**{x:.4f}**" if x == best else f"{x:.4f}" for x, best in zip(row, least, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for name, row in ratios.items():
        lines.append(f"| published over {name} | {' | '.join(f'{r:.1f}' for r in row)} |")
    spread = max(
        float(each.std(ddof=1) / np.sqrt(each.size) / each.mean())
        for found in means.values()
        for each in found
    )
    return [
        *lines,
        "",
        *(f"The error of {name} is {verdict(row)}." for name, row in ratios.items()),
        f"The means are known to within {spread:.0%} (one standard error), or better.",
        "",
        "![Errors against epsilon, and one release of each](roc-accuracy.png)",
    ]


def verdict(ratios: list[float]) -> str:
    """Return how an error compares with half of the published one."""
    missed = [f"{e:g}" for e, ratio in zip(EPSILONS, ratios, strict=True) if ratio < 2]
    if not missed:
        return "less than half of the published one at every epsilon"
    return f"less than half of the published one but for epsilon = {', '.join(missed)}"


def of_thresholds(records: Scored) -> list[str]:
    """Return how well each method halves the records."""
    counts = dp.Grid.uniform(0, 1, CANDIDATES).count(records.scores)
    runs = max(ARGUMENTS.runs // 2, 2)
    budgets = (0.1, 1.0, 10.0)
    columns = " | ".join(f"{epsilon:g}" for epsilon in budgets)
    lines = [
        "",
        "## Thresholds",
        "",
        f"The Bank scores again, in {CANDIDATES:,} cells, by what is spent on thresholds. Left:",
        "how many records the first of ten medians is away from half of them, the median of",
        f"{runs} runs. Right: which part of the records is too many in its interval, where",
        "32 intervals (depth 5) ought to have the same number; the mean of as many runs.",
        "",
        f"| | {columns} | | {columns} |",
        "|---" * (2 * len(budgets) + 2) + "|",
    ]
    for method in METHODS:
        ranks = [f"{first_ranks(counts, e, method, runs):,.0f}" for e in budgets]
        uneven = [f"{unevenness(counts, e, method, runs):.1%}" for e in budgets]
        lines.append(f'| "{method}" | {" | ".join(ranks)} | | {" | ".join(uneven)} |')
    return lines


def of_areas() -> list[str]:
    """Return Figure 9 as a table."""
    lines = [
        "",
        "## Telling classifiers apart",
        "",
        "Figure 9 of the regression-diagnostics paper: binormal scores with AUCs from",
        f"{AUCS[0]:g} to {AUCS[-1]:g}, n = {RECORDS:,}, half of them positive, and",
        f"{RUNS_OF_A_TEST} releases of each. Two AUCs are told apart if the areas of their",
        f"releases differ in a two-sample t-test, p < {LEVEL:g}. By n epsilon: the least",
        f"difference of AUCs, in steps of {STEP:g}, for which all pairs are told apart, and the",
        f"largest p of all pairs that are {STEP:g} apart.",
        "",
        f"| n epsilon | {' | '.join(f'{product:,}' for product in PRODUCTS)} |",
        "|---" * (len(PRODUCTS) + 1) + "|",
    ]
    data = {auc: binormal(RECORDS, auc) for auc in AUCS}
    for name in DISCRIMINATE:
        cells = []
        for product in PRODUCTS:
            samples = {
                auc: areas(records, name, product / RECORDS, RUNS_OF_A_TEST)
                for auc, records in data.items()
            }
            worst = {i: max(p_values(samples, STEP * i)) for i in range(1, len(AUCS))}
            told = [i for i in worst if worst[i] < LEVEL]
            cells.append(f"{f'{STEP * told[0]:g}' if told else 'none'} ({worst[1]:.1g})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def draw(records: Scored, means: dict[str, list[Values]], path: Path) -> None:
    """Draw the errors, and one release of each."""
    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for name, colour in COLOURS.items():
        found = [each.mean() for each in means[name]]
        left.plot(EPSILONS, found, "o-", color=colour, markersize=3, label=name)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    left.minorticks_off()
    left.set_title("Area between the released and the exact ROC curve", loc="left")
    left.set_xlabel("epsilon")
    exact = exact_roc(records)
    for name in (PUBLISHED, OURS, MEDIANS):
        curves = CONTENDERS[name](records, SHOWN_EPSILON, np.random.default_rng(5))
        roc = roc_of(curves)
        right.plot(roc.fpr, roc.tpr, color=COLOURS[name], linewidth=1, label=name)
    right.plot(*exact, color="0.15", linewidth=1, linestyle=(0, (4, 2)), label="exact")
    right.set_title(f"One release of each, epsilon = {SHOWN_EPSILON:g}", loc="left")
    right.set_xlabel("false positive rate")
    right.set_ylabel("true positive rate")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.legend(framealpha=0.9, edgecolor="none", fontsize=8)
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
