"""One curve from several: of disjoint records (sites, updates), or of the same ones again."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Privacy
from .cdf import CDF

__all__ = ["average", "combine"]

_LARGEST: Final = 2**63 - 1
_ISOTONIC: Final = ("isotonic()",)


def combine(
    curves: Iterable[CDF] | Mapping[Any, CDF], weights: Iterable[float] | None = None
) -> CDF:
    """Return one curve from those of disjoint sets of records: of sites, or of old and new records.

    Parameters
    ----------
    curves
        S >= 1 curves over the same grid, each with noise of its own, raw or with the raw counts
        kept: those are combined. No record is in two of them, and which records are in which is
        public. Where they are about clients ("replace-client"), no client is in two of them. Of a
        mapping, as ``GroupedCDF`` is, its curves.
    weights
        (S,) positive, of each curve F_s in the mean; they must not depend on records. None: the
        numbers of records n_s, which makes the mean the curve of all records together.

    Returns
    -------
    CDF
        Made monotone by ``isotonic`` if all of the curves were, as those of ``dpcore.cdf``; else
        raw. Of n = sum n_s records: F = sum w_s F_s / sum w_s. With default weights the counts
        add up, and int64 ones stay so. ``privacy`` is that of parallel composition, the largest of
        the guarantees. ``mechanism`` keeps what all descriptions share, and counts the parts. The
        records are ``integers`` if those of all parts are.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, a curve does not keep its raw counts, or the guarantees have no
        common form (``Privacy``).

    Notes
    -----
    docs/combination.md. O(S N). Variances add up: ``noise_deviation`` stays in closed form, and
    what is estimated is taken as independent. With default weights, step by step gives the same
    bits as all at once (curves about clients with
    other numbers of records that count have to be combined at once).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1000, 64)
    >>> sites = [dp.cdf(range(s, 1000), grid, epsilon=1.0, rng=rng) for s in (0, 100, 400)]
    >>> curve = dp.combine(sites)
    >>> curve.n, curve.quantile(0.5), curve.privacy.epsilon
    (2500, 587.0, 1.0)
    """
    given = _curves(curves.values() if isinstance(curves, Mapping) else curves)
    parts = [each.as_released() for each in given]
    privacy = reduce(operator.or_, [part.privacy for part in parts])
    if weights is None:
        _check_contributions(parts, reported_alone=True)
    n = sum(part.n for part in parts)
    if weights is None:
        factors = [1.0] * len(parts)
        counts = _sum(part.counts for part in parts)
    else:
        shares = _shares(weights, len(parts))
        factors = [share * (n / part.n) for share, part in zip(shares, parts, strict=True)]
        counts = _sum(c * part.counts for c, part in zip(factors, parts, strict=True))
    return _as(given, _combined(parts, "parts", factors, counts, n, privacy))


def average(curves: Iterable[CDF], weights: Iterable[float] | None = None) -> CDF:
    """Return one curve from several releases of the same records, with less noise than each.

    Parameters
    ----------
    curves
        S >= 1 curves over the same grid, as in ``combine``, but of the same records.
        Where clients have any number of records, the same number has to count.
    weights
        (S,) positive, of each curve in the mean; they must not depend on records. None: the
        inverses of the mean variances of their noise.

    Returns
    -------
    CDF
        Monotone or raw as in ``combine``, of the same n; under add-or-remove-one n is the mean of
        the released ones, rounded. ``privacy`` is the sum of the guarantees, and has been spent
        before: averaging is free. ``mechanism`` keeps what all descriptions share, and counts the
        releases.

    Raises
    ------
    DtypeError, ParameterError
        As in ``combine``; the curves have different public n; or weights are None, and the noise
        of some curve is not known.

    Notes
    -----
    docs/combination.md. O(S N).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng, grid = np.random.default_rng(1), dp.Grid.uniform(0, 1000, 20)
    >>> twice = [dp.cdf(range(1000), grid, epsilon=0.5, isotonic=False, rng=rng) for _ in range(2)]
    >>> both = dp.average(twice)
    >>> [round(float(curve.noise_deviation[:-1].max()), 1) for curve in (*twice, both)]
    [12.6, 12.6, 8.9]
    >>> both.quantile(0.5), both.privacy.epsilon
    (503.0, 1.0)
    """
    given = _curves(curves)
    releases = [each.as_released() for each in given]
    privacy = reduce(operator.add, [release.privacy for release in releases])
    n, public = releases[0].n, privacy.neighbours == "replace-one"
    _check_contributions(releases)
    for release in releases:
        if public and release.n != n:
            what = "must have the same n, being of the same records (of disjoint ones: combine)"
            raise ParameterError("curves", (n, release.n), what)
    shares = _precisions(releases) if weights is None else _shares(weights, len(releases))
    counts = _sum(w * release.counts for w, release in zip(shares, releases, strict=True))
    if not public:  # the number of records is a release like the others
        n = max(1, round(float(counts[-1])))
    return _as(given, _combined(releases, "releases", shares, counts, n, privacy))


def _check_contributions(curves: Sequence[CDF], *, reported_alone: bool = False) -> None:
    """Check that curves about clients count the same of each client's records.

    A local report is about one of those that count, "1 of 4". If that alone matters, numbers may
    differ: each says how many records of its own clients are counted, and counts add up.
    """
    if curves[0].privacy.neighbours != "replace-client":
        return
    counted = set()
    for curve in curves:
        records = curve.mechanism.get("records")
        if records is None:
            what = "must say how many records of a client count: combine them all at once"
            raise ParameterError("curves", curve.mechanism["name"], what)
        counted.add("all" if reported_alone and isinstance(records, int) else records)
    if len(counted) > 1:
        found = [curve.mechanism["records"] for curve in curves]
        what = "must all count the same number of records of a client"
        raise ParameterError("curves", found, what)


def _curves(curves: object) -> list[CDF]:
    """Return the curves, all over one grid and with raw counts, or raise."""
    if isinstance(curves, Mapping):
        what = "must be a list of curves of the same records; curves of groups are for combine"
        raise DtypeError("curves", type(curves).__name__, what)
    what = "must be a list of curves (CDF): write [first, second]"
    listed = _check.items("curves", curves, what)
    if not listed:
        raise ParameterError("curves", listed, "must hold at least one curve")
    for at, curve in enumerate(listed):
        if not isinstance(curve, CDF):
            raise DtypeError("curves", f"a {type(curve).__name__}", "must all be curves (CDF)")
        if curve.processing and curve.raw is None:
            what = "must be raw, or keep their raw counts: make the result monotone, not its parts"
            raise ParameterError("curves", curve.processing, what)
        if curve.grid != listed[0].grid:
            raise ParameterError("curves", curve.grid, f"must all be over {listed[0].grid}")
        if any(curve is other for other in listed[:at]):  # its noise would count as independent
            raise ParameterError("curves", curve, "must each be a release of its own")
    return listed


def _as(given: Sequence[CDF], made: CDF) -> CDF:
    """Return the curve that is made of raw counts, monotone if all that were given are."""
    return made.isotonic() if all(each.processing == _ISOTONIC for each in given) else made


def _shares(weights: object, size: int) -> list[float]:
    """Return weights over their sum, all above 0, or raise."""
    listed = _check.items("weights", weights, "must hold numbers")
    checked = [_check.positive("weights", weight) for weight in listed]
    if len(checked) != size:
        raise ParameterError("weights", checked, f"must be {size}, one for each curve")
    parts = [weight / max(checked) for weight in checked]  # the sum cannot overflow
    shares = [part / math.fsum(parts) for part in parts]
    if min(shares) == 0.0:
        raise ParameterError("weights", checked, "must not vanish beside each other")
    return shares


def _precisions(releases: Sequence[CDF]) -> list[float]:
    """Return inverses of mean variances over their sum; what has no noise at all takes it all."""
    deviations = [float(np.sqrt(np.mean(each.noise_deviation**2))) for each in releases]
    if not all(map(math.isfinite, deviations)):
        raise ParameterError(
            "weights", None, "must be given: the noise of some curve is not known in closed form"
        )
    least = min(deviations)
    parts = [1.0 if each == least else (least / each) ** 2 for each in deviations]
    return [part / math.fsum(parts) for part in parts]


def _sum(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return the sum, added up from the first to the last; int64 if all are."""
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
) -> CDF:
    """Return the curve with these counts, the sum of the curves' counts times the factors."""
    counts[-1] = n  # which floating-point numbers add up to but for rounding
    deviations = (c * curve.noise_deviation for c, curve in zip(factors, curves, strict=True))
    return CDF(
        grid=curves[0].grid,
        counts=counts,
        n=n,
        privacy=privacy,
        mechanism=_described([curve.mechanism for curve in curves], counted),
        noise_deviation=reduce(np.hypot, deviations),
        integers=_are_integers(curves),
        name=curves[0].name if len({curve.name for curve in curves}) == 1 else None,
    )


def _are_integers(curves: Sequence[CDF]) -> bool | None:
    """Return whether the records of all curves are whole numbers; None if none says so or not."""
    said = [curve.integers for curve in curves]
    if said.count(None) == len(said):
        return None
    of_grid = curves[0].grid.is_of_integers() if None in said else False
    return all(of_grid if each is None else each for each in said)


def _described(
    descriptions: Sequence[Mapping[str, str | int | float]], counted: str
) -> dict[str, str | int | float]:
    """Return what mechanisms of one name share, and how many curves there are, parts of parts too.

    The base of Dyadic's noise tree stays: a sum of such trees is one, with summed noise.
    """
    shared = dict(descriptions[0])
    for other in descriptions:
        shared = {key: value for key, value in shared.items() if other.get(key) == value}
    if "name" not in shared:
        shared = {"name": "combination"}
    numbers = [other.get(counted, 1) for other in descriptions]
    return {**shared, counted: sum(each for each in numbers if isinstance(each, int))}
