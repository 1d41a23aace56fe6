"""Private Hosmer-Lemeshow tests: ``python scripts/study.py hosmer_lemeshow --data DIR``.

Compares more ways than Figures 6 and 10 of the ECDF paper, and measures how often the test rejects
a right model. Writes docs/measured/hosmer-lemeshow-accuracy.md and its picture. Needs a folder with
bank-full.csv and diabetic_data.csv (UCI; not part of this project). Takes some minutes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from _pages import parts, pivot, save, table, write
from _studies import given, replicates, run
from numpy.typing import NDArray
from papers._data import folder
from papers._ecdf import banded, legend
from papers._ecdf_fit import EPSILONS, GROUPS, TRAINED, records, textbook
from papers._figure import panels
from scipy.special import expit, logit

from dpcore import studies
from dpcore.mechanisms import NoNoise
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.releases.hosmer_lemeshow import arcsine_grid, hosmer_lemeshow
from dpcore.studies import Results

Rng = np.random.Generator
Values = NDArray[np.float64]
Records = tuple[NDArray[np.bool_], NDArray[np.float64]]  # labels, and predicted probabilities

RUNS, TESTS, SHAPED = 100, 400, 50
TESTED, LEVEL, REPLICATES = (0.1, 0.5, 1.0, 2.0, np.inf), 0.05, 99
COEFFICIENTS, FITTED, STEEPER = np.array([-2.0, 1.0, 0.5, -0.5]), 10**4, 1.08
DATA = ("bank-full.csv", "diabetic_data.csv")  # without them, the page is not for docs/
SETS = ("Bank", "Diabetes")
WAYS = {  # and the styles of their lines
    "published": "norm 2",
    "published, exact": "norm 1",
    "ours": "ours",
    "ours, less the noise": "norm 2, unbounded",
}
LAWS = ("chi-squared", "under noise")
SIZES, BUDGETS = (5_000, 50_000, 500_000), (0.3, 1.0, 3.0)
COARSE = "arcsine_grid(128)"
VALUES = (0.02, 0.05, 0.11, 0.17, 0.23, 0.31, 0.42, 0.55, 0.68, 0.9)
SHAPES: dict[str, Callable[[int, Rng], Values]] = {
    "smooth": lambda n, rng: rng.beta(1.5, 5.0, n),
    "spiky": lambda n, rng: _spiky(rng.beta(1.5, 5.0, n), rng),
    "ten values": lambda n, rng: rng.choice(VALUES, n),
    "rare": lambda n, rng: rng.beta(1.0, 100.0, n),
}
RIGHT, OWN, WRONG = (
    "right, not fitted here (Bank)",
    f"right, fitted here (n = {FITTED:,})",
    "wrong, not fitted here (Bank)",
)


@studies.study({"data": SETS, "epsilon": EPSILONS})
def errors_of_fit(data: str, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return relative errors of the statistic."""
    labels, p, _ = records(data)
    common: dict[str, Any] = {"epsilon": epsilon, "fitted": False, "rng": rng}
    ours = hosmer_lemeshow(labels, p, **common)
    paper = hosmer_lemeshow_by_groups(labels, p, sensitivity="paper", **common)
    found = {
        "published": paper.statistic,
        "published, exact": hosmer_lemeshow_by_groups(labels, p, **common).statistic,
        "ours": ours.statistic,
        "ours, less the noise": ours.under_noise(REPLICATES, rng).statistic,
    }
    return {way: each / textbook(data).statistic - 1 for way, each in found.items()}


def drawn(model: str, rng: Rng) -> Records:
    """Return new labels of the Bank records, or new records and a model that is fitted to them."""
    if model == OWN:
        from sklearn.linear_model import LogisticRegression

        features = rng.normal(size=(FITTED, COEFFICIENTS.size - 1))
        labels = rng.random(FITTED) < expit(COEFFICIENTS[0] + features @ COEFFICIENTS[1:])
        fitted = LogisticRegression(C=np.inf).fit(features, labels)
        return labels, np.asarray(fitted.predict_proba(features)[:, 1])
    p = records("Bank").scores
    slope = STEEPER if model == WRONG else 1.0
    return rng.random(p.size) < expit(slope * logit(np.clip(p, 1e-12, 1 - 1e-12))), p


