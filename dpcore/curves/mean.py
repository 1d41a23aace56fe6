"""A released mean of numbers within public bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import _check
from .._sealed import sealed
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Privacy, of_public_size
from . import forms
from .confidence import Interval, deviations_of_noise
from .field_tables import Rows
from .frames import frame_of
from .readings import with_intervals
from .shown import cost, line, short
from .stored import Stored

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["MEAN_BITS", "Mean"]

MEAN_BITS: Final = 29  # records are rounded to 2^-29 of the range between the bounds
_MOST_BITS: Final = 256  # bits of a total; totals of real releases have a quarter as many
_MOST: Final = 2**53


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Mean(Stored):
    """A released mean. Made by ``mean``.

    Parameters
    ----------
    lower, upper
        The public bounds. Values beyond them count as the nearest bound.
    totals
        Noisy sums over the records, in units of 2^-bits: of x = (value - lower) / (upper - lower)
        if n is public; otherwise of x and of 1 - x.
    bits
        The fixed point of the totals.
    n
        The public number of records; None if it is not public.
    noise_deviation
        The standard deviation of the noise in each total, in the same units.
    privacy
        The guarantee of the release.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> found = dp.mean(rng.normal(40, 12, 5000), (0, 100), epsilon=1.0, rng=rng)
    >>> found
    <Mean: 39.83, within [0, 100], n = 5000, epsilon = 1, SIMULATED>
    >>> low, high = found.interval()
    >>> round(low, 2), round(high, 2)
    (39.77, 39.89)
    """

    _kind = "dpcore.mean"

    lower: float = field(metadata=forms.NUMBER)
    upper: float = field(metadata=forms.NUMBER)
    totals: tuple[int, ...] = field(metadata=forms.tuple_of(forms.PLAIN))
    bits: int = field(metadata=forms.WHOLE)
    n: int | None = field(metadata=forms.or_null(forms.WHOLE))
    noise_deviation: float = field(metadata=forms.NUMBER)
    privacy: Privacy = field(metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        _check.bounds(self.lower, self.upper)
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        _check.integer("bits", self.bits, 0, MEAN_BITS)
        if self.n is not None:
            _check.integer("n", self.n, 1, _MOST)
        _check.instance("totals", self.totals, tuple, "must be a tuple of integers")
        for total in self.totals:
            if type(total) is not int:
                raise DtypeError("totals", type(total).__name__, "must hold integers")
            if total.bit_length() > _MOST_BITS:
                raise ParameterError("totals", total, f"must have at most {_MOST_BITS} bits")
        if len(self.totals) != (2 if self.n is None else 1):
            what = "must be one number if n is public, and two otherwise"
            raise ParameterError("totals", len(self.totals), what)
        if (self.n is not None) != of_public_size(self.privacy.neighbours):
            raise ParameterError("n", self.n, f"must fit {self.privacy.neighbours}")
        if not 0.0 <= _check.finite("noise_deviation", self.noise_deviation) <= forms.MOST:
            what = f"must be 0 or more, and at most {forms.MOST:g}"
            raise ParameterError("noise_deviation", self.noise_deviation, what)

    @property
    def value(self) -> float:
        """The released mean, within the bounds."""
        place, records = self._place_and_records()
        return self._at(place / records if records > 0.0 else 0.5)

    def __float__(self) -> float:
        return self.value

    def interval(self, level: float = 0.95) -> Interval[float]:
        """Return an interval for the mean of the records, within the bounds. It counts the noise.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Notes
        -----
        If n is not public, both totals are noisy. The interval holds all means that the noise in
        their difference from these totals allows (Fieller 1954).

        Examples
        --------
        >>> import dpcore as dp
        >>> low, high = dp.mean([1, 2, 3, 4], (0, 10), epsilon=1e4).interval()
        >>> round(low, 2), round(high, 2)
        (2.5, 2.5)
        """
        return self._interval(level, 0.0, None)

    def population_interval(
        self, level: float = 0.95, *, deviation: float | None = None
    ) -> Interval[float]:
        """Return an interval for the mean of the population. It counts noise and sampling.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.
        deviation
            A public bound on the population's standard deviation between the bounds. None: the
            largest that values with this mean can have, sqrt((upper - mean) (mean - lower)).

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1, or ``deviation`` is not positive.

        Notes
        -----
        Without ``deviation``, it is as wide as for records that are all at the bounds, because the
        release does not say how far the records spread. The sampling error is taken as normal.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> found = dp.mean(rng.normal(40, 12, 5000), (0, 100), epsilon=1.0, rng=rng)
        >>> [round(end, 1) for end in found.population_interval(deviation=15)]
        [39.4, 40.3]
        """
        if deviation is None:
            return self._interval(level, 1.0, None)
        deviation, width = _check.positive("deviation", deviation), self.upper - self.lower
        if not math.isfinite(width):
            deviation, width = deviation / 2.0, self.upper / 2.0 - self.lower / 2.0
        return self._interval(level, 1.0, min(deviation / width, 0.5))

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with one row: value, and low and high of ``interval``.

        Parameters
        ----------
        level
            The level of the intervals, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> print(dp.mean([1, 2, 3, 4], (0, 10), epsilon=1e4).to_frame().round(2))
           value  low  high
        0    2.5  2.5   2.5
        """
        low, high = self.interval(level)
        return frame_of({"value": self.value, "low": low, "high": high})

    def _choices(self) -> Mapping[str, Any]:
        return {"n": self.n}

    def _readings(self, level: float) -> list[Rows]:
        rows = [
            ("mean of the records", self.value, self.interval(level)),
            ("mean of the population", self.value, self.population_interval(level)),
        ]
        return [with_intervals(level, rows)]

    def __repr__(self) -> str:
        low, high = short(self.lower), short(self.upper)
        n = "" if self.n is None else f"n = {self.n}, "
        value = short(self.value)
        return line("Mean", f"{value}, within [{low}, {high}], {n}{cost(self.privacy)}")

    def _place_and_records(self) -> tuple[float, float]:
        """Return the sum of x and the number of records, in the units of the totals."""
        first = float(self.totals[0])
        if self.n is not None:
            return first, math.ldexp(self.n, self.bits)
        return first, first + float(self.totals[1])

    def _interval(self, level: float, sampled: float, share: float | None) -> Interval[float]:
        """Return all means whose distance from the totals has at most so many deviations.

        For a mean of x of p, the total U of x and the number T of records in the units of the
        totals, U - p T has the variance of the noise, s^2 if n is public and (p^2 + (1 - p)^2) s^2
        otherwise, and of sampling, T^2 / n times p (1 - p) at most. So the condition
        (U - p T)^2 <= c^2 variance is a quadratic inequality in p.
        """
        c = deviations_of_noise(level, self.privacy)
        place, records = self._place_and_records()
        # A total is rounded down to a whole number of units.
        noise = (c * self.noise_deviation + 1.0) ** 2
        square, linear, constant = records**2, -2.0 * place * records, place**2 - noise
        if self.n is None:
            square, linear = square - 2.0 * noise, linear + 2.0 * noise
        # T^2 / n; where n is not public, T of fewer records, as far as the noise may hide them.
        unit = 2.0**self.bits
        fewest = records if self.n else max(records - math.sqrt(2.0 * noise), unit)
        spread = sampled * c**2 * records**2 / (fewest / unit)
        if share is None:
            square, linear = square + spread, linear - spread
        else:
            constant -= spread * share**2
        inside = linear**2 - 4.0 * square * constant
        if not (records > 0.0 and square > 0.0 and inside >= 0.0):
            return Interval(self.lower, self.upper)
        middle, reach = -linear / (2.0 * square), math.sqrt(inside) / (2.0 * square)
        rounding = 2.0**-MEAN_BITS  # of each record
        return Interval(self._at(middle - reach - rounding), self._at(middle + reach + rounding))

    def _at(self, place: float) -> float:
        """Return the number at a place between the bounds, of which 0 and 1 are the ends."""
        inside = min(max(place, 0.0), 1.0)
        between = (1.0 - inside) * self.lower + inside * self.upper
        return float(np.clip(between, self.lower, self.upper))
