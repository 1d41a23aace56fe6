"""The arguments of a kernel as text. The text is the name under which its machine code is kept."""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = "biuf"


def plain(argument: Any) -> Any:
    """Return an argument of any class as a plain array or number."""
    if type(argument) in (int, float, bool, np.ndarray):
        if type(argument) is int and not -(2**63) <= argument < 2**63:
            return np.uint64(argument)
        return argument
    if isinstance(argument, np.ndarray) and not isinstance(argument, np.ma.MaskedArray):
        return argument.view(np.ndarray)
    return argument


def described(arguments: tuple[Any, ...]) -> tuple[str, list[type]]:
    """Return the types of arguments as text, and the classes of the tuples among them.

    Numba compiles the same for equal texts: number of dimensions, order, whether it can be written
    to and is aligned, for arrays; the type alone for numbers.

    Raises
    ------
    TypeError
        An argument is not an array of numbers, a number, or a tuple of them.
    """
    classes: list[type] = []
    return ", ".join(_described(each, classes) for each in arguments), classes


def _described(argument: Any, classes: list[type]) -> str:
    if type(argument) is np.ndarray:
        flags = argument.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        kept = ("" if flags.writeable else " readonly") + ("" if flags.aligned else " unaligned")
        return f"{_number(argument.dtype)}[{argument.ndim}{order}{kept}]"
    if type(argument) is bool:
        return "bool"
    if type(argument) is int:
        return "int64"
    if type(argument) is float:
        return "float64"
    if isinstance(argument, np.generic):
        return _number(argument.dtype)
    if isinstance(argument, tuple):
        classes.append(type(argument))
        parts = [_described(each, classes) for each in argument]
        # Machine code finds a part by its position, so code is compiled for these names in this
        # order.
        parts += getattr(argument, "_fields", ())
        return f"{type(argument).__module__}.{type(argument).__qualname__}({', '.join(parts)})"
    raise TypeError(f"kernels take arrays and numbers, not {type(argument).__name__}")


def _number(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in _KINDS or not dtype.isnative:
        raise TypeError(f"kernels take numbers in the machine's order of bytes, not {dtype}")
    return dtype.name
