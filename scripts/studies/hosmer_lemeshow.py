"""Private Hosmer-Lemeshow tests: ``python scripts/study.py hosmer_lemeshow --data DIR [--runs N]``.

Runs Figures 6 and 10 of the ECDF paper again, with our way beside the published one, asks how often
p-values reject a model that is right, and writes docs/hosmer-lemeshow-accuracy.md and its picture.
It needs a folder with bank-full.csv and diabetic_data.csv (UCI; not part of this project). 100 runs
take half an hour. The first start makes ``.venv`` in the clone.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="Errors and p-values of private goodness of fit.")
parser.add_argument(
    "--data",
    type=Path,
    default=os.environ.get("DPCORE_DATA"),
    metavar="DIR",
    help="a folder with bank-full.csv and diabetic_data.csv; default: DPCORE_DATA",
)
parser.add_argument("--runs", type=int, default=100, metavar="N", help="of every release")
ARGUMENTS = parser.parse_args()
if ARGUMENTS.data is None:
    raise SystemExit("skipped: hosmer-lemeshow-accuracy.md needs --data DIR")
ensure("figures", "bench")

# What follows needs the environment.
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.special import expit, logit  # noqa: E402
from sklearn.compose import make_column_selector, make_column_transformer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from dpcore.mechanisms import NoNoise  # noqa: E402
from dpcore.releases.hosmer_lemeshow import hosmer_lemeshow  # noqa: E402
from dpcore.releases.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups  # noqa: E402

Values = NDArray[np.float64]
Rng = np.random.Generator
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
GROUPS, TRAINED, RARE = 10, 0.2, 50
TESTED, LEVEL, REPLICATES, TESTS = (0.1, 0.5, 1.0, 2.0, np.inf), 0.05, 99, 4  # times --runs
COEFFICIENTS, FITTED, STEEPER = np.array([-2.0, 1.0, 0.5, -0.5]), 10**4, 1.08
PUBLISHED, EXACT, OURS, LESS = "published", "published, exact", "ours", "ours, less the noise"
COLOURS = {PUBLISHED: "#d1602b", EXACT: "#b8860b", OURS: "#1f5fa8", LESS: "#5b9a68"}


class Scored(NamedTuple):
    """Records with labels and predicted probabilities."""

    labels: NDArray[np.bool_]
    probabilities: Values


def main() -> None:
    """Run, write, and say where."""
    data = {"Bank": scored(*bank()), "Diabetes": scored(*diabetes())}
    found = {name: errors(records) for name, records in data.items()}
    page = ROOT / "docs" / "hosmer-lemeshow-accuracy.md"
    lines = [*introduction(data), *tables(found), *rejections(data["Bank"].probabilities)]
    page.write_text("\n".join(lines) + "\n", "utf-8")
    for path in (page, draw(found)):
        print(f"written: {path.relative_to(ROOT)}")


def bank() -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Return the features and the labels of the Bank data."""
    table = pd.read_csv(ARGUMENTS.data / "bank-full.csv", sep=";")
    return table, (table.pop("y") == "yes").to_numpy()


def diabetes() -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Return those of the Diabetes data: was somebody readmitted, at any time?"""
    table = pd.read_csv(ARGUMENTS.data / "diabetic_data.csv", keep_default_na=False)
    labels = (table.pop("readmitted") != "NO").to_numpy()
    table = table.drop(columns=["encounter_id", "patient_nbr"])
    codes = [name for name in table if str(name).endswith("_id")]
    return table.astype(dict.fromkeys(codes, str)), labels


def scored(table: pd.DataFrame, labels: NDArray[np.bool_]) -> Scored:
    """Return the records to which a logistic regression on some others was not fitted."""
    trained = np.random.default_rng(1).random(labels.size) < TRAINED
    rare: dict[str, Any] = {"handle_unknown": "infrequent_if_exist", "min_frequency": RARE}
    model = make_pipeline(
        make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            (OneHotEncoder(**rare), make_column_selector(dtype_exclude="number")),
        ),
        LogisticRegression(max_iter=2000),
    ).fit(table[trained], labels[trained])
    return Scored(labels[~trained], np.asarray(model.predict_proba(table[~trained])[:, 1]))


def textbook(records: Scored) -> float:
    """Return the statistic of the records themselves."""
    labels, p = records
    cuts = np.quantile(p, np.arange(1, GROUPS) / GROUPS, method="inverted_cdf")
    of_record = np.searchsorted(cuts, p, side="left")
    sums = (np.bincount(of_record, each, GROUPS) for each in (labels, p, ~labels, 1 - p))
    o1, e1, o0, e0 = sums
    return float(np.sum((o1 - e1) ** 2 / e1 + (o0 - e0) ** 2 / e0))


def published(records: Scored, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the statistics of Algorithm 2."""
    common: dict[str, Any] = {"epsilon": epsilon, "rng": rng}
    return {
        PUBLISHED: hosmer_lemeshow_by_groups(*records, sensitivity="paper", **common).statistic,
        EXACT: hosmer_lemeshow_by_groups(*records, **common).statistic,
    }


