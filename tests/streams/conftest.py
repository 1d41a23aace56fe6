"""What tests of streams share: mechanisms that many seeds use are prepared once."""

from __future__ import annotations

from functools import cache

import pytest

from dpcore.streams import BufferedToeplitz


@pytest.fixture
def lattices_once(monkeypatch):
    """The lattice of a mechanism, which takes longer than all of its noise, is found once."""
    monkeypatch.setattr(BufferedToeplitz, "_lattice", cache(BufferedToeplitz._lattice))
