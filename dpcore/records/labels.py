"""Labels of records, from any container: which public label each has, and which are missing.

A label of a record equals at most one of several public labels. Numbers are compared exactly, and
text and bytes by all of their characters, as Python compares them. NumPy does not: it ignores null
characters at the end of text. So objects are looked up in a dictionary, and each record gets the
place of one public label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DtypeError, ParameterError, shown
from . import object_kinds
from .column import Column
from .doubles import check_one_axis, checked_kind
from .places import nearest_double, number_places, text_places

__all__ = ["MOST_BITS", "Label", "label_form", "label_of", "places", "plain", "positives"]

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
MOST_BITS: Final = 8192  # of an integer that releases are stored with


def positives(
    y_true: Column, pos_label: Label | None
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
        kind, or not a label that the column's type can hold. The error depends on types, and never
        on the labels. Objects that are floats may stand for missing labels of any kind.
    """
    wanted = None if pos_label is None else plain("pos_label", pos_label)
    place, is_missing = places(y_true, [wanted], "pos_label")
    return place == 0, is_missing


def places(
    labels: Column, wanted: Sequence[Label | None], wanted_argument: str
) -> tuple[NDArray[np.integer[Any]], NDArray[np.bool_] | None]:
    r"""Return which of several public labels each label of a column equals.

    Parameters
    ----------
    labels
        As ``y_true`` in ``positives``.
    wanted
        (G,) public labels from ``plain``, all different. None stands for 1, or True.
    wanted_argument
        Their name in errors.

    Returns
    -------
    place : numpy.ndarray
        (n,) the place of the equal label in ``wanted``, and G where there is none or where the
        label is missing.
    is_missing : numpy.ndarray or None
        (n,), or None if no label is missing.

    Raises
    ------
    DtypeError, ParameterError
        As in ``positives``. Or the type of the column has no such label, so no record can have it.

    Examples
    --------
    >>> labels = Column.of(["a", "b", None, "a\0"], "by")
    >>> place, is_missing = places(labels, ["b", "a"], "groups")
    >>> place.tolist(), is_missing.tolist()
    ([1, 0, 2, 2], [False, False, True, False])
    """
    labels = labels.only()
    compare = _Comparison(wanted, labels.argument, wanted_argument)
    if (kind := labels.text_type) is not None:
        compare.check_kind("string" if kind is str else "bytes")
    if (categories := labels.categories) is not None:
        compare.check_among(categories)
    placed: list[NDArray[np.integer[Any]]] = []
    missing: list[NDArray[np.bool_]] = []
    for part, codes in labels.coded_parts():
        if part.is_typed:
            compare.check_can_hold(part.present.dtype)
        place, is_missing = compare.part(labels.as_labels(part))
        if part.absent is not None:
            is_present, is_missing_here = ~part.absent, part.absent.copy()
            is_missing_here[is_present] = is_missing
            spread = np.full(part.absent.size, len(wanted), place.dtype)
            spread[is_present] = place
            place, is_missing = spread, is_missing_here
        if codes is not None:  # -1, for a missing label, takes what is appended
            place = np.append(place, place.dtype.type(len(wanted)))[codes]
            is_missing = np.append(is_missing, True)[codes]
        placed.append(place)
        missing.append(is_missing)
    all_missing = missing[0] if len(missing) == 1 else np.concatenate([np.zeros(0, bool), *missing])
    joined = placed[0] if len(placed) == 1 else np.concatenate([np.zeros(0, np.int8), *placed])
    return joined, all_missing if all_missing.any() else None


