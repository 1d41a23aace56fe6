"""Messages of errors that say what to write instead, according to the type of the argument."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Sequence
from typing import Any

from .errors import shown

__all__ = ["generator", "grid", "is_number", "mechanism", "table_grid"]


def generator(value: object, otherwise: str = "") -> str:
    """Return the requirement on an argument ``rng``; ``otherwise`` says what None means.

    Examples
    --------
    >>> generator(7, ", or None")
    'must be a generator (no integer seeds): write rng=numpy.random.default_rng(7), or None'
    """
    seed = shown(value) if is_number(value) and isinstance(value, numbers.Integral) else "seed"
    needed = "must be a generator (no integer seeds)"
    return f"{needed}: write rng=numpy.random.default_rng({seed}){otherwise}"


def grid(value: object) -> str:
    """Return the requirement on an argument that must be a grid.

    Examples
    --------
    >>> grid((0, 100))
    'must be a Grid: write dp.Grid.uniform(lower, upper, size)'
    """
    wanted = "must be a Grid: write dp.Grid.uniform(lower, upper, size)"
    if is_number(value):
        return f"{wanted}; for a budget, write epsilon={shown(value)}"
    if hasattr(type(value), "__array__"):
        return f"{wanted} or dp.Grid(thresholds), after the values"
    return wanted


def table_grid(value: object) -> str:
    """Return the requirement on an argument that must be a grid of a table.

    Examples
    --------
    >>> table_grid([0, 1])
    'must be a TableGrid: write dp.TableGrid.uniform(x_bounds, y_bounds, shape)'
    """
    wanted = "must be a TableGrid: write dp.TableGrid.uniform(x_bounds, y_bounds, shape)"
    is_grid = hasattr(value, "positions")  # a grid of one column
    return f"{wanted}, or dp.TableGrid(x, y) of two grids" if is_grid else wanted


def mechanism(value: object, kind: str = "mechanism", classes: Sequence[str] = ()) -> str:
    """Return the requirement on an argument that must be a mechanism.

    ``kind`` is the name of a class if the mechanism must be of that class. ``classes`` are the
    names of the classes in ``dpcore.mechanisms``.

    Examples
    --------
    >>> mechanism(1.0)
    'must be a mechanism: for a budget, write epsilon=1.0'
    >>> mechanism("dyadic", classes=["Dyadic"])
    'must be a mechanism, not a name: write dp.mechanisms.Dyadic(epsilon=...)'
    """
    if isinstance(value, type) and hasattr(value, "release"):
        return f"must be an instance: {_made(value)}"
    if is_number(value):
        return f"must be a {kind}: for a budget, write epsilon={shown(value)}"
    if kind != "mechanism":
        return f"must be a {kind}"
    if isinstance(value, str):
        named = [name for name in classes if name.lower() == value.lower().replace("_", "")]
        if named:
            budget = "" if named[0] == "NoNoise" else "epsilon=..."
            return f"must be a mechanism, not a name: write dp.mechanisms.{named[0]}({budget})"
        if classes:
            return f"must be a mechanism, of dp.mechanisms: {', '.join(classes)}"
    return "must be a mechanism, as dp.mechanisms.Dyadic(epsilon=1.0) is"


def _made(cls: type[Any]) -> str:
    """Return how an instance is made, with the name of the budget that it takes."""
    try:
        names = inspect.signature(cls).parameters
    except (TypeError, ValueError):  # functions written in C, and those without a signature
        return f"{cls.__name__}(...)"
    budget = next((name for name in ("epsilon", "rho") if name in names), None)
    return f"{cls.__name__}({'' if budget is None else f'{budget}=...'})"


def is_number(value: object) -> bool:
    """Return whether an argument is one real number."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
