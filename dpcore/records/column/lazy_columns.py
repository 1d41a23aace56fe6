"""Columns of an engine, such as a database: expressions of ibis, and lazy frames of polars.

Nothing is fetched from them: ``records.queries`` lets the engine count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import _check
from ...errors import DtypeError, EngineError
from .base import Column, Part

__all__ = ["PURPOSE"]

PURPOSE = "counting in an engine"


class _IbisColumn(Column):
    """A column expression of ibis; or something else of ibis, which is refused when it is read."""

    __slots__ = ("_described",)

    library = "ibis"

    def __init__(self, values: Any, argument: str, described: str = "") -> None:
        super().__init__(values, argument)
        self._described = described or f"an ibis {type(values).__name__}"

    @property
    def is_lazy(self) -> bool:
        return True

    @property
    def schema(self) -> str | None:
        """The type of a column of a table. That of a table in memory may follow from its values."""
        if not hasattr(self.values, "type"):
            return None
        operations = _check.extra("ibis.expr.operations", PURPOSE, "sql")
        if self.values.op().find(operations.InMemoryTable):
            return None
        return str(self.values.type().copy(nullable=True))

    @property
    def described(self) -> str:
        return self._described

    @property
    def name(self) -> str | None:
        """The name of a column that is taken from a table as it is."""
        operations = _check.extra("ibis.expr.operations", PURPOSE, "sql")
        is_one = hasattr(self.values, "op") and isinstance(self.values.op(), operations.Field)
        return self.values.get_name() or None if is_one else None

    def only(self) -> Column:
        names: Any = getattr(self.values, "columns", ())
        if len(names) != 1:
            return self
        return _IbisColumn(self.values[names[0]], self.argument, self._described)

    def _parts(self) -> Iterator[Part]:
        self.check_in_memory()
        return iter(())


class _LazyFrame(Column):
    """Stands for the only column of a lazy frame of polars, as ibis has it."""

    generality = -1  # asked before other containers of polars
    _kind = ""  # of the error that ended the making

    @classmethod
    def takes(cls, container: type, libraries: frozenset[str]) -> bool:
        return "polars" in libraries and container.__name__ == "LazyFrame"

    @classmethod
    def made(cls, values: Any, argument: str) -> Column:
        ibis = _check.extra("ibis", PURPOSE, "sql")
        try:
            table = ibis.polars.connect({"frame": values}).table("frame")
        except MemoryError:
            raise
        except Exception as error:  # such as that of a missing file, which may quote it
            failed = cls(values, argument)
            failed._kind = type(error).__name__
            return failed
        return _IbisColumn(table, argument, cls(values, argument).described).only()

    def _parts(self) -> Iterator[Part]:
        """Tell why ibis has not taken its place."""
        try:
            types = {str(kind) for kind in self.values.collect_schema().dtypes()}
        except MemoryError:
            raise
        except Exception:
            types = set()
        if types:
            what = "must be of a type that ibis knows: cast it"
            raise DtypeError(self.argument, f"a polars column of {', '.join(sorted(types))}", what)
        raise EngineError("polars", self._kind)
