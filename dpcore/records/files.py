"""Columns of CSV files, Parquet files and folders of Parquet files, in batches (extra ``io``).

Errors name types, shapes and what the caller wrote. pyarrow's message about a cell that it cannot
read is never passed on or kept as an error's context: it quotes the cell, and cells are private.
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
from .._progress import Progress as ShownProgress
from ..errors import DpcoreError, DtypeError, ParameterError
from .csv import MOST_ROW, from_csv
from .folders import Part, in_turn, parts_of
from .parquet import from_parquet, opened_parquet
from .sources import Column, FileError, Format, Holds, Position, Progress, Source, State, state_of
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
        A path or a binary stream. A stream is read to its end and not closed; a Parquet stream
        must be seekable. The path of a folder means all Parquet files in it and in its subfolders,
        except for hidden ones, whose names begin with a dot or an underscore. Keys in the names
        of folders (``year=2020``) are not read.
    column
        The name of the column. The first line of a CSV file holds the names; a UTF-8 byte order
        mark is skipped.
    format
        "csv" or "parquet"; None: according to the suffix of the path (.csv, .parquet, .pq). The
        files in a folder are Parquet files.
    delimiter
        The character between the cells of a CSV file: one ASCII character.
    on_progress
        A function that is called after each batch with the amount that was read, the total
        (None: not known) and their unit, "B" for CSV and "rows" for Parquet. None: long reads show
        a bar in terminals and notebooks, with tqdm (extra ``cli``), and a line every 30 seconds
        elsewhere. A function that does nothing keeps them silent.
    unit
        The unit of the column, as ``Grid.unit``; None: numbers. Times in CSV files are in ISO
        8601, with at most six decimals of seconds, all with a time zone ("instant") or all without
        one. CSV files cannot hold durations.

    Yields
    ------
    pyarrow.Array
        The column's values in order, for ``Grid.count``. CSV: doubles, each the nearest to the
        written number. Empty cells and the usual spellings of NA are null, and so are the blank
        lines of a file with one column. Parquet: the stored type. The files of a folder are read
        two at a time, and their batches come in turn, always in the same order.

    Raises
    ------
    DtypeError
        The column does not hold numbers (Parquet: integers, floats or booleans), or times of the
        unit; or its type is not the same in all files of a folder.
    FileError
        The suffix is unknown; or the file cannot be opened or read, is empty or damaged, has rows
        of different lengths, or changed while it was read; or the folder holds no Parquet files,
        files of other kinds, or links to folders. Errors about a file of a folder give its number,
        in the order of the paths, and not its name.
    MissingExtraError
        pyarrow is not installed.
    ParameterError
        There is no such column, or more than one; or an argument is not as above.

    Notes
    -----
    Memory: some tens of MiB (CSV) or a few pages (Parquet), for files of any size. The arguments
    are checked at once. The file is opened when the first batch is requested. In a folder, the
    footers of all files are read first, to check their columns.

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
    r"""Read columns of a file, or of a folder of files, that may exceed memory, in batches of rows.

    Parameters
    ----------
    source, format, delimiter, on_progress
        As in ``column_batches``.
    columns
        One or more columns, with different names.

    Yields
    ------
    pyarrow.RecordBatch
        The columns, in the given order. Numbers are as in ``column_batches``. Labels in a CSV file
        are bytes, as they are written; cells that are missing as numbers are missing as labels,
        too. Labels in a Parquet file have the stored type.

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
    if isinstance(source, io.TextIOBase) or not (
        isinstance(source, str | os.PathLike) or callable(getattr(source, "read", None))
    ):
        raise DtypeError("source", type(source).__name__, "must be a path or a binary stream")
    is_folder = False
    if isinstance(source, str | os.PathLike):
        is_folder = os.path.isdir(
            _check.path("source", source, "must be a path or a binary stream")
        )
    if is_folder and format not in (None, "parquet"):
        raise ParameterError("format", format, "must be 'parquet' for a folder")
    chosen = "parquet" if is_folder else _format_of(source) if format is None else format
    _check.choice("format", chosen, Format)
    _check.instance("delimiter", delimiter, str, "must be text")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ParameterError("delimiter", delimiter, "must be one ASCII character, not a quote")
    if on_progress is not None and not callable(on_progress):
        raise DtypeError("on_progress", type(on_progress).__name__, "must be a function, or None")
    columns = _check.items("columns", columns, "must be Columns")
    if not columns:
        raise ParameterError("columns", columns, "must be one or more Columns")
    for at, column in enumerate(columns):
        _check.instance("columns", column, Column, "must be Columns")
        _check.instance(column.argument, column.name, str, "must be text")
        _check.choice("holds", column.holds, Holds)
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
    return _reported(positions, f"reading {_name(source)}", chosen, on_progress)


