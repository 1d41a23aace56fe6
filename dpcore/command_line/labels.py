"""Labels in files: text, numbers or booleans, and which of them are positive.

Without a positive label, the column must hold numbers or booleans, and 1 is positive. Text is then
refused, because it would all count as negative, and this is a likely mistake.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .arguments import UsageError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["POSITIVE", "check_order", "is_label", "meant", "scored_labels"]

POSITIVE: Final = "1"  # the label of positives for numbers and booleans


def scored_labels(
    batch: pyarrow.RecordBatch,
    positive: str | None,
    flags: tuple[str, str] = ("--label", "--positive"),
) -> tuple[NDArray[np.bool_], pyarrow.RecordBatch, int | None]:
    """Return the complete records of a batch, and which of them are positive.

    Parameters
    ----------
    batch
        A column of labels, and other columns.
    positive
        The label of the positives, as typed; None: 1, for a column without text.
    flags
        The options that name the column of labels, and the label of the positives.

    Returns
    -------
    is_positive : numpy.ndarray
        One entry for each record with a value in every column. NaN is no value.
    complete : pyarrow.RecordBatch
        These records.
    missing : int or None
        The first column that has a missing value.

    Raises
    ------
    UsageError
        No positive label was given, and the labels are text, or floats beside integers.
    """
    import pyarrow.compute as pc

    if positive is None:
        _check_no_text(batch, *flags)
        check_order(batch, flags[0], f"give the label with {flags[1]}")
        positive = POSITIVE
    masks = [pc.is_null(column, nan_is_null=True) for column in batch.columns]
    missing = next((at for at, mask in enumerate(masks) if pc.any(mask).as_py()), None)
    if missing is not None:
        batch = batch.filter(pc.invert(reduce(pc.or_, masks)))
    labels = batch.column(0)
    if not hasattr(labels, "dictionary"):
        labels = labels.dictionary_encode()
    wanted = np.array([is_label(label, positive) for label in labels.dictionary.to_pylist()], bool)
    return wanted[labels.indices.to_numpy()], batch, missing


def _check_no_text(batch: pyarrow.RecordBatch, column: str, label: str) -> None:
    """Check that labels are not text. In a CSV file, all must read as numbers."""
    from pyarrow import types

    labels = batch.column(0)
    kind = labels.type.value_type if types.is_dictionary(labels.type) else labels.type
    is_text = types.is_string(kind) or types.is_large_string(kind)
    if types.is_binary(kind):  # cells of an unknown type
        distinct = labels.unique().to_pylist()
        is_text = any(label is not None and _number(_text(label)) is None for label in distinct)
    if is_text:
        raise UsageError(
            f"{column} {batch.schema.names[0]!r} holds text: give the label of the "
            f"{'positives' if label == '--positive' else 'event'} with {label}"
        )


def check_order(batch: pyarrow.RecordBatch, column: str, stated: str) -> None:
    """Check by types that labels and numbers are not exchanged, as ``Column.check_order`` does."""
    from pyarrow import types

    (labels, numbers), (name, other) = batch.schema.types[:2], batch.schema.names[:2]
    if types.is_floating(labels) and (types.is_integer(numbers) or types.is_boolean(numbers)):
        what = f"{column} {name!r} holds floats, and {other!r} integers: are they exchanged? If not"
        raise UsageError(f"{what}, {stated}")


def is_label(label: Any, typed: str) -> bool:
    """Return whether a label equals the typed one: as text, or as a number.

    True and False are 1 and 0, in text as well.
    """
    return meant(label) == meant(typed)


def meant(label: Any) -> Decimal | str:
    """Return the number that a label stands for, or its text: equal for equal labels."""
    text = _text(label)
    number = _number(text)
    return text if number is None else number


def _text(label: Any) -> str:
    text = label.decode("utf-8", "replace") if isinstance(label, bytes) else str(label)
    return text.strip()


def _number(text: str) -> Decimal | None:
    """Return the exact number that a text stands for, or None."""
    word = {"true": "1", "false": "0"}.get(text.lower(), text)
    if "_" in word:  # Python's numbers may have underscores, but a file's do not
        return None
    try:
        number = Decimal(word)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number
