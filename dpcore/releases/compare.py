"""Two released curves beside each other: is it one population, and how far are quantiles apart?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check, _instead
from ..curves.cdf import CDF
from ..curves.confidence import Interval
from ..curves.shapes import float_or_array
from ..curves.shown import short
from ..errors import DtypeError, ParameterError
from ._simulated_pairs import Released, largest_gaps, populations

__all__ = ["Comparison", "compare"]

_MOST_SIMULATIONS: Final = 2**20
_BLOCK: Final = 2**20  # counts that are simulated at once
_TIE: Final = 1e-9  # relative: what rounding alone may tell apart counts as equal

Numbers = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison:
    """Two released curves, compared. Made by ``compare``.

    Parameters
    ----------
    n
        The numbers of records of both curves.
    statistic
        The Kolmogorov-Smirnov statistic: the largest distance of the curves at a threshold.
    p_value
        Of the statistic, if both sets of records are samples of one population.
    probabilities
        Whose quantiles were compared: a float, or (m,) of them.
    differences
        The quantiles of the first curve less those of the second: a float, or (m,); of times,
        timedelta64.
    p_values
        Of each difference alone, two-sided, under the same hypothesis: a float, or (m,).
    population_interval
        Of the differences of the populations' quantiles: noise and sampling.
    level
        Of the interval.
    simulations
        How many pairs of releases were simulated.

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

    n: tuple[int, int]
    statistic: float
    p_value: float
    probabilities: Numbers
    differences: Numbers
    p_values: Numbers
    population_interval: Interval[Any]
    level: float
    simulations: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Comparison):
            return NotImplemented
        pairs = zip(self._numbers(), other._numbers(), strict=True)
        return all(np.array_equal(ours, theirs) for ours, theirs in pairs)

    def __hash__(self) -> int:
        return hash((self.n, self.statistic, self.p_value, self.level, self.simulations))

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

    def _numbers(self) -> tuple[Any, ...]:
        ends, own = self.population_interval, (self.probabilities, self.differences, self.p_values)
        return *own, *ends, *self.n, self.statistic, self.p_value, self.level, self.simulations


def compare(
    first: CDF,
    second: CDF,
    *,
    probabilities: ArrayLike = (0.25, 0.5, 0.75),
    level: float = 0.95,
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> Comparison:
    """Compare two released curves, with p-values that count noise and sampling.

    Parameters
    ----------
    first, second
        Raw curves, or isotonic ones, over the same grid, of disjoint records. Each has noise of its
        own; the mechanisms, budgets and numbers of records may differ.
    probabilities
        Whose quantiles are compared: a number within [0, 1], or (m,) of them.
    level
        Of the intervals of differences, pointwise.
    simulations
        R, how many pairs of releases are simulated, 19 to 2^20: no p-value is below 1 / (R + 1).
    rng
        Of the simulations. None: a new NumPy generator. No secrecy is needed, as both curves are
        public already.

    Returns
    -------
    Comparison
        Differences are those of the first curve less those of the second.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or a curve's mechanism cannot be made again from what the curve
        says of it, as that of a trust model.

    Notes
    -----
    Post-processing: it costs no privacy. The null hypothesis is that both sets of records are
    samples of one population. That is estimated from both curves; samples of it are counted,
    released by the mechanisms that the curves name, and processed as they were. A p-value is the
    share of such pairs, the given one among them, that are as far apart. docs/compare.md says what
    was measured. Tests of records, as ``scipy.stats.ks_2samp``, do not know of the noise: on
    samples of private curves they reject nearly always.

    As long as 4 R releases, or 6 R where buckets are sought, which takes a second for some hundred
    cells.

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
    pair = _pair(first, second)
    asked = _check.probabilities("probabilities", probabilities)
    if asked.ndim > 1 or asked.size < 1:
        raise ParameterError("probabilities", asked.shape, "must be a number, or (m,) of them")
    _check.proportion("level", level)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    if rng is None:
        rng = np.random.default_rng()
    elif not isinstance(rng, np.random.Generator):
        raise DtypeError("rng", type(rng).__name__, _instead.generator(rng, ", or None"))
    own = [np.asarray(each.curve.counts, np.float64)[np.newaxis] for each in pair]
    shares = np.atleast_1d(asked)
    gap, differences = _read(pair, own, shares)
    p_value, p_values = 0.0, np.zeros(shares.size)
    for population in populations(*pair):
        gaps, others = _simulated(pair, (population, population), simulations, shares, rng)
        p_value = max(p_value, float(_share_beyond(gaps, gap)[()]))
        p_values = np.maximum(p_values, _share_beyond(np.abs(others), np.abs(differences)))
    own_populations = pair[0].shares, pair[1].shares
    others = _simulated(pair, own_populations, simulations, shares, rng)[1]
    ends = np.quantile(others, [(1.0 - level) / 2, (1.0 + level) / 2], axis=0)
    spans = pair[0].curve.grid.shown_differences  # of numbers, they are themselves
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
    )


def _pair(first: object, second: object) -> tuple[Released, Released]:
    """Check both curves, and return them with their mechanisms."""
    found = []
    for argument, curve in (("first", first), ("second", second)):
        if not isinstance(curve, CDF):
            raise DtypeError(argument, type(curve).__name__, "must be a CDF")
        found.append(curve)
    if found[0].grid != found[1].grid:
        raise ParameterError("second", found[1].grid, "must be over the grid of the first curve")
    if found[0] is found[1]:
        raise ParameterError("second", found[1], "must be a release of its own, of other records")
    return Released.of("first", found[0]), Released.of("second", found[1])


def _read(
    pair: tuple[Released, Released], counts: list[NDArray[np.float64]], p: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest gaps of pairs of curves, (R,), and differences of quantiles, (R, m)."""
    first, second = (each.quantiles(rows, p) for each, rows in zip(pair, counts, strict=True))
    return largest_gaps(*counts), first - second


def _simulated(
    pair: tuple[Released, Released],
    populations: tuple[NDArray[np.float64], NDArray[np.float64]],
    simulations: int,
    p: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what is read off R pairs of releases of samples of two populations, as ``_read``."""
    rows = max(1, _BLOCK // pair[0].curve.grid.size)
    blocks = []
    for start in range(0, simulations, rows):
        some = min(rows, simulations - start)
        drawn = (
            each.draws(shares, some, rng) for each, shares in zip(pair, populations, strict=True)
        )
        blocks.append(_read(pair, list(drawn), p))
    gaps, differences = zip(*blocks, strict=True)
    return np.concatenate(gaps), np.concatenate(differences)


def _share_beyond(
    simulated: NDArray[np.float64], found: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return which share of the simulated ones, (R, ...), and the one found is as large as it."""
    as_large = simulated >= found * (1.0 - _TIE)
    return np.asarray((1.0 + np.count_nonzero(as_large, axis=0)) / (1.0 + len(simulated)))


def _shaped(numbers: NDArray[Any], asked: NDArray[np.float64]) -> Any:
    return float_or_array(numbers.reshape(asked.shape))
