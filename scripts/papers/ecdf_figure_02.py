"""Figure 2 of the ECDF paper, section 6.3: what smoothing does to the error, by epsilon."""

from typing import Any

import numpy as np

from dpcore import studies

from ._ecdf import RUNS, SIZE, banded, effects_of_smoothing, legend
from ._figure import Figure, Made, Outcome, Runs, panels, verdict

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
FROM = 0.2  # where the paper's curve of norm 2 crosses 1
LABELS = {
    "norm 1": "Eq. 3, norm 1",
    "norm 2": "Eq. 3, norm 2",
    "norm 1, unbounded": "norm 1, without the bounds 0 and n",
    "norm 2, unbounded": "norm 2, without the bounds 0 and n",
    "ours": "dp.cdf",
}
STUDY = studies.study({"size": SIZE, "rate": 3, "epsilon": EPSILONS})(effects_of_smoothing)


def draw(made: Made) -> Outcome:
    """Draw the errors relative to that before smoothing, and say where they cross 1."""
    results = made.results["effects_of_smoothing"]
    picture, axes = panels(width=6.4, height=4.2)
    mean = {}
    for name, label in LABELS.items():
        values = results.array(name)
        mean[name] = values.mean(axis=1)
        banded(axes[0, 0], EPSILONS, values, name, label)
    axes[0, 0].axhline(1, color="0.3", linewidth=0.8)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="epsilon", ylim=(0.003, 8))
    axes[0, 0].set_ylabel("squared error / that of the noisy curve")
    legend(axes[0, 0], loc="lower right")
    made.save(picture)
    both = [results.array(norm) for norm in ("norm 2", "norm 1")]
    two, large = mean["norm 2"], np.array(EPSILONS) >= FROM
    claims = {
        "norm 2 is better than norm 1, most for small epsilon": _is_better(*both),
        f"norm 2 lowers the error from epsilon = {FROM:g} on": bool((two[large] < 1).all()),
        "norm 2 has no effect if there is hardly any noise": two[-1] > 0.9,
        f"norm 2 raises the error below epsilon = {FROM:g}": bool((two[~large] > 1).any()),
    }
    failed = [claim for claim, holds in claims.items() if not holds]
    free = mean["norm 2, unbounded"]
    crossing = EPSILONS[int(np.flatnonzero(free < 1)[0])]
    return Outcome(
        paper=f"norm 2: {two[0]:.2f} of the error at epsilon = {EPSILONS[0]:g}, {two[5]:.2f} at 1,"
        f" {two[-1]:.2f} at {EPSILONS[-1]:g}; norm 1: {mean['norm 1'][0]:.2f} at {EPSILONS[0]:g}",
        ours=f"dp.cdf: {mean['ours'][0]:.3f}, {mean['ours'][5]:.3f}, {mean['ours'][-1]:.3f} of it",
        verdict=verdict(*claims.values()),
        why=(f"Not confirmed: {'; '.join(failed)}. " if failed else "")
        + "Solved to optimality, Eq. 3 helps most where epsilon is small. Without its bounds 0 and"
        f" n, and everything else unchanged, the error at epsilon = {EPSILONS[0]:g} is"
        f" {free[0]:.1f} times the error before smoothing in norm 2 and"
        f" {mean['norm 1, unbounded'][0]:.1f} times in norm 1, and norm 2 is below 1 from epsilon"
        f" = {crossing:g} on. The paper describes this, so its figure seems to have been made"
        " without the bounds. We chose the values of epsilon.",
    )


def _is_better(two: Any, one: Any) -> bool:
    """Say whether errors, (epsilons, replicates), are less by norm 2, and most where noise is much.

    They are not more at any epsilon, but for three standard errors of the difference.
    """
    less = one - two
    error = less.std(axis=1, ddof=1) / np.sqrt(less.shape[1])
    most = EPSILONS[int(np.argmax(one.mean(axis=1) / two.mean(axis=1)))]
    return bool((less.mean(axis=1) > -3 * error - 1e-9).all() and most < FROM)


FIGURE = Figure(
    source="Figure 2 (section 6.3)",
    claim="Norm 2 is better than norm 1, most of all for small epsilon. It lowers the error from"
    f" about epsilon = {FROM:g} on, raises it below, and has no effect if there is hardly any"
    " noise.",
    runs=(Runs(STUDY, replicates=RUNS, quick=4, quickly={"size": 2**12}),),
    draw=draw,
)
