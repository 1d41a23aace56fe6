"""The number of cells of a command without ``--size``, chosen by public numbers."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcore

from ..planning.score_grid import OF_A_GROUP
from ..planning.suggest import FINEST, suggested_size
from .arguments import UsageError
from .reports import lines

__all__ = ["coarser", "grid_of", "with_size"]


def grid_of(options: argparse.Namespace) -> dpcore.Grid:
    """Return the requested grid; without a size, the finest grid that ``coarser`` accepts.

    With ``--integers`` and without a size, each whole number or day has a cell. By groups, the grid
    does not depend on the number of records, which may be private in each group.
    """
    size = options.size
    if size is None and getattr(options, "integers", None):
        return _whole_grid(options.lower, options.upper)
    if size is None and getattr(options, "by", None):
        size = suggested_size(OF_A_GROUP, options.epsilon, options.rho, options.delta)
    size = FINEST if size is None else size
    return dpcore.Grid.uniform(options.lower, options.upper, size)


def coarser(
    options: argparse.Namespace, grid: dpcore.Grid, counts: NDArray[np.int64]
) -> tuple[dpcore.Grid, NDArray[np.int64]]:
    """Return the grid that ``dpcore.suggest`` chooses for so many records, and the counts on it.

    Parameters
    ----------
    options
        The options of the command line.
    grid, counts
        The grid from ``grid_of``, and the exact counts on it, (k N,), one class after the other.
        The thresholds of the new grid are among those of ``grid``, because both sizes are powers
        of two. The number of records is public.
    """
    n = int(counts.sum())
    size = suggested_size(n, options.epsilon, options.rho, options.delta) if n else grid.size
    joined = counts.reshape(-1, grid.size // size).sum(axis=1)
    return dpcore.Grid.uniform(options.lower, options.upper, size), joined


def _whole_grid(lower: Any, upper: Any) -> dpcore.Grid:
    are_dates = isinstance(lower, str) or isinstance(upper, str)
    try:
        return dpcore.Grid.days(lower, upper) if are_dates else dpcore.Grid.integers(lower, upper)
    except dpcore.DpcoreError as error:
        said = str(error).replace("first", "--lower").replace("last must", "--upper must")
        raise UsageError(f"{said}. With --size, --integers takes other bounds") from None


def with_size(options: argparse.Namespace, text: str, grid: dpcore.Grid) -> str:
    """Return a summary, with the number of cells if the command chose it."""
    if options.size is not None:
        return text
    why = "by the budget" if getattr(options, "by", None) else "by the records and the budget"
    if grid.of_integers:
        why = "one for each whole number" if grid.unit is None else "one for each day"
    said = f"{grid.size} ({why}; --size sets it)"
    return "\n".join([*lines({"cells": said}), text])
