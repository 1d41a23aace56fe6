"""The header of a study's table, in the metadata of its schema."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cells import Label
from .study import MOST_SEED, Study

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "DIGEST",
    "KEY",
    "Header",
    "Maker",
    "differences",
    "header_of",
    "maker_of",
    "united",
    "versions",
]

Maker = dict[str, str]
KEY: Final = b"dpcore.study"
DIGEST: Final = "dpcore.sha256"  # the digest of a file, which is no part of the header in memory
# Packages that may change the results of a study.
_PACKAGES: Final = ("dpcore", "numpy", "scipy", "numba")


class Header(NamedTuple):
    """The header of a table: the study, the seed, the makers and the cells.

    Parameters
    ----------
    study
        The name.
    seed
        The entropy from which all generators are spawned.
    batch
        How many replicates a call makes; None: one, and the function does not know of batches.
    makers
        What made the rows: digests of the code, and versions. More than one, if a table was
        continued by other code or by other versions.
    cells
        The labels of each cell, by its key.
    """

    study: str
    seed: int
    batch: int | None
    makers: list[Maker]
    cells: dict[str, dict[str, Label]]

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return list(dict.fromkeys(name for labels in self.cells.values() for name in labels))

    def on(self, table: pyarrow.Table) -> pyarrow.Table:
        """Return a table with this header."""
        return table.replace_schema_metadata({KEY: json.dumps(self._asdict())})

    @classmethod
    def read(cls, schema: pyarrow.Schema) -> Header | None:
        """Return the header in a schema, or None if the schema is not that of a study."""
        try:
            content = json.loads((schema.metadata or {}).get(KEY, b"null"))
        except ValueError:
            return None
        if not isinstance(content, dict):
            return None
        fields = {name: content[name] for name in cls._fields if name in content}
        if len(fields) < len(cls._fields) or content.keys() - fields.keys() - {DIGEST}:
            return None
        header = cls(**fields)
        return header if header._is_valid() else None

    def _is_valid(self) -> bool:
        return (
            isinstance(self.study, str)
            and _is_integer(self.seed, 0, MOST_SEED)
            and (self.batch is None or _is_integer(self.batch, 1, 2**31 - 1))
            and isinstance(self.makers, list)
            and all(_is_mapping(maker, str) for maker in self.makers)
            and _is_mapping(self.cells, dict)
            and all(_is_mapping(labels, Label) for labels in self.cells.values())
        )


def header_of(table: pyarrow.Table) -> Header:
    """Return the header of a study's table."""
    header = Header.read(table.schema)
    assert header is not None
    return header


def maker_of(study: Study) -> Maker:
    """Return the digests of the code, and the versions that may change its results."""
    digests = dict(study.code)
    used = {name: _version(name) for name in digests.pop("packages").split()}
    return {
        **digests,
        **versions(),
        **{name: stated for name, stated in used.items() if stated and name not in _PACKAGES},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def versions() -> Maker:
    """Return this process's versions of the packages on which all studies may depend."""
    return {name: _installed(name) for name in _PACKAGES}


def united(headers: Sequence[Header]) -> tuple[list[Maker], list[NDArray[np.int32]]]:
    """Return all makers, and for each header the places of its makers among them.

    Two that agree in what both say are one: values of a parameter that only one of them knew were
    added, and change no row.
    """
    makers: list[Maker] = []
    places = []
    for header in headers:
        own = []
        for maker in header.makers:
            at = next((at for at, known in enumerate(makers) if _agree(known, maker)), len(makers))
            if at == len(makers):
                makers.append({})
            makers[at] = {**maker, **makers[at]}
            own.append(at)
        places.append(np.array(own, np.int32))
    return [dict(sorted(maker.items())) for maker in makers], places


def differences(before: Maker, now: Maker) -> str:
    """Return the differences of two makers as text, empty if there are none."""
    both = [name for name in now if name in before and before[name] != now[name]]
    return ", ".join(f"{name} {before[name]} -> {now[name]}" for name in both)


def _agree(one: Maker, other: Maker) -> bool:
    return not differences(one, other)


def _is_integer(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_mapping(value: object, kind: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, kind) for item in value.values())


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # dpcore, in a bare checkout
        return "not installed"


def _version(package: str) -> str | None:
    """Return the version that an imported package states; None for Python's own packages."""
    stated = getattr(sys.modules.get(package), "__version__", None)
    return stated if isinstance(stated, str) and package not in sys.stdlib_module_names else None
