"""Figure 9 of the regression-diagnostics paper: which areas do released ROC curves tell apart?"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies

from ._figure import BLUE, GREEN, GREY, VERMILION, Figure, Made, Outcome, Runs, panels, verdict
from ._regression import THEIR_DAWA, quietly
from ._regression_roc import CHECKED, GENEROUS, area, binormal, p_value

RECORDS, STEP, LEVEL = 10_000, 0.025, 0.05
AREAS = tuple(round(0.7 + STEP * i, 3) for i in range(11))
PRODUCTS = (100, 300, 1000, 3000, 10_000)
SHOWN = {"PriROC": (VERMILION, "o-"), "PriROC-fix": (GREEN, "s--"), "dpcore": (BLUE, "D-")}


@studies.study({"way": [*SHOWN, GENEROUS], "product": PRODUCTS, "auc": AREAS})
def areas(way: str, product: int, auc: float, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return the area under a released curve."""
    with quietly():
        return {"area": area(CHECKED[way](binormal(RECORDS, auc), product / RECORDS, rng))}


def worst(samples: Mapping[float, Any], step: int) -> float:
    """Return the largest p of all pairs of areas that are so many steps apart."""
    known = sorted(samples)
    pairs = zip(known, known[step:], strict=False)
    return max(p_value(samples[a], samples[b]) for a, b in pairs)


def draw(made: Made) -> Outcome:
    """Draw the least difference that is told for all pairs, and the largest p of neighbours."""
    results = made.results["areas"]
    picture, axes = panels(2, 1, width=4.4, height=3.4)
    products, known = _numbers(results, "product"), _numbers(results, "auc")
    least: dict[str, list[float]] = {}
    for way in (*SHOWN, GENEROUS):
        values = results.array("area", way=way)
        p = [
            [worst(dict(zip(known, each, strict=True)), step) for step in range(1, len(known))]
            for each in values
        ]
        told = [[step for step, each in enumerate(of, 1) if each < LEVEL] for of in p]
        least[way] = [STEP * steps[0] if steps else np.inf for steps in told]
        if way == GENEROUS:
            continue
        colour, style = SHOWN[way]
        line = {"color": colour, "label": way, "markersize": 5}
        axes[0, 0].plot(products, least[way], style, **line)
        axes[0, 1].plot(products, [max(each[0], 1e-40) for each in p], style, **line)
    axes[0, 0].set(xscale="log", xlabel="n epsilon", ylabel="least difference of areas told apart")
    axes[0, 0].set(ylim=(0, 0.26))
    axes[0, 1].set(xscale="log", yscale="log", xlabel="n epsilon")
    axes[0, 1].set_ylabel(f"largest p of areas {STEP:g} apart")
    axes[0, 1].axhline(LEVEL, color=GREY, linewidth=1, label=f"{LEVEL:g}")
    axes[0, 1].legend(frameon=False, fontsize=8)
    axes[0, 0].legend(frameon=False, fontsize=8)
    made.save(picture)
    enough = [x for x, product in zip(least["PriROC"], products, strict=True) if product >= 1000]
    first, *_, last = least["PriROC"]
    falls = least["PriROC"] == sorted(least["PriROC"], reverse=True) and last < first
    return Outcome(
        "; ".join(_said(way, least[way], products) for way in ("PriROC", "PriROC-fix")),
        _said("dpcore", least["dpcore"], products),
        verdict(max(enough) <= STEP, falls),
        f"Two areas are told apart if p < {LEVEL:g} in Welch's test of the areas of two samples of"
        " releases. A difference is told if this is so for all pairs of binormal curves that have"
        f" it, with areas from {AREAS[0]:g} to {AREAS[-1]:g}. n is {RECORDS:,}, half of them"
        " positive; the paper does not state its n. Differences below"
        f" {STEP:g} are not examined. We checked a variant with half of the noise and public sizes"
        f" of the classes, less noise than any reading of the paper allows."
        f" {_said(GENEROUS, least[GENEROUS], products)}."
        f" {THEIR_DAWA}",
    )


def _numbers(results: studies.Results, name: str) -> list[float]:
    return [each for each in results.parameters[name] if isinstance(each, int | float)]


def _said(way: str, least: list[float], products: list[float]) -> str:
    pairs = zip(least, products, strict=True)
    found = ", ".join(f"{'none' if x == np.inf else f'{x:g}'} ({n:,})" for x, n in pairs)
    return f"{way}: least difference told, by n epsilon: {found}"


FIGURE = Figure(
    source="Figure 9 (section IV.C)",
    claim="Private ROC curves tell areas apart that differ by 0.025 if n epsilon is 1,000 or more."
    " The larger n epsilon is, the smaller the differences that they tell.",
    runs=(
        Runs(areas, replicates=20, quick=6, quickly={"product": (300, 3000), "auc": AREAS[::5]}),
    ),
    draw=draw,
)
