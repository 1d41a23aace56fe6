"""Counts of the records of several public groups on one grid. They are private and additive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, MissingValueError, ParameterError
from ..records.labels import Label, positives
from .grid import Grid
from .partitions import are_partitioned, sum_of_parts
from .totals import NanPolicy

__all__ = ["group_counts", "public_groups"]

_SINGLE = (bool, int, float, str, bytes)


def public_groups(by: Any, groups: Sequence[Label] | None) -> tuple[Label, ...]:
    """Return the public groups: the given ones, or the categories of a polars Enum.

    The categories of other columns, such as those of pandas, may have been made from the data.

    Raises
    ------
    DtypeError, ParameterError
        The groups are not labels, are empty, or are not all different; or no groups are given and
        the column's type does not state them.
    """
    if groups is None:
        categories = _categories(by)
        if categories is None:
            what = "must be given: write groups=[...]"
            if hasattr(getattr(by, "dtype", None), "categories"):
                what += "; categories may come from the data"
            raise ParameterError("groups", None, what)
        found: list[Any] = categories
    elif isinstance(groups, str | bytes):  # it would be split into its letters
        raise DtypeError("groups", type(groups).__name__, "must be a list of labels")
    else:
        found = _check.items("groups", groups, "must be a list of labels")
    found = [each.item() if isinstance(each, np.generic) else each for each in found]
    for each in found:
        if not isinstance(each, _SINGLE) or each != each:
            what = "must hold numbers (not NaN), strings or bytes"
            raise DtypeError("groups", type(each).__name__, what)
    if not found or len(set(found)) < len(found):
        raise ParameterError("groups", found, "must hold one label or more, all different")
    return tuple(found)


def group_counts(
    values: Any, by: Any, grid: Grid, groups: Sequence[Label], *, nan_policy: NanPolicy = "raise"
) -> NDArray[np.int64]:
    """Return the number of values of each group in each cell, (G, N).

    Parameters
    ----------
    values
        (n,) real numbers or times, in the containers of ``Grid.count``.
    by
        (n,) labels, all of one kind. Records with the label of no group are not counted.
    grid, groups
        The grid of N cells, and the G labels from ``public_groups``.
    nan_policy
        What to do with missing values and labels.

    Raises
    ------
    MissingValueError
        There are missing values or labels, and nan_policy is "raise".
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    O(G n). Labels are compared exactly, with one group after the other.
    """
    _check.choice("nan_policy", nan_policy, NanPolicy)
    if are_partitioned(values, by):
        own = partial(group_counts, grid=grid, groups=groups, nan_policy=nan_policy)
        return sum_of_parts(own, values=values, by=by)
    numbers = grid._column(values)
    counts = np.zeros((len(groups), grid.size), np.int64)
    keep = ~np.isnan(numbers)
    if nan_policy == "raise" and not keep.all():
        raise MissingValueError("values")
    for own_counts, group in zip(counts, groups, strict=True):
        is_in, is_missing = _compared(by, group)
        if is_in.shape != numbers.shape:
            what = f"must have the shape of values, {numbers.shape}"
            raise ParameterError("by", is_in.shape, what)
        if is_missing is not None and nan_policy == "raise":
            raise MissingValueError("by")
        own_counts += grid._count_positions(numbers[is_in & keep])
    return counts


def _compared(by: Any, group: Label) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return which labels are the group's, and which are missing. Errors name our arguments."""
    try:
        return positives(by, group)
    except (ParameterError, DtypeError) as error:
        name = {"y_true": "by", "pos_label": "groups"}.get(error.argument, error.argument)
        requirement = str(error).removeprefix(f"{error.argument} ").rpartition("; got ")[0]
        found = error.value if isinstance(error, ParameterError) else error.found
        problem = type(error)(name, found, requirement)
    raise problem


def _categories(by: Any) -> list[Any] | None:
    """Return the categories of a polars Enum, in their order; None for any other column."""
    dtype: Any = getattr(by, "dtype", None)
    library = str(type(by).__module__).partition(".")[0]
    if library == "polars" and type(dtype).__name__ == "Enum":
        return list(dtype.categories)
    return None
