"""Checks that every mechanism passes, for those who write one (docs/guides/extending.md).

The checks are about what other code relies on. They are no proof of privacy, and no audit.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._check import integer
from ..curves.cdf import CDF
from ..errors import DpcoreError, ParameterError
from ..mechanisms.base import MOST_RECORDS, Mechanism, registered
from ..mechanisms.base import check_mechanism as _check
from ..privacy.guarantees import Privacy, Relation, of_public_size
from ..privacy.spending import unwatched, watched_only_by
from ..summaries.grid import MOST_CELLS, Grid

__all__ = ["check_mechanism"]

_REPLICATES = 2_000
_TOLERANCE = 8.0  # in standard errors of a standard deviation; heavy tails make these larger
_WRONG_COUNTS: tuple[Any, ...] = ([1.5, 2.0], [[[1, 2]]], [], [-1, 2], ["a"])


def check_mechanism(mechanism: Mechanism, size: int = 12, records: int = 600) -> None:
    """Check that a mechanism is what other code takes it for.

    Parameters
    ----------
    mechanism
        The mechanism. It is used for ``size`` cells and ``records`` records.
    size, records
        Small numbers: the check makes some thousand releases.

    Raises
    ------
    AssertionError
        A check fails; the message says which.
    DtypeError, ParameterError
        The argument is no mechanism, or refuses these sizes.

    Examples
    --------
    >>> import dpcore as dp
    >>> class Loud(dp.mechanisms.Histogram):
    ...     def noise_deviation(self, size):
    ...         return 0.5 * super().noise_deviation(size)
    >>> for mechanism in (dp.mechanisms.Histogram(epsilon=1.0), Loud(epsilon=1.0)):
    ...     try:
    ...         dp.testing.check_mechanism(mechanism, size=12)
    ...         print("all checks passed")
    ...     except AssertionError as error:
    ...         print(error)
    all checks passed
    errors are 2.0 times what noise_deviation says
    """
    _check("mechanism", mechanism)
    size = integer("size", size, 1, MOST_CELLS)
    records = integer("records", records, 0, MOST_RECORDS)
    counts = np.full(size, records // size, np.int64)
    _check_statements(mechanism)
    with unwatched():
        _check_releases(mechanism, counts)
        _check_deviation(mechanism, counts)
        _check_description(mechanism, counts)
    _check_budget(mechanism, counts)
    try:
        copied = pickle.loads(pickle.dumps(mechanism))
    except (pickle.PicklingError, AttributeError, TypeError) as error:  # say, a class in a function
        raise AssertionError(f"it cannot be pickled: {error}") from error
    _holds(copied == mechanism, "a copy of it is another one")


def _holds(condition: object, otherwise: str) -> None:
    """Raise an AssertionError, which ``assert`` does not under ``python -O``."""
    if not condition:
        raise AssertionError(otherwise)


def _check_statements(mechanism: Mechanism) -> None:
    """Check the types of what other functions read without a further check."""
    for name in ("is_additive", "one_row_only", "loses_records"):
        _holds(isinstance(getattr(mechanism, name), bool), f"{name} is neither True nor False")
    _holds(isinstance(mechanism.privacy, Privacy), "privacy is no Privacy")
    _holds(isinstance(mechanism.describe(), Mapping), "describe returns no mapping")


def _deviation(mechanism: Mechanism, size: int) -> NDArray[np.float64]:
    stated = mechanism.noise_deviation(size)
    try:
        return np.asarray(stated, np.float64)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"noise_deviation is no array: {error}") from error


def _check_releases(mechanism: Mechanism, counts: NDArray[np.int64]) -> None:
    rng, exact = np.random.default_rng, counts.copy()
    one = mechanism.release(counts, rng=rng(1))
    many = mechanism.release(counts, rng=rng(1), replicates=50)
    for released in (one, many):
        _holds(isinstance(released, np.ndarray), f"a release is a {type(released).__name__}")
    _holds(one.shape == counts.shape, f"a release has shape {one.shape}, not {counts.shape}")
    _holds(many.shape == (50, counts.size), f"50 releases have shape {many.shape}")
    _holds(one.dtype.kind in "if", f"a release has dtype {one.dtype}")
    _holds(np.array_equal(counts, exact), "a release changes the counts that it is given")
    _holds(np.isfinite(many).all(), "a released count is not finite")
    for workers in (1, 2):
        same = mechanism.release(counts, rng=rng(1), replicates=50, workers=workers)
        _holds(np.array_equal(many, same), "releases depend on the number of threads")
    if of_public_size(mechanism.privacy.neighbours):
        _holds((many[:, -1] == counts.sum()).all(), "n is public, and the last count is another")
    deviation = _deviation(mechanism, counts.size)
    if np.any(deviation > 0.5):  # 50 draws of less noise may be equal by chance
        first, second = (mechanism.release(counts, replicates=50) for _ in range(2))
        _holds(not np.array_equal(first, second), "two releases have the same noise")


def _check_deviation(mechanism: Mechanism, counts: NDArray[np.int64]) -> None:
    deviation = _deviation(mechanism, counts.size)
    _holds(deviation.shape == counts.shape, f"noise_deviation has shape {deviation.shape}")
    _holds((deviation >= 0.0).all(), "a deviation is below 0, or is no number")
    size = counts.size
    least, mean = mechanism.least_mean_squared_error(size), mechanism.mean_squared_error(size)
    for name, stated in (("least_mean_squared_error", least), ("mean_squared_error", mean)):
        _holds(isinstance(stated, int | float | np.number), f"{name} is no number")
    _holds(least <= mean, "least_mean_squared_error is above mean_squared_error")
    released = mechanism.release(counts, rng=np.random.default_rng(2), replicates=_REPLICATES)
    errors = np.sqrt(np.mean((released - np.cumsum(counts)) ** 2, axis=0))
    most = deviation * (1.0 + _TOLERANCE / math.sqrt(_REPLICATES)) + 1e-9
    too_large = errors > most
    with np.errstate(divide="ignore"):
        ratio = np.max(errors[too_large] / deviation[too_large], initial=0.0)
    _holds(ratio == 0.0, f"errors are {ratio:.1f} times what noise_deviation says")
    if mechanism.is_additive:
        nothing = np.zeros_like(counts)
        noise = mechanism.release(nothing, rng=np.random.default_rng(3))
        with_records = mechanism.release(counts, rng=np.random.default_rng(3))
        near = np.allclose(with_records - noise, np.cumsum(counts), atol=1e-6)
        _holds(near, "is_additive is true, and the noise depends on the counts")


def _check_description(mechanism: Mechanism, counts: NDArray[np.int64]) -> None:
    grid, description = Grid.uniform(0.0, 1.0, counts.size), mechanism.describe()
    own = registered(str(description.get("name"))) is type(mechanism)
    _holds(own, "its description has the name of another class, or of none: state a name")
    deviation = _deviation(mechanism, counts.size)
    ones = np.ones(counts.size, np.int64)
    try:
        CDF(grid, ones, 1, mechanism.privacy, description, deviation)
    except DpcoreError as error:
        raise AssertionError(f"a release cannot record it: {error}") from error
    try:
        again = type(mechanism).from_description(description, mechanism.privacy.neighbours)
    except (TypeError, ValueError, DpcoreError) as error:
        raise AssertionError(f"from_description does not take its description: {error}") from error
    of_class = type(again) is type(mechanism)
    _holds(of_class and again.describe() == description, "from_description makes another mechanism")


class _Charges:
    """What is charged to a budget that takes everything."""

    def __init__(self, neighbours: Relation) -> None:
        self.neighbours, self._key = neighbours, ("", "")
        self.log: list[Privacy] = []

    def _asked(self, privacy: Privacy, what: str, stack: ExitStack) -> Callable[[], None]:
        return lambda: self.log.append(privacy)


def _check_budget(mechanism: Mechanism, counts: NDArray[np.int64]) -> None:
    cost = mechanism.privacy
    charges = _Charges(cost.neighbours)
    with watched_only_by(charges):
        for wrong in _WRONG_COUNTS:
            try:
                mechanism.release(wrong)
            except DpcoreError:
                continue
            raise AssertionError(f"it releases {wrong}")
        _holds(not charges.log, "a release that is refused is charged")
        mechanism.release(counts)
        _holds(charges.log == [cost], "a release is not charged once")
        try:
            three = 3 * cost
        except ParameterError:  # no three releases have a guarantee
            return
        mechanism.release(counts, replicates=3)
        _holds(charges.log[1:] == [three], "three releases are not charged three times")
