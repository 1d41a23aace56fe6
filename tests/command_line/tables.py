"""Tables that commands read, what a folder holds, and commands in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

SECRET = "66321.75"  # in records that no error may quote
VALUES = np.arange(1, 1001) / 10  # p percent of them are at most p
FLAGS = ["--column", "x", "--lower", "0", "--upper", "100", "--size", "1000"]
EXACT = [*FLAGS, "--epsilon", "1e6", "--mechanism", "dyadic"]  # integer noise that is zero
ROOT = Path(__file__).parents[2]


def write_tables(folder: Path) -> None:
    import pyarrow as pa  # not with this file, which a test without it imports
    import pyarrow.parquet as pq

    rows = "".join(f"{at},{value}\n" for at, value in enumerate(VALUES))
    (folder / "t.csv").write_text(f"id,x\n{rows}")
    pq.write_table(pa.table({"x": VALUES}), folder / "t.parquet")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(*argv: str, **options) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [sys.executable, "-m", "dpcore", *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        capture_output=True,
        check=False,
        **options,
    )
    newline = os.linesep.encode()  # lines end as the system has it
    done.stdout, done.stderr = (x.replace(newline, b"\n") for x in (done.stdout, done.stderr))
    return done
