"""Digests of objects: what they hold is seen, of whatever class they are."""

from __future__ import annotations

import sys
import textwrap
from types import FunctionType

import pytest

import dpcore
from dpcore import studies
from dpcore.studies.digest import digest
from dpcore.studies.named.cdf import cdf
from dpcore.studies.named.quantiles import quantiles
from tests.studies.test_digest import module, of

# What refers to code, and what is written instead of what in it.
HOLDERS = {
    "a vectorized function": ("np.vectorize(helper)", "VALUE(n)", "x + 1", "x + 2"),
    "a method with arguments": ("Partial()", "VALUE.twice()", "x + 1", "x + 2"),
    "a default that is made": (
        "defaultdict(lambda: 1)",
        "VALUE.default_factory()",
        "lambda: 1",
        "lambda: 2",
    ),
    "a queue": ("deque([helper])", "VALUE[0](n)", "x + 1", "x + 2"),
    "a namespace": ("SimpleNamespace(f=lambda: 1)", "VALUE.f()", "lambda: 1", "lambda: 2"),
    "slots": ("Slots(lambda: 1)", "VALUE.f()", "lambda: 1", "lambda: 2"),
    "a method of a list": ("List([1])", "VALUE.width()", "return 7", "return 8"),
    "what is in such a list": ("List([1])", "VALUE[0]", "List([1])", "List([2])"),
    "a method of a named tuple": ("Pair(1)", "VALUE.width()", "return 7", "return 8"),
    "a method of a metaclass": ("Meta('A', (), {})", "VALUE.width()", "return 7", "return 8"),
    "a masked array": ("np.ma.array([1, 2], mask=[0, 1])", "VALUE.sum()", "[0, 1]", "[1, 0]"),
    "a pattern": ("re.compile('a')", "bool(VALUE.match('b'))", "'a'", "'b'"),
    "a distribution": ("scipy.stats.norm(0, 2)", "VALUE.rvs(random_state=rng)", "0, 2", "0, 3"),
    "what is computed once": ("Lazy(3)", "VALUE.lazy", "Lazy(3)", "Lazy(4)"),
    "a method of a set": ("Set([1])", "VALUE.width()", "return 7", "return 8"),
    "a set": ("{helper}", "len(VALUE)", "x + 1", "x + 2"),
}

SOURCE = """
import functools, re
from collections import defaultdict, deque
from types import SimpleNamespace
from typing import NamedTuple
import numpy as np
import scipy.stats

def helper(x):
    return x + 1

class Width:
    def width(self):
        return 7

class Slots:
    __slots__ = ("f",)
    def __init__(self, f):
        self.f = f

class List(Width, list): pass
class Set(Width, set): pass
class Meta(Width, type): pass

class Pair(NamedTuple):
    first: int
    def width(self):
        return 7

class Lazy(Width):
    def __init__(self, base):
        self.base = base
    @functools.cached_property
    def lazy(self):
        return 9 * self.base

class Partial:
    twice = functools.partialmethod(lambda self, x: x + 1, 2)

VALUE = {value}

def function(n, rng):
    return {{"x": {use}}}
"""


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_objects_hold_is_seen(tmp_path, holder):
    value, use, before, after = HOLDERS[holder]
    source = SOURCE.format(value=value, use=use)
    made = module(tmp_path, source, "user_holder")
    first = digest(made.function)
    made.function(0, None) if holder != "a distribution" else made.VALUE.rvs()
    assert digest(made.function) == first == digest(module(tmp_path, source, "user_h").function)
    changed = module(tmp_path, source.replace(before, after), "user_holder")
    assert digest(changed.function)[0] != first[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lambda e: e**2 / 2", "lambda e: e**2 / 3"),
        ("functools.partial(helper, 1)", "functools.partial(helper, 2)"),
        ("Lazy(1).width", "Lazy(2).width"),
        ("[helper, Width]", "[Width, helper]"),
        ("{1.5, 'a'}", "{1.5, 'b'}"),
        ("np.float32(1)", "np.float64(1)"),
        ("frozenset({'a', 'b'})", "{'a', 'c'}"),
        ("Lazy(helper)", "Lazy(Width)"),
        ("helper", "Width"),
    ],
)
def test_values_are_seen(tmp_path, one, other):
    source = SOURCE.format(value=f"[{one}, {one}, {other}]", use="VALUE")
    first, again, changed = map(digest, module(tmp_path, source).VALUE)
    assert first == again != changed


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
        (tmp_path / "user_folder" / "helpers.py").write_text(f"def f(x):\n    return x + 1{at}\n")
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
