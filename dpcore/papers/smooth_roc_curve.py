"""A ROC curve from one private number, its area: a baseline for comparison."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .._documentation import documented
from ..errors import ParameterError
from ..noise.sources import source
from ..privacy.spending import releasing
from ..statistics.binormal import BinormalROC
from ..summaries.score_counts import Label
from ..summaries.totals import NanPolicy
from .ranked_pairs import ranked_pairs
from .smooth_auc import SmoothS

__all__ = ["smooth_roc_curve"]


@documented
def smooth_roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    epsilon: float | Fraction,
    delta: float | None = None,
    pos_label: Label | None = None,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> BinormalROC:
    """Release the area under a ROC curve, and the symmetric binormal curve with that area.

    This is SmoothS of the regression-diagnostics paper, after Boyd, Lantz & Page (2015). It is a
    baseline for comparison.

    Parameters
    ----------
    y_true
        {labels}
    y_score
        (n,) real numbers; a higher score means more likely positive. No grid is needed, because
        the scores are compared with each other.
    pos_label
        {pos_label}
    rng
        {rng}
    nan_policy
        {nan_policy}
    epsilon, delta
        As in ``papers.smooth_auc.SmoothS``.

    Returns
    -------
    BinormalROC

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        As in ``roc_curve``.

    Notes
    -----
    docs/proofs/selection.md, section 13, explains the method. The cost is O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.smooth_roc_curve import smooth_roc_curve
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(5000) < 0.3
    >>> y_score = rng.normal(np.where(y_true, 0.6, 0.4), 0.15)
    >>> round(smooth_roc_curve(y_true, y_score, epsilon=10.0, rng=rng).auc, 2)
    0.83
    """
    area = SmoothS(epsilon, delta)
    source(rng)  # refuses anything but a generator or None
    pairs = ranked_pairs(y_true, y_score, pos_label=pos_label, nan_policy=nan_policy)
    n = pairs.negatives + pairs.positives
    if n < 1:
        raise ParameterError("y_true", 0, "must hold at least one record")
    with releasing(area.privacy, "smooth_roc_curve", rng) as privacy:
        released = area.release_pairs(pairs, rng=rng)
    assert isinstance(released, float)
    return BinormalROC(released, n, privacy, area.describe())
