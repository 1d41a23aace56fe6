"""Adaptive local curves: a first round of clients decides which cells the other clients report."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves.cdf import CDF
from ..curves.combination import are_one_release, combine
from ..curves.provenance import EFFECTIVE_N
from ..errors import ParameterError
from ..summaries.grid import Grid
from .models.local import Local
from .models.unary import UnaryEncoding

__all__ = ["adapted_cdf", "adapted_grid"]

_DEVIATIONS: Final = 4.5  # of the second round's estimate of a cell: what a cell to divide has


def adapted_grid(first: CDF, trust: Local) -> Grid:
    """Return the cells for a second round of clients, after a first round of other clients.

    Cells in which the first curve has few records are joined: noise would hide what is in them.

    Parameters
    ----------
    first
        The curve of the first round's clients, a fifth of all, over N >= 2 cells.
    trust
        The trust model of the second round.

    Returns
    -------
    Grid
        At least 2 of the thresholds of ``first``, with the last one. It is post-processing, which
        costs nothing, and is public.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or clients of ``trust`` have several records.

    Notes
    -----
    All cells are halved, and the halves again, while they have a share of the first curve above 4.5
    deviations of the noise of a single cell's share in the second round. After AHEAD: Du, Zhang,
    Wang, Chen, Zhou & Wu, *AHEAD: Adaptive Hierarchical Decomposition for Range Query under Local
    Differential Privacy* (CCS 2021), in two rounds; docs/proofs/local.md, section 7. O(N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.trust import Local, adapted_grid
    >>> rng, grid = np.random.default_rng(3), dp.Grid.uniform(0, 1, 1024)
    >>> first = dp.cdf(rng.beta(2, 5, 20_000), grid, Local(1.0, 20_000), rng=rng)
    >>> adapted_grid(first, Local(1.0, 80_000))
    <Grid of 76 thresholds from 0.03125 to 1>
    """
    _check.instance("first", first, CDF, "must be a curve (CDF)")
    _check.instance("trust", trust, Local, "must be Local")
    grid = first.grid
    if grid.size < 2:
        raise ParameterError("first", grid, "must be over 2 cells or more")
    if trust.records != 1:
        raise ParameterError("trust", trust.records, "must be for one record of each client")
    share = math.sqrt(UnaryEncoding(trust.epsilon).variance(trust.clients)) / trust.clients
    below = np.append(0.0, _monotone(first).counts / first.n)
    ends = _ends(below, _DEVIATIONS * share) - 1
    lower = None if math.isinf(grid.start) else grid.lower
    return Grid(grid.thresholds[ends], lower=lower, unit=grid.unit)


def adapted_cdf(first: CDF, second: CDF) -> CDF:
    """Return one curve of both rounds, over the first round's grid.

    Parameters
    ----------
    first
        The curve of the first round's clients.
    second
        The curve of the second round's clients, over ``adapted_grid(first, trust)``. No client is
        in both rounds, and chance alone decides who is in which.

    Returns
    -------
    CDF
        At the thresholds of the second curve, its ``knots``: the mean of both curves, with weights
        inverse to the mean variances of their noise. Between them it is straight, and
        ``noise_deviation`` is an estimate, as if all records of a joined cell were at one place.
        The curve is monotone if both are. ``privacy`` is that of parallel composition, as in
        ``dpcore.combine``.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above; thresholds of the second curve are not of the first; the noise
        of a curve is not known; or the curves cannot be combined.

    Notes
    -----
    It is post-processing. docs/proofs/local.md, section 7, measures the errors. O(N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> from dpcore.trust import Local, adapted_cdf, adapted_grid
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1, 1024)
    >>> values = rng.beta(2, 5, 100_000)
    >>> one, two = Local(1.0, 20_000), Local(1.0, 80_000)
    >>> first = dp.cdf(values[:20_000], grid, one, rng=rng)
    >>> second = dp.cdf(values[20_000:], adapted_grid(first, two), two, rng=rng)
    >>> curve = adapted_cdf(first, second)
    >>> curve.n, round(curve.quantile(0.5), 2), curve.privacy.epsilon
    (100000, 0.26, 1.0)
    """
    for name, curve in (("first", first), ("second", second)):
        _check.instance(name, curve, CDF, "must be a curve (CDF)")
    grid = first.grid
    ends = np.searchsorted(grid.positions, second.grid.positions)
    if (
        grid.unit != second.grid.unit
        or not np.array_equal(np.append(grid.positions, np.inf)[ends], second.grid.positions)
        or ends[-1] != grid.size - 1
    ):
        what = "must be over some of the first curve's thresholds, with the last one"
        raise ParameterError("second", second.grid, what)
    if are_one_release(first, second):
        raise ParameterError("second", second, "must be a release of its own")
    released = first.as_released()
    coarse = replace(
        released,
        grid=second.grid,
        counts=released.counts[ends],
        noise_deviation=released.noise_deviation[ends],
        knots=None,
    )
    precisions = _precision("first", coarse), _precision("second", second)
    joined = combine([coarse, second.as_released()], precisions)
    share = precisions[0] / sum(precisions)
    deviation = _with_chance(joined, coarse.n, second.n, share)
    # With that, intervals for a population have all n records.
    described = {name: of for name, of in joined.mechanism.items() if name != EFFECTIVE_N}
    joined = replace(joined, noise_deviation=deviation, mechanism=described)
    curve = replace(_over(grid, ends, joined), integers=first.integers)
    if not first.processing == second.processing == ("isotonic()",):
        return curve
    # Wide cells do not weigh more: lines through a monotone curve had the smaller errors.
    counts = _lines(ends, joined.isotonic().counts)
    return replace(curve, counts=counts, raw=curve.counts, processing=("isotonic()",))


def _monotone(curve: CDF) -> CDF:
    return curve if curve.is_monotone else curve.isotonic()


def _ends(below: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """Return where joined cells end, ascending: they have at most the share ``least``, or are one.

    ``below`` has the share below each of N + 1 edges. All cells together are halved in any case.
    """
    size = below.size - 1
    starts, ends = np.array([0, (size + 1) // 2]), np.array([(size + 1) // 2, size])
    whole = []
    while starts.size:
        divided = (below[ends] - below[starts] > least) & (ends - starts > 1)
        whole.append(ends[~divided])
        starts, ends = starts[divided], ends[divided]
        middles = (starts + ends + 1) // 2
        starts, ends = np.concatenate([starts, middles]), np.concatenate([middles, ends])
    return np.sort(np.concatenate(whole))


def _precision(name: str, curve: CDF) -> float:
    """Return the inverse of the mean variance of the noise of F."""
    variance = float(np.mean(curve.noise_deviation**2)) / curve.n**2
    if not 0.0 < variance < math.inf:
        raise ParameterError(name, variance, "must have noise whose deviation is known")
    return 1.0 / variance


def _with_chance(joined: CDF, first: int, second: int, share: float) -> NDArray[np.float64]:
    """Return the deviations, with that by chance of who is in which round, (K,).

    With the curves' numbers of records as weights, there would be none of the latter.
    """
    of_records = np.clip(_monotone(joined).counts / joined.n, 0.0, 1.0)
    of_records *= (1.0 - of_records) * (1.0 / first + 1.0 / second)
    off = share * joined.n - first
    return np.hypot(joined.noise_deviation, off * np.sqrt(of_records))


def _over(grid: Grid, ends: NDArray[np.int64], joined: CDF) -> CDF:
    """Return the curve over the finer grid, with straight lines between its knots."""
    variances = _lines(ends, joined.noise_deviation**2)
    steps, widths = np.arange(1, grid.size + 1), np.diff(ends, prepend=-1)
    cell = np.searchsorted(ends, steps - 1)
    part = 1.0 - (ends[cell] + 1 - steps) / widths[cell]
    masses = np.diff(_monotone(joined).counts, prepend=0.0)
    variances += masses[cell] ** 2 * part * (1.0 - part)  # all at one place, anywhere in the cell
    return replace(
        joined,
        grid=grid,
        counts=_lines(ends, joined.counts),
        noise_deviation=np.sqrt(variances),
        knots=ends,
    )


def _lines(ends: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.float64]:
    """Return straight lines between the values at the ends, from 0 on, (N,)."""
    steps = np.arange(1, ends[-1] + 2)
    return np.asarray(np.interp(steps, np.append(0, ends + 1), np.append(0.0, values)))
