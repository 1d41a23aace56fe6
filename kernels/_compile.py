"""One decorator for every kernel, and one for what only kernels call."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar, cast

import numba
from numba.core.registry import CPUDispatcher

from . import _cache

_Function = TypeVar("_Function", bound=Callable[..., object])


def kernel(function: _Function) -> _Function:
    """Compile on first call, without the GIL, cached on disk, with IEEE arithmetic.

    No ``fastmath``, no ``parallel``: threads are the caller's, over chunks, which makes results
    independent of how many there are.
    """
    compiled = numba.njit(function, nogil=True)
    if isinstance(compiled, CPUDispatcher) and _cache.FOLDER is not None:
        compiled._cache = _cache.KernelCache(function)  # type: ignore[attr-defined, no-untyped-call]
    return cast(_Function, compiled)


class _ForKernels(CPUDispatcher):
    """A compiled function without an entry from Python: the call would crash the process."""

    def __call__(self, *arguments: object, **named: object) -> NoReturn:
        raise TypeError(
            f"{self.py_func.__name__} is compiled for kernels only; call it from a kernel"
        )


def inner(function: _Function) -> _Function:
    """Compile for kernels only: no entry from Python, which takes a good part of compilation.

    Not cached: a kernel's machine code holds all that it calls. Divisions by 0 are infinite or NaN
    as in IEEE, instead of a check and an exception in each.
    """
    compiled = numba.njit(  # type: ignore[call-overload]  # the stubs lack the last two
        function,
        nogil=True,
        error_model="numpy",
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
    )
    if isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _ForKernels
    return cast(_Function, compiled)
