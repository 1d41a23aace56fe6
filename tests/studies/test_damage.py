"""Damaged files of a study: the same numbers, or an error that names the file."""

from __future__ import annotations

import json
import re
import shutil
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcore import errors, studies
from dpcore.studies.folder import Folder
from tests.studies.alike import content


def numbers(n, kind, rng):
    return {"x": rng.random(), "whole": rng.integers(3), "undefined": np.nan}


def arrays(n, kind, rng):
    return {"at": rng.random(n), "none": rng.random(0), "sometimes": rng.random()}


CELLS = {"n": [1, 3], "kind": ["a", None]}
STUDIES = {"numbers": studies.Study(numbers, CELLS), "arrays": studies.Study(arrays, CELLS)}
FILES = ["begun", "part", "replicates.parquet", "summary.parquet"]


@pytest.fixture(scope="module", params=STUDIES)
def folders(request, tmp_path_factory):
    """A study; a folder with all kinds of files; and the file of each kind, by its kind."""
    out, study = tmp_path_factory.mktemp("whole"), STUDIES[request.param]
    studies.run(study, replicates=20, seed=3, out=out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Folder, "tidy", lambda *_: None)
        studies.run(study, replicates=25, out=out)
    files = {name: out / name for name in FILES}
    (files["begun"],), (files["part"],) = out.glob(".begun-*"), out.glob("parts/*.parquet")
    return study, out, files


