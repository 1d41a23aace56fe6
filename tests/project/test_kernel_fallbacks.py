"""Where machine code cannot be loaded, shared or kept as usual, kernels work all the same."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import NamedTuple

import llvmlite.binding
import llvmlite.ir
import numba
import pytest

from dpcore.kernels import _cache, _machine
from dpcore.kernels._compile import kernel

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no machine code"
)


def quotient(a, b):
    return a // b


def slope(line):
    return line.slope


@pytest.fixture
def circumstances():
    """What returns the circumstances as a new process would."""
    _cache._circumstances.cache_clear()
    yield lambda: (_cache._circumstances.cache_clear(), _cache._circumstances())[1]
    _cache._circumstances.cache_clear()


def test_what_kernels_raise_is_not_held():
    compiled = kernel(quotient)

    def fail(times):
        for _ in range(times):
            with contextlib.suppress(ZeroDivisionError):
                compiled(1, 0)

    fail(100)
    before = sys.getallocatedblocks()
    fail(5000)
    assert sys.getallocatedblocks() - before < 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no such processes on Windows")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_made_while_a_thread_compiles_can_compile():
    script = """
import os, signal, threading, time
from dpcore.kernels import _compile

begun = threading.Event()

def compile_for_long():
    with _compile._LOCK:
        begun.set()
        time.sleep(0.3)

threading.Thread(target=compile_for_long).start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends it
    added = _compile.kernel(lambda a: a + 1)(1)
    os._exit(added)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "2\n", done.stderr


def test_tuples_of_one_name_with_other_names_in_them(tmp_path, monkeypatch):
    """As when a class is edited, in a file that the cache is not named by."""
    monkeypatch.setattr(_cache, "FOLDER", tmp_path)

    def made(*names):
        class Line(NamedTuple("Line", [(name, float) for name in names])):
            pass

        return Line

    assert kernel(slope)(made("slope", "start")(1.0, 2.0)) == 1.0
    assert kernel(slope)(made("start", "slope")(1.0, 2.0)) == 2.0
    assert kernel(slope)(made("slope", "start")(1.0, 2.0)) == 1.0
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("missing", ["create_mcjit_compiler", "ObjectFileRef"])
def test_where_llvm_has_no_such_linker(tmp_path, monkeypatch, missing):
    monkeypatch.setattr(_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(_machine, "llvm", without(llvmlite.binding, missing))
    for _ in range(2):
        compiled = kernel(quotient)
        assert [compiled(7, 2), compiled(9, 2)] == [3, 4]
        assert compiled._entries == ()


def without(module, name):
    """Return a module that lacks a name."""
    copy = type(sys)(module.__name__)
    vars(copy).update({key: value for key, value in vars(module).items() if key != name})
    return copy


def test_where_numbas_insides_are_others(tmp_path, monkeypatch):
    monkeypatch.setattr(_cache, "FOLDER", tmp_path)
    monkeypatch.setitem(sys.modules, "dpcore.kernels._numba", None)  # importing it fails
    monkeypatch.delattr(sys.modules["dpcore.kernels"], "_numba", raising=False)
    compiled = kernel(quotient)
    assert compiled(7, 2) == 3
    assert list(tmp_path.iterdir()) == []


def test_where_numpys_arrays_are_laid_out_otherwise(monkeypatch):
    """Reading them as they were would crash the process."""
    monkeypatch.setattr(_machine, "_NUMPY_LAYOUT", 3)
    _machine._prepare_for_all.cache_clear()
    compiled = kernel(quotient)
    assert [compiled(7, 2), compiled(9, 2)] == [3, 4]
    assert compiled._entries == ()


def test_where_numbas_memory_is_laid_out_otherwise(tmp_path, monkeypatch):
    from numba.core.runtime import nrtdynmod

    from dpcore.kernels import _numba

    monkeypatch.setattr(_cache, "FOLDER", tmp_path)
    *parts, _ = nrtdynmod._meminfo_struct_type.elements
    others = llvmlite.ir.LiteralStructType([*parts, llvmlite.ir.IntType(32)])
    monkeypatch.setattr(nrtdynmod, "_meminfo_struct_type", others)
    _numba._provided.cache_clear()
    compiled = kernel(quotient)
    assert compiled(7, 2) == 3
    assert compiled._entries == ()


def test_what_numba_refuses_is_told_by_numba():
    with pytest.raises(numba.TypingError):
        kernel(slope)(1.0)


def test_numba_loads_and_calls_everything_where_it_is_asked_to(tmp_path):
    script = """
import sys
import numpy as np
import dpcore as dp
from dpcore.kernels._compile import KERNELS

rng = np.random.default_rng(1)
print(dp.cdf(range(9), dp.Grid.uniform(0, 9, 4), epsilon=1.0, rng=rng)(4.5))
print([kernel for kernel in KERNELS if kernel._entries], "numba" in sys.modules, file=sys.stderr)
"""
    outcomes = {}
    for asked in ("0", "1"):
        environment = {**os.environ, "DPCORE_USE_NUMBA": asked}
        if asked == "1":
            environment["NUMBA_CACHE_DIR"] = str(tmp_path)
        outcomes[asked] = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
        )
    assert outcomes["1"].stderr == "[] True\n"
    assert outcomes["0"].stderr != outcomes["1"].stderr
    assert outcomes["0"].stdout == outcomes["1"].stdout != ""
    assert list(tmp_path.rglob("*.code")) == []


def test_compilation_can_be_switched_off_late(tmp_path):
    script = """
import numpy as np
import numba
from dpcore.kernels.trees import hierarchy_errors

numba.config.DISABLE_JIT = 1
print(hierarchy_errors.prefix_variances(np.array([4]), np.array([0, 1, 5]), np.ones(2)).shape)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "(4,)\n", done.stderr


def test_a_cache_that_another_filled_is_read(tmp_path, monkeypatch):
    """As in a container image, whose users may write to little."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = _cache._readable_folder("sources")
    monkeypatch.setattr(_cache, "FOLDER", folder)
    kernel(quotient)(7, 2)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert _cache._readable_folder("sources") == folder
    compiled = kernel(quotient)
    assert (compiled(7, 2), compiled.compiled) == (3, [])


def test_nothing_is_kept_after_an_edit(tmp_path, monkeypatch):
    """Who takes the edit back would find it among the machine code of the sources as they were."""
    monkeypatch.setattr(_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(_cache, "sources_digest", lambda: "edited")
    assert kernel(quotient)(7, 2) == 3
    assert list(tmp_path.iterdir()) == []


def test_a_processor_whose_features_llvm_cannot_tell(circumstances, monkeypatch):
    def fail():
        raise RuntimeError("failed to get host cpu features.")

    known = circumstances()
    monkeypatch.setattr(_cache.llvm, "get_host_cpu_features", fail)
    assert circumstances() != known


def test_numbas_file_of_settings_is_a_circumstance(circumstances, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    seen = {circumstances()}
    for text in ("opt: 1", "opt: 2"):
        (tmp_path / ".numba_config.yaml").write_text(text)
        seen.add(circumstances())
    assert len(seen) == 3


def test_numbas_version_is_seen_without_numba():
    assert numba.__version__.encode() in _cache._numba_version()
