"""Alarms of monitored models: their rates in docs/guides/streams.md, and a picture."""

from dataclasses import replace
from typing import Any, Final

import numpy as np
from _pages import fill, parts, save, table
from _studies import given
from scipy.stats import norm

import dpcore as dp
from dpcore.curves.colours import BLUE, GREY, ORANGE
from dpcore.streams import RunningScores
from dpcore.streams.area_changes import Monitoring

CELLS: Final = 32
POSITIVE: Final = 0.3  # the share of positives
WINDOW: Final = 10
HORIZON: Final = 100
CHANGE: Final = HORIZON // 2  # the steps before the change
AREA: Final = 0.8
DROPS: Final = (0.77, 0.7)
BATCHES: Final = (200, 1000)
AT_ONCE: Final = 250
RUNS: Final = 10_000
GRID: Final = dp.Grid.uniform(0, 1, CELLS)
BUDGETS: Final[dict[str, dict[str, float]]] = {
    "rho = 1/2": {"rho": 0.5},
    "epsilon = 1": {"epsilon": 1.0},
}


def shares(area: float) -> np.ndarray:
    """Return the shares of the 2 N cells: two normal laws with this area, a distance apart."""
    distance = float(norm.ppf(area)) * 2**0.5
    ends = np.linspace(-3.0, 3.0 + distance, CELLS + 1)[1:-1]
    of_classes = [
        np.diff(norm.cdf(ends, middle), prepend=0.0, append=1.0) for middle in (0.0, distance)
    ]
    return np.concatenate([(1 - POSITIVE) * of_classes[0], POSITIVE * of_classes[1][::-1]])


def widened(noise: Any, times: int) -> Any:
    """Return the noise of more counters, with the same law."""
    if hasattr(noise, "inner"):
        return replace(noise, inner=widened(noise.inner, times))
    return replace(noise, width=times * noise.width)


def released(windows: np.ndarray, budget: dict[str, float], rng: np.random.Generator) -> np.ndarray:
    """Return raw joint counts, (R, T, 2 N), from exact counts: noise of the real law is added."""
    runs, steps, _ = windows.shape
    stream = scores(budget, rng)
    answers = []
    for noise, part in zip(stream._noises, stream._questions.parts, strict=True):
        many = widened(noise, runs)
        nothing = np.zeros((steps, many.width), np.int64)
        out, _ = many.outputs(nothing, nothing[0], 0, many.start())
        by_run = out.reshape(steps, runs, part.width).transpose(1, 0, 2)
        answers.append(by_run.reshape(-1, part.width))
    deviations = [float(noise.deviation(np.array([WINDOW]))[0]) for noise in stream._noises]
    joint = stream._questions.curve(np.concatenate(answers, axis=1), deviations)
    joint = joint.reshape(windows.shape) + np.cumsum(windows, axis=2)
    joint[..., -1] = np.rint(joint[..., -1])
    return np.asarray(joint)


def scores(budget: dict[str, float], rng: np.random.Generator | None = None) -> RunningScores:
    """Return a new stream."""
    return RunningScores(GRID, HORIZON, window=WINDOW, rng=rng, **budget)  # type: ignore[arg-type]


def first_alarms(
    budget: dict[str, float], batch: int, before: float, after: float, runs: int
) -> np.ndarray:
    """Return the step of the first alarm of each monitoring, (runs,); none: HORIZON + 1."""
    stream, rng = scores(budget), np.random.default_rng(1)
    monitoring = Monitoring(stream._questions, stream._noises, HORIZON, WINDOW)
    steps = np.arange(WINDOW + 1, HORIZON + 1)
    found = []
    for start in range(0, runs, AT_ONCE):
        some = min(AT_ONCE, runs - start)
        cells = np.concatenate(
            [
                rng.multinomial(batch, shares(area), (some, count))
                for area, count in ((before, CHANGE), (after, HORIZON - CHANGE))
            ],
            axis=1,
        )
        sums = np.cumsum(cells, axis=1)
        sums[:, WINDOW:] -= sums[:, :-WINDOW].copy()
        windows = monitoring.windows(released(sums, budget, rng)[:, WINDOW - 1 :])
        first = [type(windows)(*(numbers[run, :1] for numbers in windows)) for run in range(some)]
        for run in range(some):
            now = type(windows)(*(numbers[run, 1:] for numbers in windows))
            apart = (now.area - first[run].area) / monitoring.deviation(steps, first[run], now)
            one = type(windows)(*(numbers[0] for numbers in first[run]))
            over = np.abs(apart) > monitoring.critical_value(one, 0.05)
            found.append(steps[np.argmax(over)] if over.any() else HORIZON + 1)
    return np.array(found)


