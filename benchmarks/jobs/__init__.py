"""The jobs: a file for each family of them, which ends in ``JOBS``."""

from __future__ import annotations

from . import (
    counts,
    hierarchy,
    isotonic,
    legendre,
    noise,
    polynomial,
    prefix,
    queries,
    release,
    selection,
    smoothing,
)

JOBS = (
    *counts.JOBS,
    *legendre.JOBS,
    *noise.JOBS,
    *hierarchy.JOBS,
    *prefix.JOBS,
    *queries.JOBS,
    *polynomial.JOBS,
    *smoothing.JOBS,
    *isotonic.JOBS,
    *release.JOBS,
    *selection.JOBS,
)
