"""Whatever happens to the files of compiled kernels, results are right and nothing is raised."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import llvmlite.binding
import numba
import pytest

from dpcore.kernels import _cache, _symbols
from dpcore.kernels._compile import kernel

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="interpreted kernels have no cache"
)

DAMAGES = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "garbage": lambda data: bytes(range(256)) * 8,
    "a bit": lambda data: bytes(b ^ 16 * (i == len(data) // 2) for i, b in enumerate(data)),
}


def twice(x):
    return x + x


def run():
    """Call the kernel as a new process would, and return for how many types it was cached."""
    compiled = kernel(twice)
    assert [compiled(21), compiled(0.75)] == [42, 1.5]
    return 2 - len(compiled.compiled)


def damage(paths, how):
    assert paths
    for path in paths:
        path.write_bytes(DAMAGES[how](path.read_bytes()))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache in which the kernel was kept."""
    monkeypatch.setattr(_cache, "FOLDER", tmp_path / "cache")
    assert [run(), run()] == [0, 2]
    return tmp_path / "cache"


@pytest.mark.parametrize("how", DAMAGES)
def test_what_is_damaged_is_compiled_anew(folder, how):
    damage(list(folder.glob("*.code")), how)
    assert [run(), run()] == [0, 2]


def test_every_bit_of_a_file_is_looked_at(folder):
    (path, _) = folder.glob("*.code")
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert _cache.load(twice, "int64") is None or _cache.load(twice, "float64") is None


def test_machine_code_of_another_signature_is_not_run(folder):
    first, second = folder.glob("*.code")
    swapped = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(swapped)
    assert [run(), run()] == [0, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("llvm.get_host_cpu_name", lambda: "another"),
        ("llvm.get_host_cpu_features", llvmlite.binding.FeatureMap),
        ("_numba_version", lambda: b"0"),
        ("np.__version__", "0"),
        ("llvmlite.__version__", "0"),
        ("sys.version", "0"),
    ],
)
def test_machine_code_of_other_circumstances_is_not_run(folder, monkeypatch, name, value):
    """Of another processor, as in a container image, or of another version of what made it."""
    *place, last = name.split(".")
    monkeypatch.setattr(functools.reduce(getattr, place, _cache), last, value)
    _cache._circumstances.cache_clear()
    assert [run(), run()] == [0, 2]
    monkeypatch.undo()
    _cache._circumstances.cache_clear()


@pytest.mark.parametrize(("chosen", "name", "keys"), [("generic", None, 1), (None, "generic", 2)])
def test_code_for_any_processor_is_for_any_processor(monkeypatch, chosen, name, keys):
    """If it was asked for; a processor that LLVM does not know has the name, too."""
    if chosen:
        monkeypatch.setenv("NUMBA_CPU_NAME", chosen)
    seen = set()
    for each in ("one", "another"):
        features = type("", (), {"flatten": lambda self, each=each: each})
        monkeypatch.setattr(_cache.llvm, "get_host_cpu_name", lambda each=each: name or each)
        monkeypatch.setattr(_cache.llvm, "get_host_cpu_features", features)
        _cache._circumstances.cache_clear()
        seen.add(_cache._circumstances())
    monkeypatch.undo()
    _cache._circumstances.cache_clear()
    assert len(seen) == keys


def test_settings_of_the_compiler_are_circumstances(folder, monkeypatch):
    monkeypatch.setenv("NUMBA_OPT", "1")
    _cache._circumstances.cache_clear()
    other = _cache._circumstances()
    monkeypatch.undo()
    _cache._circumstances.cache_clear()
    assert other != _cache._circumstances()


def test_names_in_object_files(folder):
    kernel_file, provided = _cache.load(twice, "int64").objects
    defined, needed = _symbols.names(kernel_file)
    assert _cache.load(twice, "int64").entry in defined
    assert "dpcore.PyLong_FromLongLong" in needed
    defined, needed = _symbols.names(provided)
    assert "NRT_MemInfo_alloc_aligned" in defined
    assert {"dpcore.PyMem_RawMalloc", "ldexp"} <= needed
    assert _symbols.names(b"\xcf\xfa\xed\xfe" + kernel_file[4:]) is None


def test_machine_code_that_needs_what_is_not_there_is_compiled_anew(folder):
    """Linking it would end the process."""
    code = _cache.load(twice, "int64")
    _cache.save(twice, "int64", replace(code, names=(*code.names, "there_is_no_such_function")))
    assert [run(), run()] == [1, 2]


def test_what_cannot_be_replaced_is_left_alone(folder):
    for path in folder.glob("*.code"):
        path.unlink()
        path.mkdir()
    assert [run(), run()] == [0, 0]


def test_a_folder_that_is_removed_meanwhile(folder):
    shutil.rmtree(folder)
    assert [run(), run()] == [0, 2]


@pytest.mark.parametrize("size", [0, 2000])  # not even a byte; a part of a file
def test_a_disk_that_is_full(folder, size):
    resource = pytest.importorskip("resource", reason="no limits of this kind on Windows")
    shutil.rmtree(folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        assert run() == 0
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(folder.iterdir()) == []
    assert [run(), run()] == [0, 2]


def test_nothing_is_kept_where_no_sources_are_seen(tmp_path, monkeypatch):
    """A folder without the sources' digest in its name could hold another version's code."""
    monkeypatch.setattr(_cache, "__file__", str(tmp_path / "_cache.py"))
    assert _cache._readable_folder(_cache.sources_digest()) is None


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"XDG_CACHE_HOME": "", "LOCALAPPDATA": ""},
        {"XDG_CACHE_HOME": "relative", "LOCALAPPDATA": "relative"},
        {"XDG_CACHE_HOME": "", "HOME": "relative", "LOCALAPPDATA": "", "USERPROFILE": "relative"},
    ],
)
def test_the_current_folder_is_no_place_for_machine_code(tmp_path, variables):
    home, current = tmp_path / "home", tmp_path / "current"
    current.mkdir()
    environment = {**os.environ, "NUMBA_CACHE_DIR": "", "HOME": str(home), "USERPROFILE": str(home)}
    subprocess.run(
        [sys.executable, "-c", "import dpcore.kernels.smoothing.isotonic"],
        env={**environment, **variables},
        cwd=current,
        check=True,
    )
    assert list(current.iterdir()) == []


def test_processes_mend_a_damaged_cache_side_by_side(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("age\n" + "\n".join(str(age) for age in range(18, 90)))
    command = [sys.executable, "-m", "dpcore", "cdf", str(table), "--column", "age", "--quiet"]
    command += ["--lower", "0", "--upper", "100", "--size", "20", "--epsilon", "5"]
    root = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(root)}
    subprocess.run(command, env=environment, capture_output=True, check=True)
    folder = root / _cache.FOLDER.relative_to(os.environ["NUMBA_CACHE_DIR"])
    kept = sorted(folder.glob("*.code"))
    assert len(kept) >= 3
    sizes = {path: path.stat().st_size for path in kept}
    damage(kept[::2], "empty")
    damage(kept[1::2], "cut off")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command, env=environment, **pipes) for _ in range(2)]
    for process in started:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    assert {path: path.stat().st_size for path in kept} == sizes
