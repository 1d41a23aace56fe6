"""Scored binary labels: one released curve of both classes, and the counts read off it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from . import _check, serialization
from ._score_counts import Label, score_counts
from ._score_counts import records as _records  # noqa: F401
from ._totals import NanPolicy
from .curve import CDF
from .errors import DtypeError, ParameterError
from .grid import MOST_CELLS, Grid
from .mechanisms import Mechanism
from .privacy import Privacy
from .release import cdf_from_counts
from .smoothing import Norm, Solver

__all__ = [
    "MOST_SCORE_CELLS",
    "Label",
    "ScoreCurves",
    "score_counts",
    "score_curves",
    "score_curves_from_counts",
]

MOST_SCORE_CELLS: Final = MOST_CELLS // 2
_DEFAULT_CELLS: Final = 2**10


@dataclass(frozen=True, eq=False, slots=True)
class ScoreCurves:
    """The score distributions of two classes, released together.

    Made by ``dpcore.score_curves``. The records are counted in 2 N cells, those of the negatives
    with rising scores and then those of the positives with falling ones, and released as one
    curve. Neighbours move one record from one of the 2 N cells to another, whatever happens to its
    label, so the joint sensitivity is that of one curve. The negatives are read off its beginning
    and the positives, as n is public, off its end.

    Parameters
    ----------
    grid
        The public thresholds of the scores, N of them.
    joint
        The released curve over the 2 N cells.
    """

    grid: Grid
    joint: CDF

    @classmethod
    def from_classes(cls, grid: Grid, negatives: CDF, positives: CDF) -> ScoreCurves:
        """Return the curves of two classes that were released alone. Guarantees add up.

        Parameters
        ----------
        grid
            The thresholds of the scores, N of them.
        negatives, positives
            Each over N + 1 cells, raw or processed: that class by rising scores, and in the last
            cell all records of the other class. So n is public, and neighbours are as everywhere.
            Both tell how many negatives there are: the mean is taken.
        """
        for name, curve in (("negatives", negatives), ("positives", positives)):
            if curve.grid.size != grid.size + 1 or curve.n != negatives.n:
                found = (curve.grid.size, curve.n)
                raise ParameterError(
                    name, found, f"must have {grid.size + 1} cells, and the n of the other"
                )
        size, n = grid.size, negatives.n
        first, last = negatives.counts[:size], n - positives.counts[:size][::-1]
        deviations = negatives.noise_deviation[:size], positives.noise_deviation[:size][::-1]
        middle = (first[-1] + last[0]) / 2
        spread = np.hypot(deviations[0][-1], deviations[1][0]) / 2
        joint = CDF(
            grid=_cells(2 * size),
            counts=np.concatenate([first[:-1], [middle], last[1:], [n]]).astype(np.float64),
            n=n,
            privacy=negatives.privacy + positives.privacy,
            mechanism={
                "name": "class-by-class",
                "negatives": str(negatives.mechanism["name"]),
                "positives": str(positives.mechanism["name"]),
            },
            noise_deviation=np.concatenate(
                [deviations[0][:-1], [spread], deviations[1][1:], [0.0]]
            ),
        )
        return cls(grid, joint)

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.joint.n

    @property
    def privacy(self) -> Privacy:
        """What the release cost."""
        return self.joint.privacy

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """(N,) the thresholds, read-only."""
        return self.grid.thresholds

    @property
    def negatives(self) -> NDArray[np.float64]:
        """(N,) how many negatives have a score of at most each threshold; the last is all."""
        return self.joint.counts[: self.grid.size].astype(np.float64)

    @property
    def positives(self) -> NDArray[np.float64]:
        """(N,) how many positives have a score of at most each threshold; the last is all."""
        size = self.grid.size
        return self.n - self.joint.counts[size - 1 : 2 * size - 1][::-1].astype(np.float64)

    @property
    def deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Standard deviations of the noise in ``negatives`` and in ``positives``, each (N,)."""
        size, joint = self.grid.size, self.joint.noise_deviation
        return joint[:size], joint[size - 1 : 2 * size - 1][::-1]

    def isotonic(self) -> ScoreCurves:
        """Return the nearest curves, in least squares, that are monotone with totals within n."""
        return replace(self, joint=self.joint.isotonic())

    def smooth(
        self, norm: Norm = 2, *, solver: Solver = "graph", tolerance: float = 1e-6
    ) -> ScoreCurves:
        """Return the monotone curves that the least noise on the mechanism's tree explains.

        As ``CDF.smooth``, which see: Eq. 3 of the ECDF paper, for both classes at once.
        """
        return replace(self, joint=self.joint.smooth(norm, solver=solver, tolerance=tolerance))

    def to_json(self) -> str:
        """Return the release as JSON (docs/format.md); ``from_json`` gives it back exactly."""
        return serialization.dump_scores(self)

    @classmethod
    def from_json(cls, text: str) -> ScoreCurves:
        """Read a release back.

        Raises
        ------
        FormatError
            The text is not a release that this version can read.
        """
        grid, joint = serialization.load_scores(text)
        return cls(grid, CDF(grid=_cells(2 * grid.size), **joint))


