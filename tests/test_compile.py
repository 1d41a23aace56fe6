"""How kernels are compiled: kept by all their sources, and what only they call stays theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from dpcore.kernels import _cache, samplers

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no cache"
)


def test_cache_folder_is_named_by_the_sources():
    assert samplers.discrete_laplace.stats.cache_path == str(_cache.FOLDER)
    assert str(_cache.FOLDER).endswith(_cache.sources_digest())


def test_an_edit_anywhere_starts_a_new_folder(tmp_path, monkeypatch):
    for path in Path(_cache.__file__).parent.glob("*.py"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "_cache.py"))
    before = _cache.sources_digest()
    with (tmp_path / "counts.py").open("a") as file:
        file.write("# edited\n")
    assert _cache.sources_digest() != before


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


def test_what_is_for_kernels_only_is_not_called_from_python():
    """In a process of its own, which the call would end."""
    script = """
import numpy as np
from dpcore.kernels import samplers

words = np.arange(8, dtype=np.uint32)
for attempt in range(2):
    try:
        samplers.word_at(words, 0)
    except TypeError as error:
        print(error)
    samplers.word_at.compile("(uint32[::1], int64)")  # as a kernel that calls it does
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    message = "word_at is compiled for kernels only; call it from a kernel\n"
    assert (done.returncode, done.stdout) == (0, 2 * message), done.stderr
