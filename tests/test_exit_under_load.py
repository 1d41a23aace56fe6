"""A refused file ends a process in order, even while all processors are busy."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RUNS = 300


@pytest.mark.full
def test_a_bad_cell_never_aborts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,x\n1,bad\n" + b"1,2.5\n" * 700_000)
    flags = ["--column", "x", "--lower", "0", "--upper", "9", "--size", "9", "--epsilon", "1"]
    command = [sys.executable, "-m", "dpcore", "cdf", str(path), *flags]

    def run(_: int) -> tuple[int, bytes]:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stderr

    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        with ThreadPoolExecutor(2) as pool:
            found = set(pool.map(run, range(RUNS)))
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert found == {(2, b"dpcore: error: --column 'x' must hold numbers; got text\n")}
