"""The second half of the demonstration checks a classifier privately.

Who sees a doctor within a year? A logistic regression is fitted to half of the records and checked
on the other half. Two private releases give its ROC curve, its reliability diagram and its
Hosmer-Lemeshow table, which are shown beside the true ones. The guarantee is for the checked
records. It holds only because the model does not depend on them.
"""

from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from _pictures import stands_alone
from numpy.typing import NDArray

import dpcore as dp
from dpcore.curves.colours import BLACK, BLUE, LIGHT
from dpcore.releases.hosmer_lemeshow import arcsine_grid
from dpcore.statistics import ROC, HosmerLemeshow, Reliability, equi_depth_bins, reliability

EPSILON = 1.0
BINS = 10
OUTCOME = "A visit to a doctor in a year"
FEATURES = ["lncoins", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp"]
SPLIT_SEED = 1  # which half is which is public


class Checked(NamedTuple):
    """Labels and predicted probabilities of records that the model has not seen."""

    y_true: NDArray[np.bool_]
    y_prob: NDArray[np.float64]


class Findings(NamedTuple):
    """The results that are computed from two releases of the checked records."""

    roc: ROC
    reliability: Reliability
    test: HosmerLemeshow


def predicted(data: Any) -> Checked:
    """Fit a logistic regression to half of the records, and return the other half's predictions."""
    order = np.random.default_rng(SPLIT_SEED).permutation(len(data))
    fitted, checked = np.array_split(order, 2)
    label, features = (data["mdvis"] > 0).to_numpy(), sm.add_constant(data[FEATURES].to_numpy())
    model = sm.Logit(label[fitted], features[fitted]).fit(disp=False)
    return Checked(label[checked], model.predict(features[checked]))


def findings(records: Checked, **options: Any) -> Findings:
    """Release twice: with ``epsilon``, or with ``mechanism``."""
    grid = dp.Grid.uniform(0, 1, 1000)
    roc = dp.roc_curve(*records, grid=grid, **options)
    table = reliability(roc.curves, equi_depth_bins(roc.curves, BINS))
    # Finer than the default: many records share few probabilities, and a group consists of cells.
    fine = arcsine_grid(2**10)
    test = dp.hosmer_lemeshow(*records, fitted=False, grid=fine, **options)
    return Findings(roc, table, test)


def demonstrate(data: Any, output: Path) -> tuple[list[dp.Privacy], list[Path]]:
    """Release, compare and draw; return the privacy that was spent, and the files."""
    records = predicted(data)
    found = findings(records, epsilon=EPSILON)
    # The same functions without noise, on finer grids, show what is true.
    fine = dp.Grid.uniform(0, 1, 2**20)
    curves = dp.score_curves(*records, fine, dp.mechanisms.NoNoise())
    true = Findings(
        ROC.from_curves(curves),
        reliability(curves, equi_depth_bins(curves, BINS)),
        dp.hosmer_lemeshow(
            *records, fitted=False, grid=arcsine_grid(2**16), mechanism=dp.mechanisms.NoNoise()
        ),
    )
    report(records, found, true)
    path = output / "classifier.json"
    path.write_text(found.roc.curves.to_json() + "\n", "utf-8")
    written = [*draw(found, true, output), path]
    return [found.roc.privacy, found.test.privacy], written


def report(records: Checked, found: Findings, true: Findings) -> None:
    """Print the areas and the table of the test."""
    print(f"\n{OUTCOME}, predicted by a logistic regression. The model is fitted to")
    print("one half of the records and checked on the other half.")
    print(f"{records.y_true.size:,} records, {found.roc.privacy} for each of two releases\n")
    gap = dp.statistics.symmetric_difference(found.roc, true.roc)
    print(f"  area under the ROC curve: true {true.roc.auc:.4f}, private {found.roc.auc:.4f}")
    print(f"  area between the two curves: {gap:.4f}\n")
    print("  Hosmer-Lemeshow test: observed and expected positives in groups of records with")
    print("  similar predicted probabilities; left: private, right: true")
    _row(["from", "to", "observed", "expected", "|", "from", "to", "observed", "expected"])
    for private, exact in zip(_groups(found.test), _groups(true.test), strict=True):
        _row([*private, "|", *exact])
    noisy = found.test.under_noise()
    print(f"  statistic: true {true.test.statistic:.1f}, private {found.test.statistic:.1f}")
    print(f"    private, minus the mean that the noise adds: {noisy.statistic:.1f}")
    print(f"  p-value: true {true.test.pvalue:.2g}, private {found.test.pvalue:.2g}")
    print(f"    private, if the noise is ignored: {found.test.pvalue_ignoring_noise:.2g}")


def _groups(test: HosmerLemeshow) -> list[list[str]]:
    columns = (test.edges[:-1], test.edges[1:], test.observed[:, 1], test.expected[:, 1])
    rows = [
        [f"{low:.3f}", f"{high:.3f}", f"{o:.0f}", f"{e:.1f}"]
        for low, high, o, e in zip(*columns, strict=True)
    ]
    return rows + [[""] * 4] * (BINS - len(rows))


def _row(entries: list[str]) -> None:
    print("  " + "".join(f"{each:>3}" if each == "|" else f"{each:>10}" for each in entries))


def draw(found: Findings, true: Findings, output: Path) -> list[Path]:
    """Draw the three results, each beside the true one."""
    dashed: dict[str, Any] = {"color": BLACK, "linewidth": 1.1, "linestyle": (0, (4, 2))}
    figure, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
    found.roc.plot(ax, color=BLUE)
    label = f"true, not private, AUC = {true.roc.auc:.3f}"
    ax.plot(true.roc.fpr, true.roc.tpr, label=label, **dashed)
    ax.legend(loc="lower right", frameon=False)
    ax.set_title(f"{OUTCOME}, by logistic regression: ROC curve", fontsize=10)
    written = [_saved(figure, output / "roc.png")]

    figure, ax = plt.subplots(figsize=(5.5, 6.5), layout="constrained")
    found.reliability.plot(ax, color=BLUE)
    exact: dict[str, Any] = {"color": BLACK, "marker": "x", "linestyle": "", "zorder": 5}
    ax.plot(
        true.reliability.mean_score,
        true.reliability.positive_rate,
        label="true, not private",
        **exact,
    )
    ax.legend(loc="upper left", frameon=False)
    ax.set_title(f"{OUTCOME}: reliability of the predicted probability", fontsize=10)
    written.append(_saved(figure, output / "reliability.png"))

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), sharey=True, layout="constrained")
    found.test.plot(left)
    true.test.plot(right, label="positives, true, not private", color=LIGHT)
    right.set_ylabel("")  # the same as that of the left
    left.set_title(
        "Private: groups end at the thresholds nearest to tenths of the noisy curve", fontsize=10
    )
    right.set_title("True: groups of nearly equal size", fontsize=10)
    figure.suptitle(f"{OUTCOME}: Hosmer-Lemeshow groups by predicted probability")
    return [*written, _saved(figure, output / "hosmer-lemeshow.png")]


def _saved(figure: Any, path: Path) -> Path:
    stands_alone(figure)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path
