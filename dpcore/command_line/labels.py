"""Labels as files have them: text, numbers or booleans, and which of them are positive."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow

__all__ = ["is_label", "scored_labels"]


def scored_labels(
    batch: pyarrow.RecordBatch, positive: str
) -> tuple[NDArray[np.bool_], pyarrow.Array, int | None]:
    """Return the records of a batch that are complete.

    Parameters
    ----------
    batch
        A column of labels, and a column of scores.
    positive
        The label of the positives, as it is typed.

    Returns
    -------
    is_positive : numpy.ndarray
        One for each record that has a label and a score; NaN is none.
    scores : pyarrow.Array
        Theirs.
    missing : int or None
        The first column in which something is missing.
    """
    import pyarrow.compute as pc

    masks = [pc.is_null(column, nan_is_null=True) for column in batch.columns]
    missing = next((at for at, mask in enumerate(masks) if pc.any(mask).as_py()), None)
    if missing is not None:
        batch = batch.filter(pc.invert(pc.or_(*masks)))
    labels, scores = batch.columns
    if not hasattr(labels, "dictionary"):
        labels = labels.dictionary_encode()
    wanted = np.array([is_label(each, positive) for each in labels.dictionary.to_pylist()], bool)
    return wanted[labels.indices.to_numpy()], scores, missing


def is_label(found: Any, typed: str) -> bool:
    """Return whether a label is the typed one: the same text, or the same number.

    True and False are 1 and 0, in text as well.
    """
    text = found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)
    first, second = text.strip(), typed.strip()
    number = _number(first)
    return first == second or (number is not None and number == _number(second))


def _number(text: str) -> Decimal | None:
    """Return exactly what a text stands for, or None."""
    word = {"true": "1", "false": "0"}.get(text.lower(), text)
    if "_" in word:  # of Python's own numbers, not of anybody's file
        return None
    try:
        number = Decimal(word)
    except InvalidOperation:
        return None
    return None if number.is_nan() else number
