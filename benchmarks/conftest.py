"""Peers are skipped by name where they are not installed; kernels compile outside the timer."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def peer():
    """Import a peer, or skip the job that needs it, saying which."""

    def load(name: str):
        try:
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f'{name} is not installed: pip install "dpcore[bench]"')

    return load


@pytest.fixture
def measure(benchmark):
    """Time a call: one warm-up (which compiles), then rounds until the median means something."""

    def run(job, rounds: int = 9):
        return benchmark.pedantic(job, rounds=rounds, warmup_rounds=1, iterations=1)

    return run
