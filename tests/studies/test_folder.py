"""Folders of studies: interrupted, shared, damaged, read-only, and what made their rows."""

from __future__ import annotations

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
from dpcore.studies import folder, keeping, plan, runner
from dpcore.studies.calls import Chunk, Done, Made
from dpcore.studies.folder import Folder
from dpcore.studies.store import Store
from tests.studies.alike import content, same


def draw(n, rng):
    return {"x": rng.random(), "at": rng.random(n)}


STUDY = studies.Study(draw, {"n": [1, 2, 3]})


@pytest.fixture
def once(tmp_path):
    """The folder of a run that nothing interrupted."""
    studies.run(STUDY, replicates=8, seed=3, out=tmp_path / "once")
    return tmp_path / "once"


class StopError(Exception):
    """As if the process ended."""


@pytest.fixture
def each_call_a_part(monkeypatch):
    monkeypatch.setattr(keeping, "_KEPT", -1.0)
    monkeypatch.setattr(plan, "_SECONDS", 0.0)


def interrupted(monkeypatch, out, name, times):
    """Run until a method of folders has been called ``times``; what follows is not done."""
    method, left = getattr(Folder, name), [times]

    def stop(self, *arguments):
        left[0] -= 1
        if left[0] < 0:
            raise StopError
        return method(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, name, stop)
        with pytest.raises(StopError):
            studies.run(STUDY, replicates=8, seed=3, out=out)


@pytest.mark.usefixtures("each_call_a_part")
@pytest.mark.parametrize(("name", "times"), [("add", 1), ("add", 5), ("tidy", 0)])
def test_a_run_goes_on_where_it_stopped(monkeypatch, tmp_path, once, name, times):
    interrupted(monkeypatch, tmp_path / "a", name, times)
    before = studies.load(tmp_path / "a")
    calls = []
    counting = studies.Study(lambda n, rng: calls.append(n) or draw(n, rng), {"n": [1, 2, 3]})
    counting.function.__name__ = "draw"
    with pytest.warns(studies.StudyWarning, match="code"):
        after = studies.run(counting, replicates=8, out=tmp_path / "a")
    assert len(calls) == 24 - len(before)
    assert np.array_equal(after.array("x"), studies.load(once).array("x"))


@pytest.mark.sample(3)
@pytest.mark.usefixtures("each_call_a_part")
@pytest.mark.parametrize(("name", "times"), [("add", 0), ("add", 1), ("add", 5), ("tidy", 0)])
def test_an_interrupted_folder_ends_as_any_other(monkeypatch, tmp_path, once, name, times):
    interrupted(monkeypatch, tmp_path / "a", name, times)
    assert list((tmp_path / "a").glob(".begun-*"))
    studies.run(STUDY, replicates=8, out=tmp_path / "a")
    assert content(tmp_path / "a") == content(once)


def test_parts_are_removed_when_the_table_is_written(monkeypatch, tmp_path, once):
    def fails_at_the_table(contents, mark):
        if any(path.name == "replicates.parquet" for path in contents):
            raise StopError
        write_together(contents, mark)

    with monkeypatch.context() as patch:
        patch.setattr(folder, "write_together", fails_at_the_table)
        with pytest.raises(StopError):
            studies.run(STUDY, replicates=8, seed=3, out=tmp_path / "a")
    assert same(studies.load(tmp_path / "a"), studies.load(once))
    studies.run(STUDY, replicates=8, out=tmp_path / "a")
    assert content(tmp_path / "a") == content(once)


@pytest.mark.usefixtures("each_call_a_part")
def test_parts_that_are_in_the_table_already_count_once(monkeypatch, tmp_path, once):
    """As after an interruption between writing the table and removing the parts."""
    interrupted(monkeypatch, tmp_path / "a", "tidy", 0)
    parts = {path: path.read_bytes() for path in (tmp_path / "a" / "parts").glob("*.parquet")}
    studies.run(STUDY, replicates=8, out=tmp_path / "a")
    for path, data in parts.items():
        path.write_bytes(data)
    assert same(studies.load(tmp_path / "a"), studies.load(once))
    studies.run(STUDY, replicates=10, out=tmp_path / "a")
    studies.run(STUDY, replicates=10, out=once)
    assert content(tmp_path / "a") == content(once)


