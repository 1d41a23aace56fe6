"""The Hosmer-Lemeshow test with the release's noise in its null distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..randomness import source
from ..scores import ScoreCurves
from ._risk_groups import check_minimum
from .binning import Cells
from .hosmer_lemeshow import HosmerLemeshow

__all__ = ["HosmerLemeshowUnderNoise", "Releases", "hosmer_lemeshow_under_noise"]

_PROCESSINGS: Final = ((), ("isotonic()",))  # what from_curves does to simulated releases


@runtime_checkable
class Releases(Protocol):
    """What can be simulated: any mechanism, or what some parties do together."""

    def release(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return noisy cumulative counts, (2 N,), from the exact counts, (2 N,)."""
        ...

    def describe(self) -> Mapping[str, str | int | float]:
        """Return the name and the parameters, as a release records them."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class HosmerLemeshowUnderNoise:
    """A released Hosmer-Lemeshow test beside simulated ones, for a model that is right.

    Made by ``hosmer_lemeshow_under_noise``.

    Parameters
    ----------
    test
        The test as it was released.
    null
        (R,) statistics of the simulated releases.
    null_degrees_of_freedom
        (R,) theirs: what is merged differs from one to the next.
    """

    test: HosmerLemeshow
    null: NDArray[np.float64]
    null_degrees_of_freedom: NDArray[np.int64]

    @property
    def pvalue(self) -> float:
        """The share of releases, this one among them, whose statistic is as large or larger.

        Compared by their normal scores, since they may have other degrees of freedom. NaN if the
        test has none.
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


def hosmer_lemeshow_under_noise(
    curves: ScoreCurves,
    mechanism: Releases,
    groups: int = 10,
    *,
    minimum_expected: float | None = None,
    fitted: bool = True,
    replicates: int = 999,
    rng: np.random.Generator | None = None,
) -> HosmerLemeshowUnderNoise:
    """Return the test of a released pair of curves, with a p-value that knows of the noise.

    Post-processing: simulated labels are released again and again, the records themselves are not
    touched, and nothing is spent.

    Parameters
    ----------
    curves
        As in ``HosmerLemeshow.from_curves``; raw, or made monotone by ``isotonic``.
    mechanism
        What released them.
    groups, minimum_expected, fitted
        As in ``HosmerLemeshow.from_curves``.
    replicates
        R, how many releases to simulate. The p-value is at least 1 / (R + 1).
    rng
        None for fresh entropy. No secrecy is needed: the curves are public already.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that the curves name.

    Notes
    -----
    A parametric bootstrap. A simulated record has the middle of its cell as its probability of
    being positive; as many are in each cell as were released. If the model was fitted to the
    records, the labels are then shifted, so that residuals are orthogonal to 1 and to the logit of
    the probability: so are those of a logistic regression. docs/hosmer-lemeshow.md has the
    assumptions, and docs/hosmer-lemeshow-accuracy.md how often it rejects. R releases.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.statistics.hosmer_lemeshow_noise import hosmer_lemeshow_under_noise
    >>> rng = np.random.default_rng(1)
    >>> y_prob = rng.beta(2, 5, 10_000)
    >>> mechanism = dp.mechanisms.Hierarchy(epsilon=0.5)
    >>> y_true = rng.random(10_000) < y_prob  # so the model is right
    >>> curves = dp.score_curves(y_true, y_prob, mechanism=mechanism, rng=rng)
    >>> options = {"fitted": False, "replicates": 99, "rng": rng}
    >>> found = hosmer_lemeshow_under_noise(curves, mechanism, **options)
    >>> found.test.pvalue < 0.05 < found.pvalue
    True
    """
    test = HosmerLemeshow.from_curves(
        curves, groups, minimum_expected=minimum_expected, fitted=fitted
    )
    replicates = _check.integer("replicates", replicates, 1, 2**20)
    if not isinstance(mechanism, Releases):
        raise DtypeError("mechanism", type(mechanism).__name__, "must be a mechanism")
    if curves.joint.processing not in _PROCESSINGS:
        raise ParameterError("curves", curves.joint.processing, "must be raw, or isotonic()")
    if mechanism.describe() != curves.joint.mechanism:
        raise ParameterError(
            "mechanism", mechanism.describe(), f"must be the curves' own, {curves.joint.mechanism}"
        )
    if rng is None:
        rng = np.random.default_rng()
    source(rng)
    checked = int(groups), check_minimum(minimum_expected), fitted
    labels = _Labels.of(Cells.of(curves), fitted)
    null, degrees = np.empty(replicates), np.empty(replicates, np.int64)
    for i in range(replicates):
        counts = labels.draw(rng)
        if curves.has_empty:
            counts = np.insert(counts, curves.grid.size, curves.joint.n - counts.sum())
        released = mechanism.release(counts, rng=rng)
        joint = replace(curves.joint, counts=released, processing=())
        again = HosmerLemeshow.of_checked(ScoreCurves(curves.grid, joint), *checked)
        null[i], degrees[i] = again.statistic, again.degrees_of_freedom
    return HosmerLemeshowUnderNoise(test, null, degrees)


@dataclass(frozen=True, slots=True)
class _Labels:
    """Labels that go with the probabilities.

    Parameters
    ----------
    records
        (N,) in each cell.
    middles
        (N,) their probability of being positive.
    design
        (p, N) what residuals are orthogonal to: 1 and the logit of the probability, or nothing.
    inverse
        (p, p) of the design's Fisher information.
    """

    records: NDArray[np.int64]
    middles: NDArray[np.float64]
    design: NDArray[np.float64]
    inverse: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Cells, fitted: bool) -> _Labels:
        """Return those of released cells."""
        records, middles = np.diff(np.rint(cells.totals)).astype(np.int64), cells.middles
        inside = np.clip(middles, 1e-12, 1.0 - 1e-12)  # a cell {0} has no weight
        logits = np.log(inside) - np.log1p(-inside)
        design = np.stack([np.ones(middles.size), logits])[: 2 if fitted else 0]
        information = design * (records * middles * (1.0 - middles)) @ design.T
        return cls(records, middles, design, np.linalg.pinv(information, hermitian=True))

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return counts as ``score_counts`` does, (2 N,)."""
        positives = rng.binomial(self.records, self.middles)
        # one step of Newton's method: what a fit to these labels would add to the probabilities
        step = self.inverse @ (self.design @ (positives - self.records * self.middles))
        shift = self.records * self.middles * (1.0 - self.middles) * (step @ self.design)
        whole = np.diff(np.rint(np.cumsum(shift)), prepend=0.0).astype(np.int64)
        positives = np.clip(positives - whole, 0, self.records)
        return np.concatenate([self.records - positives, positives[::-1]])


def _normal_scores(statistic: Any, degrees_of_freedom: Any) -> NDArray[np.float64]:
    """Return where statistics lie under the chi-squared law, in normal deviations.

    Wilson & Hilferty 1931: far out, too, where probabilities are too small for doubles. NaN where
    there is no degree of freedom.
    """
    degrees = np.where(np.asarray(degrees_of_freedom) < 1, np.nan, degrees_of_freedom)
    variance = 2.0 / (9.0 * degrees)
    return np.asarray((np.cbrt(statistic / degrees) - (1.0 - variance)) / np.sqrt(variance))
