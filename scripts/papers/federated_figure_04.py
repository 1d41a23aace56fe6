"""Figure 4 of the federated paper: errors of the area under the ROC curve, by buckets.

There are a hundred replicates (the paper has ten), each of 10^6 clients with new records.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies
from dpcore.statistics import ScoreHistogram

from ._data import diabetes
from ._federated import (
    AREAS,
    CLIENTS,
    DATA,
    DISTRIBUTED,
    FINE,
    MODELS,
    STAND_IN,
    Published,
    Reals,
    alone,
    area_in,
    curves,
    sample,
    up_to,
    worst_case,
)
from ._figure import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILION,
    Figure,
    Made,
    Outcome,
    Runs,
    panels,
    verdict,
)

HEIGHT = 10
BUCKETS = (5, 10, 20, 40, 70, 100)
QUANTILE, UNIFORM, WORST, PREFIXES, LEAVES, OURS, ALIKE = (
    "quantile buckets, sums of leaves",
    "uniform buckets, sums of leaves",
    "worst case",
    "quantile buckets, prefix queries",
    "leaves alone",
    "quantile buckets, ours",
    "ours, with the paper's neighbours",
)
STYLES = {
    QUANTILE: (VERMILION, "o-"),
    UNIFORM: (GREEN, "s-"),
    WORST: (GREY, "^-"),
    PREFIXES: (PURPLE, "v:"),
    OURS: (BLUE, "D--"),
}


@studies.study({"data": DATA, "clients": CLIENTS})
def areas(data: str, clients: int, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return errors of the area for each number of buckets, by model and method."""
    records = sample(data, up_to(clients, data), rng)
    counts, fine = records.counts(HEIGHT), records.counts(FINE)
    found: dict[str, list[float]] = {}
    for model in MODELS:
        paper, released = Published.of(counts, model, rng), curves(fine, model, rng)
        alike = released
        if model == "DistDP":
            alike = curves(fine, model, rng, distributed=2 * DISTRIBUTED)
        leaves = alone(counts, np.arange(2**HEIGHT + 1), model, rng)
        for buckets in BUCKETS:
            edges = paper.quantiles(buckets)
            read = {
                QUANTILE: area_in(paper.sums, edges),
                UNIFORM: area_in(paper.sums, paper.uniform(buckets)),
                PREFIXES: area_in(paper.prefixes, edges),
                LEAVES: area_in(leaves, edges),
                OURS: ScoreHistogram.quantile(released, buckets).auc_corrected,
                ALIKE: ScoreHistogram.quantile(alike, buckets).auc_corrected,
            }
            for name, area in read.items():
                found.setdefault(f"{model}: {name}", []).append(abs(area - records.area))
            found.setdefault(f"{model}: {WORST}", []).append(worst_case(paper.sums, edges))
    return {name: np.array(each) for name, each in found.items()}