@pytest.mark.usefixtures("each_call_a_part")
def test_keyboard_interrupts_keep_what_was_done(tmp_path, once):
    calls = []

    def draw_slowly(n, rng):
        calls.append(n)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return draw(n, rng)

    draw_slowly.__name__ = "draw"
    study = studies.Study(draw_slowly, {"n": [1, 2, 3]})
    with pytest.raises(KeyboardInterrupt):
        studies.run(study, replicates=8, seed=3, out=tmp_path / "a")
    assert len(studies.load(tmp_path / "a")) == 14
    with pytest.warns(studies.StudyWarning):
        after = studies.run(STUDY, replicates=8, out=tmp_path / "a")
    assert np.array_equal(after.array("at", n=3), studies.load(once).array("at", n=3))


def test_two_runs_of_one_folder_lose_nothing(tmp_path):
    """Both begin before the other ends, with other cells and other numbers of replicates."""
    meet = threading.Barrier(2)

    def draw_together(n, rng):
        if rng.bit_generator.seed_seq.spawn_key[-1] == 0:
            meet.wait(timeout=60)
        return draw(n, rng)

    draw_together.__name__ = "draw"
    few, many = (studies.Study(draw_together, {"n": n}) for n in (1, 2))
    results = {}

    def go(study, replicates):
        results[replicates] = studies.run(study, replicates=replicates, out=tmp_path)

    threads = [threading.Thread(target=go, args=each) for each in ((few, 5), (many, 60))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    whole = studies.load(tmp_path)
    assert len(whole) == 65
    assert {found.seed for found in results.values()} == {whole.seed}
    both = studies.Study(draw, {"n": [1, 2]})
    expected = studies.run(both, replicates=60, seed=whole.seed)
    assert np.array_equal(results[5].array("x"), expected.array("x")[0, :5])
    assert np.array_equal(results[60].array("x"), expected.array("x")[1])
    assert content(tmp_path).keys() == {".lock", "replicates.parquet", "summary.parquet"}


@pytest.mark.usefixtures("each_call_a_part")
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


def test_a_reader_misses_nothing_that_moves(monkeypatch, tmp_path):
    """Parts are read first, and the table last: here they move into it in between."""
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "tidy", lambda *_: None)
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


def test_a_study_that_has_just_begun_has_its_parameters(tmp_path):
    seen = []
    cells = [{"n": [1, 0.5]}, {"m": ["a"], "n": [2]}]

    def watching(n, rng, m=""):
        seen.append(studies.load(tmp_path))
        return {"x": n}

    whole = studies.run(studies.Study(watching, cells), replicates=1, seed=1, out=tmp_path)
    begun = seen[0]
    assert (len(begun), begun.quantities) == (0, [])
    assert begun.parameters == whole.parameters == {"n": [1, 0.5, 2], "m": ["a"]}
    names = ["n", "m", "replicate", "made_by", "cell"]
    assert begun.table.column_names == names
    assert begun.table.schema.types == whole.table.select(names).schema.types
    assert begun.summary().num_rows == 0
    assert begun.summary().column_names[:3] == ["n", "m", "quantity"]


@pytest.mark.usefixtures("each_call_a_part")
def test_a_folder_can_be_read_while_a_study_runs(tmp_path):
    seen = []

    def watching(n, rng):
        seen.append(len(studies.load(tmp_path)))
        return {"x": n}

    studies.run(studies.Study(watching, {"n": [1]}), replicates=3, seed=1, out=tmp_path)
    assert seen == [0, 1, 2]
    assert len(studies.load(tmp_path)) == 3


