"""Errors of released distribution functions, by the mechanism.

Shows where each mechanism is better. The hierarchy's error is the same number of records for any
n and shape. DAWA's error depends on them, and is smaller if n epsilon is small for the grid
(docs/measured/plan.md, docs/proofs/dawa.md). The records follow the shape exactly, so only the
noise is random.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...kernels.smoothing.isotonic import isotonic
from ...mechanisms import Dawa, Dyadic, Hierarchy, Mechanism
from .. import study
from ._shapes import MOST_CELLS, MOST_RECORDS, SHAPES, Shape

__all__ = ["cdf"]

MECHANISMS = {"hierarchy": Hierarchy, "dyadic": Dyadic, "dawa": Dawa}


@study(
    {
        "n": [1_000, 100_000],
        "epsilon": [0.1, 1.0],
        "cells": [1024],
        "shape": SHAPES,
        "mechanism": MECHANISMS,
    },
    batch=20,
)
def cdf(
    n: int,
    epsilon: float,
    cells: int,
    shape: Shape,
    mechanism: Callable[[float], Mechanism],
    rng: np.random.Generator,
    replicates: int,
) -> Mapping[str, NDArray[np.float64]]:
    """Errors of released distribution functions, by the mechanism.

    Over the thresholds, as shares of n: ``raw_error`` is the root mean square of the curve as it
    is released, ``error`` is the same for the monotone curve, and ``largest_error`` is its largest.
    """
    n = _check.integer("n", n, 1, MOST_RECORDS)
    truth = np.rint(n * np.cumsum(shape(_check.integer("cells", cells, 1, MOST_CELLS))))
    counts = np.diff(truth, prepend=0.0).astype(np.int64)
    released = mechanism(epsilon).release(counts, rng=rng, replicates=replicates, workers=1)
    curves = released.astype(np.float64)
    raw = (curves - truth) / n
    for row in curves:  # changes the rows in place
        isotonic(row[np.newaxis, :-1], 0.0, float(n))
    errors = np.abs(curves - truth) / n
    return {
        "raw_error": np.sqrt(np.mean(raw**2, axis=1)),
        "error": np.sqrt(np.mean(errors**2, axis=1)),
        "largest_error": errors.max(axis=1),
    }