def plain(argument: str, label: object) -> Label:
    r"""Return a public label as a value of Python, of one of the types of ``Label`` itself.

    Raises
    ------
    DtypeError, ParameterError
        It is no label, it is NaN, or it is an integer that Python does not write out.

    Examples
    --------
    >>> import numpy as np
    >>> plain("groups", np.int8(3)), plain("groups", np.str_("a\0"))
    (3, 'a\x00')
    """
    value: object = label
    # The items of times may be integers, and those of NumPy's text lose null characters.
    if isinstance(label, np.generic) and not isinstance(
        label, np.datetime64 | np.timedelta64 | str | bytes
    ):
        value = label.item()
    if not isinstance(value, bool | int | float | str | bytes):
        raise DtypeError(argument, type(value).__name__, "must be a number, a string or bytes")
    if value != value:
        raise ParameterError(argument, value, "must not be NaN")
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise ParameterError(argument, value, f"must have at most {MOST_BITS} bits")
    plainly: Callable[[Any], Label] = _plainly(type(value))
    return value if isinstance(value, bool) else plainly(value)


def label_form(label: Label | None) -> list[str] | None:
    """Return a plain label as text that tells its type, exactly."""
    if label is None:
        return None
    if isinstance(label, str):
        return ["str", label]
    if isinstance(label, bytes):
        return ["bytes", label.hex()]
    return ["float", label.hex()] if isinstance(label, float) else ["int", str(int(label))]


def label_of(form: Any) -> Label | None:
    """Return the label that was written.

    Raises
    ------
    LookupError, TypeError, ValueError
        It was not written by ``label_form``.
    """
    if form is None:
        return None
    kind, text = form
    read: dict[str, Callable[[str], Label]] = {
        "str": str,
        "bytes": bytes.fromhex,
        "float": float.fromhex,
        "int": int,
    }
    return read[kind](text)


