"""What is released of several groups by their labels, as one release."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..privacy.guarantees import Privacy
from . import forms
from .field_tables import MOST_ROWS
from .frames import labels_in_frame
from .plots import shortly
from .stored import Stored

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["LABEL", "ByGroups"]

_MOST_REPR = 88


class _Released(Protocol):
    @property
    def privacy(self) -> Privacy: ...

    @property
    def n(self) -> int: ...

    def to_frame(self) -> DataFrame: ...

    def _choices(self) -> Mapping[str, Any]: ...


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

    def _keep_curves(
        self, kind: type[_Result], several: str, own: Callable[[_Result], _Result] | None = None
    ) -> None:
        """Refuse what is no tuple of this kind with one common guarantee; keep what ``own`` makes.

        ``several`` names the kind in errors.
        """
        _check.instance("curves", self.curves, tuple, "must be a tuple")
        self._keep_places()
        for one in self.curves:
            _check.instance("curves", one, kind, f"must hold {several}")
        if own is not None:
            object.__setattr__(self, "curves", tuple(map(own, self.curves)))
        _ = self.privacy  # refuses guarantees without a common form

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

    def to_frame(self) -> DataFrame:
        """Return a pandas DataFrame with the rows of each group, and the column ``group``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, how = dp.Grid([0.5, 1.0]), {"by": ["a", "b"] * 20, "groups": ["a", "b"]}
        >>> labels, scores = [0, 0, 1, 1] * 10, [0.1, 0.4, 0.9, 0.6] * 10
        >>> found = dp.score_curves(labels, scores, grid, epsilon=50.0, **how)
        >>> print(found.to_frame()[["group", "threshold", "negatives", "positives"]])
          group  threshold  negatives  positives
        0     a        0.5       10.0        0.0
        1     a        1.0       10.0       10.0
        2     b        0.5       10.0        0.0
        3     b        1.0       10.0       10.0
        """
        return self._together(one.to_frame() for one in self.values())

    def _together(self, frames: Iterable[DataFrame]) -> DataFrame:
        """Return the tables of all groups as one."""
        pandas = _check.extra("pandas", "to_frame", "dask")
        parts = list(frames)
        frame: DataFrame = pandas.concat(parts, ignore_index=True)
        of_row = [at for at, part in enumerate(parts) for _ in range(len(part))]
        labels = labels_in_frame(self.groups).take(of_row).reset_index(drop=True)
        frame.insert(0, "group", labels)
        return frame

    def _choices(self) -> Mapping[str, Any]:
        n = [one.n for one in islice(self.values(), MOST_ROWS)]
        return {**self.curves[0]._choices(), "groups": self.groups, "n": n}

    def __getitem__(self, group: Any) -> _Result:
        try:
            at = self._place[group]
        except (TypeError, ValueError, KeyError):  # of arrays, of NA of pandas, of spans of no unit
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
