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
        The labels to draw. The probability of a simulated record is the middle of its cell. Each
        cell has as many simulated records as released ones.
    """

    curves: ScoreCurves
    mechanism: Releases
    labels: RightLabels

    @classmethod
    def of(cls, curves: ScoreCurves, mechanism: Releases, fitted: bool) -> SimulatedCurves:
        """Return the releases for some curves; ``fitted``: the model was fitted to the records."""
        cells = Cells.of(curves)
        records = np.diff(np.rint(cells.totals)).astype(np.int64)
        return cls(curves, mechanism, RightLabels.of(records, cells.middles, fitted))

    def draw(self, rng: np.random.Generator) -> ScoreCurves:
        """Return raw curves of simulated labels."""
        positives, joint = self.labels.draw(rng), self.curves.joint
        counts = np.concatenate([self.labels.records - positives, positives[::-1]])
        if self.curves.has_empty:
            counts = np.insert(counts, self.curves.grid.size, joint.n - counts.sum())
        with unwatched():
            released = self.mechanism.release(counts, rng=rng)
        return replace(self.curves, joint=replace(joint, counts=released, raw=None, processing=()))
