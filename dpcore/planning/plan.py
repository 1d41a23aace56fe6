"""Find the most accurate mechanism for a grid and a budget, from public numbers, without data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _check
from ..curves import forms
from ..curves.field_tables import Rows, cut, text
from ..curves.stored import Stored, one_of
from ..errors import ParameterError, amount
from ..mechanisms import Dawa, Mechanism
from ..mechanisms.base import MOST_RECORDS, check_mechanism
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours, Privacy
from ..summaries.grid import MOST_CELLS
from .most_accurate import candidates, data_aware, error_of, pays, rank
from .plan_shapes import expected_errors, expected_largest

__all__ = ["Option", "Plan", "plan"]


@dataclass(frozen=True, eq=False, slots=True)
class Option(Stored):
    """A mechanism and its errors, in counts.

    Parameters
    ----------
    name
        The name of the mechanism, in words.
    mechanism
        The mechanism, ready for ``dpcore.cdf``.
    error
        The root mean square, over the thresholds, of the noise in the cumulative counts. It is
        infinite if the noise depends on the records.
    largest_error
        The largest standard deviation of the noise at a threshold.
    on_shapes
        Simulated root mean squared errors of isotonic curves, for reference shapes of n records.
    expected_largest
        The expected largest error over the thresholds, simulated to about 5 %: n times the
        expected Kolmogorov-Smirnov distance. It is infinite if the noise depends on the records.
    largest_on_shapes
        The same for isotonic curves on the reference shapes.
    """

    name: str = field(metadata=forms.TEXT)
    mechanism: Mechanism = field(metadata=forms.MECHANISM)
    error: float = field(metadata=forms.NUMBER)
    largest_error: float = field(metadata=forms.NUMBER)
    on_shapes: Mapping[str, float] = field(
        default_factory=dict, metadata=forms.by_name(forms.NUMBER)
    )
    expected_largest: float = field(default=math.inf, metadata=forms.NUMBER)
    largest_on_shapes: Mapping[str, float] = field(
        default_factory=dict, metadata=forms.by_name(forms.NUMBER)
    )

    def __post_init__(self) -> None:
        _check.instance("name", self.name, str, "must be a string")
        check_mechanism("mechanism", self.mechanism)
        for name in ("error", "largest_error", "expected_largest"):
            _check.held(name, getattr(self, name))
        for name in ("on_shapes", "largest_on_shapes"):
            _check.instance(name, getattr(self, name), Mapping, "must map names to numbers")
            for error in getattr(self, name).values():
                _check.held(name, error)
        if set(self.on_shapes) != set(self.largest_on_shapes):
            given = list(self.largest_on_shapes)
            raise ParameterError("largest_on_shapes", given, "must have the shapes of on_shapes")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Plan(Stored):
    """Mechanisms for a grid of some size, with the recommended one first. Iterates over options.

    Parameters
    ----------
    size
        The number of cells of the grid.
    options
        The recommended option, and then the others by increasing error.
    why
        The reason why the first option is recommended.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.plan(2**10, epsilon=1.0)
    >>> found.best.describe()["name"], round(found.options[0].error, 1)
    ('hierarchy', 17.7)
    """

    _kind = "dpcore.plan"

    size: int = field(metadata=forms.WHOLE)
    options: tuple[Option, ...] = field(metadata=forms.tuple_of(one_of(Option)))
    why: str = field(default="the least error", metadata=forms.TEXT)

    def __post_init__(self) -> None:
        _check.integer("size", self.size, 1, MOST_CELLS)
        _check.tuple_of("options", self.options, Option)
        _check.instance("why", self.why, str, "must be a string")
        if not self.options:
            raise ParameterError("options", self.options, "must hold one or more")
        shapes = {frozenset(option.on_shapes) for option in self.options if option.on_shapes}
        if len(shapes) > 1:
            given = [list(option.on_shapes) for option in self.options]
            raise ParameterError("options", given, "must have errors on the same shapes")

    @property
    def best(self) -> Mechanism:
        """The mechanism that ``dpcore.cdf`` uses if none is given."""
        return self.options[0].mechanism

    def __repr__(self) -> str:
        first, cells = self.options[0], amount(self.size, "cell")
        return (
            f"<Plan for {cells}: {first.name}, {self.why}; {amount(len(self.options), 'option')}>"
        )

    def _columns(self) -> Mapping[str, Any]:
        names = ("name", "error", "largest_error", "expected_largest")
        columns = {name: [getattr(option, name) for option in self.options] for name in names}
        for name in ("on_shapes", "largest_on_shapes"):
            for shape in self.options[0].on_shapes:
                errors = [getattr(option, name).get(shape, math.nan) for option in self.options]
                columns[f"{name}: {shape}"] = errors
        return columns

    def _guarantees(self) -> tuple[Any, ...]:
        return ()

    def _readings(self, level: float) -> list[Rows]:
        rows = [(option.name, text(option.error)) for option in self.options]
        return [cut("Expected errors", ("mechanism", "error"), rows)]

    def __iter__(self) -> Iterator[Option]:
        return iter(self.options)

    def __str__(self) -> str:
        width = max(len(option.name) for option in self.options)
        shapes = list(self.options[0].on_shapes)
        heading = f"{'mechanism':<{width}}  {'RMSE':>9}  {'largest':>9}  {'K-S':>9}"
        unit = "(counts; RMSE / K-S)" if shapes else "(counts)"
        lines = ["  ".join([heading, *(f"{shape:>17}" for shape in shapes), unit])]
        for option in self.options:
            known = option.error, option.largest_error, option.expected_largest
            row = [f"{option.name:<{width}}", *(f"{error:9.4g}" for error in known)]
            for shape in shapes if option.on_shapes else ():
                mean, largest = option.on_shapes[shape], option.largest_on_shapes[shape]
                row.append(f"{f'{mean:.3g} / {largest:.3g}':>17}")
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
    also: Sequence[Mechanism] = (),
) -> Plan:
    """Compare mechanisms by their errors in closed form, and recommend one.

    Parameters
    ----------
    size
        The number of cells of the grid, 1 to 2^24.
    epsilon
        The budget for pure differential privacy. Give either epsilon or rho.
    rho
        The budget for zero-concentrated differential privacy.
    neighbours
        "replace-one" or "add-or-remove-one".
    delta
        Together with epsilon: the budget is (epsilon, delta). The noise is then Gaussian, or it is
        Laplace noise, which spends no delta.
    n
        The number of records, if it is public; under replace-one, ``dpcore.cdf`` knows it. If
        n epsilon is at most size^1.5, or with rho if n sqrt(8 rho) is at most size / 4,
        ``mechanisms.Dawa`` comes first. Its error depends on the records; a study shows for which
        sizes and budgets it is the better choice (docs/measured/regret.md).
    also
        Further mechanisms to compare, such as your own. Each must spend at most the budget.

    Returns
    -------
    Plan
        Errors are those before any post-processing. Isotonic regression lowers the total error of
        each mechanism further, by an amount that depends on the data. With n, the plan also has
        simulated errors of isotonic curves for some reference shapes, for Dawa and for the best
        mechanism whose error has a closed form. "K-S" is the expected largest error.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    The cost is O(size log size). This spends no privacy, because sizes and budgets are public.

    Examples
    --------
    >>> import dpcore as dp
    >>> found = dp.plan(2**10, epsilon=1.0)
    >>> found.best.describe()["name"]
    'hierarchy'
    >>> print(found)
    mechanism                              RMSE    largest        K-S  (counts)
    hierarchy                             17.73      21.64      56.81
    hierarchy, HB's rule                  18.14      22.22      55.69
    hierarchy, binary, equal budgets      29.23      34.94      113.4
    histogram                             36.57      44.79      75.71
    dyadic tree                           46.86      46.88      154.9
    dyadic tree, the paper's scale        51.55      51.58      170.5
    first: the least error
    """
    size = _check.integer("size", size, 1, MOST_CELLS)
    budget = Allowance.checked(epsilon, rho, neighbours, delta)
    others = _check.items("also", also, "must be a sequence of mechanisms")
    planned = _with_others(_plan(size, budget), others, budget.privacy)
    if n is None:
        return planned
    n = _check.integer("n", n, 1, MOST_RECORDS)
    return _with_records(planned, data_aware(size, budget, n), n)


def _with_others(planned: Plan, also: Sequence[Mechanism], budget: Privacy) -> Plan:
    """Return the plan with further mechanisms. The first option stays: ``dpcore.cdf`` takes it."""
    options = list(planned.options[1:])
    for mechanism in also:
        check_mechanism("also", mechanism)
        if not mechanism.privacy <= budget:
            raise ParameterError("also", mechanism.privacy, f"must spend at most {budget}")
        name = str(mechanism.describe()["name"])
        deviation = _check.array("also", mechanism.noise_deviation(planned.size), "iuf")
        if deviation.shape != (planned.size,) or not (deviation >= 0.0).all():
            what = "must have a noise_deviation of 0 or more for each count"
            raise ParameterError("also", name, what)
        largest = float(np.max(deviation))
        errors = error_of(mechanism, planned.size), largest
        most = expected_largest(mechanism, planned.size)
        options.append(Option(name, mechanism, *errors, expected_largest=most))
    options.sort(key=lambda option: rank(option.error))
    return replace(planned, options=(planned.options[0], *options))


def _with_records(planned: Plan, buckets: Dawa | None, n: int) -> Plan:
    """Return the plan for n records."""
    size, best = planned.size, planned.options[0]
    if buckets is None:
        return planned
    option = _on_shapes(Option("dawa", buckets, math.inf, math.inf), size, n)
    others = (_on_shapes(best, size, n), *planned.options[1:])
    edge = "n sqrt(8 rho) <= size / 4" if buckets.rho is not None else "n epsilon <= size^1.5"
    if pays(buckets, size, n):
        return Plan(size, (option, *others), edge)
    return Plan(size, (*others, option), f"the least error, not {edge}")


def _on_shapes(option: Option, size: int, n: int) -> Option:
    errors = expected_errors(option.mechanism, size, n)
    return replace(option, on_shapes=errors.mean, largest_on_shapes=errors.largest)


@lru_cache(maxsize=64)
def _plan(size: int, budget: Allowance) -> Plan:
    options = []
    refusal = None
    for name, mechanism in candidates(budget).items():
        try:
            mean, largest = error_of(mechanism, size), mechanism.noise_deviation(size).max()
            most = expected_largest(mechanism, size)
            options.append(Option(name, mechanism, mean, float(largest), expected_largest=most))
        except ParameterError as error:  # the budget is too small for this mechanism
            refusal = refusal or error
    if refusal and not options:
        raise refusal
    return Plan(size, tuple(sorted(options, key=lambda option: rank(option.error))))
