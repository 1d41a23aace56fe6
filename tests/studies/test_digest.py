"""Digests of code: what they see, and what they do not mind."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dpcore.studies.digest import digest

NUMBERS = itertools.count()

STUDY = """
import functools
import numpy as np
import dpcore as dp
from dataclasses import dataclass

SCALE = 2.0
POINTS = np.arange(3)
GRID = dp.Grid.uniform(0, 1, 8)
TABLE = {"a": 1.5}

def deeper(x):
    if x > 9:
        x = -x
    x = 3 - x
    try:
        x = 5 / x
    except ZeroDivisionError:
        pass
    return x + 1

def helper(x, power=2):
    return deeper(x) ** power

class Noise:
    width = 3
    def __init__(self, sigma):
        self.sigma = sigma
    def draw(self, rng):
        return rng.normal(0, self.sigma)

@dataclass
class Settings:
    size: int = 4

NOISE = Noise(1.0)
SETTINGS = Settings()
LAST = functools.partial(helper, power=3)

@functools.lru_cache
def cached(x):
    return 2 * x

def inner():
    bound = 5
    def closed(x):
        return x + bound
    return closed

CLOSED = inner()

def function(n, rng):
    values = [v for v in POINTS if v > 0]
    if n > 1:
        values.append(helper(SCALE))
    table, grid, size = TABLE["a"], GRID.size, SETTINGS.size
    return {"x": NOISE.draw(rng) + LAST(n) + cached(n) + CLOSED(n) + sum(values) + table + grid}
"""

# What is written instead of what, and changes what the function returns.
CHANGES = {
    "the function": ("v > 0", "v > 1"),
    "a name of another attribute": ("sum(values)", "min(values)"),
    "a constant": ("SCALE = 2.0", "SCALE = 3.0"),
    "an array": ("np.arange(3)", "np.arange(4)"),
    "the type of an array": ("np.arange(3)", "np.arange(3.0)"),
    "an object of a package": ("uniform(0, 1, 8)", "uniform(0, 1, 9)"),
    "a value in a dict": ('"a": 1.5', '"a": 2.5'),
    "what a helper calls": ("x + 1", "x + 2"),
    "what a condition is for": ("    x = 3 - x", "        x = 3 - x"),
    "what is tried": ("    x = 3 - x\n    try:\n", "    try:\n        x = 3 - x\n"),
    "a default of a helper": ("power=2", "power=4"),
    "an argument of a partial": ("power=3", "power=5"),
    "a method": ("rng.normal(0", "rng.normal(1"),
    "an attribute of a class": ("width = 3", "width = 4"),
    "an attribute of an object": ("Noise(1.0)", "Noise(2.0)"),
    "a field's default": ("size: int = 4", "size: int = 5"),
    "a cached function": ("return 2 * x", "return 3 * x"),
    "what is closed over": ("bound = 5", "bound = 6"),
}

# What is written instead of what, and changes nothing.
LAYOUT = {
    "comments": ("deeper(x) ** power", "deeper(x) ** power  # because\n    # of that"),
    "docstrings": ("def helper(x, power=2):\n", 'def helper(x, power=2):\n    """Help."""\n'),
    "a docstring of a class": ("class Noise:\n", 'class Noise:\n    """Draws."""\n\n'),
    "empty lines": ("    values = [", "\n\n    values = ["),
    "broken lines": ("values.append(helper(SCALE))", "values.append(\n    helper(\n  SCALE\n)\n)"),
    "broken conditions": ("if v > 0]", "if (\n  v > 0\n)\n]"),
    "parentheses": ("return 2 * x", "return (2 * x)"),
    "annotations": ("def deeper(x):", "def deeper(x: float) -> float:"),
    "what is not used": ("SCALE = 2.0", "SCALE = 2.0\nOTHER = 3\ndef unused(): return 1\n"),
}


# Sources of a function h, with what is changed in it: <before|after>.
CODE = {
    "a default of a keyword": "def h(*, k=<1|2>): return k",
    "names of keywords": "def h(<k|i>=1, *, <i|k>=1): return 2 * i + k",
    "the order of arguments": "def h(<a=1, b=2|b=2, a=1>): return 0",
    "any number of arguments": "def h(<*a|a=()>): return len(str(a))",
    "any keywords": "def h(<**|*>a): return len(str(a))",
    "what an inner class reads": "K = <1|2>\ndef h():\n class A: x = K\n return A.x",
    "what an inner function reads": "K = <1|2>\ndef h():\n def g(): return K\n return g()",
    "a generator": "def h(): return sum(i for i in (1, <2|3>))",
    "a set in the code": "def h(): return 1 in {1, <2|3>}",
    "a number's type": "def h(): return 7 // <2|2.0>",
    "a sign of zero": "def h(x=1): return x * <0.0|-0.0>",
    "a truth": "def h(x=1): return x == <1|True>",
    "a property": "class A:\n @property\n def x(self): return <7|8>\ndef h(): return A().x",
    "a static method": "class A:\n @staticmethod\n def x(): return <7|8>\ndef h(): return A.x()",
    "a class method": "class A:\n @classmethod\n def x(cls): return <7|8>\ndef h(): return A.x()",
    "what is computed once": (
        "import functools\nclass A:\n @functools.cached_property\n def x(self): return <7|8>\n"
        "def h(): return A().x"
    ),
    "what a class is made of": (
        "class A: x = 7\nclass B: x = 8\nclass C(<A|B>): pass\ndef h(): return C.x"
    ),
    "one of some": (
        "import enum\nclass E(enum.Enum):\n A = 1\n B = 2\nO = E.<A|B>\ndef h(): return O.value"
    ),
    "the value of one of some": (
        "import enum\nclass E(enum.Enum):\n A = <1|2>\nO = E.A\ndef h(): return O.value"
    ),
    "what decorators close over": (
        "import functools\ndef times(k):\n def made(f):\n  @functools.wraps(f)\n"
        "  def g(): return k * f()\n  return g\n return made\n@times(<3|4>)\ndef h(): return 1"
    ),
    "what decorators wrap": (
        "import functools\ndef twice(f):\n @functools.wraps(f)\n def g(): return 2 * f()\n"
        " return g\n@twice\ndef h(): return <1|3>"
    ),
    "what a module holds, in what is closed over": (
        "import <string|keyword> as s\ndef made(m):\n def g(): return len(m.digits)\n return g\n"
        "h = made(s)"
    ),
    "what calls itself": "def h(n=1): return n == <0|2> or k(n - 1)\ndef k(n): return h(n)",
    "what is compiled": "import numba\n@numba.njit\ndef h(): return <1|2>",
    "a list that holds itself": "L = [<1|2>]\nL.append(L)\ndef h(): return len(L)",
    "a set that its elements refer to": "def h(): return len(ALL) + <1|2>\nALL = {h}",
}


def module(folder, source, name=None):
    """Import a source as a module of the user's."""
    name = name or f"user_study_{next(NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def of(folder, source):
    return digest(module(folder, source).function)[0]


