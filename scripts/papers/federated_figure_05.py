"""Figure 5 of the federated paper: calibration errors, by bins.

Our copy of the paper ends before it describes the figure. There are ten replicates, as for areas.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore import studies
from dpcore.statistics import BayesianBinning, IsotonicCalibration

from ._federated import AREAS, CLIENTS, FINE, MODELS, STAND_IN, Published, curves, sample, up_to
from ._federated_calibration import Population, published_bayesian, published_binning
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
)

HEIGHT = 10
BINS = (5, 10, 20, 50, 100)
SIZES = range(5, 101)
PREFIXES = "histogram binning, by prefix queries"
BINNING, BAYESIAN, OURS, OURS_BAYESIAN = (
    "histogram binning, as published",
    "Bayesian binning, as published",
    "isotonic, ours",
    "Bayesian binning, ours",
)
STYLES = {
    BINNING: (VERMILION, "o-"),
    BAYESIAN: (GREEN, "s-"),
    OURS: (BLUE, "D--"),
    OURS_BAYESIAN: (PURPLE, "v--"),
}


@studies.study({"data": tuple(AREAS), "clients": CLIENTS})
def calibration_by_bins(data: str, clients: int, rng: np.random.Generator) -> Mapping[str, Any]:
    """Return calibration errors, for each number of bins, by model and calibrator."""
    clients = up_to(clients, data)
    records, whole = sample(data, clients, rng), Population.of(AREAS[data])
    found = {"before": np.array([whole.error(whole.scores, bins) for bins in BINS])}
    for model in MODELS:
        paper = Published.of(records.counts(HEIGHT), model, rng)
        released = curves(records.counts(FINE), model, rng)
        same = (
            (BAYESIAN, published_bayesian(paper, SIZES)),
            (OURS, IsotonicCalibration.fit(released)),
            (OURS_BAYESIAN, BayesianBinning.fit(released)),
        )
        for name, fitted in same:
            calibrated = fitted.predict(whole.scores)
            errors = [whole.error(calibrated, bins) for bins in BINS]
            found[f"{model}: {name}"] = np.array(errors)
            found[f"{model}: {name}, distance"] = np.array(whole.distance(calibrated))
        for name, below in ((BINNING, paper.sums), (PREFIXES, paper.prefixes)):
            binned = [published_binning(paper, bins, below).predict(whole.scores) for bins in BINS]
            pairs = zip(binned, BINS, strict=True)
            found[f"{model}: {name}"] = np.array([whole.error(each, bins) for each, bins in pairs])
    return found


def draw(made: Made) -> Outcome:
    """Draw all models, and compare them at twenty bins."""
    results = made.results["calibration_by_bins"]
    made.uses(STAND_IN)
    picture, axes = panels(3, width=4.2, height=3.6)
    for ax, model in zip(axes[0], MODELS, strict=True):
        before = results.array("before").mean(axis=(0, 1))
        ax.plot(BINS, before, ":", color=GREY, label="before calibration")
        for name, (colour, style) in STYLES.items():
            found = np.concatenate(results.array(f"{model}: {name}"))
            low, high = np.quantile(found, (0.05, 0.95), axis=0)
            ax.plot(BINS, found.mean(axis=0), style, color=colour, label=name, markersize=4)
            ax.fill_between(BINS, low, high, color=colour, alpha=0.1, linewidth=0)
        ax.set(xscale="log", yscale="log", title=model, xlabel="bins")
        ax.set(ylabel="expected calibration error", ylim=(2e-4, 0.5))
        ax.set_xticks(BINS, list(map(str, BINS)))
        ax.minorticks_off()
    lines = axes[0, 0].get_legend_handles_labels()
    bands = "mean; bands: 90 % of the runs"
    picture.legend(*lines, loc="outside upper center", ncols=5, frameon=False, title=bands)
    made.save(picture)

    at = BINS.index(20)
    errors = {
        name: [float(results.array(f"{m}: {name}")[..., at].mean()) for m in MODELS]
        for name in (*STYLES, PREFIXES)
    }
    distances = {
        name: [float(results.array(f"{m}: {name}, distance").mean()) for m in MODELS]
        for name in (BAYESIAN, OURS, OURS_BAYESIAN)
    }
    return Outcome(
        f"20 bins: {_listed(errors[BINNING])} by histogram binning, {_listed(errors[BAYESIAN])} by "
        "Bayesian binning (without noise, DistDP, LocalDP)",
        f"{_listed(errors[OURS])} by isotonic regression, {_listed(errors[OURS_BAYESIAN])} by "
        "Bayesian binning",
        "not checkable",
        "Our copy of the paper ends before it describes the figure, so the claim is from its"
        " section 6, and there are no numbers of the paper to compare with. Its data sets and"
        " classifiers are not available here, and binormal scores replace them. So this shows how"
        " the methods compare on such scores, and does not check the paper. Errors are those of the"
        f" population; {before[at]:.2g} before calibration."
        " Histogram binning has as many buckets as the error has bins. Their counts are sums of"
        f" leaves. With prefix queries (Figure 2), the errors are {_listed(errors[PREFIXES])}."
        f" Bayesian binning, as published, tries {SIZES[0]} to {SIZES[-1]} buckets of the leaves as"
        " they are released, in which a count below 0 is taken as 0; ours makes the released curves"
        " monotone, and tries as many buckets as the noise allows. The error ignores differences"
        " within a bin. The mean distance"
        f" to the true probability is {_listed(distances[BAYESIAN])} (Bayesian, as published),"
        f" {_listed(distances[OURS])} (isotonic, ours), {_listed(distances[OURS_BAYESIAN])}"
        " (Bayesian, ours).",
    )


def _listed(errors: list[float]) -> str:
    return ", ".join(f"{error:.2g}" for error in errors)


FIGURE = Figure(
    source="Figure 5 (section 7.3)",
    claim="Calibration works under all models. The noise of DistDP hardly matters, and that of"
    " LocalDP does.",
    runs=(Runs(calibration_by_bins, 10, quick=1, quickly={"clients": 10**5}),),
    draw=draw,
)
