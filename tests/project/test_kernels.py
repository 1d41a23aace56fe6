"""Kernels are right and never stale, whatever happens to the files of their machine code."""

from __future__ import annotations

import copy
import errno
import gc
import importlib
import io
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import compiler_lock

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
    "one bit": lambda data: data[:-900] + bytes([data[-900] ^ 1]) + data[-899:],
    "of other types": lambda data: data,
}


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


def twice(x):
    return x + x


def run():
    """Call a kernel as a new process would, and return how often machine code was on disk."""
    compiled = _compile.Kernel(twice)
    assert [compiled(21), compiled(0.75)] == [42, 1.5]
    return sum(compiled.dispatcher.stats.cache_hits.values())


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """An empty folder for machine code."""
    place = tmp_path / "kernels"
    place.mkdir()
    monkeypatch.setattr(_cache, "folder", lambda: place)
    _cache._warn.cache_clear()
    return place


@pytest.fixture
def folder(empty):
    """A folder with the machine code of one kernel for two types."""
    assert [run(), run()] == [0, 2]
    return empty


def test_compiling_is_said_once_when_all_of_it_took_some_time(empty, monkeypatch, capfd):
    _compile._say.cache_clear()
    monkeypatch.setattr(_compile, "PATIENCE", 1e-3)
    run()
    run()
    assert capfd.readouterr().err == f"dpcore: compiling kernels, once: kept in {empty}\n"
    assert _compile.PATIENCE < 0  # the time of all kernels together


def test_functions_of_others_are_compiled_as_ever(empty, monkeypatch, capfd):
    run()
    _compile._say.cache_clear()
    monkeypatch.setattr(_compile, "PATIENCE", 0.0)
    names = {}
    exec("def of_no_module(x): return x", names)
    assert numba.njit(names["of_no_module"])(1) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("enabled", [True, False])
def test_what_was_set_is_set_again_after_an_interruption(empty, monkeypatch, enabled):
    def interrupt(*arguments):
        assert not gc.isenabled()
        raise KeyboardInterrupt

    monkeypatch.setattr(numba.core.compiler.Compiler, "compile_extra", interrupt)
    (gc.enable if enabled else gc.disable)()
    threads = threading.active_count()
    compiled = _compile.Kernel(twice)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled(1)
        assert gc.isenabled() == enabled
    finally:
        gc.enable()
    monkeypatch.undo()
    assert compiled(1) == 2
    wait = time.monotonic() + 9
    while threading.active_count() > threads and time.monotonic() < wait:
        time.sleep(0.01)  # a timer's thread ends soon after it
    assert threading.active_count() <= threads
    assert not compiler_lock.global_compiler_lock._is_owned()


def test_threads_start_while_others_compile_and_a_later_process_compiles_nothing(tmp_path):
    """Locks that are taken in two orders would wait for each other for ever."""
    script = """
import faulthandler, threading
import numba
faulthandler.dump_traceback_later(60, exit=True)  # ends it
begun, may_end = threading.Event(), threading.Event()

@numba.extending.overload(threading.active_count)
def compiled():
    begun.set()
    may_end.wait(1)
    return lambda: 2

other = threading.Thread(target=numba.njit(lambda: threading.active_count()))
other.start()
begun.wait()
from dpcore.kernels.trees.dyadic import node_count
counts = []
threads = [threading.Thread(target=lambda: counts.append(node_count(64, 2))) for _ in range(3)]
for thread in threads:
    thread.start()
may_end.set()
for thread in [*threads, other]:
    thread.join()
print(counts, len(node_count.dispatcher.stats.cache_misses))
"""
    assert python(script, NUMBA_CACHE_DIR=str(tmp_path))[0] == "[127, 127, 127] 1\n"
    script = """
from dpcore.kernels.trees.dyadic import node_count
print(node_count(64, 2), node_count.dispatcher.stats)
"""
    out, said = python(script, NUMBA_CACHE_DIR=str(tmp_path))
    assert out.startswith(f"127 _CompileStats(cache_path='{tmp_path}")
    assert (out.endswith("cache_misses=Counter())\n"), said) == (True, "")


