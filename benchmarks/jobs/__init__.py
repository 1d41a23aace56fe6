"""The jobs: a file for each family of them, which ends in ``JOBS``."""

from __future__ import annotations

from . import counts, hierarchy, isotonic, noise, prefix, release, smoothing

JOBS = (
    *counts.JOBS,
    *noise.JOBS,
    *hierarchy.JOBS,
    *prefix.JOBS,
    *smoothing.JOBS,
    *isotonic.JOBS,
    *release.JOBS,
)