def draw(made: Made) -> Outcome:
    """Draw all models and both guides, and read off where errors end."""
    results, data = made.results["areas"], (tuple(AREAS), ("Diabetes",))

    def errors(model: str, method: str, which: tuple[str, ...] = data[0]) -> Reals:
        return results.array(f"{model}: {method}")[[DATA.index(each) for each in which]]

    made.uses(f"above, {STAND_IN}")
    made.uses(f"below, {diabetes().name}")
    picture, grid = panels(3, 2, width=4.2, height=3.4)
    at = np.array(BUCKETS, float)
    for row, which in zip(grid, data, strict=True):
        for ax, model in zip(row, MODELS, strict=True):
            for method, (colour, style) in STYLES.items():
                found = np.concatenate(errors(model, method, which))
                ends = np.quantile(found, (0.05, 0.95), axis=0)
                beside = at * 1.03 ** (list(STYLES).index(method) - 2)
                ax.plot(beside, found.mean(axis=0), style, color=colour, label=method, markersize=4)
                ax.vlines(beside, *ends, color=colour, linewidth=0.7)
            ax.plot(at, 1 / (2 * at), ":", color="black", linewidth=1, label="1 / 2B")
            ax.plot(at, 1 / (3 * at**2), "-.", color="black", linewidth=1, label="1 / 3B²")
            ax.set(xscale="log", yscale="log", title=model, ylim=(1e-6, 0.3))
            ax.set(xlabel="buckets B", ylabel="error of the area")
            ax.set_xticks(BUCKETS, list(map(str, BUCKETS)))
            ax.minorticks_off()
    lines = grid[0, 0].get_legend_handles_labels()
    bars = "mean; bars: 90 % of the runs"
    picture.legend(*lines, loc="outside upper center", ncols=4, frameon=False, title=bars)
    made.save(picture)

    mean = {
        (model, method): errors(model, method).mean(axis=(0, 1))
        for model in MODELS
        for method in (*STYLES, LEAVES, ALIKE)
    }
    exact, large, local = (mean[model, QUANTILE] for model in MODELS)
    levels = {  # where errors end, by the reading of the paper
        reading: (
            _within(mean[MODELS[1], reading][3:] / mean[MODELS[1], reading][-1], 1, 2),
            _within(mean[MODELS[1], reading][-1], 0.001, 2.5),
            _within(mean[MODELS[2], reading][2:] / mean[MODELS[2], reading][-1], 1, 2),
            _within(mean[MODELS[2], reading][-1], 0.005, 2.5),
        )
        for reading in (QUANTILE, PREFIXES)
    }
    holds = (
        _within(mean[MODELS[0], WORST] * 2 * at, 1, 1.7),
        _within(exact * 3 * at**2, 1, 2),
        bool(exact[-1] < 10**-4.5),
        bool((mean[MODELS[0], UNIFORM] > 5 * exact)[2:].all()),
        *max(levels.values(), key=sum),
    )
    last = {
        name: [f"{mean[model, name][-1]:.2g}" for model in MODELS]
        for name in (QUANTILE, UNIFORM, PREFIXES, LEAVES, OURS, ALIKE)
    }
    flat = [", ".join(f"{each:.2g}" for each in found[2:]) for found in (large, local)]
    real = [
        f"{errors(MODELS[1], method, data[1])[..., -1].mean():.2g}"
        for method in (PREFIXES, OURS, ALIKE)
    ]
    few = ", ".join(f"{mean[model, OURS][1]:.2g}" for model in MODELS)
    return Outcome(
        f"100 quantile buckets: {', '.join(last[QUANTILE])} (without noise, DistDP, LocalDP) by "
        f"sums of leaves, {', '.join(last[PREFIXES])} by prefix queries; uniform ones: "
        f"{', '.join(last[UNIFORM])}",
        f"{', '.join(last[OURS])}; with 10 buckets {few}",
        verdict(*holds),
        f"Buckets are made of 2^{HEIGHT} leaves of a binary tree. Their counts are added up, or"
        " read with prefix queries, as in Theorem 6. These are two readings of the paper (Figure"
        " 2). Of the four statements about where errors end, flat and at the paper's level (within"
        f" a factor of 2.5), {sum(levels[QUANTILE])} hold for sums, {sum(levels[PREFIXES])} for"
        " prefix queries. The verdict is that of the better reading. Without noise the errors are"
        f" {', '.join(f'{each:.2f}' for each in exact * 3 * at**2)} times 1 / 3B²: the cells are"
        f" too wide for many buckets to be even. With {', '.join(map(str, BUCKETS[2:]))} buckets"
        f" sums have {flat[0]} under DistDP, and {flat[1]} under LocalDP. Without the tree's other"
        " levels, so that all of epsilon and all clients go to the leaves, they have"
        f" {last[LEAVES][1]} and {last[LEAVES][2]}. Ours: `ScoreHistogram.auc_corrected` on"
        f" 2^{FINE} cells. Its neighbours differ by one replaced record, and the paper's by one"
        " record more or less, which takes half the noise under DistDP. With the paper's"
        f" neighbours, ours has {last[ALIKE][1]}; for the data below prefix queries have"
        f" {real[0]}, ours {real[1]}, and with the paper's neighbours {real[2]}.",
    )


def _within(values: Any, of: float, factor: float) -> bool:
    return bool((np.maximum(values / of, of / values) < factor).all())


FIGURE = Figure(
    source="Figure 4 (section 7.2)",
    claim="Without noise, the error with quantile buckets follows 1 / 3B². With 100 buckets it is"
    " 10^-5, and ten times as much with uniform buckets. Noise limits this: DistDP at 20 to 40"
    " buckets and 0.001, LocalDP at 20 buckets and 0.005. The worst case follows 1 / 2B.",
    runs=(Runs(areas, 100, quick=3, quickly={"clients": 10**5}),),
    draw=draw,
)
