"""Several columns of a file, labels among them: rows stay together."""

from __future__ import annotations

import datetime
import io
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.records.files import Column, record_batches
from tests.records.small_files import VALUES, small_blocks

COLUMNS = [Column("y", "labels", "label"), Column("x", argument="score")]


def pairs(source, **options) -> list[tuple]:
    batches = record_batches(source, COLUMNS, **options)
    return [pair for batch in batches for pair in zip(*batch.to_pydict().values(), strict=True)]


def test_several_columns_stay_side_by_side(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    labels = np.random.default_rng(3).choice(["yes", "no", "a, b"], VALUES.size)
    expected = list(zip(labels.tolist(), VALUES.tolist(), strict=True))
    table = pa.table({"id": pa.array(range(VALUES.size)), "x": VALUES, "y": labels})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7_001)
    pc.write_csv(table, tmp_path / "t.csv")
    calls = []
    found = pairs(tmp_path / "t.parquet", on_progress=lambda *call: calls.append(call))
    assert found == expected
    assert calls[-1] == (VALUES.size, VALUES.size, "rows")
    assert [(label.decode(), score) for label, score in pairs(tmp_path / "t.csv")] == expected
    assert len(list(record_batches(tmp_path / "t.csv", COLUMNS))) > 10
    with open(tmp_path / "t.csv", "ab") as file:
        file.write(b'7,"secret","no"\n')
    with pytest.raises(dp.DtypeError, match=r"^score 'x' must hold numbers; got text$"):
        pairs(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (b"yes,1", (b"yes", 1.0)),
        (b'"a ""b""\n",1', (b'a "b"\n', 1.0)),
        (b"\xff\xe9,1", (b"\xff\xe9", 1.0)),
        (b",1", (None, 1.0)),
        (b'"",', (None, None)),
        (b"NA,NaN", (None, None)),
    ],
)
def test_labels_of_csv_are_bytes(cells, expected):
    assert pairs(io.BytesIO(b"y,x\n" + cells + b"\n"), format="csv") == [expected]


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([1, 0, None], pa.int8()),
        pa.array([1.0, math.nan, None]),
        pa.array([True, False, None]),
        pa.array(["a", "b", None]),
        pa.array(["a", "b", None], pa.large_string()),
        pa.array([b"a", b"b", None]),
        pa.array(["a", "b", None]).dictionary_encode(),
    ],
)
def test_labels_of_parquet_are_what_is_stored(tmp_path, labels):
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": labels}), tmp_path / "t.parquet")
    (batch,) = record_batches(tmp_path / "t.parquet", COLUMNS)
    assert batch.column(0).type == labels.type
    assert str(batch.column(0).to_pylist()) == str(labels.to_pylist())


@pytest.mark.parametrize(
    ("x", "y", "name"),
    [
        ([1.0], pa.array([datetime.date(2001, 2, 3)]), "label"),
        ([1.0], pa.array([[1]]), "label"),
        ([1.0], pa.nulls(1), "label"),
        (["1"], [1], "score"),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path, x, y, name):
    pq.write_table(pa.table({"x": x, "y": y}), tmp_path / "t.parquet")
    with pytest.raises(dp.DtypeError, match=f"^{name} .*got type"):
        pairs(tmp_path / "t.parquet")


def test_columns_that_are_refused_in_csv():
    with pytest.raises(dp.ParameterError, match="label"):
        pairs(io.BytesIO(b"x,z\n1,2\n"), format="csv")
    twice = [Column("x", "labels", "a"), Column("x", argument="b")]
    with pytest.raises(dp.ParameterError, match="b must differ from a"):
        record_batches(io.BytesIO(), twice, format="csv")
    both = [Column("x"), Column("z")]
    with pytest.raises(dp.DtypeError, match="'x' or column 'z'"):
        list(record_batches(io.BytesIO(b"x,z\n1,b\n"), both, format="csv"))
