"""Which mechanism is the most accurate for a grid and a budget: closed forms, no data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from .. import _check
from ..errors import ParameterError
from ..mechanisms import Dyadic, Hierarchy, Histogram, Mechanism, ToeplitzGaussian
from ..privacy.budget import Budget
from ..privacy.guarantees import Neighbours
from ..summaries.grid import MOST_CELLS

__all__ = ["Option", "Plan", "most_accurate", "plan"]

_FEW_CELLS: Final = 16  # up to which any of them may win


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
        Beside epsilon: the budget is (epsilon, delta), and noise is Gaussian.

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
    """Return the first of ``plan``'s options without working out all the others' errors.

    Beyond a few cells those are hierarchies of another shape, or have a tree's noise without its
    consistency.
    """
    budget = Budget.checked(epsilon, rho, neighbours, delta)
    if size <= _FEW_CELLS:
        return plan(size, epsilon=epsilon, rho=rho, neighbours=neighbours, delta=delta).best
    hierarchy = Hierarchy(epsilon, rho=rho, neighbours=neighbours, delta=delta)
    least = hierarchy.mean_squared_error(size)  # refuses a budget too small for this grid
    if budget.rho is None:
        return hierarchy
    root = ToeplitzGaussian(rho, neighbours, epsilon, delta)
    try:
        is_better = round(root.mean_squared_error(size), 9) < round(least, 9)
    except ParameterError:  # its lattice is finer, so that it gives up earlier
        return hierarchy
    return root if is_better else hierarchy


@lru_cache(maxsize=64)
def _plan(
    size: int,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours,
    delta: float | None,
) -> Plan:
    is_gaussian = rho is not None or delta is not None
    common: dict[str, Any] = {"rho": rho, "neighbours": neighbours, "delta": delta}
    candidates: dict[str, Mechanism] = {
        "hierarchy": Hierarchy(epsilon, **common),
        "hierarchy, HB's rule": Hierarchy(epsilon, "hb", "equal", **common),
        "hierarchy, binary, equal budgets": Hierarchy(epsilon, 2, "equal", **common),
        "histogram": Histogram(epsilon, **common),
    }
    if is_gaussian:
        candidates["square root (Toeplitz)"] = ToeplitzGaussian(rho, neighbours, epsilon, delta)
    if neighbours == "replace-one":
        candidates["dyadic tree"] = Dyadic(epsilon, rho=rho, delta=delta)
        if not is_gaussian:
            candidates["dyadic tree, the paper's scale"] = Dyadic(epsilon, sensitivity="paper")
    options = []
    refusal = None
    for name, mechanism in candidates.items():
        try:
            errors = mechanism.noise_deviation(size)
        except ParameterError as error:  # the budget is too small for this one
            refusal = refusal or error
            continue
        mean = float(np.sqrt(np.mean(errors**2)))
        options.append(Option(name, mechanism, mean, float(errors.max())))
    if refusal and not options:
        raise refusal
    # equals are in the order above: small grids have many names for one mechanism
    return Plan(size, tuple(sorted(options, key=lambda option: round(option.error, 9))))
