"""Releases as JSON and back, without the loss of a bit, in the format of docs/guides/format.md."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Set
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DtypeError, FormatError, ParameterError
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS, Grid
from ..summaries.table_grid import TableGrid
from .provenance import storable

__all__ = [
    "contents",
    "dump",
    "dump_groups",
    "dump_projection",
    "dump_residual_plot",
    "dump_scores",
    "dump_table",
    "load",
    "load_groups",
    "load_projection",
    "load_residual_plot",
    "load_scores",
    "load_table",
]

_CDF: Final = "dpcore.cdf"
_GROUPS: Final = "dpcore.groups"
_PROJECTION: Final = "dpcore.projection"
_SCORES: Final = "dpcore.scores"
_RESIDUAL_PLOT: Final = "dpcore.residual-plot"
_TABLE: Final = "dpcore.table"
_VERSION: Final = 1
_MOST: Final = 1e140  # far above any count and any noise; their squares and sums are doubles
_EPSILON_FIELDS: Final = {"epsilon", "delta", "neighbours", "simulated"}
_RHO_FIELDS: Final = {"rho", "neighbours", "simulated"}
_CURVE_FIELDS: Final = {
    "grid",
    "n",
    "counts",
    "privacy",
    "mechanism",
    "noise_deviation",
    "processing",
}
_OPTIONAL: Final = {"integers", "raw", "name"}  # fields of curves and tables
_UNNAMED: Final = (None, None)
_OF_TABLES: Final = {"integers", "raw", "names"}
_NOT_SAID: Final = (None, (None, None))  # values of fields that are not given
_PROJECTION_FIELDS: Final = {
    "lower",
    "upper",
    "n",
    "totals",
    "bits",
    "variance",
    "basis",
    "budgets",
    "privacy",
    "mechanism",
}

Made = TypeVar("Made")


def contents(released: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, unchanged."""
    return {field.name: getattr(released, field.name) for field in fields(released)}


def dump(content: dict[str, Any]) -> str:
    """Return the contents of a CDF as JSON text, ASCII, on one line."""
    return _dumped(_CDF, content)


def dump_scores(content: dict[str, Any]) -> str:
    """Return the contents of a joint curve, with the scores' grid as its grid, as JSON text."""
    return _dumped(_SCORES, content)


def dump_table(content: dict[str, Any]) -> str:
    """Return the contents of a row of cells, with the table's grid as its grid, as JSON text."""
    return _dumped(_TABLE, content)


def dump_residual_plot(table: str, privacy: Privacy) -> str:
    """Return the JSON text of a table, and the cost of bounds and table, as one JSON text."""
    kind = {"format": _RESIDUAL_PLOT, "version": _VERSION}
    return json.dumps({**kind, "privacy": _described(privacy), "table": json.loads(table)})


def dump_groups(groups: tuple[Any, ...], curves: list[str]) -> str:
    """Return labels, and the JSON text of each label's curve, as one JSON text."""
    kind = {"format": _GROUPS, "version": _VERSION, "groups": groups}
    return json.dumps({**kind, "curves": list(map(json.loads, curves))}, allow_nan=False)


def dump_projection(content: dict[str, Any]) -> str:
    """Return the contents of a projection as JSON text, ASCII, on one line."""
    described = {
        "privacy": _described(content["privacy"]),
        "mechanism": storable(content["mechanism"]),
    }
    whole = {"format": _PROJECTION, "version": _VERSION, **content, **described}
    return json.dumps(whole, allow_nan=False)


def _dumped(kind: str, content: dict[str, Any]) -> str:
    privacy, integers, raw = content["privacy"], content["integers"], content["raw"]
    if privacy.epsilon == math.inf:
        raise ParameterError("privacy", privacy, "must be finite: an exact curve is not a release")
    return json.dumps(
        {
            "format": kind,
            "version": _VERSION,
            "grid": content["grid"].describe(),
            "n": content["n"],
            "counts": content["counts"].tolist(),
            "privacy": _described(privacy),
            "mechanism": storable(content["mechanism"]),
            "noise_deviation": _runs(content["noise_deviation"]),
            "processing": list(content["processing"]),
            **({} if integers in _NOT_SAID else {"integers": integers}),
            **({} if raw is None else {"raw": raw.tolist()}),
            **({} if content["name"] is None else {"name": content["name"]}),
            **({} if content.get("names", _UNNAMED) == _UNNAMED else {"names": content["names"]}),
        },
        allow_nan=False,
    )


def load(text: str | bytes, make: Callable[..., Made]) -> Made:
    """Return the result of ``make`` with the arguments of a CDF.

    Raises
    ------
    DtypeError
        ``text`` is not a text.
    FormatError
        The text is not such a release.
    """
    return _loaded(text, _CDF, _CURVE_FIELDS, lambda data: make(**_curve(data, _CDF)), _OPTIONAL)


