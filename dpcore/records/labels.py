"""Labels of records, from any container: which are positive, and which are missing."""

from __future__ import annotations

import math
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError, shown
from . import columns, object_kinds
from .containers import declared, parts

__all__ = ["Label", "positives"]

Label = bool | int | float | str | bytes
Kind = Literal["number", "string", "bytes"]
# Kinds of dtypes; all others are numbers.
_KINDS: Final[dict[str, Kind]] = {"U": "string", "S": "bytes"}
_TYPES: Final[dict[Kind, tuple[Any, str]]] = {
    "number": (bool | int | float, "a number"),
    "string": (str, "a string"),
    "bytes": (bytes, "bytes"),
}
_REQUIREMENT: Final = "must hold numbers or strings"


def positives(
    y_true: Any, pos_label: Label | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return which labels equal ``pos_label``, and which are missing, (n,) each.

    Parameters
    ----------
    y_true
        A column of numbers, booleans or strings. Nulls and NaN are missing.
    pos_label
        The label of the positives; None: 1, or True, if labels are numbers.

    Returns
    -------
    is_positive : numpy.ndarray
        False where the label is missing.
    is_missing : numpy.ndarray or None
        None if no label is missing.

    Raises
    ------
    DtypeError, ParameterError
        The column holds something else or labels of several kinds, or ``pos_label`` is not of its
        kind. The error depends on types, and never on the labels. Objects that are floats may
        stand for missing labels of any kind.
    """
    wanted = _checked(pos_label)
    if (kind := declared(y_true)) is not None:
        _check_kind("string" if kind is str else "bytes", wanted)
    found: list[NDArray[np.bool_]] = []
    missing: list[NDArray[np.bool_]] = []
    for part in parts(y_true, "y_true"):
        is_positive, is_missing = _compared(part.present, wanted)
        if part.absent is not None:
            is_present, is_missing_here = ~part.absent, part.absent.copy()
            is_missing_here[is_present] = is_missing
            spread = np.zeros(part.absent.size, bool)
            spread[is_present] = is_positive
            is_positive, is_missing = spread, is_missing_here
        found.append(is_positive)
        missing.append(is_missing)
    all_missing = _joined(missing)
    return _joined(found), all_missing if all_missing.any() else None


def _joined(found: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, bool), *found])


def _checked(pos_label: object) -> Label | None:
    """Return the label as a Python scalar."""
    # The items of these may be integers.
    is_number = not isinstance(pos_label, np.datetime64 | np.timedelta64)
    found = pos_label.item() if isinstance(pos_label, np.generic) and is_number else pos_label
    if found is not None and not isinstance(found, bool | int | float | str | bytes):
        raise DtypeError("pos_label", type(found).__name__, "must be a number, a string or bytes")
    if isinstance(found, float) and math.isnan(found):
        raise ParameterError("pos_label", found, "must not be NaN")
    return found


def _check_kind(kind: Kind, wanted: Label | None) -> None:
    """Check that the wanted label is of the column's kind."""
    if wanted is None:
        if kind != "number":
            raise ParameterError("pos_label", None, "must be given where labels are no numbers")
        return
    needed, name = _TYPES[kind]
    if not isinstance(wanted, needed):
        raise DtypeError("pos_label", shown(wanted), f"must be {name}, as the labels are")


def _compared(
    labels: NDArray[Any], wanted: Label | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which labels equal the wanted one, and which are missing."""
    columns.checked_kind(labels, "biufOUTS", "y_true", _REQUIREMENT)
    if labels.ndim != 1:
        raise ParameterError("y_true", labels.shape, "must be one-dimensional")
    if labels.dtype.kind == "T":  # these strings may have a value of their own for missing labels
        _check_kind("string", wanted)
        labels = labels.astype(object)
    elif labels.dtype.kind == "f" and labels.dtype.itemsize > 8:  # wider than Python's floats
        _check_kind("number", wanted)
        labels = labels.astype(object)
    if labels.dtype.kind == "O":
        return _compared_objects(object_kinds.unwrapped(labels), wanted)
    _check_kind(_KINDS.get(labels.dtype.kind, "number"), wanted)
    missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.size, bool)
    return _equal(labels, 1 if wanted is None else wanted), missing


def _compared_objects(
    labels: NDArray[Any], wanted: Label | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Do so for objects of one kind. Floats go with any kind, because NaN may stand among text."""
    types = {cls for cls in set(map(type, labels)) if object_kinds.kind_of(cls) != "missing"}
    is_missing = object_kinds.missing(labels)
    if wrong := [cls for cls in types if object_kinds.kind_of(cls) == "other"]:
        raise DtypeError("y_true", object_kinds.name_of(wrong), _REQUIREMENT)
    if isinstance(wanted, str | bytes) and all(issubclass(cls, float) for cls in types):
        return np.zeros(labels.size, bool), is_missing  # other parts of the column may hold text
    decisive = {cls for cls in types if not issubclass(cls, float | np.floating)} or types
    kind, *others = sorted({object_kinds.kind_of(cls) for cls in decisive}) or ["number"]
    if others:
        what = "must hold labels of one kind: numbers, strings or bytes"
        raise DtypeError("y_true", "objects of several types", what)
    _check_kind(kind, wanted)  # type: ignore[arg-type]  # it is one of the three
    present, is_positive = labels[~is_missing], np.zeros(labels.size, bool)
    if kind == "number":
        number, exactly = (
            (1 if wanted is None else wanted),
            {c: object_kinds.exactly(c) for c in types},
        )
        equal = (exactly[type(each)](each) == number for each in present)
        is_positive[~is_missing] = np.fromiter(equal, bool, present.size)
    else:
        is_positive[~is_missing] = present == wanted
    return is_positive, is_missing


def _equal(labels: NDArray[Any], wanted: Label) -> NDArray[np.bool_]:
    """Return which labels equal the wanted one of their kind. Numbers are compared exactly."""
    if isinstance(wanted, str | bytes):
        return np.asarray(labels == wanted, bool)
    nowhere = np.zeros(labels.size, bool)
    if labels.dtype.kind == "f":
        nearest = _double(wanted)
        return labels.astype(np.float64) == nearest if nearest == wanted else nowhere
    if isinstance(wanted, float) and not wanted.is_integer():  # infinity is not an integer either
        return nowhere
    whole = labels.view(np.uint8) if labels.dtype.kind == "b" else labels
    return np.asarray(whole == int(wanted), bool)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.nan
