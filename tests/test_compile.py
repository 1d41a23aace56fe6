"""The kernel cache is keyed to all kernel sources; nobody else's cache is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from dpcore.kernels import _compile, samplers

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no cache"
)


def test_cache_folder_is_named_by_the_sources():
    assert samplers.discrete_laplace.stats.cache_path.startswith(_compile._CACHE)
    assert _compile._CACHE.endswith(_compile._sources_digest())


def test_an_edit_anywhere_starts_a_new_folder(tmp_path, monkeypatch):
    for path in Path(_compile.__file__).parent.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(_compile, "__file__", str(tmp_path / "_compile.py"))
    before = _compile._sources_digest()
    with (tmp_path / "counts.py").open("a") as file:
        file.write("# edited\n")
    assert _compile._sources_digest() != before


def test_numbas_own_setting_is_put_back():
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR


def test_works_where_nothing_can_be_cached(tmp_path):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    script = "import dpcore as dp; print(dp.noise.discrete_laplace(1, 3).shape)"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(blocked)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "(3,)\n", done.stderr
