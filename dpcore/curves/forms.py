"""How fields of results are written in JSON (docs/guides/format.md), and read with all checks."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from typing import Any, Final, TypedDict

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, FormatError, ParameterError, shown
from ..privacy.guarantees import Privacy, Relation
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.table_grid import TableGrid
from .confidence import Interval
from .provenance import storable

__all__ = [
    "ABSENT",
    "CELLS",
    "COUNTS",
    "DESCRIPTION",
    "DEVIATIONS",
    "FLAG",
    "GRID",
    "KNOTS",
    "MECHANISM",
    "MOST",
    "NOT_STORED",
    "NUMBER",
    "NUMBERS",
    "PLAIN",
    "PRIVACY",
    "REMADE",
    "ROW",
    "SCORE_CELLS",
    "TABLE_CELLS",
    "TEXT",
    "VALUE",
    "WHOLE",
    "Form",
    "by_name",
    "check_fields",
    "counted",
    "form",
    "interval_like",
    "like",
    "optional",
    "or_null",
    "tuple_of",
]

ABSENT: Final = object()  # stands for what is not written

_Fields = Mapping[str, Any]  # what a file has for the fields of a result

MOST: Final = _check.MOST_NOISY
_BEYOND: Final = {repr(number): number for number in (math.inf, -math.inf, math.nan)}
_TIMES: Final = {"time": "M8[us]", "duration": "m8[us]"}
_GRIDS: Final = {  # the fields that a grid of each kind has, and may have
    "integers": ({"kind", "first", "last"}, {"unit"}),
    "uniform": ({"kind", "lower", "upper", "size"}, {"unit"}),
    "thresholds": ({"kind", "thresholds"}, {"lower", "unit"}),
}
_EPSILON_FIELDS: Final = {"epsilon", "delta", "neighbours", "simulated"}
_RHO_FIELDS: Final = {"rho", "neighbours", "simulated"}


class Form(TypedDict):
    """How one field is written and read: its metadata.

    ``dump`` takes the value. ``load`` takes the name of the field and all fields of the file, and
    raises a ``DpcoreError``, ``TypeError``, ``ValueError`` or ``OverflowError``. ``within`` is the
    class whose fields take this field's place.
    """

    dump: Callable[[Any], Any]
    load: Callable[[str, _Fields], Any]
    is_optional: bool
    within: type[Any] | None


def form(
    dump: Callable[[Any], Any], load: Callable[[str, _Fields], Any], within: type[Any] | None = None
) -> Form:
    """Return the metadata of a field with this form."""
    return {"dump": dump, "load": load, "is_optional": False, "within": within}


def optional(own: Form) -> Form:
    """Return the same form for a field that is not written if it has its default."""
    return {**own, "is_optional": True}


def or_null(own: Form) -> Form:
    """Return the form of a value that may be None."""

    def load(name: str, data: _Fields) -> Any:
        return None if data[name] is None else own["load"](name, data)

    return form(lambda value: None if value is None else own["dump"](value), load)


def tuple_of(own: Form, length: int | None = None) -> Form:
    """Return the form of a tuple of values of a form, so many or any number."""

    def load(name: str, data: _Fields) -> tuple[Any, ...]:
        if not isinstance(data[name], list):
            raise ValueError(f"{name} must be a list")
        if length not in (None, len(data[name])):
            raise ValueError(f"{name} must be a list of {length}")
        return tuple(own["load"](name, {name: value}) for value in data[name])

    return form(lambda values: list(map(own["dump"], values)), load)


def by_name(own: Form) -> Form:
    """Return the form of a mapping from strings to values of a form."""

    def load(name: str, data: _Fields) -> dict[str, Any]:
        if not isinstance(data[name], dict):
            raise ValueError(f"{name} must be an object")
        for key in data[name]:
            _check_text(f"a name in {name}", key)
        return {key: own["load"](name, {name: value}) for key, value in data[name].items()}

    return form(lambda values: {key: own["dump"](value) for key, value in values.items()}, load)


def check_fields(
    what: str, data: _Fields, names: Set[str], optional: Set[str] = frozenset()
) -> None:
    """Refuse missing and unknown fields.

    Raises
    ------
    FormatError
        There are some.
    """
    for name in sorted(names - set(data)):
        raise FormatError(f"{what} without the field {name!r}")
    for name in sorted(set(data) - names - optional):
        raise FormatError(f"{what} with the unknown field {shown(name)}")


# --- numbers and texts


def _same(value: Any) -> Any:
    return value


def _given(name: str, data: _Fields) -> Any:
    return data[name]


def _whole(name: str, data: _Fields) -> int:
    if type(data[name]) is not int or data[name] < 0:
        raise ValueError(f"{name} must be an integer, 0 or more")
    return int(data[name])


def _flag(name: str, data: _Fields) -> bool:
    if type(data[name]) is not bool:
        raise ValueError(f"{name} must be true or false")
    return bool(data[name])


def _text(name: str, data: _Fields) -> str:
    _check_text(name, data[name])
    return str(data[name])


def _check_text(name: str, given: Any) -> None:
    """Refuse half of a surrogate pair, too, which tables of pandas cannot hold."""
    if type(given) is not str or any("\ud800" <= letter <= "\udfff" for letter in given):
        raise ValueError(f"{name} must be a string that UTF-8 can write")


def _dumped_numbers(value: Any) -> Any:
    array = np.asarray(value)
    for unit, dtype in _TIMES.items():
        if array.dtype.kind == np.dtype(dtype).kind:
            return {"unit": unit, "values": array.astype(dtype).astype(np.int64).tolist()}
    return _each(lambda number: number if math.isfinite(number) else repr(number), array.tolist())


def _numbers(name: str, data: _Fields) -> Any:
    """Return a number, or an array, of integers if all are integers; or times or durations."""
    given = data[name]
    unit = None
    if isinstance(given, dict):
        check_fields(name, given, {"unit", "values"})
        unit, given = given["unit"], given["values"]
        if unit not in _TIMES:
            raise ValueError(f"the unit of {name} must be one of {', '.join(_TIMES)}")
    kinds = set()

    def number(value: Any) -> Any:
        if isinstance(value, str) and value in _BEYOND:
            value = _BEYOND[value]
        if type(value) not in (int, float):
            raise ValueError(f"{name} must be numbers")
        kinds.add(type(value))
        return value

    values = _each(number, given)
    if unit is not None and kinds - {int}:
        raise ValueError(f"{name} must be whole numbers of microseconds")
    whole = np.array(values, np.int64 if kinds == {int} else np.float64)
    read = whole if unit is None else whole.astype(_TIMES[unit])
    return read if isinstance(given, list) else read[()] if unit else read.item()


def _each(change: Callable[[Any], Any], values: Any) -> Any:
    """Return the values, in lists in lists, with each changed."""
    return (
        [_each(change, value) for value in values] if isinstance(values, list) else change(values)
    )


def _shaped(dimensions: int, what: str) -> Form:
    def load(name: str, data: _Fields) -> Any:
        values = _numbers(name, data)
        if np.ndim(values) != dimensions:
            raise ValueError(f"{name} must be {what}")
        return values

    return form(_dumped_numbers, load)


def _number(name: str, data: _Fields) -> float:
    value = data[name]
    is_beyond = isinstance(value, str) and value in _BEYOND
    return _BEYOND[value] if is_beyond else _check.finite(name, value)


def like(other: str, more: int = 0, columns: tuple[int, ...] = ()) -> Form:
    """Return the form of numbers, as many as those of another field, or some more."""

    def load(name: str, data: _Fields) -> Any:
        first, *rest = (*np.shape(_numbers(other, data)), *columns) or (None,)
        shape = () if first is None else (first + more, *rest)
        values = _numbers(name, data)
        if np.shape(values) != shape:
            raise ValueError(f"{name} must have the shape {shape}, after that of {other}")
        return values

    return form(_dumped_numbers, load)


def interval_like(other: str) -> Form:
    """Return the form of an interval whose ends have as many numbers as another field."""
    ends = like(other)

    def load(name: str, data: _Fields) -> Interval[Any]:
        both = tuple_of(PLAIN, 2)["load"](name, data)
        return Interval(*(ends["load"](name, {**data, name: end}) for end in both))

    return form(lambda interval: list(map(_dumped_numbers, interval)), load)


def counted(own: Form) -> Form:
    """Return the same form for numbers of records, whose sums and squares must be doubles."""
    return {**own, "load": lambda name, data: _not_large(name, own["load"](name, data))}


def _not_large(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if np.any(np.abs(values[np.isfinite(values)]) > MOST):
        raise ValueError(f"{name} must be within +-{MOST:g}")
    return values


PLAIN: Final = form(_same, _given)  # JSON has this type, and the class checks the value
FLAG: Final = form(_same, _flag)
WHOLE: Final = form(_same, _whole)
TEXT: Final = form(_same, _text)
NUMBER: Final = form(_dumped_numbers, _number)
NUMBERS: Final = form(_dumped_numbers, _numbers)  # or a number; both may be times or durations
VALUE: Final = _shaped(0, "one value")
ROW: Final = _shaped(1, "a list of numbers")
NOT_STORED: Final = {"form": None}


# --- grids and counts


def _grid_of(description: Any) -> Grid:
    kind = description.get("kind") if isinstance(description, dict) else None
    if kind not in _GRIDS:
        raise ValueError('grid must be an object of kind "integers", "uniform" or "thresholds"')
    check_fields("a grid", description, *_GRIDS[kind])
    for name in {"lower", "upper"} & set(description):  # times are microseconds, not ISO strings
        _check.finite(name, description[name])
    for name in {"first", "last", "size"} & set(description):
        _check.integer(name, description[name], -(2**53), 2**53)
    if kind == "thresholds":
        _listed("thresholds", description)
    return Grid.from_description(description)


def _table_grid_of(description: Any) -> TableGrid:
    if not isinstance(description, dict):
        raise ValueError("grid must be an object with x and y")
    check_fields("a grid", description, {"x", "y"})
    x, y = (_grid_of(description[column]) for column in ("x", "y"))
    _check.integer("size", x.size * y.size, 1, MOST_CELLS)
    return TableGrid(x, y)


def _cells(of: Callable[[Any], Any], cells: int, more: tuple[int, ...]) -> Form:
    """Return the form of a grid, for each of whose cells there are so many counts, or some more."""

    def load(name: str, data: _Fields) -> Any:
        check_fields("a release", data, {"counts"}, set(data))
        grid, size = of(data[name]), _counts("counts", data).size
        sizes = [cells * grid.size + extra for extra in more]
        if size not in sizes:
            raise ValueError(f"counts must be {' or '.join(map(str, sizes))} numbers")
        return grid

    return form(_described, load)


def _counts(name: str, data: _Fields) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return a list of counts as an array, whose sums and squares are doubles."""
    return _not_large(name, _listed(name, data))


