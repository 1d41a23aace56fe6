"""A mechanism that a stranger writes, as in docs/guides/extending.md."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import dpcore as dp


@dataclass(frozen=True)
class EachCell(dp.mechanisms.Mechanism):
    """Noise on the count of each cell, and on no other count."""

    name = "each-cell"
    is_additive = True
    epsilon: float
    neighbours: str = "replace-one"

    @property
    def law(self):  # a replaced record changes two counts
        changes = 2 if self.neighbours == "replace-one" else 1
        return dp.noise.DiscreteLaplace(changes / Fraction(self.epsilon))

    def _fill(self, counts, out, stream):
        noise = np.empty(out.shape, np.int64)
        self.law.fill(noise.reshape(-1), stream)
        np.cumsum(counts + noise, axis=1, out=out)

    def noise_deviation(self, size):
        known = np.arange(1, size + 1) == size  # n, which is then public
        known &= self.neighbours == "replace-one"
        return np.sqrt(self.law.variance * np.arange(1, size + 1)) * ~known
