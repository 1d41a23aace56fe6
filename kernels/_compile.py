"""One decorator for every kernel, and one for functions that only kernels call.

Numba is imported when something is compiled first. A process whose kernels are all in the cache
never imports it: machine code is loaded (``_machine``) and called as it is, since it checks by
itself what it is called with (``_entry``).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from . import _cache, _machine
from ._arguments import described, plain

_Function = TypeVar("_Function", bound=Callable[..., object])
_Entry = Callable[..., Any]

_LOCK = threading.RLock()  # only one thread compiles or loads at a time
if hasattr(os, "register_at_fork"):  # in a child, nothing is half compiled, and the lock is free
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )

KERNELS: list[Kernel] = []
"""All that were decorated, in this process."""


def kernel(function: _Function) -> _Function:
    """Compile on first call, without the GIL, cached on disk, with IEEE arithmetic.

    No ``fastmath``, no ``parallel``: threads are the caller's, over chunks, which makes results
    independent of how many there are.
    """
    if _is_interpreted():
        return function
    made = Kernel(function)
    KERNELS.append(made)
    return cast(_Function, made)


def inner(function: _Function) -> _Function:
    """Compile for kernels only: no entry from Python, which takes a good part of compilation.

    Not cached: a kernel's machine code holds all that it calls. Divisions by 0 are infinite or NaN
    as in IEEE, instead of a check and an exception in each.
    """
    return function if _is_interpreted() else cast(_Function, Inner(function))


def _is_interpreted() -> bool:
    """Return the value that ``numba.config.DISABLE_JIT`` has, or would have."""
    if "numba" in sys.modules:
        return bool(sys.modules["numba"].config.DISABLE_JIT)
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT", "0")))
    except ValueError:
        return False


def is_left_to_numba() -> bool:
    """Return whether Numba has to load and call all machine code, which is not kept then.

    If that was asked for; and in 32-bit processes, where objects are laid out otherwise.
    """
    return sys.maxsize < 2**63 - 1 or os.environ.get("DPCORE_USE_NUMBA", "") not in ("", "0")


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Turn off garbage collection, which takes a tenth as long as compiling and finds little."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Compiled:
    """A function that other compiled functions can call."""

    _options: dict[str, Any]

    def __init__(self, function: Callable[..., object]) -> None:
        self.py_func = function
        functools.update_wrapper(cast(Callable[..., object], self), function)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.py_func.__module__}.{self.py_func.__name__}>"

    def __reduce__(self) -> str:  # copied and pickled by name, as functions are
        return self.py_func.__qualname__

    @functools.cached_property
    def for_kernels(self) -> Any:
        """Numba's dispatcher, without an entry from Python: the call would crash the process."""
        import numba

        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **self._options}
        return numba.njit(self.py_func, nogil=True, **options)

    @property
    def _numba_type_(self) -> Any:  # Numba asks for the type of a global of a function
        return self.for_kernels._numba_type_


class Inner(_Compiled):
    """A function that only kernels call."""

    _options = {"error_model": "numpy"}  # noqa: RUF012 (never changed)

    def __call__(self, *arguments: object, **named: object) -> object:
        """Refuse; unless a kernel calls that Numba has been told meanwhile not to compile."""
        if _is_interpreted():
            return self.py_func(*arguments, **named)
        raise TypeError(
            f"{self.py_func.__name__} is compiled for kernels only; call it from a kernel"
        )


class Kernel(_Compiled):
    """A function that Python calls, with machine code for all types that it was called with."""

    _options = {}  # noqa: RUF012 (never changed)

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)
        self._entries: tuple[_Entry, ...] = ()
        self._known: dict[str, _Entry] = {}
        self.compiled: list[str] = []
        """The types that were compiled for in this process: not found in the cache."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for the types of the arguments."""
        for entry in self._entries:
            result = entry(*arguments)
            if result is not NotImplemented:
                return result
        return self._first_call(arguments)

    def _first_call(self, given: tuple[Any, ...]) -> Any:
        arguments = tuple(map(plain, given))
        result = self._entry(arguments)(*arguments)
        return self._by_numba(*arguments) if result is NotImplemented else result

    def _entry(self, arguments: tuple[Any, ...]) -> _Entry:
        """Return the function for such arguments: a known one, one from the cache, or a new one."""
        types, classes = described(arguments)
        with _LOCK:
            if types in self._known:
                return self._known[types]
            entry = None
            if not is_left_to_numba():
                # Future versions of LLVM or Numba may make this fail. That does no harm: Numba then
                # compiles the kernel. If the kernel itself is wrong, Numba reports that.
                with contextlib.suppress(Exception):
                    entry = self._found(types, classes) or self._made(types, classes, arguments)
            if entry is None:
                entry = self._by_numba
            else:
                self._entries += (entry,)
            self._known[types] = entry
            return entry

    def _found(self, types: str, classes: list[type]) -> _Entry | None:
        code = _cache.load(self.py_func, types)
        return _machine.entry(self.py_func.__name__, code, classes) if code else None

    def _made(self, types: str, classes: list[type], arguments: tuple[Any, ...]) -> _Entry | None:
        self.compiled.append(types)
        with _no_collections():
            from . import _numba

            code = _numba.machine_code(self.py_func, arguments, classes)
        if code is None:
            return None
        _cache.save(self.py_func, types, code)
        return _machine.entry(self.py_func.__name__, code, classes)

    @functools.cached_property
    def _by_numba(self) -> _Entry:
        """Numba's own dispatcher, for what ``_entry`` cannot pass or return. Not cached."""
        import numba

        dispatcher: _Entry = numba.njit(self.py_func, nogil=True)
        return dispatcher
