"""Classes whose arrays nobody can write to: what was released stays what it was."""

from __future__ import annotations

from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_only", "sealed"]

_Class = TypeVar("_Class", bound=type)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array if nothing can write to it, and a read-only copy otherwise.

    The array of a caller stays as it is, and later changes of it change no release.

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
        base = base.base
    if base is None:
        return array
    copied = np.array(array)
    copied.flags.writeable = False
    return copied


def _sealed_value(value: Any) -> Any:
    """Return a value whose arrays are read-only: an array, or a tuple with arrays, as intervals."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    if isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
        items = map(_sealed_value, value)
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def sealed(cls: _Class) -> _Class:
    """Make the arrays in the fields of a dataclass read-only, also after it was unpickled.

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
    names = tuple(each.name for each in fields(of))
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
