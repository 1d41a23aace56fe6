"""Does a released curve follow a given law?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.own_mechanism import Releases
from ..curves.simulated_releases import Simulation, blocks
from ..errors import DtypeError, ParameterError
from ..mechanisms.simulated_deviation import simulation_of
from ..summaries.grid import Grid
from .differences import Distance, Statistic, share_beyond, shares
from .distribution_tests import DistributionTest

__all__ = ["goodness_of_fit"]

_MOST_SIMULATIONS: Final = 2**20
_ROUNDING: Final = 1e-9  # a law may fall by so much, or exceed 1


def goodness_of_fit(
    curve: CDF,
    law: Any,
    statistic: Statistic = "kolmogorov-smirnov",
    *,
    mechanism: Releases | None = None,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> DistributionTest:
    """Test whether the records of a released curve are a sample of a given law.

    Parameters
    ----------
    curve
        A released curve, raw or isotonic.
    law
        Its distribution function, or an object with one as ``cdf``, such as a frozen distribution
        of ``scipy.stats``, discrete or continuous. It gets the (N,) thresholds, and returns the
        probability of a value up to each. Its parameters must not come from these records.
    statistic
        With F of the curve and G of the law, at the N thresholds: "kolmogorov-smirnov":
        max |F - G|. "kuiper": max (F - G) + max (G - F). "cramer-von-mises": n sum (F - G)^2 g,
        where g is the law's probability of each cell. "wasserstein": the area between F and G,
        in units of the values, on a grid of numbers.
    mechanism
        The mechanism or trust model that released the curve. None: ``dpcore.mechanisms.from_curve``
        makes it again.
    simulations
        R, how many releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for them. None: one that the released counts seed, so the same curve always
        has the same p-value. They are public, so it need not be secret.

    Returns
    -------
    DistributionTest
        With ``statistic`` and ``pvalue``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or the law's values are not probabilities that never fall; or
        the mechanism is not the one that the curve names; or the curve protects clients.

    Notes
    -----
    This is post-processing and costs no privacy. Samples of n records of the law are counted,
    released by the curve's mechanism and processed as the curve was. The p-value is the share of
    statistics, the given one included, that are at least as large. The law determines these
    samples, so the test rejects at most as often as its level says, exactly so, for every law
    (atoms included), mechanism, budget and n. Only where n is released, too, the released one is
    taken for true. The test does not see differences within cells: beyond the grid, the law is in
    its end cells, as records are. For exact curves over many cells, the tests are those of
    ``scipy.stats.kstest`` and ``cramervonmises``; of discrete laws, that of Choulakian, Lockhart
    & Stephens (1994, *Cramer-von Mises statistics for discrete distributions*).

    The cost is that of R releases, O(R N).

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.stats
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.integers(0, 30)
    >>> curve = dp.cdf(rng.poisson(9, 2000), grid, epsilon=1.0, rng=rng)
    >>> dp.goodness_of_fit(curve, scipy.stats.poisson(9))
    <DistributionTest: kolmogorov-smirnov 0.0108, p = 0.81, 2,000 records>
    >>> dp.goodness_of_fit(curve, scipy.stats.poisson(9.5).cdf, "cramer-von-mises").pvalue
    0.001
    """
    _check.instance("curve", curve, CDF, "must be a CDF")
    _check.choice("statistic", statistic, Statistic)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    simulation = simulation_of("curve", curve, mechanism)
    cells = _cells_of(law, curve.grid)
    distance = Distance.on("curve", curve.grid, statistic, cells, curve.n)
    given = _distances(distance, np.asarray(curve.counts, np.float64)[np.newaxis])
    null = _of_law(distance, simulation, simulations, simulation.generator(rng))
    return DistributionTest(
        name=statistic,
        n=(curve.n,),
        statistic=float(given[0]),
        pvalue=float(share_beyond(null, given[0])),
        simulations=simulations,
        privacy=(curve.privacy,),
    )


def _of_law(
    distance: Distance, simulation: Simulation, simulations: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the statistics of simulated releases, each of a sample of the law, (R,)."""
    found = [
        _distances(
            distance, simulation.of_population(some.stop - some.start, rng, distance.weights)
        )
        for some in blocks(simulations, distance.weights.size)
    ]
    return np.concatenate(found)


def _distances(distance: Distance, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the statistics of curves of these counts and the law, (R, N) to (R,)."""
    return distance(shares(counts) - np.cumsum(distance.weights))


def _cells_of(law: Any, grid: Grid) -> NDArray[np.float64]:
    """Return the probability that a law gives each cell of a grid, (N,)."""
    if isinstance(law, CDF):
        what = "must be a law without noise: write dp.two_sample_test for two released curves"
        raise DtypeError("law", "a released curve", what)
    function = getattr(law, "cdf", law)
    if isinstance(function, type) or not callable(function):
        what = "must be a distribution function, or have one as cdf, such as scipy.stats.norm(0, 1)"
        raise DtypeError("law", type(law).__name__, what)
    up_to = _check.array("law", function(grid.thresholds), "iuf").astype(np.float64)
    if up_to.shape != (grid.size,):
        raise ParameterError("law", up_to.shape, f"must return {grid.size} numbers")
    cells = np.diff(up_to, prepend=0.0)
    if not (cells.min() >= -_ROUNDING and up_to.max() <= 1.0 + _ROUNDING):  # NaN is neither
        what = "must return probabilities within [0, 1] that never fall"
        raise ParameterError("law", (float(up_to.min()), float(up_to.max())), what)
    cells[-1] = 1.0 - up_to[:-1].max(initial=0.0)  # with the part beyond the grid
    cells = np.maximum(cells, 0.0)
    return np.asarray(cells / cells.sum())
