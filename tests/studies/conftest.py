"""What all tests of studies share: a warning that nobody waits for is an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from dpcore import studies
from dpcore.studies import keeping, plan


@pytest.fixture(autouse=True)
def _warnings_of_studies_are_errors() -> Iterator[None]:
    """Others of dpcore are ignored in all tests: most are of few records."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", studies.StudyWarning)
        yield


@pytest.fixture
def each_call_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call is a task, and is written when it comes back."""
    monkeypatch.setattr(keeping, "_KEPT", -1.0)
    monkeypatch.setattr(plan, "_SECONDS", 0.0)
