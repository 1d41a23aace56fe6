"""Where the machine code of kernels is kept: a folder that cannot go stale.

Numba's cache looks at the file that defines a function, not at other files whose functions it
calls. So the folder's name contains a hash of all kernel sources, and an edit anywhere in
``kernels/`` starts a new folder. Numba asks its *cache locators* for a folder. Ours answers for
kernels only, so other packages keep their caches.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO

import numpy as np

_NO_MATTER = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}  # settings that do not change machine code
_writing: list[IO[bytes]] = []  # the lock file, while this process writes
_warnings: list[str] = []


def sources_digest() -> str:
    """Return a hash of all kernel sources."""
    digest, home = hashlib.sha256(), Path(__file__).parent
    for path in sorted(home.rglob("*.py")):
        name = path.relative_to(home).as_posix().encode()
        digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def folder() -> Path | None:
    """Return the folder, made if need be. It may be read-only, as in an image for containers.

    Returns None, with a warning, if nothing can be kept.
    """
    try:
        made = _root() / "dpcore" / f"kernels-{sources_digest()}" / _settings()
        made.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        warn(error)
        return None
    return made


def _root() -> Path:
    """Return the folder of caches. An empty environment variable counts as not set."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        variable, usual = "LOCALAPPDATA", Path("AppData", "Local")
    elif sys.platform == "darwin":
        variable, usual = "", Path("Library", "Caches")
    else:
        variable, usual = "XDG_CACHE_HOME", Path(".cache")
    given = Path(os.environ.get(variable, ""))
    root = given if given.is_absolute() else Path.home() / usual
    # A person who can write to a cache can run code here, and the current folder can be anybody's.
    if not root.is_absolute() or not Path(__file__).is_file():
        raise OSError("there is no home folder, or no folder of sources")
    return root


def _settings() -> str:
    """Return a hash of what machine code depends on and Numba's cache does not look at."""
    import llvmlite
    import numba

    names = sorted(name for name in os.environ if name.startswith("NUMBA_"))
    settings = [(name, os.environ[name]) for name in names if name not in _NO_MATTER]
    versions = sys.version, np.__version__, numba.__version__, llvmlite.__version__
    text = repr((versions, settings)).encode()
    with contextlib.suppress(OSError):
        text += Path(".numba_config.yaml").read_bytes()
    return hashlib.sha256(text).hexdigest()[:16]


def warn(reason: object) -> None:
    """Warn, once, that something cannot be kept. Never raise: a release may have begun."""
    if not _warnings:
        _warnings.append(
            f"dpcore: machine code cannot be kept, and each process compiles again ({reason});"
            " set NUMBA_CACHE_DIR to a folder that can be written to, or empty it"
        )
        with contextlib.suppress(RuntimeWarning):
            warnings.warn(_warnings[0], RuntimeWarning, stacklevel=2)


def begin_writing() -> None:
    """Let one process write at a time; an OSError if nothing can be written, or sources changed.

    Numba numbers the files of a kernel. Two processes that write at the same time could give two of
    them one number, and machine code would be called with arguments of other types.
    """
    place = folder()
    if place is None or place.parent.name != f"kernels-{sources_digest()}":
        raise OSError("the sources of kernels have changed")
    file = (place / ".lock").open("ab")
    _writing.append(file)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)


def end_writing() -> None:
    """Let other processes write."""
    while _writing:
        _writing.pop().close()


@cache
def register() -> None:
    """Tell Numba where kernels are kept."""
    from numba.core import caching

    class Locator(caching._CacheLocator):  # type: ignore[misc]
        def __init__(self, function: Callable[..., object]) -> None:
            # Files of several folders have the same name; nor are lines enough to tell them apart.
            self._kernel = f"{function.__module__}-{function.__code__.co_firstlineno}"

        @classmethod
        def from_function(cls, function: Callable[..., object], path: str) -> Locator | None:
            is_ours = function.__module__.startswith(f"{__package__}.") and folder() is not None
            return cls(function) if is_ours else None

        def get_cache_path(self) -> str:
            return str(folder())

        def get_source_stamp(self) -> str:
            return ""  # the folder is for these sources

        def get_disambiguator(self) -> str:
            return self._kernel

        def ensure_cache_path(self) -> None:
            begin_writing()  # Numba writes next

    caching.CompileResultCacheImpl._locator_classes.insert(0, Locator)
