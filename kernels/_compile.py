"""One decorator for every kernel, and a cache that cannot go stale.

Numba's on-disk cache looks at the file that defines a function and not at the files which that
function calls into, so an edited helper can leave old machine code in use. Here the cache folder
is named by a hash of all kernel sources: an edit anywhere in ``kernels/`` starts a new folder.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba.core import config

_Function = TypeVar("_Function", bound=Callable[..., object])


def _sources_digest() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _cache_root() -> Path:
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def _writable_cache() -> str | None:
    """Return the cache folder, made if need be, or None where nothing can be kept."""
    try:
        folder = _cache_root() / "dpcore" / f"kernels-{_sources_digest()}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


_CACHE = _writable_cache()


def kernel(function: _Function) -> _Function:
    """Compile on first call, without the GIL, cached on disk, with IEEE arithmetic.

    No ``fastmath``, no ``parallel``: threads are the caller's, over chunks, which makes results
    independent of how many there are.
    """
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    # Numba reads the folder when a function is decorated; afterwards it is put back.
    config.CACHE_DIR = _CACHE or before  # type: ignore[attr-defined]
    try:
        return cast(_Function, numba.njit(function, cache=_CACHE is not None, nogil=True))
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]


def inner(function: _Function) -> _Function:
    """Compile for kernels only: no entry from Python, which takes a good part of compilation.

    Not cached: a kernel's machine code holds all that it calls. Divisions by 0 are infinite or NaN
    as in IEEE, instead of a check and an exception in each.
    """
    return cast(
        _Function,
        numba.njit(  # type: ignore[call-overload]  # the stubs lack the last two
            function,
            nogil=True,
            error_model="numpy",
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
        ),
    )
