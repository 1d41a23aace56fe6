"""What a column is called, where its container says so."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["name_of"]

_NAMED: Final = ("pandas.", "polars.", "dask.dataframe.", "dask_expr.")  # a Dask array's is a key


def name_of(values: Any) -> str | None:
    """Return the name of a column of pandas, polars or Dask, if it is text that is not empty.

    It is taken as public, as the names of columns are everywhere.
    """
    if not f"{type(values).__module__}.".startswith(_NAMED):
        return None
    found = getattr(values, "name", None)
    return found if isinstance(found, str) and found else None
