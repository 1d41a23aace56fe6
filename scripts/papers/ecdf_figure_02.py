"""Figure 2 of the ECDF paper: what smoothing does to the error of the noise, by epsilon."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dyadic

from ._figure import BLUE, GREY, ORANGE, Figure, Made, Outcome, Runs, panels

SIZE, RATE = 2**15, 3
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@studies.study({"epsilon": EPSILONS})
def smoothing_by_epsilon(epsilon: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return the squared error after smoothing over that before, for both norms."""
    counts = rng.poisson(RATE, SIZE)
    truth, n = np.cumsum(counts), int(counts.sum())
    raw = Dyadic(epsilon, sensitivity="paper").release(counts, rng=rng)
    before = float(np.sum((raw - truth) ** 2))
    found = {}
    for norm in (1, 2):
        smooth = dp.smooth(raw[:-1], n, norm=norm).cumulative
        found[f"norm {norm}"] = float(np.sum((smooth - truth[:-1]) ** 2)) / before
    return found


def draw(made: Made) -> Outcome:
    """Draw both curves."""
    results = made.results["smoothing_by_epsilon"]
    picture, axes = panels()
    means = {}
    for norm, colour in (("norm 1", ORANGE), ("norm 2", BLUE)):
        means[norm] = results.array(norm).mean(axis=1)
        axes[0, 0].plot(EPSILONS, means[norm], "o-", color=colour, label=f"smoothed, {norm}")
    axes[0, 0].axhline(1, color=GREY, linewidth=1)
    axes[0, 0].set(xscale="log", xlabel="epsilon", ylabel="squared error / that of raw curves")
    axes[0, 0].legend(frameon=False)
    made.save(picture)
    below = bool((means["norm 2"] < means["norm 1"]).all())
    return Outcome(
        f"norm 1 {means['norm 1'][0]:.2f} to {means['norm 1'][-1]:.2f}",
        f"norm 2 {means['norm 2'][0]:.2f} to {means['norm 2'][-1]:.2f}",
        "agrees" if below else "differs",
    )


FIGURE = Figure(
    source="Figure 2 (section 6.3)",
    claim="Smoothing in norm 2 lowers the error of the noise, most where epsilon is small.",
    runs=(Runs(smoothing_by_epsilon, replicates=100, quick=4),),
    draw=draw,
)
