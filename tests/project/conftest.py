"""What tests of the project share: a budget that sees everything, and modules of scripts/."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from dpcore.privacy.spending import entered, left


class Everything:
    """Watches for all relations at once, and has no cap."""

    _key = "test", ""
    neighbours = "replace-one"

    def __init__(self):
        self.charged = []

    def _asked(self, privacy, what, stack):
        return lambda: self.charged.append((what, privacy))


@pytest.fixture
def watching():
    everything = Everything()
    entered(everything, everywhere=True)
    yield everything
    left(everything, everywhere=True)


@pytest.fixture
def script(monkeypatch):
    """Import a module of scripts/ by its name; data sets are not looked for."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    monkeypatch.delenv("DPCORE_DATA", raising=False)
    return importlib.import_module


@pytest.fixture
def paper(script):
    """Import a part of the papers' figures by its name."""
    return lambda name: script(f"papers.{name}")


@pytest.fixture
def study(script):
    """Import a study behind a page by its name."""
    return lambda name: script(f"studies.{name}")


@pytest.fixture
def rng():
    return np.random.default_rng(1)
