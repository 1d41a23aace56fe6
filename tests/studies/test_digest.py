"""Digests of code: what they see, and what they do not mind."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import subprocess
import sys
import textwrap
from types import FunctionType

import numpy as np
import pytest

import dpcore
from dpcore import studies
from dpcore.studies.digest import digest
from dpcore.studies.named.cdf import cdf
from dpcore.studies.named.quantiles import quantiles

NUMBERS = itertools.count()

STUDY = """
import numpy as np
import dpcore as dp

POINTS, GRID, NAMES = np.arange(3), dp.Grid.uniform(0, 1, 8), {"a", "b"}

class Noise:
    def __init__(self, sigma):
        self.sigma = sigma
    def draw(self, rng):
        return rng.normal(0, self.sigma)

NOISE = Noise(1.0)

def helper(x):
    return x + 1

def function(n, rng):
    values = [v for v in POINTS if v > 0 and "a" in NAMES]
    return {"x": NOISE.draw(rng) + helper(n) + sum(values) + GRID.size}
"""
FRAME = """
import enum, functools, re
from collections import defaultdict, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple
import numba
import numpy as np
import scipy.stats
import dpcore as dp

{}

def function(n, rng):
    return {{"x": h()}}
"""

# Sources of h, with what is changed: «before|after». These changes may change what h returns,
SEEN = {
    "the function": "def h(): return [v for v in (0, 1) if v > «0|1»]",
    "the name of another": "def h(): return «sum|min»([1, 2])",
    "a default of a keyword": "def h(*, k=«1|2»): return k",
    "names of keywords": "def h(«k|i»=1, *, «i|k»=1): return 2 * i + k",
    "the order of arguments": "def h(«a=1, b=2|b=2, a=1»): return 0",
    "any number of arguments": "def h(«*a|a=()»): return len(str(a))",
    "any keywords": "def h(«**|*»a): return len(str(a))",
    "what a condition is for": "def h(x=1):\n if x > 9:\n  x = -x\n« |  »x = 3 - x\n return x",
    "what is tried": (
        "def h(x=1):\n« x = 3 - x\n try:\n| try:\n  x = 3 - x\n»  x = 5 / x\n"
        " except ZeroDivisionError: pass\n return x"
    ),
    "a generator": "def h(): return sum(i for i in (1, «2|3»))",
    "a set in the code": "def h(): return 1 in {1, «2|3»}",
    "a number's type": "def h(): return 7 // «2|2.0»",
    "a sign of zero": "def h(x=1): return x * «0.0|-0.0»",
    "a truth": "def h(x=1): return x == «1|True»",
    "what a helper calls": "def f(): return «1|2»\ndef g(): return f()\ndef h(): return g()",
    "what an inner class reads": "K = «1|2»\ndef h():\n class A: x = K\n return A.x",
    "what an inner function reads": "K = «1|2»\ndef h():\n def g(): return K\n return g()",
    "what is closed over": "def m():\n k = «5|6»\n def g(): return k\n return g\nh = m()",
    "a module that is closed over": (
        "import «string|keyword» as s\ndef m(s):\n def g(): return s.__name__\n return g\nh = m(s)"
    ),
    "a cached function": "@functools.lru_cache\ndef f(x): return «2|3» * x\ndef h(): return f(1)",
    "a compiled function": "@numba.njit\ndef f(): return «1|2»\ndef h(): return f is None",
    "what decorators close over": (
        "def times(k):\n def made(f):\n  @functools.wraps(f)\n  def g(): return k * f()\n"
        "  return g\n return made\n@times(«3|4»)\ndef h(): return 1"
    ),
    "what decorators wrap": (
        "def twice(f):\n @functools.wraps(f)\n def g(): return 2 * f()\n return g\n"
        "@twice\ndef h(): return «1|3»"
    ),
    "what calls itself": "def h(n=1): return n == «0|2» or k(n - 1)\ndef k(n): return h(n)",
    "a constant": "V = «2.0|3.0»\ndef h(): return V",
    "an array": "V = np.arange(«3|4»)\ndef h(): return V.sum()",
    "the type of an array": "V = np.arange(«3|3.0»)\ndef h(): return V.sum()",
    "a masked array": "V = np.ma.array([1, 2], mask=[0, «0|1»])\ndef h(): return V.sum()",
    "the type of a number": "V = np.float«32|64»(1)\ndef h(): return V",
    "an object of a package": "V = dp.Grid.uniform(0, 1, «8|9»)\ndef h(): return V.size",
    "a value in a dict": "V = {'a': «1.5|2.5»}\ndef h(): return V['a']",
    "the order of a list": "V = [«min, max|max, min»]\ndef h(): return V[0](1, 2)",
    "a list that holds itself": "V = [«1|2»]\nV.append(V)\ndef h(): return len(V)",
    "a set": "V = {1.5, '«a|b»'}\ndef h(): return len(V)",
    "a frozen set": "V = frozenset({'a', '«b|c»'})\ndef h(): return len(V)",
    "a function in a set": "def f(x): return x + «1|2»\nV = {f}\ndef h(): return len(V)",
    "a set that its elements refer to": "def h(): return len(V) + «1|2»\nV = {h}",
    "a function or a class": "def f(): pass\nclass A: pass\nV = «f|A»\ndef h(): return V is None",
    "a lambda": "V = lambda e: e**2 / «2|3»\ndef h(): return V(1)",
    "an argument of a partial": "V = functools.partial(max, «1|2»)\ndef h(): return V(0)",
    "a vectorized function": "V = np.vectorize(lambda x: x + «1|2»)\ndef h(): return V(1)",
    "a default that is made": "V = defaultdict(lambda: «1|2»)\ndef h(): return V.default_factory()",
    "a queue": "V = deque([lambda: «1|2»])\ndef h(): return V[0]()",
    "a namespace": "V = SimpleNamespace(f=lambda: «1|2»)\ndef h(): return V.f()",
    "a pattern": "V = re.compile('«a|b»')\ndef h(): return bool(V.match('b'))",
    "a distribution": "V = scipy.stats.norm(0, «2|3»)\ndef h(): return V.rvs()",
    "a method": "class A:\n def f(self): return «7|8»\nV = A()\ndef h(): return V.f()",
    "a property": "class A:\n @property\n def x(self): return «7|8»\ndef h(): return A().x",
    "a static method": "class A:\n @staticmethod\n def x(): return «7|8»\ndef h(): return A.x()",
    "a class method": "class A:\n @classmethod\n def x(cls): return «7|8»\ndef h(): return A.x()",
    "a method with arguments": (
        "class A: f = functools.partialmethod(lambda self, x: x + «1|2», 2)\nV = A()\n"
        "def h(): return V.f()"
    ),
    "what is computed once": (
        "class A:\n def __init__(self, b): self.b = b\n"
        " @functools.cached_property\n def x(self): return self.b\nV = A(«7|8»)\n"
        "def h(): return V.x"
    ),
    "how it is computed once": (
        "class A:\n @functools.cached_property\n def x(self): return «7|8»\ndef h(): return A().x"
    ),
    "an object that a method is bound to": (
        "class A:\n def __init__(self, b): self.b = b\n def f(self): return self.b\n"
        "V = A(«1|2»).f\ndef h(): return V()"
    ),
    "an attribute of a class": "class A: x = «7|8»\nV = A()\ndef h(): return V.x",
    "what a class is made of": (
        "class A: x = 7\nclass B: x = 8\nclass C(«A|B»): pass\ndef h(): return C.x"
    ),
    "a field's default": "@dataclass\nclass A: x: int = «4|5»\nV = A()\ndef h(): return V.x",
    "slots": "class A: __slots__ = 'f',\nV = A()\nV.f = lambda: «1|2»\ndef h(): return V.f()",
    "what is in a list of a class": "class A(list): pass\nV = A([«1|2»])\ndef h(): return V[0]",
    "a method of a list": (
        "class W:\n def f(self): return «7|8»\nclass A(W, list): pass\nV = A([1])\n"
        "def h(): return V.f()"
    ),
    "a method of a set": "class A(set):\n def f(s): return «7|8»\nV = A()\ndef h(): return V.f()",
    "a method of a named tuple": (
        "class A(NamedTuple):\n x: int\n def f(self): return «7|8»\nV = A(1)\ndef h(): return V.f()"
    ),
    "a method of a metaclass": (
        "class M(type):\n def f(cls): return «7|8»\nV = M('A', (), {})\ndef h(): return V.f()"
    ),
    "one of some": "class E(enum.Enum):\n A = 1\n B = 2\nO = E.«A|B»\ndef h(): return O.value",
    "the value of one of some": "class E(enum.Enum):\n A = «1|2»\nO = E.A\ndef h(): return O.value",
}

# and these do not.
LAYOUT = {
    "comments": "def h():\n«|  # because\n # of that\n» return 1",
    "docstrings": "def h():\n«| 'Help.'\n» return 1",
    "a docstring of a class": "class A:\n«| 'Draws.'\n\n» x = 1\ndef h(): return A.x",
    "empty lines": "def h():\n«|\n\n» return 1",
    "broken lines": "def h(): return sum(«[1, 2]|\n [\n1,\n  2]\n»)",
    "broken conditions": "def h(): return [v for v in (0, 1) if «v > 0|(\n  v > 0\n)\n»]",
    "parentheses": "def h(x=1): return «2 * x|(2 * x)»",
    "annotations": "def h(x«|: float»=1)«| -> float»: return x",
    "what is not used": "def h(): return 1\n«|OTHER = 3\ndef unused(): return 1\n»",
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


def sources(h):
    return [FRAME.format(re.sub("«(.*?)\\|(.*?)»", kept, h, flags=re.S)) for kept in (r"\1", r"\2")]


@pytest.mark.parametrize("what", SEEN)
def test_changes_of_what_runs_are_seen(tmp_path, what):
    before, after = sources(SEEN[what])
    function = module(tmp_path, before).function
    first = digest(function)
    function(0, None)
    assert digest(function) == first == digest(module(tmp_path, before).function)
    assert of(tmp_path, after) != first[0]


@pytest.mark.parametrize("what", LAYOUT)
def test_changes_of_layout_are_not(tmp_path, what):
    before, after = sources(LAYOUT[what])
    assert before != after
    assert of(tmp_path, before) == of(tmp_path, after)


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


def test_generators_and_what_cannot_be_pickled_are_their_types(tmp_path):
    source = textwrap.dedent("""
        import threading
        import numpy as np
        LOCK, RNG = threading.Lock(), np.random.default_rng(1)
        def function(n, rng):
            with LOCK:
                return {"x": RNG.random()}
    """)
    function = module(tmp_path, source).function
    before = digest(function)
    function(1, None)
    assert digest(function) == before


def test_packages_are_named_and_not_read(tmp_path):
    """Those of parameters too: their versions are kept beside those of the function's."""
    source = textwrap.dedent("""
        import numpy as np, pandas as pd
        ALL = {np.mean}
        def one(x): return np.sqrt(x)
        def two(x): return pd.isna(x)
        def function(f, rng): return {"x": f(1)}
        def of_a_set(n, rng): return {"x": len(ALL)}
    """)
    made = module(tmp_path, source)
    assert digest(made.one)[1] == {"numpy"}
    assert "numpy" in digest(made.of_a_set)[1]
    study = studies.Study(made.function, {"f": [made.one, made.two]})
    assert study.code["packages"] == "numpy pandas"


