"""Figure 4 of the ECDF paper, section 6.4: errors of the curve and of its inverse, by epsilon."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import dpcore as dp
from dpcore import studies
from dpcore.mechanisms import Dyadic, NoNoise

from ._ecdf import RUNS, SIZE, banded, legend, numbers
from ._figure import Figure, Made, Outcome, Runs, panels, verdict

RATE, POINTS = 3, 1000
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
ORDER = 10.0  # the largest ratio of errors of one order of magnitude
LINES = {  # of each quantity its style and its label
    "curve": ("raw", "the curve, as published"),
    "inverse": ("norm 1", "its inverse"),
    "smoothed inverse": ("norm 2", "its inverse after Eq. 3, norm 2"),
    "our curve": ("ours", "dp.cdf"),
    "our inverse": ("norm 2, unbounded", "its inverse (dp.cdf)"),
}
PUBLISHED = ("curve", "inverse", "smoothed inverse")


@studies.study({"size": SIZE, "epsilon": EPSILONS})
def inverse_errors(size: int, epsilon: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return mean squared errors at random thresholds, and of the inverse at random shares.

    Inverses are parts of the range of the values, so that all errors are within [0, 1].
    """
    counts, grid = rng.poisson(RATE, size), dp.Grid(np.arange(1.0, size + 1))
    exact = dp.cdf_from_counts(counts, grid, NoNoise(), isotonic=False)
    tree = Dyadic(epsilon, sensitivity="paper")
    raw = dp.cdf_from_counts(counts, grid, tree, isotonic=False, rng=rng)
    ours = dp.cdf_from_counts(counts, grid, epsilon=epsilon, rng=rng)
    x, p = rng.integers(1, size + 1, POINTS), rng.random(POINTS)

    def of_curve(curve: dp.CDF) -> float:
        return float(np.mean((curve(x) - exact(x)) ** 2))

    def of_inverse(curve: dp.CDF) -> float:
        first, second = (each.quantile(p, method="inverted_cdf") for each in (curve, exact))
        return float(np.mean(((first - second) / size) ** 2))

    return {
        "curve": of_curve(raw),
        "inverse": of_inverse(raw),
        "smoothed inverse": of_inverse(raw.smooth(2)),
        "our curve": of_curve(ours),
        "our inverse": of_inverse(ours),
    }


def draw(made: Made) -> Outcome:
    """Draw the errors, and compare the published three."""
    results = made.results["inverse_errors"]
    picture, axes = panels(width=6.0, height=4.2)
    mean = {}
    for name, (style, label) in LINES.items():
        values = results.array(name)
        mean[name] = values.mean(axis=1)
        banded(axes[0, 0], EPSILONS, values, style, label)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="epsilon")
    axes[0, 0].set_ylabel("mean squared error, as shares")
    legend(axes[0, 0])
    made.save(picture)
    three = np.array([mean[name] for name in PUBLISHED])
    apart = float((three.max(axis=0) / three.min(axis=0)).max())
    at = EPSILONS.index(1.0)
    return Outcome(
        paper=f"at epsilon = 1: curve {three[0, at]:.2g}, inverse {three[1, at]:.2g}, inverse after"
        f" smoothing {three[2, at]:.2g}; at most a factor of {apart:.1f} apart at any epsilon",
        ours=f"at epsilon = 1: curve {mean['our curve'][at]:.2g}, inverse"
        f" {mean['our inverse'][at]:.2g}",
        verdict=verdict(apart < ORDER),
        why=f"The test is a factor below {ORDER:g}. Values are divided by N, so that curve and"
        " inverse have the same unit. The paper does not say in which norm it smooths. Smoothing"
        f" before inverting changes the error by factors of {numbers(three[2] / three[1], '.2f')}"
        f" at epsilon = {numbers(EPSILONS, 'g')}.",
    )


FIGURE = Figure(
    source="Figure 4 (section 6.4)",
    claim="Binary search suffers little if the noisy curve falls in places: the mean squared"
    " errors of the curve and of its inverse, smoothed or not, have the same order of magnitude.",
    runs=(Runs(inverse_errors, replicates=RUNS, quick=4, quickly={"size": 2**12}),),
    draw=draw,
)
