"""Nothing that may be a record is ever said: files full of canaries, and all kinds of mistakes."""

from __future__ import annotations

import io
import itertools
import time
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import dpcore as dp
from dpcore.command_line import main as cli
from dpcore.records import csv
from dpcore.records.files import Column, column_batches, record_batches

CANARY = "nightjar"
FIRST_LINES = [
    f"{CANARY},{CANARY}-diagnosis,#N/A",
    f"{CANARY},2001-02-03,?",
    f"{CANARY},{CANARY},{CANARY}",
    f'"{CANARY}, {CANARY}",yes,no',
    f"{CANARY},,",
    f'"{CANARY},1,2',
    f"{CANARY}\0,1,2",
]
LINES = [
    f"{CANARY},{CANARY},{CANARY}",
    f"1,{CANARY}",
    f"1,2,3,{CANARY}",
    f'1,"{CANARY},3',
    f"1,{CANARY}2001-02-03,1e{CANARY}",
    f"{CANARY},1.5,2",
]
HEADERS = ["", "\ufeff", "x,y,z\n", "x,x,y\n", '"x\ny,z"\n']
CONTENTS = [
    (header + "\n".join([first, "1,2,3", line, "4,5,6"]) + "\n").encode(encoding)
    for header, first, line in itertools.product(HEADERS, FIRST_LINES, LINES)
    for encoding in ("utf-8", "utf-16")
]
BOUNDS = ["--lower", "0", "--upper", "1", "--size", "8"]
SCORED = ["--epsilon", "1"]
COMMANDS = {
    "cdf": (["--column"], [*BOUNDS, *SCORED]),
    "roc": (["--label", "--score"], [*BOUNDS, *SCORED]),
    "calibration": (["--label", "--score"], SCORED),
    "hosmer-lemeshow": (["--label", "--score"], SCORED),
    "residuals": (["--predicted", "--residual"], SCORED),
    "incidence": (["--duration", "--event"], [*BOUNDS, *SCORED, "--kinds", "1,2"]),
    "survival": (["--duration", "--event"], [*BOUNDS, *SCORED]),
}
COLUMNS = [("x", "y"), ("y", "x"), ("missing", "z"), ("1", "2"), ("", "yes"), ("2001-02-03", "?")]
OTHERS = [
    [],
    ["--positive", "1"],
    ["--by", "z", "--groups", "3,?"],
    ["--by", "z", "--groups", "3"],
    ["--nan-policy", "omit"],
    ["--delimiter", ";"],
    ["--delimiter", "xy"],
    ["--json", "none/o.json"],
    ["--plot", "o.xyz"],
    ["--size", "many"],
    ["--size", "0"],
    ["--epsilon", "0"],
    ["--cells", "0"],
    ["--predicted-range", "0", "1"],
    ["--unknown", "1"],
    ["--help"],
]


def check_silent(error: BaseException | None) -> None:
    while error is not None:  # and all that it came from, whether that would be printed or not
        text = "".join(traceback.format_exception(error))
        assert CANARY not in f"{text} {error!r} {error.__dict__}"
        assert not isinstance(error, pa.ArrowException)
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("calls", [1, pytest.param(8, marks=pytest.mark.full)])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_says_what_may_be_a_record(command, calls, folder, capsys):
    flags, required = COMMANDS[command]
    rng = np.random.default_rng(calls)
    failed = 0
    own = list(COMMANDS).index(command) % 3  # all contents are some command's
    contents = CONTENTS if calls > 1 else CONTENTS[own::3]
    for content in contents:
        (folder / "t.csv").write_bytes(content)
        for at in rng.permutation(len(COLUMNS) * len(OTHERS))[:calls]:
            names, others = COLUMNS[at % len(COLUMNS)], OTHERS[at // len(COLUMNS)]
            columns = [word for pair in zip(flags, names, strict=False) for word in pair]
            code = cli.main([command, "t.csv", *columns, *required, *others])
            failed += code == 2
            captured = capsys.readouterr()
            assert CANARY not in captured.out + captured.err
    assert failed > calls * len(contents) / 2


@pytest.mark.parametrize("names", COLUMNS)
def test_no_error_holds_what_may_be_a_record(names):
    columns = [Column(name) for name in names], [Column(names[0], "labels"), Column(names[1])]
    for content, asked in itertools.product(CONTENTS, columns):
        try:
            list(record_batches(io.BytesIO(content), asked, format="csv"))
        except dp.DpcoreError as error:
            check_silent(error)


@pytest.mark.parametrize("first", FIRST_LINES[:5])
def test_names_of_csv_columns_are_not_listed(first):
    with pytest.raises(dp.ParameterError) as caught:
        list(column_batches(io.BytesIO(f"{first}\n1,2,3\n".encode()), "income", format="csv"))
    assert "(cells: 3;" in str(caught.value)
    assert str(caught.value).endswith("got 'income'")
    check_silent(caught.value)


def test_what_arrow_says_is_not_kept():
    content = f"x\n1\n{CANARY}\n".encode()
    with pytest.raises(dp.DtypeError) as caught:
        list(column_batches(io.BytesIO(content), "x", format="csv"))
    assert caught.value.__context__ is None
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert csv.__file__ not in {frame.filename for frame in frames}  # variables hold the text


def test_memory_that_runs_out_is_no_damaged_file(monkeypatch):
    def fail(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 1 failed")

    monkeypatch.setattr(pc, "read_csv", fail)
    with pytest.raises(MemoryError):
        list(column_batches(io.BytesIO(b"x\n1\n"), "x", format="csv"))


def test_arrow_parses_memory_of_its_own(monkeypatch):
    """Its threads, which may outlive the call, then hold nothing of Python's."""
    monkeypatch.setattr(csv, "MOST_ROW", 2**10)
    text = b"x\n" + b"0.5\n" * 4000
    honest, sizes = pc.read_csv, []

    def read(source, **options):
        copies = pa.total_allocated_bytes()
        size = len(source.read_buffer())
        assert copies >= size  # Arrow does not count the memory of ``bytes``
        sizes.append(size)
        source.seek(0)
        return honest(source, **options)

    monkeypatch.setattr(pc, "read_csv", read)
    before = pa.total_allocated_bytes()
    batches = column_batches(io.BytesIO(text), "x", format="csv")
    assert sum(len(batch) for batch in batches) == 4000
    assert len(sizes) > 2
    assert sum(sizes) == len(text)
    for _ in range(1000):  # its threads give their memory back when they come to it
        if pa.total_allocated_bytes() == before:
            break
        time.sleep(0.01)
    assert pa.total_allocated_bytes() == before
