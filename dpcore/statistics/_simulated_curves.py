"""Simulated releases of curves, with labels for which the model is right."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..curves.scores import ScoreCurves
from ..curves.simulated_releases import Releases
from ..privacy.spending import unwatched
from .binning import Cells
from .right_labels import RightLabels

__all__ = ["SimulatedCurves"]


@dataclass(frozen=True, slots=True)
class SimulatedCurves:
    """Simulated releases of labels that fit their probabilities, by the mechanism of some curves.

    Parameters
    ----------
    curves
        The released curves.
    mechanism
        The mechanism that released them.
    labels
        Two sets of labels to draw, each for half of the releases. Each cell has as many simulated
        records as released ones. Their probabilities are the lower ends of the cells, or the upper
        ends. A statistic takes the middles, and real probabilities are anywhere in the cells, so
        these are the two cases in which a right model seems most wrong.
    """

    curves: ScoreCurves
    mechanism: Releases
    labels: tuple[RightLabels, RightLabels]

    @classmethod
    def of(cls, curves: ScoreCurves, mechanism: Releases, fitted: bool) -> SimulatedCurves:
        """Return the releases for some curves; ``fitted``: the model was fitted to the records."""
        cells = Cells.of(curves)
        records = np.diff(np.rint(cells.totals)).astype(np.int64)
        lower, upper = (
            RightLabels.of(records, ends, fitted) for ends in (cells.starts, cells.edges[1:])
        )
        return cls(curves, mechanism, (lower, upper))

    def draw(self, rng: np.random.Generator) -> ScoreCurves:
        """Return raw curves of simulated labels."""
        labels, joint = self.labels[rng.integers(2)], self.curves.joint
        positives = labels.draw(rng)
        counts = np.concatenate([labels.records - positives, positives[::-1]])
        if self.curves.has_empty:
            counts = np.insert(counts, self.curves.grid.size, joint.n - counts.sum())
        with unwatched():
            released = self.mechanism.release(counts, rng=rng)
        return replace(self.curves, joint=replace(joint, counts=released, raw=None, processing=()))
