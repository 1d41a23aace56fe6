"""Columns of files, in batches: the same counts as of the whole, little memory, discreet errors."""

from __future__ import annotations

import datetime
import decimal
import errno
import io
import math
import os
import stat
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore import files
from dpcore.command_line import atomic
from dpcore.kernels.counting.rows import complete_rows
from dpcore.records.files import Column, FileError, column_batches, record_batches

GRID = dp.Grid.uniform(-2, 2, 64)
VALUES = np.random.default_rng(1).normal(size=50_000)
SECRET = "66321.75"


def write_csv(path: Path, values, *, header=b"id,x,note\n", end=b"\n") -> Path:
    rows = (b'%d,%s,"a, b\nc"' % (at, repr(float(v)).encode()) for at, v in enumerate(values))
    path.write_bytes(header + end.join(rows) + end)
    return path


def write_parquet(path: Path, array, **options) -> Path:
    pq.write_table(pa.table({"id": pa.array(range(len(array))), "x": array}), path, **options)
    return path


def counts_of(source, column="x", *, grid=GRID, nan_policy="raise", **options):
    counts = np.zeros(grid.size, np.int64)
    for batch in column_batches(source, column, **options):
        counts += grid.count(batch, nan_policy=nan_policy)
    return counts


def expected(values):
    cells = np.minimum(np.searchsorted(GRID.thresholds, values), GRID.size - 1)
    return np.bincount(cells, minlength=GRID.size)


def small_blocks(monkeypatch, size=2**16):
    monkeypatch.setattr(files, "_BLOCK", size)
    monkeypatch.setattr(files, "_PAGES", size)


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


def test_csv_in_many_batches_has_the_counts_of_the_whole(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    path = write_csv(tmp_path / "t.csv", VALUES)
    assert len(list(column_batches(path, "x"))) > 10
    assert np.array_equal(counts_of(path), expected(VALUES))


def test_parquet_in_many_row_groups_has_the_counts_of_the_whole(tmp_path):
    values = np.tile(VALUES, 4)
    path = write_parquet(tmp_path / "t.PQ", values, row_group_size=7_001)
    assert len(list(column_batches(path, "x"))) > 2
    assert np.array_equal(counts_of(path), expected(values))


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
    assert peak_memory(lambda: column_batches(path, "x")) < 3_000_000


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


def cells(text: bytes) -> list[str] | None:
    """Return the second cells of all rows as Arrow reads them, None if it cannot."""
    try:
        table = pc.read_csv(
            io.BytesIO(text),
            read_options=pc.ReadOptions(column_names=["a", "b"]),
            parse_options=pc.ParseOptions(newlines_in_values=True),
            convert_options=pc.ConvertOptions(
                include_columns=["b"], column_types={"b": pa.string()}
            ),
        )
    except pa.ArrowInvalid:
        return None
    return table.column(0).to_pylist()


CELL = st.sampled_from(["a", "", '"a"', '"\n"', '"\r\n,"', '"a""b"', 'b"c', '"a"b', '""', 'a"\n"'])
ROW = st.builds("{},{}{}".format, CELL, CELL, st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))


@settings(max_examples=300)
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


@pytest.mark.parametrize("cell", [b"", b'""', b"NaN", b"NA", b"null"])
def test_missing_cells(cell):
    content = b"x,y\n1," + b"a\n" + cell + b",b\n"
    with pytest.raises(dp.MissingValueError):
        counts_of(io.BytesIO(content), format="csv")
    assert counts_of(io.BytesIO(content), format="csv", nan_policy="omit").sum() == 1


def test_blank_lines_of_a_single_column_are_missing_values():
    content = b"x\n1\n\n2\n"
    with pytest.raises(dp.MissingValueError):
        counts_of(io.BytesIO(content), format="csv")
    assert counts_of(io.BytesIO(content), format="csv", nan_policy="omit").sum() == 2


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


def test_header_alone_has_no_values():
    for content in (b"x", b"x\n", b"x,y", b"x,y\r\n"):
        assert counts_of(io.BytesIO(content), format="csv").sum() == 0


def test_rows_that_exceed_a_block(monkeypatch):
    small_blocks(monkeypatch)
    content = b"x,y\n1," + b"a" * 200_000 + b"\n2,b\n"
    with pytest.raises(FileError, match="row exceeds"):
        counts_of(io.BytesIO(content), format="csv")


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


