"""Means and standard deviations of residuals by bins of predicted values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..curves.shown import cost, line
from ..errors import amount
from ..privacy.guarantees import Privacy
from .binning import share

__all__ = ["ResidualMoments"]

Reals = NDArray[np.float64]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ResidualMoments:
    """Released means and standard deviations of residuals, by bins of predicted values.

    ``trust.residual_moments`` makes it. A model fits in a bin if the mean is 0, up to a few
    standard errors; deviations that differ show that errors have different variances.

    Parameters
    ----------
    edges
        (B + 1,) the edges of the bins. Bin b has edges[b] < predicted value <= edges[b + 1].
    counts
        (B,) released numbers of records, 0 or more.
    mean, deviation
        (B,) the mean and the standard deviation of the residuals; NaN if the bin is empty.
    noise_deviation
        (B,) the standard deviation of the privacy noise in ``mean``, to first order.
    privacy
        The cost of the release.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> predicted = rng.uniform(0, 2, 10_000)
    >>> records = np.column_stack([predicted, rng.normal(0.5, 1, 10_000) * predicted])
    >>> of = dp.trust.functions.ResidualSums([0, 1, 2], reach=8)
    >>> trust = dp.trust.Central(epsilon=1.0)
    >>> dp.trust.residual_moments(dp.trust.vector_sum(records, of, trust, rng=rng))
    <ResidualMoments: n = 9997, epsilon = 1, SIMULATED, 2 bins>
    """

    edges: Reals
    counts: Reals
    mean: Reals
    deviation: Reals
    noise_deviation: Reals
    privacy: Privacy

    def __post_init__(self) -> None:
        _check.held("counts", self.counts, (None,))
        _check.held("edges", self.edges, (self.counts.size + 1,))
        for name in ("mean", "deviation", "noise_deviation"):
            _check.held(name, getattr(self, name), self.counts.shape)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")

    def __repr__(self) -> str:
        size, n = self.counts.size, round(float(self.counts.sum()))
        return line("ResidualMoments", f"n = {n}, {cost(self.privacy)}, {amount(size, 'bin')}")

    @property
    def standard_error(self) -> Reals:
        """(B,) the error of ``mean``, by noise and by sampling."""
        return np.hypot(self.noise_deviation, np.sqrt(share(self.deviation**2, self.counts)))

    @property
    def table(self) -> Mapping[str, Reals]:
        """The columns by name, each (B,); ``pandas.DataFrame(found.table)`` shows them."""
        return {
            "lower": self.edges[:-1],
            "upper": self.edges[1:],
            "counts": self.counts,
            "mean": self.mean,
            "deviation": self.deviation,
            "noise_deviation": self.noise_deviation,
            "standard_error": self.standard_error,
        }
