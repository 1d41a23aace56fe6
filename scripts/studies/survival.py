"""Survival curves: their errors and their intervals: ``python scripts/study.py survival``.

Measures the errors of released survival curves beside those of published ways, and how often bands
cover. Writes docs/measured/survival.md. Needs lifelines, for one data set. Takes some minutes.
"""

from functools import cache
from typing import Any, Final

import numpy as np
from _pages import parts, pivot, write
from _studies import replicates, run
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies

Rng = np.random.Generator
Reals = NDArray[np.float64]
CLINIC, RUNS, BANDS = 100, 12, 25  # releases of the clinic, and of each shape
POINTS: Final = np.linspace(0, 1, 257)
FINE: Final = dp.Grid.uniform(0, 1, 2048)
MANY: Final = 100  # times at which rivals release
RIVALS: Final = ("dpcore", "counts, own", "counts, many", "curve, own", "curve, many")
SIZES: Final = {
    f"n = {n:,}, epsilon = {epsilon:g}": (n, epsilon)
    for n, epsilon in ((228, 1.0), (1_000, 0.1), (10_000, 1.0))
}
AT: Final = np.linspace(0, 1.5, 3001)
# Cumulative hazards at AT. Durations are cut at 1.
HAZARDS: Final = {
    "constant": AT / 0.35,
    "rising": (AT / 0.5) ** 2.5,
    "falling": (AT / 0.25) ** 0.5,
    "bathtub": 0.12 * (1 - np.exp(-AT / 0.03)) + 0.5 * AT + 4.5 * np.maximum(AT - 0.7, 0) ** 2,
    "early drop": 0.6 * AT + 7.4 * np.clip(AT - 0.05, 0, 0.05),
    "cured": -np.log(0.4 + 0.6 * np.exp(-AT / 0.2)),
}


def survival_at(shape: str, points: Reals) -> Reals:
    """Return the population's survival."""
    return np.asarray(np.exp(-np.interp(points, AT, HAZARDS[shape])))


def records(
    shape: str, n: int, censored: float, rng: Rng, *, ratio: float = 1.0
) -> tuple[Reals, NDArray[np.bool_]]:
    """Return durations and events; about this share is censored before 1, others at 1.

    All hazards are multiplied by the ratio.
    """
    until_event = np.interp(rng.exponential(size=n) / ratio, HAZARDS[shape], AT, right=np.inf)
    until_end = rng.exponential(1.0, n) * (1 - censored) / (2.2 * censored) if censored else np.inf
    until_end = np.minimum(until_end, 1.0)
    return np.minimum(until_event, until_end), until_event <= until_end


@cache
def lung() -> tuple[Reals, NDArray[np.bool_]]:
    """Return the NCCTG lung cancer data, as shares of the longest duration."""
    from lifelines.datasets import load_lung

    data = load_lung()
    days = data["time"].to_numpy(np.float64)
    return days / days.max(), data["status"].to_numpy() == 1


def read(grid: dp.Grid, survival: Reals) -> Reals:
    """Return a curve at ``POINTS``: straight within cells, and flat beyond its end."""
    known = np.isfinite(survival)
    at, values = np.append(0.0, grid.positions[known]), np.append(1.0, survival[known])
    return np.asarray(np.interp(POINTS, at, values))


def noisy_counts(durations: Reals, event: Any, cells: int, epsilon: float, rng: Rng) -> Reals:
    """Return a curve with Laplace noise on the events and censorings of each time.

    As Gondara & Wang 2020, and as histograms of federated platforms: one record is in one of the
    counts. Numbers at risk are what is left of n.
    """
    grid = dp.Grid.uniform(0, 1, cells)
    counts = dp.survival_counts(durations, event, grid)
    noisy = np.maximum(counts + rng.laplace(0, 2 / epsilon, counts.size), 0)
    events, censored = noisy[:cells], noisy[cells:][::-1]
    gone = np.cumsum(events + censored) - (events + censored)
    risk = np.maximum(durations.size - gone, 1.0)
    return read(grid, np.cumprod(np.clip(1 - events / risk, 0, 1)))


def noisy_curve(durations: Reals, event: Any, cells: int, epsilon: float, rng: Rng) -> Reals:
    """Return a curve with Laplace noise of scale T / (n epsilon) on survival at each of T times.

    As arXiv 2412.05164 and 2509.00615, then clipped and never rising. 1 / n is the least that one
    record can change, so this noise is the least that such a release may have.
    """
    grid = dp.Grid.uniform(0, 1, cells)
    exact = dp.survival(durations, event, grid, dp.mechanisms.NoNoise()).survival
    last = exact[np.isfinite(exact)][-1]
    exact = np.where(np.isfinite(exact), exact, last)
    noisy = exact + rng.laplace(0, cells / (durations.size * epsilon), cells)
    return read(grid, np.minimum.accumulate(np.clip(noisy, 0, 1)))


def squares(durations: Reals, event: Any, epsilon: float, rng: Rng) -> dict[str, float]:
    """Return mean squared errors of S, beside the records' own, where 5 % are at risk."""
    n = durations.size
    exact = dp.survival(durations, event, FINE, dp.mechanisms.NoNoise())
    at_risk = np.mean(durations[:, np.newaxis] >= POINTS, axis=0)
    used = at_risk >= max(0.05, 15 / (n * epsilon))
    true = read(FINE, exact.survival)
    own = dp.survival(durations, event, (0, 1), epsilon=epsilon, rng=rng)
    cells = own.grid.size
    given = durations, event
    curves = {
        "dpcore": read(own.grid, own.survival),
        "counts, own": noisy_counts(*given, cells, epsilon, rng),
        "counts, many": noisy_counts(*given, MANY, epsilon, rng),
        "curve, own": noisy_curve(*given, cells, epsilon, rng),
        "curve, many": noisy_curve(*given, MANY, epsilon, rng),
    }
    return {name: float(np.mean((curve - true)[used] ** 2)) for name, curve in curves.items()}