@pytest.mark.parametrize("change", ["truncated", "extended"])
def test_csv_that_changes_while_it_is_read(tmp_path, monkeypatch, change):
    small_blocks(monkeypatch)
    path = write_csv(tmp_path / "t.csv", VALUES)
    batches = column_batches(path, "x")
    next(batches)
    size = path.stat().st_size
    os.truncate(path, size // 2) if change == "truncated" else os.truncate(path, size + 1)
    with pytest.raises(FileError, match=r"changed while|well-formed"):
        list(batches)


def test_csv_truncated_between_two_rows_is_noticed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"x\n1\n2\n")
    batches = column_batches(path, "x")
    next(batches)
    os.truncate(path, 4)
    with pytest.raises(FileError, match="changed while it was read"):
        list(batches)


def test_parquet_truncated_while_it_is_read(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 1024)
    path = write_parquet(tmp_path / "t.parquet", VALUES, row_group_size=5_000)
    batches = column_batches(path, "x")
    next(batches)
    os.truncate(path, 100)
    with pytest.raises(FileError, match=r"changed while|damaged"):
        list(batches)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match=r"none.csv' cannot be read: No such file"):
        counts_of(tmp_path / "none.csv")
    with pytest.raises(FileError, match="Is a directory"):
        counts_of(tmp_path, format="parquet")
    with pytest.raises(FileError, match="or have its format given"):
        column_batches(tmp_path / "t.txt", "x")


def test_arguments(monkeypatch):
    stream = io.BytesIO(b"x\n1\n")
    with pytest.raises(dp.ParameterError, match="format must be given for a stream"):
        column_batches(stream, "x")
    with pytest.raises(dp.ParameterError, match="format must be one of 'csv', 'parquet'"):
        column_batches(stream, "x", format="xls")
    with pytest.raises(dp.DtypeError, match="binary stream; got StringIO"):
        column_batches(io.StringIO("x\n1\n"), "x", format="csv")
    for delimiter in ("", ",,", '"', "\n", "é"):
        with pytest.raises(dp.ParameterError, match="delimiter must be one ASCII character"):
            column_batches(stream, "x", format="csv", delimiter=delimiter)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dp.MissingExtraError, match=r"dpcore\[io\]"):
        column_batches(stream, "x", format="csv")


def test_parquet_has_to_seek():
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as pipe, pytest.raises(FileError, match="has to seek"):
        counts_of(pipe, format="parquet")


def test_progress_ends_at_the_total(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    calls = []
    path = write_csv(tmp_path / "t.csv", VALUES)
    counts_of(path, on_progress=lambda *call: calls.append(call))
    size = path.stat().st_size
    assert calls[-1] == (size, size, "B")
    assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)
    calls.clear()
    counts_of(io.BytesIO(path.read_bytes()), format="csv", on_progress=lambda *c: calls.append(c))
    assert calls[-1] == (size, None, "B")
    calls.clear()
    path = write_parquet(tmp_path / "t.parquet", np.tile(VALUES, 2))
    counts_of(path, on_progress=lambda *call: calls.append(call))
    assert calls[-1] == (100_000, 100_000, "rows")
    assert 0 < calls[0][0] < 100_000


def test_errors_of_the_callback_are_its_own():
    def fail(*_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        counts_of(io.BytesIO(b"x\n1\n"), format="csv", on_progress=fail)


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


def test_columns_that_are_refused(tmp_path):
    for labels in (pa.array([datetime.date(2001, 2, 3)]), pa.array([[1]]), pa.nulls(1)):
        pq.write_table(pa.table({"x": [1.0], "y": labels}), tmp_path / "t.parquet")
        with pytest.raises(dp.DtypeError, match=r"^label 'y' must hold text or numbers; got type"):
            pairs(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": ["1"], "y": [1]}), tmp_path / "t.parquet")
    with pytest.raises(dp.DtypeError, match=r"^score 'x' must hold numbers; got type string$"):
        pairs(tmp_path / "t.parquet")
    stream = io.BytesIO(b"x,z\n1,2\n")
    with pytest.raises(dp.ParameterError, match=r"^label must be a name in the first line of"):
        pairs(stream, format="csv")
    with pytest.raises(dp.ParameterError, match=r"^b must differ from a 'x'; got 'x'"):
        record_batches(
            stream, [Column("x", "labels", "a"), Column("x", argument="b")], format="csv"
        )
    stream.seek(0)
    both = [Column("x"), Column("z")]
    with pytest.raises(dp.DtypeError, match=r"^column 'x' or column 'z' must hold numbers"):
        list(record_batches(io.BytesIO(b"x,z\n1,b\n"), both, format="csv"))


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


def test_links_are_followed(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    atomic.write_together({tmp_path / "link": b"new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_what_cannot_be_written_is_known_before(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for target in ("", "none/x", "file/x", "loop", "pipe"):
        with pytest.raises(FileError, match="cannot be written"):
            atomic.check_writable(tmp_path / target)
    atomic.check_writable(tmp_path / "new")
    assert listing(tmp_path) == {"file": b"old"}
