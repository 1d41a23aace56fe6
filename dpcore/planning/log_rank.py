"""Do released survival curves differ by more than chance? The log-rank test and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.combination import are_one_release
from ..curves.hazards import at_risk, classes_of_row, exposed
from ..curves.simulated_releases import Simulation, blocks
from ..curves.survival import Survival
from ..errors import DtypeError, ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..mechanisms.simulated_deviation import simulation_of
from ..statistics.log_rank import LogRank, Weights, before_ends, quadratic_form
from ..summaries.grid import Grid
from .differences import share_beyond
from .distribution_tests import DistributionTest

__all__ = ["log_rank_test", "survivals_of"]

Reals = NDArray[np.float64]
_Curves = Survival | Sequence[Survival] | Mapping[Any, Survival]

_MOST_SIMULATIONS: Final = 2**20
_NAMES: Final = ("log-rank", "wilcoxon", "tarone-ware", "peto")
_MOST_POWER: Final = 16.0
_DRAWS: Final = 200  # of the noise alone: its deviation is off by 5 %, alike in all releases


def log_rank_test(
    first: _Curves,
    second: _Curves | None = None,
    *others: _Curves,
    weights: Weights = "log-rank",
    simulations: int = 999,
    rng: np.random.Generator | None = None,
) -> DistributionTest:
    """Test whether the hazards of two or more groups are equal, from released survival curves.

    Parameters
    ----------
    first, second, others
        The curves of k groups of disjoint records, over the same grid. Mechanisms, budgets and
        numbers of records may differ. The curves of ``survival(..., by=labels)`` alone are those of
        all groups. For a stratified test, each group has a sequence of curves, one of each stratum
        in the same order, or a mapping of them by the same labels.
    weights
        How much the events of a cell count. "log-rank": all alike, the best test if hazards are
        proportional. "wilcoxon": by the number at risk, and "tarone-ware": by its square root,
        which look at early events. "peto": by Peto and Peto's survival. (p, q), from 0 to 16:
        S^p (1 - S)^q of Fleming and Harrington, with the survival S before the cell; (0, 1) looks
        at late events.
    simulations
        R, how many releases are simulated, 19 to 2^20. No p-value is below 1 / (R + 1).
    rng
        The generator for them. None: one that the first curve's counts seed, so the same curves
        always have the same p-value. They are public, so it need not be secret.

    Returns
    -------
    DistributionTest
        With ``statistic`` and ``pvalue``; ``n`` is that of each curve.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism of a curve is not known.

    Notes
    -----
    This is post-processing and costs no privacy. In each cell, the events of each group are
    compared with those expected if all had the hazard of all records together. The statistic is
    Z' V^- Z of the weighted sums Z of the differences, less what the noise moves them on average,
    where V has their hypergeometric covariances and those by noise. Each group counts up to its
    ``Survival.end``. Without noise it is that of ``lifelines.statistics.multivariate_logrank_test``
    and ``scipy.stats.logrank`` (squared), for durations that are whole numbers. On grids that are
    not of whole numbers or days, half of a cell's censorings count as at risk, as in ``Survival``.

    The p-value is the share of statistics, the given one included, that are at least as large in R
    simulated releases of samples with the pooled hazard, and the censoring of each group, by each
    curve's mechanism. So it knows noise, grid and ends, and unequal censoring. Raw counts are taken
    if curves keep them, as in ``two_sample_test``. The p-value is approximate, because hazard and
    censoring are those of the release, and taken to be even within cells; docs/measured/log-rank.md
    has how often equal hazards are rejected; of groups of a few records, it is too often. The cost
    is that of R + 200 releases of each curve.

    References
    ----------
    Mantel 1966, *Evaluation of survival data and two new rank order statistics*. Fleming &
    Harrington 1991, *Counting processes and survival analysis*, chapter 7.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 24, 24)
    >>> curves = []
    >>> for mean in (10, 14):
    ...     until_event, censoring = rng.exponential(mean, 1000), rng.uniform(0, 30, 1000)
    ...     durations, event = np.minimum(until_event, censoring), until_event <= censoring
    ...     curves.append(dp.survival(durations, event, grid, epsilon=1.0, rng=rng))
    >>> dp.log_rank_test(*curves)
    <DistributionTest: log-rank 12, p = 0.002, 1,000 and 1,000 records>
    """
    strata = _strata_of(_groups_of(first, second, others))
    chosen = _weights(weights)
    simulations = _check.integer("simulations", simulations, 19, _MOST_SIMULATIONS)
    rng = strata[0].simulations[0].generator(rng)
    given = _sum(strata, [stratum.released for stratum in strata], chosen)
    bias, covariances = _of_noise(strata, chosen, rng)
    null = [
        _statistic(drawn, bias, covariances) for drawn in _samples(strata, simulations, chosen, rng)
    ]
    statistic = float(_statistic(given, bias, covariances)[0])
    curves = [simulation.curve for stratum in strata for simulation in stratum.simulations]
    return DistributionTest(
        name=chosen if isinstance(chosen, str) else "fleming-harrington",
        n=tuple(curve.n for curve in curves),
        statistic=statistic,
        pvalue=float(share_beyond(np.concatenate(null), statistic)),
        simulations=simulations,
        privacy=tuple(curve.privacy for curve in curves),
    )


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The curves of k groups that are compared with each other.

    Parameters
    ----------
    simulations
        (k,) the simulated releases of each.
    grid
        Of all of them, with N cells.
    least
        (k, N) the fewest at risk with which each goes on.
    """

    simulations: list[Simulation]
    grid: Grid
    least: Reals

    @property
    def released(self) -> list[Reals]:
        """The released counts, (1, 2 N) of each group: raw, if they are known."""
        return [one.curve.counts.astype(np.float64)[np.newaxis] for one in self.simulations]

    def log_rank(self, rows: list[Reals], weights: Weights) -> LogRank:
        """Return the statistics of releases with these raw counts, (R, 2 N) of each group.

        Events and numbers at risk are raw, so that their noise does not depend on the records.
        Ends and covariances need counts that are not negative: those of monotone rows.
        """
        raw, monotone = self._counted(rows), self._counted(list(map(_monotone, rows)))
        goes_on = before_ends(monotone.at_risk, self.least)
        events, risk = (
            np.where(goes_on, np.maximum(each, least), 0.0)
            for each, least in zip((raw.events, raw.exposed), (-np.inf, 0.0), strict=True)
        )
        differences = LogRank.of(events, risk, weights).differences
        own, left = (np.where(goes_on, each, 0.0) for each in (monotone.events, monotone.exposed))
        return LogRank(differences, LogRank.of(own, left, weights).covariances)

    def null(self) -> list[Reals]:
        """Return the shares of the 2 N cells in populations with the pooled hazard, of each group.

        Each group keeps its own hazard of being censored.
        """
        found = self._counted([_monotone(rows) for rows in self.released])
        events, risk = found.events[0], found.at_risk[0]
        left = np.append(risk[:, 1:], np.zeros((len(risk), 1)), axis=1)
        censored = risk - events - left
        hazard = _ratio(events.sum(axis=0), found.exposed[0].sum(axis=0))
        first = _events_first(self.grid)
        leaving = _ratio(censored, risk - events * first)
        leaving[:, -1] = 1.0  # whoever is left is censored at the last threshold
        return [_shares(hazard, own, first) for own in leaving]

    def _counted(self, rows: list[Reals]) -> _Counted:
        """Return the counts in cells of releases, (R, 2 N) of each group."""
        found = []
        for row in rows:
            kinds, censored = classes_of_row(row, self.grid.size)
            given = kinds[..., 0, :], censored, row[..., -1:]
            exposures = exposed(*given, whole=self.grid.of_integers)
            found.append((np.diff(given[0], axis=-1, prepend=0.0), at_risk(*given), exposures))
        return _Counted(*(np.stack(each, axis=-2) for each in zip(*found, strict=True)))


