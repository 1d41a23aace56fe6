"""What is public: names, docstrings with examples, equality; each is imported when used first."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp
from dpcore._documentation import documented
from tests.project.public_rooms import callables

SOURCE = ast.parse(Path(dp.__file__).read_text("utf-8"))

# --- names


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


def test_every_name_is_there():
    for name, module in told().items():
        home = importlib.import_module(f"dpcore.{dp._MODULES.get(name, module)}")
        assert getattr(dp, name) is (home if name in dp._MODULES else getattr(home, name))
        assert name in dir(dp)


def test_other_names_are_not():
    with pytest.raises(AttributeError, match="cfd"):
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


# --- docstrings


def things():
    """All functions and classes of the package."""
    for module in pkgutil.walk_packages(dp.__path__, "dpcore."):
        if not module.name.startswith("dpcore.kernels") and not module.name.endswith("__main__"):
            for thing in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(thing) or inspect.isfunction(thing):
                    yield thing


def described():
    """All functions and classes of the package, with those in classes."""
    for thing in things():
        yield thing
        if inspect.isclass(thing):
            yield from filter(inspect.isfunction, vars(thing).values())


def test_no_name_of_a_paragraph_is_left():
    left = [each for each in described() if re.search(r"^ *\{\w+\}$", each.__doc__ or "", re.M)]
    assert left == []


def test_help_shows_them_in_full():
    for verb in (dp.cdf, dp.roc_curve, dp.hosmer_lemeshow, dp.quantiles, dp.project):
        text = " ".join(verb.__doc__.split())
        assert "noise from a cryptographic source. A NumPy generator is for studies" in text
        assert '"raise", before anything is spent, or "omit" them' in text


def test_paragraphs_are_indented_like_their_names():
    @documented
    def function():
        """Do.

        Parameters
        ----------
        rng
            {rng}
        """

    lines = function.__doc__.splitlines()
    named = lines.index(next(line for line in lines if line.strip() == "rng"))
    margin = lines[named].removesuffix("rng") + "    "  # from Python 3.13 on, none before "rng"
    paragraph = [line for line in lines[named + 1 :] if line.strip()]
    assert len(paragraph) > 1
    assert all(line.startswith(margin) and len(line) <= 100 for line in paragraph)


def test_without_docstrings_nothing_happens():
    def function():
        pass

    assert documented(function).__doc__ is None


def parameters(doc):
    """What a docstring says of each parameter, by name."""
    section = re.search(r"Parameters\n *-+\n(.*?)(?=\n\n|\Z)", inspect.cleandoc(doc or ""), re.S)
    found = re.findall(r"^(\w.*)\n((?: .*\n?)*)", section[1] if section else "", re.M)
    return {name: text for names, text in found for name in names.split(", ")}


def test_no_argument_that_has_to_be_given_is_said_to_have_a_default():
    assert "None: cells of [0, 1]" in parameters(dp.roc_curve.__doc__)["grid"]
    for function in filter(inspect.isfunction, described()):
        said = parameters(function.__doc__)
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is parameter.empty and "None" not in str(parameter.annotation):
                assert "None:" not in said.get(name, ""), (function, name)


def test_projections_are_not_said_to_be_released_for_epsilon_alone():
    said = parameters(dp.project.__doc__)["epsilon"]
    assert "pure" not in said
    assert "pure" in parameters(dp.cdf.__doc__)["epsilon"]


def shown(docstring):
    """What the examples in a docstring print."""
    return "".join(each.want for each in doctest.DocTestParser().get_examples(docstring))


CALLABLES = callables()


def has_numbers(called):
    docstring = inspect.cleandoc(called.__doc__ or "")
    headed = "\nExamples\n--------\n" in docstring
    return headed and re.search(r"\d", shown(docstring)) is not None


def test_everything_has_an_example_that_shows_numbers():
    assert len(CALLABLES) > 300
    assert [name for name, called in CALLABLES.items() if not has_numbers(called)] == []


def test_no_example_asks_whether_what_it_does_not_show_is_right():
    asking = [name for name, called in CALLABLES.items() if ">>> bool(" in (called.__doc__ or "")]
    assert asking == []


# --- equality


def test_no_arrays_are_compared_where_the_result_must_be_true_or_false():
    assert dp.Smoothing in set(things())
    for each in filter(dataclasses.is_dataclass, set(things())):
        if each.__dataclass_params__.eq:
            arrays = {
                field.name
                for field in dataclasses.fields(each)
                if field.compare and ("NDArray" in str(field.type) or field.type == "Float")
            }
            assert not arrays, each


def test_smoothings_are_equal_to_themselves_alone():
    first, second = (dp.smooth([[1.0, 4.0, 3.0], [2.0, 2.0, 2.0]], 5) for _ in range(2))
    assert first == first
    assert first != second
    assert len({first, second}) == 2


def test_equal_grids_have_equal_hashes():
    positive, negative = dp.Grid([0.0, 1.0]), dp.Grid([-0.0, 1.0])
    assert positive == negative
    assert len({positive, negative}) == 1
    assert len({dp.Grid.uniform(0, 1, 4), dp.Grid(np.arange(1, 5) / 4)}) == 1
    assert dp.Grid([0.0, 1.0]) != dp.Grid([0.0, 2.0])
