"""Rows as Arrow tables: parts of a run, and the tidy table of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .calls import Done, StudyError
from .cells import TAKEN, Cell, Label, written
from .header import Header, header_of, united

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "are_in_order",
    "are_rows",
    "by_cell",
    "labels_column",
    "only",
    "part_of",
    "quantities_of",
    "tidy",
]


def part_of(done: Iterable[Done], header: Header, size: int) -> pyarrow.Table:
    """Return a table of the rows of some chunks, made by the first of ``header.makers``."""
    import pyarrow as pa

    keys: list[str] = []
    replicates: list[int] = []
    rows: list[Mapping[str, Any]] = []
    for finished in done:
        keys += [finished.chunk.key] * len(finished.rows)
        replicates += range(finished.chunk.start * size, finished.chunk.stop * size)
        rows += finished.rows
    columns = {
        "cell": pa.array(keys, pa.string()),
        "replicate": pa.array(replicates, pa.int64()),
        "made_by": pa.array(np.zeros(len(rows), np.int32)),
    }
    for name in dict.fromkeys(name for row in rows for name in row):
        columns[name] = _column([row.get(name) for row in rows])
    return header.on(pa.table(columns))


def tidy(tables: Sequence[pyarrow.Table], first: Iterable[Cell] = ()) -> pyarrow.Table:
    """Return all rows of parts and tidy tables once, in the order of cells and replicates.

    Parameters
    ----------
    tables
        At least one table. If two tables have the same row, the first of them gives it.
    first
        Cells that come before all others; these keep their order.

    Raises
    ------
    StudyError
        The tables do not go together.
    """
    import pyarrow as pa

    headers = [header_of(table) for table in tables]
    makers, places = united(headers)
    cells = {cell.key: dict(cell.labels) for cell in first}
    for existing in headers:
        for key, labels in existing.cells.items():
            cells.setdefault(key, labels)
    header = headers[0]._replace(makers=makers, cells=cells)
    parts = [_rows_of(*arguments) for arguments in zip(tables, headers, places, strict=True)]
    try:
        rows = pa.concat_tables(parts, promote_options="default")
    except pa.ArrowException as error:
        raise StudyError(
            f"numbers in one replicate must not be arrays in another: {error}"
        ) from None
    keys = rows.column("cell").combine_chunks().dictionary_encode()
    order = {key: at for at, key in enumerate(cells)}
    of_key = np.array([order[key] for key in keys.dictionary.to_pylist()], np.int64)
    at, replicates = of_key[keys.indices.to_numpy()], rows.column("replicate").to_numpy()
    # Stable: of two equal replicates, the first one stays in front.
    taken = np.lexsort((replicates, at))
    at, replicates = at[taken], replicates[taken]
    again = np.zeros(len(at), bool)
    again[1:] = (np.diff(at) == 0) & (np.diff(replicates) == 0)
    at, rows = at[~again], rows.take(pa.array(taken[~again]))
    made_by = rows.column("made_by").to_numpy()
    used = np.unique(made_by).tolist() or range(len(makers))
    # Cells without rows are forgotten, but a study that has just begun has all its cells.
    kept = _among(cells, np.unique(at)) if len(at) else cells
    header = header._replace(makers=[makers[place] for place in used], cells=kept)
    clash = sorted({*header.parameters} & {*rows.column_names})
    if clash:
        raise StudyError(f"{clash[0]!r} is a parameter of some cells and a number in others")
    columns = {
        name: labels_column([labels.get(name) for labels in cells.values()]).take(pa.array(at))
        for name in header.parameters
    }
    columns["replicate"] = rows.column("replicate")
    columns |= {name: rows.column(name) for name in quantities_of(rows, header)}
    columns["made_by"] = pa.array(np.searchsorted(used, made_by), pa.int32())
    columns["cell"] = rows.column("cell")
    return header.on(pa.table(columns).combine_chunks())


def only(tables: Sequence[pyarrow.Table], cells: Sequence[Cell], replicates: int) -> pyarrow.Table:
    """Return the first replicates of some cells, in their order, as one tidy table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = pa.array([cell.key for cell in cells], pa.string())
    few = [pc.less(table.column("replicate"), replicates) for table in tables]
    among = [pc.is_in(table.column("cell"), keys) for table in tables]
    return tidy([t.filter(pc.and_(*w)) for t, *w in zip(tables, few, among, strict=True)], cells)


