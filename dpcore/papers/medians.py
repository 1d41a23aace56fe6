"""Private thresholds at the median of the data, at the medians of the halves, and so on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..errors import MissingValueError, ParameterError
from ..kernels.selection import medians as kernels
from ..mechanisms.base import MOST_RECORDS, cell_counts
from ..mechanisms.hierarchy import Hierarchy
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy
from ..privacy.spending import releasing
from ..records.column import Column
from ..summaries.grid import Grid, check_grid_of_numbers
from ..summaries.totals import NanPolicy
from .median_finders import FINDERS, Method, Records

__all__ = ["RecursiveMedians", "recursive_medians", "smooth_sensitivity"]

_MOST_DEPTH: Final = 24
_LEAST_STEP: Final = Fraction(1, 2**16)


@dataclass(frozen=True, slots=True)
class RecursiveMedians:
    """Thresholds that halve the records, then each half, and so on: s-RecursiveMedians.

    The method is Algorithm 2 of Chen, Machanavajjhala, Reiter & Barrientos, *Differentially Private
    Regression Diagnostics* (the regression-diagnostics paper), for the thresholds of a ROC curve.
    It splits every interval at a private median of its records. A level costs epsilon / depth,
    whatever its number of intervals. Neighbours: one record is replaced.

    Parameters
    ----------
    epsilon
        The joint cost of all levels: a positive number (a Fraction is taken exactly).
    depth
        The number of levels, 1 to 24. There are up to 2^depth - 1 thresholds.
    method
        How a median is found. "exponential": by the exponential mechanism. "smooth": by Cauchy
        noise for its smooth sensitivity, with the least scale. "paper": the same with the
        published constants. "curve": from one private curve, which costs all of epsilon.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or epsilon is too small. For "smooth" and "paper" it must be at
        least depth / 2^15.

    Notes
    -----
    docs/proofs/selection.md, section 12, has the proofs, and the reason for the default: the error
    of a median is about 2 depth / epsilon records by "exponential", and about
    3 (depth / epsilon)^2 by "smooth".

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.papers.medians import RecursiveMedians
    >>> counts = np.array([3000, 900, 100, 1000, 1000, 1000, 1000, 0])
    >>> RecursiveMedians(epsilon=100.0, depth=2).choose(counts)
    array([0, 2, 4, 7])
    """

    epsilon: float | Fraction
    depth: int = 10
    method: Method = "exponential"

    def __post_init__(self) -> None:
        budget = self._budget()
        object.__setattr__(self, "depth", _check.integer("depth", self.depth, 1, _MOST_DEPTH))
        _check.choice("method", self.method, Method)
        if self.method == "exponential":
            budget.law(4, Fraction(1, 2 * self.depth))  # refuses the same budgets as the selection
        elif self.method != "curve" and self._step() < _LEAST_STEP:
            raise ParameterError(
                "epsilon",
                float(self.epsilon),
                f"is too small: it must be at least depth / 2^15 = {self.depth / 2**15:g}",
            )

    def _budget(self) -> Allowance:
        return Allowance.checked(self.epsilon, None, "replace-one")

    def _step(self) -> Fraction:
        """Return the epsilon of an interval for add-or-remove-one; for "curve", all of epsilon."""
        epsilon = self._budget().epsilon
        assert epsilon is not None
        return epsilon if self.method == "curve" else epsilon / (2 * self.depth)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all thresholds together, with random bits from a secure source."""
        return self._budget().privacy

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them."""
        return {
            "name": "recursive-medians",
            **self._budget().describe(),
            "depth": self.depth,
            "method": self.method,
        }

    def check(self, size: int) -> None:
        """Raise ParameterError if epsilon is too small for a grid of ``size`` cells."""
        if self.method == "curve":
            Hierarchy(self._step()).tree(size)

    def choose(
        self, counts: NDArray[np.integer[Any]], *, rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Return the cells after which the row of cells is split.

        Parameters
        ----------
        counts
            (N,) integers, the exact counts of the cells, from ``Grid.count``.
        rng
            None for a release: random bits from a cryptographic source. A generator is for studies.

        Returns
        -------
        numpy.ndarray
            (K,) int64, increasing, K <= 2^depth: indices of thresholds. The last one is N - 1.
            Every interval of two or more cells is split, even if it has no records.

        Raises
        ------
        DtypeError, ParameterError
            counts is not a non-empty array of integers that are 0 or more, their public sum is
            above 2^46, or another argument is not as above.
        """
        exact = cell_counts(counts)
        total = float(exact.sum(dtype=np.float64))  # 64-bit integers could wrap around
        if total > MOST_RECORDS:
            raise ParameterError("counts", total, f"must sum to at most {MOST_RECORDS}")
        self.check(exact.size)
        source(rng)
        with releasing(self.privacy, "RecursiveMedians.choose", rng):
            return self._chosen(exact, rng)

    def _chosen(
        self, exact: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        median = FINDERS[self.method](Records.of(exact), self._step(), rng)
        nodes, chosen = [(0, exact.size)], [exact.size - 1]
        for _ in range(self.depth):
            halves = []
            for start, stop in nodes:
                if stop - start > 1:
                    at = median(start, stop) if stop - start > 2 else start
                    chosen.append(at)
                    halves += [(start, at + 1), (at + 1, stop)]
            nodes = halves
        return np.sort(np.array(chosen, np.int64))


@documented
def recursive_medians(
    values: Any,
    grid: Grid,
    *,
    epsilon: float | Fraction,
    depth: int = 10,
    method: Method = "exponential",
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
) -> tuple[Grid, Privacy]:
    """Choose thresholds privately, with about equally many records between them.

    Parameters
    ----------
    values
        (n,) the records, one real number each, as ``Grid.count`` takes them.
    grid
        The thresholds to choose from. They are public, so they must not come from the data.
    epsilon, depth, method
        As in ``RecursiveMedians``.
    rng
        None for a release: random bits from a cryptographic source. A NumPy generator is for
        studies: ``simulated`` is then set. Integer seeds are refused.
    nan_policy
        {nan_policy}

    Returns
    -------
    chosen : Grid
        Up to 2^depth of the thresholds, including the last threshold of the grid. There are fewer
        where the grid has too few cells to halve an interval further.
    privacy : Privacy
        The cost of the thresholds. Releases from the same records on these thresholds add to it.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above. The error comes before anything is drawn.

    Notes
    -----
    It takes O(n) for uniform grids, and then O(depth N): 10^6 scores take a fraction of a second.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.papers.medians import recursive_medians
    >>> rng, fine = np.random.default_rng(1), dp.Grid.uniform(0, 1, 2**10)
    >>> scores = rng.beta(2, 40, 10_000)
    >>> grid, privacy = recursive_medians(scores, fine, epsilon=1.0, depth=2, rng=rng)
    >>> grid.positions.round(2), grid.count(scores)
    (array([0.02, 0.04, 0.06, 1.  ]), array([2466, 2504, 2517, 2513]))
    """
    chooser = RecursiveMedians(epsilon, depth, method)
    check_grid_of_numbers("grid", grid)
    chooser.check(grid.size)
    source(rng)
    counts = grid.count(values, nan_policy=nan_policy)
    with releasing(chooser.privacy, "recursive_medians", rng) as privacy:
        chosen = Grid(grid.positions[chooser.choose(counts, rng=rng)])
    return chosen, privacy


def smooth_sensitivity(values: Any, lower: float, upper: float, *, beta: float) -> float:
    """Return the smooth sensitivity of the median on [lower, upper], for replacing one record.

    The result is private. Use it to scale noise, and do not publish it.

    Parameters
    ----------
    values
        (n,) real numbers, clipped to the bounds. The median is the ceil(n / 2)-th smallest value,
        or ``lower`` if there are no values.
    lower, upper
        Public bounds.
    beta
        A number above 0. The result changes by a factor of at most exp(beta) between neighbours.

    Returns
    -------
    float
        The largest exp(-beta k) (x_{m+t} - x_{m+t-k-1}) over k >= 0 and 0 <= t <= k + 1, accurate
        to some parts in 10^13. The bounds take the place of records beyond the first and the last.

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is not as above, or a value is NaN.

    Notes
    -----
    Nissim, Raskhodnikova & Smith, *Smooth sensitivity and sampling in private data analysis*
    (2007), Proposition 3.4. It takes O(n log n).

    Examples
    --------
    >>> smooth_sensitivity([2.0, 3.0, 7.0], 0.0, 10.0, beta=0.1)
    7.4081822068171785
    """
    low, high = _check.bounds(lower, upper)
    if not math.isfinite(high - low):
        raise ParameterError("upper", upper, f"is too far from lower, {lower!r}, for doubles")
    beta = _check.positive("beta", beta)
    array = Column.of(values).joined()
    if np.isnan(array).any():
        raise MissingValueError("values")
    ordered = np.sort(np.clip(array.astype(np.float64), low, high))
    middle = (ordered.size + 1) // 2
    padded = np.concatenate([[low], ordered, [high]])
    return float(kernels.discounted_gap(padded[middle::-1].copy(), padded[middle:], beta))
