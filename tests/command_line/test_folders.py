"""Folders of Parquet files as FILE: what is printed is what the same records in one file give."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from dpcore.command_line import main as cli
from tests.command_line.tables import EXACT, FLAGS, VALUES

LABELS = VALUES > 40
SCORED = ["--label", "y", "--score", "s", "--epsilon", "1e6", "--mechanism", "dyadic"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = {"x": VALUES, "y": LABELS, "s": VALUES / 100, "site": np.arange(VALUES.size) % 3}
    table = pa.table(columns)
    pq.write_table(table, "t.parquet")
    ds.write_dataset(
        table, "sites", format="parquet", partitioning=["site"], partitioning_flavor="hive"
    )
    return tmp_path


def run(capsys, *argv: str) -> str:
    assert cli.main([*argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *argv: str) -> str:
    assert cli.main([*argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


@pytest.mark.parametrize(
    "argv",
    [
        ["cdf", *EXACT, "--column", "x"],
        ["roc", *SCORED, "--lower", "0", "--upper", "1", "--size", "64"],
        ["calibration", *SCORED],
    ],
    ids=lambda argv: argv[0],
)
def test_a_folder_is_reported_as_one_file_is(capsys, folder, argv):
    command, *flags = argv
    found = run(capsys, command, "sites", *flags, "--json", "folder.json")
    assert found == run(capsys, command, "t.parquet", *flags, "--json", "file.json")
    assert json.loads((folder / "folder.json").read_text()) == json.loads(
        (folder / "file.json").read_text()
    )


def test_integers_of_a_folder_are_told_by_their_type(capsys, folder):
    curves = []
    for name in ("sites", "t.parquet"):
        flags = ["--column", "y", "--lower", "0", "--upper", "1", "--size", "3", "--epsilon", "1"]
        run(capsys, "cdf", name, *flags, "--json", "o.json")
        curves.append(dp.CDF.from_json((folder / "o.json").read_text()))
    assert [curve.integers for curve in curves] == [True, True]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--format", "csv"], "format must be 'parquet' for a folder; got 'csv'"),
        (
            ["--column", "site"],
            "column must not be a key of partitions: names of folders in 'sites'",
        ),
        (["--column", "z"], "column must be one of the columns of 'sites (file 1 of 3)': 'x', 'y'"),
    ],
)
def test_what_is_refused(capsys, folder, change, words):
    assert words in refused(capsys, "cdf", "sites", *FLAGS, "--epsilon", "1", *change)


def test_files_of_several_types_are_refused_and_nothing_is_written(capsys, folder):
    pq.write_table(pa.table({"x": ["a"]}), folder / "sites" / "site=2" / "z.parquet")
    found = refused(capsys, "cdf", "sites", *FLAGS, "--epsilon", "1", "--json", "o.json")
    assert "--column 'x' must hold numbers; got type string" in found
    assert not (folder / "o.json").exists()


def test_an_empty_folder(capsys, folder):
    (folder / "none").mkdir()
    found = refused(capsys, "cdf", "none", *FLAGS, "--epsilon", "1")
    assert "FILE 'none' holds no Parquet files" in found


def test_help_says_that_folders_are_taken(capsys):
    assert "a folder of Parquet files" in " ".join(run(capsys, "cdf", "--help").split())
