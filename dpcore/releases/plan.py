"""Which mechanism is the most accurate for a grid and a budget: by public numbers, no data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from .. import _check
from ..errors import ParameterError
from ..mechanisms import Dawa, Dyadic, Hierarchy, Histogram, Mechanism, ToeplitzGaussian
from ..mechanisms.budgeted import MOST_RECORDS
from ..privacy.budget import Budget
from ..privacy.guarantees import Neighbours
from ..summaries.grid import MOST_CELLS
from .plan_shapes import expected_errors

__all__ = ["Option", "Plan", "most_accurate", "plan"]

_Tree = Hierarchy | ToeplitzGaussian | Dyadic

_FEW_CELLS: Final = 16  # up to which there is hardly anything for buckets to join


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
        Root mean square, over the thresholds, of the noise in the cumulative counts. Infinite
        where it depends on the records.
    largest_error
        The largest standard deviation at a threshold.
    on_shapes
        Root mean squared errors of isotonic curves for reference shapes of n records, simulated.
    """

    name: str
    mechanism: Mechanism
    error: float
    largest_error: float
    on_shapes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Mechanisms for a grid of some size, the one to take first. Iterates over its options.

    Parameters
    ----------
    size
        Cells of the grid.
    options
        The one to take, and then by increasing error.
    why
        Why the first one is.
    """

    size: int
    options: tuple[Option, ...]
    why: str = "the least error"

    @property
    def best(self) -> Mechanism:
        """The mechanism that ``dpcore.cdf`` takes if it is given none."""
        return self.options[0].mechanism

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __str__(self) -> str:
        width = max(len(option.name) for option in self.options)
        shapes = list(self.options[0].on_shapes)
        heading = f"{'mechanism':<{width}}  {'RMSE':>9}  {'largest':>9}"
        lines = ["  ".join([heading, *(f"{shape:>11}" for shape in shapes), "(counts)"])]
        for option in self.options:
            row = [f"{option.name:<{width}}"]
            row += [f"{each:9.4g}" for each in (option.error, option.largest_error)]
            row += [f"{option.on_shapes[shape]:11.4g}" for shape in shapes if option.on_shapes]
            lines.append("  ".join(row))
        return "\n".join([*lines, f"first: {self.why}"])


def plan(
    size: int,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours = "replace-one",
    delta: float | None = None,
    n: int | None = None,
) -> Plan:
    """Compare mechanisms, by their errors in closed form, and say which one to take.

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
    n
        The number of records, if it is public; ``dpcore.cdf`` knows it under replace-one. Where
        n epsilon is at most size^1.5, ``mechanisms.Dawa`` is the first one: its error depends on
        the records, and a study says where it pays (docs/regret.md).

    Returns
    -------
    Plan
        Errors are those before any post-processing; isotonic regression lowers the total error of
        each further, by an amount that depends on the data. With n, errors of isotonic curves for
        some reference shapes are simulated for the best mechanism of closed form, and for Dawa.

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
    found = _plan(size, epsilon, rho, neighbours, delta)
    return found if n is None else _with_records(found, _check.integer("n", n, 1, MOST_RECORDS))


def most_accurate(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None = None,
    n: int | None = None,
) -> Mechanism:
    """Return the first of ``plan``'s options, without all that is told of the others. Cached."""
    size = _check.integer("size", size, 1, MOST_CELLS)
    Budget.checked(epsilon, rho, neighbours, delta)
    best = _best(size, epsilon, rho, neighbours, delta)
    buckets = None if n is None else _buckets(best, size)
    return buckets if n is not None and buckets and buckets.pays(size, n) else best


def _with_records(found: Plan, n: int) -> Plan:
    """Return the plan for so many records."""
    size, best = found.size, found.options[0]
    assert isinstance(best.mechanism, _Tree)
    buckets = _buckets(best.mechanism, size)
    if buckets is None:
        return found
    option = Option("dawa", buckets, math.inf, math.inf, expected_errors(buckets, size, n))
    others = (replace(best, on_shapes=expected_errors(best.mechanism, size, n)), *found.options[1:])
    if buckets.pays(size, n):
        return Plan(size, (option, *others), "n epsilon is at most size^1.5")
    return Plan(size, (*others, option), "the least error, as n epsilon is above size^1.5")


@lru_cache(maxsize=256)
def _buckets(best: _Tree, size: int) -> Dawa | None:
    """Return DAWA with the budget of the best mechanism of closed form, where it is possible.

    It needs a public n to tell whether it pays.
    """
    if size <= _FEW_CELLS or best.privacy.neighbours != "replace-one":
        return None
    buckets = Dawa(best.epsilon, rho=best.rho, delta=best.delta)
    try:
        buckets.noise_deviation(size)
    except ParameterError:  # the budget is too small for two stages
        return None
    return buckets


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
) -> _Tree:
    best: _Tree | None = None
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
