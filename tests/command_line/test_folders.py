"""Folders of Parquet files as FILE: what is printed is what the same records in one file give."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpcore as dp
from tests.command_line.tables import EXACT, FLAGS, VALUES

LABELS = VALUES > 40
SCORED = ["--label", "y", "--score", "s", "--epsilon", "1e6", "--mechanism", "dyadic"]


@pytest.fixture(autouse=True)
def sites(folder):
    columns = {"x": VALUES, "y": LABELS, "s": VALUES / 100, "site": np.arange(VALUES.size) % 3}
    table = pa.table(columns)
    pq.write_table(table, "t.parquet")
    ds.write_dataset(
        table, "sites", format="parquet", partitioning=["site"], partitioning_flavor="hive"
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["cdf", *EXACT, "--column", "x"],
        ["roc", *SCORED, "--lower", "0", "--upper", "1", "--size", "64"],
        ["calibration", *SCORED],
    ],
    ids=lambda argv: argv[0],
)
def test_a_folder_is_reported_as_one_file_is(ran, argv):
    command, *flags = argv
    outcomes = []
    for file in ("sites", "t.parquet"):
        out = ran(command, file, *flags, "--json", "o.json")
        stored = json.loads(Path("o.json").read_text())
        stored.pop("releases")  # each run is a release of its own
        outcomes.append((out, stored))
    assert outcomes[0] == outcomes[1]


def test_integers_of_a_folder_are_told_by_their_type(ran):
    curves = []
    for name in ("sites", "t.parquet"):
        flags = ["--column", "y", "--lower", "0", "--upper", "1", "--size", "3", "--epsilon", "1"]
        ran("cdf", name, *flags, "--json", "o.json")
        curves.append(dp.CDF.from_json(Path("o.json").read_text()))
    assert [curve.integers for curve in curves] == [True, True]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("sites", ["--format", "csv"], ["--format", "'parquet'", "'csv'"]),
        ("sites", ["--column", "site"], ["--column", "partitions", "'sites'"]),
        ("sites", ["--column", "z"], ["--column", "'sites (file 1 of 3)': 'x', 'y'"]),
        ("mixed", [], ["--column 'x'", "string"]),
        ("none", [], ["FILE 'none'"]),
    ],
)
def test_what_is_refused(refused, file, change, words):
    Path("none").mkdir()
    Path("mixed").mkdir()
    pq.write_table(pa.table({"x": VALUES}), "mixed/a.parquet")
    pq.write_table(pa.table({"x": ["a"]}), "mixed/b.parquet")
    error = refused("cdf", file, *FLAGS, "--epsilon", "1", *change, "--json", "o.json")
    assert all(word in error for word in words)
