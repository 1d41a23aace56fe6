"""Compare two released curves: are the populations the same, and how far apart are quantiles?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._sealed import sealed
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.confidence import Interval
from ..curves.own_mechanism import Releases
from ..curves.shapes import float_or_array
from ..curves.shown import short
from ..curves.stored import Stored
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from .differences import largest_gaps, share_beyond
from .released_pairs import Released, as_released, pair_of, populations, simulated_pairs

__all__ = ["Comparison", "compare"]

_MOST_SIMULATIONS: Final = 2**20
_INTERVAL: Final = "must be an Interval"
Numbers = float | NDArray[np.float64]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Comparison(Stored):
    """Two released curves, compared. Made by ``compare``.

    Parameters
    ----------
    n
        The numbers of records of both curves.
    statistic
        The Kolmogorov-Smirnov statistic of ``two_sample_test``: the largest distance of the curves
        at a threshold, as they were released.
    p_value
        Its p-value. The null hypothesis is that both sets of records are samples of one population.
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

    def _columns(self) -> Mapping[str, Any]:
        low, high = map(np.ravel, self.population_interval)
        return {
            "probability": np.ravel(self.probabilities),
            "difference": np.ravel(self.differences),
            "low": low,
            "high": high,
            "p_value": np.ravel(self.p_values),
        }

    def _guarantees(self) -> tuple[Any, ...]:
        return self.privacy

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

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
    mechanism: Releases | Sequence[Releases | None] | None = None,
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
    mechanism
        The mechanism or trust model that released both curves, or one for each. None:
        ``dpcore.mechanisms.from_curve`` makes it again.
    simulations
        R, how many pairs of releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for the simulations. None: one that the first curve's counts seed, so the same
        curves always have the same comparison. They are public, so it need not be secret.

    Returns
    -------
    Comparison
        Each difference is the quantile of the first curve minus the quantile of the second. Records
        are read as whole numbers if both curves say that they are.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that a curve names; or a curve
        protects clients.

    Notes
    -----
    This is post-processing and costs no privacy. The null hypothesis is that both sets of records
    are samples of one population. ``p_value`` is that of ``two_sample_test``, which takes counts as
    they were released. For ``p_values``, the simulated pairs are processed as the given curves
    were, and their quantiles are read off. docs/guides/several-curves.md gives measurements. Tests
    that are made for records, such as ``scipy.stats.ks_2samp``, do not account for the noise: on
    samples of private curves they reject nearly always.

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
    pair = pair_of(first, second, mechanism)
    asked = _check.probabilities("probabilities", probabilities)
    if asked.ndim > 1 or asked.size < 1:
        raise ParameterError("probabilities", asked.shape, "must be a number, or (m,) of them")
    _check.proportion("level", level)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    raw = as_released(pair[0]), as_released(pair[1])
    rng, shares = raw[0].simulation.generator(rng), np.atleast_1d(asked)
    gap = largest_gaps(*(_counts(released) for released in raw))
    differences = _differences(pair, [_counts(released) for released in pair], shares)
    p_value, p_values = 0.0, np.zeros(shares.size)
    for population in populations(*raw):
        gaps, others = _of_one_population(pair, population, simulations, shares, rng)
        p_value = max(p_value, float(share_beyond(gaps, gap)[()]))
        p_values = np.maximum(p_values, share_beyond(np.abs(others), np.abs(differences)))
    low, high = _reach(pair, simulations, shares, level, rng)
    spans = pair[0].curve.grid.shown_differences  # for numbers, the differences are unchanged
    return Comparison(
        n=(pair[0].curve.n, pair[1].curve.n),
        statistic=float(gap[0]),
        p_value=p_value,
        probabilities=_shaped(shares, asked),
        differences=_shaped(spans(differences[0]), asked),
        p_values=_shaped(p_values, asked),
        population_interval=Interval(_shaped(spans(low), asked), _shaped(spans(high), asked)),
        level=float(level),
        simulations=simulations,
        privacy=(pair[0].curve.privacy, pair[1].curve.privacy),
    )


def _counts(released: Released) -> NDArray[np.float64]:
    return np.asarray(released.curve.counts, np.float64)[np.newaxis]


def _differences(
    pair: tuple[Released, Released], counts: Sequence[NDArray[np.float64]], p: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the differences of the quantiles of curves of these counts, (R, N) each; (R, m)."""
    first, second = (
        released.quantiles(rows, p) for released, rows in zip(pair, counts, strict=True)
    )
    with np.errstate(over="ignore"):  # of values as far as doubles go
        return np.asarray(first - second)


def _of_one_population(
    pair: tuple[Released, Released],
    population: NDArray[np.float64],
    simulations: int,
    p: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gaps, (R,), and the differences, (R, m), of pairs of samples of a population.

    Gaps are of counts as released, differences of curves that are processed as the given ones.
    """
    raw, gaps, differences = (as_released(pair[0]), as_released(pair[1])), [], []
    for pairs in simulated_pairs(raw, (population, population), simulations, rng):
        gaps.append(largest_gaps(*pairs))
        processed = [one.simulation.processed(own) for one, own in zip(pair, pairs, strict=True)]
        differences.append(_differences(pair, processed, p))
    return np.concatenate(gaps), np.concatenate(differences)


def _reach(
    pair: tuple[Released, Released],
    simulations: int,
    p: NDArray[np.float64],
    level: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of the intervals for the differences of the populations' quantiles, (m,)."""
    lows, highs = [], []
    for counts in simulated_pairs(pair, (pair[0].shares, pair[1].shares), simulations, rng):
        first, second = (
            released.ends(rows, p) for released, rows in zip(pair, counts, strict=True)
        )
        with np.errstate(over="ignore"):
            lows.append(first[0] - second[1])
            highs.append(first[1] - second[0])
    tail = (1.0 - level) / 2
    return _least_of(np.concatenate(lows), tail), -_least_of(-np.concatenate(highs), tail)


def _least_of(simulated: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return the value with this share of the R simulated ones below it, or fewer; (R, m) to (m,).

    The result is one of the values, because some may be infinite.
    """
    at = int(share * (len(simulated) - 1))
    return np.asarray(np.partition(simulated, at, axis=0)[at])


def _shaped(numbers: NDArray[Any], asked: NDArray[np.float64]) -> Any:
    return float_or_array(numbers.reshape(asked.shape))
