"""Copies of the package: kernels without symbolic links, and another version in its place."""

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
exec("".join(sys.argv[3:]))
print(dp.Grid is type(before), dp.Privacy(1.0).epsilon)
"""


def copied(source, to, *left_out):
    shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__", *left_out))


def run(folder, *command):
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("left", ["the link's text", "nothing"])
def test_a_checkout_without_the_link_to_the_kernels(tmp_path, left):
    copied(ROOT / "kernels", tmp_path / "kernels")
    copied(ROOT / "dpcore", tmp_path / "dpcore", "kernels")
    if left == "the link's text":
        (tmp_path / "dpcore" / "kernels").write_text("../kernels")
    script = "import dpcore.kernels.smoothing.isotonic as kernel; print(kernel.__file__)"
    done = run(tmp_path, "-P", "-c", script)
    assert done.stdout.split() == [str(tmp_path / "kernels" / "smoothing" / "isotonic.py")], (
        done.stderr
    )


@pytest.fixture
def installed(tmp_path):
    """A folder with a copy of the package."""
    copied(ROOT / "dpcore", tmp_path / "dpcore", "kernels")
    copied(ROOT / "kernels", tmp_path / "dpcore" / "kernels")
    return tmp_path


@pytest.mark.parametrize(
    "more",
    ["", "from dpcore.statistics import gini; sys.exit()", "import dpcore.models; sys.exit()"],
)
def test_a_process_does_not_mix_two_versions(installed, more):
    done = run(installed, "-c", SCRIPT, installed, "replaced", more)
    assert "ImportError: dpcore was replaced on disk" in done.stderr
    assert not done.stdout


def test_without_an_upgrade_names_are_imported_later(installed):
    done = run(installed, "-c", SCRIPT, installed, "kept")
    assert done.stdout == "True 1.0\n", done.stderr
