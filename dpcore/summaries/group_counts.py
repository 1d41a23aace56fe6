"""Counts of the records of several public groups on one grid. They are private and additive."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DtypeError, MissingValueError, ParameterError
from ..records import queries, times
from ..records.column import Column
from ..records.labels import MOST_BITS, Label, places, plain
from ..records.object_kinds import kind_of
from .grid import Grid, check_grid
from .totals import NanPolicy, sum_of_parts

__all__ = [
    "check_number_of_groups",
    "counts_of_groups",
    "group_counts",
    "labels_of",
    "public_groups",
]

_MOST_CELLS: Final = 2**31


def public_groups(
    by: Column, groups: Sequence[Label] | None, argument: str = "groups"
) -> tuple[Label, ...]:
    """Return the public groups: the given ones, or the categories of a polars Enum.

    The categories of other columns, such as those of pandas, may have been made from the data.

    Raises
    ------
    DtypeError, ParameterError
        The groups are not labels, are empty, or are not all different; or no groups are given and
        the column's type does not state them.
    """
    if groups is None:
        by = by.only()
        categories = by.categories
        if categories is None:
            what = f"must be given: write {argument}=[...]"
            if by.may_have_categories:
                what += "; categories may come from the data"
            raise ParameterError(argument, None, what)
        groups = [*categories]
    return labels_of(groups, argument)


def labels_of(groups: Sequence[Label], argument: str = "groups") -> tuple[Label, ...]:
    """Return public labels as values of Python; refuse what ``public_groups`` refuses."""
    if isinstance(groups, str | bytes):  # it would be split into its letters
        raise DtypeError(argument, type(groups).__name__, "must be a list of labels")
    listed = _check.in_order(argument, groups, "must be a list of labels")
    labels = [_plain(argument, label) for label in listed]
    if len({kind_of(type(label)) for label in labels}) > 1:
        raise DtypeError(argument, "several types", "must all be numbers, or strings, or bytes")
    if not labels or len(set(labels)) < len(labels):
        raise ParameterError(argument, labels, "must hold one label or more, all different")
    return tuple(labels)


def group_counts(
    values: Any,
    by: Any,
    grid: Grid,
    groups: Sequence[Label] | None = None,
    *,
    nan_policy: NanPolicy = "raise",
) -> NDArray[np.int64]:
    """Count the records of public groups in each cell. The counts are private and additive.

    Those of parts of the records add up to those of the whole, so parts may be counted by several
    workers. ``cdf_from_counts`` releases the sum.

    Parameters
    ----------
    values
        (n,) real numbers or times, in the containers of ``Grid.count``.
    by, groups, nan_policy
        As in ``cdf``: (n,) labels of the records, the G public labels, and what to do with missing
        values and labels.
    grid
        The grid of N cells.

    Returns
    -------
    numpy.ndarray
        (G, N) int64: row g has the records of group g. 8 G N bytes.

    Raises
    ------
    MissingValueError
        There are missing values or labels, and nan_policy is "raise".
    DtypeError, ParameterError
        An argument is not as above, or G N is 2^31 or more.

    Notes
    -----
    O(n + G N) on uniform grids. Labels are compared as Python compares them, and each record gets
    one group or none, so it counts once at most. Partitions of Dask are counted where they lie.

    Examples
    --------
    >>> import dpcore as dp
    >>> grid, groups = dp.Grid([1.0, 2.0]), ["a", "b"]
    >>> parts = [([1, 2, 2], ["a", "b", "b"]), ([1, 1], ["a", "c"])]
    >>> sum(dp.group_counts(values, by, grid, groups) for values, by in parts)
    array([[2, 0],
           [0, 2]])
    """
    check_grid("grid", grid)
    column, labels = Column.of(values), Column.of(by, "by")
    return counts_of_groups(
        column, labels, grid, public_groups(labels, groups), nan_policy=nan_policy
    )


def counts_of_groups(
    values: Any, by: Any, grid: Grid, groups: Sequence[Label], *, nan_policy: NanPolicy
) -> NDArray[np.int64]:
    """Return ``group_counts`` for labels of ``public_groups``."""
    _check.choice("nan_policy", nan_policy, NanPolicy)
    check_number_of_groups(len(groups), grid.size)
    column, labels = Column.of(values), Column.of(by, "by")
    if column.is_partitioned or labels.is_partitioned:
        own = partial(counts_of_groups, grid=grid, groups=groups, nan_policy=nan_policy)
        return sum_of_parts(own, column, labels)
    if column.is_lazy or labels.is_lazy:
        omit = nan_policy == "omit"
        return queries.counts(column, grid._cells(), by=labels, groups=groups, omit=omit)
    column.check_index(labels)
    numbers = column.joined(grid.unit, times.REQUIREMENTS[grid.unit])
    if nan_policy == "raise" and np.isnan(numbers).any():
        raise MissingValueError("values")
    place, is_missing = places(labels, groups, "groups")
    if place.shape != numbers.shape:
        what = f"must have the shape of values, {numbers.shape}"
        raise ParameterError("by", place.shape, what)
    if is_missing is not None and nan_policy == "raise":
        raise MissingValueError("by")
    counts = np.zeros((len(groups), grid.size), np.int64)
    grid._add_groups(numbers, place.astype(np.int32, copy=False), counts)
    return counts


def check_number_of_groups(groups: int, cells: int) -> None:
    """Refuse so many groups, of so many cells each, that a cell's number does not fit 31 bits."""
    most = (_MOST_CELLS - 1) // cells
    if groups > most:
        raise ParameterError("groups", groups, f"must be at most {most} on {cells} cells")


def _plain(argument: str, label: object) -> Label:
    try:
        return plain(argument, label)
    except DpcoreError:
        what = f"must hold numbers of at most {MOST_BITS} bits (not NaN), strings or bytes"
        problem = DtypeError(argument, type(label).__name__, what)
    raise problem
