"""The errors and the warning of dpcore.

All errors have one base class, and each is a standard Python error, too.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

__all__ = [
    "ConvergenceError",
    "DpcoreError",
    "DpcoreWarning",
    "DtypeError",
    "EngineError",
    "FormatError",
    "MissingExtraError",
    "MissingValueError",
    "ParameterError",
    "Words",
]


_MOST_BITS: Final = 512  # larger integers are not written out
_SIZED: Final = re.compile(r"(?:[<>|=]|\b)([SUV])\d+")  # dtypes of text, bytes and void
_NAMES: Final = {"S": "bytes_", "U": "str_", "V": "void"}


class DpcoreError(Exception):
    """Base of all errors that dpcore raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:  # errors from other processes come back unchanged
        return _again, (type(self), self.args, self.__dict__)


class Words(str):
    """What stands in an error for a value that is private; it is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


class ParameterError(DpcoreError, ValueError):
    """An argument has a value that is not allowed.

    Parameters
    ----------
    argument
        The name of the argument.
    value
        The value that was passed. The message shows it.
    requirement
        What the argument must be, as the end of a sentence: "must be positive".
    """

    def __init__(self, argument: str, value: object, requirement: str) -> None:
        self.argument = argument
        self.value = value
        self.requirement = requirement
        super().__init__(f"{argument} {requirement}; got {shown(value)}")


class DtypeError(DpcoreError, TypeError):
    """An argument has a type that is not allowed, or an array has such an element type.

    The name of a dtype is shown without the length of its longest text, which is private.
    """

    def __init__(self, argument: str, found: object, requirement: str) -> None:
        self.argument = argument
        self.found = _without_lengths(found) if isinstance(found, str) else found
        super().__init__(f"{argument} {requirement}; got {_short(str(self.found))}")


class MissingValueError(DpcoreError, ValueError):
    """Values are missing (NaN or null), and the caller did not ask to leave them out."""

    def __init__(self, argument: str) -> None:
        self.argument = argument
        super().__init__(
            f"{argument} has missing values (NaN or null); clean them, "
            'or leave them out (nan_policy="omit", where there is one)'
        )


class EngineError(DpcoreError, RuntimeError):
    """A database or another engine failed while it counted. Nothing was spent.

    The message has the engine's name and the kind of its error. What the engine says is left out,
    because it may quote records.
    """

    def __init__(self, engine: str, kind: str) -> None:
        self.engine, self.kind = engine, kind
        super().__init__(
            f"the engine {engine} could not count ({kind}; its message is left out, because it may "
            "quote records); nothing was spent"
        )


class FormatError(DpcoreError, ValueError):
    """A stored release cannot be read back."""


class ConvergenceError(DpcoreError, RuntimeError):
    """A solver stopped before it reached the requested tolerances."""


class DpcoreWarning(UserWarning):
    """A release looks like a mistake: wrong labels, a wrong grid, or a tiny budget.

    The warning depends on released numbers alone, so it costs no privacy (docs/guides/roc.md,
    section 4). If you turn it into an error, you lose a release that is already paid for.
    """


class MissingExtraError(DpcoreError, ImportError):
    """An optional dependency is not installed. The message names the extra that installs it."""

    def __init__(self, purpose: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{purpose} needs an extra: pip install "dpcore[{extra}]"')


def _again(cls: type[DpcoreError], args: tuple[object, ...], state: dict[str, object]) -> object:
    """Return an error as it was, without the arguments that made its message."""
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def _without_lengths(description: str) -> str:
    """Return the description of a dtype without lengths; other descriptions stay."""
    if "dtype " not in description:
        return description
    return _SIZED.sub(lambda sized: _NAMES[sized[1]], description)


def shown(value: object) -> str:
    """Return a short text that stands for a value, whatever it is."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    try:
        return _short(repr(value.item() if isinstance(value, np.generic) else value))
    except Exception:  # deeply nested, or with integers that Python does not write out
        return f"a {type(value).__name__}"


def amount(number: int, noun: str) -> str:
    """Return a number with what is counted: "1 cell", "2 cells".

    Examples
    --------
    >>> amount(1, "cell"), amount(2000, "cell")
    ('1 cell', '2000 cells')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
