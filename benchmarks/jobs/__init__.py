"""The jobs: a file for each family of them, which ends in ``JOBS``."""

from __future__ import annotations

from . import counts, hierarchy, isotonic, noise, release, smoothing

JOBS = (
    *counts.JOBS,
    *noise.JOBS,
    *hierarchy.JOBS,
    *smoothing.JOBS,
    *isotonic.JOBS,
    *release.JOBS,
)
