"""What reports ask of every result: its guarantees, its tables, and its picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..privacy.guarantees import of_public_size
from .field_tables import MOST_ROWS, Rows
from .stored import Stored

__all__ = ["guarantees", "picture", "tables"]


def guarantees(result: Stored) -> tuple[Any, ...]:
    """Return what a result cost: nothing if it was made from public numbers alone."""
    return result._guarantees()


def tables(result: Stored, level: float) -> list[Rows]:
    """Return what is read off a result, with intervals of a level, and its public choices."""
    return [*result._readings(level), _public_choices(result)]


def picture(result: Stored) -> Any:
    """Return Matplotlib's axes with a picture of a result, or None if there is none."""
    return result._pictured()


def _public_choices(result: Stored) -> Rows:
    """Return what was chosen before the records were seen, as far as the result keeps it."""
    choices, rows = result._choices(), [("kind", type(result).__name__)]
    if "grid" in choices:
        rows.append(("grid", repr(choices["grid"])))
    if "groups" in choices:
        groups = choices["groups"]
        said = ", ".join(map(str, groups[:MOST_ROWS]))
        rows.append(("groups", said if len(groups) <= MOST_ROWS else f"{said}, ..."))
    if "n" in choices:
        n = choices["n"]
        name = "records, as released" if _are_released(result) else "records"
        rows.append((name, "not public" if n is None else _joined(n)))
    if "bins" in choices:
        rows.append(("bins", str(choices["bins"])))
    if "mechanism" in choices:
        rows.append(("mechanism", _described(choices["mechanism"])))
    return Rows("Public choices", ("", "value"), rows)


def _are_released(result: Stored) -> bool:
    """Return whether numbers of records are protected, so that they are known with noise only."""
    return any(not of_public_size(privacy.neighbours) for privacy in result._guarantees())


def _described(mechanism: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in mechanism.items())


def _joined(n: Any) -> str:
    return ", ".join(f"{int(one):,}" for one in np.ravel(n)[:MOST_ROWS])
