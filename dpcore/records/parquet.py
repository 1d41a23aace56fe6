"""Parquet files: the columns that their footers describe, read a few pages at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

from ..errors import DtypeError
from .header import check_column
from .sources import Column, FileError, Position

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

__all__ = ["from_parquet", "opened_parquet"]

_PAGES: Final = 2**20  # bytes at a time, so that a huge row group is not read at once
# Rows in a batch; small batches cost too much each, and large ones do not fit the caches.
_ROWS: Final = 2**17


def opened_parquet(
    stream: BinaryIO, file: str, columns: Sequence[Column]
) -> pyarrow.parquet.ParquetFile:
    """Return the opened file, after a check that it has these columns with allowed types.

    Raises
    ------
    DtypeError, FileError, ParameterError
        The check fails, or the footer cannot be read; also the errors of pyarrow.
    """
    import pyarrow.parquet as pq

    if not stream.seekable():
        raise FileError(file, "cannot be read from a pipe: Parquet has to seek")
    parquet = pq.ParquetFile(
        stream,
        buffer_size=_PAGES,
        pre_buffer=False,  # a buffer would hold the column of a whole row group
        page_checksum_verification=True,
    )
    schema = parquet.schema_arrow
    for column in columns:
        check_column(schema.names, column.name, file, shown=True, argument=column.argument)
        _check_type(schema.field(column.name).type, column)
    return parquet


def from_parquet(stream: BinaryIO, file: str, columns: Sequence[Column]) -> Iterator[Position]:
    """Read the columns; errors as in ``opened_parquet``. ``done`` is in rows."""
    parquet = opened_parquet(stream, file, columns)
    names = [column.name for column in columns]
    done = 0
    # The stream belongs to Python. No thread of Arrow may call it or hold the last reference to it.
    for batch in parquet.iter_batches(_ROWS, columns=names, use_threads=False):
        done += batch.num_rows
        yield Position(batch.select(names), done, parquet.metadata.num_rows)


def _check_type(kind: pyarrow.DataType, column: Column) -> None:
    """Check that a column of a Parquet file has an allowed type."""
    from pyarrow import types

    if column.holds == "labels" and types.is_dictionary(kind):
        kind = kind.value_type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)
    is_time = types.is_timestamp(kind)
    fits = {
        "numbers": is_number,
        "labels": is_number or is_text,
        "time": types.is_date(kind) or (is_time and kind.tz is None),
        "instant": is_time and kind.tz is not None,
        "duration": types.is_duration(kind),
    }
    if not fits[column.holds]:
        raise DtypeError(str(column), f"type {kind}", column.requirement)
