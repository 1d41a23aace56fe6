"""What scripts/study.py regret writes and draws, from the outcomes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ._regret_contenders import DEFAULT, OPENDP, PAPER, TREE, UNIFORM
from ._regret_experiments import RATIOS, SCARCE, Case, Outcome

SHOWN = {
    DEFAULT: "#1f5fa8",
    TREE: "#7fb2e5",
    "DAWA, split 0.1": "#5b9a68",
    "8 bins, linear": "#8a5fb0",
    UNIFORM: "#9a9a9a",
    PAPER: "#d1602b",
    OPENDP: "#b8860b",
}
_FEW_WINS = 0.005  # of the cases: less is not shown


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN of nothing."""
    logs = np.log(np.fromiter(values, np.float64))
    return float(np.exp(logs.mean())) if logs.size else float("nan")


def place(case: Case) -> str:
    """Return where a case is, in words."""
    cells = f"N = {case.setting.size:,}, epsilon = {case.setting.epsilon:g}"
    return f"{case.shape}, {cells}, {case.ratio:g}"


def summary(outcomes: list[Outcome]) -> list[str]:
    """Return the default's gains and regrets, by group and by how many data there are."""
    lines = [
        "| shapes | n epsilon / N | cases | gain | least gain | regret | largest regret |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in ("tuning", "held-out"):
        own = [each for each in outcomes if each.case.group == group]
        for name, part in (
            (f"at most {SCARCE:g}", [each for each in own if each.case.ratio <= SCARCE]),
            (f"above {SCARCE:g}", [each for each in own if each.case.ratio > SCARCE]),
            ("all", own),
        ):
            if not part:
                continue
            low = min(part, key=lambda each: each.gain())
            high = max(part, key=lambda each: each.regret())
            lines.append(
                f"| {group} | {name} | {len(part)} | {mean(each.gain() for each in part):.2f} "
                f"| {low.gain():.2f} ({place(low.case)}) "
                f"| {mean(each.regret() for each in part):.2f} "
                f"| {high.regret():.2f} ({place(high.case)}) |"
            )
    return lines


def by_mechanism(outcomes: list[Outcome]) -> list[str]:
    """Return the regrets of all contenders by n epsilon / N, and how often each is the best."""
    ratios = sorted({each.case.ratio for each in outcomes})
    names = dict.fromkeys(name for each in outcomes for name in each.errors)
    head = " | ".join(f"{ratio:g}" for ratio in ratios)
    lines = [f"| | {head} | largest | best in |", "|---" * (len(ratios) + 3) + "|"]
    for name in names:
        taking = [each for each in outcomes if name in each.errors]
        cells = [
            f"{mean(each.regret(name) for each in taking if each.case.ratio == ratio):.2f}"
            for ratio in ratios
        ]
        worst = max(each.regret(name) for each in taking)
        wins = sum(each.best == name for each in taking) / len(outcomes)
        lines.append(f"| {name} | {' | '.join(cells)} | {worst:.3g} | {wins:.0%} |")
    return lines


def by_shape(outcomes: list[Outcome]) -> list[str]:
    """Return gains, regrets and what the bands cover, shape by shape."""
    lines = [
        f"| shape | group | gain, at most {SCARCE:g} | gain, above | regret | largest "
        "| covered | inside (0, 1) | least |",
        "|---" * 9 + "|",
    ]
    shapes = dict.fromkeys(each.case.shape for each in outcomes)
    for shape in shapes:
        own = [each for each in outcomes if each.case.shape == shape]
        regrets = [each.regret() for each in own]
        covered = [each.coverage.all for each in own]
        inside = [each.coverage.inside for each in own if each.coverage.inside >= 0]
        lines.append(
            f"| {shape} | {own[0].case.group} "
            f"| {mean(each.gain() for each in own if each.case.ratio <= SCARCE):.2f} "
            f"| {mean(each.gain() for each in own if each.case.ratio > SCARCE):.2f} "
            f"| {mean(regrets):.2f} | {max(regrets):.2f} "
            f"| {np.mean(covered):.1%} | {np.mean(inside):.1%} | {min(inside):.0%} |"
        )
    return lines


def winners(outcomes: list[Outcome]) -> list[str]:
    """Return who is the best where, in one setting, and the default's regret there."""
    ratios = sorted({each.case.ratio for each in outcomes})
    head = " | ".join(f"{ratio:g}" for ratio in ratios)
    lines = [f"| | {head} |", "|---" * (len(ratios) + 1) + "|"]
    for shape in dict.fromkeys(each.case.shape for each in outcomes):
        own = {each.case.ratio: each for each in outcomes if each.case.shape == shape}
        cells = [f"{own[ratio].best} ({own[ratio].regret():.2f})" for ratio in ratios]
        lines.append(f"| {shape} | {' | '.join(cells)} |")
    return lines


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Draw regrets against n epsilon / N, and how regrets and gains are spread over the cases."""
    plt.switch_backend("Agg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    held = [each for each in outcomes if each.case.group == "held-out"]
    for name, colour in SHOWN.items():
        regrets = [
            mean(each.regret(name) for each in held if each.case.ratio == ratio) for ratio in RATIOS
        ]
        style: dict[str, Any] = {"linewidth": 2.2} if name == DEFAULT else {"linewidth": 1.1}
        left.plot(RATIOS, regrets, "o-", color=colour, markersize=3, label=name, **style)
        spread = np.sort([each.regret(name) for each in held])
        share = np.arange(1, spread.size + 1) / spread.size
        right.plot(spread, share, color=colour, label=name, **style)
    left.set_xscale("log")
    left.set_ylim(0.95, 30)
    left.set_title("Error over that of the best in hindsight, held-out shapes", loc="left")
    left.set_xlabel("n epsilon / N")
    left.set_ylabel("geometric mean of the RMSE's ratio")
    right.set_title("Share of the cases with at most this ratio", loc="left")
    right.set_xlim(0.98, 30)
    right.set_xscale("log")
    right.set_xlabel("error over that of the best in hindsight")
    left.set_yscale("log")
    for axis in (left.yaxis, right.xaxis):
        axis.set_ticks([1, 1.5, 2, 3, 5, 10, 20], ["1", "1.5", "2", "3", "5", "10", "20"])
        axis.set_ticks([], minor=True)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
    left.legend(framealpha=0.9, edgecolor="none", fontsize=8)
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
