"""The gains and regrets that scripts/study.py regret computes from its runs, and their tables."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from _pages import table

from dpcore.studies import Results

from ._regret_contenders import DEFAULT, TREE, contenders
from ._regret_experiments import GROUPS, OTHERS, SCARCE, quantity

_WORST = 8  # cases that are listed
_CASE = ["kind", "epsilon", "cells", "shape", "ratio"]
_KINDS: Final = ("epsilon", "delta", "rho")


class Outcomes(NamedTuple):
    """The results, in two tables of pandas with one row for each case.

    Parameters
    ----------
    cases
        The parameters and the group of each case, and these columns. ``gain``: the mean squared
        error of the best tree divided by that of the default. ``spread``: the standard error of
        the gain, to first order. ``closer``: the gain in Kolmogorov-Smirnov distances. ``covered``
        and ``inside``: the shares that bands cover, everywhere and where 0 < F < 1. ``best``: the
        contender with the least error.
    regret
        The root mean square errors divided by that of the best contender in hindsight. Each
        contender has a column.
    others
        The same for the mean errors in each of the other measures, by its name.
    """

    cases: Any
    regret: Any
    others: Mapping[str, Any]

    def where(self, mask: Any) -> "Outcomes":
        """Return some of the cases, with the contenders that take part in them."""
        regret, *others = (
            each[mask].dropna(axis=1, how="all") for each in (self.regret, *self.others.values())
        )
        return Outcomes(self.cases[mask], regret, dict(zip(self.others, others, strict=True)))

    def by(self, *names: str) -> "Iterator[tuple[Any, Outcomes]]":
        """Yield the cases of each value of some columns."""
        for label, part in self.cases.groupby(list(names), sort=False):
            yield label, self.where(self.cases.index.isin(part.index))

    def halves(self) -> "tuple[Outcomes, Outcomes]":
        """Return the cases with scarce data, and the other cases."""
        scarce = self.cases["ratio"] <= SCARCE
        return self.where(scarce), self.where(~scarce)


def outcomes(*results: Results) -> Outcomes:
    """Return the outcomes of these runs."""
    found = [_outcomes(each) for each in results]
    cases, *regrets = (pd.concat(each, ignore_index=True) for each in zip(*found, strict=True))
    regret, *others = (each[_names(each)] for each in regrets)
    return Outcomes(cases, regret, dict(zip(OTHERS, others, strict=True)))


def _names(columns: Any) -> list[str]:
    """Return the contenders that have a column, in order."""
    known = dict.fromkeys(name for kind in _KINDS for name in contenders(kind, 2**16))
    return [name for name in known if name in columns]


def _outcomes(results: Results) -> tuple[Any, ...]:
    """Return the cases, and the regrets in each measure."""
    runs = results.table.to_pandas()
    names = _names(results.quantities)
    by_case = runs.groupby(_CASE, sort=False)
    means, least = _over_halves(runs, names, "{}")
    relative = by_case[names].std() / means / np.sqrt(by_case[names].count())
    bands = by_case[["covered", "covered inside"]].mean()
    gain = means[TREE] / means[DEFAULT]
    further = [_over_halves(runs, names, quantity(measure, "{}")) for measure in OTHERS]
    distance = further[OTHERS.index("K-S")][0]
    cases = pd.DataFrame(
        {
            "group": [GROUPS[shape] for *_, shape, _ in means.index],
            "gain": gain,
            "spread": gain * np.hypot(relative[TREE], relative[DEFAULT]),
            "closer": distance[TREE] / distance[DEFAULT],
            "covered": bands["covered"],
            "inside": bands["covered inside"],
            "best": means.idxmin(axis=1),
        },
        means.index,
    )
    others = (own.div(best, axis=0).reset_index(drop=True) for own, best in further)
    return cases.reset_index(), np.sqrt(means.div(least, axis=0)).reset_index(drop=True), *others


def _over_halves(runs: Any, names: list[str], pattern: str) -> tuple[Any, Any]:
    """Return the mean errors of all contenders in each case, and those of the best in hindsight."""
    kept = {pattern.format(name): name for name in names}
    means, first, second = (
        part.groupby(_CASE, sort=False)[list(kept)].mean().rename(columns=kept)
        for part in (runs, runs[runs["replicate"] % 2 == 0], runs[runs["replicate"] % 2 == 1])
    )
    return means, in_hindsight(first, second)


def in_hindsight(first: Any, second: Any) -> Any:
    """Return the error of the best contender in hindsight.

    The best one is found on the other half of the releases. If many contenders are about equally
    good, the least of their measured errors is below all true errors.
    """
    picked = [
        np.take_along_axis(other.to_numpy(), each[:, np.newaxis], axis=1)[:, 0]
        for best, other in ((first, second), (second, first))
        for each in (np.nanargmin(best.to_numpy(), axis=1),)
    ]
    return np.mean(picked, axis=0)


def mean(values: Any) -> float:
    """Return the geometric mean, or NaN if there are no numbers."""
    logs = np.log(np.asarray(values, np.float64))
    logs = logs[~np.isnan(logs)]
    return float(np.exp(logs.mean())) if logs.size else float("nan")


def summary(found: Outcomes) -> list[str]:
    """Return the default's gains and regrets, by group and by n epsilon / N."""
    rows = []
    for (group,), own in found.by("group"):
        scarce, others = own.halves()
        parts = {f"at most {SCARCE:g}": scarce, f"above {SCARCE:g}": others, "all": own}
        for name, (cases, regret, _) in parts.items():
            gains = f"{mean(cases['gain']):.2f}", f"{cases['gain'].min():.2f}"
            rows.append(
                (group, name, len(cases), *gains, f"{mean(cases['closer']):.2f}", *_regrets(regret))
            )
    head = "gain", "least gain", "gain in K-S", "regret", "largest regret"
    return table(("shapes", "n epsilon / N", "cases", *head), rows)


