"""Private quantiles: the exponential mechanism draws a threshold for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from .._documentation import documented
from .._sealed import sealed
from ..curves import forms
from ..curves.shapes import float_or_array
from ..curves.shown import cost, line, short
from ..curves.stored import Stored
from ..errors import DtypeError, ParameterError
from ..kernels.selection import selection
from ..mechanisms.base import cell_counts, checked_size
from ..mechanisms.selection import exponential_mechanism
from ..noise.sources import source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy, double_above
from ..privacy.spending import releasing
from ..summaries.grid import Grid, check_grid
from ..summaries.totals import NanPolicy

__all__ = ["Quantiles", "check_quantiles", "quantiles", "quantiles_from_counts"]

_PARTS = 4  # p n is rounded to a multiple of 1 / _PARTS, so p n is exact for quartiles


@sealed
@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Quantiles(Stored):
    """Released quantiles. Made by ``quantiles``.

    Parameters
    ----------
    probabilities
        (m,) the probabilities as given; a float if one number was given.
    values
        (m,) thresholds of the grid, one for each probability. They never cross: a larger
        probability never has a smaller value. A float, or a time, if one number was given.
    n
        The public number of records.
    privacy
        The cost of all quantiles together.
    epsilon_each
        The cost of each quantile.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> ages, grid = rng.normal(40, 12, 5000), dp.Grid.uniform(0, 120, 120)
    >>> dp.quantiles(ages, [0.25, 0.75], grid, epsilon=1.0, rng=rng)
    <Quantiles: 0.25: 32, 0.75: 48, n = 5000, epsilon = 1, SIMULATED>
    """

    _kind = "dpcore.quantiles"

    probabilities: NDArray[np.float64] | float = field(metadata=forms.NUMBERS)
    values: Any = field(metadata=forms.like("probabilities"))
    n: int = field(metadata=forms.WHOLE)
    privacy: Privacy = field(metadata=forms.PRIVACY)
    epsilon_each: float = field(metadata=forms.NUMBER)

    def __post_init__(self) -> None:
        _check.instance("privacy", self.privacy, Privacy, "must be a Privacy")
        _check.integer("n", self.n, 0, 2**63 - 1)
        _check.held("epsilon_each", self.epsilon_each)
        shape = np.shape(_check.array("probabilities", self.probabilities, "iuf"))
        _check.held("probabilities", self.probabilities, shape)
        _check.held("values", self.values, shape, "iufmM")
        if not 0.0 < self.epsilon_each <= (self.privacy.epsilon or 0.0):
            what = "must be positive, and at most that of all quantiles"
            raise ParameterError("epsilon_each", self.epsilon_each, what)
        shares, values = np.ravel(self.probabilities), np.ravel(self.values)
        if not np.all((shares >= 0.0) & (shares <= 1.0)):
            raise ParameterError("probabilities", self.probabilities, "must be within [0, 1]")
        ascending = values[np.lexsort((values, shares))]
        if not (np.isfinite(values).all() and np.all(ascending[:-1] <= ascending[1:])):
            raise ParameterError("values", self.values, "must be finite, and must not cross")

    def __repr__(self) -> str:
        pairs = zip(np.ravel(self.probabilities), np.ravel(self.values), strict=True)
        texts = [f"{p:g}: {short(value)}" for p, value in pairs]
        known = f"n = {self.n}, {cost(self.privacy)}"
        return line(
            "Quantiles",
            f"{', '.join(texts)}, {known}",
            f"{', '.join(texts[:2])}, ..., {known}",
            f"{len(texts)} of them, {known}",
        )


@documented
def quantiles(
    values: Any,
    probabilities: ArrayLike,
    grid: Grid,
    *,
    epsilon: float | Fraction,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    weights: None = None,
) -> Quantiles:
    """Release quantiles of some records with differential privacy.

    Parameters
    ----------
    values
        {values}
    probabilities
        (m,) numbers within [0, 1], m >= 1, in any order; or one number.
    grid
        The thresholds from which the quantiles are chosen. They are public, so they must not come
        from the data.
    epsilon
        The budget of all quantiles together, a positive number (a Fraction is taken exactly). Each
        quantile gets an equal share. Neighbours: "replace-one", so n is public.
    rng
        {rng}
    nan_policy
        {nan_policy}
    weights
        {weights}

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before anything is drawn.

    Notes
    -----
    This is Algorithm 2 of Smith, *Privacy-preserving statistical estimation with optimal
    convergence rates* (2011), on a grid. The score of threshold tau_i is -|F_i - p n|, where F_i is
    the number of records up to tau_i. The threshold is drawn with a probability proportional to
    exp(epsilon score / (2 m)). Thresholds of equal score, for example in gaps of the data, are
    equally likely. docs/proofs/selection.md says how many ranks off the result may be. p n is
    rounded to a quarter of a record. The cost is O(n + m N) for uniform grids.

    Results are thresholds. So a record that equals ``grid.lower`` counts as the first threshold,
    and whole numbers need ``Grid.integers``, whose first threshold is ``lower``.

    If you need many quantiles, or the curve as well, use ``dpcore.cdf(...).quantile(p)``: its cost
    in privacy does not depend on the number of quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> found = quantiles(ages, [0.25, 0.5, 0.75], Grid.uniform(0, 120, 120), epsilon=1.0)
    >>> found.values.round(-1), round(found.epsilon_each, 3)
    (array([30., 40., 50.]), 0.333)
    >>> round(quantiles(ages, 0.5, Grid.uniform(0, 120, 120), epsilon=1.0).values, -1)
    40.0
    """
    _check.unweighted("weights", weights)
    asked, budget = check_quantiles(probabilities, grid, epsilon, rng)
    return _release(grid.count(values, nan_policy=nan_policy), asked, grid, budget, rng)


def quantiles_from_counts(
    counts: NDArray[np.integer[Any]],
    probabilities: ArrayLike,
    grid: Grid,
    *,
    epsilon: float | Fraction,
    rng: np.random.Generator | None = None,
) -> Quantiles:
    """Release quantiles of records that are already counted.

    Parameters
    ----------
    counts
        (N,) integers, 0 or more: how many records are in each cell of the grid. Every record must
        be counted exactly once.
    probabilities, grid, epsilon, rng
        As in ``quantiles``.

    Raises
    ------
    DtypeError, ParameterError
        As in ``quantiles``; also if ``counts`` are not N integers that are 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Grid
    >>> rng, grid = np.random.default_rng(1), Grid.uniform(0, 120, 120)
    >>> counts = sum(grid.count(rng.normal(40, 12, 1000)) for chunk in range(5))
    >>> quantiles_from_counts(counts, [0.5], grid, epsilon=1.0, rng=rng).values
    array([40.])
    """
    asked, budget = check_quantiles(probabilities, grid, epsilon, rng)
    exact = cell_counts(counts)
    if exact.size != grid.size:
        raise ParameterError("counts", exact.shape, f"must have shape ({grid.size},)")
    return _release(exact, asked, grid, budget, rng)


def check_quantiles(
    probabilities: ArrayLike,
    grid: Grid,
    epsilon: float | Fraction,
    rng: np.random.Generator | None,
) -> tuple[NDArray[np.float64], Allowance]:
    """Check all that does not depend on the records, and return probabilities and budget."""
    if isinstance(probabilities, Grid):
        what = "must be numbers within [0, 1], given before the grid"
        raise DtypeError("probabilities", "Grid", what)
    check_grid("grid", grid)
    asked = _check.probabilities("probabilities", probabilities)
    if asked.ndim > 1 or asked.size < 1:
        what = "must be a number, or one-dimensional and not empty"
        raise ParameterError("probabilities", asked.shape, what)
    budget = Allowance.checked(epsilon, None, "replace-one")
    budget.law(2 * _PARTS * asked.size)  # refuses an epsilon that is too small for m quantiles
    source(rng)
    return asked, budget


def _release(
    counts: NDArray[np.int64],
    asked: NDArray[np.float64],
    grid: Grid,
    budget: Allowance,
    rng: np.random.Generator | None,
) -> Quantiles:
    n = checked_size("values", int(counts.sum()))
    assert budget.epsilon is not None
    epsilon_each = budget.epsilon / asked.size
    shape, asked = asked.shape, np.ravel(asked)
    scores = np.empty(grid.size, np.int64)
    chosen = np.empty(asked.size, np.int64)
    with releasing(budget.privacy, "quantiles", rng) as privacy:
        for i, p in enumerate(asked.tolist()):
            selection.rank_scores(counts, round(_PARTS * n * Fraction(p)), scores)
            chosen[i] = exponential_mechanism(
                scores, epsilon=epsilon_each, sensitivity=_PARTS, rng=rng
            )
    places = np.empty(asked.size)
    places[np.argsort(asked)] = grid.positions[np.sort(chosen)]
    values = float_or_array(grid.shown(places.reshape(shape)))
    shares: Any = float_or_array(asked.reshape(shape))
    return Quantiles(shares, values, n, privacy, double_above(epsilon_each))
