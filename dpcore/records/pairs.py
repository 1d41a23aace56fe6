"""Columns of the same records: whether they belong together, as far as types and indices say.

The checks depend on types, shapes and pandas' indices, and never on a value of a record.
"""

from __future__ import annotations

from typing import Any, Final

from ..errors import DtypeError, ParameterError
from .integers import schema

__all__ = ["check_index", "check_order"]

_FLOATS: Final = ("float", "longdouble", "double", "halffloat")  # how names of types begin
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
        The labels are floats, and the scores are integers or booleans, by the dtypes of columns.
        The types of objects in a list are not asked, because one record would make the difference.
        Warnings from released numbers tell of exchanged lists.

    Examples
    --------
    >>> import numpy as np
    >>> check_order(np.array([0.3, 0.8]), np.array([0, 1]))
    Traceback (most recent call last):
    ...
    dpcore.errors.DtypeError: y_true must be labels, and y_score scores. Are they in this order? ...
    """
    if _type_name(y_true).startswith(_FLOATS) and _type_name(y_score).startswith(_INTEGERS):
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


def _type_name(values: Any) -> str:
    """Return the name of a column's type; empty for sequences and objects, which have none."""
    if (name := schema(values)) is not None:
        return name.lower()
    if str(type(values).__module__).partition(".")[0] != "pandas":
        return ""
    return str(getattr(values, "dtype", "")).lower()
