"""Curves on one grid as arrays with a row for each; a curve is made when it is asked for."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._sealed import sealed
from ..errors import ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..privacy.guarantees import Privacy
from ..summaries.grid import Grid
from .cdf import CDF, tree_base
from .confidence import (
    Interval,
    around,
    at_knots,
    band_of,
    deviations_of_noise,
    reached_in_rows,
)
from .inversion import (
    QuantileMethod,
    are_whole,
    cell_ends,
    crossings_of_rows,
    places,
    within_cubic,
    within_rows,
)
from .provenance import fresh_identifier
from .smoothing import Norm, smooth_rows

__all__ = ["CurveRows", "Kind"]

_BLOCK: Final = 2**18  # so many counts at a time keep intermediate arrays small


class Kind(NamedTuple):
    """What curves may have in common: the guarantee, and the description of the mechanism."""

    privacy: Privacy
    mechanism: dict[str, str | int | float]


@sealed
@dataclass(frozen=True, eq=False, slots=True)
class CurveRows(Sequence[CDF]):
    """B released curves on one grid.

    Parameters
    ----------
    grid, processing, integers, name
        As in ``CDF``, of all curves.
    counts, n
        (B, N) cumulative counts and (B,) numbers of records.
    kinds, kind_of
        The kinds, and (B,) the kind of each curve.
    deviations, deviation_of
        (D, N) standard deviations of the noise, and (B,) which row of them is each curve's.
    knots
        D of them, as in ``CDF``; empty: None for all.
    raw
        (B, N), or None, as in ``CDF``.
    releases
        (B,) as in ``CDF``, so that a curve has the same ones whenever it is asked for. Empty: new
        random ones are drawn, unless a release is simulated.
    """

    grid: Grid
    counts: NDArray[Any]
    n: NDArray[np.int64]
    kinds: tuple[Kind, ...]
    kind_of: NDArray[np.int64]
    deviations: NDArray[np.float64]
    deviation_of: NDArray[np.int64]
    processing: tuple[str, ...] = ()
    integers: bool | None = None
    raw: NDArray[Any] | None = None
    name: str | None = None
    releases: tuple[tuple[str, ...], ...] = ()
    knots: tuple[NDArray[np.int64] | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.knots:
            object.__setattr__(self, "knots", (None,) * len(self.deviations))
        if not self.releases and not self.privacy.simulated:
            whole = fresh_identifier()
            own = tuple((f"{whole} {at}",) for at in range(len(self)))
            object.__setattr__(self, "releases", own)

    @classmethod
    def of(cls, curves: Sequence[CDF]) -> CurveRows:
        """Return curves as rows.

        Raises
        ------
        ParameterError
            They differ in their grids, in ``integers``, in their processing or in their names.
        """
        if isinstance(curves, CurveRows):
            return curves
        first = curves[0]
        for curve in curves:
            grid, own = first.grid, curve.grid
            alike = own == grid and own.start == grid.start and own.of_integers == grid.of_integers
            stated = _stated(curve) == _stated(first)
            if not (alike and stated):
                what = "must have one grid, and be processed alike: ask each curve by its group"
                raise ParameterError("curves", "several kinds", what)
        raw = [curve.counts if curve.raw is None else curve.raw for curve in curves]
        at = np.arange(len(curves))
        return cls(
            first.grid,
            np.stack([curve.counts for curve in curves]),
            np.array([curve.n for curve in curves]),
            tuple(Kind(curve.privacy, dict(curve.mechanism)) for curve in curves),
            at,
            np.stack([curve.noise_deviation for curve in curves]),
            at,
            first.processing,
            first.integers,
            None if any(curve.raw is None for curve in curves) else np.stack(raw),
            first.name,
            tuple(curve.releases for curve in curves),
            tuple(curve.knots for curve in curves),
        )

    def __len__(self) -> int:
        return self.n.size

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        i = operator.index(at)
        kind = self.kinds[self.kind_of[i]]
        return CDF(
            self.grid,
            self.counts[i],
            int(self.n[i]),
            kind.privacy,
            kind.mechanism,
            self.deviations[self.deviation_of[i]],
            self.processing,
            self.integers,
            None if self.raw is None else self.raw[i],
            self.name,
            self.releases[i] if self.releases else (),
            self.knots[self.deviation_of[i]],
        )

    @property
    def privacy(self) -> Privacy:
        """The largest guarantee."""
        return reduce(operator.or_, (kind.privacy for kind in self.kinds))

    @property
    def _are_whole(self) -> bool:
        return are_whole(self.grid, self.integers)

    def isotonic(self) -> Self:
        """Return the curves as ``CDF.isotonic`` makes each."""
        if self.processing[-1:] == ("isotonic()",):
            return self
        counts = self.counts.astype(np.float64)
        counts[:, -1] = self.n
        inner = np.ascontiguousarray(counts[:, :-1])
        isotonic(inner, 0.0, math.inf)  # clipping is the same afterwards
        counts[:, :-1] = np.minimum(inner, counts[:, -1:])
        raw = self.raw if self.processing else self.counts
        return replace(self, counts=counts, raw=raw, processing=(*self.processing, "isotonic()"))

    def as_released(self) -> CurveRows:
        """Return the curves as ``CDF.as_released`` returns each."""
        if not self.processing:
            return self
        if self.raw is None:
            raise ParameterError("curve", self.processing, "must be raw, or keep its raw counts")
        return replace(self, counts=self.raw, raw=None, processing=())

    def smooth(self, norm: Norm) -> CurveRows:
        """Return the curves as ``CDF.smooth`` makes each."""
        released = self.as_released()
        bases = np.array([tree_base(kind.mechanism) for kind in self.kinds])[self.kind_of]
        counts = np.repeat(self.n[:, np.newaxis].astype(np.float64), self.grid.size, axis=1)
        for base in np.unique(bases).tolist() if self.grid.size > 1 else ():
            own = bases == base
            noisy = released.counts[own, :-1].astype(np.float64)
            counts[own, :-1] = smooth_rows(noisy, counts[own, -1], base, norm)
        return replace(
            released, counts=counts, raw=released.counts, processing=(f"smooth(norm={norm})",)
        )

    def monotone(self) -> CurveRows:
        """Return the curves, of which those that are not monotone are made so."""
        rises = np.diff(self.counts, axis=1).min(axis=1, initial=0) >= 0
        are_monotone = rises & (self.counts[:, 0] >= 0) & (self.counts[:, -1] <= self.n)
        if are_monotone.all():
            return self
        made = replace(self, processing=()).isotonic()
        counts = np.where(are_monotone[:, np.newaxis], self.counts, made.counts)
        return replace(made, counts=counts)

    def quantile(self, p: NDArray[np.float64], method: QuantileMethod) -> NDArray[Any]:
        """Return quantiles, (B, P), at (P,) probabilities."""
        cells = crossings_of_rows(self.counts, self.n, p)
        if method == "inverted_cdf":
            return self.grid.shown(np.asarray(self.grid.positions[cells]))
        given = self.grid, self._are_whole
        if method == "cubic":  # its slopes are those of one curve
            rows = zip(cells, self.counts, self.n.tolist(), strict=True)
            found = np.stack([within_cubic(at, p, own, n, *given) for at, own, n in rows])
        else:
            found = within_rows(cells, p, self.counts, self.n, *given)
        return self.grid.shown(found, whole=self._are_whole)

    def band(self, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of intervals for F, (B, N) each, as ``CDF.band`` of each curve."""
        widths = self._widths(level)
        low, high = (np.empty(self.counts.shape) for _ in range(2))
        for part in self._blocks():
            low[part], high[part] = self._band(part, widths)
        return low, high

    def _widths(self, level: float) -> NDArray[np.float64]:
        """Return how many deviations intervals of each curve reach, (B,): its own noise says it."""
        of_kinds = [deviations_of_noise(level, kind.privacy) for kind in self.kinds]
        return np.array(of_kinds)[self.kind_of]

    def _band(
        self, part: slice, widths: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        of = self.deviation_of[part]
        size = self.grid.size
        known = np.stack([at_knots(self.knots[at], size) for at in of.tolist()])
        released = self.counts if self.raw is None else self.raw
        n, deviations = self.n[part], self.deviations[of]
        width = widths[part, np.newaxis]
        low, high = band_of(released[part], n, deviations, width, known=known)
        return around(low, high, self.counts[part] / n[:, np.newaxis])

    def quantile_interval(
        self, p: NDArray[np.float64], level: float, *, by_thresholds: bool
    ) -> Interval[Any]:
        """Return intervals for quantiles, (B, P) each."""
        widths = self._widths(level)
        first, last = (np.empty((len(self), p.size), np.int64) for _ in range(2))
        for part in self._blocks():
            band = self._band(part, widths)
            for i, share in enumerate(p.tolist()):
                first[part, i], last[part, i] = reached_in_rows(*band, share)
        grid, whole = self.grid, self._are_whole
        if by_thresholds:
            low, high = grid.positions[first], grid.positions[last]
            if math.isfinite(grid.start):
                low = np.where(first == 0, grid.start, low)
        else:
            low = places(first, 0.0, grid, whole)
            low = np.where((first == 0) & np.isinf(grid.start), -np.inf, low)
            high = places(last, 1.0, grid, whole)
        show = whole and not by_thresholds
        return Interval(*(grid.shown(np.asarray(end), whole=show) for end in (low, high)))

    def mean(self) -> NDArray[Any]:
        """Return the means, (B,)."""
        low, high, unit = cell_ends(self.grid, self._are_whole)
        centres = low / 2 + high / 2
        sums = self._sums(lambda masses: np.sum(masses * centres, axis=1))
        with np.errstate(over="ignore"):  # raw counts may have any size
            return self.grid.shown(sums * unit)

    def mean_interval(self, width: float) -> Interval[Any]:
        """Return intervals of so many deviations for the means, (B,) each."""
        rows = self.monotone()
        *ends, unit = cell_ends(self.grid, self._are_whole)
        found = []
        for sign, place in zip((-1.0, 1.0), ends, strict=True):
            steps = np.diff(place)
            noise = np.empty(len(self))
            for part in self._blocks():
                own, n = self.deviations[self.deviation_of[part]], self.n[part, np.newaxis]
                of_share = (own + np.abs(rows.counts[part] / n) * own[:, -1:]) / n
                wide = np.where(steps > 0.0, of_share[:, :-1], 0.0) * steps
                noise[part] = np.sum(wide, axis=1)
            mean = rows._sums(lambda masses, at=place: np.sum(masses * at, axis=1))
            with np.errstate(over="ignore"):
                mean = (mean + sign * width * noise) * unit
            found.append(np.clip(mean, ends[0][0] * unit, ends[1][-1] * unit))
        if not math.isfinite(self.grid.start):
            found[0][:] = -np.inf
        return Interval(*map(self.grid.shown, found))

    def parts(self) -> Iterator[CurveRows]:
        """Return rows by rows, so few at a time that intermediate arrays are small."""
        for part in self._blocks():
            yield replace(
                self,
                counts=self.counts[part],
                n=self.n[part],
                kind_of=self.kind_of[part],
                deviation_of=self.deviation_of[part],
                raw=None if self.raw is None else self.raw[part],
                releases=self.releases[part],
            )

    def _sums(self, of: Callable[..., NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return a number of each row's shares of records in cells, (B,)."""
        out = np.empty(len(self))
        for part in self._blocks():
            out[part] = of(np.diff(self.counts[part], axis=1, prepend=0) / self.n[part, np.newaxis])
        return out

    def _blocks(self) -> Iterator[slice]:
        rows = max(1, _BLOCK // self.grid.size)
        return (slice(start, start + rows) for start in range(0, len(self), rows))


def _stated(curve: CDF) -> tuple[object, ...]:
    return curve.integers, curve.processing, curve.raw is None, curve.name
