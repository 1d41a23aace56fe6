"""Importing dpcore changes nothing of the process that other programs may rely on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Dependencies come first: what they change is not ours.
SCRIPT = """
import importlib, locale, os, random, signal, sys, threading, warnings
import numba, numpy, scipy.special

def state():
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "hooks": [sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook],
        "paths": [sys.path[:], sys.meta_path[:], sys.path_hooks[:]],
        "warnings": [warnings.filters[:], warnings.showwarning],
        "place": [os.getcwd(), dict(os.environ), locale.setlocale(locale.LC_ALL)],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()],
        "threads": threading.enumerate(),
        "numbers": [random.getstate(), repr(numpy.random.get_state()), numpy.geterr()],
    }

before = state()
for module in sys.argv[1:]:
    importlib.import_module(module)
after = state()
assert before == after, [name for name in before if before[name] != after[name]]
"""
MODULES = ["dpcore", "dpcore.trust", "dpcore.studies", "dpcore.streams", "dpcore.models"]
MODULES += ["dpcore.papers", "dpcore.releases.cdf"]


def check(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["program", "dpcore"])  # the second has the command's name
def test_imports_change_nothing_of_the_process(tmp_path, name):
    (tmp_path / name).write_text(SCRIPT)
    check(str(tmp_path / name), *MODULES)


def test_nor_does_the_command_line_in_another_program():
    check("-c", SCRIPT, "dpcore.command_line.main")
