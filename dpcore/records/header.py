"""The names of a file's columns, and which of them messages may show."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from ..errors import ParameterError

__all__ = ["check_column", "first_line"]

_LISTED: Final = 20  # an error message lists at most so many columns


def first_line(text: str, delimiter: str) -> list[str]:
    """Return the cells of the first line of a CSV file.

    Raises
    ------
    ValueError
        The text is not CSV.
    """
    if "\0" in text:  # the file is in UTF-16, or it is not text
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
        The names of the file's columns.
    column
        The name to look for.
    file
        The name of the file, for messages.
    shown
        Whether messages may list the names. Names in a schema are not records. If a CSV file has no
        line of names, its first line is a record, and nothing in it shows this. So its cells are
        not listed.
    argument
        The name of the argument, for messages.

    Raises
    ------
    ParameterError
        No column has this name, or several have.
    """
    count = names.count(column)
    if count > 1:
        raise ParameterError(argument, column, f"must name one column of {file!r}, not {count}")
    if count == 1:
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
