"""Quantiles by recursion: a middle one first, then those below it and those above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..kernels.selection import cuts as kernels
from ..noise.laws import rounded_up
from ..noise.sources import Source
from ..noise.windows import fill
from ..privacy.allowance import Allowance, rho_of_choice
from .selection import last_class

__all__ = [
    "MOST_COUNTED",
    "Cut",
    "check_scales",
    "drawn_cells",
    "expected_error",
    "places_of",
    "planned",
    "reaches",
    "rho_of_cuts",
]

MOST_COUNTED: Final = 2**35  # records; with the limits below, losses are below 2^61
_MOST_UNIT: Final = 2**12  # the largest denominator of a share of a node's records
_MOST_PLACES: Final = 2**14  # in a cell
_ALL_PLACES: Final = 2**30  # of all cells together
_MOST_SCALE: Final = 2**52  # of losses
_LEAST_SCALE: Final = Fraction(1, 2**22)  # such draws are nearly always the best


@dataclass(frozen=True, slots=True)
class Cut:
    """How one quantile is drawn between two that are known.

    Parameters
    ----------
    index
        Which quantile, counted from the least probability.
    below, above
        The known ones: -1 stands for the beginning of the grid, and m for its end.
    share
        The share of the records between them that should lie below the quantile.
    part
        The part of the budget that it gets.
    rate
        A place that is off by one record more has exp(-rate) times the weight.
    """

    index: int
    below: int
    above: int
    share: Fraction
    part: Fraction
    rate: Fraction


def planned(probabilities: Sequence[float], budget: Allowance) -> list[Cut]:
    """Return the cuts, in an order in which each comes after those that it lies between.

    Parameters
    ----------
    probabilities
        (m,) ascending, all different.
    budget
        Epsilon or rho, and the relation.

    Notes
    -----
    Each cut gets an equal part of what its longest way to a last cut has left. So what is spent on
    any way adds up to at most the budget (docs/proofs/selection.md, section 4).
    """
    ends = [Fraction(p) for p in (*probabilities, 1.0, 0.0)]  # ends[-1] is before the first
    ends[-1] = Fraction(0)
    cuts: list[Cut] = []
    nodes = [(-1, len(probabilities), Fraction(1))]
    while nodes:
        below, above, left = nodes.pop(0)
        if above - below < 2:
            continue
        middle = (below + above) // 2
        part = left / (above - below - 1).bit_length()
        share = (ends[middle] - ends[below]) / (ends[above] - ends[below])
        share = share.limit_denominator(_MOST_UNIT)
        rate = _rate(budget, share, part, not cuts)
        cuts.append(Cut(middle, below, above, share, part, rate))
        nodes += [(below, middle, left - part), (middle, above, left - part)]
    return cuts


def _rate(budget: Allowance, share: Fraction, part: Fraction, is_first: bool) -> Fraction:
    """Return the rate of a cut for a part of the budget (docs/proofs/selection.md, section 4)."""
    moved = 2 * max(share, 1 - share)  # what a record that comes or goes can cost, in rates
    if budget.epsilon is not None:
        if not budget.total_is_public:
            return budget.epsilon * part / moved
        return budget.epsilon * part / (2 if is_first else 2 * moved)
    assert budget.rho is not None
    if not budget.total_is_public:
        return _root(8 * budget.rho * part / moved**2)
    return _root(budget.rho * part * (Fraction(2) if is_first else 4 / max(Fraction(2), moved**2)))


def _root(exact: Fraction) -> Fraction:
    """Return the square root, rounded down by less than one part in 2^40."""
    shift = 2 * max(0, 44 - (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2)
    return Fraction(isqrt((exact.numerator << shift) // exact.denominator), 2 ** (shift // 2))


def rho_of_cuts(cuts: Sequence[Cut], epsilon: Fraction) -> Fraction:
    """Return the rho of all draws for this epsilon (docs/proofs/selection.md, section 4).

    It is that of the costliest way from the first cut to a last one.
    """
    spent = {(-1, len(cuts)): Fraction(0)}
    for cut in cuts:
        own = spent.pop((cut.below, cut.above)) + rho_of_choice(cut.part * epsilon)
        spent[cut.below, cut.index] = spent[cut.index, cut.above] = own
    return max(spent.values())


def expected_error(cuts: Sequence[Cut]) -> float:
    """Return the root mean square of errors in records, if these are many and evenly spread.

    Each draw then has Laplace noise of scale 1 / rate, in ranks, beside the errors of the two
    quantiles that it lies between.
    """
    total = 0.0
    known = {(-1, len(cuts)): (0.0, 0.0, 0.0)}  # the variances of both, and their covariance
    for cut in cuts:
        low, high, common = known.pop((cut.below, cut.above))
        q = float(cut.share)
        own = (1 - q) ** 2 * low + q**2 * high + 2 * q * (1 - q) * common + 2 / float(cut.rate) ** 2
        total += own
        known[cut.below, cut.index] = low, own, (1 - q) * low + q * common
        known[cut.index, cut.above] = own, high, (1 - q) * common + q * high
    return sqrt(total / len(cuts))


def reaches(
    cuts: Sequence[Cut], cells: NDArray[np.int64], size: int, n: int, fails: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many records should be up to each quantile, and how far off it is at most.

    Parameters
    ----------
    cuts
        The cuts that were drawn.
    cells
        (m,) the cells in which they ended.
    size
        The number of cells.
    n
        The number of records.
    fails
        The probability that a quantile is farther off, at most.

    Returns
    -------
    tuple
        Two arrays, (m,) each, in records.

    Notes
    -----
    docs/proofs/selection.md, section 4, has the proof, wherever the records are. Ranks of records
    that are evenly spread are a fifth as far off, or less.
    """
    targets, found, most = np.zeros(len(cuts)), np.zeros(len(cuts)), float(n)
    places, each = places_of(size), fails / len(cuts).bit_length()
    # Of a known quantile: the records up to it, how far it may be off, and its cell.
    known = {-1: (0.0, 0.0, 0), len(cuts): (most, 0.0, size - 1)}
    for cut in cuts:
        (below, under, first), (above, over, last) = known[cut.below], known[cut.above]
        q, rate = float(cut.share), float(cut.rate)
        drawn = log((last - first + 1) * places / each)
        own = (drawn / rate if rate else inf) + most / places  # of a stored epsilon near 0
        targets[cut.index] = below + q * (above - below)
        found[cut.index] = min(own + (1.0 - q) * under + q * over, most)
        known[cut.index] = targets[cut.index], found[cut.index], int(cells[cut.index])
    return targets, found