def score_curves(
    y_true: Any,
    y_score: Any,
    grid: Grid | None = None,
    mechanism: Mechanism | tuple[Mechanism, Mechanism] | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    delta: float | None = None,
    pos_label: Label | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> ScoreCurves:
    """Release the score distributions of positives and negatives with differential privacy.

    Everything about a classifier is read off this: ROC curves, precision and recall, calibration,
    the Hosmer-Lemeshow test. Neighbours: one record replaced, its label and its score. The number
    of records is public; those of the classes are not.

    Parameters
    ----------
    y_true
        (n,) labels, n >= 1: numbers, booleans or strings. What is not ``pos_label`` is negative.
    y_score
        (n,) real numbers. Those beyond the grid, infinities among them, count in its end cells.
    grid
        Public thresholds of the scores; None: 1,024 cells over [0, 1].
    mechanism
        None: the most accurate one for the budget, in closed form. Two of them, for negatives and
        positives: each class is then released alone, and the guarantees add up.
    epsilon, rho, delta
        The budget, if no mechanism is given: see ``dpcore.cdf``.
    pos_label
        Of the positives; None: 1 (or True), for labels that are no strings.
    isotonic
        Whether to make the curves monotone, by least squares.
    rng
        None for a release: noise from a cryptographic source. A generator is for studies.
    nan_policy
        What to do with records whose score or label is NaN: "raise", before anything is spent, or
        "omit" them.

    Returns
    -------
    ScoreCurves

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn. Errors do not depend on
        which labels or scores there are, but for missing ones.

    Notes
    -----
    docs/scores.md has the proof. O(n + N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(10_000) < 0.3
    >>> y_score = np.clip(rng.normal(np.where(y_true, 0.6, 0.4), 0.15), 0, 1)
    >>> curves = dp.score_curves(y_true, y_score, epsilon=1.0)
    >>> bool(abs(curves.positives[-1] - y_true.sum()) < 200)
    True
    """
    if grid is None:
        grid = Grid.uniform(0, 1, _DEFAULT_CELLS)
    _check_public(grid, mechanism, isotonic)
    counts = score_counts(y_true, y_score, grid, pos_label=pos_label, nan_policy=nan_policy)
    return score_curves_from_counts(
        counts, grid, mechanism, epsilon=epsilon, rho=rho, delta=delta, isotonic=isotonic, rng=rng
    )


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
    """Release the score distributions of records that were counted before.

    For data that come in chunks or from several files: add up ``score_counts`` of the chunks and
    release once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (2 N,) integers, 0 or more, from ``score_counts``.
    grid, mechanism, epsilon, rho, delta, isotonic, rng
        As in ``score_curves``.

    Raises
    ------
    DtypeError, ParameterError
        As in ``score_curves``; or counts are not 2 N integers that are 0 or more.
    """
    _check_public(grid, mechanism, isotonic)
    exact = _check.counts("counts", counts)
    if exact.shape != (2 * grid.size,):
        raise ParameterError("counts", exact.shape, f"must have shape ({2 * grid.size},)")
    budget: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta}
    if isinstance(mechanism, tuple):
        curves = _class_by_class(exact, grid, mechanism, budget, rng)
    else:
        cells = _cells(2 * grid.size)
        joint = cdf_from_counts(exact, cells, mechanism, isotonic=False, rng=rng, **budget)
        curves = ScoreCurves(grid, joint)
    return curves.isotonic() if isotonic else curves


def _check_public(
    grid: object, mechanism: Mechanism | tuple[Mechanism, Mechanism] | None, isotonic: object
) -> None:
    """Check what can be refused before the records are counted."""
    if not isinstance(grid, Grid):
        raise DtypeError("grid", type(grid).__name__, "must be a Grid")
    if grid.size > MOST_SCORE_CELLS:
        raise ParameterError("grid", grid.size, f"must have at most {MOST_SCORE_CELLS} cells")
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    for each in mechanism if isinstance(mechanism, tuple) else (mechanism,):
        if isinstance(each, Mechanism) and each.privacy.neighbours != "replace-one":
            raise ParameterError("mechanism", each.privacy.neighbours, "must be for replace-one")


def _class_by_class(
    counts: NDArray[np.int64],
    grid: Grid,
    mechanisms: tuple[Mechanism, Mechanism],
    budget: dict[str, Any],
    rng: np.random.Generator | None,
) -> ScoreCurves:
    """Release each class alone, with the records of the other one in a cell behind its own."""
    if len(mechanisms) != 2:
        raise ParameterError("mechanism", len(mechanisms), "must be one, or one for each class")
    size = grid.size
    negatives, positives = (
        cdf_from_counts(
            np.append(part, counts.sum() - part.sum()),
            _cells(size + 1),
            each,
            isotonic=False,
            rng=rng,
            **budget,
        )
        for part, each in zip((counts[:size], counts[size:][::-1]), mechanisms, strict=True)
    )
    return ScoreCurves.from_classes(grid, negatives, positives)


def _cells(size: int) -> Grid:
    """Return thresholds 1, ..., size: cells by their number."""
    return Grid(np.arange(1.0, size + 1))