class _Comparison:
    """Public labels, to which the labels of a column are compared, part by part."""

    def __init__(self, wanted: Sequence[Label | None], argument: str, wanted_argument: str) -> None:
        self._given, self._argument, self._wanted_argument = wanted, argument, wanted_argument
        self._labels: list[Label] = [1 if label is None else label for label in wanted]
        # Of dtypes, because parts of a column may differ in theirs.
        self._tables: dict[tuple[str, int], Callable[[NDArray[Any]], NDArray[np.int32]]] = {}

    def check_kind(self, kind: Kind) -> None:
        """Check that the wanted labels are of the column's kind."""
        needed, name = _TYPES[kind]
        for label in self._given:
            if label is None and kind != "number":
                what = "must be given where labels are not numbers"
                raise ParameterError(self._wanted_argument, None, what)
            if label is not None and not isinstance(label, needed):
                what = f"must be {name}, as the labels are"
                raise DtypeError(self._wanted_argument, shown(label), what)

    def check_among(self, categories: Sequence[str]) -> None:
        """Check that the wanted labels are among those that the column's type lists."""
        for label in self._labels:
            if label not in categories:
                what = f"must be a category of the Enum in {self._argument}"
                raise ParameterError(self._wanted_argument, label, what)

    def check_can_hold(self, dtype: np.dtype[Any]) -> None:
        """Check that the wanted labels, if they are numbers, are numbers of this dtype."""
        for label in self._labels:
            if not isinstance(label, str | bytes) and not _can_hold(dtype, label):
                what = f"must be a number of dtype {dtype}, as {self._argument} is"
                raise ParameterError(self._wanted_argument, label, what)

    def part(self, labels: NDArray[Any]) -> tuple[NDArray[np.integer[Any]], NDArray[np.bool_]]:
        """Return the places of some labels among the wanted ones, and which are missing."""
        checked_kind(labels, "biufOUTS", self._argument, _REQUIREMENT)
        check_one_axis(self._argument, labels.shape)
        if labels.dtype.kind == "T":  # these strings may have a value of their own for missing ones
            self.check_kind("string")
            labels = labels.astype(object)
        elif labels.dtype.kind == "f" and labels.dtype.itemsize > 8:  # wider than Python's floats
            self.check_kind("number")
            labels = labels.astype(object)
        if labels.dtype.kind == "O":
            return self._objects(object_kinds.unwrapped(labels))
        self.check_kind(_KINDS.get(labels.dtype.kind, "number"))
        is_missing = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(labels.size, bool)
        if len(self._labels) == 1:
            return (~_equal(labels, self._labels[0])).view(np.int8), is_missing
        return self._places(labels), is_missing

    def _places(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return the places of an array of one kind."""
        kind = labels.dtype.kind
        if (key := (kind, labels.dtype.itemsize)) not in self._tables:
            made = text_places if kind in _KINDS else number_places
            self._tables[key] = made(self._labels, labels.dtype)
        return self._tables[key](labels)

    def _objects(self, labels: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Do so for objects of one kind. Floats go with any kind: NaN may stand among text."""
        types = {cls for cls in set(map(type, labels)) if object_kinds.kind_of(cls) != "missing"}
        is_missing, none = object_kinds.missing(labels), len(self._labels)
        if wrong := [cls for cls in types if object_kinds.kind_of(cls) == "other"]:
            raise DtypeError(self._argument, object_kinds.name_of(wrong), _REQUIREMENT)
        are_text = all(isinstance(label, str | bytes) for label in self._labels)
        if are_text and all(issubclass(cls, float | np.floating) for cls in types):
            # Other parts of the column may hold text.
            return np.full(labels.size, none, np.int32), is_missing
        decisive = {cls for cls in types if not issubclass(cls, float | np.floating)} or types
        kind, *others = sorted({object_kinds.kind_of(cls) for cls in decisive}) or ["number"]
        if others:
            what = "must hold labels of one kind: numbers, strings or bytes"
            raise DtypeError(self._argument, "objects of several types", what)
        self.check_kind(kind)  # type: ignore[arg-type]  # it is one of the three
        place_of = _Places((label, at) for at, label in enumerate(self._labels))
        place_of.none = none
        if types in ({str}, {bytes}) and not is_missing.any():
            return np.fromiter(map(place_of.__getitem__, labels), np.int32, labels.size), is_missing
        plainly = {cls: _plainly(cls) for cls in types}
        placed = (
            none if absent else place_of.get(plainly[type(label)](label), none)
            for label, absent in zip(labels, is_missing, strict=True)
        )
        return np.fromiter(placed, np.int32, labels.size), is_missing


class _Places(dict[Any, int]):
    """Places of labels, and of all others ``none``."""

    none: int

    def __missing__(self, label: object) -> int:
        return self.none


def _can_hold(dtype: np.dtype[Any], label: float) -> bool:
    """Return whether some number of a dtype equals a label; True for dtypes of other things."""
    if dtype.kind == "b":
        return label in (0, 1)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        is_whole = isinstance(label, int) or label.is_integer()
        return is_whole and int(limits.min) <= int(label) <= int(limits.max)
    if dtype.kind == "f" and dtype.itemsize <= 8:
        with np.errstate(over="ignore", under="ignore"):
            try:
                return float(dtype.type(label)) == label
            except OverflowError:
                return False
    return True


def _plainly(cls: type) -> Callable[[Any], Any]:
    """Return a function that makes exact Python values of labels of a type.

    Subclasses may compare as they like, so their content is taken.
    """
    if issubclass(cls, str):
        return str.__str__
    if issubclass(cls, bytes):
        return lambda label: bytes.__getitem__(label, slice(None))
    return object_kinds.exactly(cls)


def _equal(labels: NDArray[Any], wanted: Label) -> NDArray[np.bool_]:
    """Return which labels equal the wanted one of their kind. Numbers are compared exactly."""
    nowhere = np.zeros(labels.size, bool)
    if isinstance(wanted, str | bytes):
        # NumPy's text has no null characters at its end, and NumPy ignores those of ``wanted``.
        null = "\0" if isinstance(wanted, str) else b"\0"
        return nowhere if wanted[-1:] == null else np.asarray(labels == wanted, bool)
    if labels.dtype.kind == "f":
        nearest = nearest_double(wanted)
        return labels.astype(np.float64) == nearest if nearest == wanted else nowhere
    if isinstance(wanted, float) and not wanted.is_integer():  # infinity is not an integer either
        return nowhere
    whole = (labels.view(np.uint8) != 0).view(np.uint8) if labels.dtype.kind == "b" else labels
    return np.asarray(whole == int(wanted), bool)
