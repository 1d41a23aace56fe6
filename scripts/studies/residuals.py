"""Private residual plots beside true ones: ``python scripts/study.py residuals [--runs N]``.

Runs section III.C of the regression-diagnostics paper again: its scenarios, its Table I, a private
model and real data, with our ways beside the paper's; and what else could have been chosen. Writes
docs/residuals-accuracy.md and docs/residuals-*.png. Takes seven minutes. The first start makes
``.venv`` in the clone.
"""

import argparse
import warnings
from collections.abc import Callable

from _environment import ROOT, ensure

parser = argparse.ArgumentParser(description="How far private residual plots can be trusted.")
parser.add_argument("--runs", type=int, default=1000, metavar="N", help="of every release")
ARGUMENTS = parser.parse_args()
ensure("figures", "models")

# What follows needs the environment.
import numpy as np  # noqa: E402
from scipy.stats import kstwobign  # noqa: E402

import dpcore as dp  # noqa: E402

from ._residual_choices import WAYS, distances_to_truth  # noqa: E402
from ._residual_experiments import (  # noqa: E402
    ALPHAS,
    BETAS,
    DEFAULT,
    DEVIATION,
    KNOWN,
    LARGEST,
    PUBLISHED,
    RANGE,
    SCENARIOS,
    STEPS,
    TOLD,
    Model,
    Setting,
    Values,
    distances,
    separation,
    smallest,
)
from ._residual_illustrations import of_incomes, of_private_models  # noqa: E402
from ._residual_pictures import scenarios, separations, table  # noqa: E402

DOCS = ROOT / "docs"
SIZES = (500, 1000, 2000, 5000)
SETTINGS = [
    Setting(500, 0.1),
    Setting(1000, 0.1),
    Setting(2000, 0.1),
    Setting(2500, 0.1),
    Setting(5000, 0.1),
    Setting(500, 1.0),
    Setting(1000, 1.0),
    Setting(2000, 1.0),
    Setting(5000, 1.0),
]
SHOWN = [SETTINGS[i] for i in (1, 3, 4, 6)]
CHOSEN_AT = [*(SETTINGS[i] for i in (1, 3, 4, 6, 8)), Setting(20_000, 1.0)]
Found = dict[str, dict[Setting, dict[str, Values]]]


def main() -> None:
    """Run, write, and say where."""
    warnings.simplefilter("ignore", dp.DpcoreWarning)
    parts = (
        of_scenarios(),
        of_violations(),
        of_choices(),
        of_private_models(DOCS),
        of_incomes(DOCS),
    )
    page = DOCS / "residuals-accuracy.md"
    page.write_text("\n".join(part.strip("\n") + "\n" for part in parts), "utf-8")
    for path in (page, *sorted(DOCS.glob("residuals-*.png"))):
        print(f"written: {path.relative_to(ROOT)}")


def of_scenarios() -> str:
    """Return Figures 1 to 3 of the paper."""
    runs = ARGUMENTS.runs
    models = {
        DEFAULT: SCENARIOS | {"deviation": DEVIATION},
        KNOWN: SCENARIOS,
        PUBLISHED: SCENARIOS,
    }
    found = {
        name: {each: distances(tried, each, name, runs) for each in SETTINGS}
        for name, tried in models.items()
    }
    scenarios(LARGEST, DOCS / "residuals-scenarios.png")
    separations(found, SHOWN, DOCS / "residuals-distances.png")
    rows = []
    for setting in SETTINGS:
        told = [separations_of(by_setting[setting]) for by_setting in found.values()]
        cells = [f"{each:.2f}" for some in told for each in some]
        rows.append([f"{setting.product:,}", f"{setting.n:,}", f"{setting.epsilon:g}", *cells])
    chance = kstwobign.mean() * np.sqrt(2 / runs)
    columns = ["n epsilon", "n", "epsilon", f"{DEFAULT}: I-H", "I-N", "sd x"]
    columns += [f"{KNOWN}: I-H", "I-N", f"{PUBLISHED}: I-H", "I-N"]
    return f"""
# How far private residual plots can be trusted

Written by `python scripts/study.py residuals`. It runs section III.C of Chen, Machanavajjhala,
Reiter & Barrientos, *Differentially private regression diagnostics* (2016), again. What the paper
says is quoted from its prose; the numbers in its tables and pictures were not at hand.

## Three scenarios

x is uniform on [1, 50], and a line is fitted to y by least squares:

- Ideal: y = x + N(0, 1);
- Heteroscedastic: y = x + N(0, x), which is read as a variance of x;
- Nonlinear: y = x + 0.01 x^2 + N(0, 1).

Plots are released in three ways:

- {DEFAULT}: `dp.residual_plot` as it is, with unit 1;
- {KNOWN}: the same with `predicted_range={RANGE}`. That is public, and
  nothing is spent on it;
- {PUBLISHED}: what the paper does, by name: `search="sparse-vector", mechanism=Dawa`, and its rule
  for the number of cells. But the search needs half of the paper's noise, and isotonic regression
  takes the place of setting cells below 0 to 0.

True plots of {LARGEST:,} records, and one release of each in every way (Figures 1 and 2 of the
paper):

![True and released residual plots](residuals-scenarios.png)

The paper says of its own plots that signals are diluted where epsilon = 0.1, though nonlinearity
can still be seen.

## Telling the scenarios apart

How far is a released plot from one true Ideal plot of as many records? The distance is
`dp.statistics.residual_plot_distance`, which the paper calls similarity. The table says how well it
tells released Ideal plots from the others, for {runs:,} plots of each, all of new records
(Figure 3). The number is the Kolmogorov distance of two samples of distances: what the best
threshold achieves. It is a lower bound of the total variation distance that needs no choice of
bins. Of two samples from one distribution it is {chance:.2f} on average.

I-H: Ideal and Heteroscedastic. I-N: Ideal and Nonlinear. sd x: I-H, if N(0, x) is read as a
standard deviation of x.

{table(columns, rows)}

The paper has a total variation distance above 0.95 where n epsilon is 1,000 or more, and of 0.9 or
more where it is 500 or more. Here:

{aims(found)}

![Distances to the true Ideal plot](residuals-distances.png)
"""


