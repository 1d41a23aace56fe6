"""What ``import dpcore`` gives: all public names, each imported when it is used first."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dpcore as dp

SOURCE = ast.parse(Path(dp.__file__).read_text("utf-8"))


def told() -> dict[str, str]:
    """The module of each name, as type checkers are told."""
    (block,) = (
        node for node in SOURCE.body if isinstance(node, ast.If) and "TYPE" in ast.dump(node.test)
    )
    found = {}
    for node in block.body:
        for alias in node.names:
            found[alias.name] = node.module or ""
    return found


def test_type_checkers_are_told_what_there_is():
    homes = {name: module for module, names in dp._HOMES.items() for name in names}
    assert set(told()) == set(dp.__all__)
    assert set(homes) | set(dp._MODULES) >= set(dp.__all__)
    for name, module in told().items():
        if name in homes:
            assert homes[name] == module
        else:
            assert dp._MODULES[name] == f"{module}.{name}".lstrip(".")


@pytest.mark.parametrize("name", dp.__all__)
def test_every_name_is_there(name):
    found = getattr(dp, name)
    module = told()[name]
    if name in dp._MODULES:
        assert found is importlib.import_module(f"dpcore.{dp._MODULES[name]}")
    else:
        assert found is getattr(importlib.import_module(f"dpcore.{module}"), name)
    assert name in dir(dp)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="module 'dpcore' has no attribute 'cfd'"):
        _ = dp.cfd
    assert not hasattr(dp, "kernel")


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_compiler_is_imported_with_what_needs_it():
    asked = "import sys, dpcore; print('numba' in sys.modules, 'numpy' in sys.modules)"
    assert run(asked) == "False False\n"
    assert run("from dpcore import *; print(Grid.uniform(0, 1, 2).size, trust.Local)").startswith(
        "2 "
    )


def test_first_use_may_be_as_the_interpreter_ends():
    script = """
import atexit
import dpcore as dp

@atexit.register
def late():
    print(dp.Grid.uniform(0, 1, 4).count([0.1, 0.6]).tolist())
"""
    assert run(script) == "[1, 0, 1, 0]\n"
