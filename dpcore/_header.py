"""The names of a file's columns, and what may be said of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Final

from .errors import ParameterError

__all__ = ["check_column", "first_line", "is_showable"]

_LISTED: Final = 20  # columns that an error message lists
_MISSING: Final = frozenset({"na", "n/a", "null", "none"})  # and what float() takes for NaN


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


def is_showable(names: Sequence[str]) -> bool:
    """Return whether a first line is surely not a record: records are never shown.

    A file without a line of names starts with a record, and so does, up to the next quote, one
    with a stray quote. No name may look like a number or a missing one, or hold a line break;
    only the first may be empty (that of an index).
    """
    return not any(
        _is_number(name) or not name.isprintable() or (at > 0 and not name)
        for at, name in enumerate(names)
    )


def check_column(
    names: Sequence[str], column: str, file: str, *, shown: bool, argument: str = "column"
) -> None:
    """Check that one column has this name; if not, list those there are, if they may be shown.

    Parameters
    ----------
    names
        Those of the columns of the file.
    column
        That of the one to look for.
    file
        Of the file, for messages.
    shown
        Whether messages may show the names.
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
            f"must be in the first line of {file!r} (not shown here: it may be a record)",
        )
    listed = ", ".join(repr(name[:80]) for name in names[:_LISTED])
    if len(names) > _LISTED:
        listed += f", ... ({len(names)} in all)"
    raise ParameterError(argument, column, f"must be one of the columns of {file!r}: {listed}")


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return text.strip().lower() in _MISSING
    return True
