"""One curve from several curves, of disjoint records (sites, updates) or of the same records."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Privacy, of_clients, of_public_size
from ..summaries.grid import Grid
from .cdf import CDF
from .event_row import EventRow, added_up, check_alike
from .provenance import EFFECTIVE_N, Noises, effective_n

__all__ = ["are_one_release", "average", "combine"]

_Events = TypeVar("_Events", bound=EventRow)

_LARGEST: Final = 2**63 - 1
_ROUNDING: Final = 1e-9
_LIST: Final = "must be a list of curves (CDF): write [first, second]"
_ISOTONIC: Final = ("isotonic()",)


@overload
def combine(
    curves: Iterable[CDF] | Mapping[Any, CDF], weights: Iterable[float] | None = None
) -> CDF: ...


@overload
def combine(curves: Iterable[_Events] | Mapping[Any, _Events], weights: None = None) -> _Events: ...


def combine(
    curves: Iterable[Any] | Mapping[Any, Any], weights: Iterable[float] | None = None
) -> Any:
    """Return one curve of several curves of disjoint sets of records.

    The sets are the records of several sites, say, or old and new records.

    Parameters
    ----------
    curves
        S >= 1 curves over the same grid, each with noise of its own. Each is raw or keeps its raw
        counts, and the raw counts are combined. No record is in two of the curves, and it is public
        which records are in which curve. If the curves are about clients ("replace-client"), no
        client is in two of them. A mapping, such as ``GroupedCDF``, stands for its curves. Or
        curves of durations, ``Survival`` or ``CumulativeIncidence``.
    weights
        (S,) positive weights of the curves F_s in the mean. They must not depend on records. None:
        the numbers of records n_s, so that the mean is the curve of all records together.

    Returns
    -------
    CDF, Survival or CumulativeIncidence
        F = sum w_s F_s / sum w_s, with n = sum n_s records. The curve is made monotone by
        ``isotonic`` if all of the curves were, as those of ``dpcore.cdf`` are. Otherwise it is raw.
        With default weights the counts add up, and int64 counts stay int64. ``privacy`` is that of
        parallel composition, the largest of the guarantees; replace-one becomes
        "replace-one-within-group", as a record stays in its set. ``mechanism`` keeps what all
        descriptions share, the number of parts, and with other weights the ``effective_n``, as
        large a sample of a population as F is worth. The records are ``integers`` if the records of
        all parts are. Of the grids, the result has the one that begins first. Neither depends on
        the order of the curves. Of curves of durations, the rows are combined.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, weights are given for curves of durations, a curve does not
        keep its raw counts, or the guarantees have no common form (``Privacy``).

    Notes
    -----
    See docs/guides/several-curves.md. O(S N). Variances add up, so ``noise_deviation`` stays in
    closed form. Errors that are estimated are taken as independent. With default weights, combining
    curves step by step gives the same bits as combining them at once. (Curves about clients have to
    be combined at once if different numbers of a client's records count.)

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1000, 64)
    >>> sites = [dp.cdf(np.arange(s, 1000), grid, epsilon=1.0, rng=rng) for s in (0, 100, 400)]
    >>> curve = dp.combine(sites)
    >>> curve.n, curve.quantile(0.5), curve.privacy.epsilon
    (2500, 587.0, 1.0)
    """
    every = curves.values() if isinstance(curves, Mapping) else curves
    listed = _check.in_order("curves", every, _LIST)
    if listed and isinstance(listed[0], EventRow):
        return _of_durations(listed, weights)
    given = _curves(listed)
    parts = [curve.as_released() for curve in given]
    privacy = reduce(operator.or_, [part.privacy for part in parts])
    if weights is None:
        _check_contributions(parts, reported_alone=True)
    n = sum(part.n for part in parts)
    if weights is None:
        factors, shares = [1.0] * len(parts), [part.n / n for part in parts]
        counts = _sum(part.counts for part in parts)
    else:
        shares = _shares(weights, len(parts))
        factors = [share * (n / part.n) for share, part in zip(shares, parts, strict=True)]
        counts = _sum(c * part.counts for c, part in zip(factors, parts, strict=True))
    # Sampling errors are those of disjoint records: their variances add up.
    draws = 1.0 / math.fsum(w**2 / size for w, size in zip(shares, _effective(parts), strict=True))
    return _as(given, _combined(parts, "parts", factors, counts, n, privacy, draws))


def average(curves: Iterable[CDF], weights: Iterable[float] | None = None) -> CDF:
    """Return one curve of several releases of the same records, with less noise than each.

    Parameters
    ----------
    curves
        S >= 1 curves over the same grid, as in ``combine``, but of the same records. If clients
        have any number of records, the same number of them has to count in all curves.
    weights
        (S,) positive weights of the curves in the mean. They must not depend on records. None: the
        inverses of the mean variances of their noise.

    Returns
    -------
    CDF
        Monotone or raw as in ``combine``, with the same n. Under add-or-remove-one, n is the mean
        of the released numbers, rounded. ``privacy`` is the sum of the guarantees. The releases
        have spent it already; averaging costs nothing. ``mechanism`` keeps what all descriptions
        share, and the number of releases.

    Raises
    ------
    DtypeError, ParameterError
        As in ``combine``. Or the curves have different public n. Or weights are None, and the noise
        of some curve is not known.

    Notes
    -----
    See docs/guides/several-curves.md. O(S N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1000, 20)
    >>> twice = [dp.cdf(range(1000), grid, epsilon=0.5, isotonic=False, rng=rng) for _ in range(2)]
    >>> both = dp.average(twice)
    >>> [round(float(curve.noise_deviation[:-1].max()), 1) for curve in (*twice, both)]
    [12.6, 12.6, 8.9]
    >>> round(both.quantile(0.5)), both.privacy.epsilon
    (502, 1.0)
    """
    given = _curves(curves)
    releases = [curve.as_released() for curve in given]
    privacy = reduce(operator.add, [release.privacy for release in releases])
    n, public = releases[0].n, of_public_size(privacy.neighbours)
    _check_contributions(releases)
    for release in releases:
        if public and release.n != n:
            what = "must have the same n: average is for the same records, combine for others"
            raise ParameterError("curves", (n, release.n), what)
    shares = _precisions(releases) if weights is None else _shares(weights, len(releases))
    counts = _sum(w * release.counts for w, release in zip(shares, releases, strict=True))
    if not public:  # the number of records is noisy, too
        n = max(1, round(float(counts[-1])))
    # Sampling errors are those of the same records: their deviations add up at most.
    parts = [size / one.n for size, one in zip(_effective(releases), releases, strict=True)]
    draws = n * math.fsum(w / math.sqrt(part) for w, part in zip(shares, parts, strict=True)) ** -2
    return _as(given, _combined(releases, "releases", shares, counts, n, privacy, draws))


def _of_durations(curves: list[Any], weights: object) -> EventRow:
    if weights is not None:
        what = "must be None: curves of durations have the counts of all records"
        raise ParameterError("weights", weights, what)
    check_alike(curves)
    summed: EventRow = added_up(curves, combine([curve.row for curve in curves]))
    return summed


def _check_contributions(curves: Sequence[CDF], *, reported_alone: bool = False) -> None:
    """Check that curves about clients count the same of each client's records.

    A local report is about one of the records that count, "1 of 4". With ``reported_alone``, only
    that matters, and numbers of records may differ otherwise: each curve counts the records of its
    own clients, and counts add up.
    """
    if not of_clients(curves[0].privacy.neighbours):
        return
    counted = set()
    for curve in curves:
        records = curve.mechanism.get("records")
        if records is None:
            what = "must say how many records of a client count: combine them all at once"
            raise ParameterError("curves", curve.mechanism["name"], what)
        counted.add("all" if reported_alone and isinstance(records, int) else records)
    if len(counted) > 1:
        bounds = [curve.mechanism["records"] for curve in curves]
        what = "must all count the same number of records of a client"
        raise ParameterError("curves", bounds, what)


def are_one_release(first: CDF, second: CDF) -> bool:
    """Return whether both have noise of one release: copies, processed curves, or parts of sums."""
    if first is second or Noises(first.releases).meet(second.releases):
        return True
    ours, theirs = (one.counts if one.raw is None else one.raw for one in (first, second))
    return np.shares_memory(ours, theirs)  # those of groups are rows of one array


def _curves(curves: object) -> list[CDF]:
    """Return the curves, all over one grid and with raw counts, or raise."""
    if isinstance(curves, Mapping):
        what = "must be a list of curves of the same records: use combine for curves of groups"
        raise DtypeError("curves", type(curves).__name__, what)
    listed = _check.in_order("curves", curves, _LIST)
    if not listed:
        raise ParameterError("curves", listed, "must hold at least one curve")
    known = Noises()
    unnamed: list[CDF] = []  # simulated
    for curve in listed:
        if not isinstance(curve, CDF):
            raise DtypeError("curves", f"a {type(curve).__name__}", "must all be curves (CDF)")
        if curve.processing and curve.raw is None:
            what = "must be raw, or keep raw counts: make the result monotone, not its parts"
            raise ParameterError("curves", curve.processing, what)
        if curve.grid != listed[0].grid:
            raise ParameterError("curves", curve.grid, f"must all be over {listed[0].grid}")
        if known.meet(curve.releases) or any(are_one_release(curve, other) for other in unnamed):
            raise ParameterError("curves", curve, "must each be a release of its own")
        known.add(curve.releases)
        if not curve.releases:
            unnamed.append(curve)
    return listed


def _as(given: Sequence[CDF], made: CDF) -> CDF:
    """Return the curve that was made of raw counts, made monotone if all given curves were."""
    return made.isotonic() if all(curve.processing == _ISOTONIC for curve in given) else made


def _shares(weights: object, size: int) -> list[float]:
    """Return the weights divided by their sum, all above 0, or raise."""
    listed = _check.in_order("weights", weights, "must hold numbers")
    checked = [_check.positive("weights", weight) for weight in listed]
    if len(checked) != size:
        raise ParameterError("weights", checked, f"must be {size}, one for each curve")
    parts = [weight / max(checked) for weight in checked]  # the sum cannot overflow
    shares = [part / math.fsum(parts) for part in parts]
    if min(shares) == 0.0:
        raise ParameterError("weights", checked, "must not be negligible relative to the others")
    return shares


def _effective(parts: Sequence[CDF]) -> list[float]:
    """Return how many draws of a population have the sampling error of each curve."""
    return [effective_n(part.mechanism, part.n) for part in parts]


def _precisions(releases: Sequence[CDF]) -> list[float]:
    """Return inverses of mean variances, divided by their sum; all to releases without noise."""
    deviations = [float(np.sqrt(np.mean(release.noise_deviation**2))) for release in releases]
    if not all(map(math.isfinite, deviations)):
        raise ParameterError(
            "weights", None, "must be given: the noise of some curve is not known in closed form"
        )
    least = min(deviations)
    parts = [1.0 if deviation == least else (least / deviation) ** 2 for deviation in deviations]
    return [part / math.fsum(parts) for part in parts]


def _sum(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the sum, in the order of the arrays; int64 if all arrays are."""
    total: NDArray[Any] = np.zeros(1, np.int64)
    most = 0
    for array in arrays:
        total = total + array
        if total.dtype == np.int64:
            most += max(int(array.max()), -int(array.min()))
            if most > _LARGEST:
                raise ParameterError("curves", most, f"must have counts of up to {_LARGEST} in all")
    return total


