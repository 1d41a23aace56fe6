"""One decorator for every kernel, and one for functions that only kernels call.

Both only mark a function: Numba is imported when a kernel is called first.
"""

# mypy: disable-error-code="no-untyped-call"
# (Numba's compiler has no annotations.)

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from typing import Any, TypeVar, cast

from . import _cache

_Function = TypeVar("_Function", bound=Callable[..., object])
_inner: list[Callable[..., object]] = []  # functions that Numba does not know yet

KERNELS: list[Kernel] = []  # of the modules that this process has imported
PATIENCE = 1.0  # how many seconds of compiling are left until it is said


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
    """A function that Python and kernels call, with a dispatcher of Numba's for each of these."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        update_wrapper(cast(Callable[..., object], self), function)

    def __reduce__(self) -> str:  # copied and pickled by name, as functions are
        return self.py_func.__qualname__

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for the types of the arguments."""
        return self.dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Make a dispatcher. (A cached property of Python 3.11 has a lock, and would deadlock.)"""
        if name == "_numba_type_":  # Numba asks for the type of a global of a function
            return self._nested._numba_type_
        if name not in ("dispatcher", "_nested"):
            raise AttributeError(name)
        import numba
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:
            while _inner:
                numba.extending.register_jitable(error_model="numpy")(_inner[0])
                del _inner[0]  # not before, as it may have been interrupted
            if name not in self.__dict__:
                made = numba.njit(self.py_func, nogil=True, pipeline_class=_pipeline())
                # Kernels can contain this one; nothing but its source should decide how.
                is_kept = name == "dispatcher" and made is not self.py_func  # interpreted
                if is_kept and (place := _cache.folder()) is not None:
                    made._cache = _cache.Files(self.py_func, place)
                self.__dict__[name] = made
        return self.__dict__[name]


@cache
def _pipeline() -> Any:
    """Return Numba's compiler for kernels. From now on, forks wait until nothing is compiled."""
    from numba.core import compiler, compiler_lock

    class Compiler(compiler.Compiler):
        def compile_extra(self, function: Callable[..., object]) -> Any:
            with _compiling():
                return super().compile_extra(function)

    if hasattr(os, "register_at_fork"):
        lock = compiler_lock.global_compiler_lock
        take, free = lock.acquire, lock.release
        os.register_at_fork(before=take, after_in_parent=free, after_in_child=free)
    return Compiler


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Collect no garbage, and say what takes long."""
    global PATIENCE
    began, collects = time.monotonic(), gc.isenabled()
    timer = threading.Timer(PATIENCE, _say)
    timer.daemon = True
    try:
        gc.disable()  # collections take a sixth of the time, and find little
        with contextlib.suppress(RuntimeError):  # there can be no more threads
            timer.start()
        yield
    finally:
        timer.cancel()
        if collects:
            gc.enable()
        PATIENCE -= time.monotonic() - began


@cache
def _say() -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard error is closed
        where = _cache.folder() or "no folder: each process compiles them"
        sys.stderr.write(f"dpcore: compiling kernels, once: kept in {where}\n")
        sys.stderr.flush()
