"""Columns of CSV and Parquet files, and of folders of the latter, by the batch (extra ``io``).

Errors speak of types, shapes and what the caller wrote. What pyarrow says of a cell that it cannot
read is never passed on, nor kept as an error's context: it quotes the cell, and cells are private.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple, TypeVar

from .. import _check
from ..errors import DpcoreError, DtypeError, ParameterError
from .csv import MOST_ROW, from_csv
from .folders import Part, in_turn, parts_of
from .parquet import from_parquet, opened_parquet
from .sources import Column, FileError, Format, Position, Progress, Source, State, state_of
from .times import Unit, checked_unit

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

_Item = TypeVar("_Item")

_SUFFIXES: Final[dict[str, Format]] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def column_batches(
    source: Source,
    column: str,
    *,
    format: Format | None = None,  # noqa: A002
    delimiter: str = ",",
    on_progress: Progress | None = None,
    unit: Unit | None = None,
) -> Iterator[pyarrow.Array]:
    r"""Read one column of a file, or of a folder of files, that may exceed memory.

    Parameters
    ----------
    source
        A path, or a binary stream, which is read to its end and not closed. Parquet streams have
        to be seekable. The path of a folder stands for all Parquet files in it and in its folders,
        but for hidden ones, whose names begin with a dot or an underscore; what is in the names of
        folders (``year=2020``) is not read.
    column
        Its name. CSV files have a first line of names; a UTF-8 byte order mark is skipped.
    format
        "csv" or "parquet"; None: by the path's suffix (.csv, .parquet, .pq). Folders hold Parquet.
    delimiter
        What stands between the cells of a CSV file: one ASCII character.
    on_progress
        Called after each batch with how much is done, the total (None: not known) and the
        unit, "B" for CSV and "rows" for Parquet.
    unit
        What the column holds, as ``Grid.unit``; None: numbers. Times in CSV files are in ISO 8601,
        with at most six digits of seconds, all with a time zone ("instant") or all without one;
        there are no durations in them.

    Yields
    ------
    pyarrow.Array
        The column's values in order, for ``Grid.count``. CSV: doubles, each the nearest to what
        is written; empty cells, and the usual spellings of NA, are null, as are the blank lines
        of a file with one column. Parquet: the type that is stored. Files of a folder are read two
        at a time, their batches in turn; it is always the same order.

    Raises
    ------
    DtypeError
        The column does not hold numbers (Parquet: integers, floats or booleans), or times of the
        unit; or not the same type in all files of a folder.
    FileError
        The suffix is another; or the file cannot be opened or read, is empty or damaged, has rows
        of different lengths, or changed while it was read; or the folder holds no Parquet files,
        files of other kinds, or links to folders. Of files in a folder, errors tell the number, in
        the order of their paths, and not the name.
    MissingExtraError
        pyarrow is not installed.
    ParameterError
        There is no such column, or more than one; or an argument is not as above.

    Notes
    -----
    Memory: some tens of MiB (CSV) or a few pages (Parquet), whatever the size of the file. The
    arguments are checked at once; the file is opened when the first batch is asked for, and then
    the ends of all files of a folder are read, which say what is wrong with their columns.

    Examples
    --------
    >>> import io
    >>> import dpcore as dp
    >>> stream = io.BytesIO(b"age,city\n34,Lille\n61,Bruges\n")
    >>> grid = dp.Grid.uniform(0, 100, 2)
    >>> sum(grid.count(batch) for batch in column_batches(stream, "age", format="csv"))
    array([1, 1])
    """
    holds = checked_unit(unit) or "numbers"
    batches = record_batches(
        source, [Column(column, holds)], format=format, delimiter=delimiter, on_progress=on_progress
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
    r"""Read some columns of a file, or of a folder of files, that may exceed memory, row by row.

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
    is_folder = isinstance(source, str | os.PathLike) and os.path.isdir(source)
    if is_folder and format not in (None, "parquet"):
        raise ParameterError("format", format, "must be 'parquet' for a folder")
    chosen = "parquet" if is_folder else _format_of(source) if format is None else format
    _check.choice("format", chosen, Format)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError("delimiter", delimiter, "must be one ASCII character, not a quote")
    for at, column in enumerate(columns):
        if chosen == "csv" and column.holds == "duration":
            raise ParameterError("unit", "duration", "must be another one: CSV has no durations")
        for other in columns[:at]:
            if column.name == other.name:
                raise ParameterError(column.argument, column.name, f"must differ from {other}")
    if is_folder:
        assert isinstance(source, str | os.PathLike)
        positions = _of_folder(os.fspath(source), columns, format is not None)
    else:
        file = _name(source)
        read = _of_file(source, file, columns, chosen, delimiter)
        positions = _in_our_words(read, file, chosen, columns)
    return _reported(positions, chosen, on_progress)


