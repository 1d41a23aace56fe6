"""Released curves of the scores of two classes, and the counts of each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError, amount
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS, Grid, check_grid_of_numbers
from . import forms
from .cdf import CDF
from .confidence import at_knots
from .provenance import Noises
from .shown import cost, line
from .smoothing import Norm, Solver
from .stored import Stored, within

__all__ = ["MOST_SCORE_CELLS", "ScoreCurves", "check_score_grid", "numbered"]

MOST_SCORE_CELLS: Final = MOST_CELLS // 2


def check_score_grid(grid: Grid) -> None:
    """Refuse what is no grid of scores, or too large for the cells of both classes in one row."""
    check_grid_of_numbers("grid", grid)
    if grid.size > MOST_SCORE_CELLS:
        raise ParameterError("grid", grid.size, f"must have at most {MOST_SCORE_CELLS} cells")


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class ScoreCurves(Stored):
    """The score distributions of two classes, released together.

    ``dpcore.score_curves`` makes it. It counts the records in 2 N cells, and releases them as one
    curve: first the cells of the negatives, by rising scores, then the cells of the positives, by
    falling scores. Neighbours move one record from one of the 2 N cells to another, whatever
    happens to its label. So the joint sensitivity is that of one curve. The beginning of the curve
    gives the negatives. Its end gives the positives, because n is public. If clients may lack
    records, one more cell between the classes counts these (docs/guides/clients.md). In a stream,
    n is released, too (``dpcore.streams.RunningScores``).

    Parameters
    ----------
    grid
        The public thresholds of the scores, N of them.
    joint
        The released curve over the 2 N cells, or 2 N + 1.

    Raises
    ------
    DtypeError, ParameterError
        A parameter is not as above.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid([0.25, 0.5, 0.75, 1.0])
    >>> y_true, y_score = [0, 0, 1, 0, 1] * 40, [0.1, 0.3, 0.6, 0.7, 0.9] * 40
    >>> curves = dp.score_curves(y_true, y_score, grid, epsilon=1.0, rng=rng)
    >>> curves
    <ScoreCurves: n = 200, epsilon = 1, SIMULATED, 4 cells>
    >>> curves.negatives, curves.positives
    (array([ 33.5 ,  75.  , 116.75, 116.75]), array([ 0.  ,  0.  , 41.5 , 83.25]))
    """

    _kind = "dpcore.scores"

    grid: Grid = field(metadata=forms.SCORE_CELLS)
    joint: CDF = field(metadata=within(CDF))

    def __post_init__(self) -> None:
        check_grid_of_numbers("grid", self.grid)
        _check.instance("joint", self.joint, CDF, "must be a CDF")
        cells, size = 2 * self.grid.size, self.joint.grid.size
        if size not in (cells, cells + 1):
            raise ParameterError("joint", size, f"must have {cells} cells, or {cells + 1}")

    @classmethod
    def from_classes(cls, grid: Grid, negatives: CDF, positives: CDF) -> ScoreCurves:
        """Return the curves of two classes that were released separately. Guarantees add up.

        Parameters
        ----------
        grid
            The thresholds of the scores, N of them.
        negatives, positives
            Each is a curve over N + 1 cells, raw or processed: the class by rising scores, and in
            the last cell all records of the other class. So n is public, and neighbours are defined
            as everywhere. Both curves count the negatives, and the result has the mean of both.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid([0.25, 0.5, 0.75, 1.0])
        >>> cells = dp.Grid([1, 2, 3, 4, 5])  # the last one: records of the other class
        >>> exact = np.array([40, 20, 20, 0, 20]), np.array([0, 0, 10, 10, 80])
        >>> alone = (dp.cdf_from_counts(counts, cells, epsilon=1.0, rng=rng) for counts in exact)
        >>> curves = dp.ScoreCurves.from_classes(grid, *alone)
        >>> curves.negatives.round(1), curves.positives.round(1), curves.privacy.epsilon
        (array([33.8, 55.6, 77.8, 80.3]), array([ 2.2,  2.2,  8.4, 19.7]), 2.0)
        """
        check_grid_of_numbers("grid", grid)
        for name, curve in (("negatives", negatives), ("positives", positives)):
            _check.instance(name, curve, CDF, "must be a CDF")
            if curve.grid.size != grid.size + 1 or curve.n != negatives.n:
                given = (curve.grid.size, curve.n)
                raise ParameterError(
                    name, given, f"must have {grid.size + 1} cells, and the n of the other"
                )
        if Noises(negatives.releases).meet(positives.releases):
            raise ParameterError("positives", positives, "must be another release than negatives")
        size, n = grid.size, negatives.n
        first, last = negatives.counts[:size], n - positives.counts[:size][::-1]
        deviations = negatives.noise_deviation[:size], positives.noise_deviation[:size][::-1]
        middle = (first[-1] + last[0]) / 2
        spread = np.hypot(deviations[0][-1], deviations[1][0]) / 2
        joint = CDF(
            grid=numbered(2 * size),
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
            releases=(*negatives.releases, *positives.releases),
            knots=_knots_of_both(negatives, positives),
        )
        return cls(grid, joint)

    def __repr__(self) -> str:
        return line(
            "ScoreCurves", f"n = {self.n}, {cost(self.privacy)}, {amount(self.grid.size, 'cell')}"
        )

    @property
    def n(self) -> int:
        """The number of records: public, or, in streams and if clients may lack some, released."""
        if not self.has_empty:
            return self.joint.n
        return max(1, round(float(self.negatives[-1] + self.positives[-1])))

    @property
    def has_empty(self) -> bool:
        """Whether a cell after the N-th counts the records that clients do not have."""
        return self.joint.grid.size > 2 * self.grid.size

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the release."""
        return self.joint.privacy

    @property
    def thresholds(self) -> NDArray[np.float64]:
        """(N,) the thresholds, read-only."""
        return self.grid.thresholds

    @property
    def negatives(self) -> NDArray[np.float64]:
        """(N,) the number of negatives with a score up to each threshold. The last is the total."""
        return self.classes(self.joint.counts)[0]

    @property
    def positives(self) -> NDArray[np.float64]:
        """(N,) the number of positives with a score up to each threshold. The last is the total."""
        return self.classes(self.joint.counts)[1]

    def classes(self, joint: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the negatives and the positives of other joint counts, (..., 2 N): each (..., N).

        The last of them is the number of records.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> grid, exact = dp.Grid([0.25, 0.5, 0.75, 1.0]), dp.mechanisms.NoNoise()
        >>> curves = dp.score_curves([0, 0, 1, 0, 1], [0.1, 0.3, 0.6, 0.7, 0.9], grid, exact)
        >>> negatives, positives = curves.classes(curves.joint.counts)
        >>> negatives, positives
        (array([1., 2., 3., 3.]), array([0., 0., 1., 2.]))
        """
        counts = _check.array("joint", joint, "iuf")
        if counts.shape[-1:] != (self.joint.grid.size,):
            what = f"must have {self.joint.grid.size} on its last axis"
            raise ParameterError("joint", counts.shape, what)
        negatives, others = counts[..., : self.grid.size], counts[..., self._before_positives]
        total = counts[..., -1:].astype(np.float64)
        return negatives.astype(np.float64), total - others.astype(np.float64)

    @property
    def deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Standard deviations of the noise in ``negatives`` and in ``positives``, each (N,).

        If n is noisy, those in ``positives`` are bounds, for any correlation with that noise.
        """
        joint = self.joint.noise_deviation
        return joint[: self.grid.size], joint[self._before_positives] + joint[-1]

    @property
    def known(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the errors in ``negatives`` and in ``positives`` are noise alone, each (N,)."""
        joint = at_knots(self.joint.knots, self.joint.grid.size)
        return joint[: self.grid.size], joint[self._before_positives]

    @property
    def _before_positives(self) -> slice:
        """The places where the joint curve counts all but the positives up to each threshold."""
        last = self.joint.grid.size - 2
        stop = last - self.grid.size
        return slice(last, stop if stop >= 0 else None, -1)

    def _columns(self) -> Mapping[str, Any]:
        negatives, positives = self.deviations
        return {
            "threshold": self.thresholds,
            "negatives": self.negatives,
            "positives": self.positives,
            "negatives_deviation": negatives,
            "positives_deviation": positives,
        }

    def _choices(self) -> Mapping[str, Any]:
        return {"grid": self.grid, "n": self.n, "mechanism": self.joint.mechanism}

    def isotonic(self) -> ScoreCurves:
        """Return the nearest curves in least squares that are monotone with totals within n.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid([0.25, 0.5, 0.75, 1.0])
        >>> y_true, y_score = [0, 0, 1, 0, 1] * 40, [0.1, 0.3, 0.6, 0.7, 0.9] * 40
        >>> raw = dp.score_curves(y_true, y_score, grid, epsilon=1.0, isotonic=False, rng=rng)
        >>> raw.negatives, raw.isotonic().negatives
        (array([ 33.5,  75. , 117.5, 116. ]), array([ 33.5 ,  75.  , 116.75, 116.75]))
        """
        return replace(self, joint=self.joint.isotonic())

    def smooth(
        self, norm: Norm = 2, *, solver: Solver = "graph", tolerance: float = 1e-6
    ) -> ScoreCurves:
        """Return the monotone curves that the least noise on the mechanism's tree explains.

        As ``CDF.smooth``, for both classes at once.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng, grid = np.random.default_rng(1), dp.Grid([0.25, 0.5, 0.75, 1.0])
        >>> y_true, y_score = [0, 0, 1, 0, 1] * 400, [0.1, 0.3, 0.6, 0.7, 0.9] * 400
        >>> curves = dp.score_curves(y_true, y_score, grid, dp.mechanisms.Dyadic(1.0), rng=rng)
        >>> curves.smooth().negatives.round(1), curves.smooth().positives.round(1)
        (array([ 389.,  793., 1199., 1199.]), array([  4. ,   4. , 409.5, 801. ]))
        """
        return replace(self, joint=self.joint.smooth(norm, solver=solver, tolerance=tolerance))


def numbered(size: int) -> Grid:
    """Return a grid with the thresholds 1, ..., size, whose cells are numbered."""
    return Grid.integers(1, size)


def _knots_of_both(negatives: CDF, positives: CDF) -> NDArray[np.int64] | None:
    """Return the knots of the joint curve of two classes that were released separately."""
    if negatives.knots is None and positives.knots is None:
        return None
    size = negatives.grid.size - 1
    first, last = (at_knots(curve.knots, size + 1)[:size] for curve in (negatives, positives))
    both = np.concatenate([first[:-1], [first[-1] and last[-1]], last[-2::-1], [True]])
    return np.flatnonzero(both)
