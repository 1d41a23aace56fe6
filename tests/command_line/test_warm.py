"""``dpcore warm``: no kernel is forgotten, and nothing is left to compile."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
import warnings

import numba
import numpy as np
import pytest

from dpcore import kernels
from dpcore.command_line import warm
from dpcore.command_line.main import main
from dpcore.command_line.uses import USES
from dpcore.kernels import _cache, _compile
from dpcore.studies import files
from tests.command_line.tables import ROOT, run
from tests.project.test_same_bits import RELEASES

ONLY_TESTED = {"trees.hilbert.cells", "trees.hilbert.positions"}  # no public function calls them

compiled_only = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")


def name(kernel):
    return f"{kernel.__module__}.{kernel.__name__}".removeprefix("dpcore.kernels.")


def all_kernels():
    for module in pkgutil.walk_packages(kernels.__path__, "dpcore.kernels."):
        importlib.import_module(module.name)
    ours = [one for one in _compile.KERNELS if one.__module__.startswith("dpcore.kernels.")]
    assert len(ours) > 50
    return ours


def recorded(uses):
    """Return the types of calls from Python, by kernel, and all kernels that were called at all.

    Kernels are interpreted: that takes seconds, and compilation would take a minute.
    """
    seen, called = {}, set()
    depth = 0

    def call(self, *arguments):
        nonlocal depth
        called.add(name(self))
        if not depth:
            types = ", ".join(str(numba.typeof(argument)) for argument in arguments)
            seen.setdefault(name(self), set()).add(types)
        depth += 1
        try:
            with np.errstate(all="ignore"):
                return self.py_func(*arguments)
        finally:
            depth -= 1

    _compile.Kernel.__call__ = call
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for use in uses:
            use()
    return seen, called


def run_named_studies():
    """Call each cell once, with few records and cells."""
    for study in map(files.find, files.names()):
        for cell in study.cells:
            few = {"n": 1000, "clients": 1000, "cells": 16}
            parameters = {name: few.get(name, value) for name, value in cell.values.items()}
            if study.batch:
                parameters["replicates"] = 2
            study(**parameters, rng=np.random.default_rng(1))


def check_uses():
    """A kernel that is new is called by one of the uses, with the types that releases call it.

    And studies that come with dpcore: they call what releases call.
    """
    uses, called = recorded(USES.values())
    assert {name(kernel) for kernel in all_kernels()} - called == ONLY_TESTED
    releases, _ = recorded([*RELEASES.values(), run_named_studies])
    forgotten = {kernel: types - uses[kernel] for kernel, types in releases.items()}
    assert not any(forgotten.values()), forgotten


def in_a_process(script):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.full
@compiled_only
def test_every_kernel_is_used_and_as_releases_do():
    """In a process of its own: in this one, trees and laws are known already."""
    in_a_process(
        "import sys; sys.modules['pyarrow'] = sys.modules['tqdm'] = None  # extras are not needed\n"
        "from tests.command_line import test_warm; test_warm.check_uses()"
    )


@compiled_only
@pytest.mark.full
def test_nothing_is_compiled_after_it(tmp_path, monkeypatch):
    script = """
import warnings
from dpcore.kernels._compile import KERNELS
from tests.project.test_same_bits import RELEASES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for release in RELEASES.values():
        release()
print([kernel for kernel in KERNELS if kernel.dispatcher.stats.cache_misses])
"""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, second = run("warm"), run("warm")
    assert f" in {tmp_path}" in first.stdout.decode()
    assert second.stdout.startswith(b"0 kernels compiled; ")
    assert second.stderr.splitlines()[-1].decode().endswith(f"{len(USES)}/{len(USES)} done")
    assert in_a_process(script) == "[]\n"


@compiled_only
def test_it_says_where_and_how_much(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(warm, "USES", {"nothing": lambda: None})
    monkeypatch.setattr(_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(_compile, "KERNELS", [])
    (tmp_path / "a.nbc").write_bytes(bytes(2**21))
    assert main(["warm"]) == 0
    out, err = capsys.readouterr()
    assert out == f"0 kernels compiled; 1 in {tmp_path}, 2.0 MB\n"
    assert err.splitlines()[0] == f"dpcore: [{' ' * 30}] 0/1 nothing"
    assert main(["warm", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@compiled_only
def test_it_says_that_nothing_can_be_kept_or_compiled(folder, monkeypatch, refused):
    kernel = _compile.Kernel(abs)
    kernel.dispatcher = numba.njit(lambda x: x)
    kernel.dispatcher(1)
    monkeypatch.setattr(warm, "USES", {})
    monkeypatch.setattr(_compile, "KERNELS", [kernel])
    monkeypatch.setattr(_cache, "folder", lambda: None)
    assert "NUMBA_CACHE_DIR" in refused("warm", "--quiet")
    monkeypatch.setattr(_cache, "folder", lambda: folder)
    assert "1 of 1 compiled kernels could not be kept" in refused("warm", "--quiet")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert "NUMBA_DISABLE_JIT" in refused("warm", "--quiet")
