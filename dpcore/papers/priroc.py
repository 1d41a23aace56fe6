"""Score curves at privately chosen thresholds; PriROC and, for comparison, PriROC-fix."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np

from .. import _check
from .._documentation import documented
from ..curves.likely_mistakes import named, warn_of_scores
from ..curves.scores import ScoreCurves, check_score_grid, numbered
from ..errors import ParameterError
from ..mechanisms import Dawa, Hierarchy, Mechanism
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.spending import releasing
from ..releases.cdf import raw_release, taken
from ..releases.score_curves import score_curves
from ..summaries.grid import Grid
from ..summaries.score_counts import Label, score_counts
from ..summaries.totals import NanPolicy
from .median_finders import Method
from .medians import RecursiveMedians

__all__ = ["priroc", "priroc_fix", "score_curves_at_medians"]

Counter = Literal["dawa", "hb"]

_CANDIDATES: Final = 2**15
_FIXED: Final = 2**10
_PUBLISHED_DEPTH: Final = 10
_PUBLISHED_SHARE: Final = Fraction(1, 5)


@documented
def score_curves_at_medians(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = None,
    *,
    epsilon: float | Fraction,
    depth: int = 5,
    method: Method = "exponential",
    counter: Counter = "hb",
    share: float | Fraction = 0.2,
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ScoreCurves:
    """Release score curves at thresholds that have about equally many records between them.

    The thresholds are recursive medians of all scores. The counts of both classes between the
    thresholds are then released together (docs/guides/roc.md). Neighbours: one record is
    replaced, with its label and its score.

    Parameters
    ----------
    y_true
        {labels}
    y_score
        {scores}
    pos_label
        {pos_label}
    isotonic
        {isotonic}
    nan_policy
        {nan_policy}
    grid
        Public thresholds to choose from; None: 2^15 of them, evenly over [0, 1].
    epsilon
        The budget of thresholds and counts together, a positive number (a Fraction is taken
        exactly).
    depth, method
        As in ``papers.medians.RecursiveMedians``: there are 2^depth thresholds, and ``method``
        is how they are found.
    counter
        The mechanism that releases the counts: "hb", which is ``mechanisms.Hierarchy`` with the
        branching of Qardaji, Yang & Li and equal budgets; or "dawa", ``mechanisms.Dawa``.
    share
        The part of epsilon for the thresholds, above 0 and below 1.
    rng
        {rng}

    Returns
    -------
    ScoreCurves
        The curves over the chosen thresholds. ``privacy`` is the cost of both steps together.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before anything is drawn.

    Notes
    -----
    The cost is O(n + depth N). A few thresholds at medians are better than many. With the default
    method, they are no better than ``dpcore.score_curves`` over 1,024 even cells:
    docs/measured/roc-accuracy.md measures this.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(10_000) < 0.3
    >>> y_score = rng.beta(2, np.where(y_true, 9, 36))
    >>> curves = score_curves_at_medians(y_true, y_score, epsilon=1.0)
    >>> curves.grid.size
    32
    >>> curves.privacy
    Privacy(epsilon=1.0, delta=0.0, neighbours='replace-one', simulated=False)
    """
    whole = Allowance.checked(epsilon, None, "replace-one").epsilon
    assert whole is not None
    part = _check.fraction("share", share)
    if part >= 1:
        raise ParameterError("share", share, "must be above 0 and below 1")
    if grid is None:
        grid = Grid.uniform(0, 1, _CANDIDATES)
    check_score_grid(grid)
    _check.flag("isotonic", isotonic)
    source(rng)
    try:  # both refuse budgets that are too small, before anything is spent
        chooser = RecursiveMedians(part * whole, depth, method)
        chooser.check(grid.size)
        mechanism = _mechanism(counter, (1 - part) * whole)
        _check_budget(mechanism, 2 * min(2**chooser.depth, grid.size))
    except ParameterError as error:
        if error.argument != "epsilon":
            raise
        shares = f"thresholds get {float(part):.3g} of epsilon, and counts get the rest"
        why = f"{error.requirement} ({shares})"
        raise ParameterError("epsilon", epsilon, why) from None
    counts = score_counts(y_true, y_score, grid, pos_label=pos_label, nan_policy=nan_policy)
    if counts.sum() < 1:
        raise ParameterError("y_true", 0, "must hold at least one record")
    negatives, positives = counts[: grid.size], counts[grid.size :][::-1]
    # This is epsilon itself. The sum of the rounded parts might be more.
    cost = Allowance(whole, None, "replace-one").privacy
    with releasing(cost, "score_curves_at_medians", rng) as privacy:
        chosen = chooser.choose(negatives + positives, rng=rng)
        starts = np.append(0, chosen[:-1] + 1)
        merged = [np.add.reduceat(of_class, starts) for of_class in (negatives, positives)]
        cells = numbered(2 * chosen.size)
        both = np.concatenate([merged[0], merged[1][::-1]])
        joint = raw_release(both, cells, taken(mechanism), rng, what="score_curves_at_medians")
    thresholds = {f"thresholds-{key}": value for key, value in chooser.describe().items()}
    joint = replace(
        joint,
        privacy=privacy,
        mechanism={**joint.mechanism, **thresholds},
    )
    curves = ScoreCurves(Grid(grid.positions[chosen]), joint)
    warn_of_scores(curves, named(pos_label))
    return curves.isotonic() if isotonic else curves


def priroc(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = None,
    *,
    epsilon: float | Fraction,
    counter: Counter = "dawa",
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ScoreCurves:
    """Release score curves by PriROC of the regression-diagnostics paper.

    This is ``score_curves_at_medians`` with the published choices. They are 2^10 thresholds by the
    smooth sensitivity of medians, with the published constants, for a fifth of epsilon, and counts
    by DAWA. Two things differ from the paper: both classes are counted in one release, which halves
    the noise, and DAWA has another first stage, because the published one has no proof of privacy
    (docs/proofs/dawa.md, section 2).

    Parameters
    ----------
    y_true, y_score, grid, epsilon, counter, pos_label, isotonic, rng, nan_policy
        As in ``score_curves_at_medians``.

    Returns
    -------
    ScoreCurves

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        As in ``score_curves_at_medians``. The published constants require epsilon >= 0.0016.
    """
    return score_curves_at_medians(
        y_true,
        y_score,
        grid,
        epsilon=epsilon,
        depth=_PUBLISHED_DEPTH,
        method="paper",
        counter=counter,
        share=_PUBLISHED_SHARE,
        pos_label=pos_label,
        isotonic=isotonic,
        rng=rng,
        nan_policy=nan_policy,
    )


def priroc_fix(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = None,
    *,
    epsilon: float | Fraction,
    counter: Counter = "dawa",
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ScoreCurves:
    """Release score curves at fixed thresholds: PriROC-fix of the regression-diagnostics paper.

    This is ``dpcore.score_curves`` with the paper's mechanism, as in ``priroc``. Without a
    mechanism, ``dpcore.score_curves`` uses the most accurate one.

    Parameters
    ----------
    y_true, y_score, pos_label, isotonic, rng, nan_policy
        As in ``dpcore.score_curves``.
    grid
        Public thresholds; None: 2^10 of them, evenly over [0, 1].
    epsilon, counter
        As in ``score_curves_at_medians``.

    Returns
    -------
    ScoreCurves

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before anything is drawn.

    Examples
    --------
    >>> priroc_fix([0, 0, 1, 1] * 999, [0.2, 0.4, 0.6, 0.9] * 999, epsilon=1.0).grid
    Grid.uniform(0.0, 1.0, 1024)
    """
    mechanism = _mechanism(counter, epsilon)
    if grid is None:
        grid = Grid.uniform(0, 1, _FIXED)
    return score_curves(
        y_true,
        y_score,
        grid,
        mechanism,
        pos_label=pos_label,
        isotonic=isotonic,
        rng=rng,
        nan_policy=nan_policy,
    )


def _check_budget(mechanism: Mechanism, most: int) -> None:
    """Refuse a budget that is too small for any number of cells up to ``most``.

    The number of cells depends on the records. With more cells, a tree of HB's branching is not
    always taller, but it is never taller than the binary tree over ``most`` cells.
    """
    mechanism.noise_deviation(most)
    if isinstance(mechanism, Hierarchy):
        Hierarchy(mechanism.epsilon, 2, "equal").noise_deviation(most)


def _mechanism(counter: Counter, epsilon: float | Fraction) -> Mechanism:
    _check.choice("counter", counter, Counter)
    if counter == "dawa":
        return Dawa(epsilon)
    return Hierarchy(epsilon, branching="hb", budgets="equal")
