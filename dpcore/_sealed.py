"""Classes whose arrays and dictionaries are read-only: what was released stays what it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, Final, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_only", "sealed"]

_Class = TypeVar("_Class", bound=type)


# The arrays that ``read_only`` has made, by their addresses.
_made: Final[WeakValueDictionary[int, NDArray[Any]]] = WeakValueDictionary()


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array if nothing can write to it, and a read-only copy otherwise.

    The array of a caller stays as it is, and later changes of it change no release. A caller's
    array that is read-only now is copied, too: views of it may be writable, and so may be the array
    later. Nobody else has the memory of the copy, and its flag cannot be set back.

    Examples
    --------
    >>> import numpy as np
    >>> given = np.array([1, 2])
    >>> kept = read_only(given)
    >>> given[0] = 7
    >>> kept, kept.flags.writeable, read_only(kept) is kept
    (array([1, 2]), False, True)
    """
    base: Any = array
    while isinstance(base, np.ndarray) and not base.flags.writeable:
        if _made.get(id(base)) is base:
            return array
        base = base.base
    copied = np.array(array)
    copied.flags.writeable = False
    _made[id(copied)] = copied
    return copied.view()


class _Fixed(dict[Any, Any]):
    """A dictionary that does not change."""

    __slots__ = ()

    def _refused(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("what was released does not change: change a copy, dict(...)")

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


_UNCHANGED: Final = {type(None), bool, int, float, str, _Fixed}  # nothing in them can change


def _sealed_value(value: Any) -> Any:
    """Return a value whose arrays are read-only: an array, or a tuple with arrays, as intervals.

    Dictionaries become those that do not change.
    """
    if type(value) in _UNCHANGED:
        return value
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
        items = map(_sealed_value, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, Mapping) and not is_dataclass(value):
        return _Fixed(value)
    return value


def sealed(cls: _Class) -> _Class:
    """Make arrays and dictionaries in fields of a dataclass read-only, also after it was unpickled.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @sealed
    ... @dataclass(frozen=True)
    ... class Counted:
    ...     counts: np.ndarray
    >>> Counted(np.array([1, 2])).counts.flags.writeable
    False
    """
    of: Any = cls
    names = tuple(field.name for field in fields(of))
    begin, restore = of.__init__, getattr(of, "__setstate__", None)

    def seal(self: Any) -> None:
        for name in names:
            value = getattr(self, name)
            kept = _sealed_value(value)
            if kept is not value:
                object.__setattr__(self, name, kept)

    @wraps(begin)
    def made(self: Any, *arguments: Any, **options: Any) -> None:
        begin(self, *arguments, **options)
        seal(self)

    def unpickled(self: Any, state: Any) -> None:
        if restore is None:  # a class without slots
            self.__dict__.update(state)
        else:
            restore(self, state)
        seal(self)

    of.__init__, of.__setstate__ = made, unpickled
    return cls
