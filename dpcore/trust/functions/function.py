"""The interface of declared functions, and their registry: names go over the wire, no code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import DpcoreError, FormatError, MissingValueError, ParameterError, shown
from ...records.column import Column
from .bounds import Bound

__all__ = ["MOST_BITS", "Function", "check_function", "checked_values", "function_from"]

_NUMBERS: Final = "must be numbers"
MOST_BITS: Final = 30  # a step is then far below any noise, and doubles hold 2^-20 steps exactly

_known: Final[dict[str, type[Function]]] = {}


class Function(ABC):
    """A function of a record whose values are summed, with a public bound.

    A subclass is a frozen dataclass with a ``name``. It defines ``bound``, ``numbers`` and
    ``values``. Fields are numbers, strings, tuples of them, bounds or other functions. Clients and
    servers need the class itself: only name and fields are in the parameters of a round.

    Attributes
    ----------
    name
        The name in parameters and files.
    is_whole
        Whether all values are 0 or the ends of the bound, so that rounding changes nothing.

    Examples
    --------
    >>> from dpcore.trust.functions import Function, Identity
    >>> income = Identity(0, 100_000)
    >>> isinstance(income, Function), income.size
    (True, 1)
    """

    __slots__ = ()

    name: ClassVar[str]
    is_whole: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = cls.__dict__.get("name")
        if isinstance(name, str):
            known = _known.get(name)  # a dataclass with slots is defined twice
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise ParameterError("name", name, f"is the name of {known.__qualname__}")
            _known[name] = cls

    @property
    @abstractmethod
    def bound(self) -> Bound:
        """The public set that holds all values."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many numbers a record must have at least."""

    @abstractmethod
    def values(self, records: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values, (n, d), of n records, (n, a), which have been checked.

        Values beyond the bound are clipped later.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.trust.functions import Step
        >>> Step(2.0).values(np.array([[1.0], [2.0], [3.0]])).tolist()
        [[1.0], [1.0], [0.0]]
        """

    @property
    def size(self) -> int:
        """The number d of values."""
        return self.bound.size

    @property
    def most_bits(self) -> int:
        """At most how many bits a value has before it is summed: see ``Coarse``."""
        return MOST_BITS

    def records(self, given: object, argument: str = "records") -> NDArray[np.float64]:
        """Return records as an array, (n, a), a >= ``numbers``, checked; (n,) if a = 1.

        Raises
        ------
        DtypeError, ParameterError, MissingValueError
            They are not so many numbers each. Messages quote no record.

        Examples
        --------
        >>> from dpcore.trust.functions import Identity
        >>> Identity(0, 1).records([0.25, 0.5]).shape
        (2, 1)
        """
        array = Column.of(given, argument).numbers(_NUMBERS)
        if array.ndim == 1:
            array = array[:, np.newaxis]
        if array.ndim != 2 or array.shape[1] < self.numbers:
            what = f"must be (n, {self.numbers}): each record has {self.numbers} numbers"
            raise ParameterError(argument, array.shape, what)
        reals = _check.doubles(array)
        if np.isnan(reals).any():
            raise MissingValueError(argument)
        return reals

    def describe(self) -> dict[str, Any]:
        """Return the name and the fields, as JSON has them.

        Examples
        --------
        >>> from dpcore.trust.functions import Identity
        >>> Identity(0, 1).describe()
        {'name': 'identity', 'lower': 0.0, 'upper': 1.0, 'at': 0}
        """
        own: Any = fields(self)  # type: ignore[arg-type]  # subclasses are dataclasses
        return {
            "name": self.name,
            **{one.name: _dumped(getattr(self, one.name)) for one in own},
        }

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """Return a function of this class from ``describe``.

        Raises
        ------
        DtypeError, ParameterError
            A field has a value that it must not have.
        FormatError
            It has other fields, or fields that are not known here.

        Examples
        --------
        >>> from dpcore.trust.functions import Step
        >>> Step.from_description({"threshold": 2.0, "at": 1})
        Step(threshold=2.0, at=1)
        """
        _check.instance("description", description, Mapping, "must map names to fields")
        try:
            given = {name: _loaded(value) for name, value in description.items() if name != "name"}
            return cls(**given)
        except DpcoreError:
            raise
        except (TypeError, RecursionError):
            raise FormatError(f"a function {cls.name!r} with other fields") from None


def check_function(argument: str, function: object) -> None:
    """Check that a caller gives a declared function."""
    what = "must be a declared function, such as trust.functions.Identity"
    _check.instance(argument, function, Function, what)


def checked_values(function: Function, records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a function, whose bound holds for the shape (n, d) alone.

    NumPy says nothing: its warnings would tell of a record, and some users make them errors.
    """
    with np.errstate(all="ignore"):
        values = function.values(records)
    if np.shape(values) != (records.shape[0], function.size):
        what = f"must return (n, {function.size}) values for n records"
        raise ParameterError("function", type(function).__name__, what)
    return values


def function_from(description: object) -> Function:
    """Return the function that ``Function.describe`` has described.

    Raises
    ------
    DtypeError, FormatError, ParameterError
        No such function is known here, or it is not as described.

    Examples
    --------
    >>> from dpcore.trust.functions import Step, function_from
    >>> function_from(Step(2.0).describe())
    Step(threshold=2.0, at=0)
    """
    name = description.get("name") if isinstance(description, Mapping) else None
    known = _known.get(name) if isinstance(name, str) else None
    if known is None:
        raise FormatError(f"the function {shown(name)} is not known here")
    assert isinstance(description, Mapping)
    return known.from_description(description)


def _dumped(value: Any) -> Any:
    if isinstance(value, Function):
        return value.describe()
    if isinstance(value, Bound):
        own: Any = fields(value)  # type: ignore[arg-type]  # bounds are dataclasses
        content = {one.name: _dumped(getattr(value, one.name)) for one in own}
        return {"bound": type(value).__name__, **content}
    if isinstance(value, tuple):
        return list(map(_dumped, value))
    return value if not isinstance(value, float) or np.isfinite(value) else repr(value)


def _loaded(value: Any) -> Any:
    if isinstance(value, Mapping) and "bound" in value:
        kinds = {kind.__name__: kind for kind in Bound.__subclasses__()}
        kind: Any = kinds.get(value["bound"]) if isinstance(value["bound"], str) else None
        if kind is None:
            raise FormatError(f"the bound {shown(value['bound'])} is not known here")
        return kind(**{name: _loaded(own) for name, own in value.items() if name != "bound"})
    if isinstance(value, Mapping):
        return function_from(value)
    if isinstance(value, list):
        return tuple(map(_loaded, value))
    return float(value) if isinstance(value, str) and value in ("inf", "-inf") else value
