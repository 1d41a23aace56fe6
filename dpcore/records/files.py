"""Columns of CSV and Parquet files, a batch at a time (the extra ``io``).

Errors speak of types, shapes and what the caller wrote. What pyarrow says of a cell that it cannot
read is never passed on, nor kept as an error's context: it quotes the cell, and cells are private.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, NamedTuple

import numpy as np

from .. import _check
from ..errors import DpcoreError, DtypeError, ParameterError
from ..kernels.counting import rows
from .header import check_column, first_line

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "Column",
    "FileError",
    "Format",
    "Progress",
    "Source",
    "column_batches",
    "record_batches",
]

Format = Literal["csv", "parquet"]
Source = str | os.PathLike[str] | BinaryIO
Progress = Callable[[int, int | None, str], None]

_SUFFIXES: Final[dict[str, Format]] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_BLOCK = 2**20  # bytes of CSV that a thread parses: a row has to fit
_PAGES = 2**20  # bytes of Parquet at a time, so that a huge row group is not read at once


class FileError(DpcoreError, OSError):
    """A file cannot be opened, read or written, or is not what its format says."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        super().__init__(f"{file!r} {problem}")


class Column(NamedTuple):
    """A column to read.

    Parameters
    ----------
    name
        Its name in the file.
    holds
        "numbers"; or "labels", which are text, numbers or booleans.
    argument
        What errors call it.
    """

    name: str
    holds: Literal["numbers", "labels"] = "numbers"
    argument: str = "column"

    def __str__(self) -> str:
        return f"{self.argument} {self.name!r}"


def column_batches(
    source: Source,
    column: str,
    *,
    format: Format | None = None,  # noqa: A002
    delimiter: str = ",",
    on_progress: Progress | None = None,
) -> Iterator[pyarrow.Array]:
    r"""Read one numeric column of a file that may be larger than memory.

    Parameters
    ----------
    source
        A path, or a binary stream, which is read to its end and not closed. Parquet streams have
        to be seekable.
    column
        Its name. CSV files have a first line of names; a UTF-8 byte order mark is skipped.
    format
        "csv" or "parquet"; None: by the path's suffix (.csv, .parquet, .pq).
    delimiter
        What stands between the cells of a CSV file: one ASCII character.
    on_progress
        Called after each batch with how much is done, the total (None: not known) and the
        unit, "B" for CSV and "rows" for Parquet.

    Yields
    ------
    pyarrow.Array
        The column's values in order, for ``Grid.count``. CSV: doubles, each the nearest to what
        is written; empty cells, and the usual spellings of NA, are null, as are the blank lines
        of a file with one column. Parquet: the type that is stored.

    Raises
    ------
    DtypeError
        The column does not hold numbers (Parquet: integers, floats or booleans).
    FileError
        The suffix is another; or the file cannot be opened or read, is empty or damaged, has rows
        of different lengths, or changed while it was read.
    MissingExtraError
        pyarrow is not installed.
    ParameterError
        There is no such column, or more than one; or an argument is not as above.

    Notes
    -----
    Memory: some tens of MiB (CSV) or a few pages (Parquet), whatever the size of the file. The
    arguments are checked at once; the file is opened when the first batch is asked for.

    Examples
    --------
    >>> import io
    >>> import dpcore as dp
    >>> stream = io.BytesIO(b"age,city\n34,Lille\n61,Bruges\n")
    >>> grid = dp.Grid.uniform(0, 100, 2)
    >>> sum(grid.count(batch) for batch in column_batches(stream, "age", format="csv"))
    array([1, 1])
    """
    batches = record_batches(
        source, [Column(column)], format=format, delimiter=delimiter, on_progress=on_progress
    )
    return (batch.column(0) for batch in batches)


