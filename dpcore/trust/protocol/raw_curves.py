"""Raw curves that a trust model has released, and curves without empty records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...curves.cdf import CDF
from ...curves.scores import numbered
from ...mechanisms.base import Mechanism
from ...summaries.grid import Grid

__all__ = ["of_clients", "raw_curve", "without_empty"]


def raw_curve(
    counts: NDArray[np.int64] | NDArray[np.float64],
    n: int,
    trust: Mechanism,
    simulated: bool,
    releases: tuple[str, ...] = (),
) -> CDF:
    """Return the raw curve that a trust model has released, over numbered cells."""
    return CDF(
        grid=numbered(counts.size),
        counts=counts,
        n=n,
        privacy=replace(trust.privacy, simulated=simulated),
        mechanism=trust.describe(),
        noise_deviation=trust.estimated_deviation(counts),
        releases=releases,
    )


def of_clients(joint: CDF) -> CDF:
    """Return the curve with the guarantee for clients that may have any number of records."""
    return replace(joint, privacy=replace(joint.privacy, neighbours="replace-client"))


def without_empty(joint: CDF, grid: Grid) -> CDF:
    """Return the curve of the records that are not empty; the empty ones are in the last cell.

    Their number is released like the counts, as under add-or-remove-one.
    """
    counts = joint.counts[:-1].astype(np.float64)
    counts[-1] = n = max(1, round(float(counts[-1])))
    deviation = joint.noise_deviation[:-1]
    return replace(joint, grid=grid, counts=counts, n=n, noise_deviation=deviation)