def test_folders_of_the_users_need_no_init_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "user_folder").mkdir()
    study = "import user_folder.helpers\ndef function(n, rng): return user_folder.helpers.f(n)\n"
    digests = []
    for at in range(2):
        helpers = f"def f(x):\n    return x + 1{'0' * at}\n"  # old bytecode is of another size
        (tmp_path / "user_folder" / "helpers.py").write_text(helpers)
        digests.append(of(tmp_path, study))
        for name in ("user_folder", "user_folder.helpers"):
            del sys.modules[name]
    assert digests[0] != digests[1]


def test_modules_of_the_users_are_seen_where_they_are_closed_over(tmp_path):
    for at in range(2):
        module(tmp_path, f"def f(x):\n    return x + 1{at}\n", f"user_closed_{at}")
    study = textwrap.dedent("""
        import user_closed_{} as helpers
        def made(m):
            def function(n, rng): return {{"x": m.f(n)}}
            return function
        function = made(helpers)
        del helpers
    """)
    assert of(tmp_path, study.format(0)) != of(tmp_path, study.format(1))


def named(code, like):
    """A function of this code that is called like another one."""
    function = FunctionType(code.__code__, like.__globals__)
    function.__module__, function.__qualname__ = like.__module__, like.__qualname__
    return function


def test_studies_that_come_with_dpcore_are_seen_and_what_they_use_of_it_is_not():
    """They are copied and changed; of the rest there is the version."""
    one, two = cdf.function, quantiles.function
    assert digest(named(one, like=one))[0] != digest(named(two, like=one))[0]
    one, two = dpcore.cdf, dpcore.quantiles
    assert digest(named(one, like=one)) == digest(named(two, like=one))
    assert digest(one)[1] == {"dpcore"}
