"""Four ways to find private medians of intervals of cells; proofs in docs/proofs/selection.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.selection import medians as kernels
from ..kernels.selection import selection
from ..kernels.smoothing.isotonic import isotonic
from ..mechanisms.hierarchy import Hierarchy
from ..mechanisms.selection import last_class
from ..noise.laws import DiscreteLaplace
from ..noise.sources import source
from ..noise.windows import fill
from ..privacy.allowance import Allowance
from ..summaries.grid import MOST_CELLS
from .cauchy import CauchyNoise, rounded_cauchy

__all__ = ["FINDERS", "Median", "Method", "Records"]

Method = Literal["exponential", "smooth", "paper", "curve"]
Median = Callable[[int, int], int]
Finder = Callable[["Records", Fraction, np.random.Generator | None], Median]

_PAPER_SHIFT: Final = 8


class Records(NamedTuple):
    """The exact counts of cells, (N,), and the number of records before each, (N + 1,)."""

    counts: NDArray[np.int64]
    cumulative: NDArray[np.int64]

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Records:
        """Return both for some counts."""
        return cls(counts, np.concatenate([[0], np.cumsum(counts)]))


# Each takes the records, a step and a generator or None. It returns a function that takes an
# interval [start, stop) of three cells or more and returns the cell after which it is split. The
# step is the epsilon of one interval, for adding or removing a record.


def exponential(records: Records, step: Fraction, rng: np.random.Generator | None) -> Median:
    """The exponential mechanism: splits nearer to half of the records are more likely."""
    # The score is -|4 c - 2 n|, with c of the n records before the split. A record changes it by 2.
    draw = selector(step, 2, rng)

    def median(start: int, stop: int) -> int:
        n = int(records.cumulative[stop] - records.cumulative[start])
        scores = np.empty(stop - 1 - start, np.int64)
        selection.rank_scores(records.counts[start : stop - 1], 2 * n, scores)
        return start + draw(scores)

    return median


def selector(
    epsilon: Fraction, sensitivity: int, rng: np.random.Generator | None
) -> Callable[[NDArray[np.int64]], int]:
    """Return ``exponential_mechanism`` as a function of the scores, for many short arrays.

    Everything that does not depend on the scores is computed once. It takes ten times as long as a
    draw.
    """
    law, stream = Allowance.checked(epsilon, None, "replace-one").law(2 * sensitivity), source(rng)
    assert isinstance(law, DiscreteLaplace)
    rate = 1 / law.scale
    terms = np.uint64(rate.numerator), np.uint64(rate.denominator)
    most = last_class(MOST_CELLS)
    firsts = np.array([math.ceil(c / rate) for c in range(most + 1)], np.uint64)

    def draw(scores: NDArray[np.int64]) -> int:
        own = firsts[: last_class(scores.size) + 1]
        members, drawn = np.empty(own.size, np.int64), np.empty(1, np.int64)
        best = selection.classes(scores, own, members)
        fill(
            drawn,
            stream,
            lambda words, out: selection.exponential(
                words, out, scores, best, own, members, *terms
            ),
        )
        return int(drawn[0])

    return draw


def smooth(records: Records, step: Fraction, rng: np.random.Generator | None) -> Median:
    """Cauchy noise for the smooth sensitivity under add-or-remove-one, with the least scale."""
    noise, stream = CauchyNoise.least(step), source(rng)

    def median(start: int, stop: int) -> int:
        middle, sensitivity = kernels.median_and_sensitivity(
            records.cumulative, start, stop, noise.ratio
        )
        scale = Fraction(sensitivity, kernels.UNIT) / noise.shift
        return _inside(middle + rounded_cauchy(scale, stream), start, stop)

    return median


def paper(records: Records, step: Fraction, rng: np.random.Generator | None) -> Median:
    """Cauchy noise for the smooth sensitivity under replace-one, with the published constants."""
    stream = source(rng)

    def median(start: int, stop: int) -> int:
        cumulative = records.cumulative
        rank = (int(cumulative[stop] - cumulative[start]) + 1) // 2
        middle = kernels.position(cumulative, start, stop, rank)
        sensitivity = kernels.replace_one_sensitivity(cumulative, start, stop, float(step / 2))
        scale = _PAPER_SHIFT * Fraction(sensitivity) / step
        return _inside(middle + rounded_cauchy(scale, stream), start, stop)

    return median


def curve(records: Records, step: Fraction, rng: np.random.Generator | None) -> Median:
    """The median of a private curve: ``step`` pays for that curve, and for all medians."""
    counts = records.counts
    released = Hierarchy(step).release(counts, rng=rng).astype(np.float64)
    isotonic(released[np.newaxis, :-1], 0.0, float(released[-1]))
    cumulative = np.concatenate([[0.0], released])

    def median(start: int, stop: int) -> int:
        half = (cumulative[start] + cumulative[stop]) / 2
        at = start + int(np.searchsorted(cumulative[start + 1 : stop], half))
        return min(at, stop - 2)

    return median


FINDERS: Final[Mapping[Method, Finder]] = {
    "exponential": exponential,
    "smooth": smooth,
    "paper": paper,
    "curve": curve,
}


def _inside(at: int, start: int, stop: int) -> int:
    """Return ``at`` if [start, stop) can be split after it, and else the cell in the middle."""
    return at if start <= at <= stop - 2 else (start + stop - 2) // 2
