"""Are two populations nearer to each other than a margin? Two released curves may show that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.own_mechanism import Releases
from ..curves.simulated_releases import Simulation, blocks
from .differences import Distance, shares
from .distribution_tests import DistributionTest
from .released_pairs import Released, released_pair

__all__ = ["equivalence_test"]

EquivalenceStatistic = Literal["kolmogorov-smirnov", "wasserstein"]

Reals = NDArray[np.float64]

_MOST_SIMULATIONS: Final = 2**20
_TIE: Final = 1e-12


def equivalence_test(
    first: CDF,
    second: CDF,
    margin: float,
    statistic: EquivalenceStatistic = "kolmogorov-smirnov",
    *,
    mechanism: Releases | Sequence[Releases | None] | None = None,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> DistributionTest:
    """Test whether two released curves show that their populations are nearer than a margin.

    A large p-value of ``two_sample_test`` does not show that, but only a small one of this test.

    Parameters
    ----------
    first, second, mechanism, simulations, rng
        As in ``two_sample_test``. Isotonic curves keep their raw counts, as those of ``dpcore.cdf``
        do.
    margin
        The null hypothesis is that the distance of the populations is the margin or more: above 0,
        a probability for "kolmogorov-smirnov", and in units of the values for "wasserstein".
    statistic
        The distance at the thresholds, as in ``goodness_of_fit``.

    Returns
    -------
    DistributionTest
        ``statistic`` is the distance of the curves as they are. If ``pvalue`` is small, the
        populations are nearer than the margin.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or as in ``two_sample_test``; or raw counts are not known; or
        the errors of a mechanism are not noise alone at any thresholds.

    Notes
    -----
    This is post-processing and costs no privacy. The p-values come from simulated noise and
    sampling around the raw counts. *Kolmogorov-Smirnov:* both one-sided hypotheses of a difference
    of the margin are tested at each threshold, with binomial laws of two shares that differ by it.
    All have to be rejected, and the largest p-value counts, so the level holds without correction
    (Berger 1982, *Multiparameter hypothesis testing and acceptance sampling*). *Wasserstein:* the
    given area is compared with the margin, plus the error of the area where one function is above
    the other everywhere, which has the largest variance, as errors of neighbouring thresholds go
    together. Noise makes the area of raw counts larger, so this test is on the safe side. Between
    ``knots``, each F is between its values at the knots around.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 24)
    >>> ages = rng.normal(40, 12, 3000), rng.normal(40.5, 12, 2000)
    >>> first, second = (dp.cdf(group, grid, epsilon=1.0, rng=rng) for group in ages)
    >>> dp.equivalence_test(first, second, 0.1).pvalue
    0.001
    >>> dp.equivalence_test(first, second, 1.5, "wasserstein").pvalue
    0.007
    """
    pair = released_pair(first, second, mechanism)
    _check.choice("statistic", statistic, EquivalenceStatistic)
    is_area = statistic == "wasserstein"
    margin = (_check.positive if is_area else _check.proportion)("margin", margin)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    rng = pair[0].simulation.generator(rng)
    ours, theirs = (_Known.of(released) for released in pair)
    distance = Distance.on("first", first.grid, statistic, pair[0].shares, first.n, second.n)
    both = ((ours, theirs), (theirs, ours))
    if is_area:
        area = _largest_area(ours, theirs, distance.widths)
        excess, widths = area - margin, distance.widths
        pvalues = [_of_area(*known, excess, widths, simulations, rng) for known in both]
    else:
        pvalues = [_of_thresholds(*known, margin, simulations, rng) for known in both]
    rows = [np.asarray(curve.counts, np.float64)[np.newaxis] for curve in (first, second)]
    return DistributionTest(
        name=statistic,
        n=(first.n, second.n),
        statistic=float(distance(shares(rows[0]) - shares(rows[1]))[0]),
        pvalue=max(pvalues),
        simulations=simulations,
        privacy=(first.privacy, second.privacy),
        margin=margin,
    )


class _Known(NamedTuple):
    """A released curve at its K knots, where its errors are noise alone, and between them.

    Parameters
    ----------
    simulation
        Its simulated releases.
    function
        (K + 1,) the released F at the knots, and then 0, as it is before the grid.
    after, before
        (N - 1,) the places in ``function`` of the nearest knots around each threshold but the last,
        or of the threshold itself.
    """

    simulation: Simulation
    function: Reals
    after: NDArray[np.int64]
    before: NDArray[np.int64]

    @classmethod
    def of(cls, released: Released) -> _Known:
        curve, size = released.curve, released.curve.grid.size
        knots = np.arange(size) if curve.knots is None else curve.knots
        after = np.searchsorted(knots, np.arange(size - 1))
        before = np.searchsorted(knots, np.arange(size - 1), side="right") - 1
        function = np.append(curve.counts[knots] / curve.n, 0.0)
        return cls(released.simulation, function, after, before)

    @property
    def n(self) -> int:
        """The number of records."""
        return self.simulation.curve.n

    def noise(self, rows: int, rng: np.random.Generator) -> tuple[Reals, Reals]:
        """Return noise of the counts at the knots, and 0 after them, (rows, K + 1), and of n."""
        noise = np.pad(self.simulation.of_noise(rows, rng), ((0, 0), (0, 1)))
        return noise, noise[:, -2:-1].copy()

    def errors(self, rows: int, rng: np.random.Generator) -> Reals:
        """Return errors of ``function`` by sampling and noise, (rows, K + 1)."""
        curve, truth = self.simulation.curve, self.simulation.truth
        knots = np.arange(truth.size) if curve.knots is None else curve.knots
        noise, of_n = self.noise(rows, rng)
        noise[:, :-1] += np.cumsum(self.simulation.samples(rows, rng), axis=1)[:, knots]
        true = np.append(truth[knots] / truth[-1], 0.0)
        return np.asarray(noise / _at_least_one(self.n + of_n) - true)


def _of_thresholds(
    above: _Known, below: _Known, margin: float, simulations: int, rng: np.random.Generator
) -> float:
    """Return the largest p-value of the hypotheses that F - G is the margin or more somewhere."""
    high, low = np.unique(np.stack([above.after, below.before]), axis=1)
    given = above.function[high] - below.function[low]
    is_last = high == above.function.size - 2
    part = below.n / (above.n + below.n)
    middle = above.function[high] * (1.0 - part) + below.function[low] * part
    share = np.clip(middle + margin * part, margin, 1.0)  # of F, if G is less by the margin
    share = np.where(is_last, 1.0, np.where(low == -1, margin, share))
    reached = np.zeros(high.size)
    for some in blocks(simulations, max(high.size, 1)):
        rows = some.stop - some.start
        first = _released(above, high, share, rows, rng)
        second = _released(below, low, np.where(low == -1, 0.0, share - margin), rows, rng)
        reached += np.count_nonzero(first - second <= given + _TIE, axis=0)
    return float((1.0 + reached.max(initial=0.0)) / (1.0 + simulations))


def _released(
    known: _Known,
    at: NDArray[np.int64],
    share: Reals,
    rows: int,
    rng: np.random.Generator,
) -> Reals:
    """Return released functions where they are these shares of the population, (rows, M)."""
    noise, of_n = known.noise(rows, rng)
    counts = rng.binomial(known.n, share, (rows, share.size)) + noise[:, at]
    return np.asarray(counts / _at_least_one(known.n + of_n))


def _largest_area(first: _Known, second: _Known, widths: Reals) -> float:
    """Return the largest area between two functions that have the released values at the knots."""
    gaps = [
        above.function[above.after] - below.function[below.before]
        for above, below in ((first, second), (second, first))
    ]
    with np.errstate(over="ignore"):
        return float(np.maximum(*gaps) @ widths[:-1])


def _of_area(
    above: _Known,
    below: _Known,
    excess: float,
    widths: Reals,
    simulations: int,
    rng: np.random.Generator,
) -> float:
    """Return the p-value of a margin that the area exceeds by so much, if F >= G everywhere."""
    reached = 0
    for some in blocks(simulations, widths.size):
        rows = some.stop - some.start
        first, second = above.errors(rows, rng), below.errors(rows, rng)
        with np.errstate(over="ignore", invalid="ignore"):  # areas may be too large
            areas = (first[:, above.after] - second[:, below.before]) @ widths[:-1]
        reached += int(np.count_nonzero(~(areas > excess)))
    return (1.0 + reached) / (1.0 + simulations)


def _at_least_one(n: Reals) -> Reals:
    """Return numbers of records as they are released: whole, and at least 1."""
    return np.asarray(np.maximum(np.rint(n), 1.0))
