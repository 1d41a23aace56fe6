"""The accuracy of the mechanisms: ``python scripts/study.py accuracy [--data DIR]``.

Writes docs/measured/plan.md (predicted errors, and simulations beside them) and
docs/measured/accuracy.png. With a folder of DPBench histograms (Hay et al. 2016; not part of this
project), it also writes docs/measured/dawa-accuracy.md. Takes about a minute.
"""

from typing import Any

import numpy as np
from _pages import parts, save, table, write
from _studies import replicates, run
from numpy.typing import NDArray
from papers._data import folder
from papers._figure import BLUE, GREY, LIGHT, VERMILION, panels

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dawa, Dyadic, Hierarchy, ToeplitzGaussian
from dpcore.planning.most_accurate import most_accurate
from dpcore.planning.plan_shapes import REFERENCE_SHAPES
from dpcore.privacy.allowance import Allowance
from dpcore.studies import Results

from ._regret_contenders import Counts, Curves, monotone
from ._regret_shapes import Shape, of_files

Rng = np.random.Generator
SIZE, RATE, REPLICATES = 2**15, 3, 1000
BUDGETS: list[dict[str, Any]] = [{"epsilon": 1.0}, {"rho": 0.5}]
DELTAS = (1e-12, 1e-9, 1e-6, 1e-3)
TOTALS, EPSILON, RELEASES = (10**4, 10**6, 10**8), 0.1, 40


def chances(shape: Shape) -> NDArray[np.float64]:
    """Return the probabilities of the finest cells that a histogram has."""
    fitting = (shape.weights(size) for size in (2**16, 2**12))
    found = next(each for each in fitting if each is not None)
    return np.asarray(found / found.sum())


HISTOGRAMS = {each.name: chances(each) for each in of_files(folder())}

PAPER = "dyadic tree, the paper's scale"


def mechanisms() -> dict[str, Dyadic | Hierarchy | ToeplitzGaussian]:
    """Return the mechanisms whose errors are simulated."""
    return {
        PAPER: Dyadic(1.0, sensitivity="paper"),
        "dyadic tree, exact sensitivity": Dyadic(1.0),
        "hierarchy: the default for epsilon": Hierarchy(1.0),
        "square root: the default for rho = 0.5": ToeplitzGaussian(rho=0.5),
    }


def poisson() -> Counts:
    """Return the counts of all simulations."""
    return np.random.default_rng(1).poisson(RATE, SIZE)


def smoothed(curves: Any, n: int) -> Curves:
    """Return the curves by Eq. 3 of the ECDF paper, norm 2."""
    found = np.full(curves.shape, float(n))
    found[:, :-1] = dp.smooth(curves[:, :-1], n).cumulative
    return found


@studies.study({"mechanism": list(mechanisms())}, batch=50)
def simulated(mechanism: str, rng: Rng, replicates: int) -> dict[str, NDArray[np.float64]]:
    """Return mean squared errors in counts: raw, and smoothed or isotonic."""
    counts, taken = poisson(), mechanisms()[mechanism]
    truth, n = np.cumsum(counts), int(counts.sum())
    raw = taken.release(counts, rng=rng, replicates=replicates)
    better = smoothed(raw, n) if isinstance(taken, Dyadic) else monotone(raw, n)
    return {
        "raw": np.mean((raw - truth) ** 2, axis=1),
        "better": np.mean((better - truth) ** 2, axis=1),
    }


@studies.study({"histogram": list(HISTOGRAMS) or ["none"], "n": TOTALS}, batch=8)
def on_histograms(
    histogram: str, n: int, rng: Rng, replicates: int
) -> dict[str, NDArray[np.float64]]:
    """Return mean squared errors of isotonic curves on n records of a histogram."""
    counts = rng.multinomial(n, HISTOGRAMS[histogram])
    found = {"empty": np.full(replicates, np.mean(counts == 0))}
    for name, mechanism in {"hierarchy": Hierarchy(EPSILON), "DAWA": Dawa(EPSILON)}.items():
        curves = monotone(mechanism.release(counts, rng=rng, replicates=replicates), n)
        found[name] = np.mean((curves - np.cumsum(counts)) ** 2, axis=1)
    return found