class _Counted(NamedTuple):
    """The events, numbers at risk at the start, and exposed, of each group and cell, (R, k, N)."""

    events: Reals
    at_risk: Reals
    exposed: Reals


def _monotone(row: Reals) -> Reals:
    """Return the nearest monotone counts, each row from 0 to its last count."""
    counts = row.copy()
    for own in counts:
        isotonic(own[np.newaxis, :-1], 0.0, own[-1])
    return counts


def _events_first(grid: Grid) -> Reals:
    """Return how often the event comes first if both would happen in one cell, (N,).

    Always on grids of whole numbers or days, otherwise half but in the last, as ``exposed`` counts.
    """
    first = np.full(grid.size, 1.0 if grid.of_integers else 0.5)
    first[-1] = 1.0
    return first


def _ratio(leaving: Reals, risk: Reals) -> Reals:
    """Return the share of those at risk that leave in each cell."""
    shares = np.divide(leaving, risk, out=np.zeros_like(leaving), where=risk > 0.0)
    return np.clip(shares, 0.0, 1.0)


def _shares(hazard: Reals, leaving: Reals, first: Reals) -> Reals:
    """Return the shares of cells of a row, (2 N,), from both hazards, (N,) each.

    Both are independent. If both would happen in a cell, the event is the earlier one in the share
    ``first`` of cases.
    """
    both = hazard * leaving
    events, censored = hazard - (1.0 - first) * both, leaving - first * both
    at_risk = np.append(1.0, np.cumprod((1.0 - hazard) * (1.0 - leaving))[:-1])
    shares = np.concatenate([at_risk * events, (at_risk * censored)[::-1]])
    return np.asarray(shares / shares.sum())


def _sum(strata: list[_Stratum], rows: list[list[Reals]], weights: Weights) -> LogRank:
    """Return the sum over strata of the statistics of releases with these counts."""
    found = [each.log_rank(own, weights) for each, own in zip(strata, rows, strict=True)]
    total = found[0]
    for one in found[1:]:
        total = total + one
    return total


def _statistic(found: LogRank, bias: Reals, covariances: Reals) -> Reals:
    """Return the test statistics, (R,), with the bias, (k,), and covariances, (k, k), by noise."""
    return quadratic_form(found.differences - bias, found.covariances + covariances)


