"""Do released counts of categories follow given shares, or those of other released counts?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.counts import Counts, laplace_rate
from ..errors import ParameterError
from ..noise.sources import source
from .differences import share_beyond
from .distribution_tests import DistributionTest

__all__ = ["chi_square_test"]

Reals = NDArray[np.float64]

_MOST_SIMULATIONS: Final = 2**20
_BLOCK: Final = 2**22  # numbers that are simulated at a time
_SUM: Final = 1e-6  # how far given probabilities may be from a sum of 1
_MOST_RECORDS: Final = 2**53


def chi_square_test(
    counts: Counts,
    other: Counts | ArrayLike,
    *,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> DistributionTest:
    """Test whether released counts fit given shares, or shares that other counts fit, too.

    Parameters
    ----------
    counts
        The released counts of K >= 2 categories.
    other
        Counts of the same categories, of other records; or (K,) positive probabilities, which must
        not come from these records. Records in no category do not matter.
    simulations
        R, how many releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for them. None: one that the counts seed, so the same counts always have the
        same p-value. They are public, so it need not be secret.

    Returns
    -------
    DistributionTest
        With ``statistic`` and ``pvalue``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    This is post-processing and costs no privacy. The statistic is the sum of squared differences of
    counts and expected counts over their variances of sampling and noise. Without noise it is
    Pearson's. The noise also changes its law, which is that of R simulated releases (Gaboardi et
    al. 2016, *Differentially private chi-squared hypothesis testing*, section 5), for two of the
    shares of both together. The cost is O(R K).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(2)
    >>> first, second = (
    ...     dp.counts(rng.choice(3, 1000, p=p), range(3), epsilon=1.0, rng=rng)
    ...     for p in ([0.5, 0.3, 0.2], [0.4, 0.3, 0.3])
    ... )
    >>> dp.chi_square_test(first, [0.5, 0.3, 0.2])
    <DistributionTest: chi-square 0.561, p = 0.76, 1,007 records>
    >>> dp.chi_square_test(first, second)
    <DistributionTest: chi-square 29.8, p = 0.001, 1,007 and 1,005 records>
    """
    _check.instance("counts", counts, Counts, "must be Counts: write dp.counts(...)")
    releases: tuple[Counts, ...] = (counts,)
    law = None
    if isinstance(other, Counts):
        if other.categories != counts.categories:
            raise ParameterError("other", other.categories, "must have the same categories")
        if other is counts:
            what = "must be another release than counts, of other records"
            raise ParameterError("other", other, what)
        releases = (counts, other)
    else:
        law = _law_of(other, len(counts))
    if len(counts) < 2:
        raise ParameterError("counts", len(counts), "must have two categories or more")
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    if rng is None:
        seed = np.concatenate([release.noisy for release in releases])
        rng = np.random.default_rng(seed.astype(np.int64).view(np.uint32))
    source(rng)  # refuses other types
    observed = [release.noisy.astype(np.float64)[np.newaxis] for release in releases]
    noise = [release.noise_deviation**2 for release in releases]
    given = float(_statistic(observed, noise, law)[0])
    shares = _pooled(observed)[0] if law is None else law
    null = _simulated(releases, shares, noise, law, simulations, rng)
    return DistributionTest(
        name="chi-square",
        n=tuple(_size(release) for release in releases),
        statistic=given,
        pvalue=float(share_beyond(null, given)),
        simulations=simulations,
        privacy=tuple(release.privacy for release in releases),
    )


def _statistic(observed: list[Reals], noise: list[float], law: Reals | None) -> Reals:
    """Return the statistics of releases of one or two kinds, (R, K) each, (R,)."""
    sizes = [np.maximum(one.sum(axis=1, keepdims=True), 1.0) for one in observed]
    shares = _pooled(observed) if law is None else law
    if law is not None:
        differences = observed[0] - sizes[0] * shares
        variances = sizes[0] * shares + noise[0]
    else:
        differences = observed[0] / sizes[0] - observed[1] / sizes[1]
        (n, m), (of_n, of_m) = sizes, noise
        variances = shares / n + of_n / n**2 + shares / m + of_m / m**2
    terms = np.divide(
        differences**2, variances, out=np.zeros_like(differences), where=variances > 0.0
    )
    found: Reals = terms.sum(axis=1)
    return found


def _pooled(observed: list[Reals]) -> Reals:
    """Return the shares of categories in all releases together, (R, K): equal ones of nothing."""
    positive = np.maximum(np.sum(observed, axis=0), 0.0)
    totals = positive.sum(axis=1, keepdims=True)
    equal = np.full_like(positive, 1.0 / positive.shape[1])
    shares: Reals = np.divide(positive, totals, out=equal, where=totals > 0.0)
    return shares


def _simulated(
    releases: tuple[Counts, ...],
    shares: Reals,
    noise: list[float],
    law: Reals | None,
    simulations: int,
    rng: np.random.Generator,
) -> Reals:
    """Return the statistics of simulated releases of samples with these shares, (R,)."""
    found, rows = [], max(1, _BLOCK // shares.size)
    for start in range(0, simulations, rows):
        size = min(rows, simulations - start)
        drawn = [
            rng.multinomial(_size(one), shares, size) + _noise(one, (size, shares.size), rng)
            for one in releases
        ]
        found.append(_statistic(drawn, noise, law))
    return np.concatenate(found)


def _noise(release: Counts, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[Any]:
    """Return simulated noise of the kind and the deviation of a release."""
    if release.noise_deviation == 0.0:
        return np.zeros(shape)
    if release.privacy.epsilon is None or release.privacy.delta > 0.0:
        return np.rint(rng.normal(0.0, release.noise_deviation, shape))
    chance = -np.expm1(-laplace_rate(release.noise_deviation))
    return np.asarray(rng.geometric(chance, shape) - rng.geometric(chance, shape))


def _size(release: Counts) -> int:
    """Return how many records are in the categories, as released."""
    return min(max(1, int(release.noisy.sum(dtype=np.float64))), _MOST_RECORDS)


def _law_of(given: ArrayLike, categories: int) -> Reals:
    """Return given probabilities, checked, with a sum of 1."""
    law = _check.doubles(_check.array("other", given, "iuf"))
    if law.shape != (categories,):
        raise ParameterError("other", law.shape, f"must be Counts, or ({categories},) numbers")
    if not ((law > 0.0).all() and abs(law.sum() - 1.0) <= _SUM):  # NaN is neither
        raise ParameterError("other", given, "must be positive, with a sum of 1")
    return np.asarray(law / law.sum())
