"""One decorator for every kernel, and one for functions that only kernels call.

Both only mark a function: Numba is imported when a kernel is called first.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, TypeVar, cast

from . import _cache

_Function = TypeVar("_Function", bound=Callable[..., object])
_inner: list[Callable[..., object]] = []  # functions that Numba does not know yet
_lock = threading.RLock()  # held while Numba compiles, reads or writes machine code
_free = _lock.release
if hasattr(os, "register_at_fork"):  # nothing is half compiled in a child
    os.register_at_fork(before=_lock.acquire, after_in_parent=_free, after_in_child=_free)

KERNELS: list[Kernel] = []  # of the modules that this process has imported
PATIENCE = 1.0  # after how many seconds of compiling it is said, once


def kernel(function: _Function) -> _Function:
    """Compile on first call, without the GIL, cached on disk, with IEEE arithmetic.

    No ``fastmath``, no ``parallel``: threads are the caller's, over chunks, which makes results
    independent of how many there are. Arguments of other types raise an error of Numba's.
    """
    KERNELS.append(Kernel(function))
    return cast(_Function, KERNELS[-1])


def inner(function: _Function) -> _Function:
    """Compile as a part of the kernels that call it; interpreted if Python calls it.

    Divisions by 0 are infinite or NaN as in IEEE, instead of a check and an exception in each.
    """
    _inner.append(function)
    return function


class Kernel:
    """A function that Python and kernels call: Numba's dispatcher, made when it is first needed."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        update_wrapper(cast(Callable[..., object], self), function)

    def __reduce__(self) -> str:  # copied and pickled by name, as functions are
        return self.py_func.__qualname__

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for the types of the arguments."""
        try:
            return self.dispatcher(*arguments)
        except Exception as error:  # damaged files can raise anything
            if not self._was_about_files(error, arguments):
                raise
            _cache.warn(f"{type(error).__name__} in {_cache.folder()}")
            self.dispatcher = self._uncached
        return self.dispatcher(*arguments)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's compiler and caller of this kernel, with its machine code on disk."""
        if _numba().config.DISABLE_JIT:
            return self.py_func
        with contextlib.suppress(RuntimeError):  # there is no folder; or it asked others for one
            cached = _numba().njit(self.py_func, nogil=True, cache=True)
            if cached.stats.cache_path == str(_cache.folder()):
                return cached
        return self._uncached

    @cached_property
    def _uncached(self) -> Any:
        return _numba().njit(self.py_func, nogil=True)

    @property
    def _numba_type_(self) -> Any:  # Numba asks for the type of a global of a function
        return self._uncached._numba_type_

    def _was_about_files(self, error: Exception, arguments: tuple[Any, ...]) -> bool:
        """Return whether machine code could not be read or written; the kernel has not run then."""
        if self.dispatcher in (self.py_func, self._uncached) or "numba" in type(error).__module__:
            return False
        types = tuple(map(_numba().typeof, arguments))
        return isinstance(error, OSError) or types not in self.dispatcher.signatures


def _numba() -> Any:
    """Return Numba, which knows where kernels are kept, and all inner functions so far."""
    import numba

    _prepare()
    while _inner:
        numba.extending.register_jitable(error_model="numpy")(_inner.pop())
    return numba


@cache
def _prepare() -> None:
    from numba.core import event

    class Lock(event.Listener):  # type: ignore[misc]
        def on_start(self, told: Any) -> None:
            _lock.acquire()

        def on_end(self, told: Any) -> None:
            _cache.end_writing()
            with contextlib.suppress(RuntimeError):  # it began before we listened
                _lock.release()

    class Compile(event.Listener):  # type: ignore[misc]
        depth = 0

        def on_start(self, told: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.had_collections = gc.isenabled()
                gc.disable()  # collections take a sixth of the time, and find little
                is_ours = told.data["dispatcher"].py_func.__module__.startswith(__package__)
                self.timer = threading.Timer(PATIENCE, _say if is_ours else int)
                self.timer.daemon = True
                self.timer.start()

        def on_end(self, told: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.timer.cancel()
                if self.had_collections:
                    gc.enable()

    _cache.register()
    event.register("numba:compiler_lock", Lock())
    event.register("numba:compile", Compile())


@cache
def _say() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error is closed
        where = _cache.folder() or "no folder: each process compiles them"
        sys.stderr.write(f"dpcore: compiling kernels, once: kept in {where}\n")
        sys.stderr.flush()
