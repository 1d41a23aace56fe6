"""Counts of records that lie in an engine: one query, which returns counts and nothing else.

Value x is in cell i = #{j < N: tau_j < x}. On a uniform grid, the engine guesses
k = floor((x - lower) N / (upper - lower) + 1/2), and the cell is k if x > T(k), or else k - 1. Here
T(k) is the engine's tau_k. The guess does not fall as x rises, whatever its rounding errors. So
neither does the cell, whatever T is. Such a function is right for all doubles if it is right for
each threshold and for the next double, and the engine is asked for these, which are public. On
other grids, and for types whose arithmetic is not that of doubles, the engine searches among the
least values of the column's type that are above each threshold. No cell depends on a rounding
error.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DpcoreError, DtypeError, EngineError, MissingValueError, ParameterError
from . import doubles, times
from .column import Column
from .column.lazy_columns import PURPOSE
from .labels import Label, places

__all__ = ["Cells", "counts", "text"]

_MISSING, _WITHOUT_LABEL, _IN_NO_GROUP = -1, -2, -3  # stand in the place of cells
_LEAST: Final = np.iinfo(np.int64).min
_MOST: Final = np.iinfo(np.int64).max
_EACH: Final = {"ms": Fraction(1, 1000), "us": Fraction(1), "ns": Fraction(1000)}  # in microseconds
_EXACT: Final = 2.0**53  # all integers up to here are doubles
_AS_OF: Final = ("duckdb", "polars")
# Engines that compare text by its bytes. Others may take "a" and "A" for equal.
_BINARY: Final = ("polars", "datafusion", "clickhouse", "pyspark")
_LABELS: Final = "must hold text, bytes, numbers or booleans: cast it"


class Cells(NamedTuple):
    """The cells of a grid.

    Parameters
    ----------
    positions
        (N,) the thresholds as doubles.
    line
        Where the first and the last cell of a uniform grid of numbers end; None of other grids.
    unit
        The unit of the grid.
    """

    positions: NDArray[np.float64]
    line: tuple[float, float] | None
    unit: times.Unit | None


class _Ticks(NamedTuple):
    """How values of a column's type are counted: value = tick / ticks in a unit.

    Parameters
    ----------
    each
        Ticks in the unit of thresholds, which is 1 or a microsecond.
    least, most
        The range of the type, in ticks.
    arrow
        Makes an Arrow array of a list of ticks.
    text
        Makes a text of a tick, which the engine reads as a value of the type.
    """

    each: Fraction
    least: int
    most: int
    arrow: Callable[[list[int]], Any]
    text: Callable[[int], str]


class _Named(NamedTuple):
    """Labels of records, those of groups as the engine has them, and the places of these."""

    labels: Any
    wanted: list[Any]
    places: list[int]


def counts(
    column: Column,
    cells: Cells,
    *,
    by: Column | None = None,
    groups: Sequence[Label] = (),
    omit: bool,
) -> NDArray[np.int64]:
    """Return the number of records of each group in each cell, which an engine counts.

    Parameters
    ----------
    column
        A lazy column.
    cells
        The cells of the grid.
    by, groups
        A column of labels of the same table, and the G public labels; None: one group of all.
    omit
        Whether to leave out missing values and labels.

    Returns
    -------
    numpy.ndarray
        (G, N) int64; (1, N) without groups.

    Raises
    ------
    MissingValueError
        There are missing values or labels, and ``omit`` is False.
    EngineError
        The engine failed.
    DtypeError, ParameterError
        The columns are not of one table, or not of such types, or the query is not deterministic.

    Examples
    --------
    >>> import ibis
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> table = ibis.memtable(pa.table({"age": [20.0, 50.5, 90.0]}))
    >>> cells = Cells(np.array([50.0, 100.0]), None, None)
    >>> counts(Column.of(table.age), cells, omit=False)
    array([[1, 2]])
    """
    backend, query = _query(column, cells, by, groups)
    fetched = _quietly(backend, query.to_pyarrow)
    size = cells.positions.size
    cell = fetched["cell"].fill_null(size).to_numpy().astype(np.int64)
    records = fetched["records"].to_numpy()
    for argument, missing in (("values", (_MISSING, size)), ("by", (_WITHOUT_LABEL,))):
        if np.isin(cell, missing).any() and not omit:
            raise MissingValueError(argument)
    counted = (cell >= 0) & (cell < size)
    out = np.zeros((max(len(groups), 1), size), np.int64)
    place = np.zeros(cell.size, np.int64)
    if "place" in fetched.column_names:
        place = fetched["place"].fill_null(-1).to_numpy()
    elif "label" in fetched.column_names:  # from PostgreSQL
        place_of = {_digits(label): at for at, label in enumerate(groups)}
        place = np.array([place_of.get(label, -1) for label in fetched["label"].to_pylist()], int)
    counted &= place >= 0
    np.add.at(out, (place[counted], cell[counted]), records[counted])
    return out


def text(
    column: Column, cells: Cells, by: Column | None = None, groups: Sequence[Label] = ()
) -> str:
    """Return the query of ``counts`` as SQL; for polars, its plan."""
    backend, query = _query(column, cells, by, groups)
    if backend.name == "polars":
        return str(_quietly(backend, lambda: backend.compile(query).explain()))
    ibis = _ibis()
    return str(_quietly(backend, lambda: ibis.to_sql(query)))


def _query(
    column: Column, cells: Cells, by: Column | None, groups: Sequence[Label]
) -> tuple[Any, Any]:
    """Return the engine, and the query whose rows are a cell, a label and a number of records."""
    backend, table = _source([column] if by is None else [column, by])
    value = _checked_value(column, cells.unit)
    # Errors of labels come before any work of the engine.
    named = None if by is None else _checked_labels(by, groups, backend.name)
    return backend, _quietly(backend, lambda: _built(backend, table, value, cells, named))


def _built(backend: Any, table: Any, value: Any, cells: Cells, named: _Named | None) -> Any:
    ibis = _ibis()
    selected = {"value": value} if named is None else {"value": value, "label": named.labels}
    rows = table.select(**selected)
    rows, cell = _with_cell(backend, rows, cells)
    if named is None:
        rows = rows.select(cell=cell)
        return rows.group_by("cell").aggregate(records=rows.count())
    rows = rows.select("label", cell=cell)
    if backend.name == "postgres":  # where a table of labels would need the right to make tables
        literals = [ibis.literal(label, rows.label.type()) for label in named.wanted]
        is_wanted = rows.label.isin(literals) if literals else ibis.literal(False)
        group, name = rows.label, "label"
    else:
        rows = _with_place(rows, named)
        is_wanted, group, name = rows.place.notnull(), rows.place, "place"
    cell = ibis.cases(
        (rows.cell.isnull() | (rows.cell == cells.positions.size), _MISSING),
        (_is_missing(backend.name, rows.label), _WITHOUT_LABEL),
        (is_wanted, rows.cell),
        else_=_IN_NO_GROUP,
    )
    rows = rows.select(cell=cell, **{name: group})
    # Labels are needed of records that count, and are public there.
    nothing = ibis.null(rows[name].type())
    rows = rows.select("cell", **{name: ibis.ifelse(rows.cell < 0, nothing, rows[name])})
    rows = rows.filter(rows.cell != _IN_NO_GROUP)
    return rows.group_by([name, "cell"]).aggregate(records=rows.count())


def _with_place(rows: Any, named: _Named) -> Any:
    """Return the rows with the place of their label among the groups; null of other labels."""
    ibis = _ibis()
    pyarrow = _check.extra("pyarrow", PURPOSE, "sql")
    kind = rows.label.type().copy(nullable=True)
    wanted = pyarrow.array(named.wanted, kind.to_pyarrow())
    arrays = {"wanted": wanted, "place": pyarrow.array(named.places, "int32")}
    table = ibis.memtable(pyarrow.table(arrays))
    return rows.left_join(table, rows.label == table.wanted)


# What may be counted


def _source(columns: Sequence[Column]) -> tuple[Any, Any]:
    """Return the engine of some columns, and the table that they are taken from."""
    ibis = _ibis()
    operations = _check.extra("ibis.expr.operations", PURPOSE, "sql")
    for column in columns:
        if not column.is_lazy:
            what = "must be a column of the same table of the engine"
            raise DtypeError(column.argument, column.described, what)
        if not isinstance(column.values, ibis.expr.types.Column):
            what = 'must be one column of a table, as table["name"] is'
            raise DtypeError(column.argument, column.described, what)
    relations = [column.values.op().relations for column in columns]
    for column, own in zip(columns, relations, strict=True):
        if len(own) != 1 or own != relations[0]:
            of = "one table" if len(own) != 1 else "the same table expression as values"
            what = f"must be a column of {of}, so that each row is one record"
            raise ParameterError(column.argument, column.described, what)
        random = (operations.RandomScalar, operations.RandomUUID, operations.Sample)
        is_random = bool(column.values.op().find(random))
        limits = column.values.op().find(operations.Limit)
        if is_random or not all(isinstance(at.parent, operations.Sort) for at in limits):
            what = "must have the same records each time: no random(), sample() or unordered limit"
            raise ParameterError(column.argument, column.described, what)
    engines, is_unbound = columns[0].values._find_backends()
    # Two connections with the same address, such as to DuckDB in memory, are equal to ibis.
    sources = {
        id(node.source)
        for column in columns
        for node in column.values.op().find(operations.PhysicalTable)
        if hasattr(node, "source")
    }
    if is_unbound or len(sources) > 1:
        what = "must be a column of one engine, to which ibis is connected"
        raise ParameterError(columns[-1].argument, f"{len(sources)} engines", what)
    (relation,) = relations[0]
    return engines[0] if engines else ibis.get_backend(), relation.to_expr()


def _checked_value(column: Column, unit: times.Unit | None) -> Any:
    """Return the values in a type that the query compares, or refuse their type."""
    value = column.values
    kind = value.type()
    if unit is None:
        if kind.is_boolean():  # PostgreSQL makes 32-bit integers of these alone
            value = value.cast("int32")
        if kind.is_boolean() or (kind.is_integer() and not kind.is_uint64()):
            return value.cast("int64")
        if kind.is_floating():
            return value.cast("float64")
        if kind.is_uint64() or (kind.is_decimal() and _is_postgres_or_scaled(value)):
            return value
        what = doubles.REQUIREMENT
        if kind.is_decimal():
            what += "; decimals need a precision and a scale: cast them"
        raise DtypeError(column.argument, f"a column of {kind}", what)
    own = None
    if kind.is_date() or kind.is_timestamp():
        own = "instant" if kind.is_timestamp() and kind.timezone is not None else "time"
    elif kind.is_interval() and kind.unit.name not in ("YEAR", "QUARTER", "MONTH"):
        own = "duration"
    if own != unit:
        named = f"a column of {kind}" if own is None else times.described(own)
        raise DtypeError(column.argument, named, times.REQUIREMENTS[unit])
    return value


def _checked_labels(by: Column, groups: Sequence[Label], engine: str) -> _Named:
    """Return the labels in a type that is compared by equality, and those that are wanted."""
    kind = by.values.type()
    if kind.is_string():
        none: NDArray[Any] = np.empty(0, "U1")
    elif kind.is_binary():
        none = np.empty(0, "S1")
    elif kind.is_boolean() or kind.is_integer() or kind.is_floating():
        none = np.empty(0, kind.to_numpy())
    else:
        raise DtypeError("by", f"a column of {kind}", _LABELS)
    places(Column.of(none, "by"), list(groups), "groups")  # refuses as for labels in memory
    # No engine has text that has no UTF-8.
    held = [at for at, label in enumerate(groups) if not isinstance(label, str) or _is_utf_8(label)]
    convert: Callable[[Any], Any] = _encoded
    labels = by.values
    if kind.is_string() or kind.is_binary():
        labels = _as_bytes(labels, engine)
        if engine == "postgres":
            convert = _digits
        elif labels.type().is_string():
            convert = str
    elif kind.is_floating():
        labels, convert = labels.cast("float64"), float
    else:
        convert = bool if kind.is_boolean() else int
    return _Named(labels, [convert(groups[at]) for at in held], held)


def _as_bytes(labels: Any, engine: str) -> Any:
    """Return text as its bytes, because collations may take different text for equal."""
    is_text = labels.type().is_string()
    if engine == "duckdb" and is_text:

        def encode(value): ...  # type: ignore[no-untyped-def]

        return _builtin(encode, ("string",), "binary")(labels)
    if engine == "postgres":  # for which ibis does not write bytes well, so in hexadecimal digits

        def convert_to(value, encoding): ...  # type: ignore[no-untyped-def]

        def encoded(value, form): ...  # type: ignore[no-untyped-def]

        if is_text:
            labels = _builtin(convert_to, ("string", "string"), "binary")(labels, "UTF8")
        return _builtin(encoded, ("binary", "string"), "string", "encode")(labels, "hex")
    if engine == "polars" and is_text:  # this makes text of categories, which ibis takes for text
        return labels + ""
    if engine in _BINARY or not is_text:
        return labels
    what = f"must hold numbers: {engine} may take different text for equal"
    raise DtypeError("by", "a column of string", what)


def _builtin(function: Any, arguments: tuple[Any, ...], result: str, name: str = "") -> Any:
    """Return a function of the engine itself, with the name of a Python function or another."""
    named = name or function.__name__
    return _ibis().udf.scalar.builtin(function, name=named, signature=(arguments, result))


def _is_utf_8(label: Any) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in str(label))


def _encoded(label: Any) -> Any:
    """Return text as bytes, and other labels unchanged."""
    return label.encode("utf-8", "surrogatepass") if isinstance(label, str) else label


def _digits(label: Any) -> Any:
    """Return text and bytes in hexadecimal digits, and other labels unchanged."""
    return _encoded(label).hex() if isinstance(label, str | bytes) else label


# Cells


def _with_cell(backend: Any, rows: Any, cells: Cells) -> tuple[Any, Any]:
    """Return the rows, perhaps joined with thresholds, and the cell of each row.

    The cell of a missing value is null or N.
    """
    engine = backend.name
    kind = rows.value.type()
    splits = cells.positions[:-1]
    if kind.is_floating() or kind.is_int64():
        is_small = kind.is_floating() or bool((np.abs(cells.positions) <= _EXACT).all())
        is_uniform = cells.line is not None and splits.size > 1 and is_small
        if engine != "postgres" and is_uniform and _line_holds(backend, kind, cells):
            return rows, _on_line(engine, rows.value, cells)
    rows, cell = _searched(engine, rows, splits)
    is_missing = _is_missing(engine, rows.value)
    return rows, _ibis().ifelse(is_missing, _ibis().null("int64"), cell)


def _searched(engine: str, rows: Any, splits: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return the rows, perhaps joined with thresholds, and the cell of each, by comparisons."""
    kind = rows.value.type()
    if kind.is_decimal() and kind.scale is None:
        return rows, _below_negated(rows.value, splits)
    ticks = _ticks_of(kind)
    below, kept = 0, list[Any]()
    if ticks is None:
        with np.errstate(over="ignore"):  # nothing but infinity is above the largest double
            kept = np.nextafter(splits, np.inf).tolist()
    else:
        exact = map(Fraction, splits.astype(object))
        above = [math.floor(tau * ticks.each) + 1 for tau in exact]
        below = sum(tick <= ticks.least for tick in above)
        kept = [tick for tick in above[below:] if tick <= ticks.most]
    if not kept:
        return rows, _ibis().literal(below)
    if engine == "postgres":
        texts = [repr(step) if ticks is None else ticks.text(step) for step in kept]
        return rows, _bucket(rows.value, texts) + below
    return _joined(engine, rows, kept, below, ticks)