@pytest.mark.parametrize("change", [*CHANGES, *LAYOUT])
def test_changes_of_what_runs_are_seen_and_of_layout_are_not(tmp_path, change):
    before, after = (CHANGES | LAYOUT)[change]
    assert STUDY.count(before) == 1
    changed = of(tmp_path, STUDY) != of(tmp_path, STUDY.replace(before, after))
    assert changed == (change in CHANGES)


@pytest.mark.parametrize("what", CODE)
def test_changes_of_code_are_seen_each_by_itself(tmp_path, what):
    source = f"{CODE[what]}\ndef function(n, rng): return {{'x': h()}}\n"
    before, after = (re.sub(r"<(.*?)\|(.*?)>", kept, source) for kept in (r"\1", r"\2"))
    assert of(tmp_path, before) == of(tmp_path, before) != of(tmp_path, after)


def test_a_name_that_is_not_yet_bound_is_none():
    def made():
        def function(n, rng):
            return {"x": later}

        before = digest(function)[0]
        later = 1
        return before, digest(function)[0]

    before, after = made()
    assert before != after


@pytest.mark.full
def test_it_hangs_on_no_order_of_sets(tmp_path):
    """Which is that of the process: texts have other hashes in each."""
    source = textwrap.dedent("""
        from dpcore.studies.digest import digest
        NAMES = {"a", "b", "c", "d", "e"}
        class Names(set): pass
        MORE = Names(NAMES)
        def function(n, rng): return {"x": n in {"p", "q", "r", "s", "t"} or n in NAMES | MORE}
        print(digest(function)[0])
    """)
    (tmp_path / "script.py").write_text(source)
    printed = {
        subprocess.check_output(
            [sys.executable, tmp_path / "script.py"], env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for seed in "123"
    }
    assert len(printed) == 1


def test_it_is_the_same_in_another_process_as_a_script_and_after_use(tmp_path):
    function = module(tmp_path, STUDY).function
    before = digest(function)[0]
    function(2, np.random.default_rng(1))
    assert digest(function)[0] == before
    script = STUDY + (
        "if __name__ == '__main__':\n"
        "    from dpcore.studies.digest import digest\n"
        "    print(digest(function)[0])\n"
    )
    (tmp_path / "script.py").write_text(script)
    ways = [[tmp_path / "script.py"]]
    if sys.version_info < (3, 14):  # from then on, "-c" keeps no source, and lines matter
        ways.append(["-c", script])
    for arguments in ways:
        printed = subprocess.check_output([sys.executable, *arguments], text=True)
        assert printed.strip() == before


def test_a_file_that_was_edited_since_is_what_was_imported(tmp_path):
    imported = module(tmp_path, STUDY)
    edited = STUDY.replace("return x + 1", "return x + 2")
    (tmp_path / f"{imported.__name__}.py").write_text(edited)
    assert digest(imported.function)[0] != of(tmp_path, edited)


def test_other_files_of_the_users_are_seen(tmp_path):
    for at, helper in enumerate(("return x", "return x + 1")):
        module(tmp_path, f"def f(x):\n    {helper}\n", f"user_helpers_{at}")
    for study in (
        "import user_helpers_{} as helpers\ndef function(n, rng): return helpers.f(n)\n",
        "from user_helpers_{} import f\ndef function(n, rng): return f(n)\n",
    ):
        assert of(tmp_path, study.format(0)) != of(tmp_path, study.format(1))