def load_scores(text: str | bytes, make: Callable[..., Made]) -> Made:
    """Return the result of ``make`` with the scores' grid and the joint curve's other arguments.

    Raises
    ------
    DtypeError, FormatError
        As in ``load``.
    """
    return _loaded(
        text, _SCORES, _CURVE_FIELDS, lambda data: make(**_curve(data, _SCORES)), _OPTIONAL
    )


def load_table(text: str | bytes, make: Callable[..., Made]) -> Made:
    """Return the result of ``make`` with the table's grid and the other arguments of its row.

    Raises
    ------
    DtypeError, FormatError
        As in ``load``.
    """
    return _loaded(
        text, _TABLE, _CURVE_FIELDS, lambda data: make(**_curve(data, _TABLE)), _OF_TABLES
    )


def load_residual_plot(text: str | bytes) -> tuple[str, Privacy]:
    """Return the JSON text of a table, and the cost of bounds and table.

    Raises
    ------
    DtypeError, FormatError
        As in ``load``.
    """

    def parts(data: dict[str, Any]) -> tuple[str, Privacy]:
        return json.dumps(data["table"]), _guarantee(data["privacy"])

    return _loaded(text, _RESIDUAL_PLOT, {"privacy", "table"}, parts)


def load_groups(text: str | bytes, make: Callable[[tuple[Any, ...], list[str]], Made]) -> Made:
    """Return the result of ``make`` with labels, and the JSON text of each label's curve.

    Raises
    ------
    DtypeError, FormatError
        As in ``load``.
    """

    def parts(data: dict[str, Any]) -> Made:
        groups, curves = data["groups"], data["curves"]
        if not isinstance(groups, list) or not isinstance(curves, list):
            raise ValueError("groups and curves must be lists")
        return make(tuple(groups), list(map(json.dumps, curves)))

    return _loaded(text, _GROUPS, {"groups", "curves"}, parts)


def load_projection(text: str | bytes, make: Callable[..., Made]) -> Made:
    """Return the result of ``make`` with the arguments of a projection.

    Raises
    ------
    DtypeError, FormatError
        As in ``load``.
    """
    return _loaded(text, _PROJECTION, _PROJECTION_FIELDS, lambda data: make(**_projection(data)))


def _loaded(
    text: str | bytes,
    kind: str,
    names: set[str],
    make: Callable[[dict[str, Any]], Made],
    optional: Set[str] = frozenset(),
) -> Made:
    if not isinstance(text, str | bytes | bytearray):
        raise DtypeError("text", type(text).__name__, "must be a string")
    try:
        data = json.loads(
            text, parse_constant=_refused, parse_float=_finite, object_pairs_hook=_with_each_once
        )
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or data.pop("format", None) != kind:
        raise FormatError(f'not a release: the field "format" has to be "{kind}"')
    version = data.pop("version", None)
    if type(version) is not int or version != _VERSION:
        raise FormatError(f"format version {version!r}; this dpcore reads version {_VERSION}")
    try:
        _check_fields("a release", data, names, optional)
        return make(data)
    except FormatError:
        raise
    except (DpcoreError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"a release with a bad field: {error}") from None


