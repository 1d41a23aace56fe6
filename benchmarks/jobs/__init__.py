"""The jobs: a file for each family of them, which ends in ``JOBS``.

Why they are as fast as they are is in reasons.toml.
"""

from __future__ import annotations

from ..reasons import explained
from . import (
    checks,
    clients,
    counts,
    engines,
    first_use,
    function_sharing,
    groups,
    hierarchy,
    isotonic,
    legendre,
    local,
    medians,
    models,
    noise,
    partitions,
    polya,
    polynomial,
    prefix,
    queries,
    release,
    residuals,
    roc,
    selection,
    smoothing,
    square_wave,
    streams,
    studies,
    subsets,
    survival,
    tables,
    trees,
    vector_sum,
)

JOBS = explained(
    (
        *counts.JOBS,
        *partitions.JOBS,
        *engines.JOBS,
        *legendre.JOBS,
        *noise.JOBS,
        *trees.JOBS,
        *hierarchy.JOBS,
        *prefix.JOBS,
        *streams.JOBS,
        *queries.JOBS,
        *polynomial.JOBS,
        *smoothing.JOBS,
        *isotonic.JOBS,
        *release.JOBS,
        *groups.JOBS,
        *tables.JOBS,
        *residuals.JOBS,
        *first_use.JOBS,
        *selection.JOBS,
        *medians.JOBS,
        *roc.JOBS,
        *survival.JOBS,
        *checks.JOBS,
        *models.JOBS,
        *polya.JOBS,
        *vector_sum.JOBS,
        *local.JOBS,
        *subsets.JOBS,
        *square_wave.JOBS,
        *clients.JOBS,
        *function_sharing.JOBS,
        *studies.JOBS,
    )
)

# The README's rows, in this order; all others are in docs/measured/benchmarks.md.
README = (
    "count-uniform",
    "laplace",
    "gaussian",
    "dyadic",
    "release",
    "smooth-2",
    "smooth-1",
    "isotonic",
    "roc",
    "local-1",
)