def row(name: str, batch: int) -> list[str]:
    """Return a row: false alarms, and alarms within some steps after a change."""
    budget, runs = BUDGETS[name], given.runs or (500 if given.quick else RUNS)
    null = np.mean(first_alarms(budget, batch, AREA, AREA, runs) <= HORIZON)
    cells = [name, f"{batch:,}", f"{100 * null:.1f} %"]
    for area in DROPS:
        first = first_alarms(budget, batch, AREA, area, runs // 5)
        since = first[first > CHANGE] - CHANGE  # of monitorings without an alarm before
        cells += [
            f"{100 * np.mean(since <= WINDOW):.0f} % / {100 * np.mean(since <= CHANGE):.0f} %"
        ]
    return cells


def picture() -> None:
    """Draw the area at each step, with its interval, and the alarm."""
    import matplotlib.pyplot as plt

    rng, batch = np.random.default_rng(4), 1000
    stream = scores(BUDGETS["rho = 1/2"], rng)
    at, areas, ends, alarms, reference, reach = [], [], [], [], 0.0, []
    for step in range(1, HORIZON + 1):
        of_step = shares(AREA if step <= CHANGE else DROPS[0])
        curves = stream.add_counts(rng.multinomial(batch, of_step))
        if step < WINDOW:
            continue
        roc = dp.statistics.ROC.from_curves(curves, dp.mechanisms.from_curve(curves.joint))
        at.append(step)
        areas.append(roc.auc)
        ends.append(roc.population_auc_interval())
        change = stream.change()
        if change is not None:
            reference = change.reference
            reach.append(change.critical_value * change.deviation)
            if change.is_alarm:
                alarms.append(step)
    figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
    axes.fill_between(at, *np.transpose(ends), color=BLUE, alpha=0.2, linewidth=0)
    axes.plot(at, areas, color=BLUE, label="area of the window, and its 95 % interval")
    low, high = reference - np.array(reach), reference + np.array(reach)
    axes.plot(at[1:], low, color=GREY, linestyle="--", label="an alarm is beyond")
    axes.plot(at[1:], high, color=GREY, linestyle="--")
    axes.axvline(CHANGE + 0.5, color=GREY, linewidth=1)
    axes.text(CHANGE, 0.822, "the model gets worse", ha="right", va="top", color=GREY)
    shown = [areas[at.index(step)] for step in alarms]
    axes.plot(alarms, shown, "o", color=ORANGE, markersize=4, label="alarm")
    axes.set(xlabel=f"step ({batch:,} records each)", ylabel="area under the ROC curve")
    axes.legend(loc="lower left", frameon=False)
    save(figure, "guides/monitoring.png")


def main() -> None:
    """Write the table and the picture."""
    page = parts(
        f"{given.runs or RUNS:,} monitorings without a change, and a fifth as many with one after"
        f" step {CHANGE} of {HORIZON}; window {WINDOW}, {CELLS} cells, {100 * POSITIVE:.0f} %"
        " positives, replace-one, `false_alarm_rate=0.05`. Alarms within 10 steps after the"
        " change / by the last step:",
        table(
            ["budget", "records a step", "false alarms"]
            + [f"area {AREA:.2f} to {area:.2f}" for area in DROPS],
            [row(name, batch) for name in BUDGETS for batch in BATCHES],
        ),
    )
    picture()
    fill("guides/streams.md", page, of="monitoring")
