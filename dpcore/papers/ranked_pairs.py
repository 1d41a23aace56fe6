"""Pairs of a negative and a positive in the order of their scores. Private, and not additive."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from .._threads import on_threads
from ..kernels.counting import ranks as kernels
from ..records.labels import Label
from ..summaries.score_counts import records
from ..summaries.totals import NanPolicy

__all__ = ["RankedPairs", "ranked_pairs"]

_PART: Final = 2**17  # so many records are worth a thread of their own


class RankedPairs(NamedTuple):
    """How well scores tell two classes apart.

    Parameters
    ----------
    ordered
        Twice the number of pairs whose positive has the higher score, plus the number of ties.
    negatives, positives
        The number of records of each class.
    """

    ordered: int
    negatives: int
    positives: int


def ranked_pairs(
    y_true: Any, y_score: Any, *, pos_label: Label | None = None, nan_policy: NanPolicy = "raise"
) -> RankedPairs:
    """Count the pairs that the scores put in the right order. O(n log n).

    Parameters
    ----------
    y_true, y_score, pos_label, nan_policy
        As in ``score_curves``.

    Notes
    -----
    Each class is sorted by itself, and both are read side by side. Sums are integers, so the number
    of threads does not matter.
    """
    is_positive, scores = records(y_true, y_score, pos_label, nan_policy)
    sorted_scores = np.empty_like(scores)
    front = int(kernels.part_by_class(scores, is_positive, sorted_scores))
    negatives, positives = sorted_scores[:front], sorted_scores[front:]
    workers = None if scores.size >= 2 * _PART else 1
    longest_first = sorted((negatives, positives), key=len, reverse=True)
    on_threads(lambda own: own.sort(), longest_first, workers)
    starts = range(0, positives.size, _PART)
    totals = np.zeros(len(starts), np.int64)

    def add(part: int) -> None:
        start, stop = starts[part], min(starts[part] + _PART, positives.size)
        before = np.searchsorted(negatives, positives[start])
        totals[part] = kernels.ordered_pairs(negatives, positives, before, start, stop)

    on_threads(add, range(len(starts)), workers)
    return RankedPairs(int(totals.sum()), negatives.size, positives.size)
