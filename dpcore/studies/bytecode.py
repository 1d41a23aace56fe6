"""A function as text: its instructions, without line numbers, comments and docstrings."""

from __future__ import annotations

import ast
import dis
import functools
import linecache
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, Final

__all__ = ["every_code", "global_names", "text_of"]

_EMPTY: Final = frozenset({"NOP", "CACHE", "EXTENDED_ARG"})  # these depend on the layout
_JUMPS: Final = frozenset({*dis.hasjrel, *dis.hasjabs})
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def text_of(code: CodeType) -> str:
    """Return the instructions of a code object and of the code objects in it, one on each line.

    Python runs instructions, not the source. They exist without a file, and an edit of the file
    does not change them. Another version of Python has other instructions. Some instructions depend
    on where lines end. So if the source is the code that runs, it is compiled without lines.
    """
    linecache.checkcache(code.co_filename)
    source = "".join(linecache.getlines(code.co_filename))
    return "\n".join(_lines(_without_lines(source).get(code, code)))


def every_code(code: CodeType) -> Iterator[CodeType]:
    """Return a code object and all code objects in it: inner functions and comprehensions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from every_code(constant)


def global_names(code: CodeType) -> set[str]:
    """Return the global names that a code object, or one in it, reads."""
    return {
        str(instruction.argval)
        for inner in every_code(code)
        for instruction in dis.get_instructions(inner)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


@functools.lru_cache(maxsize=64)
def _without_lines(source: str) -> Mapping[CodeType, CodeType]:
    """Return each code object of a source, compiled with each function on one line."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return _pairs(source)
    except (SyntaxError, ValueError, RecursionError):  # for example, magic commands of a notebook
        return {}


def _pairs(source: str) -> Mapping[CodeType, CodeType]:
    tree = ast.parse(source)
    written = compile(tree, "", "exec", dont_inherit=True)
    scopes = [node for node in ast.walk(tree) if isinstance(node, _SCOPES)]
    for line, scope in enumerate([tree, *scopes], start=1):  # outer scopes first
        for node in ast.walk(scope):
            if "lineno" in node._attributes:
                vars(node).update(lineno=line, end_lineno=line, col_offset=0, end_col_offset=0)
    flat = compile(tree, "", "exec", dont_inherit=True)
    return dict(zip(every_code(written), every_code(flat), strict=True))


def _lines(code: CodeType) -> Iterator[str]:
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    yield f"{arguments} {code.co_flags & 0xFF}"
    bytecode = dis.Bytecode(code)
    kept = [instruction for instruction in bytecode if instruction.opname not in _EMPTY]
    offsets = [instruction.offset for instruction in kept]
    for instruction in kept:
        value: Any = instruction.argval
        if instruction.opcode in _JUMPS:
            yield f"{instruction.opname} {bisect_left(offsets, value)}"
        elif isinstance(value, CodeType):
            yield instruction.opname
            yield from _lines(value)
        else:
            yield f"{instruction.opname} {_constant(value)}"
    for entry in getattr(bytecode, "exception_entries", ()):
        places = [bisect_left(offsets, at) for at in (entry.start, entry.end, entry.target)]
        yield f"try {places} {entry.depth}"


def _constant(value: Any) -> str:
    """Return a constant as text. The members of sets are sorted."""
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    return repr(value)