@pytest.mark.usefixtures("each_call_a_part")
def test_parts_are_read_by_others_in_mid_run(monkeypatch, tmp_path):
    """With the types that the whole study has: here a part has whole numbers, and another not."""
    study = studies.Study(lambda n, kind, rng: {"x": n}, {"n": [1, 0.5], "kind": ["a", "b"]})
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "tidy", lambda *_: None)
        results = studies.run(study, replicates=3, seed=1, out=tmp_path)
    for frame in (
        pd.read_parquet(tmp_path / "parts"),
        pl.read_parquet(tmp_path / "parts" / "*.parquet").to_pandas(),
    ):
        found = frame.sort_values(["n", "kind", "replicate"])["x"]
        assert found.tolist() == results.array("x")[::-1].ravel().tolist()


def test_another_study_or_seed_is_refused(tmp_path):
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    before = content(tmp_path)
    with pytest.raises(errors.ParameterError, match="seed must be 3, as in '"):
        studies.run(STUDY, replicates=2, seed=4, out=tmp_path)
    with pytest.raises(errors.ParameterError, match="out must not hold another study, draw"):
        studies.run(studies.Study(lambda rng: {"x": 1}, {}), replicates=2, out=tmp_path)
    assert content(tmp_path) == before


@pytest.mark.parametrize("other", ["name", "seed", "batch"])
def test_files_of_several_studies_are_no_study(tmp_path, once, other):
    """As they are after a copy into the wrong folder."""
    name = "other" if other == "name" else "draw"

    def made(n, rng, replicates=1):
        return {"x": rng.random() if other != "batch" else rng.random(replicates)}

    made.__name__ = name
    study = studies.Study(made, {"n": [1, 2, 3]}, 2 if other == "batch" else None)
    studies.run(study, replicates=2, seed=4 if other == "seed" else 3, out=tmp_path / "b")
    shutil.copy(tmp_path / "b" / "replicates.parquet", once / "parts" / "1-0.parquet")
    with pytest.raises(FileError, match="holds files of several studies, seeds or batches"):
        studies.load(once)


def test_a_number_may_not_become_a_parameter(tmp_path):
    def draw_more(n, rng, x=1):
        return {"y": rng.random()}

    draw_more.__name__ = "draw"
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    study = studies.Study(draw_more, {"n": 1, "x": [1]})
    with (
        pytest.warns(studies.StudyWarning),
        pytest.raises(studies.StudyError, match="'x' is a parameter of some cells"),
    ):
        studies.run(study, replicates=1, out=tmp_path)


