"""The Hosmer-Lemeshow test from quantiles and sums of groups: Algorithm 2 of the ECDF paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.likely_mistakes import named, warn_of_classes
from ..errors import ParameterError
from ..mechanisms.dyadic import Dyadic, Sensitivity
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance, Law
from ..privacy.guarantees import Privacy
from ..privacy.spending import releasing
from ..releases.cdf import cdf
from ..releases.hosmer_lemeshow import grid_of_probabilities, in_memory
from ..statistics.hosmer_lemeshow import HosmerLemeshow, statistics
from ..statistics.right_labels import RightLabels
from ..statistics.risk_groups import check_groups
from ..summaries.grid import Grid
from ..summaries.score_counts import Label, records
from ..summaries.totals import NanPolicy

__all__ = ["hosmer_lemeshow_by_groups"]

_UNIT: Final = 2**20  # probabilities are rounded to multiples of 1 / _UNIT
_MOST_RECORDS: Final = 2**32  # sums over so many records are exact as doubles
_CHANGE: Final = 4  # how much neighbours change all observed and expected numbers in total
_PAPER_CHANGE: Final = 8


def hosmer_lemeshow_by_groups(
    y_true: Any,
    y_prob: Any,
    *,
    epsilon: float | Fraction,
    groups: int = 10,
    grid: Grid | None = None,
    sensitivity: Sensitivity = "exact",
    fitted: bool = True,
    pos_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> HosmerLemeshow:
    """Release the Hosmer-Lemeshow test as it was published, for comparison.

    This is Algorithm 2 of Barczewski, Mawass & Ramon, *Differentially private empirical cumulative
    distribution functions*. It takes quantiles of the predicted probabilities from a released
    curve, and then releases four noisy numbers for each group between the quantiles.
    ``dpcore.hosmer_lemeshow`` is more accurate (docs/measured/hosmer-lemeshow-accuracy.md). The
    neighbours and the condition on the model are the same as there.

    Parameters
    ----------
    y_true, y_prob, groups, grid, fitted, pos_label, rng, nan_policy
        As in ``dpcore.hosmer_lemeshow``. Probabilities below 0 count as 0, those above 1 as 1.
    epsilon
        The budget for pure differential privacy: a positive number (a Fraction is taken exactly).
    sensitivity
        "exact": as much noise as the guarantee needs. "paper": the published constants,
        epsilon / (L + 9) for each number, with L = ceil(log2 N). This is more noise than the
        guarantee needs.

    Returns
    -------
    HosmerLemeshow
        The test of Q groups. Its numbers may be negative, and so may the statistic. The statistic
        is NaN or infinite if an expected number is 0. ``pvalue`` takes the noise into account, by
        simulation.

    Warns
    -----
    DpcoreWarning
        The released number of negatives or of positives is within its noise of 0.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    The publication has closed intervals, so a record on a boundary is in two groups or more, and
    its theorem does not hold. Here the groups are half-open (docs/proofs/hosmer-lemeshow.md). Each
    probability is rounded to a multiple of 2^-20 before it is added up. The cost is
    O(n log Q + N).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y_prob = rng.beta(1, 8, 20_000)
    >>> test = hosmer_lemeshow_by_groups(rng.random(20_000) < y_prob, y_prob, epsilon=1.0)
    >>> test.observed.shape
    (10, 2)
    """
    grid = grid_of_probabilities(grid)
    noise = _Noise.of(epsilon, grid.size, sensitivity)
    stream = source(rng)
    is_positive, scores = records(*in_memory(y_true, y_prob), pos_label, nan_policy)
    if not 1 <= scores.size <= _MOST_RECORDS:
        raise ParameterError("y_true", scores.size, f"must hold 1 to {_MOST_RECORDS} records")
    groups = check_groups(groups, scores.size, fitted)
    with releasing(noise.privacy, "hosmer_lemeshow_by_groups", rng) as privacy:
        curve = cdf(scores, grid, noise.curve, rng=rng)
        quantiles = curve.quantile(np.arange(1, groups) / groups, method="inverted_cdf")
        observed, expected = _sums(is_positive, np.clip(scores, 0.0, 1.0), quantiles)
        of_counts, of_sums = noise.draw(groups, stream)
    test = HosmerLemeshow(
        np.concatenate([[0.0], quantiles, [1.0]]),
        (observed + of_counts).astype(np.float64),
        (expected + of_sums) / _UNIT,
        np.full(observed.shape, noise.counts.variance**0.5),
        np.ones(groups, np.int64),
        np.zeros(groups),  # the expected numbers are sums of the probabilities themselves
        scores.size,
        privacy,
        fitted,
    )
    negatives, positives = test.observed.sum(axis=0).tolist()
    deviation = (groups * noise.counts.variance) ** 0.5
    totals, label = (negatives, positives), named(pos_label)
    warn_of_classes(curve.as_released(), totals, deviation, label, privacy)
    return replace(test, simulation=_Simulation(test, noise))


class _Noise(NamedTuple):
    """The noise of the curve, of each observed number, and of each expected one in its unit."""

    curve: Dyadic
    counts: Law
    sums: Law
    privacy: Privacy

    @classmethod
    def of(cls, epsilon: float | Fraction, size: int, sensitivity: Sensitivity) -> _Noise:
        """Return noise of one scale, in records, for all released numbers."""
        budget = Allowance.checked(epsilon, None, "replace-one")
        assert budget.epsilon is not None
        _check.choice("sensitivity", sensitivity, Sensitivity)
        if sensitivity == "paper":
            of_curve, of_groups = Fraction((size - 1).bit_length() + 1), _PAPER_CHANGE
        else:
            of_curve, of_groups = Dyadic(1).noise_scale(size), _CHANGE
        share = 1 / (of_curve + of_groups)
        sums = budget.law(_UNIT, share)  # refuses an epsilon that is too small for any of them
        curve = Dyadic(max(of_curve, Fraction(1)) * share * budget.epsilon, sensitivity=sensitivity)
        return cls(curve, budget.law(1, share), sums, budget.privacy)

    def draw(self, groups: int, stream: Source) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return noise for all observed numbers, (Q, 2), and for all expected ones, (Q, 2)."""
        of_counts, of_sums = np.empty((groups, 2), np.int64), np.empty((groups, 2), np.int64)
        self.counts.fill(of_counts.reshape(-1), stream)
        self.sums.fill(of_sums.reshape(-1), stream)
        return of_counts, of_sums


