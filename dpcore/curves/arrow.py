"""Curves by groups as one Arrow table: a row for each group, and what they share as metadata."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, FormatError, ParameterError
from . import forms
from .cdf import CDF, check_knots
from .rows import CurveRows, Kind
from .stored import header, made, parsed

if TYPE_CHECKING:
    from pyarrow import Table

__all__ = ["groups_of", "table_of"]

_KEY: Final = b"dpcore"  # of the metadata
_NUMBERS: Final = ("counts", "raw", "noise_deviation")
_TEXTS: Final = ("privacy", "mechanism")  # JSON; most groups have the same
_COLUMNS: Final = ("group", "n", *_NUMBERS, "knots", *_TEXTS, "releases")
_MAY_LACK: Final = ("raw", "knots")  # columns that may be of nulls alone
_STRINGS: Final = frozenset({"string", "large_string", "string_view"})
_INSIDE: Final = {  # types of what the lists of a column hold; texts may be in a dictionary
    "counts": {"int64", "double"},
    "raw": {"int64", "double"},
    "noise_deviation": {"double"},
    "knots": {"int64", "null"},
    "releases": _STRINGS | {"null"},
    **dict.fromkeys(_TEXTS, _STRINGS),
}


def table_of(begin: dict[str, Any], groups: Sequence[Hashable], rows: CurveRows) -> Table:
    """Return groups as a table: ``begin`` of the metadata, (B,) labels, and their B curves.

    Raises
    ------
    ParameterError
        The labels are of several types, or are none of Arrow's.
    MissingExtraError
        PyArrow is missing.
    """
    arrow = _check.extra("pyarrow", "Arrow tables", "io")
    kinds = {type(label) for label in groups}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ParameterError("groups", names, "must be of one type in an Arrow table")

    def numbers(array: NDArray[Any]) -> Any:
        return arrow.FixedSizeListArray.from_arrays(arrow.array(array.ravel()), rows.grid.size)

    def texts(values: list[Any]) -> Any:
        of_kind = arrow.array([json.dumps(value) for value in values], arrow.string())
        return arrow.DictionaryArray.from_arrays(of_kind_at, of_kind)

    of_kind_at = arrow.array(rows.kind_of, arrow.int32())
    raw = rows.raw
    try:
        labels = arrow.array(list(groups))
    except (OverflowError, UnicodeError):
        what = "must be text of UTF-8, or integers of 64 bits, in an Arrow table"
        raise ParameterError("groups", groups, what) from None
    columns = {
        "group": labels,
        "n": arrow.array(rows.n),
        "counts": numbers(rows.counts),
        "raw": arrow.nulls(len(rows)) if raw is None else numbers(raw),
        "noise_deviation": numbers(rows.deviations[rows.deviation_of]),
        "knots": arrow.array(
            [rows.knots[at] for at in rows.deviation_of.tolist()], arrow.list_(arrow.int64())
        ),
        "privacy": texts([forms.PRIVACY["dump"](kind.privacy) for kind in rows.kinds]),
        "mechanism": texts([forms.DESCRIPTION["dump"](kind.mechanism) for kind in rows.kinds]),
        "releases": arrow.array(
            list(rows.releases) or [()] * len(rows), arrow.list_(arrow.string())
        ),
    }
    shared = {
        **begin,
        "grid": forms.CELLS["dump"](rows.grid),
        "processing": list(rows.processing),
        "integers": rows.integers,
        "name": rows.name,
    }
    return arrow.table(columns, metadata={_KEY: json.dumps(shared).encode()})


def groups_of(begin: dict[str, Any], table: Any) -> tuple[tuple[Any, ...], CurveRows]:
    """Return the (B,) labels and their B curves from a table whose metadata ``begin`` so.

    Raises
    ------
    DtypeError, FormatError
        It is not a table, or not one of groups, or a number in it is none of a release.
    """
    arrow = _check.extra("pyarrow", "Arrow tables", "io")
    wrong = DtypeError("table", type(table).__name__, "must be an Arrow table")
    if not hasattr(table, "__arrow_c_stream__"):
        raise wrong
    try:
        given = arrow.table(table).combine_chunks()
    except (arrow.ArrowException, TypeError, ValueError):  # a column alone
        raise wrong from None
    text = (given.schema.metadata or {}).get(_KEY)
    if text is None or sorted(given.column_names) != sorted(_COLUMNS) or not given.num_rows:
        raise FormatError("not a table that GroupedCDF.to_arrow returned, with one group or more")
    shared = parsed("table", text)
    if not isinstance(shared, dict) or begin != {name: shared.pop(name, None) for name in begin}:
        raise FormatError(f"an Arrow table whose metadata do not begin with {begin}")
    _check_types(given)
    examples, kind_of = _kinds(given, shared)
    curve = examples[0]
    n = _without_null(given, "n").to_numpy()
    counts = _numbers(given, "counts", curve.grid.size)
    deviations = _numbers(given, "noise_deviation", curve.grid.size)
    has_raw = given["raw"].null_count < given.num_rows
    raw = _numbers(given, "raw", curve.grid.size) if has_raw else None
    if not np.all((deviations >= 0.0) & ((deviations <= forms.MOST) | np.isinf(deviations))):
        raise FormatError(f"noise_deviation must be 0 to {forms.MOST:g}, or infinite")
    for name, values in (("counts", counts), ("raw", counts if raw is None else raw)):
        if not np.all(np.abs(values) <= forms.MOST):
            raise FormatError(f"{name} must be within +-{forms.MOST:g}")
        if not np.array_equal(values[:, -1], n) or n.min() < 1:
            raise FormatError(f"n must be integers, 1 or more, with which {name} end")
    rows = CurveRows(
        curve.grid,
        counts,
        n,
        tuple(Kind(one.privacy, dict(one.mechanism)) for one in examples),
        kind_of,
        deviations,
        np.arange(n.size),
        curve.processing,
        curve.integers,
        raw,
        curve.name,
        _releases(given),
        tuple(_knots(given, curve.grid.size)),
    )
    return tuple(_without_null(given, "group").to_pylist()), rows


def _check_types(given: Table) -> None:
    """Refuse columns of other types, so that all rows can be read as the first one of a kind."""
    for name, known in _INSIDE.items():
        kind = given.schema.field(name).type
        is_list = "list" in str(kind).partition("<")[0]
        inside = str(getattr(kind, "value_type", kind))
        lacks = name in _MAY_LACK and inside == "null"
        if not lacks and (inside not in known or is_list == (name in _TEXTS)):
            raise FormatError(f"{name} must not be a column of {kind}")
    if str(given.schema.field("n").type) != "int64":
        raise FormatError("n must be integers of 64 bits")


def _kinds(given: Table, shared: dict[str, Any]) -> tuple[list[CDF], NDArray[np.int64]]:
    """Return the first curve of each kind, read with all checks, and (B,) the kind of each row."""
    common = {name: value for name, value in shared.items() if value is not None}
    texts = zip(*(given[name].to_pylist() for name in _TEXTS), strict=True)
    known: dict[Any, int] = {}
    kind_of = np.array([known.setdefault(kind, len(known)) for kind in texts])
    _, first = np.unique(kind_of, return_index=True)
    return [
        made(CDF, {**header(CDF), **common, **_own(given.slice(at, 1).to_pylist()[0])})
        for at in first.tolist()
    ], kind_of


def _own(row: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of the fields of one curve that are its own."""
    del row["group"]
    for name in _TEXTS:
        row[name] = parsed(name, row[name])
    runs = [[None if one == np.inf else one, 1] for one in row["noise_deviation"] or ()]
    row["noise_deviation"] = runs
    return {name: value for name, value in row.items() if value is not None}


