"""The ledger in an SQLite file, which several processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from ..errors import DpcoreError, FormatError, ParameterError
from ..records.atomic import absolute, beside, failure, hold
from ..records.sources import FileError
from . import ledger_tables
from .composition import Sums
from .filters import Cap
from .ledger_tables import State
from .ledgers import Charge

__all__ = ["FileLedger"]

_PATIENCE: Final = 60.0  # seconds to wait for other processes
# An empty file may be about to be replaced, in these many steps of ten milliseconds.
_STEPS: Final = 100
_EMPTY: Final = (
    "is empty, and so was damaged or never begun: restore it, or delete it if nothing was charged"
)


class _Thread(threading.local):
    """How many files this thread holds."""

    held = 0


_thread: Final = _Thread()


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
        There is no such file and no cap, or the file cannot be read or written, or it has several
        hard links.
    FormatError
        The file does not hold a budget, or it is damaged.
    ParameterError
        The file has another cap.
    """

    __slots__ = ("_seen", "cap", "path")

    def __init__(self, path: Path, cap: Cap | None) -> None:
        self.path = absolute(path)
        self._seen: State | None = None
        if cap is not None:
            _create(self.path, cap)
        else:
            _check_exists(self.path)
        with self._connected() as connection:
            with _reading(connection):
                self.cap, self._seen = ledger_tables.read(connection, self.path)
            ledger_tables.check_rows(connection, self.path, self.cap, self._seen)
        if cap is not None and cap != self.cap:
            wanted, found = str(cap.limit), str(self.cap.limit)
            if wanted == found:  # the two differ only in later digits, or in the composition
                wanted, found = (f"{of.limit!r}, {of.composition}" for of in (cap, self.cap))
            raise ParameterError("path", str(path), f"must have the cap {wanted}, but has {found}")

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the budget in its file, whatever path leads to it.

        A copy has the identity of the original, and a new file may have the number of a deleted
        one. So it takes both to be the same. The number comes first, because it orders several
        files alike in all processes.
        """
        try:
            status = os.stat(self.path)
        except OSError:  # what is gone has not paid, and a charge will say so
            place = f"gone {os.path.realpath(self.path)}"
        else:
            place = f"{status.st_dev:x} {status.st_ino:x}"
            if not status.st_ino:  # some file systems, as of networks on Windows, have no numbers
                place = os.path.realpath(self.path)
        return "file", f"{place} {self._identity().hex()}"

    def _identity(self) -> bytes:
        """Return the identity that the file was opened with, or got since.

        It is empty for a file of an older format. No release counts as paid by such a file, because
        a charge gives it an identity.
        """
        seen = self._seen
        if seen is None or seen.identity is None:
            with suppress(DpcoreError), self._connected() as connection, _reading(connection):
                seen = self._state(connection, seen)
        return (seen and seen.identity) or b""

    @property
    def is_shared(self) -> bool:
        """Whether others see the charges of this process."""
        return True

    @contextmanager
    def held(self) -> Iterator[_FilePage]:
        """Hold the file, against other processes, too."""
        seen = self._seen
        with self._connected() as connection:
            if _thread.held:  # it may hold a new file in this one's place, and wait for itself
                with _reading(connection):
                    self._state(connection, seen)
            with _written(connection):
                state = self._state(connection, seen)
                if state is None or not state.is_current:
                    state = ledger_tables.upgrade(connection, self.path, self.cap, state)
                page = _FilePage(connection, self.cap, self.path, state)
                _thread.held += 1
                try:
                    yield page
                finally:
                    _thread.held -= 1
            self._seen = page.state

    def spent(self) -> Sums:
        """Return what has been charged, and hold nobody up."""
        seen = self._seen
        with self._connected() as connection, _reading(connection):
            state = self._state(connection, seen)
            if state is None:
                return ledger_tables.sums_of_rows(connection, self.path, self.cap)
            return state.sums

    def charges(self) -> list[Charge]:
        """Return all charges, after a check of the digests of all."""
        seen = self._seen
        with self._connected() as connection:
            with _reading(connection):
                state = self._state(connection, seen)
            return ledger_tables.charges(connection, self.path, self.cap, state)

    def _state(self, connection: sqlite3.Connection, seen: State | None) -> State | None:
        """Return the state, if the file still holds this budget with all charges that were seen.

        ``seen`` is what this object had seen before the connection was opened.
        """
        cap, state = ledger_tables.read(connection, self.path)
        if cap != self.cap:
            raise FormatError(f"{self.path} now holds another budget, with the cap {cap.limit}")
        if seen is not None and (
            state is None or not ledger_tables.follows(connection, state, seen)
        ):
            raise FormatError(f"{self.path} now holds another budget, or an older copy of it")
        self._seen = state
        return state

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Connect, and turn errors of SQLite into errors of this library."""
        _check_links(self.path)
        with _in_our_words(self.path), closing(_connection(self.path, "rw")) as connection:
            yield connection


