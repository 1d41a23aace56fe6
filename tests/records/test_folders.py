"""Folders of Parquet files: all records once, in bounded memory, and errors that name no file."""

from __future__ import annotations

import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.records.files import Column, FileError, column_batches, record_batches
from dpcore.records.folders import in_turn
from tests.records.small_files import GRID, VALUES, counts_of, expected, small_blocks, write_parquet

SECRET = "66321.75"


def folder_of(path, *arrays, name="part-{}.parquet"):
    path.mkdir(exist_ok=True)
    for at, array in enumerate(arrays):
        write_parquet(path / name.format(at), array)
    return path


def test_a_folder_is_counted_as_its_records_in_memory(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    whole = np.array_split(VALUES, [7, 7, 20_000, 45_000])
    calls = []
    folder = folder_of(tmp_path / "ages.parquet", *whole)
    found = counts_of(folder, on_progress=lambda *call: calls.append(call))
    np.testing.assert_array_equal(found, expected(VALUES))
    assert calls[-1] == (VALUES.size, VALUES.size, "rows")
    assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)
    assert {total for _, total, _ in calls} == {VALUES.size}
    np.testing.assert_array_equal(counts_of(str(folder)), found)


def test_partitions_of_hive_are_read_through_all_levels(tmp_path):
    year = np.arange(VALUES.size) % 3 + 2020
    table = pa.table({"x": VALUES, "year": year, "sex": year % 2})
    ds.write_dataset(
        table, tmp_path, format="parquet", partitioning=["year", "sex"], partitioning_flavor="hive"
    )
    assert (tmp_path / "year=2020" / "sex=0" / "part-0.parquet").exists()
    np.testing.assert_array_equal(counts_of(tmp_path), expected(VALUES))
    with pytest.raises(dp.ParameterError, match="column must not be a key of partitions"):
        counts_of(tmp_path, "year")


def test_hidden_files_are_left_out_as_by_arrow(tmp_path):
    folder = folder_of(tmp_path / "t", VALUES)
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"crc")
    folder_of(folder / "_delta_log", VALUES)
    folder_of(folder / ".spark", VALUES)
    np.testing.assert_array_equal(counts_of(folder), expected(VALUES))
    assert ds.dataset(folder).count_rows() == VALUES.size


def test_the_order_is_the_same_every_time_and_rows_stay_together(tmp_path, monkeypatch):
    small_blocks(monkeypatch, 2**12)
    folder = tmp_path / "t"
    folder.mkdir()
    for at in range(5):
        x = np.arange(at * 10_000, at * 10_000 + 1_000 * (at + 1))
        pq.write_table(pa.table({"x": x, "y": x % 2 == 0}), folder / f"{at}.pq", row_group_size=700)
    columns = [Column("y", "labels", "label"), Column("x")]
    found = [pa.Table.from_batches(record_batches(folder, columns)) for _ in range(3)]
    assert found[0] == found[1] == found[2]
    labels, values = (column.to_numpy() for column in found[0].columns)
    np.testing.assert_array_equal(labels, values % 2 == 0)
    assert len(np.unique(values)) == len(values) == 15_000


@pytest.mark.parametrize(
    ("columns", "kind", "words"),
    [
        ([{"x": [1.0]}, {"x": [1]}], dp.DtypeError, "type double, and int64 in file 2 of 2"),
        ([{"x": [1]}, {"x": [1]}, {"x": ["a"]}], dp.DtypeError, "type string"),
        ([{"x": [1]}, {"x": [1]}, {"z": [1]}], dp.ParameterError, r"file 3 of 3.*'z'; got 'x'"),
    ],
)
def test_files_that_differ_are_refused_before_anything_is_read(tmp_path, columns, kind, words):
    for at, arrays in enumerate(columns):
        pq.write_table(pa.table(arrays), tmp_path / f"{at}.parquet")
    with pytest.raises(kind, match=f"^column .*{words}"):
        next(column_batches(tmp_path, "x"))


def test_other_columns_may_differ(tmp_path):
    folder = folder_of(tmp_path / "t", VALUES)
    pq.write_table(pa.table({"x": VALUES, "id": ["a"] * VALUES.size}), folder / "b.parquet")
    (folder / "b.parquet").rename(folder / "b.PQ")
    np.testing.assert_array_equal(counts_of(folder), 2 * expected(VALUES))


def test_errors_name_neither_files_nor_partitions(tmp_path):
    folder = tmp_path / "t"
    (folder / f"age={SECRET}").mkdir(parents=True)
    write_parquet(folder / "a.parquet", VALUES)
    damaged = write_parquet(folder / f"age={SECRET}" / f"{SECRET}.parquet", VALUES)
    damaged.write_bytes(damaged.read_bytes()[:-3000])
    with pytest.raises(FileError, match=r"file 2 of 2.*damaged$") as caught:
        counts_of(folder)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    damaged.rename(damaged.with_suffix(".csv"))
    with pytest.raises(FileError, match=r"other files than Parquet \(1 not") as caught:
        counts_of(folder)
    assert SECRET not in str(caught.value)


