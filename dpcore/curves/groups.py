"""Released curves of several groups by their labels, as one release."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from ..privacy.guarantees import Privacy, within_group
from . import colours, forms
from .cdf import CDF
from .plots import shortly
from .stored import Stored, one_of

__all__ = ["GroupedCDF"]

_ACROSS = 3  # pictures in a row
_MOST_REPR = 88


def _dumped(label: Any) -> Any:
    if isinstance(label, bytes) or (isinstance(label, float) and math.isinf(label)):
        raise ParameterError("groups", label, "must be strings or finite numbers in JSON")
    return label


_LABEL = forms.form(_dumped, forms.PLAIN["load"])


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedCDF(Mapping[Any, CDF], Stored):
    """Released curves of disjoint groups of records: a mapping from each label to its curve.

    ``dpcore.cdf(..., by=labels)`` makes it.

    Parameters
    ----------
    groups
        (G,) the public labels, all different.
    curves
        (G,) their curves, in the same order. If the number of records of a curve is public, its
        guarantee is for "replace-one-within-group" (docs/proofs/privacy.md, section 7); one for
        "replace-one" is restated so.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the guarantees of the curves have no common form.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, by = rng.normal([[40], [60]], 9, (2, 2000)), np.repeat(["a", "b"], 2000)
    >>> grid = dp.Grid.uniform(0, 100, 100)
    >>> found = dp.cdf(values.ravel(), grid, by=by, groups=["a", "b"], epsilon=1.0, rng=rng)
    >>> {group: round(curve.quantile(0.5), -1) for group, curve in found.items()}
    {'a': 40.0, 'b': 60.0}
    """

    _kind = "dpcore.groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(_LABEL))
    curves: tuple[CDF, ...] = field(metadata=forms.tuple_of(one_of(CDF)))

    def __post_init__(self) -> None:
        for name, values in (("groups", self.groups), ("curves", self.curves)):
            _check.instance(name, values, tuple, "must be a tuple")
        for label in self.groups:
            if not isinstance(label, bool | int | float | str | bytes) or label != label:
                what = "must hold numbers (not NaN), strings or bytes"
                raise DtypeError("groups", type(label).__name__, what)
        if not self.groups or len(set(self.groups)) != len(self.groups):
            raise ParameterError("groups", self.groups, "must hold one or more, all different")
        if len(self.curves) != len(self.groups):
            what = f"must be as many as groups, {len(self.groups)}"
            raise ParameterError("curves", len(self.curves), what)
        for curve in self.curves:
            _check.instance("curves", curve, CDF, "must hold CDFs")
        object.__setattr__(self, "curves", tuple(map(_of_group, self.curves)))
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
        return reduce(operator.or_, (curve.privacy for curve in self.curves))

    def __getitem__(self, group: Any) -> CDF:
        try:
            return self.curves[self.groups.index(group)]
        except (TypeError, ValueError):  # an array, or pandas' NA, is neither equal nor different
            raise KeyError(group) from None

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))  # mappings are equal in any order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def plot(self, *, level: float = 0.95, **line: Any) -> Any:
        """Draw each curve in a picture of its own, with shared axes. Needs the extra ``plot``.

        Parameters
        ----------
        level
            Confidence level of the bands, pointwise.
        **line
            Passed on to ``Axes.step``.

        Returns
        -------
        numpy.ndarray
            (G,) Matplotlib axes, one for each group.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, groups = dp.Grid([1.0, 2.0]), ["a", "b"]
        >>> found = dp.cdf([1, 2] * 9, grid, by=["a", "b"] * 9, groups=groups, epsilon=50.0)
        >>> axes = found.plot()
        >>> [ax.get_title() for ax in axes], axes.shape
        (['a', 'b'], (2,))
        """
        pyplot = _check.extra("matplotlib.pyplot", "plotting", "plot")
        across = min(len(self), _ACROSS)
        down = math.ceil(len(self) / across)
        size = (4.2 * across, 3.2 * down)
        how: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False}
        figure, grid = pyplot.subplots(down, across, figsize=size, layout="constrained", **how)
        axes = grid.ravel()
        for at, (ax, (group, curve)) in enumerate(zip(axes, self.items(), strict=False)):
            ax.set_prop_cycle(**colours.LINES)
            curve.plot(ax, level=level, **line)
            ax.set_title(str(group), parse_math=False)
            if at % across:
                ax.set_ylabel("")
            ax.tick_params(labelbottom=True)  # axes with nothing below them
            if at + across < len(self):
                ax.tick_params(labelbottom=False)
                ax.set_xlabel("")
        for ax in axes[len(self) :]:
            figure.delaxes(ax)
        return np.array(axes[: len(self)])

    def __repr__(self) -> str:
        start, end = f"<GroupedCDF of {len(self)}: ", f"; {shortly(self.privacy)}>"
        names = ", ".join(map(shown, self.groups))
        room = _MOST_REPR - len(start) - len(end)
        if len(names) > room:
            names = names[: room - 3] + "..."
        return f"{start}{names}{end}"


def _of_group(curve: CDF) -> CDF:
    """Return a curve of a group, for which a replaced record stays in its group."""
    own = within_group(curve.privacy)
    return curve if own == curve.privacy else replace(curve, privacy=own)