def check_scales(cuts: Sequence[Cut], budget: Allowance, size: int) -> None:
    """Refuse a budget that is too small for these cuts of a grid of so many cells."""
    places = places_of(size)
    if any(cut.share.denominator * places / cut.rate > _MOST_SCALE for cut in cuts):
        name, value = next(iter(budget.describe().items()))
        raise ParameterError(name, value, "is too small for so many quantiles")


def _scale(cut: Cut, places: int) -> Fraction:
    """Return the scale of the losses of a cut, in their unit."""
    return rounded_up(max(cut.share.denominator * places / cut.rate, _LEAST_SCALE))


def places_of(size: int) -> int:
    """Return the number of places of each cell, for a grid of so many cells."""
    return min(_MOST_PLACES, _ALL_PLACES >> (size - 1).bit_length())


def drawn_cells(
    counts: NDArray[np.int64], cuts: Sequence[Cut], stream: Source
) -> NDArray[np.int64]:
    """Draw all quantiles, and return their cells, (m,), ascending.

    Parameters
    ----------
    counts
        (N,) the exact counts of the cells, at most 2^35 records in all.
    cuts
        From ``planned``.
    stream
        The source of random words.

    Notes
    -----
    The cost is O(N log(m)) time, whatever the number of records.
    """
    places = places_of(counts.size)
    before = np.concatenate([[0], np.cumsum(counts)])
    drawn = np.zeros(len(cuts) + 2, np.int64)  # drawn[-1] stands before the first
    drawn[-2] = counts.size * places
    for cut in cuts:
        node = int(drawn[cut.below]), int(drawn[cut.above])
        if node[0] == node[1]:  # without a place, there is nothing to choose
            drawn[cut.index] = node[0]
            continue
        drawn[cut.index] = _drawn(counts, before, places, cut, node, stream)
    return (drawn[:-2] - 1) // places


def _drawn(
    counts: NDArray[np.int64],
    before: NDArray[np.int64],
    places: int,
    cut: Cut,
    node: tuple[int, int],
    stream: Source,
) -> int:
    low, high = (_rank(counts, before, places, place) for place in node)
    unit = cut.share.denominator
    target = unit * low + cut.share.numerator * (high - low)
    scale = _scale(cut, places)
    last = last_class(node[1] - node[0])
    firsts = np.array(
        [-(-c * scale.numerator // scale.denominator) for c in range(last + 1)], np.uint64
    )
    members = np.empty(firsts.size, np.int64)
    line = counts, before, places, unit, target, node
    best = kernels.classes(*line, firsts, members)
    rate = np.uint64(scale.denominator), np.uint64(scale.numerator)
    out = np.empty(1, np.int64)
    fixed = *line, best, firsts, members, *rate
    fill(out, stream, lambda words, rest: kernels.cut(words, rest, *fixed))
    return int(out[0])


def _rank(counts: NDArray[np.int64], before: NDArray[np.int64], places: int, place: int) -> int:
    """Return the rank of a place, in units of 1 / ``places`` records."""
    k, s = divmod(place, places)
    rank = places * int(before[k])
    return rank + s * int(counts[k]) if s else rank