@studies.study({"model": (RIGHT, OWN, WRONG), "epsilon": TESTED})
def rejections(model: str, epsilon: float, rng: Rng) -> dict[str, bool]:
    """Return whether the test rejects the model, by both laws."""
    budget: dict[str, Any] = {"epsilon": epsilon} if epsilon < np.inf else {"mechanism": NoNoise()}
    test = hosmer_lemeshow(*drawn(model, rng), **budget, fitted=model == OWN, rng=rng)
    pvalues = (test.pvalue_ignoring_noise, test.under_noise(REPLICATES, rng).pvalue)
    return {law: pvalue <= LEVEL for law, pvalue in zip(LAWS, pvalues, strict=True)}


def _spiky(p: Values, rng: Rng) -> Values:
    """Round half of the probabilities to whole percentages."""
    return np.where(rng.random(p.size) < 0.5, p.round(2).clip(0.01, 0.99), p)


@studies.study({"scores": tuple(SHAPES), "n": SIZES, "epsilon": BUDGETS})
def discrete_scores(scores: str, n: int, epsilon: float, rng: Rng) -> dict[str, bool]:
    """Return whether the test rejects a right model, on the default grid and on a coarse one."""
    p = SHAPES[scores](n, rng)
    labels = rng.random(n) < p
    common: dict[str, Any] = {"epsilon": epsilon, "fitted": False, "rng": rng}
    tests = {
        "default": hosmer_lemeshow(labels, p, **common),
        COARSE: hosmer_lemeshow(labels, p, grid=arcsine_grid(), **common),
    }
    return {grid: test.under_noise(REPLICATES, rng).pvalue <= LEVEL for grid, test in tests.items()}


def main() -> None:
    """Run, write, and draw."""
    if folder("bank-full.csv", "diabetic_data.csv") is None and not given.quick:
        raise SystemExit("skipped: hosmer-lemeshow-accuracy.md needs --data DIR")
    errors, tests = run(errors_of_fit, RUNS), run(rejections, TESTS, quick=4)
    shaped = run(discrete_scores, SHAPED)
    save(picture(errors), "measured/hosmer-lemeshow-accuracy.png")
    data = [
        (name, f"{r.labels.size:,}", f"{r.labels.mean():.1%}", f"{textbook(name).statistic:.1f}")
        for name, r in ((name, records(name)) for name in SETS)
    ]
    share = pivot(
        tests,
        {"model": "{}", "law": "{}"},
        {"epsilon": "epsilon = {:g}"},
        lambda law, **at: f"{tests.array(law, **at).mean():.1%}",
        law=LAWS,
    )
    of_shapes = pivot(
        shaped,
        {"scores": "{}", "n": "{:,}", "grid": "{}"},
        {"epsilon": "epsilon = {:g}"},
        lambda grid, **at: f"{shaped.array(grid, **at).mean():.0%}",
        grid=("default", COARSE),
    )
    deviation = (LEVEL * (1 - LEVEL) / replicates(tests)) ** 0.5
    write(
        "measured/hosmer-lemeshow-accuracy.md",
        parts(
            INTRODUCTION.format(trained=TRAINED, groups=GROUPS),
            table(("data", "tested records", "positive", "H"), data),
            LISTED.format(replicates=REPLICATES, runs=replicates(errors)),
            *(part for name in SETS for part in of_data(errors, name)),
            "![Relative mean squared errors](hosmer-lemeshow-accuracy.png)",
            REJECTIONS.format(
                runs=replicates(tests),
                level=LEVEL,
                replicates=REPLICATES,
                steeper=STEEPER,
                deviation=deviation,
            ),
            share,
            DISCRETE.format(
                runs=replicates(shaped),
                deviation=(LEVEL * (1 - LEVEL) / replicates(shaped)) ** 0.5,
                values=", ".join(f"{value:g}" for value in VALUES),
            ),
            of_shapes,
        ),
    )


