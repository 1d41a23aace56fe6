"""Released survival curves of several groups by their labels, as one release."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from . import forms
from .by_groups import LABEL, ByGroups
from .drawing import drawing
from .event_row import Target, of_group
from .field_tables import Rows
from .readings import Reading, readable, with_intervals
from .stored import one_of
from .survival import Survival

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["GroupedSurvival"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedSurvival(ByGroups[Survival]):
    """Survival curves of disjoint groups of records: a mapping from each label to its curve.

    ``dpcore.survival(..., by=labels)`` makes it. Groups share no record, and their noise is
    independent. ``dpcore.log_rank_test`` compares them.

    Parameters
    ----------
    groups
        (G,) the public labels, all different.
    curves
        (G,) their curves, in the same order. If the number of records of a group is public, its
        guarantee is for "replace-one-within-group"; one for "replace-one" is restated so.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the guarantees of the curves have no common form.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, arm = np.random.default_rng(1), np.repeat(["new", "old"], 2000)
    >>> durations = rng.exponential(np.where(arm == "new", 12, 8))
    >>> how = {"by": arm, "groups": ["new", "old"], "epsilon": 1.0, "rng": rng}
    >>> found = dp.survival(durations, np.ones(4000), dp.Grid.uniform(0, 24, 24), **how)
    >>> found
    <GroupedSurvival of 2: 'new', 'old'; SIMULATED, epsilon = 1>
    >>> {group: round(curve.median, 1) for group, curve in found.items()}
    {'new': 8.4, 'old': 5.6}
    """

    _kind = "dpcore.survival-groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    curves: tuple[Survival, ...] = field(metadata=forms.tuple_of(one_of(Survival)))
    _place: dict[Any, int] = field(init=False, compare=False, metadata=forms.NOT_STORED)

    def __post_init__(self) -> None:
        self._keep_curves(Survival, "Survival curves", of_group)

    def to_frame(self, level: float = 0.95, *, of: Target = "records") -> DataFrame:
        """Return a DataFrame with the rows of ``Survival.to_frame`` and the column ``group``.

        Parameters
        ----------
        level, of
            As in ``Survival.band``.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, or the mechanism of a curve is not known.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid.integers(1, 2), dp.mechanisms.NoNoise()
        >>> how = {"by": ["a", "b", "b"], "groups": ["a", "b"]}
        >>> found = dp.survival([1, 1, 2], [1, 1, 0], grid, exact, **how)
        >>> print(found.to_frame()[["group", "time", "at_risk", "survival"]])
          group  time  at_risk  survival
        0     a   1.0      1.0       0.0
        1     a   2.0      0.0       0.0
        2     b   1.0      2.0       0.5
        3     b   2.0      1.0       0.5
        """
        return self._together(curve.to_frame(level, of=of) for curve in self.curves)

    @drawing
    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        of: Target = "population",
        **line: Any,
    ) -> Axes:
        """Draw all curves on the same axes, with a row of numbers at risk for each.

        It needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        level, of
            As in ``Survival.plot``.
        **line
            Passed on to ``Axes.plot``.

        Returns
        -------
        matplotlib.axes.Axes
            Its legend has the cost of all curves together. Numbers at risk have the colours of the
            lines, in the order of the legend.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, how = dp.Grid.integers(1, 4), {"by": ["a", "b"] * 50, "groups": ["a", "b"]}
        >>> ax = dp.survival([1, 2, 3, 4] * 25, [1] * 100, grid, epsilon=50.0, **how).plot()
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['a', '95% band, population', 'b']
        >>> [text.get_text() for text in ax.texts]
        ['at risk', '50', '25', '25', '25', '25', '50', '50', '50', '25', '25', '25', '25']
        """
        from .plots import axes, drawable, one_legend

        ax = axes(ax, (6.4, 4.8))
        for group, curve in self.items():
            curve.plot(ax, level=level, of=of, **{"label": drawable(str(group)), **line})
        return one_legend(ax, self.privacy, "upper right")

    def _readings(self, level: float) -> list[Rows]:
        def median(group: Any, curve: Survival) -> Reading:
            ends = curve.quantile_interval(0.5, level, of="population")
            return f"median of {group}, of the population", curve.median, ends

        return [with_intervals(level, readable(partial(median, *pair) for pair in self.items()))]