def quantities_of(table: pyarrow.Table, header: Header) -> list[str]:
    """Return the names of the numbers and arrays that the function returned, sorted."""
    others = {*header.parameters, *TAKEN}
    return sorted(name for name in table.column_names if name not in others)


def are_rows(table: pyarrow.Table) -> bool:
    """Return whether a table with a header has a cell, a replicate, a maker and numbers in rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names, header = table.column_names, header_of(table)
    kinds = dict(zip(names, table.schema.types, strict=True))
    expected = {"cell": pa.string(), "replicate": pa.int64(), "made_by": pa.int32()}
    if len(kinds) < len(names) or any(kinds.get(name) != expected[name] for name in expected):
        return False
    numbers = [kinds[name] for name in quantities_of(table, header)]
    if not all((kind.value_type if _is_list(kind) else kind) == pa.float64() for kind in numbers):
        return False
    if not len(table):
        return True
    cells, replicates, makers = map(table.column, expected)
    return bool(
        not any(table.column(name).null_count for name in expected)
        and pc.all(pc.is_in(cells, pa.array(list(header.cells), pa.string()))).as_py()
        and pc.min(replicates).as_py() >= 0
        and 0 <= pc.min(makers).as_py() <= pc.max(makers).as_py() < len(header.makers)
    )


def are_in_order(table: pyarrow.Table) -> bool:
    """Return whether rows are in the order of cells and replicates, and each is there once."""
    order = {key: at for at, key in enumerate(header_of(table).cells)}
    keys = table.column("cell").combine_chunks().dictionary_encode()
    of_key = np.array([order[key] for key in keys.dictionary.to_pylist()], np.int64)
    cells = np.diff(of_key[keys.indices.to_numpy()])
    return bool(np.all((cells > 0) | (cells == 0) & (np.diff(table.column("replicate")) > 0)))


def by_cell(table: pyarrow.Table, quantity: str) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Return the key of each cell, and its values, (replicates,) or (replicates, positions)."""
    column = table.column(quantity).combine_chunks()
    keys = table.column("cell").combine_chunks().dictionary_encode()
    at = keys.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(at)) + 1)] if len(at) else []
    for start, end in zip(starts, [*starts[1:], len(at)], strict=False):
        yield keys.dictionary[int(at[start])].as_py(), _values(column[int(start) : int(end)])


def labels_column(labels: Sequence[Label]) -> pyarrow.Array:
    """Return a column of a parameter; labels of several types become text."""
    import pyarrow as pa

    return pa.array(written(labels))


def _values(column: pyarrow.Array) -> NDArray[np.float64]:
    """Return the values of a cell. Values that were not returned are NaN."""
    if not _is_list(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
    lengths = column.value_lengths().drop_null().unique().to_pylist()
    if len(lengths) > 1:
        raise StudyError(f"arrays of one cell must be equally long, not {sorted(lengths)}")
    values = np.full((len(column), lengths[0] if lengths else 0), np.nan)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    values[known] = column.flatten().to_numpy().reshape(known.sum(), values.shape[1])
    return values


def _rows_of(table: pyarrow.Table, header: Header, places: NDArray[np.int32]) -> pyarrow.Table:
    """Return a table without parameters, with its makers renumbered by ``places``."""
    import pyarrow as pa

    made_by = pa.array(places[table.column("made_by").to_numpy()], pa.int32())
    table = table.set_column(table.column_names.index("made_by"), "made_by", made_by)
    names = {*header.parameters}
    table = table.select([name for name in table.column_names if name not in names])
    fields = [
        field.with_type(_arrays()) if _is_list(field.type) else field for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def _among(cells: Mapping[str, dict[str, Label]], places: NDArray[np.int64]) -> dict[str, Any]:
    keys = list(cells)
    return {keys[at]: cells[keys[at]] for at in places.tolist()}


def _column(values: list[Any]) -> pyarrow.Array:
    import pyarrow as pa

    lists = any(isinstance(value, np.ndarray) for value in values)
    return pa.array(values, _arrays() if lists else pa.float64(), from_pandas=False)


def _arrays() -> pyarrow.DataType:
    """Return the type of a column of arrays, with the name for their entries that Parquet has."""
    import pyarrow as pa

    return pa.list_(pa.field("element", pa.float64()))


def _is_list(kind: pyarrow.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind))
