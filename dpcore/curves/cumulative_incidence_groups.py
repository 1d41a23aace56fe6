"""Released cumulative incidences of several groups by their labels, as one release."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError, shown
from ..records.labels import Label
from . import forms
from .by_groups import LABEL, ByGroups
from .cumulative_incidence import CumulativeIncidence
from .drawing import drawing
from .event_row import of_group
from .field_tables import Rows, text
from .readings import Reading, readable, with_intervals
from .stored import one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GroupedCumulativeIncidence"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedCumulativeIncidence(ByGroups[CumulativeIncidence]):
    """Cumulative incidences of disjoint groups of records: a mapping from each label to its own.

    ``dpcore.cumulative_incidence(..., by=labels)`` makes it. Groups share no record, and their
    noise is independent.

    Parameters
    ----------
    groups
        (G,) the public labels, all different.
    curves
        (G,) their incidences, of the same kinds, in the same order. If the number of records of a
        group is public, its guarantee is for "replace-one-within-group"; one for "replace-one" is
        restated so.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the guarantees have no common form.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, arm = np.random.default_rng(1), np.repeat(["new", "old"], 2000)
    >>> records = rng.exponential(10, 4000), rng.choice(["cured", "dead", "lost"], 4000)
    >>> how = {"by": arm, "groups": ["new", "old"], "epsilon": 1.0, "rng": rng}
    >>> found = dp.cumulative_incidence(*records, (0, 24), ["cured", "dead"], **how)
    >>> found
    <GroupedCumulativeIncidence of 2: 'new', 'old'; SIMULATED, epsilon = 1>
    >>> {group: own(12).round(1).tolist() for group, own in found.items()}
    {'new': [0.3, 0.3], 'old': [0.3, 0.3]}
    """

    _kind = "dpcore.cumulative-incidence-groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    curves: tuple[CumulativeIncidence, ...] = field(
        metadata=forms.tuple_of(one_of(CumulativeIncidence))
    )
    _place: dict[Any, int] = field(init=False, compare=False, metadata=forms.NOT_STORED)

    def __post_init__(self) -> None:
        self._keep_curves(CumulativeIncidence, "cumulative incidences", of_group)
        for one in self.curves:
            if one.kinds != self.kinds:
                raise ParameterError("curves", one.kinds, f"must all be of the kinds {self.kinds}")

    @property
    def kinds(self) -> tuple[Any, ...]:
        """(K,) the public labels of the kinds of events."""
        return self.curves[0].kinds

    @drawing
    def plot(self, ax: Axes | None = None, *, kind: Label | None = None, **style: Any) -> Axes:
        """Draw the incidence of one kind of event in all groups. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes. None: new ones.
        kind
            The kind. None: the first one.
        **style
            Passed on to ``Axes.plot``.

        Returns
        -------
        matplotlib.axes.Axes
            Its legend has the cost of all groups together.

        Raises
        ------
        ParameterError, MissingExtraError
            ``kind`` is none of the kinds, or Matplotlib is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> how = {"by": ["a", "b"] * 50, "groups": ["a", "b"], "epsilon": 50.0}
        >>> records = [1, 2, 3, 4] * 25, ["cured", "dead"] * 50
        >>> found = dp.cumulative_incidence(*records, dp.Grid.integers(1, 4), ["dead"], **how)
        >>> ax = found.plot(kind="dead")
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['a', 'b']
        >>> len(ax.get_lines())
        2
        """
        from .legible import named
        from .plots import axes, drawable, one_legend

        at = 0 if kind is None else self._at(kind)
        ax, unit = axes(ax), ""
        for group, own in self.items():
            unit = own._draw(ax, at, **{"label": drawable(str(group)), **style})
        what = f"share with {drawable(str(self.kinds[at]))} up to then"
        named(ax, f"duration ({unit})" if unit else "duration", what)
        ax.yaxis.label.set_parse_math(False)  # a dollar sign in a label is no mathematics
        ax.set_ylim(0.0, 1.02)
        return one_legend(ax, self.privacy, "upper left")

    def _at(self, kind: object) -> int:
        try:
            at = self.kinds.index(kind)
        except (TypeError, ValueError):  # an array is neither equal nor different
            at = -1
        # NumPy's time spans equal whole numbers.
        if at < 0 or isinstance(kind, np.timedelta64) != isinstance(self.kinds[at], np.timedelta64):
            what = f"must be one of {', '.join(map(shown, self.kinds))}"
            raise ParameterError("kind", kind, what)
        return at

    def _readings(self, level: float) -> list[Rows]:
        def at_end(group: Any, own: CumulativeIncidence, place: int) -> Reading:
            last = max(own._known - 1, 0)
            low, high = (end[place, last] for end in own.band(level, of="population"))
            name = f"incidence of {self.kinds[place]} in {group} up to {text(own.end)}"
            return f"{name}, of the population", own.incidence[place, last], (low, high)

        reads = (
            partial(at_end, group, own, place)
            for group, own in self.items()
            for place in range(len(self.kinds))
        )
        return [with_intervals(level, readable(reads))]
