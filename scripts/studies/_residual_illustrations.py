"""The study of residual plots: the paper's Figures 4 and 5, a private model and real data."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import statsmodels.datasets

import dpcore as dp

from ._regret_shapes import generator
from ._residual_experiments import LARGEST, Records, fitted
from ._residual_pictures import EPSILONS, beside, plot_beside, table

X_BOUNDS, Y_BOUNDS, PENALTY = (1.0, 50.0), (-5.0, 55.0), 0.02
PARTS = ((0.0, 2.0, 4.0, 8.0), (0.0, 0.75, 1.25, 2.0))  # where predicted values are cut
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


def of_visits(folder: Path) -> str:
    """Return Figure 5 of the paper, with other data."""
    data = statsmodels.datasets.randhie.load_pandas().data
    columns, visits = data.drop(columns="mdvis").to_numpy(float), data["mdvis"].to_numpy(float)
    shown = {
        "visits": (fitted(columns, visits), 1.0),
        "log(1 + visits)": (fitted(columns, np.log1p(visits)), 0.25),
    }
    beside(shown, folder / "residuals-visits.png")
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

Figure 5 of the paper has income and log(income) from a survey that no dependency ships. In its
place: how often people saw a doctor, in {visits.size:,} records of the RAND Health Insurance
Experiment (`statsmodels.datasets.randhie`, in the public domain), predicted from their insurance
and their health by least squares. Units are 1, and 0.25 for log(1 + visits). Neighbours differ in
one record here, and a person may have several.

![Residual plots of visits](residuals-visits.png)

The spread of the residuals grows with the prediction, and the logarithm mends that. The distance
between the quartiles of the residuals says so, of the records and of `plot.table.conditional`:

{table(["", "predicted", "true", *(f"epsilon = {each:g}" for each in EPSILONS)], rows)}

Lines in the true plots, one for each number of visits, are seen where cells are small enough.
"""
