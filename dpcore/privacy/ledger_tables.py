"""The tables of a budget's file, and the digests that show damage to them.

Each charge has a digest of itself and of the digest before it; the first one follows the digest of
the cap. The table ``spent`` has one row with the exact sums, the last digest, the random identity
of the file, and a digest of that row. So a charge reads two rows, however many there are, and the
whole chain is read when the file is opened. Nothing here tells damage from an older copy of the
whole file, which has the same identity.

Format 4 has no labels. Format 3 has one sum of deltas and no composition, format 2 no identity
either, and format 1 no digests. The next charge upgrades such a file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from .. import _check
from ..errors import DpcoreError, FormatError
from .composition import Sums, total
from .filters import Cap, Composition
from .guarantees import Privacy
from .ledgers import Charge

__all__ = [
    "State",
    "add",
    "begin",
    "charges",
    "check_rows",
    "follows",
    "read",
    "sums_of_rows",
    "upgrade",
]

_APPLICATION: Final = 0x6470636F  # "dpco"; SQLite stores it to mark whose file this is
_FORMAT: Final = 5
_WITHOUT_LABELS: Final = 4
_WITHOUT_COMPOSITION: Final = 3
_WITHOUT_IDENTITY: Final = 2
_WITHOUT_DIGESTS: Final = 1
_IDENTITY_BYTES: Final = 16
_BLOCK: Final = 10_000  # rows that are read at a time, so that others are not held up for long

_OLD_CAP: Final = (
    "CREATE TABLE cap (epsilon REAL, delta REAL NOT NULL, rho REAL, neighbours TEXT NOT NULL)"
)
_CAP: Final = _OLD_CAP.removesuffix(")") + ", composition TEXT NOT NULL)"
_OLD_CHARGES: Final = (
    "CREATE TABLE charges (id INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, "
    "epsilon REAL, delta REAL NOT NULL, rho REAL, simulated INTEGER NOT NULL)"
)
_CHARGES_4: Final = _OLD_CHARGES.removesuffix(")") + ", digest BLOB NOT NULL)"
_LABEL: Final = "label TEXT NOT NULL DEFAULT ''"
_CHARGES: Final = _CHARGES_4.removesuffix(")") + f", {_LABEL})"
_OLD_SPENT: Final = (
    "CREATE TABLE spent (releases INTEGER NOT NULL, epsilon TEXT NOT NULL, "
    "concentrated TEXT NOT NULL, delta TEXT NOT NULL, unlimited INTEGER NOT NULL, "
    "simulated INTEGER NOT NULL, last BLOB NOT NULL, digest BLOB NOT NULL)"
)
_SPENT_3: Final = _OLD_SPENT.replace("digest", "identity BLOB NOT NULL, digest")
_SPENT: Final = _SPENT_3.replace("unlimited", "delta_of_rho TEXT NOT NULL, unlimited")
# No two formats have the same tables, so a damaged number of the format is told.
_TABLES: Final = {
    _FORMAT: [_CAP, _CHARGES, _SPENT],
    _WITHOUT_LABELS: [_CAP, _CHARGES_4, _SPENT],
    _WITHOUT_COMPOSITION: [_OLD_CAP, _CHARGES_4, _SPENT_3],
    _WITHOUT_IDENTITY: [_OLD_CAP, _CHARGES_4, _OLD_SPENT],
    _WITHOUT_DIGESTS: [_OLD_CAP, _OLD_CHARGES],
}
_COLUMNS: Final = "id, time, what, epsilon, delta, rho, simulated"


class State(NamedTuple):
    """What the file states beside its charges.

    Parameters
    ----------
    sums
        What has been charged.
    last
        The digest of the last charge, or of the cap if there is none.
    identity
        Random bytes from the making of the file; None in the format without them.
    is_current
        Whether the file has today's format.
    """

    sums: Sums
    last: bytes
    identity: bytes | None
    is_current: bool = True


def begin(connection: sqlite3.Connection, cap: Cap) -> None:
    """Make the tables in an empty file."""
    for table in _TABLES[_FORMAT]:
        connection.execute(table)
    _insert_cap(connection, cap)
    _insert(connection, cap, _first(cap))
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_FORMAT}")


def read(connection: sqlite3.Connection, path: Path) -> tuple[Cap, State | None]:
    """Return the cap and the state of a file; the state is None in the format without digests.

    The number of rows that are read does not depend on the number of charges.

    Raises
    ------
    FormatError
        The file does not hold a budget, or it is damaged.
    """
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if owner != _APPLICATION:
        raise FormatError(f"{path} does not hold a budget")
    if version not in _TABLES:
        raise FormatError(f"{path} has format {version}, and this version reads 1 to {_FORMAT}")
    with _undamaged(path):
        # SQLite's own names begin so, and no others can. In LIKE, an underscore is any character.
        own = "substr(name, 1, 7) = 'sqlite_'"
        asked = f"SELECT sql FROM sqlite_master WHERE NOT {own} ORDER BY name"
        tables = [text and text.decode() for (text,) in connection.execute(asked)]
        if tables != _TABLES[version]:
            raise ValueError("it has other tables or triggers than a budget")
        epsilon, delta, rho, neighbours, *more = _only(connection.execute("SELECT * FROM cap"))
        composition = (*more, b"basic")[0].decode()
        _check.choice("composition", composition, Composition)
        cap = Cap(Privacy(epsilon, delta, neighbours.decode(), rho=rho), composition)
        return cap, None if version == _WITHOUT_DIGESTS else _state(connection, cap, version)


def _state(connection: sqlite3.Connection, cap: Cap, version: int) -> State:
    """Return what the file states, after a check against its digest and its last charge."""
    row = _only(connection.execute("SELECT * FROM spent"))
    if row[-1] != _digest(*_cap_row(cap), *row[:-1]):
        raise ValueError("its sums do not match their digest")
    if version < _WITHOUT_LABELS:  # no release had an epsilon and a rho
        row = (*row[:4], row[3], *row[4:])
    releases, *numbers, unlimited, simulated, last = row[:8]
    first, second, third, fourth = (Fraction(number.decode()) for number in numbers)
    sums = Sums(first, second, third, fourth, bool(unlimited), bool(simulated), releases)
    ends = connection.execute("SELECT id, digest FROM charges ORDER BY id DESC LIMIT 1").fetchall()
    if (ends or [(0, _digest(*_cap_row(cap)))]) != [(releases, last)]:
        raise ValueError("its last charge is not the one that its sums end with")
    identity = None if version == _WITHOUT_IDENTITY else row[8]
    return State(sums, last, identity, version == _FORMAT)


def follows(connection: sqlite3.Connection, state: State, seen: State) -> bool:
    """Return whether a state is of the same file as one that was seen before, with all charges."""
    number = seen.sums.releases
    if seen.identity not in (None, state.identity) or state.sums.releases < number:
        return False
    asked = "SELECT digest FROM charges WHERE id = ?"
    return not number or connection.execute(asked, [number]).fetchone() == (seen.last,)


def check_rows(connection: sqlite3.Connection, path: Path, cap: Cap, state: State | None) -> None:
    """Read the whole file, and compare all charges with the state.

    Raises
    ------
    FormatError
        The file is damaged.
    """
    with _undamaged(path):
        problem = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if problem != (b"ok",):
            raise ValueError("SQLite finds an error in it")
        if state is None:
            sums_of_rows(connection, path, cap)
            return
        rows = _chained(connection, cap, state)
        if total((row[3], row[4], row[5], bool(row[6])) for row in rows) != state.sums:
            raise ValueError("its sums are not those of its charges")


def charges(
    connection: sqlite3.Connection, path: Path, cap: Cap, state: State | None
) -> list[Charge]:
    """Return all charges up to the state; errors as in ``check_rows``."""
    with _undamaged(path):
        rows = _rows(connection) if state is None else _chained(connection, cap, state)
        return [_charge(cap, row) for row in rows]


def sums_of_rows(connection: sqlite3.Connection, path: Path, cap: Cap) -> Sums:
    """Return the sums of a file in the format without digests; errors as in ``check_rows``."""
    asked = (
        "SELECT count(*), epsilon, delta, rho, max(simulated) FROM charges "
        "GROUP BY epsilon, delta, rho"
    )
    sums = Sums()
    with _undamaged(path):
        for count, epsilon, delta, rho, simulated in connection.execute(asked):
            privacy = Privacy(epsilon, delta, cap.limit.neighbours, bool(simulated), rho)
            sums = sums.plus(privacy, count)
    return sums


def upgrade(connection: sqlite3.Connection, path: Path, cap: Cap, state: State | None) -> State:
    """Give a file of an older format what it lacks, within a transaction.

    Digests that the charges have already stay as they are, so that others who have seen them find
    them again.
    """
    connection.execute("DROP TABLE cap")
    connection.execute(_CAP)
    _insert_cap(connection, cap)
    if state is not None:
        connection.execute(f"ALTER TABLE charges ADD COLUMN {_LABEL}")
        connection.execute("DROP TABLE spent")
        connection.execute(_SPENT)
        own = state.identity or os.urandom(_IDENTITY_BYTES)
        state = state._replace(identity=own, is_current=True)
        _insert(connection, cap, state)
    else:
        old, state = charges(connection, path, cap, None), _first(cap)
        connection.execute("DROP TABLE charges")
        connection.execute(_CHARGES)
        connection.execute(_SPENT)
        _insert(connection, cap, state)
        for charge in old:
            state = add(connection, path, cap, state, charge)
    connection.execute(f"PRAGMA user_version = {_FORMAT}")
    return state


def add(
    connection: sqlite3.Connection, path: Path, cap: Cap, state: State, charge: Charge
) -> State:
    """Write one more charge, and return the new state."""
    time, what, cost, label = charge
    sums = state.sums.plus(cost)
    # SQLite stores -0.0 as 0.0, and the digest must be that of what is stored.
    numbers = cost.epsilon, cost.delta + 0.0, cost.rho, int(cost.simulated)
    row = (sums.releases, time.isoformat(), what, *numbers)
    after = State(sums, _charge_digest(state.last, row, label), state.identity)
    insert = f"INSERT INTO charges VALUES ({_marks(9)})"
    update = (
        "UPDATE spent SET releases = ?, epsilon = ?, concentrated = ?, delta = ?, "
        "delta_of_rho = ?, unlimited = ?, simulated = ?, last = ?, identity = ?, digest = ?"
    )
    written = connection.execute(insert, (*row, after.last, label)).rowcount
    if (written, connection.execute(update, _spent_row(cap, after)).rowcount) != (1, 1):
        raise FormatError(f"{path} is damaged: a charge could not be written")
    return after


def _first(cap: Cap) -> State:
    """Return the state of a new file."""
    return State(Sums(), _digest(*_cap_row(cap)), os.urandom(_IDENTITY_BYTES))


def _insert(connection: sqlite3.Connection, cap: Cap, state: State) -> None:
    connection.execute(f"INSERT INTO spent VALUES ({_marks(10)})", _spent_row(cap, state))


def _insert_cap(connection: sqlite3.Connection, cap: Cap) -> None:
    stored = (*_cap_row(cap)[:4], cap.composition)
    connection.execute(f"INSERT INTO cap VALUES ({_marks(5)})", stored)


def _rows(connection: sqlite3.Connection, state: State | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the charges, up to a state, oldest first: with labels, and with digests if any."""
    label = "label" if state is not None and state.is_current else "''"
    columns, at, left = f"{_COLUMNS}, {label}", -(2**63), 2**63 - 1
    if state is not None:
        columns, left = f"{columns}, digest", state.sums.releases
    while left:
        asked = f"SELECT {columns} FROM charges WHERE id > ? ORDER BY id LIMIT ?"
        rows = connection.execute(asked, [at, min(left, _BLOCK)]).fetchall()
        if not rows:
            return
        yield from rows
        at, left = rows[-1][0], left - len(rows)


