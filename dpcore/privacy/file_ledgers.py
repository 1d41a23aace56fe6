"""The ledger in an SQLite file, which several processes share."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import FormatError, ParameterError
from ..records.sources import FileError
from .composition import Sums
from .guarantees import Privacy
from .ledgers import Charge

__all__ = ["FileLedger"]

_APPLICATION: Final = 0x6470636F  # "dpco"; SQLite stores it to mark whose file this is
_FORMAT: Final = 1
_PATIENCE: Final = 60.0  # seconds to wait for other processes
_TABLES: Final = (
    "CREATE TABLE cap (epsilon REAL, delta REAL NOT NULL, rho REAL, neighbours TEXT NOT NULL)",
    "CREATE TABLE charges (id INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, "
    "epsilon REAL, delta REAL NOT NULL, rho REAL, simulated INTEGER NOT NULL)",
)


class FileLedger:
    """Charges in a file. Each charge is on the disk before ``held`` ends without an error.

    A connection lives only as long as the ledger is held, so threads and forks never share one.

    Parameters
    ----------
    path
        The file.
    cap
        The cap of a new file, or the cap that an existing file must have. None: the file must
        exist.

    Raises
    ------
    FileError
        There is no such file and no cap, or the file cannot be read or written.
    FormatError
        The file does not hold a budget.
    ParameterError
        The file has another cap.
    """

    __slots__ = ("cap", "path")

    def __init__(self, path: Path, cap: Privacy | None) -> None:
        self.path = path.absolute()
        if cap is not None:
            with self._connected(create=True) as connection, _written(connection):
                if not connection.execute("PRAGMA user_version").fetchone()[0]:
                    _begin(connection, cap, self.path)
        with self._connected() as connection:
            self.cap = _cap(connection, self.path)
        if cap is not None and cap != self.cap:
            raise ParameterError("path", str(path), f"must have the cap {cap}, but has {self.cap}")

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the file, whatever path leads to it."""
        return "file", os.path.realpath(self.path)

    @property
    def is_shared(self) -> bool:
        """Whether others see the charges of this process."""
        return True

    @contextmanager
    def held(self) -> Iterator[_FilePage]:
        """Hold the file, against other processes, too."""
        with self._connected() as connection, _written(connection):
            yield self._page(connection)

    def spent(self) -> Sums:
        """Return what has been charged, and hold nobody up."""
        with self._connected() as connection:
            return self._page(connection).spent()

    def charges(self) -> list[Charge]:
        """Return all charges."""
        with self._connected() as connection:
            return self._page(connection).charges()

    def _page(self, connection: sqlite3.Connection) -> _FilePage:
        """Return the charges, if the file still holds this budget."""
        if (cap := _cap(connection, self.path)) != self.cap:
            raise FormatError(f"{self.path} now holds another budget, with the cap {cap}")
        return _FilePage(connection, self.cap, self.path)

    @contextmanager
    def _connected(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Connect, and turn errors of SQLite into errors of this library."""
        connection = None
        try:
            where = f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}"
            connection = sqlite3.connect(where, _PATIENCE, uri=True, isolation_level=None)
            connection.execute("PRAGMA synchronous = EXTRA")  # this also writes the folder's entry
            # On macOS, this also empties the disk's own cache.
            connection.execute("PRAGMA fullfsync = ON")
            yield connection
        except sqlite3.OperationalError as error:
            raise FileError(str(self.path), f"cannot be used as a budget: {error}") from None
        except sqlite3.DatabaseError as error:
            raise FormatError(f"{self.path} does not hold a budget: {error}") from None
        finally:
            if connection is not None:
                connection.close()


class _FilePage(NamedTuple):
    """A file that is held."""

    connection: sqlite3.Connection
    cap: Privacy
    path: Path

    def charges(self) -> list[Charge]:
        """Return all charges."""
        asked = "SELECT time, what, epsilon, delta, rho, simulated FROM charges ORDER BY id"
        with _undamaged(self.path):
            return [
                Charge(datetime.fromisoformat(time), what, _privacy(self.cap, *privacy))
                for time, what, *privacy in self.connection.execute(asked)
            ]

    def spent(self) -> Sums:
        """Return what has been charged."""
        asked = (
            "SELECT count(*), epsilon, delta, rho, max(simulated) FROM charges "
            "GROUP BY epsilon, delta, rho"
        )
        sums = Sums()
        with _undamaged(self.path):
            for count, *privacy in self.connection.execute(asked):
                sums = sums.plus(_privacy(self.cap, *privacy), count)
        return sums

    def add(self, charge: Charge) -> None:
        """Charge once more."""
        time, what, cost = charge
        row = time.isoformat(), what, cost.epsilon, cost.delta, cost.rho, cost.simulated
        insert = (
            "INSERT INTO charges (time, what, epsilon, delta, rho, simulated) "
            "VALUES (?, ?, ?, ?, ?, ?)"
        )
        self.connection.execute(insert, row)


@contextmanager
def _written(connection: sqlite3.Connection) -> Iterator[None]:
    """Wait until nobody else writes; then keep all that was written, or nothing after an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # if the disk is full, SQLite itself has ended it
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Report a damaged file if it holds values that no budget writes."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise FormatError(f"{path} is damaged: {error}") from None


def _begin(connection: sqlite3.Connection, cap: Privacy, path: Path) -> None:
    """Make the tables in an empty file."""
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise FormatError(f"{path} does not hold a budget: it has other tables")
    for table in _TABLES:
        connection.execute(table)
    row = cap.epsilon, cap.delta, cap.rho, cap.neighbours
    connection.execute("INSERT INTO cap VALUES (?, ?, ?, ?)", row)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _cap(connection: sqlite3.Connection, path: Path) -> Privacy:
    """Return the cap that a file states, after a check that it holds a budget."""
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if owner != _APPLICATION:
        raise FormatError(f"{path} does not hold a budget")
    if version != _FORMAT:
        raise FormatError(f"{path} has format {version}, and this version reads {_FORMAT}")
    with _undamaged(path):
        epsilon, delta, rho, neighbours = connection.execute("SELECT * FROM cap").fetchone()
        return Privacy(epsilon, delta, neighbours, rho=rho)


def _privacy(
    cap: Privacy, epsilon: float | None, delta: float, rho: float | None, simulated: int
) -> Privacy:
    return Privacy(epsilon, delta, cap.neighbours, bool(simulated), rho)
