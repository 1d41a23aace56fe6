"""The kernels are found where there are no symbolic links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("left", ["the link's text", "nothing"])
def test_a_checkout_without_the_link_to_the_kernels(tmp_path, left):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "kernels", ignore=ignored)
    shutil.copytree(ROOT / "dpcore", tmp_path / "dpcore", ignore=ignored, symlinks=True)
    link = tmp_path / "dpcore" / "kernels"
    if link.is_symlink() or link.is_file():  # neither, where dpcore came without it
        link.unlink()
    if left == "the link's text":
        link.write_text("../kernels")
    script = "import dpcore.kernels.smoothing.isotonic as found; print(found.__file__)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(tmp_path / "kernels" / "smoothing" / "isotonic.py")], (
        done.stderr
    )
