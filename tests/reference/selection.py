"""Mechanisms that select, on a stream of words; exact laws; medians and their sensitivities."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from .noise import (
    bernoulli_exp,
    bernoulli_exp_one,
    bernoulli_two_over_e,
    discrete_laplace_pmf,
    discrete_laplace_tail,
    rounded_cauchy_law,
    uniform,
)

# --- selection: the exponential mechanism on a stream of words, and exact laws


def exponential_mechanism(words: Iterator[int], scores, rate: Fraction) -> int:
    """Slots for classes of candidates, by the whole part of gamma = rate (best - score)."""
    gammas = [rate * (max(scores) - score) for score in scores]
    last = max(1, (len(scores) - 1).bit_length())
    classes = [[] for _ in range(last + 1)]
    for i, gamma in enumerate(gammas):
        classes[min(int(gamma), last)].append(i)
    slots = [(c, k) for c, own in enumerate(classes) for k in range(-(-len(own) // 2**c))]
    while True:
        c, k = slots[uniform(words, len(slots))]
        if not all(bernoulli_two_over_e(words) for _ in range(c)):
            continue
        rank = 2**c * k + uniform(words, 2**c)
        if rank >= len(classes[c]):
            continue
        candidate = classes[c][rank]
        whole, part = divmod(gammas[candidate] - c, 1)
        if not all(bernoulli_exp_one(words) for _ in range(whole)):
            continue
        if bernoulli_exp(words, part * rate.denominator, rate.denominator):
            return candidate


def exponential_law(scores, rate):
    """The probabilities, proportional to e^(rate score)."""
    weights = np.exp(float(rate) * (np.asarray(scores, float) - max(scores)))
    return weights / weights.sum()


def above_threshold_law(queries, threshold, of_threshold, of_queries, fresh=False):
    """The probabilities of every answer, by a sum over the threshold's noise; (N,).

    The scales of the noises are given. ``fresh``: a new noisy threshold for every query.
    """
    edge = int(45 * max(of_threshold, of_queries)) + 5
    noisy = np.arange(-edge, edge + 1)
    weights = discrete_laplace_pmf(noisy, of_threshold)
    still, law = (weights.sum() if fresh else np.ones(noisy.size)), []
    for query in queries[:-1]:
        least = threshold + noisy - query
        reached = discrete_laplace_tail(least, of_queries)
        below = discrete_laplace_tail(1 - least, of_queries)
        if fresh:
            reached, below = weights @ reached, weights @ below
        law.append(np.sum(still * reached) if fresh else np.sum(weights * still * reached))
        still = still * below
    law.append(np.sum(still) if fresh else np.sum(weights * still))
    return np.array(law)


def records_within(values, ends):
    """How many values are in [-b, b] for each b, by exact comparison."""
    finite = [Fraction(v) if np.isfinite(v) else float(v) for v in values]
    return np.array([sum(-Fraction(b) <= v <= Fraction(b) for v in finite) for b in ends])


def symmetric_law(values, ends, outside, scale):
    """The probabilities of every b, for noise of one scale; the last b ends every search."""
    inside = records_within(values, ends)
    inside[-1] = len(values)
    return above_threshold_law(inside, len(values) - outside, scale, scale)


def compact_scores(values, ends, gain):
    """The records within [-b, b] for each b, less a share of them for each doubling, rounded up."""
    inside = records_within(values, ends)
    inside[-1] = len(values)
    prices = [int(i * Fraction(gain) * len(values)) for i in range(len(ends))]
    return inside - np.array(prices)


def beside_zero(ends):
    """All of [-b, 0], then all of [0, b], then all of [-b, b] but the last."""
    around = [(-b, b) for b in ends[:-1]]
    return [(-b, 0.0) for b in ends] + [(0.0, b) for b in ends] + around


def beside_zero_inside(values, ends):
    """How many values are in each interval, by exact comparison; those beyond the ends at them."""
    exact = [Fraction(v) for v in np.clip(np.asarray(values, float), -ends[-1], ends[-1])]
    pairs = [(Fraction(low), Fraction(high)) for low, high in beside_zero(ends)]
    return np.array([sum(low <= v <= high for v in exact) for low, high in pairs])


def beside_zero_scores(values, ends, gain):
    """The records within each, less a share of them for each doubling of its width, rounded up."""
    widths = [Fraction(high) - Fraction(low) for low, high in beside_zero(ends)]
    doublings = [(width / Fraction(ends[0])).numerator.bit_length() - 1 for width in widths]
    prices = [int(i * Fraction(gain) * len(values)) for i in doublings]
    return beside_zero_inside(values, ends) - np.array(prices)


# --- medians of intervals, and their smooth sensitivities


def order_statistic(positions, rank, low, high):
    """x_rank of sorted positions, from 1, and a bound where there is none."""
    if rank < 1:
        return low
    return positions[rank - 1] if rank <= len(positions) else high


def median_position(counts):
    """The first place but the last with half of the records before or at it, or the last but one.

    (At the last place the interval ends: it cannot be split there.)
    """
    places = np.arange(len(counts) - 1)
    reached = 2 * np.cumsum(counts)[:-1] >= sum(counts)
    return int(places[reached][0]) if reached.any() else len(counts) - 2


def node_positions(counts):
    """The sorted positions of an interval's records, and the bounds."""
    last = len(counts) - 2
    return np.minimum(np.repeat(np.arange(len(counts)), counts), last).tolist(), 0, last


