"""Write several files or none. Nobody sees a part of them, and a failure restores the old files."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from .files import FileError

__all__ = ["check_writable", "write_together"]


def check_writable(target: Path) -> None:
    """Check, by trying, that a file can be put in the place of ``target``.

    Raises
    ------
    FileError
        It exists and is not a regular file, or its folder does not exist or is not writable.
    """
    try:
        final = target.resolve()  # a link stays, and its target is replaced
        if final.is_symlink():  # a circle of links; Python 3.12 and before raise an error for it
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not final.exists() or final.is_file():
            probe = _beside(final, "dpcore")
            try:
                _write(probe, b"", like=final)
            finally:
                probe.unlink(missing_ok=True)
            return
    except (OSError, RuntimeError, ValueError) as error:
        raise _failure(target, error) from None
    raise FileError(str(target), "cannot be written: not a regular file")


def write_together(contents: Mapping[Path, bytes], mark: str = "dpcore") -> None:
    """Write all the files, or none.

    Each content is first written to a temporary file beside its target, and flushed to disk. Then
    each file takes the name of its target. If this fails for one, the earlier targets get their
    old contents back.

    A process that is killed leaves temporary files, ``.MARK-DIGITS.tmp`` beside the targets. With
    a mark of its own, the next writer can remove them.

    Raises
    ------
    FileError
        A file could not be written. None has changed.
    """
    finals = {target: target.resolve() for target in contents}
    fresh = {target: _beside(final, mark) for target, final in finals.items()}
    before: dict[Path, Path | None] = {}
    spare: list[Path] = list(fresh.values())
    target = Path()
    try:
        for target, content in contents.items():
            _write(fresh[target], content, like=finals[target])
        for target, final in finals.items():
            # The last one needs no copy: it fails, or the work is done.
            if len(before) < len(finals) - 1:
                before[final] = _copy(final, mark, spare)
            os.replace(fresh[target], final)
    except BaseException as error:
        for final, copy in before.items():
            if copy is None:
                final.unlink(missing_ok=True)
            else:
                os.replace(copy, final)
        if isinstance(error, OSError):
            raise _failure(target, error) from None
        raise
    finally:
        for path in spare:
            path.unlink(missing_ok=True)


def _beside(final: Path, mark: str) -> Path:
    """Return an unused name in the same folder, so that renaming does not move data."""
    return final.with_name(f".{mark}-{secrets.token_hex(8)}.tmp")


def _write(path: Path, content: bytes, *, like: Path) -> None:
    """Write a new file and flush it to disk, with the permissions of ``like`` if that exists."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        if like.exists():
            os.chmod(path, stat.S_IMODE(like.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _copy(final: Path, mark: str, spare: list[Path]) -> Path | None:
    """Copy an existing target to a new file, which is added to ``spare``."""
    if not final.exists():
        return None
    spare.append(_beside(final, mark))
    _write(spare[-1], final.read_bytes(), like=final)
    return spare[-1]


def _failure(target: Path, error: Exception) -> FileError:
    return FileError(str(target), f"cannot be written: {getattr(error, 'strerror', '') or error}")