def test_pages_that_are_damaged_are_found_on_the_threads(tmp_path):
    folder = folder_of(tmp_path / "t", VALUES, VALUES, VALUES)
    middle = folder / "part-1.parquet"
    content = bytearray(middle.read_bytes())
    content[-200_000:-150_000] = bytes(50_000)
    middle.write_bytes(content)
    with pytest.raises(FileError, match=r"file 2 of 3.*damaged$"):
        counts_of(folder)


def test_a_file_that_changes_after_its_end_was_read(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    folder = folder_of(tmp_path / "t", VALUES, VALUES, VALUES)
    batches = column_batches(folder, "x")
    next(batches)
    write_parquet(folder / "part-2.parquet", VALUES[:10])
    with pytest.raises(FileError, match=r"t \(file 3 of 3\)' changed while it was read$"):
        list(batches)


def test_folders_that_are_no_data_sets(tmp_path):
    with pytest.raises(FileError, match=r"t' cannot be read: No such file or directory$"):
        counts_of(tmp_path / "t")
    with pytest.raises(FileError, match=r"t' holds no Parquet files$"):
        counts_of(folder_of(tmp_path / "t"))
    folder = folder_of(tmp_path / "u", VALUES)
    with pytest.raises(dp.ParameterError, match="format"):
        column_batches(folder, "x", format="csv")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_to_files_are_followed_and_links_to_folders_refused(tmp_path):
    (tmp_path / "t").mkdir()
    folder = folder_of(tmp_path / "u", VALUES)
    os.symlink(tmp_path / "t", folder / "linked", target_is_directory=True)
    with pytest.raises(FileError, match=r"holds a link to a folder, which would not be followed$"):
        counts_of(folder)
    (folder / "linked").unlink()
    os.symlink(folder / "part-0.parquet", folder / "part-1.parquet")
    np.testing.assert_array_equal(counts_of(folder), 2 * expected(VALUES))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
def test_a_pipe_among_the_files_is_not_waited_for(tmp_path):
    folder = folder_of(tmp_path / "t", VALUES)
    os.mkfifo(folder / "part-1.parquet")
    writer = os.open(folder / "part-1.parquet", os.O_RDWR)  # else this would wait, and not fail
    try:
        with pytest.raises(FileError, match=r"t \(file 2 of 2\)' is not a regular file$"):
            counts_of(folder)
    finally:
        os.close(writer)


def test_a_folder_that_cannot_be_read_is_not_left_out(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "t", VALUES)
    inner = folder_of(folder / "inner", VALUES)
    listed = os.scandir

    def scandir(path):
        if os.fspath(path) == str(inner):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(FileError, match=r"t' cannot be read: Permission denied$"):
        counts_of(folder)


def test_names_without_a_suffix_with_the_format_given(tmp_path):
    folder = folder_of(tmp_path / "t", VALUES, name="part-{}")
    np.testing.assert_array_equal(counts_of(folder, format="parquet"), expected(VALUES))
    with pytest.raises(FileError, match=r"holds other files than Parquet"):
        counts_of(folder)


def test_what_is_missing_in_one_file(tmp_path):
    folder = folder_of(tmp_path / "t", pa.array([1.0, None]), pa.array([np.nan]))
    with pytest.raises(dp.MissingValueError, match=r"^values has missing values"):
        counts_of(folder)
    assert counts_of(folder, nan_policy="omit").sum() == 1


@pytest.mark.full
@pytest.mark.needs_jit
def test_memory_does_not_grow_with_the_number_of_files(tmp_path):
    values = pa.array(np.random.default_rng(1).normal(size=2**17))
    folder = folder_of(tmp_path / "t", *[values] * 32)
    before = pa.total_allocated_bytes()
    peak = 0
    for batch in column_batches(folder, "x"):
        peak = max(peak, pa.total_allocated_bytes() - before)
        GRID.count(batch)
    assert peak < 12 * values.nbytes


def test_batches_are_worth_a_task_and_fit_a_cache(tmp_path):
    folder = folder_of(tmp_path / "t", *[np.ones(2**18 + 5)] * 2)
    sizes = [len(batch) for batch in column_batches(folder, "x")]
    assert sizes == [2**17] * 4 + [5] * 2


def test_two_readers_work_at_the_same_time_and_no_more():
    meeting, at_work, most = threading.Barrier(2, timeout=60), [], []

    def reader(name):
        for at in range(3):
            at_work.append(name)
            most.append(len(at_work))
            meeting.wait()  # nobody gets on alone
            at_work.remove(name)
            yield name, at

    found = list(in_turn(reader(name) for name in "abcd"))
    assert found[:4] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(found) == 12
    assert max(most) == 2


def test_reading_that_is_given_up_leaves_no_thread(tmp_path, monkeypatch):
    small_blocks(monkeypatch)
    folder = folder_of(tmp_path / "t", VALUES, VALUES, VALUES)
    batches = column_batches(folder, "x")
    next(batches)
    assert any(thread.name.startswith("dpcore-read") for thread in threading.enumerate())
    batches.close()
    assert not any(thread.name.startswith("dpcore-read") for thread in threading.enumerate())
