"""Files that a command writes: all of them or none, and what was there stays if one fails."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from dpcore.records import atomic
from dpcore.records.files import FileError


def full_disk(monkeypatch, after: int = 0):
    """Let the disk be full once ``after`` files with something in them have been written."""
    real, written = os.fsync, []

    def fsync(number):
        if os.fstat(number).st_size:
            written.append(number)
            if len(written) > after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_file_in_the_place_of_a_folder_is_a_file_error(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(FileError, match=r"a.b"):
        atomic.write_together({tmp_path / "a" / "b": b"1"})
    assert listing(tmp_path) == {"a": b"old"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_files_are_written_together(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    second.write_bytes(b"old")
    second.chmod(0o640)
    atomic.write_together({first: b"1", second: b"2"})
    assert listing(tmp_path) == {"a": b"1", "b": b"2"}
    assert stat.S_IMODE(second.stat().st_mode) == 0o640
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(first.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("after", [0, 1])
def test_full_disk_leaves_what_was_there(tmp_path, monkeypatch, after):
    (tmp_path / "a").write_bytes(b"old")
    full_disk(monkeypatch, after)
    with pytest.raises(FileError, match=r"[ab]' cannot be written: No space left"):
        atomic.write_together({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert listing(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize("before", [{}, {"a": b"old a"}, {"a": b"old a", "b": b"old b"}])
@pytest.mark.parametrize("error", [PermissionError(errno.EPERM, "no"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_replaced_takes_the_others_back(tmp_path, monkeypatch, before, error):
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    real = os.replace

    def replace(source, target):
        if Path(target).name == "b":
            raise error
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else FileError):
        atomic.write_together({tmp_path / "a": b"1", tmp_path / "b": b"2"})
    assert listing(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_are_followed(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic.write_together({tmp_path / "link": b"new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.skipif(os.name == "nt", reason="there are no links and pipes in folders there")
def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for target in ("", "none/x", "file/x", "loop", "pipe"):
        with pytest.raises(FileError, match="cannot be written"):
            atomic.check_writable(tmp_path / target)
    atomic.check_writable(tmp_path / "new")
    assert listing(tmp_path) == {"file": b"old"}


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_in_a_circle_are_named_before_anything_is_written(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match=r"loop.*cannot be written"):
        atomic.write_together({tmp_path / "file": b"new", tmp_path / "loop": b"new"})
    assert listing(tmp_path) == {}
