"""Columns of the same records: whether they belong together, as far as types and indices say.

The checks depend on types, shapes and pandas' indices, and never on a value of a record.
"""

from __future__ import annotations

import numbers
from typing import Any, Final, Literal

import numpy as np

from ..errors import DtypeError, ParameterError
from . import object_kinds

__all__ = ["check_index", "check_order"]

_FLOATS: Final = ("float", "double", "halffloat")  # how types of polars and Arrow begin
_INTEGERS: Final = ("int", "uint", "bool")


def check_index(first: Any, second: Any, name: str, other: str) -> None:
    """Check that two columns of pandas have the same index, in the same order.

    pandas pairs records by their index, and dpcore by their position. The two agree only if the
    indices are equal.

    Parameters
    ----------
    first, second
        Two columns or tables of any kind. Only those of pandas have an index.
    name, other
        Their names in errors.

    Raises
    ------
    ParameterError
        The indices differ. The message shows nothing of them.

    Examples
    --------
    >>> import pandas as pd
    >>> check_index(pd.Series([1, 2]), pd.Series([3, 4], [1, 0]), "values", "by")
    Traceback (most recent call last):
    ...
    dpcore.errors.ParameterError: by must have the index of values, in its order: write ...
    """
    ours, theirs = _index(first), _index(second)
    if ours is None or theirs is None or ours is theirs or len(ours) != len(theirs):
        return  # other lengths are refused as other shapes
    if len(ours) == 0:
        return
    try:
        if ours.equals(theirs):
            return
    except Exception:  # objects that cannot be compared; the error may quote them
        pass
    what = (
        f"must have the index of {name}, in its order: write {other}.reindex({name}.index), or "
        f"{other}.to_numpy() to pair records by position"
    )
    raise ParameterError(other, "another index", what)


def check_order(y_true: Any, y_score: Any, score: str = "y_score") -> None:
    """Check that labels without a stated positive label are not scores, and scores not labels.

    Parameters
    ----------
    y_true, y_score
        The columns.
    score
        The name of the scores in errors.

    Raises
    ------
    DtypeError
        The labels are floats, and the scores are integers or booleans.

    Examples
    --------
    >>> check_order([0.3, 0.8], [0, 1])
    Traceback (most recent call last):
    ...
    dpcore.errors.DtypeError: y_true must be labels, and y_score scores. Are they in this order? ...
    """
    if _kind(y_true) == "float" and _kind(y_score) == "integer":
        what = (
            f"must be labels, and {score} scores. Are they in this order? If labels are floats, "
            "say so by pos_label=1"
        )
        raise DtypeError("y_true", f"floats, beside integers or booleans in {score}", what)


def _index(values: Any) -> Any:
    """Return the index of a column or a table of pandas; None of anything else."""
    if str(type(values).__module__).partition(".")[0] != "pandas":
        return None
    return getattr(values, "index", None) if hasattr(values, "iloc") else None


def _kind(values: Any) -> Literal["float", "integer"] | None:
    """Return whether the type of a column, or the types of all of its objects, are of one kind."""
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if isinstance(values, list | tuple) or (kind == "O" and isinstance(values, np.ndarray)):
        types = {cls for cls in set(map(type, values)) if object_kinds.kind_of(cls) != "missing"}
        if types and all(issubclass(cls, float | np.floating) for cls in types):
            return "float"
        whole = (numbers.Integral, np.bool_)
        are_whole = all(object_kinds.kind_of(cls) == "number" for cls in types)
        return (
            "integer" if types and are_whole and all(issubclass(t, whole) for t in types) else None
        )
    if isinstance(kind, str):
        return "float" if kind == "f" else "integer" if kind in "biu" else None
    name = str(getattr(values, "type", None) if dtype is None else dtype).lower()
    if name.startswith(_FLOATS):
        return "float"
    return "integer" if name.startswith(_INTEGERS) else None
