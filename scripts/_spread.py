"""How far single ideas are spread over the library; ``scripts/weigh.py`` prints these numbers.

A mechanism, a trust model or a container is at home in one file. Other files that name it, or ask
whether an object is one, are places to change when another one is added.
"""

import ast
import json
import re
import statistics
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _environment import ROOT, python

__all__ = ["lines"]

_LIBRARY = ROOT / "dpcore"
_MODELS = _LIBRARY / "trust" / "models"
_TRACED = """
import json, sys
import numpy, dpcore
from dpcore.privacy.allowance import Allowance

values = numpy.random.default_rng(1).random(1_000)
grid = dpcore.Grid.uniform(0, 1, 128)
for _ in range(5):  # the first calls compile, and fill what is cached
    dpcore.cdf(values, grid, epsilon=1.0)
seen, counted, calls = set(), {}, []

def watch(frame, event, argument):
    file = frame.f_code.co_filename
    if event == "c_call" and argument is isinstance:
        counted["isinstance"] += 1
    if event != "call" or "dpcore" not in file:
        return
    if any(local is values for local in frame.f_locals.values()):
        seen.add((file, frame.f_code.co_qualname))
    counted["allowances"] += frame.f_code is Allowance.checked.__func__.__code__
    counted["curves"] += frame.f_code is dpcore.CDF.__post_init__.__code__

for _ in range(9):  # now and then the noise needs a tree that was not made before
    counted = dict.fromkeys(("isinstance", "allowances", "curves"), 0)
    sys.setprofile(watch)
    dpcore.cdf(values, grid, epsilon=1.0)
    sys.setprofile(None)
    calls.append(counted)
least = {name: min(counted[name] for counted in calls) for name in counted}
print(json.dumps({"functions": len(seen), "files": len({file for file, _ in seen}), **least}))
"""


def lines() -> Iterator[tuple[str, str]]:
    """Yield what was counted, and the number."""
    sources = {path: path.read_text("utf-8") for path in sorted(_LIBRARY.rglob("*.py"))}
    mechanisms = _defined(sources, "Mechanism")
    naming = {name: len(_naming(name, sources)) for name in mechanisms}
    most = max(naming, key=lambda name: naming[name])
    yield (
        "files that name a mechanism, beside its own, mean",
        f"{statistics.mean(naming.values()):.1f}",
    )
    yield f"the most, {most}", str(naming[most])
    outside = {path: text for path, text in sources.items() if _MODELS not in path.parents}
    yield (
        "isinstance of a trust model, outside trust/models",
        str(_asked(outside, _models(sources))),
    )
    yield "names with an underscore, imported from other rooms", str(_private_imports(sources))
    traced = json.loads(subprocess.check_output([str(python()), "-c", _TRACED], cwd=str(ROOT)))
    yield "functions that hold the values of a cdf", str(traced["functions"])
    yield "files of these functions", str(traced["files"])
    yield "isinstance in a cdf of 1,000 values", str(traced["isinstance"])
    yield "allowances checked in it", str(traced["allowances"])
    yield "curves made in it", str(traced["curves"])


@cache
def _classes(text: str) -> list[ast.ClassDef]:
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def _defined(sources: dict[Path, str], base: str) -> dict[str, Path]:
    """Return the public subclasses of a base, in any depth, with their files."""
    bases = {base}
    kinds: dict[str, Path] = {}
    while True:
        before = len(bases)
        for path, text in sources.items():
            for kind in _classes(text):
                named = {ast.unparse(parent).rpartition(".")[2] for parent in kind.bases}
                if named & bases:
                    bases.add(kind.name)
                    kinds[kind.name] = path
        if len(bases) == before:
            return {name: path for name, path in kinds.items() if not name.startswith("_")}


def _models(sources: dict[Path, str]) -> set[str]:
    """Return the names of the classes in trust/models that are mechanisms."""
    kinds = _defined(sources, "Mechanism")
    return {name for name, path in kinds.items() if _MODELS in path.parents}


def _naming(name: str, sources: dict[Path, str]) -> list[Path]:
    """Return the files that name a class in code, but for its own and the lists of packages."""
    word = re.compile(rf"\b{name}\b")
    own = {path for path, text in sources.items() if any(k.name == name for k in _classes(text))}
    return [
        path
        for path, text in sources.items()
        if path not in own and path.name != "__init__.py" and word.search(_code(text))
    ]


@cache
def _code(text: str) -> str:
    """Return the source without docstrings and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = None
    return ast.unparse(tree)


def _asked(sources: dict[Path, str], names: set[str]) -> int:
    """Return how often a source asks whether an object is one of these classes."""
    calls = (
        node
        for text in sources.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    )
    return sum(
        any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(call.args[1]))
        for call in calls
    )


def _private_imports(sources: dict[Path, str]) -> int:
    """Return how many names with an underscore are imported from another room."""
    return sum(
        alias.name.startswith("_")
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.level != 1
        and path.parent != _LIBRARY
        for alias in node.names
    )
