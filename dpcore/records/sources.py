"""Sources of files, the columns to read, and the error for files that cannot be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, NamedTuple

from ..errors import DpcoreError
from .times import Unit

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "Column",
    "FileError",
    "Format",
    "Holds",
    "Position",
    "Progress",
    "Source",
    "State",
    "state_of",
]

Format = Literal["csv", "parquet"]
Source = str | os.PathLike[str] | BinaryIO
Progress = Callable[[int, int | None, str], None]
Holds = Literal["numbers", "labels", Unit]
State = tuple[int, int]  # the size of a regular file, and the time of its last change

_MOST_NAME: Final = 500  # characters of a path in an error
_TIMES: Final[dict[str, str]] = {
    "time": "dates or times without a time zone (those with one need bounds with one: "
    '"2024-01-01T00:00Z")',
    "instant": 'times with a time zone (those without one need bounds without one: "2024-01-01")',
    "duration": "durations",
}


class FileError(DpcoreError, OSError):
    """A file cannot be opened, read or written, or does not follow its format."""

    def __init__(self, file: str, problem: str) -> None:
        self.file = file
        # Paths are shown whole, unless no system has such a path.
        name = file if len(file) <= _MOST_NAME else f"{file[:60]}...{file[-60:]}"
        super().__init__(f"{name!r} {problem}")


class Column(NamedTuple):
    r"""A column to read.

    Parameters
    ----------
    name
        The name of the column in the file.
    holds
        "numbers"; "labels", which are text, numbers or booleans; or a grid's unit of times.
    argument
        The name of the argument, for errors.

    Examples
    --------
    >>> import io
    >>> from dpcore.records.files import Column, record_batches
    >>> columns = [Column("age"), Column("group", "labels")]
    >>> for batch in record_batches(io.BytesIO(b"age,group\n30,a\n41,b\n"), columns, format="csv"):
    ...     print(batch.to_pydict())
    {'age': [30.0, 41.0], 'group': [b'a', b'b']}
    """

    name: str
    holds: Holds = "numbers"
    argument: str = "column"

    def __str__(self) -> str:
        return f"{self.argument} {self.name!r}"

    @property
    def requirement(self) -> str:
        """The requirement on the column, for errors."""
        if self.holds == "labels":
            return "must hold text or numbers"
        return f"must hold {_TIMES.get(self.holds, 'numbers')}"


class Position(NamedTuple):
    """How far reading has come.

    Parameters
    ----------
    batch
        Some rows, with the columns in the requested order.
    done
        How much has been read, including this batch.
    total
        The total of ``done``; None: not known.
    """

    batch: pyarrow.RecordBatch
    done: int
    total: int | None


def state_of(stream: BinaryIO) -> State | None:
    """Return the state of a regular file; None for pipes and the like."""
    try:
        status = os.fstat(stream.fileno())
    except (AttributeError, OSError):  # a file in memory
        return None
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None
