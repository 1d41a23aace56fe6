"""Where the machine code of kernels is kept: a folder that cannot go stale.

Numba's cache looks at the file that defines a function, not at other files whose functions it
calls. So the folder's name contains a hash of all kernel sources: an edit anywhere starts a new
folder. Numba asks its *cache locators* for a folder. Ours answers for kernels only.
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


def sources_digest() -> str:
    """Return a hash of all kernel sources."""
    digest, home = hashlib.sha256(), Path(__file__).parent
    for path in sorted(home.rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def folder() -> Path | None:
    """Return the folder, made if need be; None, with a warning, if nothing can be kept.

    Its name also contains what Numba's cache does not look at. It may be read-only.
    """
    import numba

    names = sorted(name for name in os.environ.keys() - _NO_MATTER if name.startswith("NUMBA_"))
    versions = sys.version, np.__version__, numba.__version__
    whole = repr((versions, [(name, os.environ[name]) for name in names])).encode()
    try:
        made = _root() / f"kernels-{sources_digest()}" / hashlib.sha256(whole).hexdigest()[:16]
        made.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        return warn(error)
    return made


def _root() -> Path:
    """Return dpcore's folder of caches. An empty environment variable counts as not set."""
    usual = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, below_home = usual.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    given = Path(os.environ.get(variable, ""))
    root = given if given.is_absolute() else Path.home() / below_home
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        root = Path(chosen).absolute()
    # A person who can write to a cache can run code here, and the current folder can be anybody's.
    if not root.is_absolute() or not Path(__file__).is_file():
        raise OSError("no home folder, or no files of sources")
    return root / "dpcore"


@cache
def warn(reason: object) -> None:
    """Warn that something cannot be kept. Never raise: a release may have begun."""
    text = f"dpcore: each process compiles kernels, as they cannot be kept ({reason}); set"
    text += " NUMBA_CACHE_DIR to a folder that can be written to"
    with contextlib.suppress(RuntimeWarning):
        warnings.warn(text, RuntimeWarning, stacklevel=3)


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

        def ensure_cache_path(self) -> None:  # Numba writes next
            _begin_writing(folder())

    caching.CompileResultCacheImpl._locator_classes.insert(0, Locator)


def _begin_writing(place: Path | None) -> None:
    """Let one process write at a time.

    Numba numbers the files of a kernel. Two processes could give two of them one number, and
    machine code would be called with arguments of other types.
    """
    if place is None or place.parent.name != f"kernels-{sources_digest()}":
        raise OSError("the sources of kernels have changed")
    _writing.append((place / ".lock").open("ab"))
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(_writing[-1].fileno(), msvcrt.LK_LOCK, 1)
    else:
        import fcntl

        fcntl.flock(_writing[-1], fcntl.LOCK_EX)


def end_writing() -> None:
    """Let other processes write."""
    while _writing:
        _writing.pop().close()
