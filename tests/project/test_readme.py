"""The examples of the README run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_output_in_the_readme():
    readme = ROOT / "README.md"
    found = doctest.testfile(str(readme), module_relative=False)
    assert found.attempted == 10
    assert found.failed == 0
