"""The tables of scripts/study.py regret."""

from collections.abc import Iterable, Iterator

import numpy as np

from ._regret_contenders import DEFAULT, TREE
from ._regret_experiments import SCARCE, Case, Outcome
from ._regret_roc import EPSILONS, GRIDS, KINDS, MEASURES, ROC_DEFAULT, Ranks

_WORST = 8  # cases that are listed


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN of nothing."""
    logs = np.log(np.fromiter(values, np.float64))
    return float(np.exp(logs.mean())) if logs.size else float("nan")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a table of a page."""
    lines = [f"| {' | '.join(row)} |" for row in (tuple(head), *map(tuple, rows))]
    return [lines[0], "|---" * (lines[0].count("|") - 1) + "|", *lines[1:]]


def place(case: Case) -> str:
    """Return where a case is, in words."""
    _, epsilon, size = case.setting
    return f"{case.shape}; {size:,} cells, epsilon = {epsilon:g}, {case.ratio:g}"


def parts(outcomes: list[Outcome]) -> Iterator[tuple[str, str, list[Outcome]]]:
    """Yield the cases group by group: of scarce data, of plentiful data, and all."""
    for group in dict.fromkeys(each.case.group for each in outcomes):
        own = [each for each in outcomes if each.case.group == group]
        yield group, f"at most {SCARCE:g}", [o for o in own if o.case.ratio <= SCARCE]
        yield group, f"above {SCARCE:g}", [o for o in own if o.case.ratio > SCARCE]
        yield group, "all", own


def summary(outcomes: list[Outcome]) -> list[str]:
    """Return the default's gains and regrets, by group and by how many data there are."""
    head = "shapes", "n epsilon / N", "cases", "gain", "least", "gain, K-S", "regret", "largest"
    rows = []
    for group, name, own in parts(outcomes):
        gains, regrets = [each.gain() for each in own], [each.regret() for each in own]
        distances = mean(each.errors[TREE].distance / each.errors[DEFAULT].distance for each in own)
        rows.append(
            (
                *(group, name, str(len(own)), f"{mean(gains):.2f}", f"{min(gains):.2f}"),
                *(f"{distances:.2f}", f"{mean(regrets):.2f}", f"{max(regrets):.2f}"),
            )
        )
    return table(head, rows)


def worst(outcomes: list[Outcome]) -> list[str]:
    """Return the cases with the least gains, and those with the largest regrets."""
    gains = sorted(outcomes, key=lambda each: each.gain())[:_WORST]
    regrets = sorted(outcomes, key=lambda each: -each.regret())[:_WORST]
    lines = table(
        ("least gains", "shapes", "gain"),
        (
            (place(each.case), each.case.group, f"{each.gain():.2f} ± {each.spread():.2f}")
            for each in gains
        ),
    )
    return [
        *lines,
        "",
        *table(
            ("largest regrets", "shapes", "regret", "the best"),
            (
                (place(each.case), each.case.group, f"{each.regret():.2f}", each.best)
                for each in regrets
            ),
        ),
    ]


def by_mechanism(outcomes: list[Outcome]) -> list[str]:
    """Return the regrets of all contenders by n epsilon / N, and how often each is the best."""
    ratios = sorted({each.case.ratio for each in outcomes})
    rows = []
    for name in dict.fromkeys(name for each in outcomes for name in each.errors):
        taking = [each for each in outcomes if name in each.errors]
        at = [mean(o.regret(name) for o in taking if o.case.ratio == ratio) for ratio in ratios]
        largest = max(each.regret(name) for each in taking)
        wins = sum(each.best == name for each in taking) / len(outcomes)
        rows.append((name, *(number(each) for each in (*at, largest)), f"{wins:.0%}"))
    return table(("", *(f"{ratio:g}" for ratio in ratios), "largest", "best in"), rows)


