"""Releases by public groups: the options, and which group each record of a file belongs to."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..records.files import Column as FileColumn
from .arguments import UsageError
from .labels import meant
from .options import Option, as_flag, option

__all__ = ["BY", "by_options", "column_of", "groups_of", "is_missing", "labels_of", "places"]


def by_options(name: str = "groups") -> dict[str, Option]:
    """Return the options of groups, with the option of their labels by this name."""
    return {
        "by": option(
            f"name of a column of labels: release each of the {as_flag(name)}, for the price of "
            "one. Their sizes are private by default, and published with --mechanism",
            "C",
        ),
        name: option(
            "the public labels, between commas, as a line of a CSV file. Records with other "
            "labels count nowhere",
            "LABELS",
        ),
    }


BY: Final = by_options()


def groups_of(options: argparse.Namespace, name: str = "groups") -> list[str]:
    """Return the public groups, as they were typed; none without ``--by``."""
    typed, own = getattr(options, name), as_flag(name)
    if options.by is None and typed is None:
        return []
    for flag, value, other in (("--by", options.by, own), (own, typed, "--by")):
        if value is None:
            raise UsageError(f"{other} needs {flag}, too")
    return labels_of(typed, own)


def labels_of(typed: str, own: str) -> list[str]:
    """Return the public labels that an option of this name holds between commas."""
    rows = list(csv.reader([typed], skipinitialspace=True))
    groups = [label.strip() for label in rows[0]] if len(rows) == 1 else []
    if "" in groups or not groups:
        raise UsageError(f"{own} must hold labels between commas; got {typed!r}")
    if len({meant(group) for group in groups}) < len(groups):
        raise UsageError(f"{own} must all be different; got {typed!r}")
    return groups


def column_of(options: argparse.Namespace) -> FileColumn:
    """Return the column of labels of ``--by``."""
    return FileColumn(options.by, "labels", "--by")


def is_missing(labels: Any) -> bool:
    """Return whether an Arrow array lacks a value. NaN is none."""
    import pyarrow.compute as pc

    return bool(pc.any(pc.is_null(labels, nan_is_null=True)).as_py())


def places(labels: Any, groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each record's group in ``groups``, (n,), or -1 for a record of none.

    ``labels`` are an Arrow array. They are compared with what was typed as ``is_label`` does.
    """
    if not hasattr(labels, "dictionary"):
        labels = labels.dictionary_encode()
    known = {meant(group): at for at, group in enumerate(groups)}
    distinct = [*labels.dictionary.to_pylist(), None]  # the last one stands for missing labels
    own = np.array([-1 if label is None else known.get(meant(label), -1) for label in distinct])
    at = labels.indices.cast("int64").fill_null(len(distinct) - 1)
    return np.asarray(own[at.to_numpy(zero_copy_only=False)])
