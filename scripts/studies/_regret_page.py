"""The page and the picture of scripts/study.py regret."""

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from _pages import parts
from papers._figure import panels

from dpcore.curves.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

from . import _regret_outcomes as tables
from ._regret_contenders import DEFAULT, DELTA, OPENDP, PAPER, TREE, UNIFORM
from ._regret_experiments import LARGEST, LEVEL, RATIOS, SCARCE, SETTINGS, Setting
from ._regret_outcomes import Outcomes

LISTED = Setting("epsilon", 0.1, 2**12)  # the setting of the table of best contenders
SHOWN = {
    DEFAULT: (BLUE, "o-"),
    TREE: (SKY, "s--"),
    "DAWA, split 0.1": (GREEN, "^-."),
    "8 bins, linear": (PURPLE, "v:"),
    UNIFORM: (GREY, "x--"),
    PAPER: (VERMILION, "D-"),
    OPENDP: (ORANGE, "P-."),
}


def of_curves(found: Outcomes, others: Outcomes, releases: int) -> list[str]:
    """Return docs/measured/regret.md without its last part."""
    by_group = {group: own for (group,), own in found.by("group")}
    is_listed = [found.cases[name] == value for name, value in LISTED._asdict().items()]
    listed = found.where(np.logical_and.reduce(is_listed))
    of_kinds = [each for (kind,), own in others.by("kind") for each in of_kind(kind, own)]
    return parts(
        beginning(found, releases),
        "## The default",
        tables.summary(found),
        "The gain is the mean squared error of the best tree divided by that of the default. The"
        " table shows its geometric mean over the cases, and the least gain. The gain in K-S is the"
        " same for the mean Kolmogorov-Smirnov distance. The regret is the root mean square error"
        " of the default divided by that of the best contender in hindsight. The table shows its"
        " geometric mean, and the largest regret. Where the default is the best tree, gains differ"
        " from 1 by chance alone.",
        "![Regrets by n epsilon / N, and how they are spread](regret.png)",
        "The next table shows the mean gain, the mean regret and the largest regret for each N and"
        f" epsilon: first for n epsilon / N of at most {SCARCE:g}, then for larger values.",
        tables.by_setting(found),
        "The next two tables list single cases. The number after ± is the standard error of the"
        " gain, to first order.",
        *tables.worst(found),
        "## All contenders",
        "The tables show the root mean square error of each contender, divided by that of the best"
        " in hindsight: geometric means by n epsilon / N, and the largest ratio. The last column"
        " is the share of cases in which no contender is better. Held-out shapes:",
        tables.by_mechanism(by_group["held-out"]),
        "Shapes for tuning:",
        tables.by_mechanism(by_group["tuning"]),
        "## Other measures",
        "The errors that matter depend on the use of a curve. The table shows the default's regret"
        " in the RMSE, in the Kolmogorov-Smirnov and Wasserstein distances, in the ranks of the"
        " deciles, and in the mean, for held-out shapes, "
        f"{LISTED.cells:,} cells and epsilon = {LISTED.epsilon:g}. In brackets is the other"
        " contender that is best on average, with its own mean. All are geometric means of errors"
        " over that of the best in hindsight, for each case and measure. Ratios are largest where"
        " some contender has all deciles right, as for few values. Other grids are in"
        " [regret-measures.md](regret-measures.md), errors of areas under ROC curves and of"
        " calibration errors in [roc-accuracy.md](roc-accuracy.md), those of boxes of two columns"
        " in [table-accuracy.md](table-accuracy.md).",
        tables.by_measure(listed.where(listed.cases["group"] == "held-out")),
        "## The best contender by shape",
        f"The table names the best contender for {LISTED.cells:,} cells and epsilon ="
        f" {LISTED.epsilon:g}, by n epsilon / N. The default's regret is in brackets.",
        tables.winners(listed),
        "## Gains and regrets by shape",
        "The table shows mean gains, for n epsilon / N of at most"
        f" {SCARCE:g} and for larger values. The mean regret and the largest regret are over all"
        " cases of a shape.",
        tables.by_shape(found),
        "## Bands",
        f"The table shows the share of thresholds and releases at which the default's {LEVEL:.0%}"
        " band covers the records' own F. *All* is over all thresholds but the last. *Inside* is"
        " over the thresholds where F is strictly between 0 and 1, and *least* is the least such"
        " share in any case. The left columns are for scarce data, with n epsilon / N up to"
        f" {SCARCE:g}. The right columns are for the other cases.",
        tables.bands(found),
        *of_kinds,
    )


def of_kind(kind: str, own: Outcomes) -> list[str | list[str]]:
    """Return the part on delta, or on rho."""
    words = {"delta": f"delta = 10^{np.log10(DELTA):.0f}", "rho": "rho = epsilon^2 / 2"}[kind]
    known = {Setting(*each) for each, _ in own.by("kind", "epsilon", "cells")}
    return [
        f"## With {words}",
        f"{sizes(known)}.",
        tables.summary(own),
        "All contenders and shapes:",
        tables.by_mechanism(own),
    ]


