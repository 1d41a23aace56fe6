"""Figure 7 of the ECDF paper, section 6.7: how long Eq. 3 takes, by the number of thresholds."""

import functools
import importlib
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from _environment import ROOT

from dpcore import studies

from ._ecdf import RUNS, banded, legend
from ._figure import Figure, Made, Outcome, Runs, panels, verdict

FEW, MANY = (2**6, 2**7, 2**8, 2**9, 2**10), (2**11, 2**12, 2**13, 2**14, 2**15)
REPEATED = 3  # as often as what takes seconds is run
LINES = {
    ("cvxopt", 1): ("norm 1", "cvxopt, norm 1 (linear program)"),
    ("cvxopt", 2): ("norm 2", "cvxopt, norm 2 (quadratic program)"),
    ("dpcore", 1): ("norm 2, unbounded", "dp.smooth, norm 1"),
    ("dpcore", 2): ("ours", "dp.smooth, norm 2"),
}


def benchmarks(module: str) -> Any:
    """Return a module of the benchmarks, which pose Eq. 3 to many solvers."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    return importlib.import_module(f"benchmarks.{module}")


@functools.cache
def ready(solver: str, norm: int, size: int) -> Callable[[], object]:
    """Return what solves one problem, X_pois(3) at epsilon = 1, when it is called."""
    jobs = benchmarks("jobs.smoothing")
    start = jobs.solvers.cvxopt if solver == "cvxopt" else jobs.ours("graph")
    solve: Callable[[], object] = start(jobs.make(norm, 1.0)(size))
    if solver == "dpcore":
        solve()  # compiled, and loaded
    return solve


def seconds(
    machine: str, solver: str, norm: int, size: int, rng: np.random.Generator
) -> Mapping[str, Any]:
    """Return how long one solution takes, without posing the problem."""
    solve = ready(solver, norm, size)
    begun = time.perf_counter()
    solve()
    return {"seconds": time.perf_counter() - begun}


def seconds_of_many(
    machine: str, solver: str, norm: int, size: int, rng: np.random.Generator
) -> Mapping[str, Any]:
    """Do the same for many thresholds, which is a study of its own with fewer replicates."""
    return seconds(machine, solver, norm, size, rng)


MACHINE = benchmarks("machine").processor()  # results of another one do not count
SOLVERS = {"machine": MACHINE, "solver": ("cvxopt", "dpcore"), "norm": (1, 2)}
SMALL = studies.study({**SOLVERS, "size": FEW})(seconds)
LARGE = studies.study({**SOLVERS, "size": MANY})(seconds_of_many)


def draw(made: Made) -> Outcome:
    """Draw the times."""
    both = [made.results[name] for name in ("seconds", "seconds_of_many")]
    sizes = [size for each in both for size in each.parameters["size"]]
    picture, axes = panels(width=6.0, height=4.2)
    median = {}
    for (solver, norm), (style, label) in LINES.items():
        found = [each.array("seconds", solver=solver, norm=norm) for each in both]
        bands = np.vstack([np.quantile(each, np.arange(21) / 20, axis=1).T for each in found])
        banded(axes[0, 0], sizes, bands, style, label, np.median)
        median[solver, norm] = np.median(bands, axis=1)
    axes[0, 0].set(yscale="log", xlabel="N, thresholds", ylabel="seconds a solution")
    axes[0, 0].set_xscale("log", base=2)
    legend(axes[0, 0], "median")
    made.save(picture)
    linear, quadratic = median["cvxopt", 1], median["cvxopt", 2]
    sooner = quadratic < linear
    last = sizes[-1]
    return Outcome(
        paper=f"at N = {last:,}: {linear[-1]:.2g} s in norm 1, {quadratic[-1]:.2g} s in norm 2"
        " (cvxopt, medians)",
        ours=f"{median['dpcore', 1][-1]:.2g} s and {median['dpcore', 2][-1]:.2g} s: cvxopt takes"
        f" {linear[-1] / median['dpcore', 1][-1]:,.0f} and"
        f" {quadratic[-1] / median['dpcore', 2][-1]:,.0f} times as long",
        verdict=verdict(*sooner),
        why=f"Measured on {MACHINE} by the run that made this page. The paper has an Intel Core"
        " i7-4600U at 2.10 GHz, and no numbers in its text. Both solve the same problem, in"
        " differences, with 2 nonzeros for each node. The time to make cvxopt's matrices is not"
        " counted. The number of runs is that of the paper's other experiments up to N ="
        f" {FEW[-1]:,}, and {REPEATED} above that, which is enough to see the difference.",
    )


FIGURE = Figure(
    source="Figure 7 (section 6.7)",
    claim="cvxopt solves Eq. 3 more quickly in norm 2 (a quadratic program) than in norm 1 (a"
    " linear program).",
    runs=(
        Runs(SMALL, replicates=RUNS, quick=3, quickly={"size": (2**6, 2**8)}, alone=True),
        Runs(LARGE, replicates=REPEATED, quick=1, quickly={"size": (2**11, 2**12)}, alone=True),
    ),
    draw=draw,
)