def _reported(
    positions: Iterator[Position], kind: Format, on_progress: Progress | None
) -> Iterator[pyarrow.RecordBatch]:
    for batch, done, total in positions:
        yield batch
        if on_progress is not None:
            on_progress(done, total, "B" if kind == "csv" else "rows")


def _format_of(source: Source) -> Format:
    if not isinstance(source, str | os.PathLike):
        raise ParameterError("format", None, "must be given for a stream")
    suffix = Path(source).suffix
    if suffix.lower() not in _SUFFIXES and not os.path.exists(source):  # a folder, misspelt
        raise FileError(os.fspath(source), f"cannot be read: {os.strerror(errno.ENOENT)}")
    if suffix.lower() not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise FileError(os.fspath(source), f"must end in {known}, or have its format given")
    return _SUFFIXES[suffix.lower()]


def _of_file(
    source: Source,
    file: str,
    columns: Sequence[Column],
    kind: Format,
    delimiter: str,
    expected: State | None = None,
) -> Iterator[Position]:
    """Read the columns of a file, which must not change meanwhile, nor since ``expected``."""
    with _opened(source) as stream:
        state = state_of(stream)
        if expected not in (None, state):
            raise FileError(file, "changed while it was read")
        if kind == "csv":
            yield from from_csv(stream, file, columns, delimiter, state and state[0])
        else:
            yield from from_parquet(stream, file, columns)
        if state_of(stream) != state:
            raise FileError(file, "changed while it was read")


def _of_folder(folder: str, columns: Sequence[Column], any_suffix: bool) -> Iterator[Position]:
    """Read the columns of all files of a data set, whose ends are read before."""
    words = partial(_in_our_words, kind="parquet", columns=columns)
    parts = list(words(parts_of(folder, columns, any_suffix), folder))
    ends = [end for part in parts for end in words(_end_of(part, columns), part.name)]
    for at, column in enumerate(columns):
        for number, end in enumerate(ends, 1):
            first, other = ends[0].types[at], end.types[at]
            if first != other:
                found = f"type {first}, and {other} in file {number} of {len(ends)}"
                raise DtypeError(str(column), found, f"must be of one type in all of {folder!r}")
    readers = (
        words(_of_file(part.path, part.name, columns, "parquet", "", end.state), part.name)
        for part, end in zip(parts, ends, strict=True)
    )
    done, total = 0, sum(end.rows for end in ends)
    for position in in_turn(readers):
        done += position.batch.num_rows
        yield Position(position.batch, done, total)


class _End(NamedTuple):
    """What the end of a Parquet file says: its rows, the columns' types, and of which state."""

    rows: int
    types: list[pyarrow.DataType]
    state: State | None


def _end_of(part: Part, columns: Sequence[Column]) -> Iterator[_End]:
    if not stat.S_ISREG(os.stat(part.path).st_mode):
        raise FileError(part.name, "is no regular file")  # a pipe would wait for who writes to it
    with open(part.path, "rb") as stream:
        parquet = opened_parquet(stream, part.name, columns)
        types = [parquet.schema_arrow.field(column.name).type for column in columns]
        yield _End(parquet.metadata.num_rows, types, state_of(stream))


def _name(source: Source) -> str:
    """Return what errors call a source."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "stream"))


def _in_our_words(
    items: Iterator[_Item], file: str, kind: Format, columns: Sequence[Column]
) -> Iterator[_Item]:
    """Yield the items that are read from a file; every failure is one of ours."""
    import pyarrow as pa

    problem: DpcoreError
    try:
        yield from items
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
        named = [each for each in columns if each.holds != "labels"]
        return DtypeError(" or ".join(map(str, named)), "text", named[0].requirement)
    return FileError(
        file,
        "is not a well-formed CSV file in UTF-8: not all rows have as many cells as the "
        f"first line, a quote is left open, or a row exceeds {MOST_ROW >> 20} MiB",
    )


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    return open(source, "rb") if isinstance(source, str | os.PathLike) else nullcontext(source)
