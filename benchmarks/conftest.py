"""``pytest benchmarks --small``: each contender once on a small size, with its answer checked."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--small``, which needs no pytest-benchmark, and takes no times."""
    what = "run each contender once on a small size, and check its answer; no times"
    parser.addoption("--small", action="store_true", help=what)
