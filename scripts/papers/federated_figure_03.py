"""Figure 3 of the federated paper: errors of precision, recall and accuracy, by clients.

There are ten replicates, as for the paper's areas; the paper has no number here.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies

from ._federated import DATA, METRICS, MODELS, PART, Reals, sample, slope
from ._federated_metrics import METHODS, OURS, PUBLISHED, READINGS, Errors, metric_errors
from ._figure import Figure, Made, Outcome, Runs, verdict

HEIGHT, GOOD = 10, 0.05
SIZES = (10**3, 10**4, 10**5, 10**6)


@studies.study({"data": DATA, "clients": SIZES})
def metrics_by_clients(data: str, clients: int, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return errors at the thresholds, by model, method and metric."""
    return metric_errors(sample(data, clients, rng), HEIGHT, rng)


def draw(made: Made) -> Outcome:
    """Draw all models, and fit how errors fall."""
    results = made.results["metrics_by_clients"]
    sizes = [int(str(size)) for size in results.parameters["clients"]]
    errors = Errors(results, len(sizes))
    real = sorted({min(size, PART) for size in sizes})
    errors.draw(made, sizes, real, xlabel="clients", xscale="log")
    found = {each: [_median(errors, model, each) for model in MODELS] for each in METHODS}
    fits = {name: [slope(sizes[1:], e[1:]) for e in each] for name, each in found.items()}
    holds = {
        reading: (
            abs(fits[reading][1] + 1) < 0.15,
            abs(fits[reading][2] + 1) < 0.15,
            bool(found[reading][1][1] < GOOD < found[reading][1][0]),
            made.quick or bool(found[reading][2][2] < GOOD < found[reading][2][1]),
        )
        for reading in READINGS
    }
    same = bool(found[PUBLISHED][0].max() < 2 * found[PUBLISHED][0].min())

    def said(method: str) -> str:
        return f"{_listed(found[method])}; exponents of M {_fits(fits[method])}"

    return Outcome(
        "; ".join(f"{name}: {said(reading)}" for reading, name in READINGS.items()),
        said(OURS),
        verdict(same, *max(holds.values(), key=sum)),
        "Medians of precision, recall and accuracy, each a mean over thresholds, for"
        f" {' to '.join(f'{size:,}' for size in (sizes[0], sizes[-1]))} clients, without noise,"
        f" DistDP and LocalDP. Exponents are from 10,000 clients on. Small means below {GOOD:g}."
        " Of the four statements about noise, "
        + ", ".join(f"{sum(holds[each])} hold for {name}" for each, name in READINGS.items())
        + ". The verdict is that of the better reading (two readings of the paper: Figure 2)."
        " Under local privacy each client adds noise, so errors should fall as 1 / sqrt(M), by a"
        " factor of 3 if M grows by 10. Section 2.2 of the paper says so, too. Theorem 2's"
        " exponents, -2/3 and -1/3, are for numbers of buckets that grow with M (Table 1). Errors"
        f" with less noise fall more slowly where only the error of 2^{HEIGHT} cells remains.",
    )


def _median(errors: Errors, model: str, method: str) -> Reals:
    """Return the median of the three metrics' errors, by clients."""
    return np.median([errors.at(model, method, metric=name) for name in METRICS], axis=0)


def _listed(errors: list[Reals]) -> str:
    return ", ".join(f"{each[0]:.1g} to {each[-1]:.1g}" for each in errors)


def _fits(fits: list[float]) -> str:
    return ", ".join(f"{fit:.2f}" for fit in fits)


FIGURE = Figure(
    source="Figure 3 (section 7.1)",
    claim="Without noise, M does not matter. Errors of DistDP and LocalDP fall as 1 / M, and are"
    " small above 10,000 and 100,000 clients.",
    runs=(Runs(metrics_by_clients, 10, quick=2, quickly={"clients": SIZES[:3]}),),
    draw=draw,
)