def _line_holds(backend: Any, kind: Any, cells: Cells) -> bool:
    """Return whether the engine finds the cells of all inner thresholds, and of what is next."""
    ibis = _ibis()
    pyarrow = _check.extra("pyarrow", PURPOSE, "sql")
    splits = cells.positions[:-1]
    if kind.is_floating():
        points = np.concatenate([splits, np.nextafter(splits, np.inf)])
    else:
        points = np.concatenate([np.floor(splits), np.floor(splits) + 1]).astype(np.int64)
    table = ibis.memtable(pyarrow.table({"value": points}))
    query = table.select("value", cell=_on_line(backend.name, table.value, cells))
    rows = backend.to_pyarrow(query)
    own, found = rows["value"].to_numpy(), rows["cell"].to_numpy()
    return bool((np.searchsorted(splits, own) == found).all())


def _line_of(cells: Cells) -> tuple[float, float, float, int]:
    assert cells.line is not None
    lower, upper = cells.line
    size = cells.positions.size
    return lower, upper - lower, size / (upper - lower), size


def _on_line(engine: str, value: Any, cells: Cells) -> Any:
    """Return the cell on a uniform grid; N for NaN, and null for null."""
    ibis = _ibis()
    lower, width, scale, size = _line_of(cells)
    first, last = cells.positions[0].item(), cells.positions[-2].item()
    if value.type().is_floating():
        low, high = _double(first), _double(last)
    else:  # the integers between are doubles
        low, high = ibis.literal(math.floor(first)), ibis.literal(math.floor(last))
    is_inside = (value > low) & (value <= high)
    number, at_zero = value.cast("float64"), lower == 0.0
    if engine != "duckdb":  # which computes a case for its own rows only
        number = ibis.ifelse(is_inside, number, _double(last))
    position = (number if at_zero else number - _double(lower)) * _double(scale)
    # DuckDB rounds to integers, and others do so down.
    guess = position.cast("int32") if engine == "duckdb" else (position + _double(0.5)).floor()
    guessed = guess.cast("float64")
    if size & (size - 1) == 0:  # the width of a cell has no rounding error
        distance = _double(width / size) * guessed
    else:
        divisor = _double(float(size))
        if engine == "polars":  # which multiplies by the inverse of a constant
            divisor = divisor + guessed * _double(0.0)
        distance = _double(width) * guessed / divisor
    threshold = distance if at_zero else _double(lower) + distance
    inside = guess - 1 + (number > threshold).cast("int32")
    above = ibis.literal(size - 1)
    if value.type().is_floating():
        above = above + value.isnan().cast("int32")
    none = ibis.null("int32")
    return ibis.cases((is_inside, inside), (value <= low, 0), (value > high, above), else_=none)


