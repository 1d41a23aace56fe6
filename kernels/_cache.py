"""Where the machine code of kernels is kept: files that cannot go stale.

Numba's own files look at the file that defines a function, not at other files whose functions it
calls, and two processes can mix them up. Here the folder's name contains a hash of all kernel
sources, and a file's name a hash of the rest that its machine code depends on. This includes what
the process has imported: Python may run old bytecode beside new sources.
"""

# mypy: disable-error-code="no-untyped-call"
# (Numba's caches have no annotations.)

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import pickle
import re
import sys
import uuid
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


def sources_digest() -> str:
    """Return a hash of all kernel sources."""
    digest, home = hashlib.sha256(), os.path.dirname(__file__)
    for path in sorted(glob.iglob("**/*.py", root_dir=home, recursive=True)):
        with open(os.path.join(home, path), "rb") as file:  # quick: each file of code is checked
            digest.update(path.encode() + b"\0" + file.read() + b"\0")
    return digest.hexdigest()[:16]


_SOURCES = sources_digest()  # of what this process imports
_FOLDER = "set NUMBA_CACHE_DIR to a folder that can be written to"


class NotKeptError(RuntimeError):
    """Machine code cannot be kept, for a reason that no other folder changes."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.advice = advice


@cache
def folder() -> Path | None:
    """Return the folder, made if need be; None, with a warning, if nothing can be kept.

    Its name also contains versions and Numba's settings. It may be read-only.
    """
    import llvmlite
    import numba

    names = sorted(name for name in vars(numba.config) if name.isupper())
    names = [name for name in names if not re.search("CACHE|CUDA|THREAD", name)]  # no matter
    settings = [(name, getattr(numba.config, name)) for name in names]
    versions = sys.version, np.__version__, numba.__version__, llvmlite.__version__
    try:
        made = _root() / f"kernels-{_SOURCES}" / _short((versions, settings))
        made.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        warn(error)
        return None
    return made


def _root() -> Path:
    """Return dpcore's folder of caches. An empty environment variable counts as not set."""
    usual = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, below_home = usual.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    if not Path(__file__).with_suffix(".py").is_file():
        raise NotKeptError("no files of their sources", "install dpcore with its .py files")
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen).absolute() / "dpcore"
    given = Path(os.environ.get(variable, ""))
    root = given if given.is_absolute() else Path.home() / below_home
    # A person who can write to a cache can run code here, and the current folder can be anybody's.
    if not root.is_absolute():
        raise OSError("no home folder")
    return root / "dpcore"


def warn(error: Exception) -> None:
    """Warn, once, that something cannot be kept. Never raise: a release may have begun."""
    advice = error.advice if isinstance(error, NotKeptError) else _FOLDER
    _warn(str(getattr(error, "strerror", None) or error), advice)


@cache
def _warn(reason: str, advice: str) -> None:
    text = f"dpcore: each process compiles kernels, as they cannot be kept ({reason}); {advice}"
    with contextlib.suppress(Exception):  # warnings are errors; standard error is closed
        warnings.warn(text, RuntimeWarning, stacklevel=4)


class Files:
    """What Numba takes for a kernel's cache: a file for each combination of argument types.

    It appears whole, so processes that write at the same time need no lock. It begins with a hash
    of its name and the rest; if that is wrong, it is written anew. No method raises.
    """

    def __init__(self, function: Callable[..., object], place: Path) -> None:
        self._function, self._name = function, f"{function.__module__}.{function.__qualname__}"
        self._place, self.cache_path = place, str(place)

    def load_overload(self, types: Any, target: Any) -> Any:
        """Return what was compiled for these types, or None."""
        from numba.core.compiler import CompileResult

        target.refresh()  # as Numba's caches do
        try:
            path = self._path(types, target.codegen())
            content = path.read_bytes()
            if content[:32] == _digest(path, content[32:]):
                return CompileResult._rebuild(target, *pickle.loads(content[32:]))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except Exception as error:
            warn(error)
        return None

    def save_overload(self, types: Any, compiled: Any) -> None:
        """Keep what was compiled."""
        from numba.core.serialize import dumps

        try:
            if compiled.library.has_dynamic_globals:  # addresses in this process
                return
            path, data = self._path(types, compiled.codegen), dumps(compiled._reduce())
            fresh = path.with_suffix(f".{uuid.uuid4().hex}")
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                fresh.write_bytes(_digest(path, data) + data)
                fresh.replace(path)
            finally:
                fresh.unlink(missing_ok=True)
        except Exception as error:
            warn(error)

    def _path(self, types: Any, codegen: Any) -> Path:
        if sources_digest() != _SOURCES:  # this process may have imported old and new ones
            raise NotKeptError("the sources of kernels have changed", "start the process again")
        rest = types, codegen.magic_tuple(), _content(self._function, set())
        return self._place / f"{self._name}-{_short(rest)}.nbc"


def _content(value: Any, seen: set[int]) -> object:
    """Return what machine code of a global is made of: bytecode, constants, and their globals."""
    function = getattr(value, "py_func", value)  # of a kernel
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, ModuleType):
        return value.__name__
    if not isinstance(function, FunctionType):
        return repr(value)
    if id(function) in seen:
        return function.__qualname__
    seen.add(id(function))
    codes = [function.__code__]
    for code in codes:  # nested functions are appended on the way
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    names = sorted({name for code in codes for name in code.co_names} & set(function.__globals__))
    return (
        [(code.co_code, code.co_names, code.co_varnames, _constants(code)) for code in codes],
        [cell.cell_contents for cell in function.__closure__ or ()],
        [(name, _content(function.__globals__[name], seen)) for name in names],
    )


def _constants(code: CodeType) -> list[str]:
    return [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]


def _digest(path: Path, data: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + data).digest()


def _short(whole: object) -> str:
    return hashlib.sha256(repr(whole).encode()).hexdigest()[:16]