def _curve(data: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the arguments of a curve, or of an object that has one, with its own grid."""
    counts, described = _array("counts", data["counts"]), data["grid"]
    made: Grid | TableGrid
    sizes: tuple[int, ...]
    if kind == _TABLE:
        sizes = _sizes_of_table(described)
        made = TableGrid.from_description(described)
    else:
        size = _grid_size(described)
        sizes = (size,) if kind == _CDF else (2 * size, 2 * size + 1)
        made = Grid.from_description(described)
    if counts.size not in sizes:
        raise ValueError(f"counts must be {' or '.join(map(str, sizes))} numbers")
    processing = data["processing"]
    if not isinstance(processing, list):
        raise ValueError("processing must be a list of strings")
    return {
        "grid": made,
        "counts": counts,
        "n": data["n"],
        "noise_deviation": _deviations(data["noise_deviation"], counts.size),
        "processing": tuple(processing),
        **({"raw": _array("raw", data["raw"])} if "raw" in data else {}),
        **({"name": _text("name", data["name"])} if "name" in data else {}),
        **({"names": _pair(data["names"])} if "names" in data else {}),
        **_said(data, kind),
        **_cost(data),
    }


def _pair(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError("names must be a list of two")
    return tuple(value)


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field} must be a string")
    return value


def _said(data: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return whether records are whole numbers, if stated; for a table, for x and y."""
    if "integers" not in data:
        return {}
    said = data["integers"]
    if kind == _TABLE:
        if not isinstance(said, list):
            raise ValueError("integers must be a list of two")
        return {"integers": tuple(said)}
    if not isinstance(said, bool):
        raise ValueError("integers must be true or false")
    return {"integers": said}


def _projection(data: dict[str, Any]) -> dict[str, Any]:
    totals = data["totals"]
    if not isinstance(totals, list) or not all(type(total) is int for total in totals):
        raise ValueError("totals must be a list of integers")
    return {**data, "totals": tuple(totals), **_cost(data)}


def _grid_size(description: Any) -> int:
    """Return the number of cells of a grid from its description."""
    kind = description.get("kind") if isinstance(description, dict) else None
    if kind == "uniform":
        _check_fields("a grid", description, {"kind", "lower", "upper", "size"}, {"unit"})
        for name in ("lower", "upper"):  # times are stored as microseconds, not as ISO strings
            _check.finite(name, description[name])
        return _check.integer("size", description["size"], 1, MOST_CELLS)
    if kind == "integers":
        _check_fields("a grid", description, {"kind", "first", "last"}, {"unit"})
        for name in ("first", "last"):
            _check.integer(name, description[name], -(2**53), 2**53)
        return Grid.from_description(description).size
    if kind == "thresholds":
        _check_fields("a grid", description, {"kind", "thresholds"}, {"lower", "unit"})
        if "lower" in description:
            _check.finite("lower", description["lower"])
        return _array("thresholds", description["thresholds"]).size
    raise ValueError('grid must be an object of kind "integers", "uniform" or "thresholds"')


def _sizes_of_table(description: Any) -> tuple[int, int]:
    """Return the numbers of cells that the row of a described table may have."""
    if not isinstance(description, dict):
        raise ValueError("grid must be an object with x and y")
    _check_fields("a grid", description, {"x", "y"})
    size = _grid_size(description["x"]) * _grid_size(description["y"])
    return _check.integer("size", size, 1, MOST_CELLS), size + 1


def _array(name: str, values: Any) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return a list of numbers as an array, of integers if all numbers are integers."""
    kinds = set(map(type, values)) if isinstance(values, list) else set()
    if not kinds or not kinds <= {int, float}:
        raise ValueError(f"{name} must be a list of numbers")
    if kinds == {int}:
        return np.array(values, np.int64)
    array = np.array(values, np.float64)
    if np.isfinite(array).all() and np.abs(array).max() > _MOST:
        raise ValueError(f"{name} must be within +-{_MOST:g}")
    return array


def _deviations(runs: Any, size: int) -> NDArray[np.float64]:
    """Return ``size`` numbers, from [value, how often] for each run of equal numbers."""
    wanted = f"noise_deviation must be runs of {size} numbers in all"
    if not isinstance(runs, list) or not all(type(run) is list and len(run) == 2 for run in runs):
        raise ValueError(wanted)
    lengths = [length for _, length in runs]
    if not all(type(length) is int and length >= 1 for length in lengths) or sum(lengths) != size:
        raise ValueError(wanted)
    values = [math.inf if v is None else _check.finite("noise_deviation", v) for v, _ in runs]
    if any(_MOST < value < math.inf for value in values):
        raise ValueError(f"noise_deviation must be at most {_MOST:g}, or null")
    return np.repeat(values, lengths)


def _cost(data: dict[str, Any]) -> dict[str, Any]:
    """Return the guarantee of a release of either kind, and its mechanism."""
    privacy, mechanism = _guarantee(data["privacy"]), data["mechanism"]
    if not isinstance(mechanism, dict):
        raise ValueError("mechanism must be an object")
    if "base" in mechanism:  # a noise tree, which ``CDF.smooth`` needs
        _check.integer("base", mechanism["base"], 2, MOST_CELLS)
    return {"privacy": privacy, "mechanism": storable(mechanism)}


def _guarantee(privacy: Any) -> Privacy:
    known = (_EPSILON_FIELDS, _RHO_FIELDS, _RHO_FIELDS | {"delta"})
    if not isinstance(privacy, dict) or set(privacy) not in known:
        raise ValueError("privacy must have epsilon, delta (or rho), neighbours and simulated")
    return Privacy(**privacy)


def _check_fields(
    what: str, data: dict[str, Any], names: set[str], optional: Set[str] = frozenset()
) -> None:
    for name in sorted(names - set(data)):
        raise FormatError(f"{what} without the field {name!r}")
    for name in sorted(set(data) - names - optional):
        raise FormatError(f"{what} with the unknown field {name!r}")


def _described(privacy: Privacy) -> dict[str, Any]:
    """Return the parameters of a guarantee of either kind."""
    parameters = {"epsilon": privacy.epsilon, "delta": privacy.delta}
    if privacy.rho is not None:
        parameters = {"rho": privacy.rho, **({"delta": privacy.delta} if privacy.delta else {})}
    return {**parameters, "neighbours": privacy.neighbours, "simulated": privacy.simulated}


def _runs(values: NDArray[np.float64]) -> list[list[float | int | None]]:
    """Return [value, how often] for each run of equal values; None stands for infinity."""
    return [
        [None if value == np.inf else value, len(list(run))]
        for value, run in itertools.groupby(values.tolist())
    ]


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
