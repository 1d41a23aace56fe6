"""Intervals for shares of released counts: which part of a whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["share_interval"]

Reals = NDArray[np.float64]


def share_interval(
    part: Reals, whole: Reals, noise: Reals, slope: Reals, width: float, sampling: bool
) -> tuple[Reals, Reals]:
    """Return the ends of intervals of a share s = part / whole, of the shape of all arrays.

    Parameters
    ----------
    part, whole
        Released counts of records.
    noise, slope
        The standard deviation of the noise in part - s whole is at most noise + s slope. Infinite
        if the noise is not known.
    width
        How many standard deviations the interval reaches.
    sampling
        Whether records are also a sample of a population: part is then binomial, with whole trials
        and the probability s.

    Notes
    -----
    This is Fieller's interval; with sampling and without noise, it is Wilson's. It consists of all
    s in [0, 1] with

        (part - s whole)^2 <= width^2 ((noise + s slope)^2 + s (1 - s) whole),

    where the last term is for sampling only. It is [0, 1] if the whole may be noise
    (docs/guides/roc.md).
    """
    known = np.isfinite(noise) & np.isfinite(slope) & (whole > 0.0)
    part, whole, noise, slope = (
        np.where(known, values, 0.0) for values in (part, whole, noise, slope)
    )
    drawn = width**2 * whole if sampling else np.zeros_like(whole)
    square = whole**2 - (width * slope) ** 2 + drawn
    half = part * whole + width**2 * noise * slope + drawn / 2  # half of the negated linear term
    constant = part**2 - (width * noise) ** 2
    bounded = known & (square > 0.0) & (whole + width * np.minimum(slope, 0.0) > 0.0)
    root = np.sqrt(np.maximum(half**2 - square * constant, 0.0))
    low, high = np.zeros_like(whole), np.ones_like(whole)
    np.divide(half - root, square, out=low, where=bounded)
    np.divide(half + root, square, out=high, where=bounded)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)
