"""From records to a released curve: what is checked, what is spent, and on what."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.cdf import CDF
from ..curves.groups import GroupedCDF
from ..curves.likely_mistakes import warn_of_curve
from ..errors import DtypeError, ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.base import check_mechanism, release_with_deviation
from ..noise.sources import source
from ..privacy.guarantees import Neighbours
from ..privacy.spending import spending
from ..records.integers import are_integers
from ..records.labels import Label
from ..records.names import name_of
from ..summaries.grid import Grid, check_grid
from ..summaries.group_counts import group_counts, public_groups
from ..summaries.totals import NanPolicy
from .most_accurate import most_accurate

__all__ = [
    "cdf",
    "cdf_from_counts",
    "checked",
    "raw_release",
    "refuse_one_row_only",
    "taken",
]


@overload
def cdf(
    values: Any,
    grid: Grid,
    mechanism: Mechanism | None = ...,
    *,
    by: None = ...,
    groups: None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: Neighbours | None = ...,
    delta: float | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
    integers: bool | None = ...,
    weights: None = ...,
) -> CDF: ...


@overload
def cdf(
    values: Any,
    grid: Grid,
    mechanism: Mechanism | None = ...,
    *,
    by: Any,
    groups: Sequence[Label] | None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: Neighbours | None = ...,
    delta: float | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    nan_policy: NanPolicy = ...,
    integers: bool | None = ...,
    weights: None = ...,
) -> GroupedCDF: ...


@documented
def cdf(
    values: Any,
    grid: Grid,
    mechanism: Mechanism | None = None,
    *,
    by: Any = None,
    groups: Sequence[Label] | None = None,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    nan_policy: NanPolicy = "raise",
    integers: bool | None = None,
    weights: None = None,
) -> CDF | GroupedCDF:
    """Release the empirical distribution function of some records with differential privacy.

    Parameters
    ----------
    values
        {values}
    grid
        {thresholds}
    mechanism
        {mechanism}
    by
        (n,) labels of the records, all of one kind, for a curve of each group: ``groups``. A record
        with a label that is none of these counts nowhere.
    groups
        The labels of the groups, which are public, so they must not come from the data. None: the
        categories of ``by``, if it is a polars Enum, whose list must be public as well. Those of
        pandas' categorical columns are not taken: ``astype("category")`` makes them from the data.
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
        By groups, None means "add-or-remove-one": a record is in one group, so all curves together
        cost what one does, and sizes of groups are released with noise. "replace-one" then takes
        the group of a record as fixed, and the size of each as public.
    isotonic
        {isotonic}
    rng
        {rng}
    nan_policy
        {nan_policy}
    integers
        Whether the values are whole numbers, and so the quantiles and samples of the curve; None:
        if their dtype is an integer's or a boolean's. On a grid of times, whether they are whole
        days; None: if they are dates. Values are never looked at for this: say True of whole
        numbers that are kept as floats.
    weights
        {weights}

    Returns
    -------
    CDF or GroupedCDF
        Monotone, unless ``isotonic`` is off. Under add-or-remove-one, ``n`` is the released
        number of records. By groups, a mapping from their labels to their curves.

    Warns
    -----
    DpcoreWarning
        The noise is too much for the grid, or nearly all that is released is at the grid's ends
        (docs/scores.md, section 4).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        Whatever is wrong with the arguments, before any noise is drawn.

    Notes
    -----
    O(n + N) for uniform grids, with N to 2 N noise draws. By groups, that for each. The proof for
    groups is in docs/privacy.md, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> curve = dp.cdf(ages, dp.Grid.uniform(0, 120, 120), epsilon=1.0)
    >>> curve.quantile([0.25, 0.5, 0.75]).round(-1)
    array([30., 40., 50.])
    >>> curve.privacy
    Privacy(epsilon=1.0, delta=0.0, neighbours='replace-one', simulated=False)
    """
    _check.unweighted("weights", weights)
    by_groups = by is not None or groups is not None
    if by_groups and mechanism is None and neighbours is None:
        neighbours = "add-or-remove-one"
    chosen = checked(grid, mechanism, epsilon, rho, neighbours, delta, isotonic, rng)
    if by_groups:
        if by is None:
            raise ParameterError(
                "by", None, "must be given beside groups: the labels of the records"
            )
        labels = public_groups(by, groups)
        counts = group_counts(values, by, grid, labels, nan_policy=nan_policy)
    else:
        counts = grid.count(values, nan_policy=nan_policy)
    if integers is None:
        integers = are_integers(values)
    if by_groups:
        curves = _release_groups(counts, labels, grid, chosen, rng, integers, name_of(values))
        for curve in curves:
            warn_of_curve(curve)
        done = (curve.isotonic() if isotonic else curve for curve in curves)
        return GroupedCDF(labels, tuple(done))
    curve = _release("values", "cdf", counts, grid, chosen, rng, integers, name_of(values))
    warn_of_curve(curve)
    return curve.isotonic() if isotonic else curve


@documented
def cdf_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | None = None,
    *,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    integers: bool | None = None,
) -> CDF:
    """Release the empirical distribution function of records that were counted before.

    For data that come in chunks or from several files: add up ``grid.count(chunk)`` and release
    once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (N,) integers, 0 or more: how many records are in each cell of the grid.
    grid
        {thresholds}
    mechanism
        {mechanism}
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
    isotonic
        {isotonic}
    rng
        {rng}
    integers
        Whether the records are whole numbers, and so the quantiles and samples of the curve; None:
        if the thresholds are consecutive whole numbers.

    Raises
    ------
    DtypeError, ParameterError
        As in ``cdf``; or counts are not N integers that are 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 120, 120)
    >>> counts = sum(grid.count(rng.normal(40, 12, 1000)) for chunk in range(5))
    >>> curve = dp.cdf_from_counts(counts, grid, epsilon=1.0, rng=rng)
    >>> curve.n, round(curve.quantile(0.5))
    (5000, 40)
    """
    chosen = checked(grid, mechanism, epsilon, rho, neighbours, delta, isotonic, rng)
    curve = raw_release(counts, grid, chosen, rng, integers, what="cdf_from_counts")
    warn_of_curve(curve)
    return curve.isotonic() if isotonic else curve


def raw_release(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None = None,
    *,
    what: str = "cdf_from_counts",
) -> CDF:
    """Release what ``cdf_from_counts`` does, as it is, for what has its own checks and warnings.

    ``what`` is the function that a budget is told of.
    """
    array = _check.counts("counts", counts)
    if array.shape != (grid.size,):
        raise ParameterError("counts", array.shape, f"must have shape ({grid.size},)")
    return _release("counts", what, array, grid, mechanism, rng, integers)


def checked(
    grid: Grid,
    mechanism: Mechanism | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours | None,
    delta: float | None,
    isotonic: object,
    rng: np.random.Generator | None,
    default: Callable[..., Mechanism] = most_accurate,
) -> Callable[[int], Mechanism]:
    """Check all that does not depend on the records; return what gives the mechanism for n.

    Parameters
    ----------
    grid, mechanism, epsilon, rho, neighbours, delta, isotonic, rng
        As in ``cdf``.
    default
        Takes what ``most_accurate`` does, and returns the mechanism if none is given.
    """
    check_grid("grid", grid)
    if not isinstance(isotonic, bool):
        raise DtypeError("isotonic", type(isotonic).__name__, "must be a bool")
    source(rng)
    if mechanism is None:
        relation = "replace-one" if neighbours is None else neighbours
        default(grid.size, epsilon, rho, relation, delta)  # refuses what is wrong
        return partial(default, grid.size, epsilon, rho, relation, delta)
    check_mechanism("mechanism", mechanism)
    given = {"epsilon": epsilon, "rho": rho, "neighbours": neighbours, "delta": delta}
    for name, value in given.items():
        if value is not None:
            raise ParameterError(name, value, "must not be given beside a mechanism")
    if mechanism.privacy.neighbours == "replace-client":
        what = "must be about records: it takes trust.client_cdf to bound what counts of a client"
        raise ParameterError("mechanism", "replace-client", what)
    mechanism.noise_deviation(grid.size)  # refuses a budget too small for this grid
    return taken(mechanism)


def refuse_one_row_only(mechanism: object, why: str) -> None:
    """Refuse a mechanism that takes all neighbouring cells for neighbouring values."""
    if getattr(mechanism, "one_row_only", False):
        what = f"must not take cells for one row, as {why}: Local does not"
        raise ParameterError("mechanism", type(mechanism).__name__, what)


def taken(mechanism: Mechanism) -> Callable[[int | None], Mechanism]:
    """Return what gives this mechanism for any number of records."""
    return lambda _: mechanism


def _release_groups(
    counts: NDArray[np.int64],
    groups: Sequence[Label],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None,
    name: str | None,
) -> list[CDF]:
    """Release the curve of each group, (G, N) counts; nothing is drawn if one is refused."""
    mechanisms = [chosen(int(own.sum())) for own in counts]
    # All that is spent: no record is in two groups.
    privacy = reduce(operator.or_, (mechanism.privacy for mechanism in mechanisms))
    for own, group in zip(counts, groups, strict=True):
        if privacy.neighbours == "replace-one" and not own.any():
            what = "must have at least one record: with replace-one sizes of groups are public"
            raise ParameterError("groups", group, what)
    with spending(replace(privacy, simulated=privacy.simulated or rng is not None), "cdf"):
        return [
            _release("groups", "cdf", own, grid, taken(mechanism), rng, integers, name)
            for own, mechanism in zip(counts, mechanisms, strict=True)
        ]


def _release(
    argument: str,
    what: str,
    counts: NDArray[np.int64],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None,
    name: str | None = None,
) -> CDF:
    mechanism = chosen(int(counts.sum()))  # n, which is public, or plays no part
    privacy = mechanism.privacy
    public = privacy.neighbours == "replace-one"
    if public and counts.sum() < 1:
        raise ParameterError(argument, 0, "must hold at least one record")
    described: dict[str, Any] = {
        "grid": grid,
        "privacy": replace(privacy, simulated=privacy.simulated or rng is not None),
        "mechanism": mechanism.describe(),
        "noise_deviation": np.asarray(mechanism.noise_deviation(grid.size), np.float64),
        "integers": integers,
        "name": name,
    }
    # What a mechanism says of itself is refused, if it has to be, before it spends.
    CDF(counts=np.ones(grid.size, np.int64), n=1, **described)
    with spending(described["privacy"], what):
        released, described["noise_deviation"] = release_with_deviation(mechanism, counts, rng)
    released = released.astype(np.float64 if released.dtype.kind == "f" else np.int64, copy=False)
    # which floating-point numbers add up to but for rounding; or it is a release like the others
    released[-1] = counts.sum() if public else max(1, round(float(released[-1])))
    return CDF(counts=released, n=int(released[-1]), **described)
