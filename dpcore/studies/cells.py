"""The cells of a study: the combinations of its parameters, and their labels in tables."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from .. import _check
from ..errors import DtypeError, ParameterError

__all__ = [
    "TAKEN",
    "Cell",
    "Label",
    "Values",
    "cells_of",
    "is_text",
    "key_of",
    "label_of",
    "values_of",
    "written",
]

TAKEN: Final = ("replicate", "made_by", "cell")  # every table of a study has these columns
Label = bool | int | float | str | None
Values = Mapping[Label, Any]  # labels in tables, and the values that the function gets
_MOST: Final = 10**7  # the largest number of cells
_REQUIREMENT: Final = (
    "must hold numbers, strings, named functions or classes, or be a dict of label: value"
)


class Cell(NamedTuple):
    """One combination of parameters.

    Parameters
    ----------
    labels
        What tables call its values, by parameter.
    values
        What the function gets, by parameter.
    key
        Names the labels, whatever their order and those of other cells: 32 hexadecimal digits.
    """

    labels: Mapping[str, Label]
    values: Mapping[str, Any]
    key: str

    def __str__(self) -> str:
        return ", ".join(f"{name}={label!r}" for name, label in self.labels.items())


def values_of(name: str, given: object) -> Values:
    """Return a parameter's values by their labels, in order.

    Numbers, strings, booleans and None are their own labels; functions and classes are called by
    their names; a mapping says itself what its values are called.

    Raises
    ------
    DtypeError
        A value is none of these, and has no label.
    ParameterError
        There is no value, or two have the same label.
    """
    argument = f"parameters[{name!r}]"
    if isinstance(given, Mapping):
        pairs = [(label_of(argument, label), value) for label, value in given.items()]
    else:
        if isinstance(given, np.ndarray):
            given = _check.array(argument, given, "biufUO", _REQUIREMENT)
        if isinstance(given, range):
            given = _check.items(argument, given, _REQUIREMENT)
        if not isinstance(given, np.generic | type) and hasattr(given, "tolist"):
            given = given.tolist()  # arrays, series and indices
        if isinstance(given, str | bytes) or not isinstance(given, Sequence):
            given = [given]  # a single value
        pairs = [(label_of(argument, value), value) for value in given]
    if not pairs:
        raise ParameterError(argument, given, "must have a value")
    if len({json.dumps(label) for label, _ in pairs}) < len(pairs) or len(dict(pairs)) < len(pairs):
        raise ParameterError(argument, [label for label, _ in pairs], "must not repeat a value")
    return dict(pairs)


def cells_of(blocks: Sequence[Mapping[str, Values]]) -> Iterator[Cell]:
    """Return all combinations within each block. The last parameter changes fastest.

    Raises
    ------
    ParameterError
        There are more than ten million.
    """
    size = sum(math.prod(map(len, block.values())) for block in blocks)
    if size > _MOST:
        raise ParameterError("parameters", f"{size} cells", f"must have at most {_MOST} cells")
    for block in blocks:
        for pairs in product(*(values.items() for values in block.values())):
            labels = {name: label for name, (label, _) in zip(block, pairs, strict=True)}
            values = {name: value for name, (_, value) in zip(block, pairs, strict=True)}
            yield Cell(labels, values, key_of(labels))


def label_of(argument: str, value: object) -> Label:
    """Return the label of a value in tables. Whole numbers become integers, so 1e3 is 1000.

    Raises
    ------
    DtypeError, ParameterError
        It has no label, or one that tables cannot hold.
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if isinstance(value, float):
        if value != value:
            raise ParameterError(argument, value, "must not be NaN")
        return int(value) if value.is_integer() and abs(value) < 2**53 else float(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ParameterError(argument, value, "must fit 64 bits")
        return int(value)
    if not isinstance(value, str):
        value = getattr(value, "__name__", None) or value
    if not isinstance(value, str) or value == "<lambda>":
        raise DtypeError(argument, type(value).__name__, _REQUIREMENT)
    if not is_text(value):
        raise ParameterError(argument, value, "must be text that can be written as UTF-8")
    return str(value)


def written(labels: Sequence[Label]) -> list[Label]:
    """Return labels as a column of a table has them: those of several types become text."""
    kinds = {type(label) for label in labels if label is not None}
    if len(kinds) < 2:
        return list(labels)
    common = float if kinds == {int, float} else str
    return [None if label is None else common(label) for label in labels]


def is_text(value: str) -> bool:
    """Return whether text can be written as UTF-8: it has no half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def key_of(labels: Mapping[str, Label]) -> str:
    """Return the key of a cell."""
    text = json.dumps(labels, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
