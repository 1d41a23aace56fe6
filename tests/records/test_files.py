"""Columns of files, in batches: the same counts as of the whole, in little memory."""

from __future__ import annotations

import io
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.counting.rows import complete_rows
from dpcore.records.files import FileError, column_batches
from tests.records.small_files import (
    VALUES,
    cells,
    counts_of,
    expected,
    small_blocks,
    write_csv,
    write_parquet,
)


def peak_memory(open_column) -> int:
    """Return the most bytes that Arrow and Python held at once."""
    next(open_column())  # what is imported stays
    batches = open_column()
    tracemalloc.start()
    before, peak = pa.total_allocated_bytes(), 0
    for _ in batches:
        peak = max(peak, pa.total_allocated_bytes() - before)
    peak += tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    ("kind", "total", "unit", "least"),
    [("csv", True, "B", 10), ("stream", False, "B", 10), ("PQ", True, "rows", 2)],
)
def test_many_batches_have_the_counts_of_the_whole_and_progress_ends_at_the_total(
    tmp_path, monkeypatch, kind, total, unit, least
):
    small_blocks(monkeypatch)
    values = np.tile(VALUES, 6) if kind == "PQ" else VALUES
    if kind == "PQ":
        source = write_parquet(tmp_path / "t.PQ", values, row_group_size=7_001)
        size, options = values.size, {}
    else:
        source = write_csv(tmp_path / "t.csv", values)
        size, options = source.stat().st_size, {"format": "csv"}
        source = io.BytesIO(source.read_bytes()) if kind == "stream" else source
    calls = []
    counts = counts_of(source, on_progress=lambda *call: calls.append(call), **options)
    assert np.array_equal(counts, expected(values))
    assert calls[-1] == (size, size if total else None, unit)
    assert len(calls) > least
    assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)


@pytest.mark.needs_jit
def test_memory_does_not_grow_with_a_csv_file(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 2**14)
    path = write_csv(tmp_path / "t.csv", np.tile(VALUES, 5))
    assert path.stat().st_size > 8_000_000
    assert peak_memory(lambda: column_batches(path, "x")) < 4_000_000


def test_memory_does_not_grow_with_a_row_group(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    values = np.random.default_rng(2).normal(size=1_500_000)
    path = write_parquet(tmp_path / "t.parquet", values, use_dictionary=False, compression="none")
    assert pq.ParquetFile(path).num_row_groups <= 2
    assert pq.ParquetFile(path).metadata.row_group(0).total_byte_size > 8_000_000
    assert peak_memory(lambda: column_batches(path, "x")) < 4_000_000  # as of the oldest pyarrow


@pytest.mark.parametrize("content", [b"x", b"x\n", b"x,y", b"x,y\r\n"])
def test_header_alone_has_no_values(content):
    assert counts_of(io.BytesIO(content), format="csv").sum() == 0


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfx,y\n1,a\n-1.5,b\n",
        b"x,y\r\n1,a\r\n-1.5,b\r\n",
        b"x,y\n1,a\n-1.5,b",
        b"\n\nx,y\n\n1,a\n-1.5,b\n\n",
        b'y,x\n"a\nb",1\n"c,""d""","-1.5"\n',
        b"y,x\n\xff\xfe,1\n\xe9,-1.5\n",
        b"x\n1\n-1.5\n",
        b"x\n1\n-1.5",
        b'"x"\n+1.0\n -15e-1 \n',
    ],
)
def test_dialects_of_csv(content):
    assert np.array_equal(counts_of(io.BytesIO(content), format="csv"), expected([1, -1.5]))


CELL = st.sampled_from(["a", "", '"a"', '"\n"', '"\r\n,"', '"a""b"', 'b"c', '"a"b', '""', 'a"\n"'])
ROW = st.builds("{},{}{}".format, CELL, CELL, st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))


@settings(max_examples=200)
@given(
    text=st.lists(ROW, max_size=4).map("".join) | st.text('",\n\ra', max_size=14), data=st.data()
)
def test_text_is_cut_where_arrow_ends_rows(text, data):
    whole = text.encode()
    cut = data.draw(st.integers(0, len(whole)))
    end = complete_rows(np.frombuffer(whole[:cut], np.uint8), ord(","))
    if end > 0 and whole[end:]:
        first, second = cells(whole[:end]), cells(whole[end:] + b"\n")
        expected = None if first is None or second is None else first + second
        assert cells(whole + b"\n") == expected


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (b"", 0),
        (b"a,b", 0),
        (b"a\nb", 2),
        (b"a\r", 0),
        (b"a\r\n", 3),
        (b"a\rb", 2),
        (b'"a\nb', 0),
        (b'"a\n"\n', 5),
        (b'a"\n', 3),
        (b'"""\n', 0),
        (b'a,"\n', 0),
        (b'a;"\n', 4),
    ],
)
def test_complete_rows(text, end):
    assert complete_rows(np.frombuffer(text, np.uint8), ord(",")) == end


def test_delimiters_and_awkward_names():
    stream = io.BytesIO('a.b;"x;y";é\n1;2;3\n'.encode())
    for name, value in {"a.b": 1, "x;y": 2, "é": 3}.items():
        stream.seek(0)
        (batch,) = column_batches(stream, name, format="csv", delimiter=";")
        assert batch.to_pylist() == [value]
    assert not stream.closed


@pytest.mark.parametrize(
    "content",
    [
        *(b"x,y\n1,a\n" + cell + b",b\n" for cell in (b"", b'""', b"NaN", b"NA", b"null")),
        b"x\n1\n\n",  # a blank line of a single column
    ],
)
def test_missing_cells(content):
    with pytest.raises(dp.MissingValueError):
        counts_of(io.BytesIO(content), format="csv")
    assert counts_of(io.BytesIO(content), format="csv", nan_policy="omit").sum() == 1


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]
)
def test_parquet_types(tmp_path, dtype):
    values = np.array([0, 1, 1, 0, 1], dtype)
    assert np.array_equal(
        counts_of(write_parquet(tmp_path / "t.parquet", values)), expected(values)
    )
    nulls = write_parquet(tmp_path / "n.parquet", pa.array([*values[:4].tolist(), None]))
    with pytest.raises(dp.MissingValueError):
        counts_of(nulls)
    assert np.array_equal(counts_of(nulls, nan_policy="omit"), expected(values[:4]))


def test_rows_that_exceed_a_block_and_pipes_of_parquet_are_refused(monkeypatch):
    small_blocks(monkeypatch)
    content = b"x,y\n1," + b"a" * 200_000 + b"\n2,b\n"
    with pytest.raises(FileError, match="row exceeds"):
        counts_of(io.BytesIO(content), format="csv")
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as pipe, pytest.raises(FileError, match="seek"):
        counts_of(pipe, format="parquet")


def test_errors_of_the_callback_are_its_own():
    def fail(*_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        counts_of(io.BytesIO(b"x\n1\n"), format="csv", on_progress=fail)


@pytest.mark.parametrize("given", [True, "done", 3])
def test_what_cannot_be_called_is_no_progress(given):
    with pytest.raises(dp.DtypeError, match="on_progress must be a function"):
        counts_of(io.BytesIO(b"x\n1\n"), format="csv", on_progress=given)
