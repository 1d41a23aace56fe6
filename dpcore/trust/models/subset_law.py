"""The law of subset selection: how many values a report has, its variances, and sums of reports."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.clients import subsets as kernels
from ...noise import windows
from ...noise.sources import Source
from .unary_law import least_q

__all__ = ["MOST_CHOSEN", "Chances", "best_chosen", "chances_of", "fill", "simulated_totals"]

MOST_CHOSEN: Final = 64
_WORDS_PER_CLIENT: Final = 2  # 32-bit words, beside one or a little more for each chosen value


class Chances(NamedTuple):
    """The probabilities that a client's own value and any other one are in its report."""

    own: Fraction
    other: Fraction
    pair: Fraction  # of two given other values, both

    @property
    def difference(self) -> Fraction:
        """What estimates are divided by."""
        return self.own - self.other

    def errors(self, size: int) -> tuple[float, float]:
        """Return the variances of ``Level`` for one report about ``size`` values."""
        scale = self.difference**2
        apart = self.other - self.pair
        among = self.own * (1 - self.own) * Fraction(size + 1, size - 1)
        mine = among - self.other * (1 + self.other) + 2 * self.pair
        return float(apart / scale), float(mine / scale)


@lru_cache(maxsize=256)
def chances_of(epsilon: Fraction, size: int, chosen: int) -> Chances:
    """Return the chances for reports of so many of ``size`` values."""
    missing = least_q(epsilon, chosen, size - chosen)
    other = (chosen - 1 + missing) / (size - 1)
    pair = Fraction(0)
    if size > 2:
        ordered = (1 - missing) * (chosen - 1) * (chosen - 2) + missing * chosen * (chosen - 1)
        pair = ordered / ((size - 1) * (size - 2))
    return Chances(1 - missing, other, pair)


@lru_cache(maxsize=256)
def best_chosen(epsilon: Fraction, size: int) -> int:
    """Return the number of values with the least variance, at most ``MOST_CHOSEN``.

    The variance is that of the count of a value, averaged over ``size`` values that are equally
    frequent. It falls and then rises.
    """
    least, best = np.inf, 1
    for chosen in range(1, min(MOST_CHOSEN, size - 1) + 1):
        noise, own = chances_of(epsilon, size, chosen).errors(size)
        if not noise + own / size < least:
            break
        least, best = noise + own / size, chosen
    return best


def fill(
    reports: NDArray[np.uint64],
    values: NDArray[np.int64],
    stream: Source,
    *,
    size: int,
    chosen: int,
    missing: Fraction,
) -> None:
    """Fill reports, (R, W), for the values of R clients."""
    per_client, share = chosen + _WORDS_PER_CLIENT, np.uint64(int(missing * 2**64))
    # Words of an incomplete client at the end of the last window.
    cut_short = np.empty(0, np.uint32)
    done = 0
    while done < values.size:
        fresh = min(per_client * (values.size - done) // 2 + 16, max(windows.WINDOW, per_client))
        window = windows.next_window(cut_short, fresh, stream)
        finished, used = kernels.perturb(window, values[done:], size, chosen, share, reports[done:])
        done += finished
        cut_short = window[used:]


def simulated_totals(
    counts: NDArray[np.int64], chosen: int, missing: Fraction, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the totals of all reports from their joint law.

    With a certain probability a report is a set of any values. Otherwise it is the client's value
    and others. Values are halved again and again: of the reports with so many values in a block,
    binomial draws say how many have so many of them in its first half. ``anywhere`` has the reports
    of clients without a value in the block, (blocks, chosen + 1), and ``others`` those with one, by
    value, without this value itself, (d, chosen).
    """
    size = counts.size
    blind = rng.binomial(counts, float(missing * Fraction(size, size - chosen)))
    anywhere = np.zeros((1, chosen + 1), np.int64)
    anywhere[0, chosen] = blind.sum()
    others = np.zeros((size, chosen), np.int64)
    others[:, -1] = counts - blind
    value, length = np.arange(size), 1 << (size - 1).bit_length()
    while length > 1:
        whole = np.minimum(length, size - np.arange(0, size, length))
        block, length = value // length, length // 2
        first, is_first = np.minimum(length, whole), value // length % 2 == 0
        halves = _halved(anywhere, first, whole - first, rng)
        anywhere = np.stack(halves, 1).reshape(-1, chosen + 1)
        if chosen > 1:
            ahead, behind = first[block] - is_first, (whole - first)[block] - ~is_first
            left, right = _halved(others, ahead, behind, rng)
            gone = np.where(is_first[:, np.newaxis], right, left)
            np.add.at(anywhere[:, :chosen], 2 * block + is_first, gone)
            others = np.where(is_first[:, np.newaxis], left, right)
        anywhere = anywhere[: -(-size // length)]
    return np.asarray(counts - blind + anywhere[:, 1], np.int64)


def _halved(
    reports: NDArray[np.int64],
    ahead: NDArray[np.int64],
    behind: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Divide reports, (rows, most + 1) by their number of values, by that in each half, both so.

    A row has ``ahead`` values in the first half and ``behind`` in the second. A set of j of them
    has i in the first half with hypergeometric probability; given at least i, with p / tail.
    """
    left, right = np.zeros_like(reports), np.zeros_like(reports)
    for j in range(reports.shape[1]):
        left_over, tail = reports[:, j].copy(), np.ones(len(reports))
        if not left_over.any():
            continue
        for i in range(j + 1):
            p = _hypergeometric(i, j, ahead, behind)
            share = np.divide(p, tail, out=np.ones_like(p), where=tail > p)
            drawn = rng.binomial(left_over, share) if i < j else left_over
            left[:, i] += drawn
            right[:, j - i] += drawn
            left_over, tail = left_over - drawn, tail - p
    return left, right


def _hypergeometric(
    i: int, j: int, ahead: NDArray[np.int64], behind: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability that i of j values are among those ahead."""
    p = np.ones(ahead.size)
    for step in range(j):
        pool, place = (ahead, step) if step < i else (behind, step - i)
        p *= np.maximum(pool - place, 0) * (step + 1.0) / (place + 1.0)
        p /= np.maximum(ahead + behind - step, 1)
    return p
