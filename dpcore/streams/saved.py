"""The secret state of a stream in a file for one use (docs/proofs/streams.md)."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

from ..errors import FormatError
from ..records.atomic import beside, failure, hold, sync_folder, write_new
from ..records.sources import FileError

__all__ = ["Attempt", "claim", "dump", "load", "put", "read"]

_FORMAT: Final = "dpcore.stream"
_VERSION: Final = 2
_OLD: Final = ("dpcore.running-count", 1)  # counts of the dyadic tree under replace-one
_SECRET: Final = 0o600  # the permissions of a file for its owner alone
_FIELDS: Final = {"format", "version", "digest", "state"}


def dump(state: dict[str, Any]) -> bytes:
    """Return the content of a file for a state of integers, strings, lists and objects."""
    text = {"format": _FORMAT, "version": _VERSION, "digest": _digest(state), "state": state}
    return _canonical(text) + b"\n"


def load(content: bytes) -> dict[str, Any]:
    """Return the state.

    Counts that dpcore saved before version 2 are returned in today's form.

    Raises
    ------
    FormatError
        The content is not that of such a file, is of another version, or has changed. The error
        quotes nothing of it, because it is secret.
    """
    try:
        data = json.loads(content.decode("ascii"), parse_float=_refuse, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise FormatError("not a saved stream: not JSON, or cut short") from None
    if not isinstance(data, dict) or data.get("format") not in (_FORMAT, _OLD[0]):
        raise FormatError(f'not a saved stream: the field "format" has to be "{_FORMAT}"')
    is_old = data["format"] == _OLD[0]
    version = _OLD[1] if is_old else _VERSION
    if type(data.get("version")) is not int or data["version"] != version:
        raise FormatError(f"a saved stream of another version; this dpcore reads {_VERSION}")
    state = data.get("state")
    if set(data) != _FIELDS or not isinstance(state, dict) or data["digest"] != _digest(state):
        raise FormatError("a damaged saved stream: the digest is not that of the state")
    return _of_today(state) if is_old else state


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
        raise failure(path, error, "read") from None


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
    fresh = beside(path)
    try:
        hold(path, _SECRET)
    except OSError as error:
        raise failure(path, error) from None
    try:
        write_new(fresh, content, mode=_SECRET)
        # Set early, because an interrupt may follow the renaming immediately.
        attempt.published = True
        os.replace(fresh, path)
    except BaseException as error:
        if not attempt.published or fresh.exists():
            attempt.published = False
            fresh.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise failure(path, error) from None
        raise
    try:
        sync_folder(path.parent)
    except OSError as error:
        what = "written to the disk for certain (but it exists)"
        raise failure(path, error, what) from None


def claim(path: Path, content: bytes) -> None:
    """Remove a file, also on the disk, so that nobody else can take it.

    If several processes try, one of them renames it, and the others do not find it.

    Raises
    ------
    FileError
        The file is gone, cannot be removed, or does not hold ``content`` any more. In the last two
        cases it is where it was.
    """
    claimed = beside(path)
    try:
        os.rename(path, claimed)
    except FileNotFoundError:
        raise _used(path) from None
    except OSError as error:
        raise failure(path, error, "claimed") from None
    try:
        if claimed.read_bytes() != content:
            raise FileError(str(path), "changed while it was read")
        # Otherwise a power failure could bring the file back, and it could be used again.
        sync_folder(path.parent)
        claimed.unlink()
    except BaseException as error:
        if claimed.exists() and not path.exists():
            os.rename(claimed, path)
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise failure(path, error, "claimed") from None
        raise


def _of_today(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a saved count of version 1 in the form of version 2."""
    try:
        return {
            "kind": "running-count",
            "horizon": state["horizon"],
            "mechanism": {
                "name": "dyadic-tree",
                "epsilon": state["epsilon"],
                "rho": state["rho"],
                "neighbours": "replace-one",
                "delta": None,
                "base": state["base"],
                "sensitivity": state["sensitivity"],
            },
            "step": state["step"],
            "sums": [state["count"]],
            "noise": [
                {
                    "scale": state["noise_scale"],
                    "nodes": [[node] for node in state["nodes"]],
                    "generator": state["generator"],
                }
            ],
            "more": {},
        }
    except (KeyError, TypeError):
        raise FormatError("a saved count with a missing field") from None


def _refuse(number: str) -> None:
    raise ValueError("all numbers are integers")


def _digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(state)).hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _used(path: Path) -> FileError:
    return FileError(
        str(path),
        "cannot be resumed: the file does not exist (a saved stream is resumed only once)",
    )
