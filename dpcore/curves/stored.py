"""Results that are equal by value, and are stored as JSON: their fields are declared once.

A field says in its metadata how it is written (``forms.py``). ``_kind`` is the name of the format.
A class that states one enters the registry by being defined.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import numpy as np

from .. import _check
from ..errors import DpcoreError, DtypeError, FormatError, shown
from ..summaries.grid import Grid
from ..summaries.table_grid import TableGrid
from . import forms
from .field_tables import Rows, field_tables, in_a_notebook
from .forms import ABSENT, PLAIN, Form, check_fields
from .frames import frame_of

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Stored", "dumped", "header", "made", "one_of", "parsed", "read", "registered", "within"]

_Class = TypeVar("_Class", bound="Stored")

_VERSION: Final = 1
_kinds: Final[dict[str, type[Stored]]] = {}


class Stored:
    """A base of dataclasses with ``eq=False``: equal are those of one class with equal fields.

    Arrays are equal if all of their numbers are equal. 2 and 2.0 are, and NaN and NaN. Grids are
    equal if their thresholds are equal and, here, their first cells begin at the same place, and
    both or neither state that records are whole numbers. ``compare=False`` leaves a field out.
    """

    __slots__ = ()

    _kind: ClassVar[str] = ""  # parts of results have none
    _first: ClassVar[tuple[str, ...]] = ()  # the fields that texts begin with

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if kind := vars(cls).get("_kind"):
            _kinds[kind] = cls

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or all(map(_are_equal, _values(self), _values(other)))

    def __hash__(self) -> int:
        return hash((type(self), *map(_key, _values(self))))

    def to_json(self) -> str:
        """Return the object as JSON, in the format of docs/guides/format.md.

        ``from_json`` of the class, and ``dpcore.load``, restore it exactly.

        Raises
        ------
        DtypeError, ParameterError
            It has no finite guarantee, or parts that JSON does not have; or it is itself a part of
            results, such as ``Bins``, and a file would not say what it cost.

        Examples
        --------
        >>> import dpcore as dp
        >>> curve = dp.cdf([21, 34, 55], dp.Grid([20, 40, 60]), epsilon=50.0)
        >>> curve.to_json()[:44]
        '{"format": "dpcore.cdf", "version": 1, "grid'
        """
        if not self._kind:
            what = "must be a whole result, which has a guarantee"
            raise DtypeError("result", type(self).__name__, what)
        return json.dumps(dumped(self), allow_nan=False)

    def to_frame(self) -> DataFrame:
        """Return the object as a pandas DataFrame.

        Where the object has several numbers of a kind, there is a row for each: for each threshold,
        bin, group, pair or option. Otherwise there is one row. Columns have the names of the
        attributes, in the singular if a row has one of the numbers. ``low`` and ``high`` are the
        ends of intervals.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> found = dp.bounds([3, 30, 70] * 500, epsilon=50.0)
        >>> print(found.to_frame()[["lower", "upper", "n"]])
           lower  upper     n
        0    2.0  128.0  1500
        """
        return frame_of(self._columns())

    def _columns(self) -> Mapping[str, Any]:
        """Return the columns of ``to_frame``: here, the fields that are single values."""
        kinds = str | int | float | np.generic | None
        own: Any = self  # a dataclass
        named = {one.name: getattr(self, one.name) for one in fields(own) if one.name[0] != "_"}
        return {name: value for name, value in named.items() if isinstance(value, kinds)}

    def _repr_html_(self) -> str:
        """Return what notebooks show: the line of the object, and tables of its fields."""
        return in_a_notebook(self)

    def _guarantees(self) -> tuple[Any, ...]:
        """Return what the numbers cost; nothing if they were made from public numbers alone."""
        own: Any = self
        return (own.privacy,)

    def _choices(self) -> Mapping[str, Any]:
        """Return what was chosen before records were seen, as a report names it.

        It may have a ``grid``, ``groups``, ``n``, a number of ``bins`` and a ``mechanism``.
        """
        return {}

    def _readings(self, level: float) -> list[Rows]:
        """Return the tables of a report, with intervals of a level where there are some."""
        return field_tables(self, {"n", "groups"})

    def _pictured(self) -> Any:
        """Return the axes of a report's picture, or None if there is nothing to draw."""
        return self.plot() if hasattr(self, "plot") else None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read an object from JSON, as ``to_json`` returns it.

        Raises
        ------
        DtypeError
            ``text`` is not a text.
        FormatError
            The text is not such an object, or this version cannot read it.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 4, 4)
        >>> text = dp.cdf([2, 4] * 40, grid, epsilon=0.5, rng=rng).to_json()
        >>> dp.CDF.from_json(text).counts
        array([ 0., 35., 39., 80.])
        """
        return read(cls, text)

    @classmethod
    def _of_stored(cls, *args: Any, **values: Any) -> Self:
        """Return an object from its stored fields."""
        return cls(*args, **values)


def read(cls: type[_Class], text: str) -> _Class:
    """Return an object of a class from its JSON."""
    try:
        data = parsed("text", text)
    except FormatError as error:
        if "{" in str(text):
            raise
        raise FormatError(f"{error}; dpcore.load reads files") from None
    return made(cls, data)


def registered(kind: str) -> type[Stored] | None:
    """Return the class whose format has this name, or None if none is defined yet."""
    return _kinds.get(kind)


def one_of(cls: type[Stored]) -> Form:
    """Return the form of a field that holds a stored object of a class."""
    return forms.form(dumped, lambda name, data: made(cls, data[name]))


def within(cls: type[Stored]) -> Form:
    """Return the form of a curve over numbered cells, whose other fields stand in its place."""

    def load(name: str, data: Mapping[str, Any]) -> Any:
        cells = len(data["counts"])  # a list, as the grid has found
        return _of_fields(cls, {**data, "grid": {"kind": "integers", "first": 1, "last": cells}})

    return forms.form(_content, load, within=cls)


# --- writing


@cache
def _forms(cls: Any) -> dict[str, tuple[Form, Any]]:
    """Return the form and the default of each stored field of a dataclass."""
    declared: Any = [(one.name, one.metadata or PLAIN, one.default) for one in fields(cls)]
    return {name: (form, default) for name, form, default in declared if "dump" in form}


def _content(stored: Stored) -> dict[str, Any]:
    """Return what is written for each field; ``ABSENT`` if it is not."""
    own: dict[str, Any] = {}
    others: dict[str, Any] = {}  # the fields of a curve, if they stand in the place of a field
    cls: Any = type(stored)
    for name, (form, default) in _forms(cls).items():
        value = getattr(stored, name)
        if form["within"] is not None:
            others = form["dump"](value)
        elif form["is_optional"] and default is not MISSING and _are_equal(value, default):
            own[name] = ABSENT
        else:
            own[name] = form["dump"](value)
    return dict.fromkeys(stored._first) | others | own


def header(cls: type[Stored]) -> dict[str, Any]:
    """Return the fields of JSON that name the format of a class."""
    return {"format": cls._kind, "version": _VERSION} if cls._kind else {}


def dumped(stored: Stored) -> dict[str, Any]:
    """Return the JSON of an object, as Python's types."""
    content = {name: value for name, value in _content(stored).items() if value is not ABSENT}
    return {**header(type(stored)), **content}


