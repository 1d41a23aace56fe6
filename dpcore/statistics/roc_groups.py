"""ROC curves of several groups by their labels, from one release."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from .. import _check
from ..curves import forms
from ..curves.groups import LABEL, check_groups, line_of_groups, place_of
from ..curves.stored import Stored, one_of
from ..privacy.guarantees import Privacy
from .roc import ROC

__all__ = ["GroupedROC"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class GroupedROC(Mapping[Any, ROC], Stored):
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
        check_groups(self.groups, self.curves)
        for roc in self.curves:
            _check.instance("curves", roc, ROC, "must hold ROC curves")
        object.__setattr__(self, "_place", {label: at for at, label in enumerate(self.groups)})
        _ = self.privacy  # refuses guarantees without a common form

    @property
    def privacy(self) -> Privacy:
        """The cost of all curves together: the largest guarantee, as no record is in two groups."""
        return reduce(operator.or_, (roc.privacy for roc in self.curves))

    def __getitem__(self, group: Any) -> ROC:
        return self.curves[place_of(self._place, group)]

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))  # mappings are equal in any order

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return line_of_groups("GroupedROC", self.groups, self.privacy)
