"""The cells of a study: the combinations of its parameters, and what they are called in tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from ..errors import DtypeError, ParameterError

__all__ = ["TAKEN", "Cell", "Label", "Values", "cells_of", "values_of"]

TAKEN: Final = ("replicate", "made_by", "cell")  # columns that each table of a study has
Label = bool | int | float | str | None
Values = Mapping[Label, Any]  # what tables call a value, and what the function gets


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
        pairs = [(_label(argument, label), value) for label, value in given.items()]
    else:
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if isinstance(given, str) or not isinstance(given, Sequence):
            given = [given]  # a parameter with one value
        pairs = [(_label(argument, value), value) for value in given]
    found = dict(pairs)
    if not pairs:
        raise ParameterError(argument, given, "must have a value")
    if len({json.dumps(label) for label in found}) < len(pairs):
        raise ParameterError(argument, [label for label, _ in pairs], "must not repeat a value")
    return MappingProxyType(found)


def cells_of(blocks: Sequence[Mapping[str, Values]]) -> Iterator[Cell]:
    """Return all combinations within each block, the last parameter running first."""
    for block in blocks:
        for pairs in product(*(values.items() for values in block.values())):
            labels = {name: label for name, (label, _) in zip(block, pairs, strict=True)}
            values = {name: value for name, (_, value) in zip(block, pairs, strict=True)}
            yield Cell(MappingProxyType(labels), MappingProxyType(values), _key(labels))


def _label(argument: str, value: object) -> Label:
    """Return what a value is called; whole numbers are integers, so that 1e3 is 1000."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if value != value:
            raise ParameterError(argument, value, "must not be NaN")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if value is None or isinstance(value, bool | int | str):
        return value
    name = getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    raise DtypeError(
        argument,
        type(value).__name__,
        "must hold numbers, strings, functions or classes, or be a dict of label: value",
    )


def _key(labels: Mapping[str, Label]) -> str:
    text = json.dumps(labels, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