def _regrets(regret: Any) -> tuple[str, str]:
    """Return the default's mean regret, and its largest."""
    return f"{mean(regret[DEFAULT]):.2f}", f"{regret[DEFAULT].max():.2f}"


def by_setting(found: Outcomes) -> list[str]:
    """Return the default's gains and regrets, grid by grid."""
    rows = []
    for (_, epsilon, cells), own in found.by("kind", "epsilon", "cells"):
        halves = [(f"{mean(c['gain']):.2f}", *_regrets(regret)) for c, regret, _ in own.halves()]
        rows.append((f"{cells:,}", f"{epsilon:g}", *halves[0], *halves[1]))
    parts = f"at most {SCARCE:g}", f"above {SCARCE:g}"
    head = [name for part in parts for name in (f"gain, {part}", "regret", "largest regret")]
    return table(("N", "epsilon", *head), rows)


def by_shape(found: Outcomes) -> list[str]:
    """Return the default's gains and regrets, shape by shape."""
    rows = []
    for (shape, group), own in found.by("shape", "group"):
        gains = (f"{mean(cases['gain']):.2f}" for cases, *_ in own.halves())
        rows.append((shape, group, *gains, *_regrets(own.regret)))
    head = f"gain, at most {SCARCE:g}", f"gain, above {SCARCE:g}", "regret", "largest regret"
    return table(("shape", "group", *head), rows)


def worst(found: Outcomes) -> tuple[list[str], list[str]]:
    """Return the cases with the least gains, and those with the largest regrets."""
    least = found.cases.sort_values("gain")[:_WORST].itertuples()
    gains = [(_place(at), at.group, f"{at.gain:.2f} ± {at.spread:.2f}") for at in least]
    cases = found.cases.assign(regret=found.regret[DEFAULT])
    most = cases.sort_values("regret", ascending=False)[:_WORST].itertuples()
    regrets = [(_place(at), at.group, f"{at.regret:.2f}", at.best) for at in most]
    return (
        table(("cases with the least gains", "shapes", "gain"), gains),
        table(("cases with the largest regrets", "shapes", "regret", "best contender"), regrets),
    )


def _place(at: Any) -> str:
    setting = f"{at.cells:,} cells, epsilon = {at.epsilon:g}, n epsilon / N = {at.ratio:g}"
    return f"{at.shape}; {setting}"


def by_mechanism(found: Outcomes) -> list[str]:
    """Return the regrets of all contenders by n epsilon / N, and how often each is the best."""
    ratios = sorted(found.cases["ratio"].unique())
    rows = []
    for name, regret in found.regret.items():
        at = [mean(regret[found.cases["ratio"] == ratio]) for ratio in ratios]
        wins = (found.cases["best"] == name).mean()
        rows.append((name, *(number(each) for each in (*at, regret.max())), f"{wins:.0%}"))
    return table(("", *(f"{ratio:g}" for ratio in ratios), "largest", "best in"), rows)


def by_measure(found: Outcomes) -> list[str]:
    """Return the default's regret in each measure by n epsilon / N, and the best rival there."""
    measures = {"RMSE": found.regret, **found.others}
    rows = []
    for (ratio,), own in found.by("ratio"):
        texts = []
        for regret in ({"RMSE": own.regret, **own.others}).values():
            means = {name: mean(column) for name, column in regret.items()}
            rival = min((name for name in means if name != DEFAULT), key=lambda name: means[name])
            texts.append(f"{means[DEFAULT]:.2f} ({rival}: {means[rival]:.2f})")
        rows.append((f"{ratio:g}", *texts))
    rows.append(("all", *(f"{mean(each[DEFAULT]):.2f}" for each in measures.values())))
    rows.append(("largest", *(f"{each[DEFAULT].max():.2f}" for each in measures.values())))
    return table(("n epsilon / N", *measures), rows)


def number(value: float) -> str:
    """Return a ratio with three digits, or the power of ten that it has passed."""
    if value >= 1000:
        return f"> 10^{int(np.log10(value))}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def winners(found: Outcomes) -> list[str]:
    """Return the best contender of each case in one setting, and the default's regret."""
    cases = found.cases.assign(regret=found.regret[DEFAULT])
    cases["text"] = [f"{at.best} ({at.regret:.2f})" for at in cases.itertuples()]
    wide = cases.pivot(index="shape", columns="ratio", values="text")
    wide = wide.loc[cases["shape"].unique()]
    return table(("", *(f"{each:g}" for each in wide.columns)), wide.itertuples())


def bands(found: Outcomes) -> list[str]:
    """Return the shares that the default's bands cover, shape by shape."""
    rows = []
    for name, own in [("all", found), *((shape, own) for (shape,), own in found.by("shape"))]:
        shares = []
        for cases, *_ in own.halves():
            inside = cases["inside"]
            shares += [
                f"{cases['covered'].mean():.1%}", f"{inside.mean():.1%}", f"{inside.min():.0%}"
            ]  # fmt: skip
        rows.append((name, *shares))
    parts = f"at most {SCARCE:g}", f"above {SCARCE:g}"
    head = [name for part in parts for name in (f"{part}: all", "inside", "least")]
    return table(("shape", *head), rows)