def main() -> None:
    """Run, write and draw."""
    write("measured/plan.md", plan_page(run(simulated, REPLICATES)))
    save(drawn(poisson()), "measured/accuracy.png")
    if HISTOGRAMS:
        write("measured/dawa-accuracy.md", dawa_page(run(on_histograms, RELEASES)))
    else:
        print("dawa-accuracy.md is skipped: it needs --data DIR with DPBench histograms")


def plan_page(results: Results) -> list[str]:
    """Return docs/measured/plan.md."""
    k = np.arange(1, SIZE)
    known = 1.0 + float(np.sum(np.cumprod((2 * k - 1) / (2 * k)) ** 2))
    plans = [
        *(options(size, each, "replace-one") for each in BUDGETS for size in (2**8, 2**12, 2**15)),
        *(options(SIZE, each, "add-or-remove-one") for each in BUDGETS),
    ]
    return parts(
        INTRODUCTION,
        *(part for plan in plans for part in plan),
        *with_records(),
        "With rho = 0.5 under add-or-remove-one (sigma = 1 for a sensitivity of 1), the largest"
        f" standard deviation of the known square-root factorisation is $\\sum c_k^2 = {known:.4f}$"
        " ([hierarchy.md](../proofs/hierarchy.md), section 6). Under replace-one, the public total"
        " makes it smaller.",
        "## What a delta buys: epsilon = 1, replace-one",
        "The table shows the RMSE of the first mechanism of the plan, and the kind of its noise.",
        deltas(),
        f"## Simulated: {SIZE:,} cells, counts Poisson({RATE}), epsilon = 1",
        f"The table shows mean squared errors over all thresholds and {replicates(results):,}"
        " releases, in squared counts. The gain says how many times smaller an error is than that"
        " of the paper's raw curve.",
        simulations(results),
        "![Errors beside the paper's](accuracy.png)",
    )


def simulations(results: Results) -> list[str]:
    """Return predicted and measured mean squared errors of the paper's curve and of ours."""
    paper, rows = results.array("raw", mechanism=PAPER).mean(), []
    for name, mechanism in mechanisms().items():
        better = "smoothed, norm 2" if isinstance(mechanism, Dyadic) else "isotonic"
        predicted = f"{mechanism.mean_squared_error(SIZE):,.0f}"
        for step, title, text in (
            ("raw", name, predicted),
            ("better", f"{name}, {better}", ""),
        ):
            error = results.array(step, mechanism=name).mean()
            gain = "another guarantee" if "rho" in name else f"{paper / error:.2f}x"
            rows.append((title, text, f"{error:,.0f}", gain))
    return table(("curve", "predicted", "simulated", "gain"), rows)


def options(
    size: int, budget: dict[str, Any], neighbours: dp.privacy.Neighbours
) -> tuple[str, list[str]]:
    """Return a plan as a section of a page."""
    (name, value), plan = *budget.items(), dp.plan(size, **budget, neighbours=neighbours)
    rows = (
        (
            each.name,
            *(f"{error:.4g}" for error in (each.error, each.largest_error)),
            f"{each.expected_largest:.3g}",
        )
        for each in plan
    )
    title = f"## {size:,} cells, {name} = {value:g}, {neighbours}"
    return title, table(("mechanism", "RMSE", "largest", "K-S"), rows)