@pytest.mark.parametrize("name", ["replicates.parquet", "parts/1.parquet"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_damaged_files_are_named(tmp_path, name, damage):
    studies.run(STUDY, replicates=1, seed=3, out=tmp_path)
    path = tmp_path / name
    if damage == "cut":
        path.write_bytes((tmp_path / "replicates.parquet").read_bytes()[:-20])
    else:
        pq.write_table(
            pq.read_table(tmp_path / "replicates.parquet")
            .drop_columns("n")
            .replace_schema_metadata({"dpcore.study": "{}"}),
            path,
        )
    for read in (studies.load, lambda out: studies.run(STUDY, replicates=1, out=out)):
        with pytest.raises(FileError, match=f"{path.name}'? is (damaged|not the table of a study)"):
            read(tmp_path)


def test_an_empty_folder_holds_no_study(tmp_path):
    with pytest.raises(FileError, match="holds no study"):
        studies.load(tmp_path)
    with pytest.raises(errors.DtypeError, match="out must be a folder"):
        studies.load(None)


def test_what_cannot_be_written_to_is_named_before_anything_is_done(tmp_path):
    (tmp_path / "file").write_text("x")
    study = studies.Study(lambda rng: pytest.fail("was called"), {})
    for out in (tmp_path / "file", tmp_path / "file" / "in"):
        with pytest.raises(FileError, match="cannot be"):
            studies.run(study, replicates=1, out=out)


def test_nothing_is_written_where_nothing_is_missing(tmp_path):
    """So a folder that cannot be written to is read."""
    results = studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert same(studies.run(STUDY, replicates=2, out=tmp_path), results)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


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


def made_by(**changes):
    """A study whose code is as it was, but for the changes."""
    function = {"first": lambda m, rng: {"x": m()}, "other": lambda m, rng: {"x": m() + 1}}
    study = studies.Study(
        function[changes.pop("code", "first")],
        {"m": {"a": lambda: 1, "b": lambda: 2, **changes}},
    )
    study.function.__name__ = "made"
    return study


def test_rows_say_who_made_them(tmp_path):
    studies.run(made_by(), replicates=2, seed=1, out=tmp_path)
    with pytest.warns(studies.StudyWarning, match=r"\(code \w+ -> \w+\); the column made_by"):
        results = studies.run(made_by(code="other"), replicates=3, out=tmp_path)
    assert results.table.column("made_by").to_pylist() == [0, 0, 1, 0, 0, 1]
    one, other = results.makers
    assert {name for name in one if one[name] != other[name]} == {"code"}
    assert {"dpcore", "numpy", "scipy", "numba", "python", "machine"} < one.keys()
    assert "made by 2 states of code or versions" in repr(results)
    with pytest.warns(studies.StudyWarning, match="code"):  # also where nothing is to be done
        studies.run(made_by(code="other"), replicates=3, out=tmp_path)


@pytest.mark.parametrize("step", [-(10**9), 0, 10**9])
def test_rows_that_were_read_stay_whatever_the_clock_says(monkeypatch, tmp_path, step):
    """Two runs at once make the same rows, one of them with other code."""
    clock = itertools.count(2 * 10**18, step) if step else itertools.repeat(0)
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    monkeypatch.setattr("time.time", lambda: next(clock) / 1e9)
    others = studies.Study(lambda n, rng: {"x": 2.0, "at": np.zeros(n)}, {"n": [1, 2]})
    others.function.__name__ = "draw"
    other_run = Store(tmp_path, others, 3, 2)  # it has not yet seen what comes now
    interrupted(monkeypatch, tmp_path, "tidy", 0)
    first = studies.load(tmp_path)
    chunks = [Chunk(cell.key, 0, 2) for cell in others.cells]
    rows = [[{"x": 2.0, "at": np.zeros(size)}] * 2 for size in (1, 2)]
    other_run.add([Done(*each, 0.1) for each in zip(chunks, rows, strict=True)])
    again = studies.load(tmp_path)
    assert len(list((tmp_path / "parts").iterdir())) >= 2
    assert np.array_equal(again.array("x"), first.array("x"))
    with pytest.warns(studies.StudyWarning, match="code"):
        after = studies.run(STUDY, replicates=8, out=tmp_path)
    assert np.array_equal(after.array("x"), first.array("x"))


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
    with monkeypatch.context() as patch:
        patch.setattr(runner, "make", lambda *_: Made([], [], None))
        patch.setattr(Folder, "tidy", lambda *_: None)
        with pytest.warns(studies.StudyWarning):
            studies.run(made_by(code="other"), replicates=3, out=tmp_path / "a")
    assert len(list((tmp_path / "a").glob(".begun-*"))) == 1
    assert len(studies.run(made_by(), replicates=3, out=tmp_path / "a").makers) == 1
    studies.run(made_by(), replicates=3, seed=1, out=tmp_path / "once")
    assert content(tmp_path / "a") == content(tmp_path / "once")


def test_other_versions_are_told(monkeypatch, tmp_path):
    studies.run(STUDY, replicates=1, seed=1, out=tmp_path)
    monkeypatch.setattr("dpcore.studies.header.version", lambda name: "9.9")
    with pytest.warns(studies.StudyWarning, match=r"numpy \S+ -> 9.9"):
        results = studies.run(STUDY, replicates=2, out=tmp_path)
    assert [maker["numpy"] for maker in results.makers] == [np.__version__, "9.9"]


def test_a_bare_checkout_has_no_version(monkeypatch):
    def version(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("dpcore.studies.header.version", version)
    assert studies.run(STUDY, replicates=1, seed=1).makers[0]["dpcore"] == "not installed"
