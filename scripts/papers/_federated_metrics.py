"""Precision, recall and accuracy: what Figures 2 and 3 of the federated paper measure and draw."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dpcore.studies import Results

from ._data import diabetes
from ._federated import (
    AREAS,
    DATA,
    METRICS,
    MODELS,
    STAND_IN,
    Published,
    Reals,
    Records,
    at_thresholds,
    curves,
    our_metrics,
)
from ._figure import BLUE, GREEN, VERMILION, Made, panels

PUBLISHED, PREFIXES, OURS = "published", "by prefix queries", "ours"
METHODS: Final = (PUBLISHED, PREFIXES, OURS)
READINGS: Final = {PUBLISHED: "sums of leaves", PREFIXES: "prefix queries"}
_COLOURS: Final = dict(zip(METRICS, (VERMILION, GREEN, BLUE), strict=True))
_MARKERS: Final = dict(zip(METRICS, "osD", strict=True))


def metric_errors(records: Records, height: int, rng: np.random.Generator) -> dict[str, Reals]:
    """Return absolute errors at the thresholds, (10,), by model, method and metric."""
    counts, found = records.counts(height), {}
    for model in MODELS:
        paper = Published.of(counts, model, rng)
        ours = our_metrics(curves(counts, model, rng))
        for method, read in zip(
            METHODS, (at_thresholds(paper.sums), at_thresholds(paper.prefixes), ours), strict=True
        ):
            for metric, errors in zip(METRICS, np.abs(read - records.metrics), strict=True):
                found[f"{model}, {method}: {metric}"] = errors
    return found


class Errors:
    """The mean errors of a study, over its replicates, by data, setting and threshold.

    ``whole`` has a quantity for each model, method and metric. ``by_data`` are arrays of
    (4, settings, 10): the three stand-ins and Diabetes.
    """

    def __init__(self, results: Results, settings: int) -> None:
        self.by_data: dict[str, Reals] = {}
        for name in results.quantities:
            found = results.array(name)  # (data, [settings,] replicates, ...)
            if found.ndim == 3:  # settings are within arrays
                found = np.moveaxis(found.reshape(*found.shape[:2], settings, -1), 1, 2)
            self.by_data[name] = found.mean(axis=2)

    def at(self, model: str, method: str, *data: str, metric: str | None = None) -> Reals:
        """Return mean errors over some of DATA, thresholds, and metrics if not of one: (S,)."""
        some = [DATA.index(each) for each in data or AREAS]
        names = METRICS if metric is None else (metric,)
        found = [self.by_data[f"{model}, {method}: {each}"][some] for each in names]
        return np.asarray(np.mean(found, axis=(0, 1, 3)))

    def draw(
        self, made: Made, at: Sequence[float], at_real: Sequence[float] = (), **axes: Any
    ) -> None:
        """Draw a panel for each model, above of the stand-ins, below of Diabetes.

        The latter's settings are the first of ``at_real``, if there are others.
        """
        made.uses(f"above, {STAND_IN}")
        made.uses(f"below, {diabetes().name}")
        picture, grid = panels(3, 2, width=4.2, height=3.4)
        rows = (tuple(AREAS), at), (("Diabetes",), at_real or at)
        for row, (data, where) in zip(grid, rows, strict=True):
            for ax, model in zip(row, MODELS, strict=True):
                for metric in METRICS:
                    self._lines(ax, model, metric, data, where)
                ax.set(yscale="log", ylabel="absolute error", title=model, **axes)
        lines = grid[0, 0].get_legend_handles_labels()
        bars = "mean; bars: 80 % of the thresholds"
        picture.legend(*lines, loc="outside upper center", ncols=3, frameon=False, title=bars)
        made.save(picture)

    def _lines(
        self, ax: Any, model: str, metric: str, data: Sequence[str], at: Sequence[float]
    ) -> None:
        """Draw sums of leaves, with bars over thresholds, prefix queries, dotted, and ours."""
        some = [DATA.index(each) for each in data]
        each = self.by_data[f"{model}, {PUBLISHED}: {metric}"][some].mean(axis=0)[: len(at)]
        low, high = np.quantile(each, (0.1, 0.9), axis=1)
        style = {"color": _COLOURS[metric], "marker": _MARKERS[metric], "markersize": 4}
        ax.plot(at, each.mean(axis=1), label=f"{metric}, {READINGS[PUBLISHED]}", **style)
        ax.vlines(at, low, high, color=_COLOURS[metric], linewidth=0.8, alpha=0.5)
        prefixes = self.at(model, PREFIXES, *data, metric=metric)[: len(at)]
        label = f"{metric}, {READINGS[PREFIXES]}"
        ax.plot(at, prefixes, ":", color=_COLOURS[metric], linewidth=2, label=label)
        ours = self.at(model, OURS, *data, metric=metric)[: len(at)]
        ax.plot(at, ours, linestyle="--", label=f"{metric}, ours", mfc="white", **style)
