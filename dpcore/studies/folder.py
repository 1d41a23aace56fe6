"""The folder of a study: one tidy file, and the parts that are not yet in it.

Parts are written whole or not at all. Whoever puts them together holds the folder's lock, takes
all that are there, writes the tidy file, and removes them after that: whenever it is interrupted,
no row is lost, and one that is in two files counts once. Readers take parts first and the tidy
file last, so that what moved in between is seen too.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..records.atomic import failure, locked, write_together
from ..records.files import FileError
from .sealed import opened, sealed
from .tables import are_rows

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Folder"]

_BEGUN: Final = ".begun-"
_MARK: Final = "dpcore-study"  # in the names of temporary files, which the next run removes


class Folder:
    """The files of a study.

    Parameters
    ----------
    path
        The folder; it need not be there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = path / "parts"
        self._parts: list[Path] = []  # the parts that have been read

    def read(self) -> list[pyarrow.Table]:
        """Return the existing tables: the tidy one first, then the parts as they were written.

        Raises
        ------
        FileError
            A file cannot be read, or is not of a study.
        """
        parts = [(path, _read_rows(path)) for path in self._paths()]
        self._parts = [path for path, table in parts if table is not None]
        tidy = _read_rows(self.path / "replicates.parquet")
        return [table for table in (tidy, *(table for _, table in parts)) if table is not None]

    def begin(self, header: pyarrow.Table) -> None:
        """Write a table without rows, that says what will come, if there is room for that.

        Raises
        ------
        FileError
            It cannot be written, or what will come would take the place of another's file.
        """
        _read(self.path / "summary.parquet")
        self._make()
        self._clean()
        write_together({self.path / f"{_BEGUN}{self._name()}": sealed(header)}, _MARK)

    def add(self, part: pyarrow.Table) -> None:
        """Write a part.

        Raises
        ------
        FileError
            It cannot be written.
        """
        self._make()
        with self.locked():
            write_together({self._folder / f"{self._name()}.parquet": sealed(part)}, _MARK)

    def tidy(self, together: Callable[[list[pyarrow.Table]], list[pyarrow.Table]]) -> None:
        """Put the parts and the tidy file together, if there are parts.

        ``together`` takes all tables, and returns the rows and their summary.
        """
        if not self._paths():  # so that a folder without write permission can still be read
            if self._left():
                with contextlib.suppress(FileError), self.locked():
                    self._clean()
            return
        with self.locked():
            rows, summary = together(self.read())
            write_together(
                {
                    self.path / "replicates.parquet": sealed(rows),
                    self.path / "summary.parquet": sealed(summary),
                },
                _MARK,
            )
            self._clean()
            _remove(self._parts)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make other runs wait before they write to the folder. The lock ends with the process."""
        with contextlib.ExitStack() as lock:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                lock.enter_context(locked(self.path / ".lock"))
            except OSError as error:
                raise failure(self.path, error, "written to") from None
            yield

    def _left(self) -> list[Path]:
        """Return the files of processes that were killed while they wrote; only with the lock."""
        return [*self.path.glob(f".{_MARK}-*.tmp"), *self._folder.glob(".*.tmp")]

    def _clean(self) -> None:
        _remove(self._left())

    def _paths(self) -> list[Path]:
        return [*sorted(self.path.glob(f"{_BEGUN}*")), *sorted(self._folder.glob("*.parquet"))]

    def _name(self) -> str:
        """Return a name after those of all parts, whatever clocks say; only with the lock."""
        numbers = [path.name.removeprefix(_BEGUN).partition("-")[0] for path in self._paths()]
        last = max((int(number) for number in numbers if number.isdecimal()), default=0)
        return f"{last + 1:020d}-{secrets.token_hex(4)}"

    def _make(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise failure(self._folder, error, "made") from None


def _remove(paths: Iterable[Path]) -> None:
    """Remove files. One that stays, as on Windows while it is read, is removed another time."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def _read(path: Path) -> pyarrow.Table | None:
    """Return the table of a file, or None if the file does not exist."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure(path, error, "read") from None
    return opened(str(path), content)


def _read_rows(path: Path) -> pyarrow.Table | None:
    """Return the table of a file of rows, or None if the file does not exist."""
    table = _read(path)
    if table is not None and not are_rows(table):
        raise FileError(str(path), "is not the table of a study")
    return table
