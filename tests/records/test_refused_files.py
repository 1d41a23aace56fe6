"""Files that are damaged, changing, or hold no numbers: errors without a record in them."""

from __future__ import annotations

import datetime
import decimal
import io
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.records.files import FileError, column_batches
from tests.records.small_files import VALUES, counts_of, small_blocks, write_csv, write_parquet

SECRET = "66321.75"


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["1", SECRET]),
        pa.array([decimal.Decimal(SECRET)]),
        pa.array([datetime.date(2001, 2, 3)]),
        pa.array([[1.0]]),
        pa.array(["a"]).dictionary_encode(),
        pa.nulls(3),
    ],
)
def test_parquet_types_that_are_not_numbers(tmp_path, array):
    path = write_parquet(tmp_path / "t.parquet", array)
    with pytest.raises(dp.DtypeError, match="column 'x' must hold numbers; got type") as caught:
        counts_of(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (f"x,y\n1,2\n{SECRET}!,3\n", dp.DtypeError, "column 'x' must hold numbers; got text"),
        (f"x,y\n1,2\n{SECRET},3,4\n", FileError, "not a well-formed CSV"),
        (f"x,y\n1,2\n{SECRET}\n", FileError, "not a well-formed CSV"),
        (f'x,y\n1,2\n"{SECRET},3\n', FileError, "not a well-formed CSV"),
        (f'"x,y\n1,{SECRET}\n', dp.ParameterError, r"cells: 1; not shown"),
        (f"{SECRET},y\n1,2\n", dp.ParameterError, r"cells: 2; not shown"),
        ("x,x\n1,2\n", dp.ParameterError, "must name one column of 'stream', not 2"),
        ("\0x\0,\0", FileError, "in UTF-8"),
        ("", FileError, "is empty"),
        ("\ufeff\n\n", FileError, "is empty"),
    ],
)
def test_errors_of_csv_do_not_show_records(content, error, words):
    with pytest.raises(error, match=words) as caught:
        counts_of(io.BytesIO(content.encode()), format="csv")
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_errors_beyond_the_first_batch(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    path = write_csv(tmp_path / "t.csv", VALUES)
    with path.open("ab") as file:
        file.write(b"1,secret,c\n")
    with pytest.raises(dp.DtypeError, match=r"got text$"):
        counts_of(path)


def test_names_of_a_schema_are_listed(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"age": [1], "city": [2]}), path)
    with pytest.raises(dp.ParameterError, match=r"of the columns of .*t.parquet': 'age', 'city';"):
        counts_of(path)
    pq.write_table(pa.table({f"c{at}": [1] for at in range(1000)}), path)
    with pytest.raises(dp.ParameterError, match=r"'c19', \.\.\. \(1000 in all\)") as caught:
        counts_of(path)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_a_quote_left_open_does_not_fill_memory(monkeypatch):
    small_blocks(monkeypatch)
    stream = io.BytesIO(b'x,y\n1,"' + b"a\n" * 2_000_000)
    with pytest.raises(FileError, match="a quote is left open"):
        counts_of(stream, format="csv")
    assert stream.tell() < 1_000_000


def test_damaged_parquet(tmp_path):
    whole = write_parquet(tmp_path / "t.parquet", VALUES).read_bytes()
    for content in (b"", b"PAR1", b"x" * 100, whole[:1000], whole[-3000:]):
        with pytest.raises(FileError, match="is not a Parquet file, or is damaged"):
            counts_of(io.BytesIO(content), format="parquet")


@pytest.mark.parametrize(
    ("write", "end"),
    [
        (write_csv, -1),
        (write_csv, 1_000_000),
        (write_csv, 5_000_000),
        (write_parquet, 100),
        (lambda path, _: path.write_bytes(b"id,x\n1,1\n2,2\n") and path, 9),  # between two rows
    ],
)
def test_files_that_change_while_they_are_read(tmp_path, monkeypatch, write, end):
    is_csv = write is not write_parquet
    small_blocks(monkeypatch, 2**16 if is_csv else 1024)
    path = write(tmp_path / ("t.csv" if is_csv else "t.parquet"), VALUES)
    batches = column_batches(path, "x")
    next(batches)
    os.truncate(path, end if end > 0 else path.stat().st_size + 1)
    with pytest.raises(FileError, match=r"changed while|well-formed|damaged"):
        list(batches)


def test_parquet_replaced_while_it_is_opened(tmp_path, monkeypatch):
    """Arrow opens the path once more, and must get the same file."""
    path = write_parquet(tmp_path / "t.parquet", VALUES)
    other = write_parquet(tmp_path / "other.parquet", VALUES[:10])

    def opened(name, mode):
        stream = io.FileIO(name, mode)
        other.replace(path)
        return stream

    monkeypatch.setattr("dpcore.records.files.open", opened, raising=False)
    with pytest.raises(FileError, match="changed while it was read"):
        list(column_batches(path, "x"))


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_names_of_files_need_not_be_utf_8(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", VALUES)
    try:
        path = path.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    except OSError:
        pytest.skip("this disk has no such names")
    assert sum(len(batch) for batch in column_batches(path, "x")) == len(VALUES)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match=r"none.csv' cannot be read: No such file"):
        counts_of(tmp_path / "none.csv")
    (tmp_path / "t.txt").touch()
    with pytest.raises(FileError, match="or have its format given"):
        column_batches(tmp_path / "t.txt", "x")


@pytest.mark.parametrize(
    ("source", "options", "kind", "name"),
    [
        (io.BytesIO(), {}, dp.ParameterError, "format"),
        (io.BytesIO(), {"format": "xls"}, dp.ParameterError, "format"),
        (io.StringIO("x"), {"format": "csv"}, dp.DtypeError, "source"),
        *(
            (
                io.BytesIO(),
                {"format": "csv", "delimiter": delimiter},
                dp.ParameterError,
                "delimiter",
            )
            for delimiter in ("", ",,", '"', "\n", "é")
        ),
    ],
)
def test_arguments(source, options, kind, name):
    with pytest.raises(kind) as caught:
        column_batches(source, "x", **options)
    assert caught.value.argument == name


def test_pyarrow_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dp.MissingExtraError, match=r"dpcore\[io\]"):
        column_batches(io.BytesIO(b"x\n1\n"), "x", format="csv")
