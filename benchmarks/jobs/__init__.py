"""The jobs: a file for each family of them, which ends in ``JOBS``."""

from __future__ import annotations

from . import counts, isotonic, noise, release, smoothing

JOBS = (*counts.JOBS, *noise.JOBS, *smoothing.JOBS, *isotonic.JOBS, *release.JOBS)
