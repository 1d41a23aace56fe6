"""Simulated labels that fit predicted probabilities, to show how a right model is tested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._sealed import sealed

__all__ = ["RightLabels"]


@sealed
@dataclass(frozen=True, eq=False, slots=True)
class RightLabels:
    """Labels of a right model, which can be drawn repeatedly.

    Parameters
    ----------
    records
        (N,) the number of records in each cell or group.
    probabilities
        (N,) the probability of being positive, for the records of each cell or group.
    design
        (p, N) the vectors to which residuals are orthogonal: 1 and the logit of the probability, or
        none.
    inverse
        (p, p) the inverse of the design's Fisher information.
    """

    records: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    design: NDArray[np.float64]
    inverse: NDArray[np.float64]

    @classmethod
    def of(
        cls, records: NDArray[np.int64], probabilities: NDArray[np.float64], fitted: bool
    ) -> RightLabels:
        """Return the labels of some records; ``fitted``: the model was fitted to the labels."""
        inside = np.clip(probabilities, 1e-12, 1.0 - 1e-12)  # a cell {0} has no weight
        logits = np.log(inside) - np.log1p(-inside)
        design = np.stack([np.ones(inside.size), logits])[: 2 if fitted else 0]
        information = design * (records * probabilities * (1.0 - probabilities)) @ design.T
        return cls(records, probabilities, design, np.linalg.pinv(information, hermitian=True))

    def draw(self, replicates: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw labels R times; return the numbers of positives in each cell or group, (R, N)."""
        some = np.flatnonzero(self.records)  # of a fine grid, many cells are empty
        own, chances = self.records[some, np.newaxis], self.probabilities[some, np.newaxis]
        positives = np.zeros((replicates, self.records.size), np.int64)
        # By cells: NumPy prepares a binomial law once for equal parameters in a row.
        positives[:, some] = rng.binomial(own, chances, (some.size, replicates)).T
        if not self.design.size:
            return positives
        expected = self.records * self.probabilities
        # One step of Newton's method: the change of the probabilities by a fit to these labels.
        step = (positives - expected) @ self.design.T @ self.inverse
        shift = expected * (1.0 - self.probabilities) * (step @ self.design)
        whole = np.diff(np.rint(np.cumsum(shift, axis=1)), prepend=0.0).astype(np.int64)
        return np.asarray(np.clip(positives - whole, 0, self.records))
