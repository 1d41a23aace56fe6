"""Compare two released curves: are the populations the same, and how far apart are quantiles?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.combination import are_one_release
from ..curves.confidence import Interval
from ..curves.inversion import are_whole, crossings, places
from ..curves.shapes import float_or_array
from ..curves.shown import short
from ..curves.simulated_releases import Releases, Simulation, blocks
from ..curves.stored import Stored
from ..errors import ParameterError
from ..mechanisms.simulated_deviation import simulation_of
from ..noise.sources import public_generator
from ..privacy.guarantees import Privacy
from .differences import largest_gaps, share_beyond

__all__ = ["Comparison", "compare"]

# The variance of the indicator that a uniform value is below a threshold, averaged over thresholds
_MEAN_VARIANCE: Final = 1 / 6


@dataclass(frozen=True, slots=True)
class Released:
    """A curve of records that can be released again.

    Parameters
    ----------
    curve
        A raw or isotonic curve.
    simulation
        Its simulated releases.
    whole
        Whether the records are read as whole numbers.
    """

    curve: CDF
    simulation: Simulation
    whole: bool

    @classmethod
    def of(cls, argument: str, curve: CDF, mechanism: Releases | None = None) -> Released:
        """Return a curve, given as ``argument``, with its mechanism, by default as it names it."""
        simulation = simulation_of(argument, curve, mechanism)
        return cls(curve, simulation, are_whole(curve.grid, curve.integers))

    @property
    def shares(self) -> NDArray[np.float64]:
        """(N,) the share of records in each cell, at least 0."""
        curve = self.curve if self.curve.is_monotone else self.curve.isotonic()
        return np.diff(curve.counts.astype(np.float64), prepend=0.0) / curve.n

    @property
    def mean_variance(self) -> float:
        """The variance of F over the thresholds, by sampling and noise; infinite if unknown."""
        noise = np.mean(np.square(self.curve.noise_deviation / self.curve.n))
        return float(_MEAN_VARIANCE / self.curve.n + noise)

    def quantiles(self, counts: NDArray[np.float64], p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of curves of these counts, (R, m), as ``CDF.quantile`` does."""
        shares, cells = self._crossed(counts, p)
        start = np.take_along_axis(np.insert(shares, 0, 0.0, axis=1), cells, axis=1)
        rise = np.take_along_axis(shares, cells, axis=1) - start
        share = np.divide(p - start, rise, out=np.zeros(cells.shape), where=rise > 0.0)
        return places(cells, share, self.curve.grid, self.whole)

    def ends(
        self, counts: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest quantile of records with these counts, (R, m) each.

        A quantile may be anywhere in its cell, or at any whole number there. The least one is
        -infinity in a first cell whose beginning is not known.
        """
        _, cells = self._crossed(counts, p)
        low, high = (places(cells, share, self.curve.grid, self.whole) for share in (0.0, 1.0))
        return np.where((cells == 0) & np.isinf(self.curve.grid.start), -np.inf, low), high

    def _crossed(
        self, counts: NDArray[np.float64], p: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the shares up to each threshold, (R, N), and the cells that reach p, (R, m)."""
        shares = counts / counts[:, -1:]
        if self.curve.processing:  # a monotone curve: take the first cell that reaches p
            cells = [np.count_nonzero(shares < probability, axis=1) for probability in p]
            return shares, np.stack(cells, axis=1)
        return shares, np.stack([crossings(own, own[-1], p) for own in counts])


def populations(first: Released, second: Released) -> list[NDArray[np.float64]]:
    """Return shares of cells, (N,) each, of populations from which both curves may come.

    The first population is the pooled one. If a release loses more than noise, the second one has
    all records in the cell of the median: values that pooled curves spread over a bucket may be a
    few values in truth, and releases of these lose more.
    """
    pooled = _pooled(first, second)
    if first.simulation.is_additive and second.simulation.is_additive:
        return [pooled]
    one_value = np.zeros(pooled.size)
    one_value[np.searchsorted(np.cumsum(pooled), 0.5)] = 1.0
    return [pooled, one_value]


def _pooled(first: Released, second: Released) -> NDArray[np.float64]:
    """Return the mean of the shares in both curves, (N,), weighted by how well each is known."""
    variances = np.array([released.mean_variance for released in (first, second)])
    if not np.isfinite(variances).all():
        variances = np.array([1.0 / released.curve.n for released in (first, second)])
    shares = first.shares / variances[0] + second.shares / variances[1]
    return np.asarray(shares / shares.sum())


_MOST_SIMULATIONS: Final = 2**20
_INTERVAL: Final = "must be an Interval"
Numbers = float | NDArray[np.float64]
_Both = tuple[NDArray[np.float64], NDArray[np.float64]]
_Reading = Callable[
    [tuple[Released, Released], list[NDArray[np.float64]], NDArray[np.float64]], _Both
]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison(Stored):
    """Two released curves, compared. Made by ``compare``.

    Parameters
    ----------
    n
        The numbers of records of both curves.
    statistic
        The Kolmogorov-Smirnov statistic: the largest distance of the curves at a threshold.
    p_value
        The p-value of the statistic. The null hypothesis is that both sets of records are samples
        of one population.
    probabilities
        The probabilities of the compared quantiles: a float, or (m,) of them.
    differences
        The quantiles of the first curve minus those of the second: a float, or (m,). For times,
        timedelta64.
    p_values
        The two-sided p-value of each difference alone, under the same hypothesis: a float, or (m,).
    population_interval
        Confidence intervals for the differences of the populations' quantiles. They include noise,
        sampling, and the cells in which the quantiles lie.
    level
        The confidence level of the intervals.
    simulations
        How many pairs of releases were simulated.
    privacy
        The guarantees of both curves. A comparison of exact curves is not stored. Equal are those
        with equal numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 24)
    >>> ages = rng.normal(40, 12, 3000), rng.normal(50, 12, 2000)
    >>> first, second = (dp.cdf(group, grid, epsilon=1.0, rng=rng) for group in ages)
    >>> found = dp.compare(first, second, rng=rng)
    >>> found.n, found.probabilities, found.differences.round(-1)
    ((3000, 2000), array([0.25, 0.5 , 0.75]), array([-10., -10., -10.]))
    """

    _kind = "dpcore.comparison"

    n: tuple[int, int] = field(metadata=forms.tuple_of(forms.WHOLE, 2))
    statistic: float = field(metadata=forms.NUMBER)
    p_value: float = field(metadata=forms.NUMBER)
    probabilities: Numbers = field(metadata=forms.NUMBERS)
    differences: Numbers = field(metadata=forms.like("probabilities"))
    p_values: Numbers = field(metadata=forms.like("probabilities"))
    population_interval: Interval[Any] = field(metadata=forms.interval_like("probabilities"))
    level: float = field(metadata=forms.NUMBER)
    simulations: int = field(metadata=forms.WHOLE)
    privacy: tuple[Privacy, Privacy] = field(compare=False, metadata=forms.tuple_of(forms.PRIVACY))

    def __post_init__(self) -> None:
        _check.tuple_of("n", self.n, int, 2)
        for name in ("statistic", "p_value", "level"):
            _check.held(name, getattr(self, name))
        shape = np.shape(_check.array("probabilities", self.probabilities, "iuf"))
        if len(shape) > 1:
            raise ParameterError("probabilities", shape, "must be a number, or (m,) of them")
        for name in ("probabilities", "p_values"):
            _check.held(name, getattr(self, name), shape)
        _check.held("differences", self.differences, shape, "iufm")
        _check.instance("population_interval", self.population_interval, Interval, _INTERVAL)
        for end in self.population_interval:
            _check.held("population_interval", end, shape, "iufm")
        _check.integer("simulations", self.simulations, 0, 2**63 - 1)
        _check.tuple_of("privacy", self.privacy, Privacy, 2)

    def __repr__(self) -> str:
        return f"<Comparison of {self.n[0]:,} and {self.n[1]:,} records: " + (
            f"KS {self.statistic:.3g}, p = {self.p_value:.2g}>"
        )

    def __str__(self) -> str:
        low, high = self.population_interval
        columns = (self.probabilities, self.differences, low, high, self.p_values)
        rows = zip(*map(np.atleast_1d, columns), strict=True)
        interval = f"{self.level:.0%} interval"
        lines = [
            f"Kolmogorov-Smirnov {self.statistic:.4g}, p = {self.p_value:.2g}",
            f"{'quantile':>8}  {'difference':>10}  {interval:>24}  {'p':>6}",
            *(
                f"{p:8g}  {short(difference):>10}  {short(start):>10} to {short(end):>10}  "
                f"{value:6.2g}"
                for p, difference, start, end, value in rows
            ),
        ]
        return "\n".join(lines)


def compare(
    first: CDF,
    second: CDF,
    *,
    probabilities: ArrayLike = (0.25, 0.5, 0.75),
    level: float = 0.95,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> Comparison:
    """Compare two released curves, with p-values that account for noise and sampling.

    Parameters
    ----------
    first, second
        Raw or isotonic curves over the same grid, of disjoint records. Each has its own noise. The
        mechanisms, budgets and numbers of records may differ.
    probabilities
        The probabilities of the quantiles to compare: a number within [0, 1], or (m,) of them.
    level
        The confidence level of the intervals, for each difference alone.
    simulations
        R, how many pairs of releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for the simulations. None: a new NumPy generator. It need not be secret,
        because both curves are already public.

    Returns
    -------
    Comparison
        Each difference is the quantile of the first curve minus the quantile of the second. Records
        are read as whole numbers if both curves say that they are.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or the mechanism of a curve cannot be made again from the
        description in the curve. This is so for mechanisms of a trust model.

    Notes
    -----
    This is post-processing and costs no privacy. The null hypothesis is that both sets of records
    are samples of one population. The function estimates this population from both curves. It
    draws samples from it, counts them, releases the counts by the mechanisms that the curves name,
    and processes them as the curves were processed. A p-value is the share of these pairs,
    including the given pair, that are at least as far apart as the given pair.
    docs/guides/several-curves.md gives measurements. Tests that are made for records, such as
    ``scipy.stats.ks_2samp``, do not account for the noise: on samples of private curves they reject
    nearly always.

    The function takes as long as 4 R releases, or 6 R if a mechanism searches for buckets. For a
    few hundred cells this is about a second. For the largest grid, 2^24 cells, each simulation
    takes about ten seconds, and 999 of them some hours: take fewer, or release on a coarser grid.
    About 2^20 counts are simulated at once, or one pair of curves if that is more.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 24)
    >>> ages = rng.normal(40, 12, 3000), rng.normal(50, 12, 2000)
    >>> first, second = (dp.cdf(group, grid, epsilon=1.0, rng=rng) for group in ages)
    >>> found = dp.compare(first, second, probabilities=0.5, rng=rng)
    >>> found.p_value, round(found.differences, -1)
    (0.001, -10.0)
    """
    pair = pair_of(first, second)
    asked = _check.probabilities("probabilities", probabilities)
    if asked.ndim > 1 or asked.size < 1:
        raise ParameterError("probabilities", asked.shape, "must be a number, or (m,) of them")
    _check.proportion("level", level)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    rng = public_generator(rng)
    own = [np.asarray(released.curve.counts, np.float64)[np.newaxis] for released in pair]
    shares = np.atleast_1d(asked)
    gap, differences = _read(pair, own, shares)
    p_value, p_values = 0.0, np.zeros(shares.size)
    for population in populations(*pair):
        gaps, others = _simulated(pair, (population, population), simulations, shares, rng)
        p_value = max(p_value, float(share_beyond(gaps, gap)[()]))
        p_values = np.maximum(p_values, share_beyond(np.abs(others), np.abs(differences)))
    own_populations = pair[0].shares, pair[1].shares
    lowest, highest = _simulated(pair, own_populations, simulations, shares, rng, read=_reach)
    ends = _least_of(lowest, (1.0 - level) / 2), -_least_of(-highest, (1.0 - level) / 2)
    spans = pair[0].curve.grid.shown_differences  # for numbers, the differences are unchanged
    low, high = (_shaped(spans(end), asked) for end in ends)
    return Comparison(
        n=(pair[0].curve.n, pair[1].curve.n),
        statistic=float(gap[0]),
        p_value=p_value,
        probabilities=_shaped(shares, asked),
        differences=_shaped(spans(differences[0]), asked),
        p_values=_shaped(p_values, asked),
        population_interval=Interval(low, high),
        level=float(level),
        simulations=simulations,
        privacy=(pair[0].curve.privacy, pair[1].curve.privacy),
    )


def pair_of(
    first: CDF, second: CDF, mechanisms: tuple[Releases | None, Releases | None] = (None, None)
) -> tuple[Released, Released]:
    """Check both curves, and return them with their mechanisms."""
    for argument, curve in (("first", first), ("second", second)):
        _check.instance(argument, curve, CDF, "must be a CDF")
    if first.grid != second.grid:
        raise ParameterError("second", second.grid, "must be over the grid of the first curve")
    if are_one_release(first, second):
        what = "must be another release than first, of other records"
        raise ParameterError("second", second, what)
    ours, theirs = (
        Released.of("first", first, mechanisms[0]),
        Released.of("second", second, mechanisms[1]),
    )
    both = ours.whole and theirs.whole  # otherwise the readings would differ by half a cell
    return replace(ours, whole=both), replace(theirs, whole=both)


def _read(
    pair: tuple[Released, Released], counts: list[NDArray[np.float64]], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest gaps of pairs of curves, (R,), and differences of quantiles, (R, m)."""
    first, second = (
        released.quantiles(rows, p) for released, rows in zip(pair, counts, strict=True)
    )
    return largest_gaps(*counts), first - second


def _reach(
    pair: tuple[Released, Released], counts: list[NDArray[np.float64]], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the least and the largest differences of quantiles that counts allow, (R, m) each."""
    first, second = (released.ends(rows, p) for released, rows in zip(pair, counts, strict=True))
    return first[0] - second[1], first[1] - second[0]


def _simulated(
    pair: tuple[Released, Released],
    populations: tuple[NDArray[np.float64], NDArray[np.float64]],
    simulations: int,
    p: NDArray[np.float64],
    rng: np.random.Generator,
    read: _Reading = _read,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simulate R pairs of releases of samples of two populations; return what ``read`` does."""
    simulated = []
    for some in blocks(simulations, pair[0].curve.grid.size):
        drawn = [
            released.simulation.of_population(some.stop - some.start, rng, shares)
            for released, shares in zip(pair, populations, strict=True)
        ]
        simulated.append(read(pair, drawn, p))
    first, second = zip(*simulated, strict=True)
    return np.concatenate(first), np.concatenate(second)


def _least_of(simulated: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the value with this share of the R simulated ones below it, or fewer; (R, m) to (m,).

    The result is one of the values, because some may be infinite.
    """
    at = int(share * (len(simulated) - 1))
    return np.asarray(np.partition(simulated, at, axis=0)[at])


def _shaped(numbers: NDArray[Any], asked: NDArray[np.float64]) -> Any:
    return float_or_array(numbers.reshape(asked.shape))
