"""ROC curves of several groups by their labels, from one release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .. import _check
from ..curves import forms
from ..curves.by_groups import LABEL, ByGroups
from ..curves.stored import one_of
from .roc import ROC

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
        _check.instance("curves", self.curves, tuple, "must be a tuple")
        self._keep_places()
        for roc in self.curves:
            _check.instance("curves", roc, ROC, "must hold ROC curves")
        _ = self.privacy  # refuses guarantees without a common form
