"""The secret state of a running count in a file for one use (docs/proofs/streams.md)."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any, Final

from ..errors import FormatError
from ..records.files import FileError

__all__ = ["Attempt", "claim", "dump", "load", "put", "read"]

_FORMAT: Final = "dpcore.running-count"
_VERSION: Final = 1
_FIELDS: Final = {"format", "version", "digest", "state"}


def dump(state: dict[str, Any]) -> bytes:
    """Return the content of a file for a state of integers, strings, lists and objects."""
    text = {"format": _FORMAT, "version": _VERSION, "digest": _digest(state), "state": state}
    return _canonical(text) + b"\n"


def load(content: bytes) -> dict[str, Any]:
    """Return the state.

    Raises
    ------
    FormatError
        The content is not that of such a file, is of another version, or has changed. The error
        quotes nothing of it, because it is secret.
    """
    try:
        data = json.loads(content.decode("ascii"), parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise FormatError("not a saved count: not JSON, or cut short") from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise FormatError(f'not a saved count: the field "format" has to be "{_FORMAT}"')
    if type(data.get("version")) is not int or data["version"] != _VERSION:
        raise FormatError(f"a saved count of another version; this dpcore reads {_VERSION}")
    state = data.get("state")
    if set(data) != _FIELDS or not isinstance(state, dict) or data["digest"] != _digest(state):
        raise FormatError("a damaged saved count: the digest is not that of the state")
    return state


def read(path: Path) -> bytes:
    """Return the content of a file, and leave the file where it is.

    Raises
    ------
    FileError
        The file does not exist (any more), or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise _used(path) from None
    except OSError as error:
        raise _failure(path, "read", error) from None


class Attempt:
    """Whether a file that is being made may have been seen by others under its name."""

    published = False


def put(path: Path, content: bytes, attempt: Attempt) -> None:
    """Make a new file for its owner alone, whole or not at all.

    An empty file holds the name while a temporary file is written to the disk. Then the temporary
    file takes its place. From then on somebody else may have used it. So it is not taken back,
    whatever fails, and ``attempt.published`` is True.

    Raises
    ------
    FileError
        The file exists already, or cannot be written, and nothing has changed. Or, if
        ``attempt.published``, the file is written but might be lost in a power failure.
    """
    fresh = _beside(path)
    try:
        os.close(_created(path))
    except OSError as error:
        raise _failure(path, "written", error) from None
    try:
        with open(_created(fresh), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Set early, because an interrupt may follow the renaming immediately.
        attempt.published = True
        os.replace(fresh, path)
    except BaseException as error:
        if not attempt.published or fresh.exists():
            attempt.published = False
            fresh.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _failure(path, "written", error) from None
        raise
    try:
        _sync(path.parent)
    except OSError as error:
        raise _failure(path, "written to the disk for certain (but it exists)", error) from None


def claim(path: Path, content: bytes) -> None:
    """Remove a file, also on the disk, so that nobody else can take it.

    If several processes try, one of them renames it, and the others do not find it.

    Raises
    ------
    FileError
        The file is gone, cannot be removed, or does not hold ``content`` any more. In the last two
        cases it is where it was.
    """
    claimed = _beside(path)
    try:
        os.rename(path, claimed)
    except FileNotFoundError:
        raise _used(path) from None
    except OSError as error:
        raise _failure(path, "claimed", error) from None
    try:
        if claimed.read_bytes() != content:
            raise FileError(str(path), "changed while it was read")
        # Otherwise a power failure could bring the file back, and it could be used again.
        _sync(path.parent)
        claimed.unlink()
    except BaseException as error:
        if claimed.exists() and not path.exists():
            os.rename(claimed, path)
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise _failure(path, "claimed", error) from None
        raise


def _refuse(number: str) -> None:
    raise ValueError("all numbers are integers")


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(state)).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _created(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _beside(path: Path) -> Path:
    """Return an unused name in the same folder, so that renaming does not move data."""
    return path.with_name(f".dpcore-{secrets.token_hex(8)}.tmp")


def _sync(folder: Path) -> None:
    """Write the names in a folder to the disk, if the system can do so."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _used(path: Path) -> FileError:
    return FileError(
        str(path), "cannot be resumed: the file does not exist (a saved count is resumed only once)"
    )


def _failure(path: Path, done: str, error: OSError) -> FileError:
    return FileError(str(path), f"cannot be {done}: {error.strerror or error}")
