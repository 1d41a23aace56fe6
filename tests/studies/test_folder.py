"""Folders of studies: interrupted, shared, read-only, of others, and what made their rows."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import threading
from importlib.metadata import PackageNotFoundError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from dpcore import errors, studies
from dpcore.records.atomic import write_together
from dpcore.records.files import FileError
from dpcore.studies import folder, runner
from dpcore.studies.calls import Chunk, Done, Made
from dpcore.studies.folder import Folder
from dpcore.studies.header import Header, header_of
from dpcore.studies.store import Store
from dpcore.studies.tables import part_of, tidy
from tests.studies.alike import content, named, parts_stay, same


def draw(n, rng):
    return {"x": rng.random(), "at": rng.random(n)}


STUDY = studies.Study(draw, {"n": [1, 2, 3]})
UNCALLED = studies.Study(lambda rng: pytest.fail("was called"), {})


@pytest.fixture
def once(tmp_path):
    """The folder of a run that nothing interrupted."""
    studies.run(STUDY, replicates=4, seed=3, out=tmp_path / "once")
    return tmp_path / "once"


class StopError(Exception):
    """As if the process ended."""


def interrupted(out, name, times):
    """Run until a function that writes has been called ``times``; what follows is not done."""
    where = folder if name == "write_together" else Folder
    function, left = getattr(where, name), [times]

    def stop(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise StopError
        return function(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, stop)
        with pytest.raises(StopError):
            studies.run(STUDY, replicates=4, seed=3, out=out)


@pytest.mark.usefixtures("each_call_a_part")
@pytest.mark.parametrize(
    ("name", "times"),  # the table is written after what will come and twelve parts
    [("add", 0), ("add", 1), ("add", 5), ("tidy", 0), ("write_together", 13)],
)
def test_an_interrupted_run_goes_on_where_it_stopped(monkeypatch, tmp_path, once, name, times):
    interrupted(tmp_path / "a", name, times)
    assert list((tmp_path / "a").glob(".begun-*"))
    before, calls = studies.load(tmp_path / "a"), []
    call = studies.Study.call
    monkeypatch.setattr(studies.Study, "call", lambda *given: calls.append(given) or call(*given))
    studies.run(STUDY, replicates=4, out=tmp_path / "a")
    assert len(calls) == 12 - len(before)
    assert content(tmp_path / "a") == content(once)


@pytest.mark.usefixtures("each_call_a_part")
def test_parts_that_are_in_the_table_already_count_once(tmp_path, once):
    """As after an interruption between writing the table and removing the parts."""
    interrupted(tmp_path / "a", "tidy", 0)
    parts = {path: path.read_bytes() for path in (tmp_path / "a" / "parts").glob("*.parquet")}
    studies.run(STUDY, replicates=4, out=tmp_path / "a")
    for path, data in parts.items():
        path.write_bytes(data)
    assert same(studies.load(tmp_path / "a"), studies.load(once))
    for out in (tmp_path / "a", once):
        studies.run(STUDY, replicates=5, out=out)
    assert content(tmp_path / "a") == content(once)


def test_two_runs_of_one_folder_lose_nothing(tmp_path):
    """Both begin before the other ends, with other cells and other numbers of replicates."""
    meet = threading.Barrier(2)

    def draw_together(n, rng):
        if rng.bit_generator.seed_seq.spawn_key[-1] == 0:
            meet.wait(timeout=60)
        return draw(n, rng)

    results = {}

    def go(n, replicates):
        study = named("draw", draw_together, {"n": n})
        results[replicates] = studies.run(study, replicates=replicates, out=tmp_path)

    threads = [threading.Thread(target=go, args=given) for given in ((1, 5), (2, 60))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    whole = studies.load(tmp_path)
    assert len(whole) == 65
    assert {result.seed for result in results.values()} == {whole.seed}
    expected = studies.run(STUDY.over(n=[1, 2]), replicates=60, seed=whole.seed)
    assert np.array_equal(results[5].array("x"), expected.array("x")[0, :5])
    assert np.array_equal(results[60].array("x"), expected.array("x")[1])
    assert content(tmp_path).keys() == {".lock", "replicates.parquet", "summary.parquet"}


def test_what_others_wrote_in_the_meantime_is_not_overwritten(monkeypatch, tmp_path):
    """A run that ends puts together what is there now, not what it once read."""
    method = Folder.tidy

    def late(self, together):
        monkeypatch.setattr(Folder, "tidy", method)
        studies.run(STUDY.over(n=[7]), replicates=9, out=tmp_path)
        method(self, together)

    monkeypatch.setattr(Folder, "tidy", late)
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    assert len(studies.load(tmp_path)) == 6 + 9


def test_what_others_made_while_a_run_began_is_not_made_again(tmp_path, monkeypatch):
    """It looks again when it has the lock."""
    method = Folder.locked

    def late(self):
        monkeypatch.setattr(Folder, "locked", method)
        studies.run(STUDY, replicates=4, seed=3, out=tmp_path)
        return method(self)

    monkeypatch.setattr(Folder, "locked", late)
    study = named("draw", lambda n, rng: pytest.fail("was called"), {"n": [1, 2]})
    with pytest.warns(studies.StudyWarning):
        assert len(studies.run(study, replicates=4, out=tmp_path)) == 8


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


def test_a_reader_misses_nothing_that_moves(monkeypatch, tmp_path):
    """Parts are read first, and the table last: here they move into it in between."""
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    with parts_stay():
        studies.run(STUDY, replicates=5, out=tmp_path)
    real = pq.read_table
    moved = []

    def read_table(source):
        if not moved:
            moved.append(True)
            studies.run(STUDY, replicates=6, out=tmp_path)
        return real(source)

    monkeypatch.setattr(pq, "read_table", read_table)
    assert len(studies.load(tmp_path)) == 18


@pytest.mark.usefixtures("each_call_a_part")
def test_a_folder_can_be_read_while_a_study_runs(tmp_path):
    """From its beginning on, with the parameters and types that it will have."""
    seen = []

    def watching(n, rng, m=""):
        seen.append(studies.load(tmp_path))
        return {"x": n}

    study = studies.Study(watching, [{"n": [1, 0.5]}, {"m": ["a"], "n": [2]}])
    whole = studies.run(study, replicates=1, seed=1, out=tmp_path)
    assert [len(results) for results in seen] == [0, 1, 2]
    begun = seen[0]
    assert begun.quantities == []
    assert begun.parameters == whole.parameters == {"n": [1, 0.5, 2], "m": ["a"]}
    columns = ["n", "m", "replicate", "made_by", "cell"]
    assert begun.table.column_names == columns
    assert begun.table.schema.types == whole.table.select(columns).schema.types
    assert begun.summary().num_rows == 0
    assert begun.summary().column_names[:3] == ["n", "m", "quantity"]


@pytest.mark.usefixtures("each_call_a_part")
def test_parts_are_read_by_others_in_mid_run(tmp_path):
    """With the types that the whole study has: here a part has whole numbers, and another not."""
    study = studies.Study(lambda n, kind, rng: {"x": n}, {"n": [1, 0.5], "kind": ["a", "b"]})
    with parts_stay():
        results = studies.run(study, replicates=3, seed=1, out=tmp_path)
    for frame in (
        pd.read_parquet(tmp_path / "parts"),
        pl.read_parquet(tmp_path / "parts" / "*.parquet").to_pandas(),
    ):
        x = frame.sort_values(["n", "kind", "replicate"])["x"]
        assert x.tolist() == results.array("x")[::-1].ravel().tolist()


# --- what is refused, before anything is done


def test_another_study_or_seed_is_refused(tmp_path):
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    before = content(tmp_path)
    with pytest.raises(errors.ParameterError, match=r"seed.* 3.* 4"):
        studies.run(STUDY, replicates=2, seed=4, out=tmp_path)
    with pytest.raises(errors.ParameterError, match=r"out.*draw"):
        studies.run(UNCALLED, replicates=2, out=tmp_path)
    assert content(tmp_path) == before


@pytest.mark.parametrize("other", ["name", "seed", "batch"])
def test_files_of_several_studies_are_no_study(tmp_path, once, other):
    """As they are after a copy into the wrong folder."""

    def made(n, rng, replicates=1):
        return {"x": rng.random() if other != "batch" else rng.random(replicates)}

    made.__name__ = "other" if other == "name" else "draw"
    study = studies.Study(made, {"n": [1, 2, 3]}, 2 if other == "batch" else None)
    studies.run(study, replicates=2, seed=4 if other == "seed" else 3, out=tmp_path / "b")
    shutil.copy(tmp_path / "b" / "replicates.parquet", once / "parts" / "1-0.parquet")
    with pytest.raises(FileError, match="several studies"):
        studies.load(once)


def test_a_number_may_not_become_a_parameter(tmp_path):
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    study = named("draw", lambda n, rng, x=1: {"y": rng.random()}, {"n": 1, "x": [1]})
    with pytest.warns(studies.StudyWarning), pytest.raises(studies.StudyError, match="'x'"):
        studies.run(study, replicates=1, out=tmp_path)


@pytest.mark.parametrize("name", ["replicates.parquet", "parts/1.parquet"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_files_are_named(tmp_path, name, damage):
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    path = tmp_path / name
    if damage == "cut":
        path.write_bytes((tmp_path / "replicates.parquet").read_bytes()[:-20])
    else:
        table = pq.read_table(tmp_path / "replicates.parquet").drop_columns("n")
        pq.write_table(table.replace_schema_metadata({"dpcore.study": "{}"}), path)
    for read in (studies.load, lambda out: studies.run(STUDY, replicates=1, out=out)):
        with pytest.raises(FileError, match=path.name):
            read(tmp_path)


@pytest.mark.parametrize("name", ["replicates.parquet", "summary.parquet", "parts/a.parquet"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_tables_of_others_stay(tmp_path, name, is_folder):
    (tmp_path / "parts").mkdir()
    if is_folder:
        (tmp_path / name).mkdir()
    else:
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / name)
    before = content(tmp_path)
    with pytest.raises(FileError, match=f"{name.rpartition('/')[2]}'"):
        studies.run(UNCALLED, replicates=1, out=tmp_path)
    (tmp_path / ".lock").unlink(missing_ok=True)
    assert content(tmp_path) == before


def test_what_cannot_be_written_to_is_named_before_anything_is_done(tmp_path):
    (tmp_path / "parts").write_text("x")
    for out in (tmp_path, tmp_path / "parts", tmp_path / "parts" / "in"):
        with pytest.raises(FileError, match="parts"):
            studies.run(UNCALLED, replicates=1, out=out)


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    def goes_away(n, rng):
        os.chdir(tmp_path.parent)
        return {"x": n + rng.random()}

    monkeypatch.chdir(tmp_path)
    studies.run(studies.Study(goes_away, {"n": [1, 2]}), replicates=3, seed=1, out="own")
    assert len(studies.load(tmp_path / "own")) == 6


def test_an_empty_folder_holds_no_study(tmp_path):
    with pytest.raises(FileError, match="no study"):
        studies.load(tmp_path)
    with pytest.raises(errors.DtypeError, match="out"):
        studies.load(None)


# --- what is written, and what is let be


def test_nothing_is_written_where_nothing_is_missing(tmp_path, monkeypatch):
    """So a folder that cannot be written to is read."""
    (tmp_path / "notes.txt").write_text("of others")
    results = studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    def locked(self):
        raise FileError(str(self.path), "cannot be written to")

    monkeypatch.setattr(Folder, "locked", locked)
    assert same(studies.run(STUDY, replicates=2, out=tmp_path), results)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times
    assert tmp_path / "notes.txt" in times
    with pytest.raises(FileError):
        studies.run(STUDY, replicates=3, out=tmp_path)


def test_a_full_disk_is_an_error_that_keeps_what_was_there(monkeypatch, tmp_path):
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    before = content(tmp_path)

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        studies.run(STUDY, replicates=4, out=tmp_path)
    monkeypatch.undo()
    assert content(tmp_path) == before


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


# --- what made the rows


def made_by(**changes):
    """A study whose code is as it was, but for the changes."""
    function = {"first": lambda m, rng: {"x": m()}, "other": lambda m, rng: {"x": m() + 1}}
    code = function[changes.pop("code", "first")]
    return named("made", code, {"m": {"a": lambda: 1, "b": lambda: 2, **changes}})


def test_rows_say_who_made_them(tmp_path):
    studies.run(made_by(), replicates=2, seed=1, out=tmp_path)
    with pytest.warns(studies.StudyWarning, match=r"code \w+ -> \w+"):
        results = studies.run(made_by(code="other"), replicates=3, out=tmp_path)
    assert results.table.column("made_by").to_pylist() == [0, 0, 1, 0, 0, 1]
    one, other = results.makers
    assert {name for name in one if one[name] != other[name]} == {"code"}
    assert {"dpcore", "numpy", "scipy", "numba", "python", "machine"} < one.keys()
    assert "made by 2 states" in repr(results)
    with pytest.warns(studies.StudyWarning, match="code"):  # also where nothing is to be done
        studies.run(made_by(code="other"), replicates=3, out=tmp_path)


@pytest.mark.usefixtures("each_call_a_part")
@pytest.mark.parametrize("step", [-(10**9), 0, 10**9])
def test_rows_that_were_read_stay_whatever_the_clock_says(monkeypatch, tmp_path, step):
    """Two runs at once make the same rows, one of them with other code."""
    clock = itertools.count(2 * 10**18, step) if step else itertools.repeat(0)
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    monkeypatch.setattr("time.time", lambda: next(clock) / 1e9)
    others = named("draw", lambda n, rng: {"x": 2.0, "at": np.zeros(n)}, {"n": [1, 2]})
    other_run = Store(tmp_path, others, 3, 2)  # it has not yet seen what comes now
    interrupted(tmp_path, "tidy", 0)
    first = studies.load(tmp_path)
    chunks = [Chunk(cell.key, 0, 2) for cell in others.cells]
    rows = [[{"x": 2.0, "at": np.zeros(size)}] * 2 for size in (1, 2)]
    other_run.add([Done(*made, 0.1) for made in zip(chunks, rows, strict=True)])
    again = studies.load(tmp_path)
    assert len(list((tmp_path / "parts").iterdir())) >= 2
    assert np.array_equal(again.array("x"), first.array("x"))
    with pytest.warns(studies.StudyWarning, match="code"):
        after = studies.run(STUDY, replicates=4, out=tmp_path)
    assert np.array_equal(after.array("x"), first.array("x"))


def part(code, start, stop, value):
    header = Header("f", 1, None, [{"code": code}], {"k": {"n": 1}})
    done = Done(Chunk("k", start, stop), [{"x": value}] * (stop - start), 0.0)
    return part_of([done], header, 1)


def test_of_two_rows_alike_the_one_in_front_stays():
    """And so does what made it: code that made no row is not among those that did."""
    table = tidy([part("a", 0, 3, 1.0), part("b", 2, 5, 2.0), part("c", 1, 4, 3.0)])
    assert table.column("replicate").to_pylist() == [0, 1, 2, 3, 4]
    assert table.column("x").to_pylist() == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert table.column("made_by").to_pylist() == [0, 0, 0, 1, 1]
    assert [maker["code"] for maker in header_of(table).makers] == ["a", "b"]


def test_parts_are_read_in_the_order_in_which_they_were_written(tmp_path):
    for at, code in enumerate("bacd"):
        Folder(tmp_path).add(part(code, at, at + 1, 1.0))
    assert [header_of(table).makers[0]["code"] for table in Folder(tmp_path).read()] == [*"bacd"]


def test_added_values_are_no_other_code(tmp_path):
    studies.run(made_by(), replicates=2, seed=1, out=tmp_path / "later")
    more = made_by(c=lambda: 3)
    results = studies.run(more, replicates=2, out=tmp_path / "later")
    assert len(results.makers) == 1
    studies.run(more, replicates=2, seed=1, out=tmp_path / "once")
    assert content(tmp_path / "later") == content(tmp_path / "once")
    with pytest.warns(studies.StudyWarning, match=r"m='b' \w+ -> \w+"):
        studies.run(made_by(b=lambda: 7), replicates=3, out=tmp_path / "later")


def test_code_that_made_no_rows_is_forgotten(monkeypatch, tmp_path):
    """As of a run that was stopped before its first call came back."""
    studies.run(made_by(), replicates=2, seed=1, out=tmp_path / "a")
    with monkeypatch.context() as patch, parts_stay():
        patch.setattr(runner, "make", lambda *_: Made([], [], None))
        with pytest.warns(studies.StudyWarning):
            studies.run(made_by(code="other"), replicates=3, out=tmp_path / "a")
    assert len(list((tmp_path / "a").glob(".begun-*"))) == 1
    assert len(studies.run(made_by(), replicates=3, out=tmp_path / "a").makers) == 1
    studies.run(made_by(), replicates=3, seed=1, out=tmp_path / "once")
    assert content(tmp_path / "a") == content(tmp_path / "once")


def test_versions_are_told(monkeypatch, tmp_path):
    """A bare checkout has none of dpcore."""
    studies.run(STUDY, replicates=1, seed=1, out=tmp_path)
    monkeypatch.setattr("dpcore.studies.header.version", lambda name: "9.9")
    with pytest.warns(studies.StudyWarning, match=r"numpy \S+ -> 9.9"):
        results = studies.run(STUDY, replicates=2, out=tmp_path)
    assert [maker["numpy"] for maker in results.makers] == [np.__version__, "9.9"]

    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("dpcore.studies.header.version", version)
    assert studies.run(STUDY, replicates=1, seed=1).makers[0]["dpcore"] == "not installed"
