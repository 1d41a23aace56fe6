"""The Hosmer-Lemeshow test beside simulated releases of a right model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..curves.shown import line

__all__ = ["HosmerLemeshowUnderNoise", "Tested"]


class Tested(Protocol):
    """What ``HosmerLemeshow`` is, as far as its p-value goes."""

    @property
    def statistic(self) -> float:
        """H."""
        ...

    @property
    def degrees_of_freedom(self) -> int:
        """Those of the chi-squared law."""
        ...


Test = TypeVar("Test", bound=Tested)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class HosmerLemeshowUnderNoise(Generic[Test]):
    """A released Hosmer-Lemeshow test beside simulated ones, for a model that is right.

    Made by ``HosmerLemeshow.under_noise``.

    Parameters
    ----------
    test
        The ``HosmerLemeshow`` test as it was released.
    null
        (R,) statistics of the simulated releases.
    null_degrees_of_freedom
        (R,) theirs: what is merged differs from one to the next.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores = rng.random(2000)
    >>> labels = rng.random(2000) < scores  # the model is right
    >>> test = dp.hosmer_lemeshow(labels, scores, groups=4, epsilon=1.0, fitted=False, rng=rng)
    >>> found = test.under_noise(replicates=19, rng=rng)
    >>> round(test.statistic), round(found.statistic)  # the noise adds to it
    (4, -1)
    >>> round(found.pvalue, 2)
    0.85
    """

    test: Test
    null: NDArray[np.float64]
    null_degrees_of_freedom: NDArray[np.int64]

    def __repr__(self) -> str:
        size = self.null.size
        return line(
            "HosmerLemeshowUnderNoise", f"p-value {self.pvalue:.3g}, {size} simulated releases"
        )

    @property
    def pvalue(self) -> float:
        """The share of releases, this one among them, whose statistic is as large or larger.

        At least 1 / (R + 1). Compared by their normal scores, since they may have other degrees of
        freedom. NaN if the test has none.
        """
        found = _normal_scores(self.test.statistic, self.test.degrees_of_freedom)
        if math.isnan(found):
            return math.nan
        is_below = _normal_scores(self.null, self.null_degrees_of_freedom) < found
        return (1.0 + float((~is_below).sum())) / (1.0 + self.null.size)

    @property
    def statistic(self) -> float:
        """H less what noise adds to it, on average, where the model is right; may be negative."""
        noise = float(self.null.mean()) - float(self.null_degrees_of_freedom.mean())
        return self.test.statistic - noise


def _normal_scores(statistic: Any, degrees_of_freedom: Any) -> NDArray[np.float64]:
    """Return where statistics lie under the chi-squared law, in normal deviations.

    Wilson & Hilferty 1931: far out, too, where probabilities are too small for doubles. NaN where
    there is no degree of freedom.
    """
    degrees = np.where(np.asarray(degrees_of_freedom) < 1, np.nan, degrees_of_freedom)
    variance = 2.0 / (9.0 * degrees)
    return np.asarray((np.cbrt(statistic / degrees) - (1.0 - variance)) / np.sqrt(variance))
