"""The name of a column, if its container has one."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["name_of"]

# Not "dask.array.", because the name of a Dask array is a key.
_NAMED: Final = ("pandas.", "polars.", "dask.dataframe.", "dask_expr.")


def name_of(values: Any) -> str | None:
    """Return the name of a column of pandas, polars or Dask, if it is a text that is not empty.

    The name is public, like all names of columns.
    """
    if not f"{type(values).__module__}.".startswith(_NAMED):
        return None
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else None
