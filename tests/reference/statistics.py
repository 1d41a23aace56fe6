"""Calibration, ROC curves and the Hosmer-Lemeshow test, from the records themselves."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

# --- calibration: from the records themselves


def records_by_bin(labels, scores, edges):
    """The records with edges[b] < score <= edges[b + 1]; the first bin has its lower edge, too."""
    for b in range(len(edges) - 1):
        inside = (scores > edges[b]) & (scores <= edges[b + 1])
        if b == 0:
            inside |= scores == edges[0]
        yield labels[inside], scores[inside]


def calibration_errors(labels, scores, edges):
    """Expected calibration error, norms 1 and 2, and the maximum: bin by bin."""
    gaps, weights = [], []
    for own, theirs in records_by_bin(labels, scores, edges):
        if len(own):
            gaps.append(abs(own.mean() - theirs.mean()))
            weights.append(len(own) / len(labels))
    gaps, weights = np.array(gaps), np.array(weights)
    return gaps @ weights, np.sqrt(gaps**2 @ weights), gaps.max()


def equi_depth_ends(counts, size):
    """After how many cells each bin ends: where the count reaches b n / B, by cross-products."""
    n, cumulative, ends = int(sum(counts)), np.cumsum(counts), [0]
    for b in range(1, size):
        reached = next(k for k, count in enumerate(cumulative) if size * int(count) >= b * n)
        ends.append(len(counts) if cumulative[reached] == n else reached + 1)
    return [*ends, len(counts)]


def urn(positives: int, negatives: int, mean: Fraction) -> Fraction:
    """How likely some labels are, in any order, by an urn that begins with two balls."""
    likelihood, balls = Fraction(1), Fraction(2)
    for color, number in ((2 * mean, positives), (2 * (1 - mean), negatives)):
        for drawn in range(number):
            likelihood *= (color + drawn) / balls
            balls += 1
    return likelihood


def bayesian_binning(positives, negatives, edges, sizes):
    """The averaged probability of each cell and the weight of each number of bins, as fractions."""
    edges = [Fraction(float(edge)) for edge in edges]
    weights, maps = [], []
    for size in sizes:
        weight, values = Fraction(1), []
        for first, last in pairwise(equi_depth_ends(positives + negatives, size)):
            p, q = int(positives[first:last].sum()), int(negatives[first:last].sum())
            mean = (edges[first] + edges[last]) / 2
            mean = min(max(mean, Fraction(0.005)), Fraction(1 - 0.005))
            weight *= urn(p, q, mean)
            values += [(p + 2 * mean) / (p + q + 2)] * (last - first)
        weights.append(weight)
        maps.append(values)
    weights = [weight / sum(weights) for weight in weights]
    cells = zip(*maps, strict=True)
    return [sum(w * v for w, v in zip(weights, each, strict=True)) for each in cells], weights


# --- ROC curves: pair by pair, and threshold by threshold


def area_by_pairs(labels, scores) -> Fraction:
    """How likely a positive has a higher score than a negative, ties counting half."""
    positives = [score for label, score in zip(labels, scores, strict=True) if label]
    negatives = [score for label, score in zip(labels, scores, strict=True) if not label]
    won = sum(Fraction(int(p > q) + int(p >= q), 2) for p in positives for q in negatives)
    return won / (len(positives) * len(negatives))


def confusion_above(labels, scores, threshold):
    """True negatives, false positives, false negatives, true positives, as scikit-learn's."""
    found = [0, 0, 0, 0]
    for label, score in zip(labels, scores, strict=True):
        found[2 * bool(label) + (score > threshold)] += 1
    return tuple(found)


def area_between(first, second) -> Fraction:
    """The area between two curves of points (x, y), straight between them, by exact fractions."""
    both = (first, second)
    curves = [[(Fraction(x), Fraction(y)) for x, y in zip(*c, strict=True)] for c in both]

    def value(curve, x):  # of an x that is no abscissa of a point
        for (x0, y0), (x1, y1) in pairwise(curve):
            if x0 < x < x1:
                return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        raise AssertionError

    total = Fraction(0)
    for low, high in pairwise(sorted({x for curve in curves for x, _ in curve})):
        at = low + (high - low) / 3, low + 2 * (high - low) / 3  # two points make a line
        near, far = (value(curves[0], x) - value(curves[1], x) for x in at)
        start, end = 2 * near - far, 2 * far - near
        if start * end >= 0:
            total += (high - low) * abs(start + end) / 2
        else:
            total += (high - low) * (start**2 + end**2) / (2 * (abs(start) + abs(end)))
    return total


# --- the Hosmer-Lemeshow test, record by record


def risk_groups(probabilities, groups: int) -> list[int]:
    """Each record's group: group q ends at the least probability that q n / Q do not exceed."""
    n = len(probabilities)
    ends = [
        min(c for c in probabilities if groups * sum(p <= c for p in probabilities) >= q * n)
        for q in range(1, groups + 1)
    ]
    return [sum(end < p for end in ends) for p in probabilities]


def hosmer_lemeshow(labels, probabilities, of_record) -> float:
    """Eq. 5 of the ECDF paper, over the groups that hold records."""
    total = 0.0
    for group in sorted(set(of_record)):
        own = [i for i, found in enumerate(of_record) if found == group]
        for label in (False, True):
            observed = sum(labels[i] == label for i in own)
            expected = sum(probabilities[i] if label else 1 - probabilities[i] for i in own)
            total += (observed - expected) ** 2 / expected
    return total


def merged_groups(expected, minimum: float) -> list[list[int]]:
    """Neighbours go together until enough is expected of both classes; what is left, backwards."""
    groups, own = [], []
    for i in range(len(expected)):
        own.append(i)
        sums = [sum(expected[j][label] for j in own) for label in (0, 1)]
        if min(sums) > 0 and min(sums) >= minimum:
            groups.append(own)
            own = []
    if own:
        groups[-1:] = [[*(groups[-1] if groups else []), *own]]
    return groups
