"""Folders of Parquet files that are one data set: which files they hold, and how they are read.

Errors name the folder and give the number of a file in it. The names of files and of partitions
("age=61") may describe records, and nobody has typed them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, TypeVar

from ..errors import ParameterError
from .sources import Column, FileError

__all__ = ["HIDDEN", "Part", "in_turn", "parts_of"]

_Item = TypeVar("_Item")

_SUFFIXES: Final = (".parquet", ".pq")
HIDDEN: Final = (".", "_")  # tools do not read files whose names begin with these
_THREADS: Final = 2


class Part(NamedTuple):
    """A file of a data set.

    Parameters
    ----------
    path
        The path of the file.
    name
        The name of the file in errors.
    """

    path: str
    name: str


def parts_of(folder: str, columns: Sequence[Column], any_suffix: bool) -> Iterator[Part]:
    """Yield the files of a data set, in the order of their paths.

    Parameters
    ----------
    folder
        The folder, with subfolders to any depth. Hidden files and folders are left out, as in
        pyarrow: their names begin with a dot or an underscore.
    columns
        The columns that will be read.
    any_suffix
        Whether all files are Parquet files, with any suffix.

    Raises
    ------
    FileError
        There is no Parquet file; or there is another file, or a link to a folder, whose records
        would be left out.
    ParameterError
        A column is a key of partitions, in the names of folders (``year=2020``).
    OSError
        A folder cannot be read.
    """
    paths: list[str] = []
    keys: set[str] = set()
    for at, folders, files in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        if any(os.path.islink(os.path.join(at, name)) for name in folders):
            raise FileError(folder, "holds a link to a folder, which would not be followed")
        keys.update(key for key, equals, _ in (name.partition("=") for name in folders) if equals)
        paths += [os.path.join(at, name) for name in files if not name.startswith(HIDDEN)]
    if not paths:
        raise FileError(folder, "holds no Parquet files")
    if not any_suffix and (others := [path for path in paths if not _is_parquet(path)]):
        known = " or ".join(_SUFFIXES)
        raise FileError(folder, f"holds other files than Parquet ({len(others)} not in {known})")
    for column in columns:
        if column.name in keys:
            what = f"must not be a key of partitions: names of folders in {folder!r} are not read"
            raise ParameterError(column.argument, column.name, what)
    for number, path in enumerate(sorted(paths), 1):
        yield Part(path, f"{folder} (file {number} of {len(paths)})")


def in_turn(readers: Iterator[Iterator[_Item]]) -> Iterator[_Item]:
    """Yield the items of the readers. Two readers are read at a time, on two threads, in turn.

    The order depends on the number of items of each reader, and not on the speed of the threads.
    Memory: one item of each of the two readers, and the item that was yielded.
    """
    with ThreadPoolExecutor(_THREADS, "dpcore-read") as pool:
        pending: deque[tuple[Iterator[_Item], Future[_Item | None]]] = deque()

        def ask(reader: Iterator[_Item] | None) -> None:
            if reader is not None:
                pending.append((reader, pool.submit(next, reader, None)))

        for _ in range(_THREADS):
            ask(next(readers, None))
        while pending:
            reader, answer = pending.popleft()
            item = answer.result()
            ask(next(readers, None) if item is None else reader)
            if item is not None:
                yield item


def _is_parquet(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in _SUFFIXES


def _raise(error: OSError) -> None:
    raise error