def deltas() -> list[str]:
    """Return the accuracy of the best mechanisms for epsilon = 1 and several deltas."""
    rows = []
    for size in (2**4, 2**6, 2**8, 2**12, 2**15):
        best = [dp.plan(size, epsilon=1.0, delta=each).options[0] for each in (None, *DELTAS)]
        kinds = ["Gaussian" if each.mechanism.privacy.delta else "Laplace" for each in best]
        errors = (f"{each.error:.4g} ({kind})" for each, kind in zip(best, kinds, strict=True))
        rows.append((f"{size:,}", *errors))
    return table(("cells", "no delta", *(f"{each:g}" for each in DELTAS)), rows)


def with_records() -> tuple[str, str, list[str]]:
    """Return the plans for some numbers of records as a section of a page."""
    size, epsilon, rows = 2**12, 1.0, []
    for n in (10**3, 10**4, 10**5, 10**6):
        for place, option in enumerate(dp.plan(size, epsilon=epsilon, n=n)):
            if option.on_shapes:
                both = option.on_shapes, option.largest_on_shapes
                errors = (
                    " / ".join(f"{errors[shape]:.3g}" for errors in both)
                    for shape in REFERENCE_SHAPES
                )
                name = f"{option.name}, used" if place == 0 else option.name
                rows.append((f"{n:,}", name, *errors))
    return (
        f"## With n: {size:,} cells, epsilon = {epsilon:g}, replace-one",
        "With `n=`, a plan says which mechanism `dp.cdf` uses for n records. It uses DAWA, whose"
        f" error depends on the records, if $n \\epsilon \\le N^{{1.5}}$ ({size**1.5:,.0f} here)."
        " Otherwise it uses the first mechanism of the tables above ([dawa.md](../proofs/dawa.md),"
        " section 4). The errors are simulated on reference shapes, for isotonic curves: RMSE /"
        " K-S.",
        table(("n", "mechanism", *REFERENCE_SHAPES), rows),
    )


def dawa_page(results: Results) -> list[str]:
    """Return docs/measured/dawa-accuracy.md."""
    rows = []
    for name, chances in HISTOGRAMS.items():
        for n in TOTALS:
            plain, dawa = (
                np.sqrt(results.array(each, histogram=name, n=n).mean())
                for each in ("hierarchy", "DAWA")
            )
            best = most_accurate(chances.size, Allowance.checked(EPSILON, None, "replace-one"), n)
            taken = "DAWA" if isinstance(best, Dawa) else "hierarchy"
            empty = results.array("empty", histogram=name, n=n).mean()
            errors = f"{plain:.1f}", f"{dawa:.1f}", f"{plain / dawa:.2f}x"
            rows.append((name, f"{chances.size:,}", f"{empty:.0%}", f"{n:,}", *errors, taken))
    head = "histogram", "cells", "empty", "n", "hierarchy", "DAWA", "gain", "default"
    return parts(
        "# DAWA on benchmark histograms",
        "Written by `python scripts/study.py accuracy --data DIR`. This page compares DAWA with the"
        " hierarchy on the histograms of DPBench (Hay et al. 2016), resampled to n records.",
        "The errors are root mean square errors of cumulative counts, in counts, for epsilon ="
        f" {EPSILON:g} under replace-one. Isotonic regression was applied, as in `dp.cdf`. Each"
        f" number is computed from {replicates(results)} releases. If the gain is below 1, the"
        " hierarchy is better. The default is the mechanism that `dp.cdf` uses"
        " ([dawa.md](../proofs/dawa.md), section 4). The cells of the two-dimensional table are in"
        " the order of Hilbert's curve.",
        table(head, rows),
    )


