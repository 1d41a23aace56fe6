"""Machine code on disk: a folder that cannot go stale, and files that may be damaged.

Numba's on-disk cache looks at the file that defines a function and not at the files which that
function calls into, so an edited helper can leave old machine code in use. Here the cache folder
is named by a hash of all kernel sources: an edit anywhere in ``kernels/`` starts a new folder.

Nor does Numba's cache expect a file to be cut off or overwritten, or a full disk. Here whatever
goes wrong with a file means what its absence does: the kernel is compiled. Machine code comes with
its digest, since the wrong machine code does not raise.
"""

# mypy: disallow-untyped-calls=False
# (Numba's cache has no annotations.)

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path

from numba.core import caching, sigutils, types
from numba.core.base import BaseContext
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.typing.templates import Signature

_Signature = Signature | tuple[types.Type, ...]


def sources_digest() -> str | None:
    """Return a hash of all kernel sources, or None where there are none to be seen."""
    digest = hashlib.blake2b(digest_size=8)
    folder = Path(__file__).parent
    paths = sorted(folder.rglob("*.py"))
    for path in paths:
        name = path.relative_to(folder).as_posix().encode()
        digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest() if paths else None


def _root() -> Path:
    """Return where caches are. A variable that is empty is one that is not set."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        variable, usual = "LOCALAPPDATA", Path("AppData", "Local")
    elif sys.platform == "darwin":
        variable, usual = "", Path("Library", "Caches")
    else:
        variable, usual = "XDG_CACHE_HOME", Path(".cache")
    # Not below the current folder, which may be anybody's: whoever can write to a cache can run
    # code here.
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else Path.home() / usual


def _writable_folder() -> Path | None:
    """Return the cache folder, made if need be, or None where nothing can be kept."""
    try:
        digest, root = sources_digest(), _root()
        if digest is None or not root.is_absolute():
            return None
        folder = root / "dpcore" / f"kernels-{digest}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None
    return folder if os.access(folder, os.W_OK) else None


FOLDER = _writable_folder()


class _Locator(caching._CacheLocator):
    """Says where a kernel's files are: all in the one folder, whose name is their stamp."""

    def __init__(self, function: Callable[..., object], folder: Path) -> None:
        # Files of several folders have the same name; nor are lines enough to tell them apart.
        self._place = f"{function.__module__}-{function.__code__.co_firstlineno}"
        self._folder = folder

    @classmethod
    def from_function(cls, function: Callable[..., object], path: str) -> _Locator | None:
        return None if FOLDER is None else cls(function, FOLDER)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._folder.name

    def get_disambiguator(self) -> str:
        return self._place


class _Sealed(caching.CompileResultCacheImpl):
    """What is kept of a compiled kernel: its pickle, and the pickle's digest."""

    _locator_classes = [_Locator]  # noqa: RUF012 (Numba's type)

    def reduce(self, compiled: CompileResult) -> tuple[bytes, bytes]:
        pickled = dumps(super().reduce(compiled))
        return hashlib.blake2b(pickled).digest(), pickled

    def rebuild(self, target: BaseContext, sealed: tuple[bytes, bytes]) -> CompileResult:
        digest, pickled = sealed
        if hashlib.blake2b(pickled).digest() != digest:
            raise ValueError("damaged")
        compiled: CompileResult = super().rebuild(target, pickle.loads(pickled))
        return compiled


class KernelCache(caching.FunctionCache):
    """Numba's cache of a function, for which no file is needed or trusted to be whole."""

    _impl_class = _Sealed

    def load_overload(self, signature: _Signature, target: BaseContext) -> CompileResult | None:
        """Return the compiled kernel, or None, without the file that could not be read."""
        try:
            found: CompileResult | None = super().load_overload(signature, target)
        except Exception:  # which of them a damaged pickle raises is anyone's guess
            self._drop_index()
            return None
        asked = sigutils.normalize_signature(signature)[0]
        # Two processes that save at once can leave one's name for the other's file.
        if found is None or found.signature.args != asked:  # type: ignore[attr-defined]
            return None
        return found

    def save_overload(self, signature: _Signature, compiled: CompileResult) -> None:
        """Keep the compiled kernel, if there is space."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, compiled)

    def _drop_index(self) -> None:
        """Remove the list of this kernel's files, which are then written anew."""
        try:
            os.unlink(self._cache_file._index_path)
        except FileNotFoundError:
            pass  # another process was faster
        except OSError:
            self.disable()
