"""Statistics of released sums: the same values as of one curator's, whoever made the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.likely_mistakes import SURE, percent, warn
from ..curves.projection import Projection
from ..errors import DtypeError, ParameterError
from ..noise.sources import source
from ..statistics.binning import Bins, share
from ..statistics.calibration import Reliability
from ..statistics.hosmer_lemeshow import HosmerLemeshow, statistics
from ..statistics.residual_moments import ResidualMoments
from ..statistics.right_labels import RightLabels
from ..statistics.risk_groups import of_public_groups
from ..summaries.polynomials import FIXED_POINT
from .functions.combined import Coarse
from .functions.function import Function
from .functions.of_projections import ProjectionSums
from .functions.of_regressions import RegressionSums
from .functions.of_residuals import ResidualSums
from .functions.of_risk_groups import RiskGroupSums
from .functions.sum_noise import SumNoise
from .protocol.released_sums import ReleasedSum
from .protocol.trust_models import Summing, names_of

if TYPE_CHECKING:
    from ..models import LinearRegression

__all__ = ["hosmer_lemeshow", "linear_regression", "projection", "reliability", "residual_moments"]

Reals = NDArray[np.float64]
_Of = TypeVar("_Of", bound=Function)

_MOST_LOST: Final = 0.1  # a share of the records
_NO_LABEL: Final = "have no label of 0 or 1: is it the order (label, probability)?"
_BITS: Final = 61  # of a total of a projection, with its fixed point


def projection(released: ReleasedSum) -> Projection:
    """Return the projection of which the sums have been released.

    Parameters
    ----------
    released
        The sum of ``functions.ProjectionSums``, also ``Coarse``.

    Returns
    -------
    Projection
        As ``dpcore.project`` makes it. The guarantee is that of the sum.

    Raises
    ------
    DtypeError, ParameterError
        It is another sum, or the number of records is not public.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, of = np.random.default_rng(1), dp.trust.functions.ProjectionSums(130, 210)
    >>> heights, trust = rng.normal(170, 8, 5000), dp.trust.DistributedNoise(rho=0.5, clients=5000)
    >>> found = dp.trust.projection(dp.trust.vector_sum(heights, of, trust, rng=rng))
    >>> round(found.curve(dp.Grid.uniform(130, 210, 160)).isotonic().quantile(0.5))
    170
    """
    of, n = _checked(released, ProjectionSums)
    bits = min(FIXED_POINT, _BITS - max(1, n).bit_length())
    return Projection(
        lower=of.lower,
        upper=of.upper,
        n=n,
        totals=tuple(round(math.ldexp(total, bits)) for total in released.total.tolist()),
        bits=bits,
        variance=float(released.deviation.max()) ** 2,
        basis="legendre",
        budgets=of.budgets,
        privacy=released.privacy,
        mechanism=released.mechanism,
    )


def linear_regression(released: ReleasedSum, *, alpha: float = 1.0) -> LinearRegression:
    """Return the model of which the sums of products have been released.

    Parameters
    ----------
    released
        The sum of ``functions.RegressionSums``, also ``Coarse``.
    alpha
        The penalty, as in ``models.LinearRegression``.

    Returns
    -------
    LinearRegression
        As its method "moments" fits it: ``privacy_`` is the guarantee of the sum. With ``rho`` its
        ``epsilon`` is None.

    Raises
    ------
    DtypeError, ParameterError
        It is another sum, the number of records is not public, or ``alpha`` is not positive.
    MissingExtraError
        scikit-learn is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, (5_000, 2))
    >>> records = np.column_stack([X, X @ [1.0, 2.0] + rng.normal(0, 1, 5_000)])
    >>> of = dp.trust.functions.RegressionSums(([0, 0], [10, 10]), (0, 30))
    >>> sites = dp.trust.DistributedNoise(epsilon=1.0, clients=100, records=None)
    >>> released = dp.trust.vector_sum(records, of, sites, rng=rng)
    >>> model = dp.trust.linear_regression(released)
    >>> model.coef_.round(1), round(model.score(X, records[:, 2]), 2)
    (array([1., 2.]), 0.98)
    """
    from .. import models

    of, n = _checked(released, RegressionSums)
    penalty = _check.positive("alpha", alpha)
    size = of.features + 1 + of.fit_intercept
    noisy = np.zeros((size, size))
    noisy[of.places] = released.total
    if of.fit_intercept:
        noisy[-1, -1] = n  # the sum of ones
    return models.LinearRegression._of_sums(
        noisy,
        n,
        float(released.deviation.max()),
        of.of("x_bounds"),
        of.of("y_bounds"),
        released.privacy,
        alpha=penalty,
        fit_intercept=of.fit_intercept,
    )


def hosmer_lemeshow(
    released: ReleasedSum, trust: Summing | None = None, *, fitted: bool = True
) -> HosmerLemeshow:
    """Return the Hosmer-Lemeshow test of released sums, Algorithm 2 of the ECDF paper.

    Parameters
    ----------
    released
        The sum of ``functions.RiskGroupSums``, also ``Coarse``.
    trust
        The trust model that released it. ``pvalue`` and ``under_noise`` simulate its noise, but not
        the rounding: give coarse values 8 bits or more. None: they raise an error.
    fitted
        As in ``statistics.HosmerLemeshow.from_curves``.

    Returns
    -------
    HosmerLemeshow
        Its expected numbers are sums of the probabilities themselves. A group of which fewer
        negatives or positives are expected than 5, or than the deviation of the noise in a group's
        count, is merged with the next one, and the last with the one before.

    Warns
    -----
    DpcoreWarning
        More than a tenth of the records have no label of 0 or 1.

    Raises
    ------
    DtypeError, ParameterError
        It is another sum, the number of records is not public, or another trust model has made it.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, of = np.random.default_rng(1), dp.trust.functions.RiskGroupSums([0, 0.25, 0.5, 1])
    >>> scores = rng.random(10_000)
    >>> records = np.stack([rng.random(10_000) < scores, scores], axis=1)
    >>> trust = dp.trust.DistributedNoise(epsilon=1.0, clients=10_000)
    >>> released = dp.trust.vector_sum(records, of, trust, rng=rng)
    >>> test = dp.trust.hosmer_lemeshow(released, trust, fitted=False)
    >>> test.degrees_of_freedom, test.pvalue > 0.01
    (3, True)
    """
    of, n = _checked(released, RiskGroupSums)
    _warn_of_lost(released, n, _NO_LABEL)
    observed, positives = _of_groups(released.total)
    expected = np.stack([observed.sum(axis=1) - positives, positives], axis=1)
    deviations = _deviations_of_groups(released)
    groups = of_public_groups(np.array(of.edges), observed, expected, deviations)
    test = HosmerLemeshow(*groups, n, released.privacy, fitted)
    if trust is None:
        return test
    if not isinstance(trust, Summing):
        raise DtypeError("trust", type(trust).__name__, f"must be a {names_of(Summing)}")
    if trust.describe() != dict(released.mechanism):
        raise ParameterError("trust", trust, "must be the one that released the sum")
    noise = trust.sum_noise(released.function, "replace-one")
    return replace(test, simulation=_Simulation(test, expected, noise))


def reliability(released: ReleasedSum) -> Reliability:
    """Return mean scores and shares of positives by bins, from released sums.

    Parameters
    ----------
    released
        The sum of ``functions.RiskGroupSums``, also ``Coarse``.

    Returns
    -------
    Reliability
        Its mean scores are of the scores themselves, not of places in cells.

    Warns
    -----
    DpcoreWarning
        More than a tenth of the records have no label of 0 or 1.

    Raises
    ------
    DtypeError, ParameterError
        It is another sum, or the number of records is not public.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, of = np.random.default_rng(1), dp.trust.functions.RiskGroupSums([0, 0.25, 0.5, 1])
    >>> scores = rng.random(10_000)
    >>> records = np.stack([rng.random(10_000) < scores**2, scores], axis=1)
    >>> sites = dp.trust.DistributedNoise(epsilon=1.0, clients=100, records=None)
    >>> table = dp.trust.reliability(dp.trust.vector_sum(records, of, sites, rng=rng))
    >>> table.mean_score.round(2), table.positive_rate.round(2)
    (array([0.12, 0.38, 0.75]), array([0.02, 0.15, 0.6 ]))
    """
    of, n = _checked(released, RiskGroupSums)
    _warn_of_lost(released, n, _NO_LABEL)
    observed, probabilities = _of_groups(released.total)
    (negatives, positives), edges = np.maximum(observed, 0.0).T, np.array(of.edges)
    mean = np.clip(share(probabilities, negatives + positives), edges[:-1], edges[1:])
    of_negatives, of_positives = _deviations_of_groups(released).T
    bins = Bins(edges, negatives, positives, mean, of_negatives, of_positives)
    return Reliability(bins, released.privacy)


def residual_moments(released: ReleasedSum) -> ResidualMoments:
    """Return means and standard deviations of residuals by bins, from released sums.

    Parameters
    ----------
    released
        The sum of ``functions.ResidualSums``.

    Warns
    -----
    DpcoreWarning
        More than a tenth of the records are in no bin.

    Raises
    ------
    DtypeError, ParameterError
        It is another sum, or the number of records is not public.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, of = np.random.default_rng(1), dp.trust.functions.ResidualSums([0, 1, 2], reach=8)
    >>> predicted = rng.uniform(0, 2, 10_000)
    >>> records = np.column_stack([predicted, rng.normal(0.5, 1, 10_000) * predicted])
    >>> sites = dp.trust.DistributedNoise(epsilon=1.0, clients=100, records=None)
    >>> found = dp.trust.residual_moments(dp.trust.vector_sum(records, of, sites, rng=rng))
    >>> found.mean.round(1), found.deviation.round(1)
    (array([0.2, 0.7]), array([0.5, 1.5]))
    """
    of, n = _checked(released, ResidualSums)
    _warn_of_lost(released, n, "are in no bin: is it the order (predicted value, residual)?")
    low, middle, high = released.total.reshape(-1, 3).T
    counts = np.maximum(low + middle + high, 0.0)
    mean = np.clip(share(high - low, counts), -1.0, 1.0)
    squares = np.clip(share(low + high - middle, counts), 0.0, 1.0)
    # The mean changes by these parts of the noise in the three sums, over the count.
    weights = np.sqrt((1.0 + mean) ** 2 + mean**2 + (1.0 - mean) ** 2)
    return ResidualMoments(
        np.array(of.edges),
        counts,
        of.reach * mean,
        of.reach * np.sqrt(np.maximum(squares - mean**2, 0.0)),
        of.reach * share(weights * float(released.deviation.max()), counts),
        released.privacy,
    )


@dataclass(frozen=True, slots=True)
class _Simulation:
    """Tests of simulated labels, with the expected numbers that were released, (G, 2).

    These are in the denominators, so they stay fixed, and with them how groups are merged. Numbers
    before noise are drawn around the released ones, and labels are drawn to fit these.
    """

    test: HosmerLemeshow
    released: Reals
    noise: SumNoise

    def __call__(
        self, replicates: int, rng: np.random.Generator
    ) -> tuple[Reals, NDArray[np.int64]]:
        observed = np.stack([self._observed(rng) for _ in range(replicates)])
        merged = self.test.merged
        observed = np.add.reduceat(observed, np.cumsum(merged) - merged, axis=1)
        degrees = np.full(replicates, self.test.degrees_of_freedom)
        return statistics(observed, self.test.expected), degrees

    def _observed(self, rng: np.random.Generator) -> Reals:
        steps = self.noise.drawn(source(rng)) * self.noise.lattice.units
        of_counts, of_sums = _of_groups(steps)
        released = self.released
        # Noise of the sizes is in the expected negatives, too: it is that of the observed numbers.
        sizes = np.maximum(released.sum(axis=1) - of_counts.sum(axis=1), 0.0)
        expected = np.clip(released[:, 1] - of_sums, 0.0, sizes)
        rates = np.divide(expected, sizes, out=np.full(sizes.size, 0.5), where=sizes > 0.0)
        records = np.rint(sizes).astype(np.int64)
        positives = RightLabels.of(records, rates, self.test.fitted).draw(1, rng)[0]
        return np.asarray(np.stack([records - positives, positives], axis=1) + of_counts)


def _of_groups(products: Reals) -> tuple[Reals, Reals]:
    """Return negatives and positives, (G, 2), and sums of probabilities, (G,), of risk groups."""
    by_label = products.reshape(-1, 2, 2)
    return by_label.sum(axis=2), by_label[:, :, 1].sum(axis=1)


def _deviations_of_groups(released: ReleasedSum) -> Reals:
    """Return the standard deviations of negatives and positives, (G, 2)."""
    return np.asarray(np.sqrt(np.square(released.deviation).reshape(-1, 2, 2).sum(axis=2)))


def _warn_of_lost(released: ReleasedSum, n: int, what: str) -> None:
    """Warn if many records are in no group or bin; the values of all others add up to 1 each."""
    lost = n - float(released.total.sum())
    noise = math.sqrt(float(np.sum(np.square(released.deviation))))
    if lost - SURE * noise > _MOST_LOST * n:
        warn(f"{percent(lost / n)} of the records {what}")


def _checked(released: object, kind: type[_Of]) -> tuple[_Of, int]:
    """Return the function of a sum and the public number of records, or refuse the sum.

    Coarse values have the same sums but for rounding, which is in the deviations.
    """
    _check.instance("released", released, ReleasedSum, "must be a ReleasedSum")
    assert isinstance(released, ReleasedSum)
    of = released.function.function if isinstance(released.function, Coarse) else released.function
    if not isinstance(of, kind):
        raise ParameterError("released", of.name, f"must be of {kind.__name__}")
    if released.n is None:
        raise ParameterError("released", None, "must have a public number of records")
    return of, released.n