def record_batches(
    source: Source,
    columns: Sequence[Column],
    *,
    format: Format | None = None,  # noqa: A002
    delimiter: str = ",",
    on_progress: Progress | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    r"""Read some columns of a file that may be larger than memory, row by row.

    Parameters
    ----------
    source, format, delimiter, on_progress
        As in ``column_batches``.
    columns
        One or more, of different names.

    Yields
    ------
    pyarrow.RecordBatch
        The columns in the order asked for. Numbers are as in ``column_batches``. Labels are bytes
        as they are written (CSV; cells that are missing as numbers are so as labels) or of the type
        that is stored (Parquet).

    Raises
    ------
    DtypeError, FileError, MissingExtraError, ParameterError
        As in ``column_batches``; or two columns have one name.

    Examples
    --------
    >>> import io
    >>> from dpcore.records.files import Column, record_batches
    >>> stream = io.BytesIO(b"id,bought,score\n1,yes,0.9\n2,no,0.4\n")
    >>> columns = [Column("score"), Column("bought", "labels")]
    >>> [batch.to_pydict() for batch in record_batches(stream, columns, format="csv")]
    [{'score': [0.9, 0.4], 'bought': [b'yes', b'no']}]
    """
    _check.extra("pyarrow", "reading files", "io")
    if isinstance(source, io.TextIOBase):
        raise DtypeError("source", type(source).__name__, "must be a path or a binary stream")
    chosen = _format_of(source) if format is None else format
    _check.choice("format", chosen, Format)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError("delimiter", delimiter, "must be one ASCII character, not a quote")
    for at, column in enumerate(columns):
        for other in columns[:at]:
            if column.name == other.name:
                raise ParameterError(column.argument, column.name, f"must differ from {other}")
    return _reported(_positions(source, columns, chosen, delimiter), chosen, on_progress)


# A batch, how much of the file has been read with it, and of how much (None: not known).
_Position = tuple["pyarrow.RecordBatch", int, int | None]


def _reported(
    positions: Iterator[_Position], kind: Format, on_progress: Progress | None
) -> Iterator[pyarrow.RecordBatch]:
    for batch, done, total in positions:
        yield batch
        if on_progress is not None:
            on_progress(done, total, "B" if kind == "csv" else "rows")


def _format_of(source: Source) -> Format:
    if not isinstance(source, str | os.PathLike):
        raise ParameterError("format", None, "must be given for a stream")
    suffix = Path(source).suffix
    if suffix.lower() not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise FileError(os.fspath(source), f"must end in {known}, or have its format given")
    return _SUFFIXES[suffix.lower()]


def _positions(
    source: Source, columns: Sequence[Column], kind: Format, delimiter: str
) -> Iterator[_Position]:
    """Read the columns; every failure is one of ours."""
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        file = os.fspath(source)
    else:
        file = str(getattr(source, "name", "stream"))
    problem: DpcoreError
    try:
        with _opened(source) as stream:
            state = _state(stream)
            if kind == "csv":
                yield from _from_csv(stream, file, columns, delimiter, state and state[0])
            else:
                yield from _from_parquet(stream, file, columns)
            if _state(stream) != state:
                raise FileError(file, "changed while it was read")
        return
    except (DpcoreError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = _problem(error, file, kind, columns)
    raise problem  # not in the handler: what pyarrow said would be its context


def _problem(error: Exception, file: str, kind: Format, columns: Sequence[Column]) -> DpcoreError:
    """Return what is to be said of a failure, in our words."""
    number = getattr(error, "errno", None)
    if number:  # in the system's words, not in pyarrow's
        return FileError(file, f"cannot be read: {os.strerror(number)}")
    if kind == "parquet":
        return FileError(file, "is not a Parquet file, or is damaged")
    if "conversion error" in str(error):
        named = " or ".join(str(each) for each in columns if each.holds == "numbers")
        return DtypeError(named, "text", "must hold numbers")
    return FileError(
        file,
        "is not a well-formed CSV file in UTF-8: not all rows have as many cells as the "
        f"first line, a quote is left open, or a row exceeds {_BLOCK >> 20} MiB",
    )


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    return open(source, "rb") if isinstance(source, str | os.PathLike) else nullcontext(source)


def _state(stream: BinaryIO) -> tuple[int, int] | None:
    """Return a regular file's size and when it last changed; None for pipes and the like."""
    try:
        found = os.fstat(stream.fileno())
    except (AttributeError, OSError):  # in memory
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _from_csv(
    stream: BinaryIO, file: str, columns: Sequence[Column], delimiter: str, total: int | None
) -> Iterator[_Position]:
    """Let pyarrow parse a few whole rows at a time, in memory.

    Its streaming reader would call ``stream`` from threads of its own, which go on after an error
    or an interrupt: they keep the process waiting for a slow pipe, or abort it as it ends.

    What Arrow's threads can reach here is Arrow's own, and no Python object: neither the text nor
    the options. So none of them ever waits for the interpreter, and it may end while they work.
    """
    import pyarrow as pa
    import pyarrow.csv as pc

    types = {
        each.name: pa.float64() if each.holds == "numbers" else pa.binary() for each in columns
    }
    names: list[str] = []
    done = 0
    for text in _whole_rows(stream, delimiter):
        is_first = not names
        if is_first:
            names = first_line(text.decode("utf-8", errors="replace"), delimiter)
            for column in columns:
                check_column(names, column.name, file, shown=False, argument=column.argument)
        table = pc.read_csv(
            pa.BufferReader(_arrow_copy(text)),
            read_options=pc.ReadOptions(
                block_size=_BLOCK, column_names=names, skip_rows_after_names=int(is_first)
            ),
            # With one column a blank line is an empty cell, and must not be left out in silence.
            parse_options=pc.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            convert_options=pc.ConvertOptions(
                include_columns=list(types), column_types=types, strings_can_be_null=True
            ),
        )
        done += len(text)
        for batch in table.to_batches():
            yield batch, done, total
    if not names:
        raise FileError(file, "is empty")


def _arrow_copy(text: bytes) -> pyarrow.Buffer:
    """Return the text in memory that Arrow frees by itself.

    A buffer over ``bytes`` holds a reference to them. After an error a thread of Arrow may be the
    last to let go of it, for which it needs the interpreter; if that is ending, the process aborts.
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(text))
    np.frombuffer(buffer, np.uint8)[:] = np.frombuffer(text, np.uint8)
    return buffer


def _whole_rows(stream: BinaryIO, delimiter: str) -> Iterator[bytes]:
    """Yield the text in pieces that end with a row; without byte order mark and first blank lines.

    Raises
    ------
    ValueError
        A row goes on and on: a quote was left open, or this is not CSV.
    """
    size = 4 * _BLOCK
    rest = stream.read(size).removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    while more := stream.read(size):
        text = rest + more
        end = rows.complete_rows(np.frombuffer(text, np.uint8), ord(delimiter))
        if end:
            yield text[:end]
        elif len(text) > size:
            raise ValueError
        rest = text[end:]
    if rest:
        yield rest if rest.endswith((b"\r", b"\n")) else rest + b"\n"


def _from_parquet(stream: BinaryIO, file: str, columns: Sequence[Column]) -> Iterator[_Position]:
    import pyarrow.parquet as pq

    if not stream.seekable():
        raise FileError(file, "cannot be read from a pipe: Parquet has to seek")
    parquet = pq.ParquetFile(
        stream,
        buffer_size=_PAGES,
        pre_buffer=False,  # which would hold the column of a whole row group
        page_checksum_verification=True,
    )
    schema = parquet.schema_arrow
    for column in columns:
        check_column(schema.names, column.name, file, shown=True, argument=column.argument)
        _check_type(schema.field(column.name).type, column)
    names = [column.name for column in columns]
    done = 0
    # The stream is Python's: no thread of Arrow may call it, or be the last to let go of it.
    for batch in parquet.iter_batches(columns=names, use_threads=False):
        done += batch.num_rows
        yield batch.select(names), done, parquet.metadata.num_rows


def _check_type(kind: pyarrow.DataType, column: Column) -> None:
    """Check that a column of a Parquet file is of a type that it may have."""
    from pyarrow import types

    if column.holds == "labels" and types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return
    if column.holds == "numbers":
        raise DtypeError(str(column), f"type {kind}", "must hold numbers")
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind)):
        raise DtypeError(str(column), f"type {kind}", "must hold text or numbers")
