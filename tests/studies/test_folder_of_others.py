"""Folders that hold other files, that are only read, or in which a run was killed as it wrote."""

from __future__ import annotations

import contextlib

import pandas as pd
import pytest

from dpcore import studies
from dpcore.records.atomic import write_together
from dpcore.records.files import FileError
from dpcore.studies import folder
from dpcore.studies.folder import Folder
from tests.studies.alike import content, same


def draw(n, rng):
    return {"x": rng.random()}


STUDY = studies.Study(draw, {"n": [1, 2]})
UNCALLED = studies.Study(lambda rng: pytest.fail("was called"), {})


@pytest.mark.parametrize("name", ["replicates.parquet", "summary.parquet", "parts/a.parquet"])
def test_tables_of_others_stay(tmp_path, name):
    (tmp_path / "parts").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / name)
    before = content(tmp_path)
    with pytest.raises(FileError, match=f"{name.rpartition('/')[2]}' is not the table of a study"):
        studies.run(UNCALLED, replicates=1, out=tmp_path)
    (tmp_path / ".lock").unlink(missing_ok=True)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["replicates.parquet", "summary.parquet"])
def test_folders_in_the_place_of_a_table_are_told_at_once(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(FileError, match=f"{name}' cannot be read: (Is a dir|Permission)"):
        studies.run(UNCALLED, replicates=1, out=tmp_path)


def test_a_file_in_the_place_of_the_parts_is_told_at_once(tmp_path):
    (tmp_path / "parts").write_text("x")
    with pytest.raises(FileError, match="parts' cannot be made"):
        studies.run(UNCALLED, replicates=1, out=tmp_path)


def test_other_files_of_others_are_let_be(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "x"


def test_a_folder_that_is_whole_needs_no_leave_to_write(tmp_path, monkeypatch):
    results = studies.run(STUDY, replicates=2, seed=3, out=tmp_path)

    def locked(self):
        raise FileError(str(self.path), "cannot be written to")

    monkeypatch.setattr(Folder, "locked", locked)
    assert same(studies.run(STUDY, replicates=2, out=tmp_path), results)
    with pytest.raises(FileError):
        studies.run(STUDY, replicates=3, out=tmp_path)


def test_whatever_is_written_is_written_in_turns(tmp_path, monkeypatch):
    """So what is half written is nobody's who is still at it."""
    method, held, seen = Folder.locked, [], []

    @contextlib.contextmanager
    def locked(self):
        with method(self):
            held.append(True)
            yield
            held.pop()

    def write(contents, mark):
        seen.append(bool(held))
        write_together(contents, mark)

    monkeypatch.setattr(Folder, "locked", locked)
    monkeypatch.setattr(folder, "write_together", write)
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    assert seen == 3 * [True]  # what will come, a part, and the whole


def test_what_was_half_written_is_removed(tmp_path):
    """As of a run that was killed while it wrote a part."""
    (tmp_path / "a" / "parts").mkdir(parents=True)
    (tmp_path / "a" / "parts" / ".dpcore-0123456789abcdef.tmp").write_bytes(b"PAR1")
    for name in "ab":
        studies.run(STUDY, replicates=2, seed=3, out=tmp_path / name)
    assert content(tmp_path / "a") == content(tmp_path / "b")


@pytest.mark.parametrize("missing", [True, False])
def test_what_was_half_written_beside_the_table_is_removed(missing, tmp_path):
    """As of a run that was killed while it wrote the table, and not what others write."""
    for name in "ab":
        studies.run(STUDY, replicates=2, seed=3, out=tmp_path / name)
        (tmp_path / name / ".dpcore-0123456789abcdef.tmp").write_bytes(b"of a release")
    left = tmp_path / "a" / f".{folder._MARK}-0123456789abcdef.tmp"
    left.write_bytes(b"PAR1")
    for name in "ab":
        studies.run(STUDY, replicates=3 if missing else 2, out=tmp_path / name)
    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_what_others_made_while_a_run_began_is_not_made_again(tmp_path, monkeypatch):
    """It looks again when it has the lock."""
    method = Folder.locked

    def late(self):
        monkeypatch.setattr(Folder, "locked", method)
        studies.run(STUDY, replicates=4, seed=3, out=tmp_path)
        return method(self)

    monkeypatch.setattr(Folder, "locked", late)
    study = studies.Study(lambda n, rng: pytest.fail("was called"), {"n": [1, 2]})
    study.function.__name__ = "draw"
    with pytest.warns(studies.StudyWarning):
        assert len(studies.run(study, replicates=4, out=tmp_path)) == 8
