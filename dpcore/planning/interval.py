"""Confidence intervals for any statistic of released curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.combination import are_one_release
from ..curves.confidence import Interval, deviations
from ..curves.own_mechanism import REPLICATES, Releases
from ..curves.scores import ScoreCurves
from ..curves.shapes import float_or_array
from ..curves.simulated_releases import Simulation, root_mean_square_errors
from ..curves.table import Table
from ..errors import DtypeError, ParameterError
from ..mechanisms.simulated_deviation import simulation_of

__all__ = ["Curves", "interval"]

Curves = CDF | ScoreCurves | Table
Target = Literal["records", "population"]

_MOST_REPLICATES: Final = 2**20
_ROWS: Final = {ScoreCurves: "joint", Table: "row"}  # the fields with the curve that was released
_DRAWS: Final = {"records": Simulation.of_records, "population": Simulation.of_population}


def interval(
    curves: Curves | Sequence[Curves],
    statistic: Callable[..., Any],
    level: float = 0.95,
    *,
    of: Target = "records",
    mechanism: Releases | Sequence[Releases | None] | None = None,
    replicates: int = REPLICATES,
    rng: np.random.Generator | None = None,
) -> Interval[Any]:
    """Return a confidence interval for any statistic of released curves, by simulation.

    Parameters
    ----------
    curves
        A ``CDF``, ``ScoreCurves`` or a ``Table``, raw or isotonic, whose ``noise_deviation`` is
        known; or several of them, of disjoint records.
    statistic
        A function of such curves, given in the same order. It returns a real number, or an array of
        them of a fixed shape, and draws no random numbers.
    level
        The confidence level of each interval alone, between 0 and 1.
    of
        "records": the statistic of the records themselves, so that only the noise is random.
        "population": that of the population from which the records were drawn independently, so
        that both are random.
    mechanism
        The mechanism or trust model that released the curves, or one for each of them. None:
        ``dpcore.mechanisms.from_curve`` makes it again.
    replicates
        R, the number of releases to simulate, 1 to 2^20. With 200, a half-width has an error of
        5 %.
    rng
        The generator for the simulations. None: one that the released counts seed, so the same
        curves always have the same interval. They are public, so it need not be secret.

    Returns
    -------
    Interval
        Its ends have the shape of the statistic. Both are infinite if the statistic of a simulated
        release is not a finite number.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the one that a curve names.

    Notes
    -----
    This is a parametric bootstrap, and post-processing: it costs no privacy. The released counts,
    made monotone and rounded, are the truth. They are released again R times, for a population
    each time from a new sample, and processed as the curves were. The half-width is that of a
    normal law whose deviation is the root mean square error of these R statistics, with their bias.

    The statistic is the one over the cells of the grid. Nothing is added for places within cells.
    If noise moves a statistic far in one direction, as it does a largest cell or an entropy, the
    interval covers too seldom (docs/guides/extending.md). What DAWA may have lost besides the noise
    is simulated, too: losses with random signs, whose error is added in squares. Beside values that
    many records share, its intervals cover too seldom.

    The cost is that of R releases and R + 2 statistics; for DAWA, twice as much.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 120)
    >>> curve = dp.cdf(rng.normal(40, 12, 3000), grid, epsilon=2.0, rng=rng)
    >>> def spread(curve):
    ...     return curve.quantile(0.75) - curve.quantile(0.25)
    >>> [round(float(end), 1) for end in dp.interval(curve, spread)]
    [16.2, 16.4]
    >>> [round(float(end), 1) for end in dp.interval(curve, spread, of="population")]
    [15.7, 16.9]
    """
    several = list(curves) if isinstance(curves, tuple | list) else [curves]
    rows = [_row(released) for released in several]
    if not rows or any(are_one_release(first, second) for first, second in combinations(rows, 2)):
        raise ParameterError("curves", curves, "must be one or more releases, all different")
    if not callable(statistic):
        raise DtypeError("statistic", type(statistic).__name__, "must be a function of the curves")
    if any(getattr(statistic, "__self__", None) is released for released in several):
        what = f"must be a function of the curves: write {statistic.__qualname__}"
        raise DtypeError("statistic", "a method of one curve", what)
    width = deviations(level)
    _check.choice("of", of, Target)
    replicates = _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
    own: list[Any] = (
        list(mechanism) if isinstance(mechanism, tuple | list) else [mechanism] * len(rows)
    )
    if len(own) != len(rows):
        raise ParameterError("mechanism", len(own), f"must be one, or one for each of {len(rows)}")
    for row in rows:
        if not np.isfinite(row.noise_deviation).all():
            what = "must be released by a mechanism whose error is known, such as Hierarchy"
            raise ParameterError("curves", row.mechanism["name"], what)
    simulations = [simulation_of("curves", *pair) for pair in zip(rows, own, strict=True)]
    value = _value(statistic, several)

    def read(*counts: NDArray[np.float64]) -> NDArray[np.float64]:
        values = []
        for single in zip(*counts, strict=True):
            again = map(_with_counts, several, rows, single)
            values.append(_value(statistic, list(again), value.shape))
        return np.stack(values)

    draws = [_DRAWS[of]]
    if any(simulation.loses_records for simulation in simulations):
        draws.append(Simulation.of_losses)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        errors = [
            root_mean_square_errors(simulations, read, replicates=replicates, rng=rng, draw=draw)
            for draw in draws
        ]
        reach = width * np.sqrt(np.sum(np.square(errors), axis=0))
        known = np.isfinite(value) & np.isfinite(reach)
        low, high = np.where(known, value - reach, -np.inf), np.where(known, value + reach, np.inf)
    return Interval(float_or_array(low), float_or_array(high))


def _row(released: Any) -> CDF:
    """Return the curve that the mechanism released."""
    row = getattr(released, _ROWS.get(type(released), ""), released)
    if not isinstance(row, CDF):
        what = "must be a CDF, ScoreCurves or a Table, or several of them"
        for part in ("curves", "table"):  # of groups, an ROC curve or a residual plot
            what += f": write .{part}" if hasattr(released, part) else ""
        raise DtypeError("curves", type(released).__name__, what)
    return row


def _with_counts(released: Any, row: CDF, counts: NDArray[np.float64]) -> Any:
    """Return the same release with other counts."""
    drawn = replace(row, counts=counts, n=int(counts[-1]), raw=None)
    field = _ROWS.get(type(released))
    return drawn if field is None else replace(released, **{field: drawn})


def _value(
    statistic: Callable[..., Any], curves: list[Any], shape: tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Return the statistic of some curves, which must have the shape, if it is known already."""
    returned = statistic(*curves)
    try:
        value = np.asarray(returned)
    except ValueError:  # rows of several lengths
        value = np.asarray(None)
    if value.dtype.kind not in "biuf":
        what = "must return real numbers"
        if value.dtype.kind in "mM":
            what += ", such as times less a first one, divided by numpy.timedelta64(1, 'D')"
        raise DtypeError("statistic", type(returned).__name__, what)
    if shape is not None and value.shape != shape:
        raise ParameterError("statistic", value.shape, f"must always have the shape {shape}")
    return value.astype(np.float64)
