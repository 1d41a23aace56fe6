"""Columns that narwhals wraps: the wrapped container says what it holds."""

from __future__ import annotations

from typing import Any

from .base import Column

__all__: list[str] = []


class _NarwhalsColumn(Column):
    """Stands for the column of the wrapped container, whose dtype or index may count."""

    library = "narwhals"

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return cls.library in libraries and hasattr(container, "to_native")

    @classmethod
    def made(cls, values: Any, argument: str) -> Column:
        return Column.of(values.to_native(), argument)