def _reported(
    positions: Iterator[Position], work: str, kind: Format, on_progress: Progress | None
) -> Iterator[pyarrow.RecordBatch]:
    with ShownProgress(work, False if on_progress else None) as progress:
        report = on_progress or progress.show
        for batch, done, total in positions:
            yield batch
            report(done, total, "B" if kind == "csv" else "rows")


def _format_of(source: Source) -> Format:
    if not isinstance(source, str | os.PathLike):
        raise ParameterError("format", None, "must be given for a stream")
    suffix = Path(source).suffix
    if suffix.lower() not in _SUFFIXES and not os.path.exists(source):  # probably a misspelt folder
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
    """Read the columns of a file. It must not change meanwhile, nor differ from ``expected``."""
    with _opened(source) as stream:
        state = state_of(stream)
        if expected not in (None, state):
            raise FileError(file, "changed while it was read")
        if kind == "csv":
            yield from from_csv(stream, file, columns, delimiter, state and state[0])
        else:
            yield from from_parquet(source, stream, file, columns)
        if state_of(stream) != state:
            raise FileError(file, "changed while it was read")


def _of_folder(folder: str, columns: Sequence[Column], any_suffix: bool) -> Iterator[Position]:
    """Read the columns of all files of a data set, after the footers of all files."""
    words = partial(_in_our_words, kind="parquet", columns=columns)
    parts = list(words(parts_of(folder, columns, any_suffix), folder))
    ends = [end for part in parts for end in words(_end_of(part, columns), part.name)]
    for at, column in enumerate(columns):
        for number, end in enumerate(ends, 1):
            first, other = ends[0].types[at], end.types[at]
            if first != other:
                description = f"type {first}, and {other} in file {number} of {len(ends)}"
                raise DtypeError(
                    str(column), description, f"must be of one type in all of {folder!r}"
                )
    readers = (
        words(_of_file(part.path, part.name, columns, "parquet", "", end.state), part.name)
        for part, end in zip(parts, ends, strict=True)
    )
    done, total = 0, sum(end.rows for end in ends)
    for position in in_turn(readers):
        done += position.batch.num_rows
        yield Position(position.batch, done, total)


class _End(NamedTuple):
    """What the footer of a Parquet file says: rows and types of columns; and the file's state."""

    rows: int
    types: list[pyarrow.DataType]
    state: State | None


def _end_of(part: Part, columns: Sequence[Column]) -> Iterator[_End]:
    if not stat.S_ISREG(os.stat(part.path).st_mode):
        # Opening a pipe would wait for a writer.
        raise FileError(part.name, "is not a regular file")
    with open(part.path, "rb") as stream:
        state = state_of(stream)
        with opened_parquet(part.path, stream, part.name, columns) as parquet:
            types = [parquet.schema_arrow.field(column.name).type for column in columns]
            rows = parquet.metadata.num_rows
    yield _End(rows, types, state)


def _name(source: Source) -> str:
    """Return the name of a source in errors."""
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return str(getattr(source, "name", "stream"))


def _in_our_words(
    items: Iterator[_Item], file: str, kind: Format, columns: Sequence[Column]
) -> Iterator[_Item]:
    """Yield the items that are read from a file. Every failure becomes an error of dpcore."""
    import pyarrow as pa

    problem: DpcoreError
    try:
        yield from items
        return
    except (DpcoreError, MemoryError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = _problem(error, file, kind, columns)
    raise problem  # outside the handler, so that pyarrow's error is not the context


def _problem(error: Exception, file: str, kind: Format, columns: Sequence[Column]) -> DpcoreError:
    """Return an error about a failure, in dpcore's own words."""
    number = getattr(error, "errno", None)
    if number:  # the operating system's text, not pyarrow's
        return FileError(file, f"cannot be read: {os.strerror(number)}")
    if kind == "parquet":
        return FileError(file, "is not a Parquet file, or is damaged")
    if "conversion error" in str(error):
        named = [column for column in columns if column.holds != "labels"]
        return DtypeError(" or ".join(map(str, named)), "text", named[0].requirement)
    return FileError(
        file,
        "is not a well-formed CSV file in UTF-8: not all rows have as many cells as the "
        f"first line, a quote is left open, or a row exceeds {MOST_ROW >> 20} MiB",
    )


def _opened(source: Source) -> AbstractContextManager[BinaryIO]:
    return open(source, "rb") if isinstance(source, str | os.PathLike) else nullcontext(source)
