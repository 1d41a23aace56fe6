"""Kernels are right and never stale, whatever happens to the files of their machine code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest

from dpcore.kernels import _cache, _compile
from dpcore.kernels.trees import dyadic

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no machine code"
)
DAMAGES = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"<html>not found</html>",
}
WORK = """
import sys
import numpy as np
from dpcore.kernels import _compile
from dpcore.kernels.trees.dyadic import add_ancestors

_compile.PATIENCE = 0.0
out = np.zeros((1, 2), np.int64)
add_ancestors(np.ones((1, 3), np.int64), 2, out)
print(out.sum(), len(add_ancestors.dispatcher.stats.cache_misses))
"""


def python(script, *, cwd=None, **variables):
    """Run a program in a process of its own, and return what it prints and says."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **variables},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def ours(function):
    """Return a kernel as of a module of ours, so that it is kept as those are."""
    function.__module__ = "dpcore.kernels.tested"
    sys.modules[function.__module__] = sys.modules[__name__]  # where Numba looks for it
    return _compile.Kernel(function)


def twice(x):
    return x + x


def run():
    """Call a kernel as a new process would, and return how often machine code was on disk."""
    compiled = ours(twice)
    assert [compiled(21), compiled(0.75)] == [42, 1.5]
    return sum(compiled.dispatcher.stats.cache_hits.values())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the machine code of one kernel for two types."""
    place = tmp_path / f"kernels-{_cache.sources_digest()}" / "settings"
    place.mkdir(parents=True)
    monkeypatch.setattr(_cache, "folder", lambda: place)
    _cache.warn.cache_clear()
    assert [run(), run()] == [0, 2]
    return place


def test_a_warm_process_compiles_nothing_and_a_cold_one_says_what_it_does(tmp_path):
    cold, said = python(WORK, NUMBA_CACHE_DIR=str(tmp_path))
    warm, nothing = python(WORK, NUMBA_CACHE_DIR=str(tmp_path))
    assert (cold, warm, nothing) == ("4 1\n", "4 0\n", "")
    assert said.startswith("dpcore: compiling kernels, once: kept in ")
    assert str(tmp_path) in said


def test_an_edit_of_a_file_that_a_kernel_calls_is_seen(tmp_path):
    """Numba's own cache looks at the kernel's file alone."""
    skip = shutil.ignore_patterns("__pycache__", "kernels")
    shutil.copytree(ROOT / "dpcore", tmp_path / "dpcore", ignore=skip)
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "dpcore" / "kernels", ignore=skip)
    script = """
import numpy as np
from dpcore.kernels.noise import samplers
print(samplers.bernoulli_two_over_e(np.full(4, 2**32 - 1, np.uint32), 0)[1], samplers.__file__)
"""
    paths = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    before, place = python(script, cwd=tmp_path, **paths)[0].split()
    path = tmp_path / "dpcore" / "kernels" / "noise" / "samplers.py"
    assert place == str(path)
    text = path.read_text("utf-8")
    path.write_text(text.replace("at += 1", "at += 2"), "utf-8")
    assert python(script, cwd=tmp_path, **paths)[0].split()[0] != before


def test_an_edit_anywhere_starts_a_new_folder(tmp_path, monkeypatch):
    kernels = Path(_cache.__file__).parent
    shutil.copytree(kernels, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "kernels" / "_cache.py"))
    seen = {_cache.sources_digest()}
    for path in (tmp_path / "kernels").rglob("__init__.py"):
        with path.open("a") as file:
            file.write("# edited\n")
        seen.add(_cache.sources_digest())
    assert len(seen) > 6


def test_nothing_is_written_for_sources_that_have_changed(folder, monkeypatch):
    """The folder's name would be that of other sources."""
    shutil.rmtree(folder)
    folder.mkdir()
    monkeypatch.setattr(_cache, "sources_digest", lambda: "edited")
    with pytest.warns(RuntimeWarning, match="OSError"):
        assert run() == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("setting", ["NUMBA_BOUNDSCHECK", "NUMBA_OPT"])
def test_settings_of_the_compiler_have_folders_of_their_own(tmp_path, monkeypatch, setting):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    usual = _cache.folder.__wrapped__()
    monkeypatch.setenv(setting, "1")
    other = _cache.folder.__wrapped__()
    assert (usual.parent, usual.name != other.name) == (other.parent, True)


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_files_cost_time_and_one_warning(folder, how, ending):
    paths = [path for path in folder.iterdir() if path.suffix == ending]
    for path in paths:
        path.write_bytes(DAMAGES[how](path.read_bytes()))
    assert paths
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR") as told:
        assert run() == 0
    assert str(folder) in str(told[0].message)


def test_warnings_that_are_errors_stop_no_release(folder):
    for path in folder.glob("*.nbc"):
        path.write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run() == 0


def test_a_disk_that_is_full(folder):
    resource = pytest.importorskip("resource", reason="no limits of this kind on Windows")
    shutil.rmtree(folder)
    folder.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.warns(RuntimeWarning, match="OSError"):
            assert run() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [run(), run()] == [0, 2]


def test_where_nothing_can_be_kept(tmp_path):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    out, said = python(WORK, NUMBA_CACHE_DIR=str(blocked))
    assert out == "4 1\n"
    assert said.count("RuntimeWarning: dpcore: each process compiles kernels") == 1
    assert "each process compiles them" in said


def test_the_current_folder_is_no_place_for_machine_code(tmp_path):
    home, current = tmp_path / "home", tmp_path / "current"
    current.mkdir()
    relative = {"XDG_CACHE_HOME": "relative", "LOCALAPPDATA": "relative"}
    homes = {"HOME": str(home), "USERPROFILE": str(home)}
    script = "from dpcore.kernels._cache import folder; print(folder())"
    out, _ = python(script, cwd=current, NUMBA_CACHE_DIR="", **relative, **homes)
    assert str(home) in out
    nowhere = {"HOME": "relative", "USERPROFILE": "relative"}
    out, _ = python(script, cwd=current, NUMBA_CACHE_DIR="", **relative, **nowhere)
    assert out == "None\n"
    assert list(current.iterdir()) == []


def test_one_process_writes_at_a_time(folder):
    """Two that add types side by side could give two files of a kernel one name."""
    fcntl = pytest.importorskip("fcntl", reason="locks of another kind on Windows")
    assert (folder / ".lock").exists()  # Numba asked before it wrote
    _cache._begin_writing(folder)
    with (folder / ".lock").open("ab") as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _cache.end_writing()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.full
def test_processes_fill_a_cache_side_by_side(tmp_path):
    program = (
        "import sys\nfrom dpcore.kernels.trees.dyadic import add_ancestors\nimport numpy as np"
    )
    program += "\nfor kind in sys.argv[1:]:\n    out = np.zeros((1, 2), kind)"
    program += "\n    add_ancestors(np.ones((1, 3), kind), 2, out)\n    assert out.sum() == 4, kind"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    kinds = ["int64", "float64"]
    for _ in range(2):
        orders = [kinds, kinds[::-1]]
        command = [sys.executable, "-c", program]
        started = [subprocess.Popen([*command, *order], env=environment) for order in orders]
        assert [process.wait() for process in started] == [0, 0]
    assert len(list(tmp_path.rglob("*.nbc"))) == len(kinds)


@pytest.mark.parametrize(
    "arguments",
    [
        (None, None),
        ("64", 2),
        (64,),
        (object(), 2),
        (np.array(["a"]), 2),
        (np.ma.array([1.0]), 2),
        (np.zeros(2, ">i8"), 2),
        ([1], 2),
        (1j, 2),
    ],
)
def test_arguments_of_wrong_types_raise(arguments):
    assert dyadic.node_count(64, 2) == 127
    with pytest.raises((TypeError, numba.errors.NumbaError)):
        dyadic.node_count(*arguments)
    assert dyadic.node_count(64, 2) == 127


def test_what_a_kernel_raises_is_raised(folder):
    compiled = ours(lambda a, b: a // b)
    assert compiled(7, 2) == 3
    with pytest.raises(ZeroDivisionError):
        compiled(1, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes on Windows")
def test_a_child_made_while_a_thread_compiles_can_compile(tmp_path):
    script = """
import os, signal, threading
import numpy as np
from dpcore.kernels import _compile

begun = threading.Event()
_compile.PATIENCE = 0.0
_compile._say = begun.set
from dpcore.kernels.trees.dyadic import add_ancestors, node_count

words = np.zeros((1, 3), np.int64), 2, np.zeros((1, 2), np.int64)
thread = threading.Thread(target=add_ancestors, args=words)
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends it
    os._exit(node_count(4, 2))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread.join()
"""
    assert python(script, NUMBA_CACHE_DIR=str(tmp_path))[0] == "7\n"


def test_where_kernels_are_interpreted():
    out, said = python(
        "import dpcore as dp; from dpcore.kernels.trees.dyadic import node_count as count\n"
        "print(count(64, 2), count.dispatcher is count.py_func)",
        NUMBA_DISABLE_JIT="1",
    )
    assert (out, said) == ("127 True\n", "")
