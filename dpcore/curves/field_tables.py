"""Tables of the fields that a result declares, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import fields
from html import escape
from typing import Any, Final, NamedTuple

import numpy as np

from .confidence import Interval
from .shown import printable, short

__all__ = [
    "MOST_ROWS",
    "Rows",
    "cut",
    "field_tables",
    "html_of",
    "in_a_notebook",
    "line_of",
    "text",
]

MOST_ROWS: Final = 60  # of a table; a picture, and the JSON, have the rest
_IN_A_NOTEBOOK: Final = 12
_LONGEST: Final = 300  # characters of a result in one line


class Rows(NamedTuple):
    """A table of text.

    Parameters
    ----------
    caption
        What it shows.
    header
        The names of the columns.
    rows
        The rows, each with as many texts.
    """

    caption: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def field_tables(
    result: Any, left_out: Set[str] = frozenset(), most: int = MOST_ROWS
) -> list[Rows]:
    """Return what a dataclass declares: single values in a table, and rows of one length in others.

    Parameters
    ----------
    result
        The dataclass. Fields that are neither numbers, texts nor rows of them are not shown.
    left_out
        Names of other fields that are not shown.
    most
        How many rows a table has at most.
    """
    single: list[tuple[str, ...]] = []
    columns: dict[int, dict[str, list[str]]] = {}
    for name, value in _declared(result):
        if name in left_out or (items := _items(value, most)) is None:
            continue
        if not isinstance(value, Interval) and np.ndim(value) == 0:
            single.append((name, items[0]))
        elif items:
            columns.setdefault(_length(value), {})[name] = items
    tables = [Rows("Fields", ("", "value"), single)] if single else []
    for length, named in columns.items():
        rows = list(zip(*named.values(), strict=True))
        tables.append(Rows(_caption("Values", len(rows), length), tuple(named), rows))
    return tables


def cut(caption: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Rows:
    """Return a table with the first rows, whose caption says how many there are."""
    shown = rows[:MOST_ROWS]
    return Rows(_caption(caption, len(shown), len(rows)), header, shown)


def text(value: Any) -> str:
    """Return a number with the digits that matter, and other values as they are."""
    if isinstance(value, str | bool | np.bool_):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return f"{int(value):,}"
    return short(value)


def html_of(table: Rows) -> str:
    """Return a table as HTML, or nothing if it has no rows."""
    if not table.rows:
        return ""

    def row(texts: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"

    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    body = "\n".join(row(texts, "td") for texts in table.rows)
    return (
        f'<div class="wide"><table>{caption}\n<thead>{row(table.header, "th")}</thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def in_a_notebook(result: Any) -> str:
    """Return HTML with the line of a result, and tables of its fields."""
    tables = map(html_of, field_tables(result, most=_IN_A_NOTEBOOK))
    return printable(f"<div><div>{escape(line_of(result))}</div>{''.join(tables)}</div>")


def line_of(result: Any) -> str:
    """Return the representation of a result, cut if it is long."""
    line = repr(result)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _declared(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each public field of a dataclass."""
    for one in fields(result):
        if not one.name.startswith("_"):
            yield one.name.replace("_", " "), getattr(result, one.name)


def _items(value: Any, most: int) -> list[str] | None:
    """Return a value, or each of the first ones, as text; None if it is no number and no text."""
    if isinstance(value, Interval):
        ends = zip(np.ravel(value.low)[:most], np.ravel(value.high)[:most], strict=True)
        return [f"{text(low)} to {text(high)}" for low, high in ends]
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return None
    several = value[:most] if isinstance(value, tuple | list | np.ndarray) else [value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        several = [value[()]]
    kinds = str | int | float | np.generic
    if not all(isinstance(one, kinds) for one in several):
        return None
    return [text(one) for one in several]


def _length(value: Any) -> int:
    return int(np.size(value.low)) if isinstance(value, Interval) else len(value)


def _caption(caption: str, shown: int, of: int) -> str:
    return caption if shown == of else f"{caption} (the first {shown} of {of:,})"
