"""Digests of code: how arguments, classes and constants are written, each seen by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from dpcore.studies.digest import digest
from tests.studies.test_digest import of

# A source, and what is written instead of what in it.
SEEN = {
    "a default of a keyword": ("def h(*, k=1): return k", "k=1", "k=2"),
    "names of keywords": ("def h(k=1, *, i=1): return 2 * i + k", "(k=1, *, i=1)", "(i=1, *, k=1)"),
    "the order of arguments": ("def h(a=1, b=2): return 0", "a=1, b=2", "b=1, a=2"),
    "any number of arguments": ("def h(*a): return len(str(a))", "*a", "a=()"),
    "any keywords": ("def h(**a): return len(str(a))", "**a", "*a"),
    "what an inner class reads": (
        "K = 1\ndef h():\n class A: x = K\n return A.x",
        "K = 1",
        "K = 2",
    ),
    "what an inner function reads": (
        "K = 1\ndef h():\n def g(): return K\n return g()",
        "K = 1",
        "K = 2",
    ),
    "a generator": ("def h(): return sum(i for i in (1, 2))", "(1, 2)", "(1, 3)"),
    "a set in the code": ("def h(): return 1 in {1, 2}", "{1, 2}", "{1, 3}"),
    "a number's type": ("def h(): return 7 // 2", "// 2", "// 2.0"),
    "a sign of zero": ("def h(x=1): return x * 0.0", "0.0", "-0.0"),
    "a truth": ("def h(x=1): return x == 1", "== 1", "== True"),
    "a property": ("class A:\n @property\n def x(self): return 7\ndef h(): return A().x", "7", "8"),
    "a static method": (
        "class A:\n @staticmethod\n def x(): return 7\ndef h(): return A.x()",
        "7",
        "8",
    ),
    "a class method": (
        "class A:\n @classmethod\n def x(cls): return 7\ndef h(): return A.x()",
        "7",
        "8",
    ),
    "what is computed once": (
        "from functools import cached_property\n"
        "class A:\n @cached_property\n def x(self): return 7\ndef h(): return A().x",
        "7",
        "8",
    ),
    "what a class is made of": (
        "class A: x = 7\nclass B: x = 8\nclass C(A): pass\ndef h(): return C.x",
        "C(A)",
        "C(B)",
    ),
    "one of some": (
        "import enum\nclass E(enum.Enum):\n A = 1\n B = 2\nO = E.A\ndef h(): return O.value",
        "O = E.A",
        "O = E.B",
    ),
    "the value of one of some": (
        "import enum\nclass E(enum.Enum):\n A = 1\nO = E.A\ndef h(): return O.value",
        "A = 1",
        "A = 2",
    ),
    "what decorators close over": (
        "import functools\n"
        "def times(k):\n def made(f):\n  @functools.wraps(f)\n"
        "  def g(): return k * f()\n  return g\n return made\n"
        "@times(3)\ndef h(): return 1",
        "times(3)",
        "times(4)",
    ),
    "what decorators wrap": (
        "import functools\ndef twice(f):\n @functools.wraps(f)\n def g(): return 2 * f()\n"
        " return g\n@twice\ndef h(): return 1",
        "return 1",
        "return 3",
    ),
    "what a module holds, in what is closed over": (
        "import string\ndef made(m):\n def g(): return len(m.digits)\n return g\nh = made(string)",
        "string",
        "keyword",
    ),
}


@pytest.mark.parametrize("what", SEEN)
def test_changes_are_seen(tmp_path, what):
    source, before, after = SEEN[what]
    source += "\ndef function(n, rng): return {'x': h()}\n"
    assert of(tmp_path, source) == of(tmp_path, source)
    assert of(tmp_path, source) != of(tmp_path, source.replace(before, after))


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
        subprocess.run(
            [sys.executable, tmp_path / "script.py"],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }
    assert len(printed) == 1
