"""Figure 1 of the federated paper: score functions, and a score histogram; an illustration."""

import numpy as np

from dpcore.statistics import ScoreHistogram

from ._federated import AREAS, CLIENTS, FINE, curves, sample, score_law
from ._figure import BLUE, GREY, VERMILION, Figure, Made, Outcome, panels, verdict

AREA, BUCKETS = AREAS["Sep"], 16


def draw(made: Made) -> Outcome:
    """Draw the densities of both classes, and buckets of equal depth, released under DistDP."""
    made.uses(f"binormal scores with the area {AREA}")
    rng = np.random.default_rng(1)
    released = curves(sample("Sep", CLIENTS, rng).counts(FINE), "DistDP", rng)
    bins = ScoreHistogram.quantile(released, BUCKETS).bins
    scores = np.linspace(0, 1, 501)
    densities = np.diff(score_law(AREA, scores), axis=1) / np.diff(scores)
    shares = np.diff(score_law(AREA, bins.edges), axis=1)
    picture, axes = panels(2)
    functions, histogram = axes[0]
    off, middles = [], (scores[1:] + scores[:-1]) / 2
    for at, (name, colour, counts) in enumerate(
        (("negatives", BLUE, bins.negatives), ("positives", VERMILION, bins.positives))
    ):
        functions.plot(middles, densities[at], ("-", "--")[at], color=colour, label=name)
        found = counts / counts.sum()
        heights = found / np.diff(bins.edges)
        histogram.stairs(heights, bins.edges, color=colour, label=name, linestyle=("-", "--")[at])
        of_both = None if at else "score functions"
        histogram.plot(middles, densities[at], ":", color=GREY, linewidth=1, label=of_both)
        off.append(np.abs(found - shares[at]).max())
    depth = (bins.counts / bins.counts.sum() * BUCKETS).round(3)
    for ax in (functions, histogram):
        ax.set(xlabel="score", ylabel="density", ylim=(0, 8))
        ax.legend(frameon=False)
    functions.set_title("score functions", fontsize=10)
    histogram.set_title(f"{BUCKETS} buckets, released under DistDP", fontsize=10)
    made.save(picture)
    even = float(np.abs(depth - 1).max())
    return Outcome(
        "an illustration, without numbers",
        f"{BUCKETS} buckets released under DistDP: each has its {BUCKETS}th of the records to "
        f"within {even:.1%}; shares of a class in a bucket are off by {max(off):.1g} at most",
        verdict(even < 0.02 and max(off) < 0.01),
        "The dotted lines on the right are the score functions.",
    )


FIGURE = Figure(
    source="Figure 1 (section 2.1)",
    claim="Positives have higher scores than negatives. A histogram whose buckets have equally"
    " many records represents their score functions.",
    draw=draw,
)