def damages(data, tries, rng):
    """Yield copies of a file with one other bit, without their ends, or with other blocks."""
    for place in rng.choice(8 * len(data), tries, replace=False).tolist():
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        yield f"bit {place}", bytes(flipped)
    for size in rng.choice(len(data), tries // 4, replace=False).tolist():
        yield f"the first {size} bytes", data[:size]
    for start in rng.integers(len(data), size=tries // 4).tolist():
        end = min(start + 64, len(data))
        for block in (bytes(end - start), rng.bytes(end - start)):
            if block != data[start:end]:
                yield f"block {start}", data[:start] + block + data[end:]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", FILES)
def test_damage_is_an_error_that_names_the_file(folders, name, tmp_path):
    """Each byte counts: a file is read if all its bytes are as they were written."""
    study, whole, files = folders
    out = shutil.copytree(whole, tmp_path / "out")
    path = out / files[name].relative_to(whole)
    rng = np.random.default_rng(15)
    for what, data in damages(path.read_bytes(), 24, rng):
        path.write_bytes(data)
        if name != "summary.parquet":  # which load does not read
            with pytest.raises(errors.DpcoreError, match=re.escape(path.name)):
                pytest.fail(f"{what} gave {studies.load(out)}")
    before = content(out)
    with pytest.raises(errors.DpcoreError, match=re.escape(path.name)):
        studies.run(study, replicates=30, out=out)
    assert {**content(out), ".lock": ""} == {**before, ".lock": ""}


def test_files_are_what_other_readers_read(folders):
    study, _, files = folders
    for name in ("replicates.parquet", "summary.parquet", "part"):
        table = pq.read_table(files[name], page_checksum_verification=True)
        assert len(table) > 0
    again = studies.Results(pq.read_table(files["replicates.parquet"]))
    assert len(again) == 80
    assert (again.study, again.seed) == (study.name, 3)


def test_a_lack_of_memory_is_no_damage(folders, monkeypatch):
    _, out, _ = folders
    monkeypatch.setattr(pq, "read_table", mock.Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        studies.load(out)


def test_text_like_that_of_a_digest_is_no_digest(tmp_path):
    label = '"dpcore.sha256":"' + "0" * 64
    study = studies.Study(lambda sha256, rng: {label: 1.0}, {"sha256": [label, "b" * 64]})
    results = studies.run(study, replicates=3, seed=1, out=tmp_path)
    assert studies.load(tmp_path).table.equals(results.table, check_metadata=True)


def without_digest(path, change=lambda table: table, **changes):
    """Write a file as earlier versions did."""
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"dpcore.study"])
    header.pop("dpcore.sha256", None)
    header |= changes
    pq.write_table(
        change(table).replace_schema_metadata({"dpcore.study": json.dumps(header)}), path
    )


def test_files_of_earlier_versions_are_read_and_get_a_digest(tmp_path):
    study = STUDIES["arrays"]
    once = studies.run(study, replicates=20, seed=3, out=tmp_path / "once")
    shutil.copytree(tmp_path / "once", tmp_path / "old")
    for name in ("replicates.parquet", "summary.parquet"):
        without_digest(tmp_path / "old" / name)
    assert studies.load(tmp_path / "old").table.equals(once.table, check_metadata=True)
    for name in ("once", "old"):
        studies.run(study, replicates=22, out=tmp_path / name)
    assert content(tmp_path / "old") == content(tmp_path / "once")


def other(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, values(len(table)))


@pytest.mark.parametrize(
    "change",
    [
        other("cell", lambda size: pa.array(["?"] * size)),
        other("cell", lambda size: pa.nulls(size, pa.string())),
        other("cell", lambda size: pa.array(range(size))),
        other("replicate", lambda size: pa.array(range(-1, size - 1))),
        other("replicate", lambda size: pa.array(np.arange(size) / 2)),
        other("replicate", lambda size: pa.nulls(size, pa.int64())),
        other("made_by", lambda size: pa.array([1] * size, pa.int32())),
        other("made_by", lambda size: pa.array([-1] * size, pa.int32())),
        other("x", lambda size: pa.array(["1.0"] * size)),
        other("x", lambda size: pa.array([[["1.0"]]] * size)),
        lambda table: table.drop_columns("cell"),
        lambda table: table.rename_columns([*table.column_names[:-1], "replicate"]),
    ],
)
def test_what_earlier_versions_did_not_write_is_refused(change, tmp_path):
    study = STUDIES["numbers"]
    studies.run(study, replicates=5, seed=3, out=tmp_path)
    without_digest(tmp_path / "replicates.parquet", change)
    for read in (studies.load, lambda out: studies.run(study, replicates=6, out=out)):
        with pytest.raises(errors.DpcoreError, match=r"replicates\.parquet'"):
            read(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        *({"study": 1}, {"seed": "1"}, {"seed": True}, {"seed": -1}, {"batch": 0}, {"batch": "1"}),
        *({"makers": {}}, {"makers": [1]}, {"makers": [{"code": 1}]}),
        *({"cells": []}, {"cells": {"k": 1}}, {"cells": {"k": {"n": []}}}, {"more": 1}),
    ],
)
def test_headers_are_whole_or_refused(changes, tmp_path):
    """Also in a table that is given as it is."""
    study = STUDIES["numbers"]
    table = studies.run(study, replicates=5, seed=3, out=tmp_path).table
    without_digest(tmp_path / "replicates.parquet", **changes)
    with pytest.raises(errors.DpcoreError, match=r"replicates\.parquet'"):
        studies.load(tmp_path)
    header = json.loads(table.schema.metadata[b"dpcore.study"]) | changes
    with pytest.raises(errors.DtypeError, match="table"):
        studies.Results(table.replace_schema_metadata({"dpcore.study": json.dumps(header)}))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["begun", "part", "replicates.parquet"])
def test_damaged_files_of_earlier_versions_are_read_or_named(folders, name, tmp_path):
    """They have no digest, so some damage is not seen."""
    _, whole, files = folders
    out = shutil.copytree(whole, tmp_path / "out")
    path = out / files[name].relative_to(whole)
    without_digest(path)
    rng = np.random.default_rng(16)
    for _, data in damages(path.read_bytes(), 24, rng):
        path.write_bytes(data)
        said = path.name
        try:
            studies.load(out)
        except studies.StudyError:  # of numbers that do not go together
            continue
        except errors.DpcoreError as error:
            said = str(error)
        assert path.name in said
