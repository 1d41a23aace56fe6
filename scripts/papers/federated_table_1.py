"""Table 1 of the federated paper: orders of the errors, and the slopes of what is measured.

Without noise, slopes of metrics and areas are over B; all others are over M. The paper's method
has the B of its theorems and the buckets of its proofs, which have noise of their own.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from _pages import table
from numpy.typing import NDArray

import dpcore as dp
from dpcore import studies
from dpcore.statistics import HistogramBinning, ScoreHistogram
from dpcore.trust import advise

from ._federated import (
    AREAS,
    DISTRIBUTED,
    FINE,
    FINEST,
    LOCAL,
    MODELS,
    STAND_IN,
    THRESHOLDS,
    Reals,
    Records,
    alone,
    area_in,
    curves,
    metrics,
    our_metrics,
    sample,
)
from ._federated_calibration import Population, rates
from ._federated_orders import ORDERS, STEPS, WHY, Slope, clients_of, theorem
from ._figure import Figure, Made, Outcome, Runs

Sizes = dict[str, int]
RELEASES = 3  # of the same records
ADVISED: dict[str, tuple[str, float | None]] = {
    "Federated": ("secure-aggregation", None),
    "DistDP": ("distributed-noise", DISTRIBUTED),
    "LocalDP": ("local", LOCAL),
}


@studies.study({"data": tuple(AREAS), "step": STEPS})
def orders(data: str, step: int, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return errors by model, measure and method: means of several releases."""
    clients = clients_of(step)
    records, whole = sample(data, clients, rng), Population.of(AREAS[data])
    found: dict[str, list[float]] = {}
    for model in [each for each in MODELS for _ in range(RELEASES)]:
        size = {what: theorem(what, model, step) for what in ORDERS}
        errors = _published(records, whole, model, size, rng)
        errors |= _ours(records, whole, model, size, rng)
        for name, error in errors.items():
            found.setdefault(f"{model}: {name}", []).append(error)
    return {name: float(np.mean(errors)) for name, errors in found.items()}


def _published(
    records: Records, whole: Population, model: str, size: Sizes, rng: np.random.Generator
) -> dict[str, float]:
    """Return the errors of buckets of equally many records, each with its own noise."""
    counts = records.counts(FINEST)
    edges = {what: _quantiles(counts, size[what]) for what in ORDERS}
    below = {what: alone(counts, edges[what], model, rng) for what in ORDERS}
    at = np.abs(THRESHOLDS[:, np.newaxis] - edges["metrics"] / 2**FINEST).argmin(axis=1)
    of_metrics = metrics(below["metrics"][:, at], below["metrics"][:, -1])
    area = area_in(below["area"], np.arange(size["area"] + 1))
    binned = HistogramBinning(edges["calibration"] / 2**FINEST, rates(below["calibration"]))
    return {
        "metrics, published": _off(of_metrics, records.metrics),
        "area, published": _off(area, records.area),
        "calibration, published": whole.distance(binned.predict(whole.scores)),
    }


def _ours(
    records: Records, whole: Population, model: str, size: Sizes, rng: np.random.Generator
) -> dict[str, float]:
    """Return our errors: heights and buckets as advised, or without noise the theorem's buckets."""
    trust, epsilon = ADVISED[model]
    best = advise(records.labels.size, epsilon, trust)
    heights, buckets = dict(best.heights), dict(best.buckets)
    if model == "Federated":
        heights["metrics"], buckets["auc"] = size["metrics"].bit_length() - 1, size["area"]
    released = {h: curves(records.counts(h), model, rng) for h in set(heights.values())}
    raw = curves(records.counts(FINE), model, rng, isotonic=False)
    histogram = ScoreHistogram.quantile(released[heights["auc"]], buckets["auc"])
    binned = HistogramBinning.fit(released[heights["calibration"]], buckets["calibration"])
    return {
        "metrics, ours": _off(our_metrics(released[heights["metrics"]]), records.metrics),
        "area, ours": _off(histogram.auc_corrected, records.area),
        "area, raw curves": _off(_raw_area(raw), records.area),
        "calibration, ours": whole.distance(binned.predict(whole.scores)),
    }


def _quantiles(counts: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Return the edges of buckets of equally many records. As in the proofs, they have no noise."""
    totals = np.cumsum(counts.sum(axis=0))
    inner = np.searchsorted(totals, np.arange(1, buckets) * totals[-1] / buckets) + 1
    return np.concatenate([[0], inner, [totals.size]])


def _raw_area(found: dp.ScoreCurves) -> float:
    """Return the area from all cells, whose counts may be negative."""
    below = np.append(np.zeros((2, 1)), [found.negatives, found.positives], axis=1)
    return area_in(below, np.arange(below.shape[1]))


def _off(found: Reals | float, truth: Reals | float) -> float:
    return float(np.mean(np.abs(found - truth)))


def draw(made: Made) -> Outcome:
    """Return the table, with slopes; there is no picture."""
    results = made.results["orders"]
    made.uses(STAND_IN)
    steps = [int(str(step)) for step in results.parameters["step"]]
    rows, falls, reasons = [], [], []
    for what, by_model in ORDERS.items():
        for model, (order, exponent) in zip(MODELS, by_model, strict=True):
            in_buckets = model == "Federated" and what != "calibration"
            at = [theorem(what, model, s) if in_buckets else clients_of(s) for s in steps]
            cells = []
            for method in ("published", "ours"):
                errors = results.array(f"{model}: {what}, {method}").mean(axis=0)
                fit = Slope.of(at, errors)
                falls.append((method, fit.beside(exponent)))
                reasons.append(WHY.get((what, model, method, falls[-1][1]), ""))
                cells += [f"{fit}, {falls[-1][1]}", f"{errors[-1].mean():.2g}"]
            rows.append((what, model, order, f"{exponent:.2f}", *cells))
    raw = [
        Slope.of([clients_of(s) for s in steps], results.array(name).mean(axis=0))
        for name in (f"{model}: area, raw curves" for model in MODELS[1:])
    ]
    bounded = [fell != "slower" for method, fell in falls if method == "published"]
    named = ("order", "exponent", "the theorem's buckets", "last", "ours, as advised", "last")
    return Outcome(
        f"{sum(bounded)} of {len(bounded)} errors fall as fast as stated, or faster",
        f"{sum(f != 'slower' for m, f in falls if m == 'ours')} of {len(bounded)} do",
        "agrees" if all(bounded) else "in part" if any(bounded) else "differs",
        "An order is a bound, so an error that falls faster agrees. We fit the exponents to the"
        " logarithms of mean errors: over B for metrics and areas without noise, and over M for all"
        f" others, from {clients_of(steps[0]):,} to {clients_of(steps[-1]):,} clients. Standard"
        " deviations come from the bootstrap. An error falls faster or slower than stated if its"
        " exponent differs by more than two standard deviations and by more than 0.05. *Last* is"
        " the error for the largest B or M. The error of calibration is the mean distance to the"
        " true probability. The theorem's buckets are those of the proofs, not those of Figures 2"
        " to 5. Each has equally many records, between the records' own quantiles, and noise of its"
        " own, with all of epsilon and no tree. "
        + " ".join(dict.fromkeys(each for each in reasons if each)).format(*raw),
        tuple(table(("", "", *named), rows)),
    )


FIGURE = Figure(
    source="Table 1 (section 3)",
    claim="Theorems 2 to 8 say how errors fall with the buckets B and the clients M, under three"
    " models.",
    runs=(Runs(orders, 10, quick=1, quickly={"step": STEPS[:3]}),),
    draw=draw,
)
