"""Labels that go with predicted probabilities: what a right model is tested against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["RightLabels"]


@dataclass(frozen=True, eq=False, slots=True)
class RightLabels:
    """Labels of a right model, to be drawn again and again.

    Parameters
    ----------
    records
        (N,) in each cell or group.
    probabilities
        (N,) of being positive, for each of its records.
    design
        (p, N) what residuals are orthogonal to: 1 and the logit of the probability, or nothing.
    inverse
        (p, p) of the design's Fisher information.
    """

    records: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    design: NDArray[np.float64]
    inverse: NDArray[np.float64]

    @classmethod
    def of(
        cls, records: NDArray[np.int64], probabilities: NDArray[np.float64], fitted: bool
    ) -> RightLabels:
        """Return those of so many records; ``fitted``: by maximum likelihood, to these labels."""
        inside = np.clip(probabilities, 1e-12, 1.0 - 1e-12)  # a cell {0} has no weight
        logits = np.log(inside) - np.log1p(-inside)
        design = np.stack([np.ones(inside.size), logits])[: 2 if fitted else 0]
        information = design * (records * probabilities * (1.0 - probabilities)) @ design.T
        return cls(records, probabilities, design, np.linalg.pinv(information, hermitian=True))

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return how many records are positive, (N,)."""
        expected = self.records * self.probabilities
        positives = rng.binomial(self.records, self.probabilities)
        # one step of Newton's method: what a fit to these labels would add to the probabilities
        step = self.inverse @ (self.design @ (positives - expected))
        shift = expected * (1.0 - self.probabilities) * (step @ self.design)
        whole = np.diff(np.rint(np.cumsum(shift)), prepend=0.0).astype(np.int64)
        return np.asarray(np.clip(positives - whole, 0, self.records))