def _joined(
    engine: str, rows: Any, kept: list[Any], below: int, ticks: _Ticks | None
) -> tuple[Any, Any]:
    """Return the rows, with the number of the last step that is not above each."""
    ibis = _ibis()
    pyarrow = _check.extra("pyarrow", PURPOSE, "sql")
    steps = sorted(set(kept))
    last = {step: at for at, step in enumerate(kept, below + 1)}  # of equal steps, the last one
    array = pyarrow.array(steps, "float64") if ticks is None else ticks.arrow(steps)
    arrays = {"step": array, "step_cell": pyarrow.array([last[step] for step in steps])}
    if engine in _AS_OF:
        table = ibis.memtable(pyarrow.table(arrays))
        first = ibis.asc("value", nulls_first=True)
        ordered = rows.order_by(first) if engine == "polars" else rows
        joined = ordered.asof_join(table, ordered.value >= table.step)
    else:
        arrays["next_step"] = pyarrow.concat_arrays([array[1:], pyarrow.nulls(1, array.type)])
        table = ibis.memtable(pyarrow.table(arrays))
        inside = table.next_step.isnull() | (rows.value < table.next_step)
        joined = rows.left_join(table, [rows.value >= table.step, inside])
    return joined, joined.step_cell.fill_null(below)


def _bucket(value: Any, texts: list[str]) -> Any:
    """Return how many steps are not above each value, as PostgreSQL searches."""
    ibis = _ibis()

    def width_bucket(value, steps): ...  # type: ignore[no-untyped-def]

    kind = value.type().copy(nullable=True)
    steps = ibis.expr.datatypes.Array(kind)
    search = _builtin(width_bucket, (kind, steps), "int64")
    quoted = ",".join(f'"{step}"' for step in texts)
    return search(value, ibis.literal(f"{{{quoted}}}").cast(steps))


