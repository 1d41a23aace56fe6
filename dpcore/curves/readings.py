"""Rows of what is read off results, with intervals, as reports show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from ..errors import DpcoreError
from .confidence import in_percent
from .field_tables import Rows, cut, text

__all__ = ["Reading", "readable", "with_intervals"]

Reading = tuple[str, Any, Any]  # a name, a value, and the ends of its interval

_HEADER: Final = ("", "value", "from", "to")


def readable(calls: Iterable[Callable[[], Reading]]) -> Iterator[Reading]:
    """Yield what can be read: some readings need a known mechanism, or numbers, not times."""
    for call in calls:
        with suppress(DpcoreError):
            yield call()


def with_intervals(level: float, rows: Iterable[Reading]) -> Rows:
    """Return a table of values and the ends of their intervals."""
    texts = [(name, *map(text, (value, *ends))) for name, value, ends in rows]
    return cut(f"Values, with {in_percent(level)} intervals", _HEADER, texts)
