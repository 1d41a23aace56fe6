"""Pictures without windows."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest


@pytest.fixture
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")
