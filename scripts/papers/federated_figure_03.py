"""Figure 3 of the federated paper: errors of precision, recall and accuracy, by clients.

Ten replicates, as often as the paper repeats its areas; it does not say how often here.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies

from ._federated import DATA, METRICS, MODELS, PART, Reals, sample, slope, verdict
from ._federated_metrics import METHODS, Errors, metric_errors
from ._figure import Figure, Made, Outcome, Runs

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
    published, prefixes, ours = (
        [_median(errors, model, method) for model in MODELS] for method in METHODS
    )
    fits, ours_fits, prefix_fits = (
        [slope(sizes[1:], found[1:]) for found in each] for each in (published, ours, prefixes)
    )
    _, distributed, local = published
    holds = (
        bool(published[0].max() < 2 * published[0].min()),
        abs(fits[1] + 1) < 0.15,
        abs(fits[2] + 1) < 0.15,
        bool(distributed[1] < GOOD < distributed[0]),
        made.quick or bool(local[2] < GOOD < local[1]),
    )
    return Outcome(
        f"{_listed(published)}; exponents of M {_fits(fits)}",
        f"{_listed(ours)}; exponents {_fits(ours_fits)}",
        verdict(*holds),
        "Medians of precision, recall and accuracy, each a mean over thresholds, for "
        f"{' to '.join(f'{size:,}' for size in (sizes[0], sizes[-1]))} clients, without noise, "
        "DistDP and LocalDP; exponents from 10,000 clients on; small is below "
        f"{GOOD:g}. Under local privacy each client adds noise, so errors fall as 1 / sqrt(M), by "
        "a factor of 3 where M grows by 10: so section 2.2 of the paper has it, too. Theorem 2's "
        "exponents, -2/3 and -1/3, are for heights that grow with M (Table 1). Prefix queries "
        f"instead of sums of leaves (Figure 2): {_listed(prefixes)}, exponents "
        f"{_fits(prefix_fits)}; less, where what is left is the error of 2^{HEIGHT} cells.",
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
    claim="Without noise M does not matter; errors of DistDP and LocalDP fall as 1 / M, and are "
    "small above 10,000 and 100,000 clients.",
    runs=(Runs(metrics_by_clients, 10, quick=2, quickly={"clients": SIZES[:3]}),),
    draw=draw,
)
