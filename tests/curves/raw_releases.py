"""Raw releases of counts, and whether two are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import dpcore as dp


def raw(counts, mechanism, rng=None):
    """A raw release of cell counts over the grid 1, 2, ..., N."""
    grid = dp.Grid(np.arange(1.0, len(counts) + 1))
    return dp.cdf_from_counts(np.array(counts), grid, mechanism, isotonic=False, rng=rng)


def another(curve, **parts):
    """Another release, with these parts, and all others as the curve has them."""
    return replace(curve, releases=(), **{"counts": curve.counts.copy()} | parts)


def same(first, second):
    """Whether two curves are the same, bit for bit."""
    return first.to_json() == second.to_json() and first.counts.dtype == second.counts.dtype


def curve_of(counts, grid=None, **others):
    """A curve without noise with these cumulative counts, of the grid 1, 2, ..., N by default."""
    counts = np.asarray(counts)
    return dp.CDF(
        grid=dp.Grid.integers(1, counts.size) if grid is None else grid,
        counts=counts,
        n=int(counts[-1]),
        privacy=dp.Privacy(1.0),
        mechanism=dp.mechanisms.Dyadic(1.0).describe(),
        **{"noise_deviation": np.zeros(counts.size), **others},
    )
