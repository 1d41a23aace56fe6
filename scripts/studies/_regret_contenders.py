"""The contenders of scripts/study.py regret: from exact counts to released curves."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import dpcore as dp
from dpcore.kernels.smoothing.isotonic import isotonic
from dpcore.mechanisms import (
    AdaptiveQuantiles,
    Dawa,
    Dyadic,
    Hierarchy,
    Histogram,
    HistogramQueries,
    Mechanism,
    PolynomialProjection,
    ToeplitzGaussian,
)
from dpcore.papers.median_finders import FINDERS, Records

Counts = NDArray[np.int64]
Curves = NDArray[np.float64]
Kind = Literal["epsilon", "delta", "rho"]
Budget = dict[str, Any]  # arguments of dp.cdf and of mechanisms
Contender = Callable[[Counts, Budget, np.random.Generator, int], Curves]

DEFAULT, TREE, UNIFORM = "dp.cdf", "best tree", "uniform guess"
PAPER, OPENDP = "the ECDF paper", "OpenDP's tree, b = 8"
DELTA = 1e-9


def budget(kind: Kind, epsilon: float) -> Budget:
    """Return the arguments of a budget. For rho, it is epsilon^2 / 2, which epsilon implies."""
    if kind == "rho":
        return {"rho": epsilon**2 / 2}
    return {"epsilon": epsilon, "delta": DELTA} if kind == "delta" else {"epsilon": epsilon}


def pure(given: Budget) -> float:
    """Return the epsilon of a pure mechanism that keeps within a budget."""
    return float(given["epsilon"] if "epsilon" in given else np.sqrt(2 * given["rho"]))


def contenders(kind: Kind, size: int) -> dict[str, Contender]:
    """Return the contenders for so many cells, by name.

    Each takes the exact counts, (N,), a budget, a generator and the number of releases, and returns
    cumulative counts, (releases, N). To add a contender, add an entry.
    """
    coarser = {
        f"tree on {cells:,} cells": coarse(cells)
        for cells in (2**4, 2**6, 2**8, 2**10)
        if cells < size
    }
    found: dict[str, Contender] = {DEFAULT: of_default, TREE: of(best_tree), UNIFORM: uniform}
    if kind == "rho":
        return {**found, **GAUSSIAN, **BOTH, **coarser}
    if kind == "epsilon":
        return {**found, **PURE, **BOTH, **coarser}
    # pure mechanisms also satisfy (epsilon, delta), and have less noise in a few counts
    without = {**PURE, **BOTH, **coarser}
    return {**found, **GAUSSIAN, **{name: purely(each) for name, each in without.items()}}


def releases(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> list[dp.CDF]:
    """Return releases by the default, one call each, as users make them."""
    grid = dp.Grid.uniform(0, 1, counts.size)
    return [dp.cdf_from_counts(counts, grid, rng=rng, **given) for _ in range(count)]


def of_default(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
    """Return the default's curves."""
    return np.array([each.counts for each in releases(counts, given, rng, count)], np.float64)


def monotone(curves: Any, n: int) -> Curves:
    """Return the nearest monotone curves in [0, n] that end at n, by least squares."""
    found = np.array(curves, np.float64)
    found[:, -1] = n
    if found.shape[1] > 1:
        isotonic(found[:, :-1], 0.0, float(n))
    return found