def _chained(connection: sqlite3.Connection, cap: Cap, state: State) -> Iterator[tuple[Any, ...]]:
    """Yield the charges up to the state, after a check of their digests."""
    last, number = _digest(*_cap_row(cap)), 0
    for number, row in enumerate(_rows(connection, state), 1):
        last = _charge_digest(last, row[:7], row[7])
        if row[0] != number or row[-1] != last:
            raise ValueError(f"charge {number} does not match its digest")
        yield row
    if number != state.sums.releases or last != state.last:
        raise ValueError("charges are missing")


def _charge(cap: Cap, row: tuple[Any, ...]) -> Charge:
    _, time, what, epsilon, delta, rho, simulated, label = row[:8]
    privacy = Privacy(epsilon, delta, cap.limit.neighbours, bool(simulated), rho)
    when = datetime.fromisoformat(time.decode())
    return Charge(when, what.decode(), privacy, label.decode())


def _cap_row(cap: Cap) -> tuple[float | str | None, ...]:
    """Return what digests cover: for basic composition what they covered before it had a name."""
    limit = cap.limit
    rule = (cap.composition,) if cap.has_both else ()
    return limit.epsilon, limit.delta + 0.0, limit.rho, limit.neighbours, *rule


def _spent_row(cap: Cap, state: State) -> tuple[Any, ...]:
    sums = state.sums
    exact = sums.epsilon, sums.concentrated, sums.delta, sums.delta_of_rho
    numbers = tuple(str(number) for number in exact)
    row: tuple[Any, ...] = (sums.releases, *numbers, int(sums.unlimited), int(sums.simulated))
    after = (state.last, state.identity)
    return *row, *after, _digest(*_cap_row(cap), *row, *after)


def _digest(*fields: float | str | bytes | None) -> bytes:
    """Return a digest of what is stored. No version of Python represents these types otherwise."""
    plain = tuple(field.encode() if isinstance(field, str) else field for field in fields)
    return sha256(repr(plain).encode("ascii")).digest()


def _charge_digest(last: bytes, row: Sequence[Any], label: str | bytes) -> bytes:
    """Return the digest of a charge: without a label, what it was before there were labels."""
    return _digest(last, *row, *((label,) if label else ()))


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _only(found: Iterable[Any]) -> Any:
    """Return the row of a table that has one row."""
    rows = [*found]
    if len(rows) != 1:
        raise ValueError(f"a table with one row has {len(rows)}")
    return rows[0]


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Report a damaged file if it holds values that no budget writes."""
    try:
        yield
    except FormatError:
        raise
    except (ArithmeticError, AttributeError, DpcoreError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is damaged: {error}") from None
