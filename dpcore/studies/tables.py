"""Rows as Arrow tables: what is kept of replicates, and what says how they were made."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .calls import Done, StudyError
from .cells import TAKEN, Cell, Label
from .study import Study

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "Header",
    "Maker",
    "by_cell",
    "labels_column",
    "makers_of",
    "only",
    "part_of",
    "tidy",
    "with_makers",
]

Maker = dict[str, str]
_KEY: Final = b"dpcore.study"


class Header(NamedTuple):
    """What a table says of itself.

    Parameters
    ----------
    study
        The name.
    seed
        The entropy from which all generators are spawned.
    batch
        How many replicates a call makes; None: one, and the function does not know of batches.
    makers
        What made the rows: the digest of the code and the versions. More than one, if a table was
        continued by other code or by other versions.
    cells
        The labels of each cell, by its key.
    """

    study: str
    seed: int
    batch: int | None
    makers: list[Maker]
    cells: dict[str, dict[str, Label]]

    def written(self) -> dict[bytes, bytes]:
        """Return the metadata of an Arrow schema."""
        return {_KEY: json.dumps(self._asdict()).encode()}

    @classmethod
    def read(cls, schema: pyarrow.Schema) -> Header | None:
        """Return what a schema says, or None, if it is not that of a study."""
        text = (schema.metadata or {}).get(_KEY)
        return None if text is None else cls(**json.loads(text))


def makers_of(study: Study) -> Maker:
    """Return the digest of the code, and the versions that may change what it returns."""
    packages = ("dpcore", "numpy", "scipy", "numba")
    return {
        "code": study.digest,
        **{name: version(name) for name in packages},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def part_of(done: Iterable[Done], header: Header, size: int) -> pyarrow.Table:
    """Return a table of the rows of some chunks, made by the first of ``header.makers``."""
    import pyarrow as pa

    cells: list[str] = []
    replicates: list[int] = []
    rows: list[Mapping[str, Any]] = []
    for chunk, found, _ in done:
        cells += [chunk.cell.key] * len(found)
        replicates += range(chunk.start * size, chunk.stop * size)
        rows += found
    columns = {
        "cell": pa.array(cells, pa.string()),
        "replicate": pa.array(replicates, pa.int64()),
        "made_by": pa.array(np.zeros(len(rows), np.int32)),
    }
    for name in dict.fromkeys(name for row in rows for name in row):
        columns[name] = _column([row.get(name) for row in rows])
    return pa.table(columns).replace_schema_metadata(header.written())


def tidy(
    parts: Sequence[pyarrow.Table], header: Header, cells: Iterable[Cell] = ()
) -> pyarrow.Table:
    """Return all rows once, in the order of cells and replicates, with the parameters as columns.

    ``parts`` have the columns of ``part_of``, or those of an earlier result, and indices into
    ``header.makers``.
    """
    import pyarrow as pa

    order = {cell.key: at for at, cell in enumerate(cells)}
    order |= {key: len(order) + at for at, key in enumerate(sorted(set(header.cells) - set(order)))}
    names = list(dict.fromkeys(name for labels in header.cells.values() for name in labels))
    try:
        whole = pa.concat_tables([_alike(each, names) for each in parts], promote_options="default")
    except pa.ArrowException as error:
        raise StudyError(
            f"a number in one replicate must not be an array in another: {error}"
        ) from None
    keys = whole.column("cell").combine_chunks().dictionary_encode()
    places = np.array([order[key] for key in keys.dictionary.to_pylist()], np.int64)
    at = places[keys.indices.to_numpy(zero_copy_only=False)] if len(whole) else np.empty(0, int)
    replicates = whole.column("replicate").to_numpy()
    _, first = np.unique(np.stack([at, replicates]), axis=1, return_index=True)
    whole = whole.take(pa.array(first))
    found = whole.column("cell").to_pylist()
    labels = {name: [header.cells[key].get(name) for key in found] for name in names}
    columns = {name: labels_column(values) for name, values in labels.items()}
    columns["replicate"] = whole.column("replicate")
    quantities = sorted(name for name in whole.column_names if name not in TAKEN)
    columns |= {name: whole.column(name) for name in (*quantities, "made_by", "cell")}
    return pa.table(columns).combine_chunks().replace_schema_metadata(header.written())


def only(table: pyarrow.Table, cells: Sequence[Cell], replicates: int) -> pyarrow.Table:
    """Return the first replicates of some cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    header = Header.read(table.schema)
    assert header is not None
    keys = pa.array([cell.key for cell in cells])
    few = pc.less(table.column("replicate"), replicates)
    table = table.filter(pc.and_(few, pc.is_in(table.column("cell"), keys)))
    header = header._replace(cells={cell.key: dict(cell.labels) for cell in cells})
    return table.combine_chunks().replace_schema_metadata(header.written())


def with_makers(table: pyarrow.Table, places: NDArray[np.int32]) -> pyarrow.Table:
    """Return a table whose makers have other places: ``places[i]`` instead of i."""
    import pyarrow as pa

    made_by = pa.array(places[table.column("made_by").to_numpy()])
    return table.set_column(table.column_names.index("made_by"), "made_by", made_by)


def by_cell(table: pyarrow.Table, quantity: str) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Return the key of each cell, and its values, (replicates,) or (replicates, positions)."""
    column = table.column(quantity).combine_chunks()
    keys = table.column("cell").combine_chunks().dictionary_encode()
    at = keys.indices.to_numpy(zero_copy_only=False)
    ends = [*np.flatnonzero(np.diff(at)) + 1, len(at)] if len(at) else []
    for start, end in zip([0, *ends], ends, strict=False):
        values = column[start:end]
        yield keys.dictionary[int(at[start])].as_py(), _values(values)


def _values(column: pyarrow.Array) -> NDArray[np.float64]:
    """Return the values of a cell; what was not returned is NaN."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    lengths = set(column.value_lengths().drop_null().to_pylist())
    if len(lengths) > 1:
        raise StudyError(f"arrays of one cell must be equally long, not {sorted(lengths)}")
    size = lengths.pop() if lengths else 0
    if column.null_count:
        missing = [float("nan")] * size
        column = pa.array([missing if each is None else each for each in column.to_pylist()])
    return np.asarray(column.flatten().to_numpy()).reshape(len(column), size)


def _alike(part: pyarrow.Table, parameters: list[str]) -> pyarrow.Table:
    return part.drop_columns([name for name in part.column_names if name in parameters])


def _column(values: list[Any]) -> pyarrow.Array:
    import pyarrow as pa

    lists = any(isinstance(value, np.ndarray) for value in values)
    return pa.array(values, pa.list_(pa.float64()) if lists else pa.float64(), from_pandas=False)


def labels_column(values: list[Label]) -> pyarrow.Array:
    """Return a column of a parameter; labels of several types become text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)
