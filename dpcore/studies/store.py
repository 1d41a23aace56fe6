"""The results of a study while it runs, in memory, and in a folder if there is one."""

from __future__ import annotations

import itertools
import secrets
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DpcoreWarning, ParameterError
from ..records.files import FileError
from .calls import Chunk, Done, Row, StudyError
from .cells import Label
from .folder import Folder
from .header import Header, differences, header_of, maker_of
from .study import Study
from .summary import QUANTILES, summary
from .tables import only, part_of, quantities_of, tidy

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Store", "StudyWarning", "stored"]


class StudyWarning(DpcoreWarning):
    """A run may give other numbers, because of other code, other versions or other generators."""


class Store:
    """The rows of a study.

    Parameters
    ----------
    out
        The folder, which is made if need be; None: only memory.
    study
        The study that is run.
    seed
        The user's seed; None: the seed of the folder, or a new one.
    replicates
        How many of each cell there should be.

    Raises
    ------
    FileError
        The folder cannot be made, or holds files that are not those of a study.
    ParameterError
        It holds another study, or the same one with another seed.
    """

    def __init__(self, out: Path | None, study: Study, seed: int | None, replicates: int) -> None:
        self._study = study
        self._replicates = replicates
        self._folder = None if out is None else Folder(out)
        self._tables = [] if self._folder is None else self._folder.read()
        self._shapes: dict[tuple[str, str], int | None] = {}
        self._maker = maker_of(study)
        self.seed = self._checked(seed)
        self.missing = self._missing()
        if self._folder is not None and any(self.missing.values()):
            self._begin(self._folder, seed)
        self._learn_shapes()
        self._warn()

    def add(self, done: Sequence[Done]) -> None:
        """Add the rows of some chunks, and write them as a part.

        Raises
        ------
        FileError
            The part cannot be written.
        StudyError
            What a cell returned has another shape than before. All other calls are kept.
        """
        fitting, problems = [], list[StudyError]()
        for finished in done:
            kept, of_chunk = self._fitting(finished)
            fitting += kept
            problems += of_chunk
        if fitting:
            self._write(fitting)
        if problems:
            raise problems[0]

    def _fitting(self, finished: Done) -> tuple[list[Done], list[StudyError]]:
        """Return the calls whose rows have the shapes of before, and the errors about others."""
        chunk, rows, size = finished.chunk, finished.rows, self._study.size
        others, problems = {-1, chunk.stop - chunk.start}, list[StudyError]()
        for at, row in enumerate(rows):
            try:
                self._check_shapes(chunk.key, row)
            except StudyError as error:
                others.add(at // size)
                problems.append(error)
        kept = [
            Done(
                Chunk(chunk.key, chunk.start + before + 1, chunk.start + after),
                rows[(before + 1) * size : after * size],
                finished.seconds,
            )
            for before, after in itertools.pairwise(sorted(others))
            if before + 1 < after
        ]
        return kept, problems

    def _write(self, done: Sequence[Done]) -> None:
        cells = {
            finished.chunk.key: dict(self._study.by_key[finished.chunk.key].labels)
            for finished in done
        }
        part = part_of(done, self._header(cells), self._study.size)
        self._tables.append(tidy([part], self._study.cells))
        if self._folder is not None:
            self._folder.add(self._tables[-1])

    def whole(self) -> pyarrow.Table:
        """Return the requested rows. In the folder, put the parts together into one file."""
        if self._folder is not None:
            self._folder.tidy(self._together)
        return only(self._tables, self._study.cells, self._replicates)

    def _together(self, tables: list[pyarrow.Table]) -> list[pyarrow.Table]:
        whole = tidy(tables, self._study.cells)
        header = header_of(whole)
        quantities = quantities_of(whole, header)
        return [whole, summary(whole, header, quantities, 0.95, QUANTILES)]

    def _checked(self, seed: int | None) -> int:
        """Return the seed of the tables, if they are of this study."""
        for header in map(header_of, self._tables):
            if (header.study, header.batch) != (self._study.name, self._study.batch):
                batch = "" if header.batch is None else f", {header.batch} at a time"
                raise ParameterError(
                    "out", self._where, f"must not hold another study, {header.study}{batch}"
                )
            if seed is not None and header.seed != seed:
                raise ParameterError("seed", seed, f"must be {header.seed}, as in {self._where}")
            seed = header.seed
        return secrets.randbits(128) if seed is None else seed

    def _begin(self, folder: Folder, seed: int | None) -> None:
        """Write a table without rows, which states the study, the seed and the order of the cells.

        Others may have begun in the meantime: then the seed is theirs.
        """
        with folder.locked():
            self._tables = folder.read()
            self.seed = self._checked(self.seed if seed is not None or not self._tables else None)
            self.missing = self._missing()
            cells = {cell.key: dict(cell.labels) for cell in self._study.cells}
            self._tables.append(part_of([], self._header(cells), 1))
            folder.begin(self._tables[-1])

    def _missing(self) -> Mapping[str, list[range]]:
        """Return the calls of each cell that are missing, in ranges."""
        size, calls = self._study.size, self._replicates // self._study.size
        have: dict[str, list[NDArray[np.int64]]] = {key: [] for key in self._study.by_key}
        for table in self._tables:
            cells = table.column("cell").combine_chunks().dictionary_encode()
            order = np.argsort(cells.indices.to_numpy(), kind="stable")
            at, numbers = (
                cells.indices.to_numpy()[order],
                table.column("replicate").to_numpy()[order],
            )
            bounds = np.searchsorted(at, np.arange(len(cells.dictionary) + 1))
            for place, key in enumerate(cells.dictionary.to_pylist()):
                if key in have:
                    have[key].append(numbers[bounds[place] : bounds[place + 1]] // size)
        return {key: _gaps(parts, calls) for key, parts in have.items()}

    def _header(self, cells: dict[str, dict[str, Label]]) -> Header:
        return Header(self._study.name, self.seed, self._study.batch, [self._maker], cells)

    def _learn_shapes(self) -> None:
        """Take note of the shapes of the existing rows."""
        import pyarrow as pa

        for table in self._tables:
            names = quantities_of(table, header_of(table))
            keys = table.column("cell").combine_chunks().dictionary_encode().indices
            first = pa.array(np.unique(keys.to_numpy(), return_index=True)[1])
            for row in table.select([*names, "cell"]).take(first).to_pylist():
                key = row.pop("cell")
                known = {name: value for name, value in row.items() if value is not None}
                self._check_shapes(key, {name: np.asarray(value) for name, value in known.items()})

    def _check_shapes(self, key: str, row: Row) -> None:
        """Check a row, and take note of its shapes if they are those of before."""
        shapes = dict[tuple[str, str], int | None]()
        for name, value in row.items():
            shape = value.size if isinstance(value, np.ndarray) and value.ndim else None
            shapes[("", name)] = kind = self._shapes.get(("", name), shape)
            shapes[(key, name)] = before = self._shapes.get((key, name), shape)
            if shape != before or (kind is None) != (shape is None):
                raise StudyError(
                    f"{name!r} must always be a number, or an array of the same length in all "
                    f"replicates of a cell; {self._study.name} at {self._study.by_key.get(key)} "
                    f"returned {_words(shape)} after {_words(before if shape != before else kind)}"
                )
        self._shapes |= shapes

    def _warn(self) -> None:
        """Warn if other code or other versions made some of the rows."""
        tables = [table for table in self._tables if len(table)]
        makers = [maker for table in tables for maker in header_of(table).makers]
        differs = next(filter(None, (differences(maker, self._maker) for maker in makers)), None)
        if differs is not None:
            message = (
                f"{self._where} has rows that other code or other versions made ({differs}); the "
                "column made_by tells the rows apart"
            )
            warnings.warn(message, StudyWarning, 4)

    @property
    def _where(self) -> str:
        return "" if self._folder is None else repr(str(self._folder.path))


def stored(out: Path) -> pyarrow.Table:
    """Return all rows in a folder, including those of an interrupted run.

    Raises
    ------
    FileError
        There is no study in the folder, or more than one, or a file of it cannot be read.
    """
    tables = Folder(out).read()
    if not tables:
        raise FileError(str(out), "holds no study")
    if len({header_of(table)[:3] for table in tables}) > 1:  # others were copied into the folder
        raise FileError(str(out), "holds files of several studies, seeds or batches")
    return tidy(tables)


def _gaps(have: Sequence[NDArray[np.int64]], calls: int) -> list[range]:
    """Return the missing ones of ``calls`` numbers, in ranges."""
    known = np.unique(np.concatenate([*have, np.empty(0, np.int64)]))
    edges = np.concatenate([[-1], known[known < calls], [calls]]).tolist()
    pairs = itertools.pairwise(edges)
    return [range(before + 1, after) for before, after in pairs if before + 1 < after]


def _words(size: int | None) -> str:
    return "a number" if size is None else f"an array of {size}"