def _below_negated(value: Any, splits: NDArray[np.float64]) -> Any:
    """Return the cell of decimals of any scale: tau < x where -x < -tau."""
    texts = [f"{Decimal(-tau):f}" for tau in splits[::-1].tolist()]
    return splits.size - _bucket(-value, texts) if texts else _ibis().literal(0)


def _ticks_of(kind: Any) -> _Ticks | None:
    """Return the ticks of a type; None of doubles, which have none."""
    pyarrow = _check.extra("pyarrow", PURPOSE, "sql")
    if kind.is_floating():
        return None
    if kind.is_integer():
        limits = np.iinfo(kind.to_numpy())
        make = lambda ticks: pyarrow.array(ticks, str(limits.dtype))  # noqa: E731
        return _Ticks(Fraction(1), int(limits.min), int(limits.max), make, str)
    if kind.is_decimal():
        scale, digits = kind.scale, kind.precision
        own = pyarrow.decimal128(digits, scale) if digits <= 38 else None
        own = pyarrow.decimal256(digits, scale) if own is None else own

        def written(tick: int) -> str:
            number = f"{abs(tick):0{scale + 1}d}"
            whole = f"{number[: len(number) - scale]}.{number[len(number) - scale :]}"
            return f"{'-' if tick < 0 else ''}{whole.rstrip('.')}"

        most = 10**digits - 1
        make = lambda ticks: pyarrow.array([Decimal(written(t)) for t in ticks], own)  # noqa: E731
        return _Ticks(Fraction(10**scale), -most, most, make, written)
    if kind.is_date():
        make = lambda ticks: pyarrow.array(ticks, "int32").cast("date32")  # noqa: E731
        each = Fraction(1, int(times.DAY))
        limits = np.iinfo(np.int32)
        first = dt.date(1970, 1, 1)

        def day(tick: int) -> str:
            return (first + dt.timedelta(tick)).isoformat()

        return _Ticks(each, int(limits.min), int(limits.max), make, day)
    # The type of the column itself, because polars compares no others.
    if kind.is_timestamp():
        unit = {3: "ms"}.get(kind.scale, "us" if (kind.scale or 0) <= 6 else "ns")
        own = pyarrow.timestamp(unit, kind.timezone)
    else:
        unit = {"NANOSECOND": "ns", "MILLISECOND": "ms"}.get(kind.unit.name, "us")
        own = pyarrow.duration(unit)

    def moment(tick: int) -> str:
        if kind.is_timestamp():
            return str(np.array(tick).astype(f"M8[{unit}]")) + ("+00" if kind.timezone else "")
        return f"{tick} microseconds"

    make = lambda ticks: pyarrow.array(ticks, "int64").cast(own)  # noqa: E731
    return _Ticks(_EACH[unit], _LEAST + 1, _MOST, make, moment)


def _is_missing(engine: str, values: Any) -> Any:
    kind = values.type()
    if kind.is_floating():
        return values.isnull() | values.isnan()
    if kind.is_decimal() and engine == "postgres":  # its decimals have a NaN
        return values.isnull() | (values.cast("string") == "NaN")
    return values.isnull()


def _is_postgres_or_scaled(value: Any) -> bool:
    kind = value.type()
    if kind.scale is not None and kind.precision is not None:
        return True
    engines, _ = value._find_backends()
    return bool([engine for engine in engines if engine.name == "postgres"])


def _double(number: float) -> Any:
    """Return a literal that engines read as this very double; decimals would be rounded twice."""
    return _ibis().literal(repr(number)).cast("float64")


def _quietly(backend: Any, work: Callable[[], Any]) -> Any:
    """Return what an engine returns; its errors may quote records."""
    try:
        return work()
    except (DpcoreError, MemoryError):
        raise
    except Exception as error:
        kind = type(error).__name__
    # Outside the handler, because the caught error would be the context.
    raise EngineError(str(backend.name), kind)


def _ibis() -> Any:
    return _check.extra("ibis", PURPOSE, "sql")
