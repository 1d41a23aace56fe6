"""Parquet files: the columns that their footers describe, read a few pages at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, Final

from ..errors import DtypeError
from .header import check_column
from .sources import Column, FileError, Position, Source

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

__all__ = ["from_parquet", "opened_parquet"]

_PAGES: Final = 2**20  # bytes at a time, so that a huge row group is not read at once
# Rows in a batch; small batches cost too much each, and large ones do not fit the caches.
_ROWS: Final = 2**17


@contextmanager
def opened_parquet(
    source: Source, stream: BinaryIO, file: str, columns: Sequence[Column]
) -> Iterator[pyarrow.parquet.ParquetFile]:
    """Open the file, after a check that it has these columns with allowed types.

    Parameters
    ----------
    source
        A path, which Arrow opens again by itself; or the stream.
    stream
        The opened source.
    file, columns
        As in ``Column`` and in errors.

    Raises
    ------
    DtypeError, FileError, ParameterError
        The check fails, or the footer cannot be read; also the errors of pyarrow.
    """
    import pyarrow.parquet as pq

    if not stream.seekable():
        raise FileError(file, "cannot be read from a pipe: Parquet has to seek")
    with _for_arrow(source, stream, file) as readable:
        parquet = pq.ParquetFile(
            readable,
            buffer_size=_PAGES,
            pre_buffer=False,  # a buffer would hold the column of a whole row group
            page_checksum_verification=True,
        )
        schema = parquet.schema_arrow
        for column in columns:
            check_column(schema.names, column.name, file, shown=True, argument=column.argument)
            _check_type(schema.field(column.name).type, column)
        yield parquet


def from_parquet(
    source: Source, stream: BinaryIO, file: str, columns: Sequence[Column]
) -> Iterator[Position]:
    """Read the columns; arguments and errors as in ``opened_parquet``. ``done`` is in rows."""
    names = [column.name for column in columns]
    done = 0
    with opened_parquet(source, stream, file, columns) as parquet:
        # A stream belongs to Python. No thread of Arrow may call it or hold the last reference.
        for batch in parquet.iter_batches(_ROWS, columns=names, use_threads=False):
            done += batch.num_rows
            yield Position(batch.select(names), done, parquet.metadata.num_rows)


@contextmanager
def _for_arrow(
    source: Source, stream: BinaryIO, file: str
) -> Iterator[BinaryIO | pyarrow.NativeFile]:
    """Return what Arrow reads: of a path, Arrow's own file, which never calls Python.

    A thread that calls Python's file while the interpreter ends aborts the process.
    """
    import pyarrow as pa

    if not isinstance(source, str | os.PathLike):
        yield stream
        return
    # Arrow would encode text as UTF-8, and a name may be other bytes.
    path = os.fspath(source) if os.name == "nt" else os.fsencode(source)
    with pa.OSFile(path) as native:
        if not os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
            raise FileError(file, "changed while it was read")
        yield native


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
