"""Pictures of tests have no windows, and do not pile up."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("Agg")
    yield
    plt.close("all")