@dataclass(frozen=True, slots=True)
class _Simulation:
    """Tests of simulated labels, with the expected numbers that were released.

    The released expected numbers are in the denominators, so they stay fixed. The expected numbers
    before noise are drawn around them, and labels are drawn to fit these. The differences then have
    the law that they have in a release, whatever is expected (docs/proofs/hosmer-lemeshow.md,
    section 4).
    """

    test: HosmerLemeshow
    noise: _Noise

    def __call__(
        self, replicates: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        observed = np.stack([self._observed(rng) for _ in range(replicates)])
        degrees = np.full(replicates, self.test.degrees_of_freedom)
        return statistics(observed, self.test.expected), degrees

    def _observed(self, rng: np.random.Generator) -> NDArray[np.float64]:
        of_counts, of_sums = self.noise.draw(self.test.merged.size, source(rng))
        expected = np.maximum(self.test.expected - of_sums / _UNIT, 0.0)
        sizes = expected.sum(axis=1)
        rates = np.divide(expected[:, 1], sizes, out=np.full(sizes.size, 0.5), where=sizes > 0.0)
        records = np.rint(sizes).astype(np.int64)
        positives = RightLabels.of(records, rates, self.test.fitted).draw(1, rng)[0]
        observed = np.stack([records - positives, positives], axis=1) + of_counts
        return observed.astype(np.float64)


def _sums(
    is_positive: NDArray[np.bool_], probabilities: NDArray[Any], quantiles: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the observed numbers, (Q, 2), and the expected ones, (Q, 2), in units of 2^-20."""
    groups = quantiles.size + 1
    of_record = np.searchsorted(quantiles, probabilities, side="left")
    sizes = np.bincount(of_record, minlength=groups)
    positives = np.bincount(of_record[is_positive], minlength=groups)
    units = np.rint(probabilities * _UNIT)
    # Sums of doubles are exact if they are whole and below 2^53.
    expected = np.bincount(of_record, units, groups).astype(np.int64)
    return (
        np.stack([sizes - positives, positives], axis=1),
        np.stack([_UNIT * sizes - expected, expected], axis=1),
    )
