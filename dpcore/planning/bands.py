"""Bands that contain the whole distribution function, at all thresholds at once."""

from __future__ import annotations

import math
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.confidence import Interval
from ..curves.own_mechanism import Releases
from ..curves.simulated_releases import Simulation, blocks
from ..errors import ParameterError, Words
from ..mechanisms.simulated_deviation import simulation_of
from .interval import Target

__all__ = ["simultaneous_band"]

Ends = TypeVar("Ends", covariant=True)

_REPLICATES: Final = 2000  # with so many, a level of 95 % is off by .5 %
_MOST_REPLICATES: Final = 2**20


@runtime_checkable
class Banded(Protocol[Ends]):
    """A curve whose band at once follows from those of the counts of one release."""

    def _released_row(self) -> tuple[CDF, Releases | None]:
        """Return the released counts, and the mechanism that released them, if it is known."""
        ...

    def _band_at_once(self, width: float, sampling: float) -> Ends:
        """Return the band if all counts are within so many deviations of noise and of sampling."""
        ...


@runtime_checkable
class Simulated(Protocol[Ends]):
    """A result whose band at once follows from simulations of the counts of one release."""

    def _released_row(self) -> tuple[CDF, Releases | None]:
        """Return the released counts, and the mechanism that released them, if it is known."""
        ...

    def _band_of_simulations(
        self,
        simulation: Simulation,
        level: float,
        replicates: int,
        rng: np.random.Generator,
        *,
        sampling: bool,
    ) -> Ends:
        """Return the band, for the population if there is sampling."""
        ...


def simultaneous_band(
    curve: Banded[Ends] | Simulated[Ends],
    level: float = 0.95,
    *,
    of: Target = "records",
    mechanism: Releases | None = None,
    replicates: int = _REPLICATES,
    rng: np.random.Generator | None = None,
) -> Ends | Interval[Any]:
    """Return a band that contains the whole curve at once, with the probability ``level``.

    ``CDF.band`` and ``ROC.band`` hold at each threshold alone: with many thresholds, they miss the
    curve somewhere in most releases.

    Parameters
    ----------
    curve
        A released curve, with its raw counts: raw, ``isotonic`` or ``smooth``. Or a ROC curve, its
        ``precision_recall``, a table of ``statistics.reliability``, a ``Survival`` or a
        ``CumulativeIncidence``.
    level
        The probability that no threshold is missed, between 0 and 1.
    of
        "records": of the records themselves, so that only the noise is random. "population": of the
        population from which the records were drawn independently, so that both are random.
    mechanism
        The mechanism that released the curve. None: ``ROC.mechanism``, or the one that
        ``dpcore.mechanisms.from_curve`` makes.
    replicates
        R, the number of draws of the noise, 1 to 2^20.
    rng
        The generator for them. None: one that the released counts seed, so the same curve always
        has the same band. They are public, so it need not be secret.

    Returns
    -------
    Interval, Band or PrecisionRecallBand
        ``low`` and ``high``, each (N,): they never fall, are within [0, 1], and contain the curve.
        Of a ROC curve, the ends of both rates, each (N + 1,), as from ``ROC.band``; of its
        ``precision_recall``, as from ``ROC.precision_recall_band``. Of a reliability table, the
        ends of the shares of positives, each (B,). Of a survival curve, they are NaN beyond its
        ``end``; of K incidences likewise, each (K, N).

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; or the mechanism is not the one that the curve names, or its
        errors are not noise alone at any thresholds.

    Notes
    -----
    The band is c standard deviations wide on either side of each released count, where c is the
    quantile of the largest of R simulated errors, each in its standard deviations. Where the
    mechanism's error is more than noise, as inside buckets of DAWA, F is between its values at the
    ``knots`` around. For the population, simulated samples from the released curve are added, and
    n / 4, the largest variance of sampling, to each variance. Without noise, this is the band of
    Kolmogorov's test. F never falls, so the largest lower end before a threshold counts, and the
    smallest upper end after it. The cost is that of R releases: O(R N).

    The counts of both classes of a ROC curve are one released curve, and all of them are within
    the band at once. Rates and precisions are those that such counts may have, so that these bands
    hold more often than the level says. For a reliability table, c is the quantile of the largest
    error in positives minus rate times records over the bins alone, in its own deviations, and the
    intervals are Fieller's, or Wilson's for sampling.

    Of a survival curve, errors are those of log(-log S), in the deviations of ``Survival.band``; of
    incidences, those of log(-log(1 - F)), over all kinds at once.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 100, 128)
    >>> curve = dp.cdf(rng.normal(50, 10, 5000), grid, epsilon=1.0, rng=rng)
    >>> wide, alone = dp.simultaneous_band(curve), curve.band()
    >>> [round(float(np.mean(high - low)), 3) for low, high in (wide, alone)]
    [0.012, 0.007]
    """
    what = (
        "must be a CDF, a ROC, its precision_recall, a Reliability, a Survival or a"
        " CumulativeIncidence"
    )
    _check.instance("curve", curve, Banded | Simulated, what)
    _check.choice("of", of, Target)
    level = _check.proportion("level", level)
    replicates = _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
    released, own = curve._released_row()
    simulation = simulation_of("curve", released, own if mechanism is None else mechanism)
    rng = simulation.generator(rng)
    if isinstance(curve, Simulated):
        sampled = of == "population"
        return curve._band_of_simulations(simulation, level, replicates, rng, sampling=sampled)
    sampling = math.sqrt(released.n) / 2 if of == "population" else 0.0
    worst = _largest_errors(simulation, replicates, sampling, rng)
    width = float(np.quantile(worst, level, method="higher"))
    return curve._band_at_once(width, sampling)


def _largest_errors(
    simulation: Simulation, replicates: int, sampling: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the largest error of each draw, in its standard deviations, (R,)."""
    curve, size = simulation.curve, simulation.curve.grid.size
    at = np.arange(size) if curve.knots is None else curve.knots
    deviation = np.hypot(curve.noise_deviation[at], np.where(at < size - 1, sampling, 0.0))
    is_random = (deviation > 0.0) & np.isfinite(deviation)
    largest = np.zeros(replicates)
    if not is_random.any():
        return largest
    truth = simulation.truth
    for some in blocks(replicates, size):
        rows = some.stop - some.start
        errors = simulation.of_noise(rows, rng)
        if sampling:
            drawn = np.cumsum(simulation.samples(rows, rng), axis=1)
            errors = errors + (drawn - truth * (curve.n / truth[-1]))[:, at]
        with np.errstate(over="ignore"):
            ratios: Any = np.abs(errors[:, is_random]) / deviation[is_random]
        largest[some] = ratios.max(axis=1)
    if not np.isfinite(largest).all():
        what = "must have the noise_deviation of its mechanism"
        raise ParameterError("curve", Words("far smaller numbers"), what)
    return largest