def of(make: Callable[[Budget, int], Mechanism]) -> Contender:
    """Return a contender: the mechanism for a budget and so many cells, made isotonic."""

    def curves(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
        made = make(given, counts.size)
        return monotone(made.release(counts, rng=rng, replicates=count, workers=1), counts.sum())

    return curves


@functools.cache
def _best_gaussian(names: tuple[tuple[str, Any], ...], size: int) -> Any:
    given = dict(names)
    both = Hierarchy(**given), ToeplitzGaussian(**given)
    return min(both, key=lambda each: each.mean_squared_error(size))


def best_tree(given: Budget, size: int) -> Mechanism:
    """Return the mechanism with the least noise whose error does not depend on the data.

    This is the fixed yardstick. It does not change when the default changes.
    """
    if set(given) == {"epsilon"}:
        return Hierarchy(given["epsilon"])
    found: Mechanism = _best_gaussian(tuple(given.items()), size)
    return found


def uniform(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
    """Return uniform curves, in which all cells are equal: no release, as only n is used."""
    return np.tile(counts.sum() * np.arange(1, counts.size + 1) / counts.size, (count, 1))


def coarse(cells: int) -> Contender:
    """Return the best tree on a coarser grid, with straight lines between its thresholds."""

    def curves(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
        ends = np.arange(1, cells + 1) * counts.size // cells
        merged = np.add.reduceat(counts, np.append(0, ends[:-1]))
        known = np.zeros((count, cells + 1))
        known[:, 1:] = of(best_tree)(merged, given, rng, count)
        return lines(np.append(0, ends), known, counts.size)

    return curves


def lines(ends: Counts, known: Curves, size: int) -> Curves:
    """Return curves with straight lines between known thresholds, the same for all curves."""
    at = np.arange(1, size + 1)
    right = np.searchsorted(ends, at)
    share = (at - ends[right - 1]) / (ends[right] - ends[right - 1])
    return np.asarray(known[:, right - 1] + share * (known[:, right] - known[:, right - 1]))


def paper(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
    """Return the ECDF paper's curves, with its scale, smoothed in norm 2."""
    made, n = Dyadic(given["epsilon"], sensitivity="paper"), int(counts.sum())
    found = np.full((count, counts.size), float(n))
    raw = made.release(counts, rng=rng, replicates=count, workers=1)
    found[:, :-1] = dp.smooth(raw[:, :-1], n).cumulative
    return found


def opendp(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
    """Return the curves of OpenDP's tree, without isotonic regression.

    The root has noise, too, and counts are divided by the noisy total. Replacing a record removes
    one record and adds one, so each gets half of epsilon. The results are clipped to [0, 1], and a
    total below 1 becomes 1.
    """
    half = Hierarchy(given["epsilon"] / 2, 8, "equal", neighbours="add-or-remove-one")
    raw = half.release(counts, rng=rng, replicates=count, workers=1)
    return np.asarray(counts.sum() * np.clip(raw / np.maximum(raw[:, -1:], 1.0), 0.0, 1.0))


def medians(depth: int) -> Contender:
    """Return the curve through recursive medians, which release places instead of counts."""

    def curve(counts: Counts, given: Budget, rng: np.random.Generator) -> Curves:
        step = Fraction(pure(given)) / (2 * depth)
        median = FINDERS["exponential"](Records.of(counts), step, rng)
        ends, shares, nodes = [0, counts.size], [0.0, 1.0], [(0, counts.size, 0.0, 1.0)]
        for _ in range(depth):
            halves = []
            for start, stop, low, high in nodes:
                if stop - start > 2:
                    at, middle = median(start, stop) + 1, (low + high) / 2
                    ends.append(at)
                    shares.append(middle)
                    halves += [(start, at, low, middle), (at, stop, middle, high)]
            nodes = halves
        order = np.argsort(ends)
        known = counts.sum() * np.array(shares)[order]
        return np.asarray(np.interp(np.arange(1, counts.size + 1), np.array(ends)[order], known))

    def curves(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
        return np.array([curve(counts, given, rng) for _ in range(count)])

    return curves


def dawa(split: float) -> Contender:
    """Return DAWA with Laplace noise."""
    return of(lambda given, size: Dawa(pure(given), split))


def bins(count: int, between: Any) -> Contender:
    """Return the counts of a few bins."""
    return of(lambda given, size: HistogramQueries(bins=count, between=between, **given))


def adaptive(steps: int) -> Contender:
    """Return the answers to queries at the places where the curve rises most."""
    return of(lambda given, size: AdaptiveQuantiles(steps=steps, between="linear", **given))


def polynomial(degree: int) -> Contender:
    """Return the curves of the polynomial projection."""
    return of(lambda given, size: PolynomialProjection(degree=degree, **given))


def purely(contender: Contender) -> Contender:
    """Return a contender that does not use delta."""

    def curves(counts: Counts, given: Budget, rng: np.random.Generator, count: int) -> Curves:
        return contender(counts, {"epsilon": given["epsilon"]}, rng, count)

    return curves


# for epsilon and for rho
BOTH: dict[str, Contender] = {
    "DAWA, split 0.1": dawa(0.1),
    "4 bins, linear": bins(4, "linear"),
    "8 bins, linear": bins(8, "linear"),
    "32 bins, linear": bins(32, "linear"),
    "32 bins, step": bins(32, "step"),
    "adaptive, 8 steps": adaptive(8),
    "adaptive, 30 steps": adaptive(30),
    "8 medians": medians(3),
}
PURE: dict[str, Contender] = {
    PAPER: paper,
    OPENDP: opendp,
    "histogram": of(lambda given, size: Histogram(given["epsilon"])),
    "DAWA, split 0.03": dawa(0.03),
    "DAWA, split 0.25": dawa(0.25),
}
GAUSSIAN: dict[str, Contender] = {
    "pure tree": of(lambda given, size: Hierarchy(pure(given))),
    "Gaussian tree": of(lambda given, size: Hierarchy(**given)),
    "Gaussian DAWA, split 0.1": of(lambda given, size: Dawa(**given, split=0.1)),
    "Toeplitz": of(lambda given, size: ToeplitzGaussian(**given)),
    "polynomial, degree 8": polynomial(8),
    "polynomial, degree 32": polynomial(32),
}
