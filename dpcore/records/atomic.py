"""Files that are written whole or not at all, and the lock of a file. One home for all rooms."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from .sources import FileError

__all__ = [
    "absolute",
    "beside",
    "check_writable",
    "failure",
    "hold",
    "locked",
    "sync_folder",
    "write_new",
    "write_together",
]


def absolute(path: Path) -> Path:
    """Return a path that stays the same if the process goes to another folder.

    Raises
    ------
    FileError
        The folder of the process, where a relative path begins, is gone.
    """
    try:
        return path.absolute()
    except OSError as error:
        raise failure(path, error, "found") from None


def check_writable(target: Path) -> None:
    """Check, by trying, that a file can be put in the place of ``target``.

    Raises
    ------
    FileError
        It exists and is not a regular file, or its folder does not exist or is not writable.
    """
    final = _final(target)
    try:
        if not final.exists() or final.is_file():
            probe = beside(final)
            try:
                write_new(probe, b"", like=final)
            finally:
                probe.unlink(missing_ok=True)
            return
    except OSError as error:
        raise failure(target, error) from None
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
    finals = {target: _final(target) for target in contents}
    fresh = {target: beside(final, mark) for target, final in finals.items()}
    before: dict[Path, Path | None] = {}
    spare: list[Path] = list(fresh.values())
    target = Path()
    try:
        for target, content in contents.items():
            write_new(fresh[target], content, like=finals[target])
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
            raise failure(target, error) from None
        raise
    finally:
        for path in spare:
            with contextlib.suppress(OSError):  # an error that is on its way says why
                path.unlink(missing_ok=True)


def beside(final: Path, mark: str = "dpcore") -> Path:
    """Return an unused name in the same folder, so that renaming does not move data."""
    return final.with_name(f".{mark}-{secrets.token_hex(8)}.tmp")


def write_new(path: Path, content: bytes, *, mode: int = 0o666, like: Path | None = None) -> None:
    """Write a new file and flush it to disk, with the permissions of ``like`` if that exists."""
    with open(_created(path, mode), "wb") as file:
        if like is not None and like.exists():
            os.chmod(path, stat.S_IMODE(like.stat().st_mode))
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def hold(path: Path, mode: int = 0o666) -> None:
    """Make an empty file that holds a name, for a file that takes its place.

    Raises
    ------
    FileExistsError
        There is one. Of several processes, one makes it.
    """
    os.close(_created(path, mode))


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, if the system can do so."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a file, which is made if there is none. The lock ends with the process.

    On a file system without locks, processes must not share the file.

    Raises
    ------
    OSError
        The file cannot be opened.
    """
    with open(path, "ab") as file:
        try:
            import fcntl
        except ImportError:  # Windows
            import msvcrt

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
                    break
                except OSError:  # after ten seconds
                    continue
        else:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def failure(path: Path, error: Exception, done: str = "written") -> FileError:
    """Return the error that says what cannot be done with a file, and why."""
    return FileError(str(path), f"cannot be {done}: {getattr(error, 'strerror', '') or error}")


def _final(target: Path) -> Path:
    """Return the file that a path leads to: a link stays, and its target is replaced.

    Raises
    ------
    FileError
        There is none: links lead in a circle.
    """
    try:
        final = target.resolve()
        if final.is_symlink():  # a circle; Python 3.12 and before raise an error for it
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except (OSError, RuntimeError, ValueError) as error:
        raise failure(target, error) from None
    return final


def _created(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)


def _copy(final: Path, mark: str, spare: list[Path]) -> Path | None:
    """Copy an existing target to a new file, which is added to ``spare``."""
    if not final.exists():
        return None
    spare.append(beside(final, mark))
    write_new(spare[-1], final.read_bytes(), like=final)
    return spare[-1]
