"""Figure 1 of the regression-diagnostics paper: true residual plots of three scenarios."""

import numpy as np

from ._figure import GREEN, Figure, Made, Outcome, panels, verdict
from ._regression import SCENARIOS, cloud, drawn, signals

RECORDS = 5000
FANS, HOOKS = 1.5, 0.3  # from which on a fan and a hook are called visible


def draw(made: Made) -> Outcome:
    """Draw one data set of each scenario, and measure what the eye sees."""
    picture, axes = panels(3, 1, width=3.6, height=2.9)
    fans, hooks = {}, {}
    for ax, (name, model) in zip(axes[0], SCENARIOS.items(), strict=True):
        points = drawn(RECORDS, np.random.default_rng(1), **model).points
        fans[name], hooks[name] = signals(points)
        cloud(ax, points, GREEN, ((0, 78), (-18, 18)))
        ax.set_title(f"{name}: fan {fans[name]:.2f}, hook {hooks[name]:.2f}", fontsize=9)
        ax.set_xlabel("predicted value (units of y)")
    axes[0, 0].set_ylabel("residual (units of y)")
    made.save(picture)
    seen = [(fans[each] > FANS, hooks[each] > HOOKS) for each in SCENARIOS]
    expected = [(False, False), (True, False), (False, True)]
    found = "; ".join(f"{each}: fan {fans[each]:.2f}, hook {hooks[each]:.2f}" for each in SCENARIOS)
    return Outcome(
        found,
        "nothing is released here",
        verdict(seen == expected),
        "The fan is the interquartile range of the residuals in the last third of the predicted"
        " values, divided by that in the first third. The hook is the distance of the median of"
        " the middle third below the medians of the others, divided by the interquartile range of"
        f" all residuals. A fan above {FANS:g} counts as visible, and a hook above {HOOKS:g}. We"
        " read N(0, x) as a normal distribution with variance x.",
    )


FIGURE = Figure(
    source="Figure 1 (section III.C)",
    claim="Residuals without privacy show which assumption fails: a random scatter if none fails,"
    " a fan if the variance grows, and a hook if the line is wrong.",
    draw=draw,
)