def of_data(errors: Results, data: str) -> list[str | list[str]]:
    """Return the tables of one data set, and whether the aim is met."""

    def values(way: str, epsilon: float) -> Any:
        return errors.array(way, data=data, epsilon=epsilon)

    by = {"way": "{}"}, {"epsilon": "{:g}"}
    ratios = {
        e: np.mean(values("ours", e) ** 2) / np.mean(values("published", e) ** 2) for e in EPSILONS
    }
    missed = ", ".join(f"{e:g}" for e, ratio in ratios.items() if ratio > 0.5)
    where = f"but not at epsilon = {missed}" if missed else "at every epsilon"
    return [
        f"{data}: the mean of $(H' / H - 1)^2$, by epsilon:",
        pivot(errors, *by, lambda **at: f"{np.mean(values(**at) ** 2):.2g}", way=list(WAYS)),
        f"{data}: the median of the absolute value of $H' / H - 1$, by epsilon:",
        pivot(errors, *by, lambda **at: f"{np.median(np.abs(values(**at))):.2g}", way=list(WAYS)),
        f"{data}: our mean squared error is at most half of the published one, {where}.",
    ]


def picture(errors: Results) -> Any:
    """Draw the squared errors of both data sets."""
    drawing, axes = panels(len(SETS), width=5.0, height=4.0)
    for ax, data in zip(axes[0], SETS, strict=True):
        for way, style in WAYS.items():
            banded(ax, EPSILONS, errors.array(way, data=data) ** 2, style, way)
        ax.set(xscale="log", yscale="log", title=data, xlabel="epsilon")
    axes[0, 0].set_ylabel("squared relative error of H")
    legend(axes[0, 1])
    return drawing


INTRODUCTION = """\
# The accuracy of private Hosmer-Lemeshow tests

This page shows how close released Hosmer-Lemeshow statistics are to the exact ones, and how often
the test rejects models. It is written by `python scripts/study.py hosmer_lemeshow --data DIR`.

Logistic regressions are fitted to a random {trained:.0%} of the records and tested on the others,
in Q = {groups} groups. The guarantee is for the tested records only. Neighbours: one record is
replaced. $H$ is the statistic of the records themselves, with their own probabilities and deciles,
and $H'$ is the released one."""
LISTED = """\
- published: Algorithm 2 of Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative
  Distribution Functions* (the ECDF paper), with its constants, but with half-open groups
  ([hosmer-lemeshow.md](../proofs/hosmer-lemeshow.md), section 3).
- published, exact: the same, with only as much noise as the guarantee needs.
- ours: `hosmer_lemeshow`, one joint release.
- ours, less the noise: `under_noise({replicates}).statistic` of the same release. This subtracts
  what noise adds on average.

All of them use their default grids: `arcsine_grid()` of 128 cells, as the published ones release
only the ends of groups on it, or for ours 128 to 4,096 cells, by n and epsilon. Numbers are means
and medians of {runs} releases.

## Relative mean squared error of H"""
REJECTIONS = """\
## Rejections at 5 %

The table shows which share of {runs:,} releases has a p-value of at most {level:g}: by the
chi-squared law (`pvalue_ignoring_noise`), and by {replicates} simulated releases (`under_noise`;
`pvalue` uses 999). With epsilon = inf there is no noise. Labels are drawn from the probabilities of
the Bank model, or from a logistic regression on three normal features, which is then fitted to the
records themselves. Only the slope of the wrong model is wrong: labels are drawn from probabilities
whose logits are {steeper:g} times as large. If the model is right, the standard error of a share of
5 % is {deviation:.1%}."""
DISCRETE = """\
## Right models whose scores have few values

The test knows of a score only its cell. The table shows which share of {runs} releases has a
p-value of at most 5 % (`under_noise`, as above) for right models, on the default grid and on
`arcsine_grid()` of 128 cells. A p-value allows for any place of the scores in their cells, so a
coarse grid rejects fewer right models, and also finds fewer wrong ones. Smooth scores are draws of
Beta(1.5, 5). Of spiky ones, half are rounded to whole percentages. The ten values are {values}.
Rare scores are draws of Beta(1, 100), with a mean of 1 %. The standard error of a share of 5 % is
{deviation:.1%}."""