def _knots(given: Table, size: int) -> Iterator[NDArray[np.int64] | None]:
    for knots in given["knots"].combine_chunks():
        if not knots.is_valid:
            yield None
            continue
        own = knots.values.to_numpy(zero_copy_only=False)
        check_knots(own, size)
        yield own


def _releases(given: Table) -> tuple[tuple[str, ...], ...]:
    lists = _without_null(given, "releases").to_pylist()
    if any(None in one for one in lists):
        raise FormatError("releases must be lists of strings")
    return tuple(map(tuple, lists))


def _without_null(given: Table, name: str) -> Any:
    """Return a column as one array."""
    column = given[name].combine_chunks()
    if column.null_count:
        raise FormatError(f"a row of an Arrow table without {name}")
    return column


def _numbers(given: Table, name: str, size: int) -> NDArray[Any]:
    """Return a column of lists of ``size`` integers or doubles, as rows."""
    column = _without_null(given, name)
    flat = column.flatten()
    if flat.null_count:
        raise FormatError(f"{name} must be lists of numbers without null")
    if len(flat) != size * len(column) or set(column.value_lengths().to_pylist()) != {size}:
        raise FormatError(f"{name} must be lists of {size}")
    numbers: NDArray[Any] = flat.to_numpy().reshape(-1, size)
    return numbers
