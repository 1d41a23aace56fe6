"""What all tests of studies share: a warning that nobody waits for is an error."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from dpcore import studies


@pytest.fixture(autouse=True)
def _warnings_of_studies_are_errors() -> Iterator[None]:
    """Others of dpcore are ignored in all tests: most are of few records."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", studies.StudyWarning)
        yield
