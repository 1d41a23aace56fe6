"""Figure 2 of the federated paper: errors of precision, recall and accuracy, by the tree's height.

There are ten replicates, as for the paper's areas; the paper has no number here.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from dpcore import studies

from ._federated import CLIENTS, DATA, METRICS, MODELS, Reals, sample, up_to
from ._federated_metrics import METHODS, OURS, PUBLISHED, READINGS, Errors, metric_errors
from ._figure import Figure, Made, Outcome, Runs, verdict

HEIGHTS = tuple(range(4, 15))


@studies.study({"data": DATA, "clients": CLIENTS})
def metrics_by_height(data: str, clients: int, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return errors at the thresholds for each height, by model, method and metric."""
    records = sample(data, up_to(clients, data), rng)
    found = [metric_errors(records, height, rng) for height in HEIGHTS]
    return {name: np.concatenate([each[name] for each in found]) for name in found[0]}


def draw(made: Made) -> Outcome:
    """Draw all models, and compare where errors are least."""
    errors = Errors(made.results["metrics_by_height"], len(HEIGHTS))
    errors.draw(made, HEIGHTS, xlabel="height h of the tree")
    exact, distributed, local = (
        {method: _Least.of(errors, model, method, *data) for method in METHODS}
        for model, data in zip(MODELS, ((), ("Sep", "Nov"), ("Oct", "Nov")), strict=True)
    )
    precision, *others = (errors.at(MODELS[0], PUBLISHED, metric=name) for name in METRICS)
    real = [errors.at(MODELS[0], PUBLISHED, "Diabetes", metric=name)[-5] for name in METRICS]
    common = (
        bool((np.diff(others) < 0).all() and exact[PUBLISHED].errors.max() < 1e-4),
        bool((precision >= np.max(others, axis=0)).all()),
    )
    holds = {
        reading: (
            *distributed[reading].are_at(10.5, 0.001),
            *local[reading].are_at(8, 0.005),
        )
        for reading in READINGS
    }
    worst = METRICS[int(np.argmax([precision[-5], *(other[-5] for other in others)]))]
    real_worst = METRICS[int(np.argmax(real))]
    return Outcome(
        "; ".join(
            f"{name}: DistDP {distributed[reading]}; LocalDP {local[reading]}"
            for reading, name in READINGS.items()
        )
        + f"; without noise at h = 14 at most {exact[PUBLISHED].errors.max():.1g}",
        f"DistDP {distributed[OURS]}; LocalDP {local[OURS]}; without noise the same",
        verdict(*common, *max(holds.values(), key=sum)),
        "Numbers are means over thresholds: the least error of precision, recall and accuracy, and"
        " its h. DistDP and LocalDP agree with the paper if the medians of these three agree: h"
        " within 1.5, errors within a factor of 2.5. The paper can be read in two ways. Either the"
        " counts of a tree's leaves are added up, as the proof of Theorem 2 adds up buckets; each"
        " level has epsilon / h, or an h-th of the clients. Or the same tree answers prefix"
        " queries (section 2.3). Of these four statements "
        + ", ".join(f"{sum(holds[each])} hold for {name}" for each, name in READINGS.items())
        + f". The verdict is that of the better reading. Without noise {worst} is the worst"
        f" (precision {precision[-5]:.1g}, recall {others[0][-5]:.1g} at h = 10), and {real_worst}"
        f" in the data below (precision {real[0]:.1g}, recall {real[1]:.1g}): the error of recall"
        " is the density of positives at the threshold, and the error of precision is its change"
        " there, which depends on the scores. Ours has the tree of least error over the same"
        " cells, and monotone curves. Neighbours differ by one record more or less in the paper,"
        " and by one replaced record in ours. This takes twice the noise under DistDP at the same"
        " epsilon.",
    )


class _Least(NamedTuple):
    """The least errors of the metrics, and the heights that have them."""

    errors: Reals
    heights: list[int]

    def are_at(self, height: float, error: float) -> tuple[bool, bool]:
        """Return whether the medians are near the paper's numbers."""
        off = abs(float(np.median(self.heights)) - height)
        return off <= 1.5, 0.4 < float(np.median(self.errors)) / error < 2.5

    @classmethod
    def of(cls, errors: Errors, model: str, method: str, *data: str) -> Self:
        found = np.array([errors.at(model, method, *data, metric=name) for name in METRICS])
        return cls(found.min(axis=1), [HEIGHTS[at] for at in found.argmin(axis=1)])

    def __str__(self) -> str:
        pairs = zip(self.errors, self.heights, strict=True)
        return ", ".join(f"{error:.1g} (h = {height})" for error, height in pairs)


FIGURE = Figure(
    source="Figure 2 (section 7.1)",
    claim="Without noise, errors fall with h, to below 10^-4 at h = 14, and the error of precision"
    " is the largest. DistDP has its least error, 0.001, at h = 10 or 11, and LocalDP has 0.005 at"
    " h = 8.",
    runs=(Runs(metrics_by_height, 10, quick=1, quickly={"clients": 10**5}),),
    draw=draw,
)
