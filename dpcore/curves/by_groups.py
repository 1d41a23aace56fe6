"""What is released of several groups by their labels, as one release."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..privacy.guarantees import Privacy
from . import forms
from .plots import shortly
from .stored import Stored

if TYPE_CHECKING:
    from pandas import Series

__all__ = ["LABEL", "ByGroups", "labels_in_frame"]

_MOST_REPR = 88


class _Released(Protocol):
    @property
    def privacy(self) -> Privacy: ...


_Result = TypeVar("_Result", bound=_Released)


def _dumped(label: Any) -> Any:
    if not isinstance(label, bool | int | float | str) or label in (math.inf, -math.inf):
        raise ParameterError("groups", label, "must be strings or finite numbers in JSON")
    return label


def _loaded(name: str, data: Any) -> Any:
    if not isinstance(data[name], bool | int | float | str):
        raise ValueError(f"{name} must be a string or a number")
    return data[name]


LABEL = forms.form(_dumped, _loaded)


def labels_in_frame(labels: Sequence[Any]) -> Series:
    """Return labels as a column of pandas."""
    pandas = _check.extra("pandas", "to_frame", "dask")
    try:
        column: Series = pandas.Series(labels)
    except UnicodeError:  # pandas keeps text as UTF-8, which some labels do not have
        column = pandas.Series(labels, dtype=object)
    return column


class ByGroups(Mapping[Any, _Result], Stored):
    """A mapping from the public labels of disjoint groups to what was released of each.

    A base of frozen dataclasses with the fields ``groups``, ``curves`` and ``_place``.
    """

    __slots__ = ()

    groups: tuple[Any, ...]
    curves: Sequence[_Result]
    _place: dict[Any, int]

    def _keep_places(self) -> None:
        """Refuse what are no different labels, one for each of the curves; keep their places."""
        _check.instance("groups", self.groups, tuple, "must be a tuple")
        for label in self.groups:
            if not isinstance(label, bool | int | float | str | bytes) or label != label:
                what = "must hold numbers (not NaN), strings or bytes"
                raise DtypeError("groups", type(label).__name__, what)
        if not self.groups or len(set(self.groups)) != len(self.groups):
            raise ParameterError("groups", self.groups, "must hold one or more, all different")
        if len(self.curves) != len(self.groups):
            what = f"must be as many as groups, {len(self.groups)}"
            raise ParameterError("curves", len(self.curves), what)
        object.__setattr__(self, "_place", {label: at for at, label in enumerate(self.groups)})

    @property
    def privacy(self) -> Privacy:
        """The cost of all curves together: the largest guarantee, as no record is in two groups.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid = dp.Grid([1.0, 2.0])
        >>> values, by = [1, 2] * 9, ["a", "b"] * 9
        >>> dp.cdf(values, grid, by=by, groups=["a", "b"], epsilon=50.0).privacy.epsilon
        50.0
        """
        return reduce(operator.or_, self._costs())

    def _costs(self) -> Iterable[Privacy]:
        """Return guarantees of which all curves have one."""
        return (one.privacy for one in self.curves)

    def __getitem__(self, group: Any) -> _Result:
        try:
            at = self._place[group]
        except (TypeError, KeyError):  # an array, or pandas' NA, is neither equal nor different
            raise KeyError(group) from None
        return self.curves[at]

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))  # mappings are equal in any order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        start, end = f"<{type(self).__name__} of {len(self)}: ", f"; {shortly(self.privacy)}>"
        names = ", ".join(map(shown, self.groups))
        room = _MOST_REPR - len(start) - len(end)
        if len(names) > room:
            names = names[: room - 3] + "..."
        return f"{start}{names}{end}"
