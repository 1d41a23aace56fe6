"""What tests of budgets in files share."""

from __future__ import annotations

import pytest


@pytest.fixture
def path(tmp_path):
    """Where a budget's file may be made."""
    return tmp_path / "budget.sqlite"
