"""The Hosmer-Lemeshow test, compared with simulated releases of a right model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._sealed import sealed
from ..curves.shown import line

__all__ = ["HosmerLemeshowUnderNoise", "Tested"]


class Tested(Protocol):
    """The part of ``HosmerLemeshow`` that its p-value needs."""

    @property
    def statistic(self) -> float:
        """H."""
        ...

    @property
    def degrees_of_freedom(self) -> int:
        """The degrees of freedom of the chi-squared law."""
        ...


Test = TypeVar("Test", bound=Tested)


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class HosmerLemeshowUnderNoise(Generic[Test]):
    """A released Hosmer-Lemeshow test, with simulated ones for a model that is right.

    Made by ``HosmerLemeshow.under_noise``.

    Parameters
    ----------
    test
        The released ``HosmerLemeshow`` test.
    null
        (R,) the statistics of the simulated releases.
    null_degrees_of_freedom
        (R,) their degrees of freedom, which differ because merging depends on the noise.

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
    (4, -2)
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
        """The share of releases, including this one, whose statistic is at least as large.

        It is at least 1 / (R + 1). Statistics are compared by their normal scores, because their
        degrees of freedom may differ. NaN if the test has no degree of freedom.
        """
        normal_score = _normal_scores(self.test.statistic, self.test.degrees_of_freedom)
        if math.isnan(normal_score):
            return math.nan
        is_below = _normal_scores(self.null, self.null_degrees_of_freedom) < normal_score
        return (1.0 + float((~is_below).sum())) / (1.0 + self.null.size)

    @property
    def statistic(self) -> float:
        """H minus the mean amount that noise adds to it for a right model; it may be negative."""
        noise = float(self.null.mean()) - float(self.null_degrees_of_freedom.mean())
        return self.test.statistic - noise


def _normal_scores(statistic: Any, degrees_of_freedom: Any) -> NDArray[np.float64]:
    """Return the normal scores of chi-squared statistics.

    The approximation is that of Wilson & Hilferty (1931). It also works far out, where
    probabilities are too small for doubles. NaN if there is no degree of freedom.
    """
    degrees = np.where(np.asarray(degrees_of_freedom) < 1, np.nan, degrees_of_freedom)
    variance = 2.0 / (9.0 * degrees)
    return np.asarray((np.cbrt(statistic / degrees) - (1.0 - variance)) / np.sqrt(variance))
