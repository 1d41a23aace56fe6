"""ROC curves of several groups by their labels, from one release."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..curves import forms
from ..curves.by_groups import LABEL, ByGroups
from ..curves.drawing import drawing
from ..curves.field_tables import Rows
from ..curves.readings import Reading, readable, with_intervals
from ..curves.stored import one_of
from .roc import ROC

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["GroupedROC"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedROC(ByGroups[ROC]):
    """ROC curves of disjoint groups of records: a mapping from each label to its curve.

    ``dpcore.roc_curve(..., by=labels)`` makes it. Groups share no record, and their noise is
    independent.

    Parameters
    ----------
    groups
        (G,) the public labels, all different.
    curves
        (G,) their ROC curves, in the same order, of the ``curves`` of ``GroupedScores``.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above, or the guarantees of the curves have no common form.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> scores, sex = rng.random(8000), np.repeat(["f", "m"], 4000)
    >>> labels = rng.random(8000) < scores
    >>> found = dp.roc_curve(labels, scores, by=sex, groups=["f", "m"], epsilon=1.0, rng=rng)
    >>> found
    <GroupedROC of 2: 'f', 'm'; SIMULATED, epsilon = 1>
    >>> {group: round(roc.auc, 2) for group, roc in found.items()}
    {'f': 0.83, 'm': 0.84}
    """

    _kind = "dpcore.roc-groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    curves: tuple[ROC, ...] = field(metadata=forms.tuple_of(one_of(ROC)))
    _place: dict[Any, int] = field(init=False, compare=False, metadata=forms.NOT_STORED)

    def __post_init__(self) -> None:
        self._keep_curves(ROC, "ROC curves")

    def to_frame(self, level: float = 0.95) -> DataFrame:
        """Return a pandas DataFrame with the rows of ``ROC.to_frame`` and the column ``group``.

        Parameters
        ----------
        level
            The level of the intervals, between 0 and 1.

        Raises
        ------
        DtypeError, ParameterError
            ``level`` is not a number between 0 and 1.
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, how = dp.Grid([0.5, 1.0]), {"by": ["a", "b"] * 20, "groups": ["a", "b"]}
        >>> labels, scores = [0, 0, 1, 1] * 10, [0.1, 0.4, 0.9, 0.6] * 10
        >>> found = dp.roc_curve(labels, scores, grid, epsilon=50.0, **how)
        >>> print(found.to_frame()[["group", "threshold", "fpr", "tpr"]])
          group  threshold  fpr  tpr
        0     a        1.0  0.0  0.0
        1     a        0.5  0.0  1.0
        2     a       -inf  1.0  1.0
        3     b        1.0  0.0  0.0
        4     b        0.5  0.0  1.0
        5     b       -inf  1.0  1.0
        """
        return self._together(roc.to_frame(level) for roc in self.curves)

    @drawing
    def plot(self, ax: Axes | None = None, *, level: float = 0.95, **line: Any) -> Axes:
        """Draw all curves on the same axes, with one legend. Needs the extra ``plot``.

        Parameters
        ----------
        ax
            Matplotlib axes, or None for new ones.
        level
            As in ``ROC.plot``.
        **line
            Passed on to ``Axes.plot``.

        Returns
        -------
        matplotlib.axes.Axes
            Its legend has the area of each group with its interval, and the cost of all together.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, how = dp.Grid([0.5, 1.0]), {"by": ["a", "b"] * 20, "groups": ["a", "b"]}
        >>> labels, scores = [0, 0, 1, 1] * 10, [0.1, 0.4, 0.9, 0.6] * 10
        >>> ax = dp.roc_curve(labels, scores, grid, epsilon=50.0, **how).plot()
        >>> [text.get_text().partition(" (")[0] for text in ax.get_legend().get_texts()]
        ['guessing', 'a, AUC = 1.000', '95% band for the noise', 'b, AUC = 1.000']
        """
        from ..curves.legible import in_two_lines
        from ..curves.plots import axes, drawable, one_legend

        ax = axes(ax, figsize=(5, 5))
        for group, roc in self.items():
            label = drawable(in_two_lines(str(group), roc._area_told(level)))
            roc.plot(ax, level=level, **{"label": label, **line})
        return one_legend(ax, self.privacy)

    def _readings(self, level: float) -> list[Rows]:
        def area(group: Any, roc: ROC) -> Reading:
            ends = roc.population_auc_interval(level)
            return f"area of {group}, of the population", roc.auc, ends

        return [with_intervals(level, readable(partial(area, *pair) for pair in self.items()))]