class _FilePage:
    """A file that is held."""

    __slots__ = ("_cap", "_path", "connection", "state")

    def __init__(self, connection: sqlite3.Connection, cap: Cap, path: Path, state: State) -> None:
        self.connection = connection
        self._cap, self._path, self.state = cap, path, state

    def spent(self) -> Sums:
        """Return what has been charged."""
        return self.state.sums

    def add(self, charge: Charge) -> None:
        """Charge once more."""
        state, cap, path = self.state, self._cap, self._path
        self.state = ledger_tables.add(self.connection, path, cap, state, charge)


def _create(path: Path, cap: Cap) -> None:
    """Make the file, whole, if there is none; so an empty file is a damaged one."""
    final = Path(os.path.realpath(path))
    with _in_our_words(path):
        if final.exists():
            return
    # SQLite would copy their pages into the new file.
    if any(os.path.lexists(f"{final}{kind}") for kind in ("-journal", "-wal")):
        what = "cannot be made: a journal of an older file lies beside it, and may hold charges"
        raise FileError(str(path), what)
    fresh = beside(final)
    try:
        with _in_our_words(path):
            with closing(_connection(fresh, "rwc")) as connection, _written(connection):
                ledger_tables.begin(connection, cap)
            try:  # of several processes, one may put its file there
                hold(final)
            except FileExistsError:
                return
            os.replace(fresh, final)
    finally:
        with suppress(OSError):  # the error that is on its way says why
            fresh.unlink(missing_ok=True)


def _check_exists(path: Path) -> None:
    """Refuse a path without a file, of which SQLite says only that it cannot be opened."""
    try:
        os.stat(path)
    except FileNotFoundError:
        raise FileError(str(path), "does not exist: a new budget needs a cap") from None
    except (OSError, ValueError):  # SQLite says why
        return


def _check_links(path: Path) -> None:
    """Refuse an empty file, and a file with several names.

    The journal of SQLite belongs to a name. After a crash under one name, a charge under another
    one would be undone by that journal.
    """
    for _ in range(_STEPS):
        try:
            status = os.stat(path)
        except (OSError, ValueError):  # SQLite says why
            return
        if status.st_size:
            break
        time.sleep(0.01)
    else:
        raise FormatError(f"{path} {_EMPTY}")
    if status.st_nlink > 1 and not os.path.isdir(path):
        what = f"has {status.st_nlink} hard links: a budget must have one name (and symbolic links)"
        raise FileError(str(path), what)


def _connection(path: Path, mode: str) -> sqlite3.Connection:
    where = f"{path.as_uri()}?mode={mode}"
    connection = sqlite3.connect(where, timeout=_PATIENCE, uri=True, isolation_level=None)
    connection.text_factory = bytes  # texts are decoded after a check of their digests
    try:
        connection.execute("PRAGMA synchronous = EXTRA")  # this also writes the folder's entry
        # On macOS, this also empties the disk's own cache.
        connection.execute("PRAGMA fullfsync = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _in_our_words(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the disk into errors of this library."""
    try:
        yield
    except DpcoreError:
        raise
    except UnicodeError:  # in the names of tables and in SQLite's messages
        raise FormatError(f"{path} is damaged: it holds text that is not UTF-8") from None
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
            raise FormatError(f"{path} is damaged: {error}") from None
        raise FileError(str(path), f"cannot be used as a budget: {error}") from None
    except sqlite3.Error as error:
        raise FormatError(f"{path} does not hold a budget: {error}") from None
    except OSError as error:
        raise failure(path, error, "used as a budget") from None


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
def _reading(connection: sqlite3.Connection) -> Iterator[None]:
    """Read one state of the file, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