def separations_of(found: dict[str, Values]) -> list[float]:
    """Return how well each scenario is told from the first one."""
    first, *others = found.values()
    return [separation(first, each) for each in others]


def aims(found: Found) -> str:
    """Return the least separations of I-H and I-N, as a list."""
    lines = []
    for name, by_setting in found.items():
        told = {each: min(separations_of(some)[:2]) for each, some in by_setting.items()}
        least = [
            f"at least {min(told[each] for each in told if each.product >= product):.3f} from"
            f" {product:,} on"
            for product in (1000, 500)
        ]
        lines.append(f"- {name}: {', and '.join(least)}")
    return ";\n".join(lines) + "."


def of_violations() -> str:
    """Return Table I of the paper."""
    runs = max(ARGUMENTS.runs * 3 // 10, 2)
    budgets = [(DEFAULT, np.inf)]
    budgets += [(name, epsilon) for epsilon in (1.0, 0.1) for name in (DEFAULT, PUBLISHED)]
    names = ["no privacy", *(f"{name}, epsilon = {epsilon:g}" for name, epsilon in budgets[1:])]
    models: list[tuple[Callable[[float], Model], tuple[float, float]]] = [
        (lambda alpha: Model(slope=alpha, start=0.0), ALPHAS),
        (lambda beta: Model(curvature=beta, start=0.0), BETAS),
    ]
    rows = []
    for n in SIZES:
        cells = [
            least
            for name, epsilon in budgets
            for least in smallest(models, Setting(n, epsilon), name, runs)
        ]
        rows.append([f"{n:,}", *("none" if x == np.inf else f"{x:.2g}" for x in cells)])
    step = (ALPHAS[1] / ALPHAS[0]) ** (2.0**-STEPS) - 1
    return f"""
## The least violations that are told

Table I of the paper. x is uniform on [0, 50]. y = x + N(0, alpha x + 1), again a variance; or
y = x + beta x^2 + N(0, 1). A plot is compared with what is expected of a true plot for alpha =
beta = 0, in the 10 x 10 cells over one such plot. The table has the least alpha and beta for which
these distances are told from those for 0, with a Kolmogorov distance of {TOLD:g}: by bisection, in
steps of {step:.0%}, with {runs:,} plots of each. None: there is no such number up to alpha =
{ALPHAS[1]:g}, or beta = {BETAS[1]:g}.

{table(["n", *(f"{name}: {each}" for name in names for each in ("alpha", "beta"))], rows)}

The paper says that small violations are still told where n epsilon is 1,000 or more.
"""


def of_choices() -> str:
    """Return what else could have been chosen."""
    runs = max(ARGUMENTS.runs // 10, 2)
    rows, base = [], [distances_to_truth(WAYS["the default"], each, runs) for each in CHOSEN_AT]
    for name, way in WAYS.items():
        cells = []
        for setting, other in zip(CHOSEN_AT, base, strict=True):
            own = distances_to_truth(way, setting, runs)
            gain = (other - own).mean() / max((other - own).std() / np.sqrt(runs), 1e-12)
            cells.append(f"**{own.mean():.3f}**" if gain > 3 else f"{own.mean():.3f}")
        rows.append([name, *cells])
    return f"""
## What was chosen

How far is a released plot from the true plot of the same records? The mean over the scenarios and
{runs:,} runs of each, by n epsilon, with one thing changed at a time. Bold: less than the default,
by more than three standard errors of the difference.

{table(["", *(f"{each.product:,}" for each in CHOSEN_AT)], rows)}

Bounds of predicted values around 0 leave half of the picture empty here. The default's gain depends
on n epsilon: 0.1 at most, where records are scarce, and 0.02 at least. Bounds reach 2^i units with
i gain < 1 only.
"""


if __name__ == "__main__":
    main()
