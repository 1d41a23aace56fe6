"""Released counts: of all records, and of the records of each public category."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._sealed import sealed
from ..errors import ParameterError
from ..privacy.guarantees import Privacy
from ..summaries.group_counts import labels_of
from . import forms
from .by_groups import LABEL
from .confidence import Interval, deviations
from .field_tables import Rows
from .frames import frame_of, labels_in_frame
from .readings import with_intervals
from .shown import cost, line
from .stored import Stored

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Count", "Counts", "laplace_rate"]

_MOST: Final = 2**62  # of a released count


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Count(Stored):
    """A released number of records. Made by ``count``.

    Parameters
    ----------
    noisy
        The number with its noise, an integer, which may be negative.
    noise_deviation
        The standard deviation of the noise.
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
    >>> found = dp.count([1] * 5000, epsilon=1.0, rng=np.random.default_rng(1))
    >>> found, found.interval()
    (<Count: 5000, epsilon = 1, SIMULATED>, Interval(low=4997, high=5003))
    """

    _kind = "dpcore.count"

    noisy: int = field(metadata=forms.PLAIN)
    noise_deviation: float = field(metadata=forms.NUMBER)
    privacy: Privacy = field(metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        _check.integer("noisy", self.noisy, -_MOST, _MOST)
        _check_noise(self.noise_deviation, self.privacy)

    @property
    def value(self) -> int:
        """The released number, 0 at least."""
        return max(0, self.noisy)

    def __int__(self) -> int:
        return self.value

    def interval(self, level: float = 0.95) -> Interval[int]:
        """Return an interval for the number of records. It counts the noise.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Examples
        --------
        >>> import dpcore as dp
        >>> low, high = dp.count([1] * 5000, epsilon=50.0).interval(0.999)
        >>> low, high
        (5000, 5000)
        """
        reach = _reach(level, self.noise_deviation, self.privacy)
        return Interval(max(0, self.noisy - reach), max(0, self.noisy + reach))

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with one row: value, low, high.

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
        >>> print(dp.count([1] * 5000, epsilon=80.0).to_frame())
           value   low  high
        0   5000  5000  5000
        """
        low, high = self.interval(level)
        return frame_of({"value": self.value, "low": low, "high": high})

    def _readings(self, level: float) -> list[Rows]:
        return [with_intervals(level, [("records", self.value, self.interval(level))])]

    def __repr__(self) -> str:
        return line("Count", f"{self.value}, {cost(self.privacy)}")


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Counts(Stored):
    """Released numbers of records, one of each public category. Made by ``counts``.

    Parameters
    ----------
    categories
        (K,) the public categories.
    noisy
        (K,) their numbers of records with noise, integers, which may be negative.
    n
        The public number of all records, also of those in no category; None if it is not public.
    noise_deviation
        The standard deviation of the noise in each number.
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
    >>> answers = ["yes"] * 700 + ["no"] * 300
    >>> found = dp.counts(answers, ["yes", "no"], epsilon=1.0, rng=np.random.default_rng(2))
    >>> found
    <Counts: yes: 702, no: 299, n = 1000, epsilon = 1, SIMULATED>
    >>> found.interval().low, found.interval().high
    (array([696, 293]), array([708, 305]))
    """

    _kind = "dpcore.counts"

    categories: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    noisy: NDArray[np.int64] = field(metadata=forms.COUNTS)
    n: int | None = field(metadata=forms.or_null(forms.WHOLE))
    noise_deviation: float = field(metadata=forms.NUMBER)
    privacy: Privacy = field(metadata=forms.PRIVACY)

    def __post_init__(self) -> None:
        _check.instance("categories", self.categories, tuple, "must be a tuple")
        object.__setattr__(self, "categories", labels_of(self.categories, "categories"))
        _check.held("noisy", self.noisy, (len(self.categories),), "iu")
        for number in (self.noisy.min(), self.noisy.max()):
            _check.integer("noisy", number, -_MOST, _MOST)
        object.__setattr__(self, "noisy", self.noisy.astype(np.int64))
        if self.n is not None:
            _check.integer("n", self.n, 0, _MOST)
        _check_noise(self.noise_deviation, self.privacy)

    @property
    def values(self) -> NDArray[np.int64]:
        """(K,) the released numbers, within 0 and the public n."""
        return np.clip(self.noisy, 0, self.n)

    def __len__(self) -> int:
        return len(self.categories)

    def __getitem__(self, category: object) -> int:
        try:
            return int(self.values[self.categories.index(category)])
        except ValueError:
            raise KeyError(category) from None

    def interval(self, level: float = 0.95) -> Interval[NDArray[np.int64]]:
        """Return an interval for the number of each category, (K,) ends. It counts the noise.

        Each holds alone. For K of them at once, write the level 1 - 0.05 / K.

        Parameters
        ----------
        level
            The level of confidence, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.

        Examples
        --------
        >>> import dpcore as dp
        >>> found = dp.counts([1, 1, 2], [1, 2, 3], epsilon=80.0).interval()
        >>> found.low, found.high
        (array([2, 1, 0]), array([2, 1, 0]))
        """
        reach = _reach(level, self.noise_deviation, self.privacy)
        ends = (np.clip(self.noisy + side, 0, self.n) for side in (-reach, reach))
        return Interval(*ends)

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with a row for each category: count, low, high.

        Parameters
        ----------
        level
            The level of the intervals.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.counts([1, 1, 2], [1, 2], epsilon=80.0).to_frame()
           category  count  low  high
        0         1      2    2     2
        1         2      1    1     1
        """
        low, high = self.interval(level)
        columns = {"category": labels_in_frame(self.categories), "count": self.values}
        return frame_of({**columns, "low": low, "high": high})

    def _choices(self) -> Mapping[str, Any]:
        return {"groups": self.categories, "n": self.n}

    def _readings(self, level: float) -> list[Rows]:
        ends = zip(*self.interval(level), strict=True)
        names = map(str, self.categories)
        return [with_intervals(level, zip(names, self.values, ends, strict=True))]

    def __repr__(self) -> str:
        pairs = zip(self.categories, self.values.tolist(), strict=True)
        texts = [f"{category}: {value}" for category, value in pairs]
        n = "" if self.n is None else f"n = {self.n}, "
        known = f"{n}{cost(self.privacy)}"
        return line(
            "Counts",
            f"{', '.join(texts)}, {known}",
            f"{', '.join(texts[:2])}, ..., {known}",
            f"{len(texts)} categories, {known}",
        )


def laplace_rate(deviation: float) -> float:
    """Return the rate 1 / scale of discrete Laplace noise, from its standard deviation.

    The variance is 2 q / (1 - q)^2 for q = e^-rate, so cosh(rate) = 1 + 1 / variance.
    """
    precision = 1.0 / deviation
    excess = precision * precision  # infinite for no noise to speak of, where a power would raise
    return math.log1p(excess + math.sqrt(excess * (2.0 + excess)))


def _reach(level: float, deviation: float, privacy: Privacy) -> int:
    """Return the least integer that noise exceeds, in size, with at most the probability 1 - level.

    It ends below 2^62, as released counts do, so sums with them are within 64 bits.
    Of discrete Laplace noise, P(|y| > r) = 2 q^(r + 1) / (1 + q). Gaussian noise is taken as
    normal, and its reach rounded up.
    """
    normal = deviations(level)
    if deviation == 0.0:
        return 0
    if privacy.epsilon is None or privacy.delta > 0.0:
        return min(math.ceil(normal * deviation), _MOST - 1)
    rate = laplace_rate(deviation)
    beyond = (1.0 - level) * (1.0 + math.exp(-rate)) / 2.0
    return min(max(0, math.ceil(-math.log(beyond) / rate) - 1), _MOST - 1)


def _check_noise(deviation: object, privacy: object) -> None:
    _check.instance("privacy", privacy, Privacy, "must be a Privacy")
    if not 0.0 <= _check.finite("noise_deviation", deviation) <= forms.MOST:
        what = f"must be 0 or more, and at most {forms.MOST:g}"
        raise ParameterError("noise_deviation", deviation, what)
