"""The digest of code: what a function does, and everything that it refers to."""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import hashlib
import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from .bytecode import every_code, global_names, text_of

__all__ = ["digest"]

_NAMED: Final = f"{__package__}.named."  # the studies that come with dpcore
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice)
_RANDOM: Final = np.random.Generator | np.random.BitGenerator | np.random.RandomState
_WRITTEN_BY_PYTHON: Final = frozenset(
    {
        *("__abstractmethods__", "__annotate_func__", "__annotations__", "__annotations_cache__"),
        *("__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__"),
        *("__slotnames__", "__static_attributes__", "__weakref__", "_abc_impl"),
    }
)


def digest(thing: Any) -> tuple[str, frozenset[str]]:
    """Return a name of 16 hexadecimal digits for code or a value, and the packages that it uses.

    They change with what a function does, and with the functions, classes, objects and constants
    that it names, and so on. They do not change with comments, layout and docstrings. Only the
    names of installed packages enter. Modules imported within a function, and objects that are only
    found at run time (``getattr`` by a computed name), do not enter. Other versions of Python have
    other digits.
    """
    walk = _Walk()
    walk.go(thing)
    return walk.hash.hexdigest()[:16], frozenset(walk.packages)


class _Walk:
    """Goes through objects and describes each, always in the same order."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.packages: set[str] = set()
        # It holds the objects, so that they stay alive.
        self._seen: dict[int, tuple[int, Any]] = {}

    def say(self, *words: object) -> None:
        self.hash.update(("\0".join(map(str, words)) + "\n").encode(errors="surrogatepass"))

    def go(self, thing: Any, names: frozenset[str] = frozenset()) -> None:
        """Describe an object. For a module, describe only ``names``."""
        if type(thing) in _PLAIN:
            self.say(repr(thing))
        elif isinstance(thing, np.generic):
            self.say(thing.dtype.str, repr(thing.item()))
        elif type(thing) is np.ndarray and not thing.dtype.hasobject:
            content = np.ascontiguousarray(thing).tobytes()
            self.say(thing.dtype.str, thing.shape, hashlib.sha256(content).hexdigest())
        elif type(thing) is tuple:  # equal tuples may be one object or two
            self._items(thing, names)
        elif id(thing) in self._seen:
            self.say("seen", self._seen[id(thing)][0])
        else:
            self._seen[id(thing)] = (len(self._seen), thing)
            self._new(thing, names)

    def _new(self, thing: Any, names: frozenset[str]) -> None:
        if isinstance(thing, ModuleType):
            self._module(thing, names)
        elif isinstance(thing, functools.partial):
            self._items((thing.func, thing.args, thing.keywords), names)
        elif isinstance(thing, MethodType):
            self._items((thing.__func__, thing.__self__), names)
        elif type(thing) in (list, np.ndarray):
            self._items(thing, names)
        elif isinstance(thing, set | frozenset):
            self.go(type(thing))
            self.say("set", *sorted(map(self._apart, thing)))
        elif type(thing) in (dict, MappingProxyType):
            self._items([part for item in thing.items() for part in item], names)
        elif hasattr(thing, "__wrapped__") and not isinstance(thing, FunctionType | type):
            self._items((type(thing), thing.__wrapped__), names)  # caches and compiled functions
        elif isinstance(thing, FunctionType | type) or hasattr(thing, "__qualname__"):
            self._definition(thing)
        else:
            self._instance(thing, names)

    def _items(self, items: Any, names: frozenset[str]) -> None:
        self.say(type(items).__name__, len(items))
        for item in items:
            self.go(item, names)

    def _apart(self, member: Any) -> str:
        """Return the next description of an object, to sort the members of a set."""
        walk = _Walk()
        walk._seen = dict(self._seen)
        walk.go(member)
        self.packages |= walk.packages
        return walk.hash.hexdigest()

    def _module(self, module: ModuleType, names: frozenset[str]) -> None:
        self.say("module")
        if self._is_installed(module.__name__):
            self.say(module.__name__)
            return
        for name in sorted(names & vars(module).keys()):
            self.say(name)
            self.go(getattr(module, name), names)

    def _definition(self, defined: Any) -> None:
        """Describe a function or a class; use its name if it is installed."""
        module, name = getattr(defined, "__module__", None) or "builtins", defined.__qualname__
        if self._is_installed(module):
            self.say(module, name)
        elif isinstance(defined, FunctionType):
            self._function(defined)
        elif isinstance(defined, type):
            self.say(name)
            self._items((type(defined), *defined.__bases__), frozenset())
            for key, value in sorted(vars(defined).items()):
                if key not in _WRITTEN_BY_PYTHON:
                    self.say(key)
                    self._attribute(value)
        else:  # objects that other tools compiled
            self.say(name)

    def _function(self, function: FunctionType) -> None:
        codes = list(every_code(function.__code__))
        names = frozenset(name for code in codes for name in code.co_names)
        self.say(text_of(function.__code__))
        self.go(function.__defaults__)
        self.go(sorted((function.__kwdefaults__ or {}).items()))
        closure = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in closure:
            self.say(name)
            try:
                self.go(cell.cell_contents, names)
            except ValueError:  # the cell has no value yet
                continue
        for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
            if not name.startswith("__"):
                self.say(name)
                self.go(function.__globals__[name], names)

    def _attribute(self, value: Any) -> None:
        """Describe an attribute of a class."""
        if isinstance(value, property):
            self._items((value.fget, value.fset, value.fdel), frozenset())
        elif isinstance(value, functools.cached_property):
            self.go(value.func)
        else:
            self.go(value)

    def _instance(self, instance: Any, names: frozenset[str]) -> None:
        """Describe the class of an object and its contents."""
        kind = type(instance)
        self.go(kind)
        if isinstance(instance, _RANDOM):  # use changes the state of generators
            return
        if dataclasses.is_dataclass(instance):
            for field in dataclasses.fields(instance):
                self.go(getattr(instance, field.name, None), names)
        else:
            self._items(_held(instance), names)

    def _is_installed(self, module: str) -> bool:
        installed = _is_installed(module)
        if installed:
            self.packages.add(module.partition(".")[0])
        return installed


def _held(instance: Any) -> list[Any]:
    """Return the contents of an object, as for pickling, with functions by what they do."""
    registered = copyreg.dispatch_table.get(type(instance))
    try:
        reduced = registered(instance) if registered else instance.__reduce_ex__(4)
    except Exception:  # locks, files, and other objects that belong to one process
        return []
    if isinstance(reduced, str):  # the name of a global object
        return [reduced]
    held = [list(part) if isinstance(part, Iterator) else part for part in reduced]
    return [_kept(type(instance), part) for part in held]


def _kept(kind: type, state: Any) -> Any:
    """Return the attributes of an object, sorted, without cached results."""
    if type(state) is not dict:
        return state
    return sorted(
        (
            (name, value)
            for name, value in state.items()
            if not isinstance(getattr(kind, str(name), None), functools.cached_property)
        ),
        key=lambda item: str(item[0]),
    )


@functools.lru_cache
def _is_installed(name: str) -> bool:
    """Return whether a module is dpcore's own, Python's, or in a folder of packages."""
    if name.partition(".")[0] == __name__.partition(".")[0]:
        return not name.startswith(_NAMED)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]  # packages without a file
    if not places:  # built-in modules, and modules of a session, which count as code of the study
        return module is not None and name != "__main__"
    paths = [Path(place).resolve() for place in places]
    return any(path.is_relative_to(home) for path in paths for home in _homes())


@functools.cache
def _homes() -> tuple[Path, ...]:
    """Return where installed packages live."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(Path(folder).resolve() for folder in folders)
