"""The jobs: a file for each family of them, which ends in ``JOBS``."""

from __future__ import annotations

from . import (
    checks,
    clients,
    counts,
    hierarchy,
    isotonic,
    legendre,
    local,
    medians,
    noise,
    polya,
    polynomial,
    prefix,
    queries,
    release,
    roc,
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
    *medians.JOBS,
    *roc.JOBS,
    *checks.JOBS,
    *polya.JOBS,
    *local.JOBS,
    *clients.JOBS,
)
