"""Release ROC curves of labels and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.score_groups import GroupedScores
from ..curves.scores import ScoreCurves
from ..mechanisms import Mechanism
from ..privacy.spending import called
from ..statistics.roc import ROC
from ..statistics.roc_groups import GroupedROC
from ..summaries.grid import Grid
from ..summaries.score_counts import Label
from ..summaries.totals import NanPolicy
from .cdf import OfGroups
from .released_by import released_by
from .score_curves import score_curves

__all__ = ["roc_curve"]


@overload
def roc_curve(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = ...,
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None = ...,
    *,
    by: None = ...,
    groups: None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: None = ...,
    delta: float | None = ...,
    pos_label: Label | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
    sample_weight: None = ...,
) -> ROC: ...


@overload
def roc_curve(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = ...,
    mechanism: Mechanism | None = ...,
    *,
    by: Any,
    groups: Sequence[Label] | None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: OfGroups | None = ...,
    delta: float | None = ...,
    pos_label: Label | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
    sample_weight: None = ...,
) -> GroupedROC: ...


@documented
def roc_curve(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = None,
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None = None,
    *,
    by: Any = None,
    groups: Sequence[Label] | None = None,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: OfGroups | None = None,
    delta: float | None = None,
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    sample_weight: None = None,
) -> ROC | GroupedROC:
    """Release the ROC curve of a classifier with differential privacy.

    This releases the score distributions of both classes once. Precision and recall, calibration
    and the Hosmer-Lemeshow test can be computed from ``ROC.curves`` at no further cost in privacy.
    Neighbours: one record is replaced, with its label and its score. The number of records is
    public; the numbers of positives and negatives are not.

    Parameters
    ----------
    y_true
        {labels}
    y_score
        {scores}
    grid
        {score_thresholds_or_none}
    mechanism
        {score_mechanism}
    by
        {by_groups}
    groups
        {groups}
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours_of_groups}
    pos_label
        {pos_label}
    rng
        {rng}
    nan_policy
        {nan_policy}
    isotonic
        Whether to make the curves monotone, by least squares. False: raw curves, which may
        decrease and leave [0, 1]. Raw curves of ``mechanisms.Dyadic`` can be smoothed instead:
        ``ROC(found.curves.smooth(2))``.
    sample_weight
        {weights}

    Returns
    -------
    ROC or GroupedROC
        With ``fpr``, ``tpr``, ``thresholds``, ``auc``, ``auc_interval()``, ``band()`` and
        ``plot()``. With groups, a mapping from labels to such curves.

    Warns
    -----
    DpcoreWarning
        The labels, scores or grid look like a mistake, as in ``dpcore.score_curves``.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of labels and scores.

    Notes
    -----
    docs/guides/roc.md explains the method. The cost is O(n + N); the records are not sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid, roc_curve
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(5000) < 0.3
    >>> y_score = rng.normal(np.where(y_true, 0.6, 0.4), 0.15)
    >>> roc = roc_curve(y_true, y_score, epsilon=1.0, grid=Grid.uniform(0, 1, 64))
    >>> round(roc.auc, 1)
    0.8
    """
    _check.unweighted("sample_weight", sample_weight)
    release: Callable[..., ScoreCurves | GroupedScores] = score_curves  # with or without groups
    with called("roc_curve"):
        curves = release(
            y_true,
            y_score,
            grid,
            mechanism,
            by=by,
            groups=groups,
            epsilon=epsilon,
            rho=rho,
            neighbours=neighbours,
            delta=delta,
            pos_label=pos_label,
            isotonic=isotonic,
            rng=rng,
            nan_policy=nan_policy,
        )
    if isinstance(curves, ScoreCurves):
        return ROC(curves, released_by(curves, mechanism))
    every = (ROC(own, released_by(own, mechanism)) for own in curves.values())
    return GroupedROC(curves.groups, tuple(every))
