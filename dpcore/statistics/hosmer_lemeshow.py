"""The Hosmer-Lemeshow test: do the labels go with the predicted probabilities?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError
from ..privacy import Privacy
from ..scores import ScoreCurves
from ._risk_groups import (
    check_groups,
    check_minimum,
    expected_counts,
    least_expected,
    risk_groups,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .hosmer_lemeshow_noise import HosmerLemeshowUnderNoise

__all__ = ["HosmerLemeshow"]

_ESTIMATED: Final = 2  # degrees of freedom that a fit to the same records takes


@dataclass(frozen=True, eq=False, slots=True)
class HosmerLemeshow:
    """Observed and expected records by groups of predicted probability, and the test's statistic.

    Made by ``from_curves``, ``dpcore.hosmer_lemeshow`` or ``dpcore.hosmer_lemeshow_by_groups``.
    In arrays (G, 2) negatives come first, and then positives.

    Parameters
    ----------
    edges
        (G + 1,) of the groups, within [0, 1], never decreasing: lower < probability <= upper.
    observed
        (G, 2) released numbers of records.
    expected
        (G, 2) the sums of their predicted probabilities, released.
    deviations
        (G, 2) what the standard deviations of the noise in ``observed`` are at most, for raw
        curves; infinite where the mechanism has none in closed form.
    merged
        (G,) how many of the groups that were asked for are in each.
    n
        The number of records.
    privacy
        What the release cost.
    fitted
        Whether the model was fitted to these records.
    simulation
        What ``under_noise`` calls: ``hosmer_lemeshow_under_noise`` for these curves; None if it is
        not known what released them.
    """

    edges: NDArray[np.float64]
    observed: NDArray[np.float64]
    expected: NDArray[np.float64]
    deviations: NDArray[np.float64]
    merged: NDArray[np.int64]
    n: int
    privacy: Privacy
    fitted: bool = True
    simulation: Callable[..., HosmerLemeshowUnderNoise] | None = None

    @classmethod
    def from_curves(
        cls,
        curves: ScoreCurves,
        groups: int = 10,
        *,
        minimum_expected: float | None = None,
        fitted: bool = True,
    ) -> HosmerLemeshow:
        """Return the test of a released pair of curves, at no further cost.

        Parameters
        ----------
        curves
            Of predicted probabilities: thresholds within [0, 1], the last one 1. They are made
            monotone by ``isotonic`` if they are not.
        groups
            Q, how many groups of about n / Q records to make, 3 <= Q <= n. Group q ends at the
            first threshold up to which q n / Q records were released: records of one cell, and so
            those of one probability, are never torn apart.
        minimum_expected
            The least expected number of positives, and of negatives, in a group. One with less,
            or with none at all, is merged with the next one, and the last with the one before.
            None: 5, or what the deviation of the noise in the group's count is at most, whichever
            is larger. 0: merges only groups in which no positive, or no negative, is expected.
        fitted
            Whether the model was fitted to these records: then the chi-squared law has G - 2
            degrees of freedom, and otherwise G.

        Returns
        -------
        HosmerLemeshow
            Of 1 to Q groups. ``merged`` tells which ones are larger than asked for.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above.

        Notes
        -----
        Hosmer & Lemeshow 1980; Eq. 5 of the ECDF paper. Every record counts with the middle of its
        cell as its probability, so an expected number is off by at most half a cell for each
        record of the group (docs/hosmer-lemeshow.md). O(N + Q log N).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> from dpcore.statistics.hosmer_lemeshow import HosmerLemeshow
        >>> rng = np.random.default_rng(1)
        >>> y_prob = rng.beta(2, 5, 100_000)
        >>> y_true = rng.random(100_000) < y_prob**1.2  # there are fewer positives than predicted
        >>> curves = dp.score_curves(y_true, y_prob, epsilon=1.0)
        >>> HosmerLemeshow.from_curves(curves, fitted=False).pvalue < 0.001
        True
        """
        if not isinstance(curves, ScoreCurves):
            raise DtypeError("curves", type(curves).__name__, "must be ScoreCurves")
        groups = check_groups(groups, curves.n, fitted)
        return cls.of_checked(curves, groups, check_minimum(minimum_expected), fitted)

    @classmethod
    def of_checked(
        cls, curves: ScoreCurves, groups: int, minimum: float | None, fitted: bool
    ) -> HosmerLemeshow:
        """Return the test for arguments that ``from_curves`` has checked, for another release."""
        bins, merged = risk_groups(curves, groups, minimum)
        return cls(
            bins.edges,
            np.stack([bins.negatives, bins.positives], axis=1),
            expected_counts(bins),
            np.stack([bins.negatives_deviation, bins.positives_deviation], axis=1),
            merged,
            curves.n,
            curves.privacy,
            fitted,
        )

    @property
    def contributions(self) -> NDArray[np.float64]:
        """(G,) what each group adds to the statistic; nothing where 0 are expected and there."""
        squares = (self.observed - self.expected) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(squares == 0.0, 0.0, squares / self.expected)
        return np.asarray(terms.sum(axis=1))

    @property
    def statistic(self) -> float:
        """H, the sum of (observed - expected)^2 / expected over groups and classes."""
        return float(self.contributions.sum())

    @property
    def degrees_of_freedom(self) -> int:
        """G - 2 if the model was fitted to these records, and otherwise G."""
        return self.merged.size - (_ESTIMATED if self.fitted else 0)

    @property
    def pvalue(self) -> float:
        """How likely a right model has a statistic as large or larger, **if there is no noise**.

        By the chi-squared law. NaN if no degree of freedom is left. Noise makes the statistic
        larger, and this too small: prefer ``under_noise().pvalue``.
        """
        if self.degrees_of_freedom < 1:
            return math.nan
        from scipy.special import chdtrc  # takes a while to import

        return float(chdtrc(self.degrees_of_freedom, self.statistic))

    def under_noise(
        self, replicates: int = 999, rng: np.random.Generator | None = None
    ) -> HosmerLemeshowUnderNoise:
        """Return the test beside simulated releases, for a p-value that knows of the noise.

        Parameters
        ----------
        replicates, rng
            As in ``dpcore.hosmer_lemeshow_under_noise``, which this calls for what
            ``dpcore.hosmer_lemeshow`` released.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or it is not known what released the test.
        """
        if self.simulation is None:
            raise ParameterError(
                "simulation", None, "must be known: call hosmer_lemeshow_under_noise instead"
            )
        return self.simulation(replicates=replicates, rng=rng)

    @property
    def is_small(self) -> NDArray[np.bool_]:
        """(G,) where of either class less than 5, or than the noise's deviation, is expected."""
        return np.asarray((self.expected < least_expected(self.deviations, None)).any(axis=1))

    @property
    def table(self) -> Mapping[str, NDArray[Any]]:
        """Columns by name, each (G,): for ``pandas.DataFrame(test.table)``."""
        return {
            "lower": self.edges[:-1],
            "upper": self.edges[1:],
            "observed_negatives": self.observed[:, 0],
            "expected_negatives": self.expected[:, 0],
            "observed_positives": self.observed[:, 1],
            "expected_positives": self.expected[:, 1],
            "contribution": self.contributions,
            "merged": self.merged,
            "is_small": self.is_small,
        }

    def plot(self, ax: Axes | None = None, **bars: Any) -> Axes:
        """Draw observed and expected positives, group by group; needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        **bars
            Passed on to ``Axes.bar``, for what was observed.
        """
        from ..plots import plot_hosmer_lemeshow

        return plot_hosmer_lemeshow(self, ax, bars)