def falling_weights(ratio, size):
    """2^38, and so on by a factor ratio / 2^24, rounded up."""
    weights = [2**38]
    while len(weights) < size:
        weights.append(-(-weights[-1] * ratio // 2**24))
    return weights


def node_sensitivity(counts, ratio):
    """The smooth sensitivity if records come or go, by its formula; in units of 2^-38."""
    positions, low, high = node_positions(counts)
    n = len(positions)
    gaps = []
    for k in range(n + 1):
        i = (n - k) // 2
        ends = [order_statistic(positions, rank, low, high) for rank in (i, i + k + 1)]
        gaps.append(ends[1] - ends[0])
    return max(w * gap for w, gap in zip(falling_weights(ratio, n + 1), gaps, strict=True))


def replace_one_sensitivity(positions, low, high, beta):
    """Nissim, Raskhodnikova & Smith 2007, Proposition 3.4, term by term."""
    n = len(positions)
    m = (n + 1) // 2
    best = 0.0
    for k in range(n + 1):
        for t in range(k + 2):
            upper = order_statistic(positions, m + t, low, high)
            lower = order_statistic(positions, m + t - k - 1, low, high)
            best = max(best, float(np.exp(-beta * k)) * (upper - lower))
    return best


def split_law(middle, scale, cells):
    """The probabilities of the places after which an interval is split: outside is the middle."""
    law, outside = rounded_cauchy_law(middle, scale, cells - 1)
    law[(cells - 2) // 2] += outside
    return law


# --- quantiles by recursion: all places of cells, listed


def rank_of_place(counts, places, place):
    """The records up to a place: whole cells, and a share of the next one."""
    k, s = divmod(place, places)
    return sum(counts[:k]) + (Fraction(s, places) * counts[k] if s else 0)


def cut_losses(counts, places, node, share):
    """How many records each place (l, r] of a node is off its share of the node's records."""
    low, high = (rank_of_place(counts, places, place) for place in node)
    target = low + share * (high - low)
    return [
        abs(rank_of_place(counts, places, place) - target)
        for place in range(node[0] + 1, node[1] + 1)
    ]


def law_of_cuts(counts, places, cuts, thin=1):
    """The probability of each row of places; ``thin``: the share of the noise that is left."""
    laws = {(): 1.0}
    order = []
    for cut in cuts:
        longer = {}
        for drawn, chance in laws.items():
            known = dict(zip(order, drawn, strict=True))
            known |= {-1: 0, len(cuts): len(counts) * places}
            node = known[cut.below], known[cut.above]
            if node[0] == node[1]:
                longer[(*drawn, node[0])] = chance
                continue
            scores = [-float(loss) for loss in cut_losses(counts, places, node, cut.share)]
            own = exponential_law(scores, float(cut.rate) / thin)
            for place, p in enumerate(own, node[0] + 1):
                longer[(*drawn, place)] = chance * p
        laws, order = longer, [*order, cut.index]
    return laws
