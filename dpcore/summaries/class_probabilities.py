"""Labels of several public classes, and the probabilities that a classifier gave each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..records.column import Column
from ..records.labels import Label, places
from .group_counts import labels_of

__all__ = ["ClassProbabilities", "class_probabilities", "classes_of"]


class ClassProbabilities(NamedTuple):
    """Private records of a classifier with K classes.

    Parameters
    ----------
    place
        (n,) the place of the record's label among the classes; K for any other label.
    is_missing
        (n,) whether the label is missing; None if none is.
    probabilities
        (n, K) the probability of each class, of any dtype of real numbers.
    """

    place: NDArray[np.integer[Any]]
    is_missing: NDArray[np.bool_] | None
    probabilities: NDArray[Any]


def classes_of(classes: Sequence[Label]) -> tuple[Label, ...]:
    """Return public labels of two classes or more, or raise."""
    labels = labels_of(classes, "classes")
    if len(labels) < 2:
        raise ParameterError("classes", labels, "must hold two labels or more")
    return labels


def class_probabilities(y_true: Any, y_prob: Any, labels: tuple[Label, ...]) -> ClassProbabilities:
    """Return the records, for the labels of ``classes_of``. Errors depend on types and shapes."""
    column, rows = Column.of(y_true, "y_true"), Column.of(y_prob, "y_prob")
    for one in (column, rows):
        one.check_in_memory()
    column.check_index(rows)
    _check_order_of_columns(rows, labels)
    probabilities = rows.numbers()
    place, is_missing = places(column, labels, "classes")
    if probabilities.shape != (place.size, len(labels)):
        shape = f"({place.size}, {len(labels)})"
        what = f"must have a row for each label and a column for each class, {shape}"
        raise ParameterError("y_prob", probabilities.shape, what)
    return ClassProbabilities(place, is_missing, probabilities)


def _check_order_of_columns(rows: Column, labels: tuple[Label, ...]) -> None:
    """Check that the columns of a data frame, if they are named after the classes, are in order."""
    names, classes = [*rows.column_names], [str(label) for label in labels]
    if names != classes and sorted(names) == sorted(classes):
        what = "must have its columns in the order of classes: write y_prob[[*classes]]"
        raise ParameterError(rows.argument, names, what)