def beginning(found: Outcomes, releases: int) -> list[str]:
    """Return the introduction: what is measured, and how."""
    shapes = dict(zip(found.cases["shape"], found.cases["group"], strict=True))
    groups = list(shapes.values())
    return [
        "# Regret: the default beside the best in hindsight",
        "",
        "Written by `python scripts/study.py regret --data DIR`. This page measures how good the",
        "choice of `dp.cdf` is. Which mechanism is the most accurate one for the data is not known",
        "without looking at them. Regret is the error of `dp.cdf` without a given mechanism,",
        "divided by the error of the contender that turned out to be the best for the data.",
        "",
        *point(
            f"There are {len(shapes)} shapes of data. Rules may be tuned on"
            f" {groups.count('tuning')} of them. The other {groups.count('held-out')} are held out,"
            " for measuring only. The shapes are histograms of DPBench (Hay et al. 2016), columns"
            " of data sets that come with statsmodels and scikit-learn, and synthetic shapes"
            " (`scripts/studies/_regret_shapes.py`). Loan is the only histogram of DPBench with"
            " more than 4,096 cells. It is a table, in the order of Hilbert's curve."
        ),
        *point(
            "n records are drawn from a shape once, as in DPBench. The error of a curve is the"
            " mean squared difference of its F from the records' own F over the thresholds,"
            f" averaged over {releases} releases (a quarter as many for 65,536 cells, and half as"
            " many with delta or rho). The relation of neighbours is replace-one."
        ),
        *point(
            f"{sizes(LARGEST + SETTINGS)}. n epsilon / N is"
            f" {', '.join(f'{ratio:g}' for ratio in RATIOS)}."
        ),
        *point(
            f'"{TREE}" is `Hierarchy`, whose error does not depend on the data. With delta or'
            " rho, it is `Hierarchy` or `ToeplitzGaussian`, whichever has less noise. Gains are"
            " measured against it."
        ),
        *point(
            f'"{UNIFORM}" is not a release. A "tree on 16 cells" is the best tree on a coarser'
            ' grid, with straight lines in between. "Bins" are `HistogramQueries`, "adaptive" is'
            ' `AdaptiveQuantiles`, and "8 medians" is a curve through recursive medians.'
            f' "{PAPER}" is `Dyadic` with the scale of Barczewski, Mawass & Ramon,'
            " *Differentially Private Empirical Cumulative Distribution Functions*, smoothed in the"
            " 2-norm."
        ),
        *point(
            f'"{OPENDP}" has the noise and consistency of OpenDP, made by `Hierarchy`. Its counts'
            " are divided by the noisy total and clipped to [0, 1], without isotonic regression."
            " All others except the ECDF paper's curves are isotonic."
        ),
        *point(
            "The best in hindsight may be any contender, including the default. It is found on one"
            " half of the releases, and its error is measured on the other half, and the other way"
            " round. The reason is that the least of many noisy numbers is too small. So a regret"
            " just below 1 is possible."
        ),
    ]


def point(text: str) -> list[str]:
    """Return an item of a list, in lines."""
    return textwrap.wrap(f"- {text}", 98, subsequent_indent="  ", break_on_hyphens=False)


def sizes(settings: Iterable[Setting]) -> str:
    """Return the sizes of grids for each epsilon, in words."""
    found: dict[float, list[str]] = {}
    for each in sorted(set(settings), key=lambda each: (each.epsilon, each.cells)):
        found.setdefault(each.epsilon, []).append(f"{each.cells:,}")
    return "; ".join(f"epsilon = {e:g} with N = {', '.join(n)} cells" for e, n in found.items())


def drawn(found: Outcomes) -> Any:
    """Draw regrets against n epsilon / N, and the distribution of regrets over the cases."""
    figure, ((left, right),) = panels(2, width=5.5, height=4.6)
    held = found.where(found.cases["group"] == "held-out")
    for name, (colour, line) in SHOWN.items():
        regrets = held.regret[name].dropna()
        means = [tables.mean(regrets[held.cases["ratio"] == ratio]) for ratio in RATIOS]
        style: dict[str, Any] = {"linewidth": 2.2} if name == DEFAULT else {"linewidth": 1.1}
        left.plot(RATIOS, means, line, color=colour, markersize=4, label=name, **style)
        spread = np.sort(regrets)
        share = np.arange(1, spread.size + 1) / spread.size
        right.plot(spread, share, line[1:], color=colour, label=name, **style)
    left.set_xscale("log")
    left.set_ylim(0.95, 30)
    left.set_title("Error over that of the best in hindsight, held-out shapes", loc="left")
    left.set_xlabel("n epsilon / N")
    left.set_ylabel("geometric mean of the RMSE's ratio")
    right.set_title("Share of the cases with at most this ratio", loc="left")
    right.set_xlim(0.98, 30)
    right.set_xscale("log")
    right.set_xlabel("error over that of the best in hindsight")
    right.set_ylabel("share of the cases")
    left.set_yscale("log")
    for axis in (left.yaxis, right.xaxis):
        axis.set_ticks([1, 1.5, 2, 3, 5, 10, 20], ["1", "1.5", "2", "3", "5", "10", "20"])
        axis.set_ticks([], minor=True)
    left.legend(framealpha=0.9, edgecolor="none", fontsize=8)
    return figure
