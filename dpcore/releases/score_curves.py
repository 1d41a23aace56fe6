"""Release the curves of both classes from labels and scores."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.likely_mistakes import named, warn_of_scores
from ..curves.score_groups import GroupedScores
from ..curves.scores import ScoreCurves, check_score_grid, numbered
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.base import check_mechanism
from ..noise.sources import source
from ..planning.score_grid import (
    Spender,
    on_grid,
    score_grid,
    suited_to_mechanism,
    suited_to_scores,
)
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours
from ..privacy.spending import releasing
from ..summaries.grid import Grid
from ..summaries.score_counts import Label, score_counts
from ..summaries.totals import NanPolicy
from .cdf import (
    OfGroups,
    asked,
    check_description,
    checked,
    of_each,
    raw_release,
    refuse_one_row_only,
    taken,
)
from .score_curves_by_groups import score_curves_by_groups

__all__ = [
    "asked_of_scores",
    "labelled_score_curves",
    "raw_score_curves",
    "score_curves",
    "score_curves_from_counts",
]


@overload
def score_curves(
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
) -> ScoreCurves: ...


@overload
def score_curves(
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
) -> GroupedScores: ...


@documented
def score_curves(
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
) -> ScoreCurves | GroupedScores:
    """Release the score distributions of positives and negatives with differential privacy.

    ROC curves, precision and recall, calibration and the Hosmer-Lemeshow test are all computed from
    these curves. Neighbours: one record is replaced, with its label and its score. The number of
    records is public; the numbers of positives and negatives are not.

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
    isotonic
        {isotonic}
    rng
        {rng}
    nan_policy
        {nan_policy}
    sample_weight
        {weights}

    Returns
    -------
    ScoreCurves or GroupedScores

    Warns
    -----
    DpcoreWarning
        The released curves suggest a mistake: wrong labels, exchanged arguments, a grid that does
        not fit, too much noise, or a group without records (docs/guides/roc.md, section 4).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn, and apart from missing
        values they do not depend on the values of labels and scores.

    Notes
    -----
    docs/guides/roc.md has the proof, and docs/proofs/privacy.md, section 7, that for groups. The
    cost is O(n + N), or O(n + G N) for G groups.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(5000) < 0.3
    >>> y_score = rng.normal(np.where(y_true, 0.6, 0.4), 0.15)
    >>> curves = dp.score_curves(y_true, y_score, dp.Grid.uniform(0, 1, 64), epsilon=1.0)
    >>> curves.n, round(float(curves.positives[-1]) / curves.n, 1)
    (5000, 0.3)
    """
    _check.unweighted("sample_weight", sample_weight)
    if grid is not None:
        check_score_grid(grid)
    if by is not None or groups is not None:
        own: Any = neighbours if mechanism is not None else of_each(neighbours, True)
        spender = asked_of_scores(mechanism, epsilon, rho, delta, own)
        how: Any = {"isotonic": isotonic, "rng": rng, "nan_policy": nan_policy}
        given = y_true, y_score, by, groups, grid, spender
        return score_curves_by_groups(*given, pos_label=pos_label, **how)
    if neighbours is not None:
        raise ParameterError("neighbours", neighbours, "is for curves by groups: give by")
    spender = asked_of_scores(mechanism, epsilon, rho, delta)
    _check_public(score_grid(0) if grid is None else grid, spender, isotonic)
    fine = score_grid() if grid is None else grid
    counts = score_counts(y_true, y_score, fine, pos_label=pos_label, nan_policy=nan_policy)
    if not counts.any():
        raise ParameterError("y_true", 0, "must hold at least one record")
    if grid is None:
        n = int(counts.sum())
        if isinstance(spender, Allowance):
            grid, spender = suited_to_scores(n, spender)
        else:
            grid = suited_to_mechanism(n, spender)
            _check_public(grid, spender, isotonic)
        counts = on_grid(counts, grid)
    curves = raw_score_curves(counts, grid, spender, rng, what="score_curves")
    warn_of_scores(curves, named(pos_label))
    return curves.isotonic() if isotonic else curves


@documented
def score_curves_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
) -> ScoreCurves:
    """Release the score distributions of records that are already counted.

    Use this for data in chunks or in several files: add up ``score_counts`` of the chunks and
    release once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (2 N,) integers, 0 or more, from ``score_counts``.
    grid
        {score_thresholds}
    mechanism
        {score_mechanism}
    epsilon, rho, delta
        {budget}
    isotonic
        {isotonic}
    rng
        {rng}

    Raises
    ------
    DtypeError, ParameterError
        As in ``score_curves``; also if ``counts`` are not 2 N integers that are 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid([0.25, 0.5, 0.75, 1.0])
    >>> y_true, y_score = [0, 0, 1, 0, 1] * 40, [0.1, 0.3, 0.6, 0.7, 0.9] * 40
    >>> counts = dp.score_counts(y_true, y_score, grid) + dp.score_counts([1, 0], [0.8, 0.1], grid)
    >>> curves = dp.score_curves_from_counts(counts, grid, epsilon=1.0, rng=rng)
    >>> curves.n, curves.negatives.round(), curves.positives.round()
    (202, array([ 34.,  76., 118., 118.]), array([ 0.,  0., 42., 84.]))
    """
    spender = asked_of_scores(mechanism, epsilon, rho, delta)
    return labelled_score_curves(counts, grid, spender, "pos_label", isotonic=isotonic, rng=rng)


def labelled_score_curves(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    spender: Spender,
    label: str,
    *,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
) -> ScoreCurves:
    """Do as ``score_curves_from_counts`` does; warnings name the positive label by this text."""
    check_score_grid(grid)
    _check_public(grid, spender, isotonic)
    exact = _check.counts("counts", counts, (2 * grid.size,))
    if not exact.any():
        raise ParameterError("counts", 0, "must hold at least one record")
    name = "score_curves_from_counts"
    curves = raw_score_curves(exact, grid, spender, rng, what=name)
    warn_of_scores(curves, label)
    return curves.isotonic() if isotonic else curves


def raw_score_curves(
    counts: NDArray[np.int64],
    grid: Grid,
    spender: Spender,
    rng: np.random.Generator | None,
    *,
    what: str = "score_curves_from_counts",
) -> ScoreCurves:
    """Release the raw curves of ``score_curves_from_counts`` from counts that were checked.

    ``what`` is the name of the function that a budget records.
    """
    for single in spender if isinstance(spender, tuple) else (spender,):
        refuse_one_row_only(single, "scores have two classes")
    if isinstance(spender, tuple):
        source(rng)  # refuses anything but a generator or None
        first, second = (mechanism.privacy_for(grid.size + 1) for mechanism in spender)

        def check() -> None:
            for mechanism in spender:
                mechanism._check_total(int(counts.sum()), grid.size + 1)

        with releasing(first + second, what, rng, check):
            return _class_by_class(counts, grid, spender, rng, what)
    cells = numbered(2 * grid.size)
    chosen = checked(cells, spender, False, rng)
    return ScoreCurves(grid, raw_release(counts, cells, chosen, rng, what=what))


def asked_of_scores(
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    delta: float | None,
    neighbours: Neighbours | None = None,
) -> Spender:
    """Do as ``cdf.asked`` does, also for one mechanism for each class."""
    if not isinstance(mechanism, tuple):
        return asked(mechanism, epsilon, rho, neighbours, delta)
    if len(mechanism) != 2:
        what = "must be one mechanism or two, one for each class"
        raise ParameterError("mechanism", len(mechanism), what)
    for single in mechanism:
        check_mechanism("mechanism", single)
        asked(single, epsilon, rho, neighbours, delta)
    return mechanism


def _check_public(grid: Grid, spender: Spender, isotonic: object) -> None:
    """Check all that can be checked before the records are counted."""
    _check.flag("isotonic", isotonic)
    for single in spender if isinstance(spender, tuple) else (spender,):
        if single.privacy.neighbours != "replace-one":
            given = single.privacy.neighbours
            raise ParameterError("mechanism", given, "must be for replace-one: n is public")
    if isinstance(spender, tuple):
        for mechanism in spender:
            # This also refuses a budget too small for this grid.
            check_description(mechanism, numbered(grid.size + 1))
        first, second = spender
        _ = first.privacy + second.privacy  # refuses guarantees that cannot be added


def _class_by_class(
    counts: NDArray[np.int64],
    grid: Grid,
    mechanisms: tuple[Mechanism, Mechanism],
    rng: np.random.Generator | None,
    what: str,
) -> ScoreCurves:
    """Release each class alone; one more cell counts the records of the other class."""
    size = grid.size
    negatives, positives = (
        raw_release(
            np.append(part, counts.sum() - part.sum()),
            numbered(size + 1),
            taken(mechanism),
            rng,
            what=what,
        )
        for part, mechanism in zip((counts[:size], counts[size:][::-1]), mechanisms, strict=True)
    )
    return ScoreCurves.from_classes(grid, negatives, positives)
