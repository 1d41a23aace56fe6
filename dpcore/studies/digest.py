"""The digest of a study's code: what its function is written as, and what it refers to."""

from __future__ import annotations

import ast
import dis
import functools
import hashlib
import inspect
import site
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["digest"]

_NAMED = f"{__package__}.named."  # the studies that come with dpcore
_CONSTANTS = bool | int | float | complex | str | bytes | None


def digest(function: Callable[..., Any], batch: int | None) -> str:
    """Return 16 hexadecimal digits that name the code of a function.

    They change with the function's source, with that of functions and classes that it refers to,
    directly or not, and with global constants: not with comments, layout and docstrings, and not
    with installed packages, whose versions are kept beside. What is bound at run time, such as
    methods of objects that are passed in, is not followed.
    """
    parts = sorted({f"{name} = {text}" for name, text in _followed(function, set())})
    whole = "\n".join([f"batch = {batch}", *parts])
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def _followed(found: Any, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Return the names and the texts of an object and of what it refers to."""
    found = _unwrapped(found)
    if id(found) in seen or _is_installed(found):
        return
    seen.add(id(found))
    yield getattr(found, "__qualname__", repr(found)), _source(found)
    for function in _functions(found):
        for name, value in _references(function):
            if isinstance(value, _CONSTANTS):
                yield name, repr(value)
            elif isinstance(value, np.ndarray):
                yield name, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            elif isinstance(value, list | tuple | set | frozenset | dict):
                for each in [*value, *(value.values() if isinstance(value, dict) else ())]:
                    if callable(each):
                        yield from _followed(each, seen)
                yield name, _plain(value)
            elif callable(value) and not isinstance(value, ModuleType):
                yield from _followed(value, seen)


def _unwrapped(found: Any) -> Any:
    """Return what is behind partial objects, caches, methods and studies."""
    while True:
        if isinstance(found, functools.partial):
            found = found.func
        elif inspect.ismethod(found):
            found = found.__func__
        elif hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        elif not isinstance(found, FunctionType | type) and callable(found):
            inner = getattr(found, "function", None)
            if inner is None:
                return type(found)
            found = inner
        else:
            return found


def _source(found: Any) -> str:
    """Return the code without comments, layout and docstrings; without a source, its bytes."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    except (OSError, TypeError, SyntaxError):
        return "".join(function.__code__.co_code.hex() for function in _functions(found))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            node.decorator_list = []  # the parameters of the study are in its table
    return ast.unparse(tree)


def _functions(found: Any) -> Iterator[FunctionType]:
    """Return a function itself, or the methods of a class."""
    if isinstance(found, FunctionType):
        yield found
    elif isinstance(found, type):
        for value in vars(found).values():
            inner = _unwrapped(getattr(value, "fget", None) or getattr(value, "__func__", value))
            if isinstance(inner, FunctionType) and inner.__module__ == found.__module__:
                yield inner


def _references(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the globals and the closed-over values that a function names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not yet bound
            continue
    for name in sorted(set(_global_names(function.__code__))):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _plain(value: Any) -> str:
    """Return a text of a container that is the same in each process: no addresses, sets sorted."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_plain, value))})"
    if isinstance(value, _CONSTANTS):
        return repr(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


@functools.cache
def _homes() -> tuple[Path, ...]:
    """Return where installed packages live."""
    paths = sysconfig.get_paths()
    found = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(Path(each).resolve() for each in found)


def _is_installed(found: Any) -> bool:
    name = getattr(found, "__module__", None) or ""
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return not name.startswith(_NAMED)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:  # built in; or written in a session, and then code of the study
        return module is not None and name != "__main__"
    path = Path(file).resolve()
    return any(path.is_relative_to(home) for home in _homes())
