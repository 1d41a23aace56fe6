"""Released scores of several groups by their labels, as one release."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from . import forms
from .by_groups import LABEL, ByGroups
from .groups import of_group
from .scores import ScoreCurves
from .stored import one_of

__all__ = ["GroupedScores"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedScores(ByGroups[ScoreCurves]):
    """Released scores of disjoint groups of records: a mapping from each label to its curves.

    ``dpcore.score_curves(..., by=labels)`` makes it.

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
    >>> from dpcore.statistics import ROC
    >>> rng = np.random.default_rng(1)
    >>> scores, sex = rng.random(8000), np.repeat(["f", "m"], 4000)
    >>> labels = rng.random(8000) < scores
    >>> found = dp.score_curves(
    ...     labels, scores, by=sex, groups=["f", "m"], epsilon=1.0, rng=rng
    ... )
    >>> {group: round(ROC(curves).auc, 2) for group, curves in found.items()}
    {'f': 0.83, 'm': 0.84}
    """

    _kind = "dpcore.score-groups"

    groups: tuple[Any, ...] = field(metadata=forms.tuple_of(LABEL))
    curves: tuple[ScoreCurves, ...] = field(metadata=forms.tuple_of(one_of(ScoreCurves)))
    _place: dict[Any, int] = field(init=False, compare=False, metadata=forms.NOT_STORED)

    def __post_init__(self) -> None:
        self._keep_curves(ScoreCurves, "ScoreCurves", _of_group)

    def isotonic(self) -> GroupedScores:
        """Return the groups with the curves that ``ScoreCurves.isotonic`` makes of each.

        Examples
        --------
        >>> import dpcore as dp
        >>> grid, how = dp.Grid([0.5, 1.0]), {"by": ["a", "b"] * 20, "groups": ["a", "b"]}
        >>> labels, scores = [0, 0, 1, 1] * 10, [0.1, 0.4, 0.9, 0.6] * 10
        >>> raw = dp.score_curves(labels, scores, grid, epsilon=50.0, isotonic=False, **how)
        >>> raw.isotonic()["a"].positives
        array([ 0., 10.])
        """
        return GroupedScores(self.groups, tuple(curves.isotonic() for curves in self.curves))


def _of_group(curves: ScoreCurves) -> ScoreCurves:
    return replace(curves, joint=of_group(curves.joint))
