"""Another version takes the place of dpcore while a process uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import pathlib
import sys
import dpcore as dp

assert pathlib.Path(dp.__file__).parents[1] == pathlib.Path(sys.argv[1])
before = dp.Grid.uniform(0, 1, 4)
if sys.argv[2] == "replaced":
    for path in pathlib.Path(dp.__file__).parent.rglob("*.py"):
        path.write_bytes(path.read_bytes() + b"# of the next version\\n")
print(dp.Grid is type(before), dp.Privacy(1.0).epsilon)
"""


@pytest.fixture
def installed(tmp_path):
    """A folder with a copy of the package."""
    leave = shutil.ignore_patterns("kernels", "__pycache__")
    shutil.copytree(ROOT / "dpcore", tmp_path / "dpcore", ignore=leave)
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "dpcore" / "kernels", ignore=leave)
    return tmp_path


def run(installed, what):
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", SCRIPT, str(installed), what]
    return subprocess.run(
        command, env=environment, cwd=installed, capture_output=True, text=True, check=False
    )


def test_a_process_does_not_mix_two_versions(installed):
    done = run(installed, "replaced")
    assert "ImportError: dpcore was replaced on disk" in done.stderr
    assert not done.stdout


def test_without_an_upgrade_names_are_imported_later(installed):
    done = run(installed, "kept")
    assert done.stdout == "True 1.0\n", done.stderr
