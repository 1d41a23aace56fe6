"""Digests of code: what they see, and what they do not mind."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from dpcore import studies
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


def module(folder, source, name=None):
    """Import a source as a module of the user's."""
    name = name or f"user_study_{next(NUMBERS)}"
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def of(folder, source):
    return digest(module(folder, source).function)[0]


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_what_runs_are_seen(tmp_path, change):
    before, after = CHANGES[change]
    assert STUDY.count(before) == 1
    assert of(tmp_path, STUDY) != of(tmp_path, STUDY.replace(before, after))


@pytest.mark.parametrize("change", LAYOUT)
def test_changes_of_layout_are_not(tmp_path, change):
    before, after = LAYOUT[change]
    assert STUDY.count(before) == 1
    assert of(tmp_path, STUDY) == of(tmp_path, STUDY.replace(before, after))


def test_it_is_the_same_in_another_process_as_a_script_and_after_use(tmp_path):
    found = module(tmp_path, STUDY)
    before = digest(found.function)[0]
    found.function(2, np.random.default_rng(1))
    assert digest(found.function)[0] == before
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
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == before


def test_a_file_that_was_edited_since_is_what_was_imported(tmp_path):
    found = module(tmp_path, STUDY)
    edited = STUDY.replace("return x + 1", "return x + 2")
    (tmp_path / f"{found.__name__}.py").write_text(edited)
    assert digest(found.function)[0] != of(tmp_path, edited)


def test_other_files_of_the_users_are_seen(tmp_path):
    for at, helper in enumerate(("return x", "return x + 1")):
        module(tmp_path, f"def f(x):\n    {helper}\n", f"user_helpers_{at}")
    for study in (
        "import user_helpers_{} as helpers\ndef function(n, rng): return helpers.f(n)\n",
        "from user_helpers_{} import f\ndef function(n, rng): return f(n)\n",
    ):
        assert of(tmp_path, study.format(0)) != of(tmp_path, study.format(1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lambda e: e**2 / 2", "lambda e: e**2 / 3"),
        ("functools.partial(f, 1)", "functools.partial(f, 2)"),
        ("Made(1).twice", "Made(2).twice"),
        ("[f, g]", "[g, f]"),
        ("{1.5, 'a'}", "{1.5, 'b'}"),
        ("np.float32(1)", "np.float64(1)"),
        ("frozenset({'a', 'b'})", "{'a', 'c'}"),
        ("Made(f)", "Made(g)"),
        ("f", "Made"),
    ],
)
def test_values_are_seen(tmp_path, one, other):
    source = textwrap.dedent("""
        import functools
        import numpy as np

        def f(x=1): return x
        def g(x=1): return -x

        class Made:
            def __init__(self, x): self.x = x
            def twice(self): return 2 * self.x

        VALUES = [{}, {}, {}]
    """)
    found = module(tmp_path, source.replace("[{}, {}, {}]", f"[{one}, {one}, {other}]")).VALUES
    assert digest(found[0]) == digest(found[1]) != digest(found[2])


def test_things_that_refer_to_each_other_have_an_end(tmp_path):
    source = """
        def even(n): return n == 0 or odd(n - 1)
        def odd(n): return n != 0 and even(n - 1)
        LIST = []
        LIST.append(LIST)
        def function(n, rng): return {"x": even(n), "y": len(LIST)}
    """
    source = textwrap.dedent(source)
    assert of(tmp_path, source) == of(tmp_path, source)
    assert of(tmp_path, source) != of(tmp_path, source.replace("n == 0 or", "n == 2 or"))


def test_generators_and_what_cannot_be_pickled_are_their_types(tmp_path):
    source = textwrap.dedent("""
        import threading
        import numpy as np
        LOCK, RNG = threading.Lock(), np.random.default_rng(1)
        def function(n, rng):
            with LOCK:
                return {"x": RNG.random()}
    """)
    found = module(tmp_path, source)
    before = digest(found.function)
    found.function(1, None)
    assert digest(found.function) == before


def test_packages_are_named_and_not_read(tmp_path):
    source = "import numpy as np\ndef function(n, rng):\n    return {'x': np.sqrt(n)}\n"
    assert digest(module(tmp_path, source).function)[1] == {"numpy"}


def test_packages_of_parameters_are_named_too(tmp_path):
    """So versions of theirs are kept beside those of the function's."""
    source = "import numpy as np, pandas as pd\ndef one(x): return np.sqrt(x)\n"
    source += "def two(x): return pd.isna(x)\ndef function(f, rng): return {'x': f(1)}\n"
    found = module(tmp_path, source)
    study = studies.Study(found.function, {"f": [found.one, found.two]})
    assert study.code["packages"] == "numpy pandas"


def test_compiled_functions_are_what_they_were_written_as(tmp_path):
    source = textwrap.dedent("""
        import numba
        @numba.njit
        def loop(n):
            return n + 1
        def function(n, rng): return {"x": loop(n)}
    """)
    assert of(tmp_path, source) == of(tmp_path, source)
    assert of(tmp_path, source) != of(tmp_path, source.replace("n + 1", "n + 2"))
