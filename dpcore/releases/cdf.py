"""Release the curve of some records: check the arguments, count, spend, and add the noise."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._documentation import documented
from ..curves.cdf import CDF
from ..curves.groups import GroupedCDF
from ..curves.likely_mistakes import warn_of_curve, warn_of_groups
from ..curves.rows import CurveRows, Kind
from ..errors import ParameterError
from ..mechanisms import Mechanism
from ..mechanisms.base import check_mechanism
from ..noise.sources import source
from ..planning.most_accurate import most_accurate
from ..privacy.allowance import Allowance, refuse_beside_mechanism
from ..privacy.guarantees import Neighbours, Privacy, of_clients, of_public_size, within_group
from ..privacy.spending import spending
from ..records.column import Column
from ..records.labels import Label
from ..summaries.grid import Grid, check_grid
from ..summaries.group_counts import (
    check_number_of_groups,
    counts_of_groups,
    labels_of,
    public_groups,
)
from ..summaries.totals import NanPolicy

__all__ = [
    "OfGroups",
    "asked",
    "cdf",
    "cdf_from_counts",
    "checked",
    "of_each",
    "raw_release",
    "raw_rows",
    "refuse_one_row_only",
    "taken",
]

OfGroups = Literal["add-or-remove-one", "replace-one-within-group"]


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
    neighbours: OfGroups | None = ...,
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
    neighbours: Neighbours | OfGroups | None = None,
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
        (n,) labels of the records, all of one kind. The function then releases one curve for each
        label in ``groups``. A record whose label is not in ``groups`` is not counted. If both are
        columns of pandas, ``by`` must have the index of ``values``.
    groups
        The labels of the groups. They are public, so they must not come from the data. None: the
        categories of ``by``, if ``by`` is a polars Enum; its list of categories must be public as
        well. The categories of a pandas column are not used, because ``astype("category")`` takes
        them from the data. Labels are compared as Python compares them, so 1, 1.0 and True are one
        label. Each record counts in one group at most.
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours}
        With groups, None means "add-or-remove-one". Each record is in one group, so all curves
        together cost as much as one curve, and the sizes of the groups are released with noise.
        The other choice with groups is "replace-one-within-group": the group of each record is
        fixed, and the size of each group is public and is published exactly. A mechanism for
        "replace-one" gives this guarantee, too. A budget for "replace-one" refuses it.
    isotonic
        {isotonic}
    rng
        {rng}
    nan_policy
        {nan_policy}
    integers
        {integers}
        None: what the grid says, as ``Grid.integers`` does, or else the type of the column, if it
        is a typed schema of integers, booleans or dates: an array of NumPy, Arrow or Dask, or a
        polars series. Lists and pandas columns say nothing, because their types follow from the
        records (docs/guides/quantiles.md). If nothing is said, values may lie anywhere in their
        cells.
    weights
        {weights}

    Returns
    -------
    CDF or GroupedCDF
        The curve is monotone unless ``isotonic`` is False. Under add-or-remove-one, ``n`` is the
        released number of records. With groups, the result is a mapping from labels to curves.

    Warns
    -----
    DpcoreWarning
        The noise is too large for the grid, or nearly all of the released count is at the ends of
        the grid, or a group may have no records (docs/guides/roc.md, section 4).

    Raises
    ------
    DtypeError, ParameterError, MissingValueError
        An argument is invalid. Errors are raised before any noise is drawn.

    Notes
    -----
    The cost is O(n + N) for uniform grids, with N to 2 N noise draws; with groups, this is the cost
    of each group. The proof for groups is in docs/proofs/privacy.md, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> ages = np.random.default_rng(1).normal(40, 12, 5000)
    >>> curve = dp.cdf(ages, dp.Grid.uniform(0, 120, 120), epsilon=1.0)
    >>> curve.quantile([0.25, 0.5, 0.75]).round(-1)
    array([30., 40., 50.])
    >>> print(curve.privacy)
    epsilon = 1 (replace-one)
    """
    _check.unweighted("weights", weights)
    by_groups = by is not None or groups is not None
    own: Any = neighbours if mechanism is not None else of_each(neighbours, by_groups)
    check_grid("grid", grid)
    chosen = checked(grid, asked(mechanism, epsilon, rho, own, delta), isotonic, rng)
    column = Column.of(values, "values")
    integers = column.stated(integers, by_grid=grid.of_integers)
    if by_groups:
        if by is None:
            raise ParameterError(
                "by", None, "must be the labels of the records if groups are given"
            )
        of_records = Column.of(by, "by")
        labels = public_groups(of_records, groups)
        counts = counts_of_groups(column, of_records, grid, labels, nan_policy=nan_policy)
        given = labels, grid, chosen, rng, integers, column.name
        return _release_groups(counts, *given, isotonic=isotonic)
    counts = grid.count(column, nan_policy=nan_policy)
    curve = _release("values", "cdf", counts, grid, chosen, rng, integers, column.name)
    warn_of_curve(curve)
    return curve.isotonic() if isotonic else curve