# --- reading


def parsed(argument: str, text: str | bytes) -> Any:
    """Return the content of a JSON text, checked: each field once, and finite numbers."""
    _check.instance(argument, text, str | bytes | bytearray, "must be a string")
    try:
        return json.loads(
            text, parse_constant=_refused, parse_float=_finite, object_pairs_hook=_with_each_once
        )
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None


def made(cls: type[_Class], data: Any) -> _Class:
    """Return an object of a class from its JSON, as Python's types."""
    kind = cls._kind
    given = data.get("format", "") if isinstance(data, dict) else None
    if given != kind:
        other = "; dpcore.load reads other kinds" if given else ""
        raise FormatError(f'not a release: the field "format" has to be "{kind}"{other}')
    version = data.get("version", 0)
    if kind and (type(version) is not int or version != _VERSION):
        raise FormatError(f"format version {shown(version)}; this dpcore reads version {_VERSION}")
    try:
        own = {name: value for name, value in data.items() if name not in header(cls)}
        result: _Class = _of_fields(cls, own)
    except FormatError:
        raise
    except (DpcoreError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FormatError(f"a release with a bad field: {error}") from None
    return result


def _of_fields(cls: Any, data: Mapping[str, Any]) -> Any:
    known = _forms(cls)
    needed = {name for name, (form, _) in known.items() if not form["is_optional"]}
    inner = {name: form for name, (form, _) in known.items() if form["within"] is not None}
    check_fields("a release", data, needed - set(inner), set(data) if inner else set(known))
    values = {
        name: form["load"](name, data)
        for name, (form, _) in known.items()
        if name in data and name not in inner
    }
    rest = {name: value for name, value in data.items() if name not in known}
    values |= {name: form["load"](name, rest) for name, form in inner.items()}
    return cls._of_stored(**values)


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.20} is beyond doubles")
    return number


def _with_each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a field occurs twice")
    return data


# --- equality


def _values(stored: Any) -> list[Any]:
    return [getattr(stored, field.name) for field in fields(stored) if field.compare]


def _are_equal(ours: Any, theirs: Any) -> bool:
    arrays = np.ndarray | np.datetime64 | np.timedelta64  # NaT is equal to NaT, too
    if isinstance(ours, arrays) or isinstance(theirs, arrays):
        return ours is theirs or np.array_equal(ours, theirs, equal_nan=True)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(_are_equal, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float) and ours != ours:
        return theirs != theirs
    return bool(ours == theirs) and _stated(ours) == _stated(theirs)


def _stated(value: Any) -> list[tuple[float, bool]]:
    """Return what readings of curves depend on, and equality of grids does not."""
    grids = (value.x, value.y) if isinstance(value, TableGrid) else (value,)
    return [(grid.start, grid.of_integers) for grid in grids if isinstance(grid, Grid)]


def _key(value: Any) -> Hashable:
    """Return a key that is equal for equal values."""
    if isinstance(value, np.ndarray | np.datetime64 | np.timedelta64):  # NaT has other hashes
        if value.dtype.kind in "mM":
            return value.astype(f"{value.dtype.kind}8[us]").tobytes()
        return (value.astype(np.float64) + 0.0).tobytes()  # -0.0 becomes 0.0
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, Mapping):
        return frozenset(value)  # names alone: the values may have no hash
    if isinstance(value, float) and value != value:
        return "nan"  # Python's hash of it is that of the object
    return value  # type: ignore[no-any-return]
