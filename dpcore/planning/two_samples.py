"""Do two released curves differ by more than chance? Four statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.own_mechanism import Releases
from .differences import Distance, Statistic, share_beyond, shares
from .distribution_tests import DistributionTest
from .released_pairs import Released, populations, released_pair, simulated_pairs

__all__ = ["two_sample_test"]

_MOST_SIMULATIONS: Final = 2**20


def two_sample_test(
    first: CDF,
    second: CDF,
    statistic: Statistic = "kolmogorov-smirnov",
    *,
    mechanism: Releases | Sequence[Releases | None] | None = None,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> DistributionTest:
    """Test whether the records of two released curves are samples of one population.

    Parameters
    ----------
    first, second
        Raw or isotonic curves over the same grid, of disjoint records. Mechanisms, budgets and
        numbers of records may differ.
    statistic
        As in ``goodness_of_fit``, with F and G of the two curves of n and m records. In
        "cramer-von-mises", n m / (n + m) stands for n, and g is the share of each cell in both
        curves together. F and G are as they were released, before ``isotonic``, if curves keep raw
        counts, as those of ``dpcore.cdf`` do.
    mechanism
        The mechanism or trust model that released both curves, or one for each. None:
        ``dpcore.mechanisms.from_curve`` makes it again.
    simulations
        R, how many pairs of releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for them. None: one that the first curve's counts seed, so the same curves
        always have the same p-value. They are public, so it need not be secret.

    Returns
    -------
    DistributionTest
        With ``statistic`` and ``pvalue``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that a curve names; or a curve
        protects clients.

    Notes
    -----
    This is post-processing and costs no privacy. Pairs of samples from the curves' common estimate
    of the population are released again. So the p-value is approximate; docs/measured/tests.md
    measures how often true hypotheses are rejected. Raw counts are taken because their noise does
    not depend on the records. For exact curves whose cells hold one value
    each, the statistics are those of ``scipy.stats.ks_2samp``, ``cramervonmises_2samp`` (without
    ties) and ``wasserstein_distance``. The cost is that of 2 R releases, or 4 R if a mechanism
    searches for buckets.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 24)
    >>> ages = rng.normal(40, 12, 3000), rng.normal(41, 12, 2000)
    >>> first, second = (dp.cdf(group, grid, epsilon=1.0, rng=rng) for group in ages)
    >>> dp.two_sample_test(first, second, "wasserstein")
    <DistributionTest: wasserstein 0.615, p = 0.41, 3,000 and 2,000 records>
    """
    pair = released_pair(first, second, mechanism)
    _check.choice("statistic", statistic, Statistic)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    rng = pair[0].simulation.generator(rng)
    possible, n = populations(*pair), (first.n, second.n)
    distance = Distance.on("first", first.grid, statistic, possible[0], *n)
    own = [shares(np.asarray(one.curve.counts, np.float64)[np.newaxis]) for one in pair]
    given = float(distance(own[0] - own[1])[0])
    nulls = [_of_population(pair, distance, each, simulations, rng) for each in possible]
    return DistributionTest(
        name=statistic,
        n=n,
        statistic=given,
        pvalue=max(float(share_beyond(null, given)) for null in nulls),
        simulations=simulations,
        privacy=(first.privacy, second.privacy),
    )


def _of_population(
    pair: tuple[Released, Released],
    distance: Distance,
    population: NDArray[np.float64],
    simulations: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the statistics of pairs of releases of samples of one population, (R,)."""
    pairs = simulated_pairs(pair, (population, population), simulations, rng)
    return np.concatenate([distance(shares(first) - shares(second)) for first, second in pairs])
