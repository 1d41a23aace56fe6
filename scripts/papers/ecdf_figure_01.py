"""Figure 1 of the ECDF paper, section 5.1: one private ROC curve of few records."""

import numpy as np

from dpcore import studies

from ._ecdf import RUNS
from ._ecdf_roc import CELLS, distances, draw_release
from ._figure import Figure, Made, Outcome, Runs, verdict

NAME, EPSILON = "Heart disease", 0.5
STUDY = studies.study({"name": NAME, "epsilon": EPSILON})(distances)


def draw(made: Made) -> Outcome:
    """Draw a release, and compare it and the mean of many with the exact curve."""
    shown, results = draw_release(made, NAME, EPSILON), made.results["distances"]
    mean = {name: float(np.nanmean(results.array(name))) for name in results.quantities}
    norms = ("points, norm 1", "points, norm 2")
    closer = [all(found[each] < found["points, raw"] for each in norms) for found in (shown, mean)]
    return Outcome(
        paper=f"points are {mean['points, raw']:.3f} away before smoothing, {mean[norms[0]]:.3f} in"
        f" norm 1 and {mean[norms[1]]:.3f} in norm 2 after it; area between the curves"
        f" {mean['area, norm 2']:.3f} (norm 2)",
        ours=f"area between the curves {mean['area, ours']:.3f}",
        verdict=verdict(*closer),
        why="The picture is one release; the numbers are means of many. The test is whether the"
        " points of the smoothed curves are nearer to the exact points at the same thresholds, in"
        f" the picture (raw {shown['points, raw']:.3f}, norm 2 {shown['points, norm 2']:.3f}) and"
        f" on average. The paper does not state its number of thresholds. Here there are {CELLS:,}"
        " evenly spaced ones. Epsilon is split in halves (the text adds them up to 2 epsilon,"
        " which is an oversight). If the numbers of positives and negatives were public, the area"
        f" would be {mean['area, sizes public']:.3f}.",
    )


FIGURE = Figure(
    source="Figure 1 (section 5.1)",
    claim="With few records, the noise is clearly visible. Smoothed curves stay much closer to the"
    " exact one.",
    runs=(Runs(STUDY, replicates=RUNS, quick=10),),
    draw=draw,
)