def drawn(counts: Counts) -> Any:
    """Draw one release of each kind, and the predicted errors against the size of the grid."""
    figure, ((left, right),) = panels(2, height=4)
    truth, n = np.cumsum(counts), int(counts.sum())
    raw = Dyadic(1.0, sensitivity="paper").release(
        counts, rng=np.random.default_rng(5), replicates=1
    )
    best = Hierarchy(1.0).release(counts, rng=np.random.default_rng(6), replicates=1)
    for name, curve, color, width in [
        ("the ECDF paper's curve", raw, LIGHT, 0.3),
        ("the same, smoothed", smoothed(raw, n), VERMILION, 0.7),
        ("dp.cdf", monotone(best, n), BLUE, 0.7),
    ]:
        left.plot((curve[0] - truth), color=color, linewidth=width, label=name)
    left.set_title("One release: error of the cumulative count", loc="left")
    left.set_xlabel(f"threshold, of {SIZE:,}")
    left.set_ylabel("counts")
    sizes = 2 ** np.arange(3, 19)
    compared: list[tuple[str, Dyadic | Hierarchy, str, str]] = [
        ("the ECDF paper's scale", Dyadic(1.0, sensitivity="paper"), GREY, "s:"),
        ("dyadic tree, exact", Dyadic(1.0), VERMILION, "D--"),
        ("hierarchy (default)", Hierarchy(1.0), BLUE, "o-"),
    ]
    for name, mechanism, color, line in compared:
        errors = [mechanism.mean_squared_error(int(size)) ** 0.5 for size in sizes]
        right.plot(sizes, errors, line, color=color, markersize=4, label=name)
    right.set_xscale("log", base=2)
    right.set_title("Predicted error, epsilon = 1", loc="left")
    right.set_xlabel("cells")
    right.set_ylabel("root mean square, counts")
    for axes in (left, right):
        legend = axes.legend(framealpha=0.9, edgecolor="none")
        for line in legend.get_lines():
            line.set_linewidth(2)
    return figure


INTRODUCTION = r"""# Predicted errors

Written by `python scripts/study.py accuracy`. This page shows the errors that
`dp.plan(size, epsilon=... | rho=...)` predicts, and compares some of them with simulations.
A plan contains all mechanisms whose noise does not depend on the data. It predicts their
errors from closed forms. `dp.cdf` uses the first mechanism of the plan, or DAWA if the number
of records calls for it (see below). It then applies isotonic regression. Tables have their own
rule ([table.md](../guides/table.md), section 5).

All errors are in counts. The tables show the root mean square error (RMSE) over the thresholds,
the largest standard deviation at any threshold, and the expected largest error (K-S), which is
simulated. Divide by n for errors of F, and for the Kolmogorov-Smirnov distance. *The paper* is
Barczewski, Mawass & Ramon, *Differentially Private Empirical Cumulative Distribution Functions*
(the ECDF paper). HB is the rule for the branching of a hierarchy by Qardaji, Yang & Li (2013).

## Which noise for which budget

A budget of epsilon gives Laplace noise, and a budget of rho gives Gaussian noise. For epsilon
with delta, a plan compares both. A mechanism that is epsilon-differentially private also
satisfies the guarantee with any delta, and its release states delta = 0.

For rho, Laplace noise with $\epsilon = \sqrt{2 \rho}$ would also satisfy the guarantee (Bun &
Steinke 2016, Proposition 1.4), but it is never better. On a level with the share $w$ of the
budget, Laplace noise has the scale $s = m / (w \epsilon)$ with $m = 1$ or $2$
([hierarchy.md](../proofs/hierarchy.md), section 2). Gaussian noise with $\sigma = s$ spends
$m / (2 s^2) = w^2 \epsilon^2 / (2 m)$ on this level, and at most $\rho$ on all levels together.
Let $x = 1 / (2 s)$. The variance of the Laplace noise is

$$2 \sum_{y \ge 1} y e^{-2 x y} = \frac{1}{2 \sinh(x)^2}.$$

The variance of the Gaussian noise is below $\sigma^2 = 1 / (4 x^2)$, which is less for
$x \le 1$. It is also below $2 \sum_{y \ge 1} y^2 e^{-2 x^2 y^2}$, which is less term by term for
$x \ge 1$. More noise on a level never improves a least-squares estimate, so Gaussian noise on the
same tree is better. The best tree may differ between both kinds of noise. Tests on grids of many
sizes check that this does not change the result."""
