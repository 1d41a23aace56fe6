"""Cumulative incidences of several kinds of events from cumulative counts, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hazards import at_risk, classes_of_row

__all__ = ["incidence_of"]

Reals = NDArray[np.float64]


def incidence_of(row: NDArray[Any], cells: int, *, whole: bool) -> tuple[Reals, Reals]:
    """Return the incidence of each kind, (..., K, N), and survival, (..., N), at the thresholds.

    This is the estimate of Aalen & Johansen (1978): of those who had no event before a cell, each
    kind takes its share of those at risk. Incidences and survival add up to 1.

    Parameters
    ----------
    row
        (..., (K + 1) N) monotone cumulative counts, as ``classes_of_row`` takes them.
    cells
        N.
    whole
        Whether records lie at thresholds: then the censorings of a cell come after its events.
        Otherwise half of them count as at risk in it, but for those of the last cell, who are at
        its end.
    """
    kinds, censored = classes_of_row(row, cells)
    own = np.diff(kinds, axis=-1, prepend=0.0)
    exposed = at_risk(kinds.sum(axis=-2), censored, row[..., -1:])
    if not whole:
        exposed[..., :-1] -= np.diff(censored, axis=-1, prepend=0.0)[..., :-1] / 2
    exposed = exposed[..., np.newaxis, :]
    shares = np.divide(own, exposed, out=np.zeros_like(own), where=exposed > 0.0)
    shares = np.clip(shares, 0.0, 1.0)
    survival = np.cumprod(1.0 - np.minimum(shares.sum(axis=-2), 1.0), axis=-1)
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    incidence = np.cumsum(before[..., np.newaxis, :] * shares, axis=-1)
    return np.minimum(incidence, 1.0), survival