def number(value: float) -> str:
    """Return a ratio with three digits, or the power of ten that it has passed."""
    if value >= 1000:
        return f"> 10^{int(np.log10(value))}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def by_setting(outcomes: list[Outcome]) -> list[str]:
    """Return the default's gains and regrets, grid by grid."""
    rows = []
    for setting in dict.fromkeys(each.case.setting for each in outcomes):
        own = [each for each in outcomes if each.case.setting == setting]
        cells = []
        for is_scarce in (True, False):
            part = [each for each in own if (each.case.ratio <= SCARCE) == is_scarce]
            regrets = [each.regret() for each in part]
            cells += [
                f"{mean(each.gain() for each in part):.2f}",
                f"{mean(regrets):.2f}",
                f"{max(regrets):.2f}",
            ]
        rows.append((f"{setting.size:,}", f"{setting.epsilon:g}", *cells))
    head = f"gain, at most {SCARCE:g}", "regret", "largest", "gain, above", "regret", "largest"
    return table(("N", "epsilon", *head), rows)


def by_shape(outcomes: list[Outcome]) -> list[str]:
    """Return the default's gains and regrets, shape by shape, and how many it has."""
    rows = []
    for shape, own in shapes_of(outcomes):
        scarce, others = (
            mean(each.gain() for each in own if (each.case.ratio <= SCARCE) == is_scarce)
            for is_scarce in (True, False)
        )
        regrets = [each.regret() for each in own]
        rows.append(
            (
                *(shape, own[0].case.group, f"{scarce:.2f}", f"{others:.2f}"),
                *(f"{mean(regrets):.2f}", f"{max(regrets):.2f}"),
            )
        )
    head = "shape", "group", f"gain, at most {SCARCE:g}", "gain, above", "regret", "largest"
    return table(head, rows)


def shapes_of(outcomes: list[Outcome]) -> list[tuple[str, list[Outcome]]]:
    """Return the cases of each shape."""
    found: dict[str, list[Outcome]] = {}
    for each in outcomes:
        found.setdefault(each.case.shape, []).append(each)
    return list(found.items())


def bands(outcomes: list[Outcome]) -> list[str]:
    """Return what the default's bands cover, shape by shape."""
    rows = []
    for shape, own in [("all", outcomes), *shapes_of(outcomes)]:
        cells = []
        for is_scarce in (True, False):
            part = [each.coverage for each in own if (each.case.ratio <= SCARCE) == is_scarce]
            inside = np.array([each.inside for each in part])
            cells += [
                f"{np.mean([each.all for each in part]):.1%}",
                f"{np.nanmean(inside):.1%}",
                f"{np.nanmin(inside):.0%}",
            ]
        rows.append((shape, *cells))
    head = [f"{SCARCE:g} or less: all", "inside", "least", "above: all", "inside", "least"]
    return table(("shape", *head), rows)


def winners(outcomes: list[Outcome]) -> list[str]:
    """Return who is the best where, in one setting, and the default's regret there."""
    ratios = sorted({each.case.ratio for each in outcomes})
    rows = []
    for shape, own in shapes_of(outcomes):
        at = {each.case.ratio: f"{each.best} ({each.regret():.2f})" for each in own}
        rows.append((shape, *(at[ratio] for ratio in ratios)))
    return table(("", *(f"{ratio:g}" for ratio in ratios)), rows)


def of_ranks(ranks: Ranks) -> list[str]:
    """Return the errors of ROC curves, measure by measure, and the default's over the least."""
    rows = []
    for i, measure in enumerate(MEASURES):
        errors = {size: [ranks[size, e].errors[i] for e in EPSILONS] for size in (None, *GRIDS)}
        least = np.min([errors[size] for size in GRIDS], axis=0)
        rows += [
            (measure if size is None else "", named(size), *(f"{x:.4f}" for x in row))
            for size, row in errors.items()
        ]
        ratios = np.array(errors[None]) / least
        rows.append(("", "**default over the best grid**", *(f"**{x:.2f}**" for x in ratios)))
    return table(("", "grid", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)


def named(size: "int | None") -> str:
    """Return the name of a grid."""
    return ROC_DEFAULT if size is None else f"{size:,} cells"


def of_intervals(ranks: Ranks) -> list[str]:
    """Return how often the default's intervals for the AUC cover it, and how wide they are."""
    rows = []
    for i, kind in enumerate(KINDS):
        found = [ranks[None, epsilon].intervals[i] for epsilon in EPSILONS]
        rows.append((kind, *(f"{each.covered:.1%} (width {each.width:.3f})" for each in found)))
    return table(("interval", *(f"{epsilon:g}" for epsilon in EPSILONS)), rows)