def test_an_edit_of_a_file_that_a_kernel_calls_is_seen(tmp_path, monkeypatch):
    """Numba's own cache looks at the kernel's file alone."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "copied_kernels", ignore=skip)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    def result():
        """Import the files as a new process would."""
        for name in [name for name in sys.modules if name.startswith("copied_kernels")]:
            del sys.modules[name]
        samplers = importlib.import_module("copied_kernels.noise.samplers")
        words = np.full(4, 2**32 - 1, np.uint32)
        before = samplers.bernoulli_two_over_e(words, 0)[1]
        return before, sum(samplers.bernoulli_two_over_e.dispatcher.stats.cache_hits.values())

    first = result()
    assert result() == (first[0], 1)
    path = tmp_path / "copied_kernels" / "noise" / "samplers.py"
    path.write_text(path.read_text("utf-8").replace("at += 1", "at += 2 "), "utf-8")
    second = result()
    assert (second[0] != first[0], second[1]) == (True, 0)


def test_machine_code_of_old_bytecode_is_not_kept_for_new_sources(tmp_path, monkeypatch):
    """Python runs old bytecode if a new file has its size and time, as some installers set it."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "kernels", tmp_path / "copied_kernels", ignore=skip)
    script = """
import numpy as np
from copied_kernels.noise.samplers import bernoulli_two_over_e as drawn
at = drawn(np.full(4, 2**32 - 1, np.uint32), 0)[1]
print(at, len(drawn.dispatcher.stats.cache_hits))
"""
    variables = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    variables["PYTHONDONTWRITEBYTECODE"] = ""
    before = python(script, **variables)[0].split()
    path = tmp_path / "copied_kernels" / "noise" / "samplers.py"
    times = path.stat()
    path.write_text(path.read_text("utf-8").replace("at += 1", "at += 2"), "utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    python(script, **variables)  # old bytecode, and new sources
    shutil.rmtree(path.parent / "__pycache__")
    after = python(script, **variables)[0].split()
    assert (after[0] != before[0], after[1]) == (True, "0")
    assert python(script, **variables)[0].split() == [after[0], "1"]


HELD, LIMIT = np.arange(3), 5


def of_globals(x):
    return x + LIMIT + HELD[0]


@pytest.mark.parametrize("change", [{"LIMIT": 6}, {"HELD": np.arange(1, 4)}])
def test_constants_of_machine_code_are_those_of_the_process(empty, monkeypatch, change):
    compiled = [_compile.Kernel(of_globals) for _ in range(4)]
    assert [compiled[0](1), compiled[1](1)] == [6, 6]
    for name, value in change.items():
        monkeypatch.setitem(globals(), name, value)
    assert [compiled[2](1), compiled[3](1)] == [7, 7]
    hits = [sum(kernel.dispatcher.stats.cache_hits.values()) for kernel in compiled]
    assert hits == [0, 1, 0, 1]


def test_another_processor_has_files_of_its_own(folder, monkeypatch):
    kind = type(_compile.Kernel(twice).dispatcher.targetctx.codegen())
    usual = kind.magic_tuple
    monkeypatch.setattr(kind, "magic_tuple", lambda self: (*usual(self)[:2], "+of-another"))
    assert [run(), run()] == [0, 2]


@pytest.mark.parametrize("module", [numba, np, "llvmlite"])
def test_another_compiler_has_a_folder_of_its_own(tmp_path, monkeypatch, module):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    usual = _cache.folder.__wrapped__()
    if isinstance(module, str):
        module = importlib.import_module(module)
    monkeypatch.setattr(module, "__version__", "99.0")
    assert _cache.folder.__wrapped__() != usual


def test_an_edit_anywhere_starts_a_new_folder(tmp_path, monkeypatch):
    kernels = Path(_cache.__file__).parent
    shutil.copytree(kernels, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "kernels" / "_cache.py"))
    seen = {_cache.sources_digest()}
    for path in (tmp_path / "kernels").rglob("__init__.py"):
        with path.open("a") as file:
            file.write("# edited\n")
        seen.add(_cache.sources_digest())
    path.rename(path.with_name("renamed.py"))
    seen.add(_cache.sources_digest())
    assert len(seen) > 7


def test_nothing_is_read_or_written_once_sources_have_changed(folder, monkeypatch):
    """Imported files may be older or newer than the folder."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(_cache, "sources_digest", lambda: "edited")
    with pytest.warns(RuntimeWarning, match="have changed.*; start the process again") as told:
        assert run() == 0
    assert len(told) == 1
    shutil.rmtree(folder)
    assert run() == 0
    assert before
    assert not folder.exists()


def test_the_folder_is_of_the_sources_at_the_time_of_the_import(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    before = _cache.folder.__wrapped__()
    monkeypatch.setattr(_cache, "sources_digest", lambda: "edited")
    assert _cache.folder.__wrapped__() == before


@pytest.mark.parametrize(("setting", "value"), [("BOUNDSCHECK", 1), ("OPT", 1), ("USING_SVML", 1)])
def test_settings_of_the_compiler_have_folders_of_their_own(tmp_path, monkeypatch, setting, value):
    """Numba reads settings from variables, or from a file in the current folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    usual = _cache.folder.__wrapped__()
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 77)
    assert _cache.folder.__wrapped__() == usual
    monkeypatch.setattr(numba.config, setting, value)
    other = _cache.folder.__wrapped__()
    assert (usual.parent, usual.name != other.name) == (other.parent, True)


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_files_are_written_anew(folder, how):
    paths = list(folder.glob("*.nbc"))
    assert len(paths) == 2
    contents = {path: DAMAGES[how](path.read_bytes()) for path in paths}
    for path, other in zip(paths, paths[::-1], strict=True):
        path.write_bytes(contents[other] if how == "of other types" else contents[path])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [run(), run()] == [0, 2]


