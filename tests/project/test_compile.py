"""How kernels are compiled: kept by all their sources, and what only they call stays theirs."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from dpcore.kernels import _cache
from dpcore.kernels.trees import dyadic

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no cache"
)


def test_cache_folder_is_named_by_the_sources():
    path, _ = _cache._place(dyadic.node_count.py_func, "int64, int64")
    assert path.parent == _cache.FOLDER
    assert str(_cache.FOLDER).endswith(_cache.sources_digest())


def test_an_edit_anywhere_starts_a_new_folder(tmp_path, monkeypatch):
    kernels = Path(_cache.__file__).parent
    shutil.copytree(kernels, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "kernels" / "_cache.py"))
    seen = {_cache.sources_digest()}
    folders = [path.parent for path in (tmp_path / "kernels").rglob("__init__.py")]
    assert len(folders) > 5
    for folder in folders:
        with (folder / "__init__.py").open("a") as file:
            file.write("# edited\n")
        seen.add(_cache.sources_digest())
    assert len(seen) == 1 + len(folders)


def test_kernels_of_one_name_in_two_folders_have_files_of_their_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    source = (
        "from dpcore.kernels._compile import kernel\n@kernel\ndef same(x):\n    return x + {}\n"
    )
    for folder, added in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
        (tmp_path / folder / "file.py").write_text(source.format(added))
    kernels = [importlib.import_module(f"{folder}.file").same for folder in ("one", "two")]
    assert [kernel(1) for kernel in kernels] == [2, 3]
    names = {_cache._place(kernel.py_func, "int64")[0] for kernel in kernels}
    assert len(names) == 2


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
    script = """
import numpy as np
from dpcore.kernels.trees import hierarchy, hierarchy_errors

for attempt in range(2):
    try:
        hierarchy.weights(np.arange(8), np.arange(8), np.ones(8))
    except TypeError as error:
        print(error)
    hierarchy_errors.prefix_variances(np.array([4]), np.array([0, 1, 5]), np.ones(2))  # calls it
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    message = "weights is compiled for kernels only; call it from a kernel\n"
    assert (done.returncode, done.stdout) == (0, 2 * message), done.stderr


def test_a_process_whose_kernels_are_cached_imports_no_compiler():
    script = """
import sys
import dpcore as dp
from dpcore.kernels._compile import KERNELS

dp.cdf(range(100), dp.Grid.uniform(0, 100, 64), epsilon=1.0)
print([kernel for kernel in KERNELS if kernel.compiled], "numba" in sys.modules)
"""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[] False\n", done.stderr


def test_interpreted_kernels_import_no_compiler():
    script = """
import sys
import dpcore as dp

dp.cdf(range(9), dp.Grid.uniform(0, 9, 4), epsilon=1.0)
print("numba" in sys.modules)
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr
