"""The folder of a study: a table of replicates, and the parts that a run has yet to put into it.

Parts are written whole or not at all, and put together at the end of a run. A row that two files
hold, as after an interruption between writing and removing, counts once: its numbers are the same.
"""

from __future__ import annotations

import io
import json
import secrets
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DpcoreWarning, ParameterError
from ..records.atomic import write_together
from ..records.files import FileError
from .calls import Done
from .cells import Cell, Label
from .study import Study
from .tables import Header, Maker, makers_of, part_of, tidy, with_makers

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Store", "StudyWarning", "stored"]


class StudyWarning(DpcoreWarning):
    """A table was continued by other code or by other versions than it was begun with."""


class Store:
    """What is known of a study: in memory, and in a folder if there is one.

    Parameters
    ----------
    out
        The folder, which is made if need be; None: only memory.
    study
        The study that is run.
    seed
        What was asked for; None: that of the folder, or a new one.

    Raises
    ------
    FileError
        The folder cannot be made, or holds files that are not those of a study.
    ParameterError
        It holds another study, or the same one with another seed.
    """

    def __init__(self, out: Path | None, study: Study, seed: int | None) -> None:
        self.out = out
        self._study = study
        self._maker = makers_of(study)
        self._read: list[Path] = []
        self._tables: list[pyarrow.Table] = []
        self._makers: list[Maker] = []
        self._cells = {cell.key: dict(cell.labels) for cell in study.cells}
        if out is not None:
            self._open(out, seed)
        headers = [_header(table) for table in self._tables]
        if seed is None:
            seed = headers[0].seed if headers else secrets.randbits(128)
        self.seed = seed
        if self._makers and self._maker not in self._makers:
            warnings.warn(_differences(self._makers[-1], self._maker, out), StudyWarning, 3)

    def missing(self, replicates: int) -> list[tuple[Cell, list[int]]]:
        """Return the calls of each cell that are not yet made."""
        size, have = self._study.size, defaultdict[str, set[int]](set)
        for table in self._tables:
            cells = table.column("cell").combine_chunks().dictionary_encode()
            at = cells.indices.to_numpy(zero_copy_only=False)
            numbers = table.column("replicate").to_numpy()
            for place, key in enumerate(cells.dictionary.to_pylist()):
                have[key] |= set((numbers[at == place] // size).tolist())
        wished = range(replicates // size)
        return [
            (cell, [n for n in wished if n not in have[cell.key]]) for cell in self._study.cells
        ]

    def add(self, done: Sequence[Done]) -> None:
        """Take the rows of some chunks, and write them as a part."""
        if not done:
            return
        cells = {each.chunk.cell.key: dict(each.chunk.cell.labels) for each in done}
        header = Header(self._study.name, self.seed, self._study.batch, [self._maker], cells)
        self._tables.append(part_of(done, header, self._study.size))
        if self.out is not None:
            (self.out / "parts").mkdir(exist_ok=True)
            path = self.out / "parts" / f"{secrets.token_hex(8)}.parquet"
            _write(path, self._tables[-1])
            self._read.append(path)

    def whole(self) -> pyarrow.Table:
        """Return all rows that are known, and put those in parts into one file."""
        whole = _together(self._tables, self._cells, self._study.cells)
        parts = [path for path in self._read if path.parent != self.out]
        if self.out is not None and parts:
            _write(self.out / "replicates.parquet", whole)
            for path in parts:
                path.unlink(missing_ok=True)
        return whole

    def write_summary(self, summary: pyarrow.Table) -> None:
        """Write what the table of replicates comes to beside it."""
        if self.out is not None:
            _write(self.out / "summary.parquet", summary)

    def _open(self, out: Path, seed: int | None) -> None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(str(out), f"cannot be made: {error.strerror}") from None
        for path in _paths(out):
            table = _read(path)
            header = _header(table)
            if (header.study, header.batch) != (self._study.name, self._study.batch):
                raise ParameterError(
                    "out", str(out), f"must not hold another study, {header.study}"
                )
            if seed is not None and header.seed != seed:
                raise ParameterError("seed", seed, f"must be {header.seed}, as in {str(out)!r}")
            seed = header.seed
            self._read.append(path)
            self._tables.append(table)
            self._makers += [maker for maker in header.makers if maker not in self._makers]


def stored(out: Path) -> pyarrow.Table:
    """Return all rows that a folder holds, those of an interrupted run among them.

    Raises
    ------
    FileError
        There is no study in the folder.
    """
    tables = [_read(path) for path in _paths(out)]
    if not tables:
        raise FileError(str(out), "holds no study")
    return _together(tables, {}, ())


def _together(
    tables: Sequence[pyarrow.Table],
    cells: Mapping[str, dict[str, Label]],
    order: Sequence[Cell],
) -> pyarrow.Table:
    """Return the rows of all tables, under one header."""
    headers, parts = [_header(table) for table in tables], []
    makers = list({json.dumps(each): each for h in headers for each in h.makers}.values())
    for table, header in zip(tables, headers, strict=True):
        places = np.array([makers.index(each) for each in header.makers], np.int32)
        parts.append(with_makers(table, places))
    known = {key: labels for header in headers for key, labels in header.cells.items()}
    whole = headers[0]._replace(makers=makers, cells={**cells, **known})
    return tidy(parts, whole, order)


def _paths(out: Path) -> Iterable[Path]:
    whole = out / "replicates.parquet"
    return [*([whole] if whole.exists() else []), *sorted((out / "parts").glob("*.parquet"))]


def _read(path: Path) -> pyarrow.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(path.read_bytes()))
    except OSError as error:
        raise FileError(str(path), f"cannot be read: {error}") from None
    except pa.ArrowException as error:
        raise FileError(str(path), f"is damaged: {error}") from None
    if Header.read(table.schema) is None:
        raise FileError(str(path), "is not the table of a study")
    return table


def _write(path: Path, table: pyarrow.Table) -> None:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(table, stream)
    write_together({path: stream.getvalue()})


def _header(table: pyarrow.Table) -> Header:
    header = Header.read(table.schema)
    assert header is not None
    return header


def _differences(before: Maker, now: Maker, out: Path | None) -> str:
    changed = ", ".join(
        f"{name} {before.get(name)} -> {now[name]}" for name in now if before.get(name) != now[name]
    )
    return (
        f"{str(out)!r} was begun by other code or other versions ({changed}); the column made_by "
        "tells the rows apart"
    )