def test_machine_code_that_cannot_be_loaded_costs_time_and_one_warning(folder, monkeypatch):
    def fail(*arguments):
        raise AttributeError("of another version")

    monkeypatch.setattr(numba.core.compiler.CompileResult, "_rebuild", fail)
    with pytest.warns(RuntimeWarning, match=r"of another version.*set NUMBA_CACHE_DIR") as told:
        assert run() == 0
    assert len(told) == 1


def test_a_folder_that_was_deleted_is_made_again(folder):
    shutil.rmtree(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [run(), run()] == [0, 2]


@pytest.mark.parametrize("how", ["errors", "closed"])
def test_warnings_stop_no_release(empty, monkeypatch, how):
    empty.rmdir()
    empty.write_text("a file, not a folder")
    closed = io.StringIO()
    closed.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error" if how == "errors" else "always")
        monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: print(file=closed))
        assert run() == 0
    assert _cache._warn.cache_info().misses == 1


def test_a_disk_that_is_full(folder):
    resource = pytest.importorskip("resource", reason="no limits of this kind on Windows")
    shutil.rmtree(folder)
    folder.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.warns(RuntimeWarning, match=re.escape(os.strerror(errno.EFBIG))) as told:
            assert run() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(told) == 1
    assert list(folder.iterdir()) == []
    assert [run(), run()] == [0, 2]


def test_where_nothing_can_be_kept(tmp_path, monkeypatch, capfd):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setattr(_cache, "folder", cache(_cache.folder.__wrapped__))
    monkeypatch.setattr(_compile, "PATIENCE", 0.0)
    _cache._warn.cache_clear()
    _compile._say.cache_clear()
    with pytest.warns(RuntimeWarning, match="dpcore: each process compiles kernels") as told:
        assert [run(), run()] == [0, 0]
    assert len(told) == 1
    assert "each process compiles them" in capfd.readouterr().err


def test_where_sources_cannot_be_read(tmp_path, monkeypatch):
    """Nothing would tell one version of the machine code from another."""
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "_cache.pyc"))
    (tmp_path / "_cache.pyc").write_text("")
    with pytest.raises(_cache.NotKeptError, match="no files of their sources"):
        _cache._root()


def test_the_current_folder_is_no_place_for_machine_code(tmp_path, monkeypatch):
    home, current = tmp_path / "home", tmp_path / "current"
    current.mkdir()
    monkeypatch.chdir(current)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "relative")
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    assert _cache.folder.__wrapped__().is_relative_to(home)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, "relative")
    _cache._warn.cache_clear()
    with pytest.warns(RuntimeWarning, match="no home folder"):
        assert _cache.folder.__wrapped__() is None
    assert list(current.iterdir()) == []


def test_the_folder_that_a_warning_asks_for_needs_no_home(tmp_path, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_cache.Path, "home", no_home)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    _cache._warn.cache_clear()
    with pytest.warns(RuntimeWarning, match="determine home directory.*set NUMBA_CACHE_DIR"):
        assert _cache.folder.__wrapped__() is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert _cache.folder.__wrapped__().is_relative_to(tmp_path)


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


def test_what_a_kernel_raises_is_raised_and_it_runs_once(empty):
    def divide(counts, divisor=0):
        counts[0] += 1
        return 1 // divisor

    counts, compiled = np.zeros(1, np.int64), _compile.Kernel(divide)
    for run, arguments in enumerate([(0,), (np.uint8(0),), (False,), ()]):
        with pytest.raises(ZeroDivisionError):
            compiled(counts, *arguments)
        assert counts[0] == run + 1


def test_kernels_are_copied_and_sent_by_name():
    assert copy.deepcopy(dyadic.node_count) is dyadic.node_count
    assert pickle.loads(pickle.dumps(dyadic.node_count)) is dyadic.node_count
    cloudpickle = pytest.importorskip("cloudpickle")
    sent = pickle.loads(cloudpickle.dumps(lambda n: dyadic.node_count(n, 2)))
    assert sent(64) == 127


@pytest.mark.full  # once the child waited for a lock of LLVM, which its parent's thread had held
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes on Windows")
def test_a_child_made_while_a_thread_compiles_can_compile(empty, monkeypatch):
    begun = threading.Event()
    monkeypatch.setattr(_compile, "PATIENCE", 0.0)
    monkeypatch.setattr(_compile, "_say", begun.set)
    thread = threading.Thread(target=_compile.Kernel(lambda x: x.sum()), args=(np.ones(2),))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it
        os._exit(_compile.Kernel(twice)(4))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8
    thread.join()


def test_where_kernels_are_interpreted():
    out, said = python(
        "import dpcore as dp; from dpcore.kernels.trees.dyadic import node_count as count\n"
        "print(count(64, 2), count.dispatcher is count.py_func)",
        NUMBA_DISABLE_JIT="1",
    )
    assert (out, said) == ("127 True\n", "")