def _samples(
    strata: list[_Stratum], simulations: int, weights: Weights, rng: np.random.Generator
) -> list[LogRank]:
    """Return the statistics of R releases of samples of the null hypothesis, in blocks."""
    shares = [stratum.null() for stratum in strata]
    found = []
    for some in blocks(simulations, _width(strata)):
        size = some.stop - some.start
        rows = [
            [
                one.of_population(size, rng, own)
                for one, own in zip(each.simulations, every, strict=True)
            ]
            for each, every in zip(strata, shares, strict=True)
        ]
        found.append(_sum(strata, rows, weights))
    return found


def _of_noise(
    strata: list[_Stratum], weights: Weights, rng: np.random.Generator
) -> tuple[Reals, Reals]:
    """Return the mean, (k,), and the covariances, (k, k), of what noise adds to the differences.

    The noise is added to one sample of the null hypothesis, 200 times.
    """
    samples = [
        [one.samples(1, rng, own) for one, own in zip(each.simulations, each.null(), strict=True)]
        for each in strata
    ]
    exact = [[np.cumsum(row, axis=1, dtype=np.float64) for row in each] for each in samples]
    truth = _sum(strata, exact, weights).differences
    errors = []
    for some in blocks(_DRAWS, _width(strata)):
        size = some.stop - some.start
        rows = [
            [
                one.of_samples(np.repeat(row, size, axis=0), rng)
                for one, row in zip(each.simulations, own, strict=True)
            ]
            for each, own in zip(strata, samples, strict=True)
        ]
        errors.append(_sum(strata, rows, weights).differences - truth)
    together = np.concatenate(errors)
    centred = together - together.mean(axis=0)
    return together.mean(axis=0), np.asarray(centred.T @ centred / len(centred))


def _width(strata: list[_Stratum]) -> int:
    """Return how many counts all curves have together."""
    return 2 * sum(stratum.least.size for stratum in strata)


def _groups_of(first: Any, second: Any, others: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what is given of each group: curves of groups alone, or curves of strata in order."""
    if second is None and not others:
        if not isinstance(first, Mapping):
            what = "must be given, unless the first are curves of groups: survival(..., by=labels)"
            raise ParameterError("second", None, what)
        if len(first) < 2:
            raise ParameterError("first", tuple(first), "must hold two groups or more")
        return tuple(first.values())
    given = (first, second, *others)
    if not all(isinstance(one, Mapping) for one in given):
        return given
    for one in given:
        if set(one) != set(first):
            what = "must have the strata of the first, as its labels"
            raise ParameterError("second", tuple(one), what)
    return tuple([one[label] for label in first] for one in given)


def _strata_of(groups: tuple[Any, ...]) -> list[_Stratum]:
    """Check the curves, and return those of each stratum."""
    columns = [survivals_of(f"group {place + 1}", each) for place, each in enumerate(groups)]
    if any(len(column) != len(columns[0]) for column in columns):
        lengths = tuple(map(len, columns))
        raise ParameterError("second", lengths, "must have a curve for each stratum of the first")
    rows = [curve.row for column in columns for curve in column]
    if any(are_one_release(one, other) for one, other in combinations(rows, 2)):
        what = "must be another release than first, of other records"
        raise ParameterError("second", columns[1][0], what)
    return [_stratum(list(row)) for row in zip(*columns, strict=True)]


def _stratum(curves: list[Survival]) -> _Stratum:
    for curve in curves[1:]:
        if curve.grid != curves[0].grid:
            raise ParameterError("second", curve.grid, "must be over the grid of the first curve")
    rows = [one.row if one.row.raw is None else one.row.as_released() for one in curves]
    simulations = [
        simulation_of("first", row, curve.mechanism)
        for row, curve in zip(rows, curves, strict=True)
    ]
    least = np.stack([curve.least_at_risk for curve in curves])
    return _Stratum(simulations, curves[0].grid, least)


def survivals_of(argument: str, given: Any) -> tuple[Survival, ...]:
    """Return one survival curve, or several, as a tuple of them."""
    several = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not several:
        raise ParameterError(argument, given, "must hold one curve or more")
    for curve in several:
        _check.instance(argument, curve, Survival, "must be a Survival: write dp.survival(...)")
    return several


def _weights(weights: object) -> Weights:
    """Check the weights, and return both powers as floats."""
    if isinstance(weights, str):
        if weights not in _NAMES:
            raise ParameterError(
                "weights", weights, f"must be one of {', '.join(_NAMES)}, or (p, q)"
            )
        return weights  # type: ignore[return-value]
    if not isinstance(weights, tuple | list) or len(weights) != 2:
        raise DtypeError("weights", type(weights).__name__, "must be a name, or two powers (p, q)")
    p, q = (_check.finite("weights", power) for power in weights)
    if not (0.0 <= p <= _MOST_POWER and 0.0 <= q <= _MOST_POWER):
        raise ParameterError("weights", weights, f"must be from 0 to {_MOST_POWER:g}")
    return p, q
