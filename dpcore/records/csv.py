"""CSV files, read in pieces of whole rows and parsed in memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from ..kernels.counting import rows
from .header import check_column, first_line
from .sources import Column, FileError, Position

if TYPE_CHECKING:
    import pyarrow

__all__ = ["MOST_ROW", "from_csv"]

MOST_ROW: Final = 2**20  # the bytes that a thread parses at a time; a row must fit in them


def from_csv(
    stream: BinaryIO, file: str, columns: Sequence[Column], delimiter: str, total: int | None
) -> Iterator[Position]:
    """Let pyarrow parse a few whole rows at a time, in memory.

    pyarrow's streaming reader would call ``stream`` from its own threads, which go on after an
    error or an interrupt. They keep the process waiting for a slow pipe, or abort it when it ends.

    Here Arrow's threads can reach only objects of Arrow, and no Python object: neither the text nor
    the options. So they never wait for the interpreter, which may end while they work.
    """
    import pyarrow as pa
    import pyarrow.csv as pc

    kinds = {
        "numbers": pa.float64(),
        "labels": pa.binary(),
        "time": pa.timestamp("us"),
        "instant": pa.timestamp("us", "UTC"),
    }
    types = {column.name: kinds[column.holds] for column in columns}
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
                block_size=MOST_ROW, column_names=names, skip_rows_after_names=int(is_first)
            ),
            # With one column, a blank line is an empty cell. It must not be skipped silently.
            parse_options=pc.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            convert_options=pc.ConvertOptions(
                include_columns=list(types), column_types=types, strings_can_be_null=True
            ),
        )
        done += len(text)
        for batch in table.to_batches():
            yield Position(batch, done, total)
    if not names:
        raise FileError(file, "is empty")


def _arrow_copy(text: bytes) -> pyarrow.Buffer:
    """Return the text in memory that Arrow frees by itself.

    A buffer over ``bytes`` holds a reference to them. After an error, a thread of Arrow may be the
    last to release it, and needs the interpreter for that. If that is ending, the process aborts.
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(text))
    np.frombuffer(buffer, np.uint8)[:] = np.frombuffer(text, np.uint8)
    return buffer


def _whole_rows(stream: BinaryIO, delimiter: str) -> Iterator[bytes]:
    """Yield the text in pieces that end with a row, without byte order mark and first blank lines.

    Raises
    ------
    ValueError
        A row does not end: a quote was left open, or the file is not CSV.
    """
    size = 4 * MOST_ROW
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