def ours(records: Scored, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return the statistics of one joint release."""
    test = hosmer_lemeshow(*records, epsilon=epsilon, fitted=False, rng=rng)
    return {OURS: test.statistic, LESS: test.under_noise(REPLICATES, rng).statistic}


def errors(records: Scored) -> dict[str, Values]:
    """Return relative errors of the statistic, each (epsilons, runs)."""
    truth, rng, shape = textbook(records), np.random.default_rng(2), (len(EPSILONS), ARGUMENTS.runs)
    found = {name: np.empty(shape) for name in COLOURS}
    for i, epsilon in enumerate(EPSILONS):
        for run in range(ARGUMENTS.runs):
            both = published(records, epsilon, rng) | ours(records, epsilon, rng)
            for name, statistic in both.items():
                found[name][i, run] = statistic / truth - 1
    return found


def introduction(data: dict[str, Scored]) -> list[str]:
    """Return the beginning of the page."""
    lines = [
        "# The accuracy of private Hosmer-Lemeshow tests",
        "",
        "Written by `python scripts/study.py hosmer_lemeshow --data DIR`. Logistic regressions are",
        f"fitted to a random {TRAINED:.0%} of the records, which nothing is said about, and tested",
        f"on the others, in Q = {GROUPS} groups. Neighbours: one record replaced. H is the",
        "statistic of the records themselves, with their own probabilities and deciles.",
        "",
        "| data | tested records | positive | H |",
        "|---|---|---|---|",
    ]
    for name, (labels, p) in data.items():
        statistic = textbook(Scored(labels, p))
        lines.append(f"| {name} | {labels.size:,} | {labels.mean():.1%} | {statistic:.1f} |")
    return [
        *lines,
        "",
        "- published: Algorithm 2 of the ECDF paper with its constants, but half-open groups",
        "  ([hosmer-lemeshow.md](hosmer-lemeshow.md), section 4);",
        "- published, exact: the same with as much noise as it takes;",
        "- ours: `hosmer_lemeshow`, one joint release;",
        f"- ours, less the noise: `under_noise({REPLICATES}).statistic` of it.",
        "",
        "All of them on the same grid, `arcsine_grid()` of 128 cells; finer ones make all noise",
        f"larger. Means and medians of {ARGUMENTS.runs} releases.",
    ]


def tables(found: dict[str, dict[str, Values]]) -> list[str]:
    """Return Figures 6 and 10 as tables, and whether the aim is met."""
    lines = ["", "## Relative mean squared error of H"]
    summaries: dict[str, Callable[[Values], Values]] = {
        "E (H' / H - 1)^2": lambda each: np.mean(each**2, axis=1),
        "median of abs(H' / H - 1)": lambda each: np.median(np.abs(each), axis=1),
    }
    header = f"| {' | '.join(f'{epsilon:g}' for epsilon in EPSILONS)} |"
    for data, each in found.items():
        for name, summary in summaries.items():
            lines += ["", f"| {data}: {name}, epsilon = {header}"]
            lines.append("|---" * (len(EPSILONS) + 1) + "|")
            for way, values in each.items():
                lines.append(f"| {way} | {' | '.join(f'{x:.2g}' for x in summary(values))} |")
        ratios = np.mean(each[OURS] ** 2, axis=1) / np.mean(each[PUBLISHED] ** 2, axis=1)
        missed = [f"{e:g}" for e, x in zip(EPSILONS, ratios, strict=True) if x > 0.5]
        verdict = "at every epsilon" if not missed else f"but not at epsilon = {', '.join(missed)}"
        lines += [
            "",
            f"{data}: our mean squared error is at most half of the published, {verdict}.",
        ]
    return [*lines, "", "![Relative mean squared errors](hosmer-lemeshow-accuracy.png)"]


def rejections(probabilities: Values) -> list[str]:
    """Return how often p-values are at most 5 %."""
    populations: dict[str, tuple[Callable[[Rng], Scored], bool]] = {
        "right, not fitted here (Bank)": (lambda rng: drawn(probabilities, 1.0, rng), False),
        f"right, fitted here (n = {FITTED:,})": (fitted, True),
        "wrong, not fitted here (Bank)": (lambda rng: drawn(probabilities, STEEPER, rng), False),
    }
    runs = TESTS * ARGUMENTS.runs
    header = " | ".join("none" if e == np.inf else f"{e:g}" for e in TESTED)
    lines = [
        "",
        "## Rejections at 5 %",
        "",
        f"Shares of {runs:,} releases with a p-value of at most {LEVEL:g}: by the chi-squared law",
        f"(`pvalue_ignoring_noise`), and by {REPLICATES} simulated releases (`under_noise`; "
        "`pvalue` has 999). Labels are drawn",
        "from the probabilities of the Bank model; or from a logistic regression on three normal",
        "features, which is then fitted to the records themselves. The wrong model is right but",
        f"for the slope: labels are drawn from probabilities whose logits are {STEEPER:g} times",
        "as large. Where the model is right the standard error of a share of 5 % is",
        f"{(LEVEL * (1 - LEVEL) / runs) ** 0.5:.1%}.",
        "",
        f"| model | p-value | epsilon = {header} |",
        "|---" * (len(TESTED) + 2) + "|",
    ]
    for name, (draw_records, is_fitted) in populations.items():
        columns = [tested(draw_records, is_fitted, epsilon, runs) for epsilon in TESTED]
        for law, shares in zip(
            ("chi-squared", "under noise"), zip(*columns, strict=True), strict=True
        ):
            lines.append(f"| {name} | {law} | {' | '.join(f'{x:.1%}' for x in shares)} |")
    return lines


def drawn(probabilities: Values, slope: float, rng: Rng) -> Scored:
    """Return new labels for the probabilities."""
    inside = np.clip(probabilities, 1e-12, 1 - 1e-12)
    return Scored(rng.random(inside.size) < expit(slope * logit(inside)), probabilities)


def fitted(rng: Rng) -> Scored:
    """Return records with probabilities that were fitted to them."""
    features = rng.normal(size=(FITTED, COEFFICIENTS.size - 1))
    labels = rng.random(FITTED) < expit(COEFFICIENTS[0] + features @ COEFFICIENTS[1:])
    model = LogisticRegression(C=np.inf).fit(features, labels)
    return Scored(labels, np.asarray(model.predict_proba(features)[:, 1]))


def tested(
    draw_records: Callable[[Rng], Scored], is_fitted: bool, epsilon: float, runs: int
) -> tuple[float, float]:
    """Return the shares of rejections, by the chi-squared law and under noise."""
    rng, hits = np.random.default_rng(3), np.zeros(2)
    budget: dict[str, Any] = {"epsilon": epsilon} if epsilon < np.inf else {"mechanism": NoNoise()}
    for _ in range(runs):
        test = hosmer_lemeshow(*draw_records(rng), **budget, fitted=is_fitted, rng=rng)
        pvalues = (test.pvalue_ignoring_noise, test.under_noise(REPLICATES, rng).pvalue)
        hits += np.array(pvalues) <= LEVEL
    return tuple(hits / runs)


def draw(found: dict[str, dict[str, Values]]) -> Path:
    """Draw Figures 6 and 10, with ours in them."""
    plt.switch_backend("Agg")
    figure, both = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, (data, each) in zip(both, found.items(), strict=True):
        for name, values in each.items():
            mean = np.mean(values**2, axis=1)
            axes.plot(EPSILONS, mean, "o-", color=COLOURS[name], markersize=3, label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title(f"{data}: relative mean squared error of H", loc="left")
        axes.set_xlabel("epsilon")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
    both[0].legend(framealpha=0.9, edgecolor="none")
    path: Path = ROOT / "docs" / "hosmer-lemeshow-accuracy.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
