"""The names of a file's columns, and what may be said of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from ..errors import ParameterError

__all__ = ["check_column", "first_line"]

_LISTED: Final = 20  # columns that an error message lists


def first_line(text: str, delimiter: str) -> list[str]:
    """Return the cells of the first line of a CSV file.

    Raises
    ------
    ValueError
        It is not CSV.
    """
    if "\0" in text:  # UTF-16, or not text at all
        raise ValueError
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise ValueError from None


def check_column(
    names: Sequence[str], column: str, file: str, *, shown: bool, argument: str = "column"
) -> None:
    """Check that one column has this name.

    Parameters
    ----------
    names
        Those of the columns of the file.
    column
        That of the one to look for.
    file
        Of the file, for messages.
    shown
        Whether messages may list the names. Those of a schema are no records. The first line of a
        CSV file is one, if the file has no line of names, and nothing in it tells: none is listed.
    argument
        What messages call the column.

    Raises
    ------
    ParameterError
        None has, or several have.
    """
    found = names.count(column)
    if found > 1:
        raise ParameterError(argument, column, f"must name one column of {file!r}, not {found}")
    if found == 1:
        return
    if not shown:
        raise ParameterError(
            argument,
            column,
            f"must be a name in the first line of {file!r} (cells: {len(names)}; "
            "not shown, for they may be a record)",
        )
    listed = ", ".join(repr(name[:80]) for name in names[:_LISTED])
    if len(names) > _LISTED:
        listed += f", ... ({len(names)} in all)"
    raise ParameterError(argument, column, f"must be one of the columns of {file!r}: {listed}")
