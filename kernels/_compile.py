"""One decorator for every kernel, and one for functions that only kernels call.

Both only mark a function. Numba is imported when a kernel is called first.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from . import _cache

_Function = TypeVar("_Function", bound=Callable[..., object])

KERNELS: list[Kernel] = []
"""All kernels of the modules that this process has imported."""

_inner: list[Callable[..., object]] = []  # functions that Numba does not know yet


def kernel(function: _Function) -> _Function:
    """Compile on first call, without the GIL, cached on disk, with IEEE arithmetic.

    No ``fastmath``, no ``parallel``: threads are the caller's, over chunks, which makes results
    independent of how many there are.
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
    """A function that Python and kernels call: Numba's dispatcher, made when it is first needed.

    Arguments of other types than a kernel takes raise an error of Numba's.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        functools.update_wrapper(cast(Callable[..., object], self), function)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__name__}>"

    def __reduce__(self) -> str:  # copied and pickled by name, as functions are
        return self.py_func.__qualname__

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for the types of the arguments."""
        try:
            return self.dispatcher(*arguments)
        except Exception as error:
            if not self._was_about_files(error, arguments):
                raise
            _cache.warn(f"{type(error).__name__} for {self!r} in {_cache.folder()}: {error}")
            self.dispatcher = self._uncached
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's compiler and caller of this kernel, with its machine code on disk."""
        if _numba().config.DISABLE_JIT:
            return self.py_func
        if (folder := _cache.folder()) is None:
            return self._uncached
        with contextlib.suppress(RuntimeError):  # Numba was told to ask other locators only
            cached = _numba().njit(self.py_func, nogil=True, cache=True)
            if cached.stats.cache_path == str(folder):
                return cached
        _cache.warn("Numba would use another folder, where it does not see all edits")
        return self._uncached

    @functools.cached_property
    def _uncached(self) -> Any:
        return _numba().njit(self.py_func, nogil=True)

    @property
    def _numba_type_(self) -> Any:  # Numba asks for the type of a global of a function
        return self._uncached._numba_type_

    def _was_about_files(self, error: Exception, arguments: tuple[Any, ...]) -> bool:
        """Return whether a call failed because machine code could not be read or written.

        The kernel has not run then. Reading a damaged file may raise anything.
        """
        if self.dispatcher in (self.py_func, self._uncached) or "numba" in type(error).__module__:
            return False
        try:
            types = tuple(map(_numba().typeof, arguments))
        except Exception:  # Numba has no such type, and did not look for machine code
            return False
        return isinstance(error, OSError) or types not in self.dispatcher.signatures


@functools.cache
def _prepared() -> Any:
    """Return Numba, which knows our folder and tells us when it compiles."""
    import numba
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def __init__(self, start: Callable[[], object], end: Callable[[], object]) -> None:
            self._start, self._end = start, end

        def on_start(self, told: Any) -> None:
            self._start()

        def on_end(self, told: Any) -> None:
            self._end()

    _cache.register()
    event.register("numba:compiler_lock", Listener(_lock.acquire, _release))
    event.register("numba:compile", Listener(waiting.begin, waiting.end))
    return numba


def _numba() -> Any:
    """Return Numba, which knows all inner functions that are imported so far."""
    numba = _prepared()
    while _inner:
        numba.extending.register_jitable(error_model="numpy")(_inner.pop())
    return numba


_lock = threading.RLock()  # held while Numba compiles, reads or writes machine code
if hasattr(os, "register_at_fork"):  # nothing is half compiled in a child
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def _release() -> None:
    _cache.end_writing()
    with contextlib.suppress(RuntimeError):  # Numba began before it told us
        _lock.release()


class _Waiting:
    """Says on standard error, once, what a process waits for while Numba compiles."""

    patience = 1.0  # seconds

    def __init__(self) -> None:
        self.is_told, self._depth, self._collects = False, 0, False
        self._timer = threading.Timer(0.0, self._tell)

    def begin(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._collects = gc.isenabled()
            gc.disable()  # collections take a sixth of the time, and find little
            self._timer = threading.Timer(self.patience, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._timer.cancel()
            if self._collects:
                gc.enable()

    def _tell(self) -> None:
        if not self.is_told and sys.stderr is not None:
            self.is_told = True
            where = _cache.folder() or "no folder: each process compiles them"
            with contextlib.suppress(OSError, ValueError):  # standard error is closed
                text = f"dpcore: compiling kernels, once: they are kept in {where}"
                print(text, file=sys.stderr, flush=True)


waiting = _Waiting()
