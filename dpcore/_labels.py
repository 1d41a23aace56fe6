"""Labels of records, from whatever holds them: which are positive, and which are missing."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import columns
from .errors import DtypeError, ParameterError

__all__ = ["Label", "positives"]

Label = bool | int | float | str | bytes
_KINDS: Final = {"U": (str, "a string"), "T": (str, "a string"), "S": (bytes, "bytes")}
_NUMBERS: Final = "biuf"


def positives(
    y_true: Any, pos_label: Label | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    """Return which labels are ``pos_label``, and which are missing, each (n,).

    Parameters
    ----------
    y_true
        A column of numbers, booleans or strings; nulls and NaN are missing.
    pos_label
        None: 1, or True, where labels are numbers.

    Returns
    -------
    is_positive : numpy.ndarray
        False where the label is missing.
    is_missing : numpy.ndarray or None
        None if no label is.

    Raises
    ------
    DtypeError, ParameterError
        The column holds something else, or ``pos_label`` is not of its kind. It depends on types,
        and never on which labels there are.
    """
    wanted = _checked(pos_label)
    is_absent = columns.absent(y_true, "y_true")
    parts, missing = [], []
    for part in columns.arrays(y_true, "y_true"):
        if part is None:
            continue
        if part.ndim != 1:
            raise ParameterError("y_true", part.shape, "must be one-dimensional")
        if part.dtype.kind == "O":  # an array of objects still holds those that are missing
            part = part[~columns.absent_objects(part)]
        parts.append(_equal(part, wanted))
        missing.append(np.isnan(part) if part.dtype.kind == "f" else np.zeros(part.size, bool))
    found = np.concatenate([np.zeros(0, bool), *parts])
    is_nan = np.concatenate([np.zeros(0, bool), *missing])
    if is_absent is not None and is_absent.any():
        is_positive, is_missing = np.zeros(is_absent.size, bool), is_absent.copy()
        is_positive[~is_absent], is_missing[~is_absent] = found, is_nan
        return is_positive, is_missing
    return found, is_nan if is_nan.any() else None


def _checked(pos_label: object) -> Label | None:
    """Return the label as a Python scalar."""
    found = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    if found is not None and not isinstance(found, bool | int | float | str | bytes):
        raise DtypeError("pos_label", type(found).__name__, "must be a number, a string or bytes")
    if isinstance(found, float) and math.isnan(found):
        raise ParameterError("pos_label", found, "must not be NaN")
    return found


def _equal(labels: NDArray[Any], wanted: Label | None) -> NDArray[np.bool_]:
    """Return which labels are the wanted one; numbers are compared exactly."""
    kind = labels.dtype.kind
    if kind not in (*_NUMBERS, *_KINDS, "O"):
        raise DtypeError("y_true", f"dtype {labels.dtype}", "must hold numbers or strings")
    if wanted is None and kind not in _NUMBERS:
        raise ParameterError("pos_label", None, "must be given where labels are no numbers")
    if kind == "O":
        return np.fromiter((bool(each == wanted) for each in labels), bool, labels.size)
    if kind in _KINDS:
        needed, name = _KINDS[kind]
        if not isinstance(wanted, needed):
            raise DtypeError("pos_label", repr(wanted), f"must be {name}, as the labels are")
        return np.asarray(labels == wanted, bool)
    number = 1 if wanted is None else wanted
    if not isinstance(number, bool | int | float):
        raise DtypeError("pos_label", repr(number), "must be a number, as the labels are")
    if kind == "f":
        wide = labels.astype(np.float64) if labels.dtype.itemsize < 8 else labels
        nearest = _double(number)
        return np.asarray(wide == nearest) if nearest == number else np.zeros(labels.size, bool)
    if isinstance(number, float) and not number.is_integer():  # nor is infinity
        return np.zeros(labels.size, bool)
    return np.asarray(labels == int(number), bool)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.nan
