"""Which mechanism is the most accurate for a grid and a budget: closed forms, no data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from .. import _check
from ..errors import ParameterError
from ..mechanisms import Dyadic, Hierarchy, Histogram, Mechanism, ToeplitzGaussian
from ..privacy.budget import Budget
from ..privacy.guarantees import Neighbours
from ..summaries.grid import MOST_CELLS

__all__ = ["Option", "Plan", "most_accurate", "plan"]

_Tree = Hierarchy | ToeplitzGaussian | Dyadic


@dataclass(frozen=True, slots=True)
class Option:
    """A mechanism and its errors, in counts.

    Parameters
    ----------
    name
        In words.
    mechanism
        Ready for ``dpcore.cdf``.
    error
        Root mean square, over the thresholds, of the noise in the cumulative counts.
    largest_error
        The largest standard deviation at a threshold.
    """

    name: str
    mechanism: Mechanism
    error: float
    largest_error: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Mechanisms for a grid of some size, the most accurate first. Iterates over its options.

    Parameters
    ----------
    size
        Cells of the grid.
    options
        By increasing error.
    """

    size: int
    options: tuple[Option, ...]

    @property
    def best(self) -> Mechanism:
        """The mechanism that ``dpcore.cdf`` takes if it is given none."""
        return self.options[0].mechanism

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __str__(self) -> str:
        width = max(len(option.name) for option in self.options)
        lines = [f"{'mechanism':<{width}}  {'RMSE':>9}  {'largest':>9}  (counts)"]
        for option in self.options:
            lines.append(
                f"{option.name:<{width}}  {option.error:9.4g}  {option.largest_error:9.4g}"
            )
        return "\n".join(lines)


def plan(
    size: int,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours = "replace-one",
    delta: float | None = None,
) -> Plan:
    """Compare all mechanisms whose error does not depend on the data.

    Parameters
    ----------
    size
        Cells of the grid, 1 to 2^24.
    epsilon
        The budget for pure differential privacy, or
    rho
        for zero-concentrated differential privacy: one of the two.
    neighbours
        "replace-one" or "add-or-remove-one".
    delta
        Beside epsilon: the budget is (epsilon, delta). Noise is Gaussian, or it is Laplace noise,
        which spends no delta.

    Returns
    -------
    Plan
        Before any post-processing; isotonic regression lowers the total error of each further,
        by an amount that depends on the data. ``mechanisms.Dawa`` is not in it: its error depends
        on the data all over.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    O(size log size). Nothing is spent: sizes and budgets are public.

    Examples
    --------
    >>> import dpcore as dp
    >>> dp.plan(2**15, epsilon=1.0).best.describe()["name"]
    'hierarchy'
    """
    size = _check.integer("size", size, 1, MOST_CELLS)
    Budget.checked(epsilon, rho, neighbours, delta)
    return _plan(size, epsilon, rho, neighbours, delta)


def most_accurate(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None = None,
) -> Mechanism:
    """Return the first of ``plan``'s options, without all that is told of the others. Cached."""
    size = _check.integer("size", size, 1, MOST_CELLS)
    Budget.checked(epsilon, rho, neighbours, delta)
    return _best(size, epsilon, rho, neighbours, delta)


@lru_cache(maxsize=64)
def _plan(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> Plan:
    options = []
    refusal = None
    for name, mechanism in _candidates(epsilon, rho, neighbours, delta).items():
        try:
            mean, largest = _error(mechanism, size), mechanism.noise_deviation(size).max()
            options.append(Option(name, mechanism, mean, float(largest)))
        except ParameterError as error:  # the budget is too small for this one
            refusal = refusal or error
    if refusal and not options:
        raise refusal
    return Plan(size, tuple(sorted(options, key=lambda option: _rank(option.error))))


@lru_cache(maxsize=256)
def _best(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> Mechanism:
    best: Mechanism | None = None
    least = math.inf
    refusal = None
    for mechanism in _candidates(epsilon, rho, neighbours, delta).values():
        try:
            if isinstance(mechanism, Dyadic) and _at_least(mechanism, size) >= least:
                continue
            mean = _error(mechanism, size)
        except ParameterError as error:
            refusal = refusal or error
            continue
        if best is None or _rank(mean) < _rank(least):
            best, least = mechanism, mean
    if best is None:
        assert refusal is not None
        raise refusal
    return best


def _candidates(
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> dict[str, _Tree]:
    """Return all mechanisms with their names; of equals the first one is taken.

    What is epsilon-differentially private is so with any delta as well, and spends none of it. For
    rho no Laplace noise wins (docs/plan.md).
    """
    if delta is None:
        return _of_one_kind(epsilon, rho, neighbours, None)
    pure = _of_one_kind(epsilon, None, neighbours, None)
    gaussian = _of_one_kind(epsilon, None, neighbours, delta)
    return {f"{name}, delta = 0": each for name, each in pure.items()} | gaussian


def _of_one_kind(
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> dict[str, _Tree]:
    """Return the mechanisms with Laplace noise, for epsilon alone, or with Gaussian noise."""
    is_gaussian = rho is not None or delta is not None
    common: dict[str, Any] = {"rho": rho, "neighbours": neighbours, "delta": delta}
    found: dict[str, _Tree] = {
        "hierarchy": Hierarchy(epsilon, **common),
        "hierarchy, HB's rule": Hierarchy(epsilon, "hb", "equal", **common),
        "hierarchy, binary, equal budgets": Hierarchy(epsilon, 2, "equal", **common),
        "histogram": Histogram(epsilon, **common),
    }
    if is_gaussian:
        found["square root (Toeplitz)"] = ToeplitzGaussian(rho, neighbours, epsilon, delta)
    if neighbours == "replace-one":
        found["dyadic tree"] = Dyadic(epsilon, rho=rho, delta=delta)
        if not is_gaussian:
            found["dyadic tree, the paper's scale"] = Dyadic(epsilon, sensitivity="paper")
    return found


def _error(mechanism: _Tree, size: int) -> float:
    return math.sqrt(mechanism.mean_squared_error(size))


def _at_least(mechanism: Dyadic, size: int) -> float:
    """Return a lower bound of ``_error`` that spares most first releases the exact sensitivity."""
    return math.sqrt(mechanism.least_variance(size) * (size - 1) / size)


def _rank(error: float) -> float:
    """Return what options are compared by: small grids have many names for one mechanism."""
    return round(error, 9)
