"""How much longer one group is without the event than another: restricted means, compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from .. import _check
from .._sealed import sealed
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from . import forms
from .combination import are_one_release
from .confidence import Interval, deviations, in_percent
from .shapes import float_or_array
from .shown import line, short
from .stored import Stored
from .survival import Survival

__all__ = ["RestrictedMeanDifference", "restricted_mean_difference"]


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class RestrictedMeanDifference(Stored):
    """The difference of two restricted means. Made by ``restricted_mean_difference``.

    Parameters
    ----------
    until
        The time up to which durations count: a float, or timedelta64.
    difference
        The restricted mean of the first curve minus that of the second, in the same unit.
    interval
        A confidence interval for it.
    pvalue
        The two-sided p-value of no difference.
    level
        The level of the interval.
    n
        The numbers of records of both curves.
    privacy
        The guarantees of both curves. Equal are those with equal numbers.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 20, 20)
    >>> times = rng.exponential(8, 2000), rng.exponential(10, 2000)
    >>> first, second = (dp.survival(t, t < 99, grid, epsilon=1.0, rng=rng) for t in times)
    >>> dp.restricted_mean_difference(first, second, 10)
    <RestrictedMeanDifference: -0.5606, 95% interval -0.7976 to -0.3236, p = 3.5e-06>
    """

    _kind = "dpcore.restricted-mean-difference"

    until: Any = field(metadata=forms.NUMBERS)
    difference: Any = field(metadata=forms.like("until"))
    interval: Interval[Any] = field(metadata=forms.interval_like("until"))
    pvalue: float = field(metadata=forms.NUMBER)
    level: float = field(metadata=forms.NUMBER)
    n: tuple[int, int] = field(metadata=forms.tuple_of(forms.WHOLE, 2))
    privacy: tuple[Privacy, Privacy] = field(compare=False, metadata=forms.tuple_of(forms.PRIVACY))

    def __post_init__(self) -> None:
        _check.held("until", self.until, (), "iufm")
        _check.held("difference", self.difference, (), "iufm")
        _check.instance("interval", self.interval, Interval, "must be an Interval")
        for end in self.interval:
            _check.held("interval", end, (), "iufm")
        for name in ("pvalue", "level"):
            _check.held(name, getattr(self, name))
        _check.tuple_of("n", self.n, int, 2)
        _check.tuple_of("privacy", self.privacy, Privacy, 2)

    def _columns(self) -> Mapping[str, Any]:
        low, high = self.interval
        own = {"until": self.until, "difference": self.difference, "low": low, "high": high}
        return {**own, "pvalue": self.pvalue}

    def _guarantees(self) -> tuple[Any, ...]:
        return self.privacy

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

    def __repr__(self) -> str:
        low, high = self.interval
        ends = f"{in_percent(self.level)} interval {short(low)} to {short(high)}"
        return line(
            "RestrictedMeanDifference",
            f"{short(self.difference)} until {short(self.until)}, {ends}, p = {self.pvalue:.2g}",
            f"{short(self.difference)}, {ends}, p = {self.pvalue:.2g}",
        )


def restricted_mean_difference(
    first: Survival,
    second: Survival,
    until: Any,
    level: float = 0.95,
    *,
    of: Literal["records", "population"] = "population",
) -> RestrictedMeanDifference:
    """Compare the mean times without the event, up to a time, of two released survival curves.

    It needs no proportional hazards, and its unit is that of the durations.

    Parameters
    ----------
    first, second
        The curves of disjoint records. Grids, mechanisms and budgets may differ.
    until
        A duration within both grids, at most the ``end`` of both curves.
    level
        The level of confidence of the interval, between 0 and 1.
    of
        "population": of the populations from which the records were drawn independently, so that
        noise and sampling are random. "records": of the records themselves, so that only the noise
        is random.

    Returns
    -------
    RestrictedMeanDifference
        With ``difference``, ``interval`` and ``pvalue``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism of a curve is not known.

    Notes
    -----
    This is post-processing and costs no privacy. Both restricted means are areas under a curve
    (``Survival.restricted_mean``), with the root mean square errors of 200 simulated releases. The
    difference is taken as normal: the test is that of Royston & Parmar 2013, *Restricted mean
    survival time*, with the variance of noise and processing in it. For populations,
    each group should have 10 events or more up to ``until``, as a sample without any shows no
    sampling error. Where noise in empty cells looks like more events than there are, groups of
    different sizes may seem to differ.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 20, 20)
    >>> times = rng.exponential(8, 2000), rng.exponential(10, 2000)
    >>> first, second = (dp.survival(t, t < 99, grid, epsilon=1.0, rng=rng) for t in times)
    >>> found = dp.restricted_mean_difference(first, second, 10)
    >>> round(found.difference, 2), found.pvalue < 0.001
    (-0.56, True)
    """
    for argument, curve in (("first", first), ("second", second)):
        _check.instance(argument, curve, Survival, "must be a Survival: write dp.survival(...)")
    if first.grid.unit != second.grid.unit:
        raise ParameterError("second", second.grid, "must have the unit of the first curve")
    if are_one_release(first.row, second.row):
        raise ParameterError("second", second, "must be another release than first")
    width = deviations(level)
    own, other = (curve._restricted_mean(until, of) for curve in (first, second))
    if not (math.isfinite(own[0]) and math.isfinite(other[0])):
        ends = (first.end, second.end)
        raise ParameterError("until", until, f"must be at most the ends of both curves, {ends}")
    difference, deviation = own[0] - other[0], math.hypot(own[1], other[1])
    ends = difference - width * deviation, difference + width * deviation
    shown = first.grid.shown_differences
    return RestrictedMeanDifference(
        until=_plain(first.grid.shown(np.asarray(first._until(until)))),
        difference=_plain(shown(np.asarray(difference))),
        interval=Interval(*(_plain(shown(np.asarray(end))) for end in ends)),
        pvalue=_two_sided(difference, deviation),
        level=float(level),
        n=(first.n, second.n),
        privacy=(first.privacy, second.privacy),
    )


def _plain(value: Any) -> Any:
    return float_or_array(np.asarray(value))


def _two_sided(difference: float, deviation: float) -> float:
    """Return the probability of a normal variable at least so far from 0."""
    if deviation == 0.0:
        return float(difference == 0.0)
    return 2.0 * NormalDist().cdf(-abs(difference) / deviation)