def _listed(name: str, data: _Fields) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return a list of numbers as an array, of integers if all numbers are integers."""
    values = data[name]
    kinds = set(map(type, values)) if isinstance(values, list) else set()
    if not kinds or not kinds <= {int, float}:
        raise ValueError(f"{name} must be a list of numbers")
    return np.array(values, np.int64) if kinds == {int} else np.array(values, np.float64)


def _runs(values: NDArray[np.float64]) -> list[list[float | int | None]]:
    """Return [value, how often] for each run of equal values; None stands for infinity."""
    return [
        [None if value == np.inf else value, len(list(run))]
        for value, run in itertools.groupby(values.tolist())
    ]


def _deviations(name: str, data: _Fields) -> NDArray[np.float64]:
    """Return one number for each count, from [value, how often] for each run of equal numbers."""
    runs, size = data[name], len(data["counts"])
    wanted = f"{name} must be runs of {size} numbers in all"
    if not isinstance(runs, list) or not all(type(run) is list and len(run) == 2 for run in runs):
        raise ValueError(wanted)
    lengths = [length for _, length in runs]
    if not all(type(length) is int and length >= 1 for length in lengths) or sum(lengths) != size:
        raise ValueError(wanted)
    values = [math.inf if v is None else _check.finite(name, v) for v, _ in runs]
    if any(MOST < value < math.inf for value in values):
        raise ValueError(f"{name} must be at most {MOST:g}, or null")
    return np.repeat(values, lengths)


def _described(grid: Grid | TableGrid) -> dict[str, Any]:
    return grid.describe()


GRID: Final = form(_described, lambda name, data: _grid_of(data[name]))
CELLS: Final = _cells(_grid_of, 1, (0,))
SCORE_CELLS: Final = _cells(_grid_of, 2, (0, 1))
TABLE_CELLS: Final = _cells(_table_grid_of, 1, (0, 1))
COUNTS: Final = form(np.ndarray.tolist, _counts)
KNOTS: Final = form(np.ndarray.tolist, _counts)  # the class checks that they are indices
DEVIATIONS: Final = form(_runs, _deviations)


# --- guarantees and mechanisms


def _dumped_privacy(privacy: Privacy | None) -> dict[str, Any]:
    """Return the parameters of a guarantee: epsilon and delta, or rho, or all of them."""
    if privacy is None or privacy.epsilon == math.inf:
        what = "must be finite: an exact curve is not a release"
        raise ParameterError("privacy", privacy, what)
    parameters = {} if privacy.epsilon is None else {"epsilon": privacy.epsilon}
    if privacy.epsilon is not None or privacy.delta:
        parameters["delta"] = privacy.delta
    if privacy.rho is not None:
        parameters["rho"] = privacy.rho
    return {**parameters, "neighbours": privacy.neighbours, "simulated": privacy.simulated}


def _privacy(name: str, data: _Fields) -> Privacy:
    stored = data[name]
    known = (_EPSILON_FIELDS, _RHO_FIELDS, _RHO_FIELDS | {"delta"}, _EPSILON_FIELDS | {"rho"})
    if not isinstance(stored, dict) or set(stored) not in known:
        what = "must have epsilon and delta, or rho, or all of these, neighbours and simulated"
        raise ValueError(f"{name} {what}")
    if None in (stored.get("epsilon", 0.0), stored.get("rho", 0.0)):
        raise ValueError("epsilon or rho must be given as numbers")
    return Privacy(**stored)


def _description(name: str, data: _Fields) -> dict[str, str | int | float]:
    described = data[name]
    if not isinstance(described, dict):
        raise ValueError(f"{name} must be an object")
    if "base" in described:  # a noise tree, which ``CDF.smooth`` needs
        _check.integer("base", described["base"], 2, MOST_CELLS)
    if "deviations" in described:  # the law of a running curve, which intervals need
        for value in str(described["deviations"]).split(","):
            if _check.finite("deviations", float(value)) < 0.0:
                raise ValueError("deviations must not be negative")
        _check.integer("step", described.get("step"), 1, 2**32)
    return storable(described)


def _mechanism(name: str, data: _Fields) -> Any:
    stored = data[name]
    if not isinstance(stored, dict):
        raise ValueError(f"{name} must be an object")
    check_fields("a mechanism", stored, {"parameters", "neighbours"})
    # The room of mechanisms is above this one. A file may be read before that room is imported.
    room = importlib.import_module("dpcore.mechanisms.descriptions")
    _check.choice("neighbours", stored["neighbours"], Relation)
    return room.from_description(_description("parameters", stored), stored["neighbours"])


def _dumped_mechanism(mechanism: Any) -> dict[str, Any]:
    parameters = storable(mechanism.describe())
    return {"parameters": parameters, "neighbours": mechanism.privacy.neighbours}


def _remade(mechanism: Any) -> Any:
    """Return what is written of a mechanism, or ``ABSENT`` if it cannot be made again from it."""
    with suppress(DpcoreError, AttributeError):
        stored = _dumped_mechanism(mechanism)
        _mechanism("mechanism", {"mechanism": stored})
        return stored
    return ABSENT


PRIVACY: Final = form(_dumped_privacy, _privacy)
DESCRIPTION: Final = form(storable, _description)
MECHANISM: Final = form(_dumped_mechanism, _mechanism)
REMADE: Final = optional(form(_remade, _mechanism))  # absent if it cannot be made again