@overload
def cdf_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | None = ...,
    *,
    groups: None = ...,
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: Neighbours | None = ...,
    delta: float | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    integers: bool | None = ...,
) -> CDF: ...


@overload
def cdf_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | None = ...,
    *,
    groups: Sequence[Label],
    epsilon: float | Fraction | None = ...,
    rho: float | Fraction | None = ...,
    neighbours: OfGroups | None = ...,
    delta: float | None = ...,
    isotonic: bool = ...,
    rng: np.random.Generator | None = ...,
    integers: bool | None = ...,
) -> GroupedCDF: ...


@documented
def cdf_from_counts(
    counts: NDArray[np.integer[Any]],
    grid: Grid,
    mechanism: Mechanism | None = None,
    *,
    groups: Sequence[Label] | None = None,
    epsilon: float | Fraction | None = None,
    rho: float | Fraction | None = None,
    neighbours: Neighbours | OfGroups | None = None,
    delta: float | None = None,
    isotonic: bool = True,
    rng: np.random.Generator | None = None,
    integers: bool | None = None,
) -> CDF | GroupedCDF:
    """Release the empirical distribution function of records that are already counted.

    Use this for data in chunks or in several files: add up ``grid.count(chunk)`` over the chunks
    and release once. Every record must be counted exactly once.

    Parameters
    ----------
    counts
        (N,) integers, 0 or more: how many records are in each cell of the grid; with groups (G, N),
        a row for each group, for counts from a database or from other programs.
    grid
        {thresholds}
    mechanism
        {mechanism}
    groups
        (G,) public labels, as in ``cdf``. They state that no record is in two rows, so that all
        curves together cost as much as one.
    epsilon, rho, delta
        {budget}
    neighbours
        {neighbours} With groups, as in ``cdf``.
    isotonic
        {isotonic}
    rng
        {rng}
    integers
        {integers}
        None: what the grid says, as ``Grid.integers`` does; otherwise values may lie anywhere in
        their cells. Counts do not know the type of a column, so state it here or by the grid.

    Raises
    ------
    DtypeError, ParameterError
        As in ``cdf``; also if ``counts`` are not N integers that are 0 or more.

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
    check_grid("grid", grid)
    own: Any = neighbours if mechanism is not None else of_each(neighbours, groups is not None)
    chosen = checked(grid, asked(mechanism, epsilon, rho, own, delta), isotonic, rng)
    if groups is not None:
        labels = labels_of(groups)
        check_number_of_groups(len(labels), grid.size)
        exact = _check.counts("counts", counts, (len(labels), grid.size))
        given = labels, grid, chosen, rng, integers, None
        return _release_groups(exact, *given, isotonic=isotonic, what="cdf_from_counts")
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
    """Release the raw curve of ``cdf_from_counts``, for callers with their own checks and warnings.

    ``what`` is the name of the function that a budget records.
    """
    exact = _check.counts("counts", counts, (grid.size,))
    return _release("counts", what, exact, grid, mechanism, rng, integers)


def asked(
    mechanism: Mechanism | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours | None,
    delta: float | None,
) -> Mechanism | Allowance:
    """Return the mechanism that is given; without one, what the default one may spend."""
    if mechanism is None:
        relation = "replace-one" if neighbours is None else neighbours
        return Allowance.checked(epsilon, rho, relation, delta)
    check_mechanism("mechanism", mechanism)
    refuse_beside_mechanism(epsilon=epsilon, rho=rho, neighbours=neighbours, delta=delta)
    return mechanism


def checked(
    grid: Grid,
    spender: Mechanism | Allowance,
    isotonic: object,
    rng: np.random.Generator | None,
    default: Callable[..., Mechanism] = most_accurate,
) -> Callable[[int], Mechanism]:
    """Check all that does not depend on the records; return a function from n to the mechanism.

    Parameters
    ----------
    grid, isotonic, rng
        As in ``cdf``.
    spender
        From ``asked``.
    default
        Takes the arguments of ``most_accurate``, and returns the mechanism for an allowance.
    """
    _check.flag("isotonic", isotonic)
    source(rng)
    if isinstance(spender, Allowance):
        default(grid.size, spender)  # refuses a budget too small for this grid
        return partial(default, grid.size, spender)
    if of_clients(spender.privacy.neighbours):
        what = "must protect single records: for whole clients, use trust.client_cdf"
        raise ParameterError("mechanism", spender.privacy.neighbours, what)
    spender.noise_deviation(grid.size)  # refuses a budget too small for this grid
    return taken(spender)


def of_each(neighbours: object, by_groups: bool) -> Neighbours | None:
    """Return the relation of a single curve; with groups, of the curve of each group alone."""
    if not by_groups:
        if isinstance(neighbours, str) and neighbours == "replace-one-within-group":
            raise ParameterError("neighbours", neighbours, "is for curves by groups: give by")
        return neighbours  # type: ignore[return-value]  # it is checked later
    if neighbours is None:
        return "add-or-remove-one"
    if isinstance(neighbours, str) and neighbours == "replace-one":
        what = (
            "must not be 'replace-one' with groups, because a replaced record may change its group:"
            " write 'add-or-remove-one' to protect the sizes of groups, or "
            "'replace-one-within-group' if they are public"
        )
        raise ParameterError("neighbours", neighbours, what)
    _check.choice("neighbours", neighbours, OfGroups)
    return "add-or-remove-one" if neighbours == "add-or-remove-one" else "replace-one"


def refuse_one_row_only(mechanism: object, why: str) -> None:
    """Refuse a mechanism that assumes that neighbouring cells hold neighbouring values."""
    if isinstance(mechanism, Mechanism) and mechanism.one_row_only:
        what = f"must not treat all cells as one row, because {why}: use Local instead"
        raise ParameterError("mechanism", type(mechanism).__name__, what)


def check_description(mechanism: Mechanism, grid: Grid) -> None:
    """Refuse a mechanism that describes itself wrongly, before it spends anything."""
    deviation = np.asarray(mechanism.noise_deviation(grid.size), np.float64)
    ones = np.ones(grid.size, np.int64)
    CDF(grid, ones, 1, mechanism.privacy_for(grid.size), mechanism.describe(), deviation)


def taken(mechanism: Mechanism) -> Callable[[int | None], Mechanism]:
    """Return a function that gives this mechanism for any number of records."""
    return lambda _: mechanism


def _release_groups(
    counts: NDArray[np.int64],
    groups: Sequence[Label],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None,
    name: str | None,
    *,
    isotonic: bool,
    what: str = "cdf",
) -> GroupedCDF:
    curves = raw_rows(counts, groups, grid, chosen, rng, integers, name, what=what)
    warn_of_groups(groups, curves)
    return GroupedCDF(tuple(groups), curves.isotonic() if isotonic else curves)


def raw_rows(
    counts: NDArray[np.int64],
    groups: Sequence[Label],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None = None,
    name: str | None = None,
    *,
    what: str,
) -> CurveRows:
    """Release the raw curve of each group, from (G, N) counts; draw nothing if one is refused."""
    totals = counts.sum(axis=1)
    mechanisms, kind_of = _mechanisms_of(totals, chosen)
    # Groups share no records, so this is the cost of all curves together.
    costs = [within_group(mechanism.privacy_for(grid.size)) for mechanism in mechanisms]
    privacy = reduce(operator.or_, costs)
    for mechanism in mechanisms:
        check_description(mechanism, grid)
    if of_public_size(privacy.neighbours) and not totals.all():
        group = groups[int(np.argmin(totals))]
        wrong = f"must have at least one record: {privacy.neighbours} publishes sizes of groups"
        raise ParameterError("groups", group, wrong)

    def check() -> None:
        for total, kind in zip(totals.tolist(), kind_of.tolist(), strict=True):
            mechanisms[kind]._check_total(total, grid.size)

    simulated = rng is not None
    of_all = replace(privacy, simulated=privacy.simulated or simulated)
    released: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.float64]]] = []
    knots: list[NDArray[np.int64] | None] = []
    with spending(of_all, what, check):
        for kind, mechanism in enumerate(mechanisms):
            own = np.flatnonzero(kind_of == kind)
            noisy, deviations, between = mechanism.release_rows(counts[own], rng=rng)
            released.append((own, noisy, deviations))
            knots.extend(between)
    are_floats = any(rows.dtype.kind == "f" for _, rows, _ in released)
    noisy = np.empty(counts.shape, np.float64 if are_floats else np.int64)
    deviation_of = np.empty(totals.size, np.int64)
    start = 0
    for own, rows, deviations in released:
        noisy[own] = rows
        deviation_of[own] = start + np.arange(own.size) % len(deviations)
        start += len(deviations)
    # As in ``_release``.
    n = totals
    if not of_public_size(privacy.neighbours):
        n = np.maximum(1, np.rint(noisy[:, -1].astype(np.float64))).astype(np.int64)
    noisy[:, -1] = n
    kinds = tuple(
        Kind(replace(cost, simulated=cost.simulated or simulated), mechanism.describe())
        for cost, mechanism in zip(costs, mechanisms, strict=True)
    )
    every = np.concatenate([deviations for *_, deviations in released]).astype(np.float64)
    return CurveRows(
        grid,
        noisy,
        n,
        kinds,
        kind_of,
        every,
        deviation_of,
        integers=integers,
        name=name,
        knots=tuple(knots),
    )


def _mechanisms_of(
    totals: NDArray[np.int64], chosen: Callable[[int], Mechanism]
) -> tuple[list[Mechanism], NDArray[np.int64]]:
    """Return the different mechanisms for groups of these sizes, and (G,) which one each takes."""
    first = chosen(int(totals[0]))
    if not of_public_size(first.privacy.neighbours):  # then the choice does not use sizes
        return [first], np.zeros(totals.size, np.int64)
    mechanisms: list[Mechanism] = []
    sizes, at = np.unique(totals, return_inverse=True)
    kinds = np.empty(sizes.size, np.int64)
    for i, size in enumerate(sizes.tolist()):
        own = chosen(size)
        if own not in mechanisms:
            mechanisms.append(own)
        kinds[i] = mechanisms.index(own)
    return mechanisms, kinds[at]


def _release(
    argument: str,
    what: str,
    counts: NDArray[np.int64],
    grid: Grid,
    chosen: Callable[[int], Mechanism],
    rng: np.random.Generator | None,
    integers: bool | None,
    name: str | None = None,
    cost: Privacy | None = None,
) -> CDF:
    mechanism = chosen(int(counts.sum()))  # n is public, or the choice does not use it
    privacy = mechanism.privacy_for(grid.size) if cost is None else cost
    public = of_public_size(privacy.neighbours)
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
    CDF(counts=np.ones(grid.size, np.int64), n=1, **described)  # as in ``check_description``
    check = partial(mechanism._check_total, int(counts.sum()), grid.size)
    with spending(described["privacy"], what, check):
        released, deviation, knots = mechanism.release_with_deviation(counts, rng=rng)
    released = released.astype(np.float64 if released.dtype.kind == "f" else np.int64, copy=False)
    # If n is public, the last count is n, but the sum of floating-point counts has rounding
    # errors. Under add-or-remove-one, the last count is noisy like the others.
    released[-1] = counts.sum() if public else max(1, round(float(released[-1])))
    own = {"counts": released, "n": int(released[-1]), "noise_deviation": deviation}
    return CDF(**described | own, knots=knots)