@studies.study({"epsilon": [0.3, 1.0, 3.0]})
def of_lung(epsilon: float, rng: Rng) -> dict[str, float]:
    """Return mean squared errors for the lung cancer data."""
    return squares(*lung(), epsilon, rng)


@studies.study(
    {"shape": list(HAZARDS), "censored": [0.0, 0.35, 0.7], "n_and_epsilon": SIZES},
)
def errors(shape: str, censored: float, n_and_epsilon: Any, rng: Rng) -> dict[str, float]:
    """Return mean squared errors for new records of a shape."""
    n, epsilon = n_and_epsilon
    return squares(*records(shape, n, censored, rng), epsilon, rng)


@studies.study(
    {
        "shape": list(HAZARDS),
        "censored": [0.0, 0.35, 0.7],
        "n_and_epsilon": SIZES,
    }
)
def coverage(shape: str, censored: float, n_and_epsilon: Any, rng: Rng) -> dict[str, float]:
    """Return how often bands of 95 % cover: at each threshold, and at all of them at once."""
    n, epsilon = n_and_epsilon
    given = records(shape, n, censored, rng)
    curve = dp.survival(*given, (0, 1), epsilon=epsilon, rng=rng)
    known = np.isfinite(curve.survival)
    found = {}
    truths = {
        "records": dp.survival(*given, curve.grid, dp.mechanisms.NoNoise()).survival,
        "population": survival_at(shape, curve.grid.positions),
    }
    for of, true in truths.items():
        own: Any = of
        for name, (low, high) in (
            ("alone", curve.band(of=own)),
            ("at once", dp.simultaneous_band(curve, of=own, replicates=400)),
        ):
            covered = ((low - 1e-9 <= true) & (true <= high + 1e-9))[known]
            found[f"{of}, {name}"] = float(covered.mean() if name == "alone" else covered.all())
        half = float(curve.grid.positions[known.sum() // 2])
        area = curve.restricted_mean(half)
        low, high = curve.restricted_mean_interval(half, of=own)
        exact = np.append(1.0, true)
        at = np.append(0.0, curve.grid.positions)
        inside = at <= half
        mean = float(np.trapezoid(exact[inside], at[inside]))
        found[f"{of}, mean"] = float(low <= mean <= high) if np.isfinite(area) else np.nan
    return found


def main() -> None:
    """Run, and write the page."""
    clinic, found, covered = run(of_lung, CLINIC), run(errors, RUNS), run(coverage, BANDS)
    rival = {"rival": list(RIVALS)}

    def error(results: Any, rival: str, **at: Any) -> str:
        own = np.sqrt(np.mean(results.array(rival, **at)))
        best = np.sqrt(np.mean(results.array("dpcore", **at)))
        return f"{own:.4f}" if rival == "dpcore" else f"{own:.4f} ({own / best:.1f} times)"

    def share(of: str, **at: Any) -> str:
        return f"{100 * np.nanmean(covered.array(of, **at)):.1f}"

    kinds = [
        f"{of}, {what}" for of in ("records", "population") for what in ("alone", "at once", "mean")
    ]
    rows = {"n_and_epsilon": "{}", "censored": "{:.0%}"}
    number = replicates(covered) * len(HAZARDS)
    page = parts(
        "# Survival curves",
        "`python scripts/study.py survival` writes this page: errors of `dp.survival`, and how"
        " often its bands cover. [The proof](../proofs/survival.md) says what is released.",
        "## Errors",
        "Root mean square errors of S over times at which 5 % of the records, or 15 / epsilon of"
        " them, are at risk, beside the Kaplan-Meier curve of the same records:"
        f" {replicates(clinic)} releases of the first, and {replicates(found)} of each shape,"
        " with bounds given and the grid chosen."
        " *Noise on counts* is a histogram of events and censorings with Laplace noise (Gondara &"
        " Wang 2020, and recipes of federated platforms). *Noise on the curve* adds Laplace noise"
        " of scale T / (n epsilon) to S at T times (arXiv 2412.05164 and 2509.00615), clipped and"
        f" made monotone. T is that of `dp.survival`, or {MANY}.",
        "NCCTG lung cancer data, 228 records, as they come with lifelines:",
        pivot(
            clinic,
            {"rival": "{}"},
            {"epsilon": "epsilon = {:g}"},
            lambda **at: error(clinic, **at),
            **rival,
        ),
        "All hazard shapes (constant, rising, falling, bathtub, an early drop, a cured share),"
        " records censored before the end of the grid as shown:",
        pivot(found, rows, {"rival": "{}"}, lambda **at: error(found, **at), **rival),
        "## Bands",
        f"How often bands of 95 % cover, in %, over all shapes, {number} releases of each, where"
        " the curve is given: *alone*: at one threshold; *at once*: `dp.simultaneous_band`; *mean*:"
        " the restricted mean up to the middle of what is given. The standard error of these two is"
        f" {100 * np.sqrt(0.05 * 0.95 / number):.1f} %.",
        pivot(covered, rows, {"of": "{}"}, share, of=kinds),
    )
    write("measured/survival.md", page)