def _combined(
    curves: Sequence[CDF],
    counted: str,
    factors: Sequence[float],
    counts: NDArray[Any],
    n: int,
    privacy: Privacy,
    draws: float,
) -> CDF:
    """Return the curve with these counts, which are the sum of factor times counts over curves.

    Its sampling error is that of so many draws, which is stated if they are fewer than n.
    """
    counts[-1] = n  # the floating-point sum may differ from n by rounding
    described = _described([curve.mechanism for curve in curves], counted)
    described.pop(EFFECTIVE_N, None)
    if draws < n * (1.0 - _ROUNDING):
        described[EFFECTIVE_N] = draws
    deviations = (c * curve.noise_deviation for c, curve in zip(factors, curves, strict=True))
    grid = _widest([curve.grid for curve in curves])
    return CDF(
        grid=grid,
        counts=counts,
        n=n,
        privacy=privacy,
        mechanism=described,
        noise_deviation=reduce(np.hypot, deviations),
        integers=_are_integers(curves, grid),
        name=curves[0].name if len({curve.name for curve in curves}) == 1 else None,
        releases=tuple(sorted({one for curve in curves for one in curve.releases})),
        knots=_common_knots([curve.knots for curve in curves]),
    )


def _common_knots(of_each: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    stated = [knots for knots in of_each if knots is not None]
    return reduce(np.intersect1d, stated) if stated else None


def _widest(grids: Sequence[Grid]) -> Grid:
    """Return the grid whose first cell begins first, of grids with equal thresholds.

    They may differ in ``lower`` and in what they state: ``Grid.integers(0, 4)`` and
    ``Grid(range(5))``. The result does not depend on their order.
    """
    return min(grids, key=lambda grid: (grid.start, grid.of_integers))


def _are_integers(curves: Sequence[CDF], grid: Grid) -> bool | None:
    """Return whether the records of all curves are whole numbers; None if that is not stated.

    ``grid`` is that of the result. A statement of it is not repeated.
    """
    said = {curve.integers for curve in curves}
    if False in said:
        return False
    whole = all(curve.integers or curve.grid.of_integers for curve in curves)
    return True if whole and (said != {None} or not grid.of_integers) else None


def _described(
    descriptions: Sequence[Mapping[str, str | int | float]], counted: str
) -> dict[str, str | int | float]:
    """Return what mechanisms of one name share, and the number of curves, parts of parts included.

    The base of Dyadic's noise tree stays: a sum of such trees is one, with summed noise.
    """
    shared = dict(descriptions[0])
    for other in descriptions:
        shared = {key: value for key, value in shared.items() if other.get(key) == value}
    if "name" not in shared:
        shared = {"name": "combination"}
    numbers = [other.get(counted, 1) for other in descriptions]
    return {**shared, counted: sum(number for number in numbers if isinstance(number, int))}
