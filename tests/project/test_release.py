"""What a release says of itself is the same wherever it is said; nothing is built here."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import dpcore as dp

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = ROOT / ".github" / "workflows"


def test_the_version_is_the_same_everywhere(script):
    assert set(script("releasing.metadata").versions().values()) == {dp.__version__}


def test_supported_pythons_are_the_same_everywhere(script):
    supported = script("releasing.metadata").supported()
    oldest, newest = supported[0], supported[-1]
    first, last = (int(each.removeprefix("3.")) for each in (oldest, newest))
    assert supported == [f"3.{minor}" for minor in range(first, last + 1)]
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    assert f"Python {oldest} to {newest}" in (ROOT / "README.md").read_text("utf-8")
    checks = (WORKFLOWS / "checks.yml").read_text("utf-8")
    assert f'python: ["{oldest}", "{newest}"]' in checks  # on every system
    assert set(re.findall(r'"(3\.\d+)"', checks)) == set(supported)
    release = (WORKFLOWS / "release.yml").read_text("utf-8")
    assert set(re.findall(r"^ +(3\.\d+)$", release, re.MULTILINE)) == set(supported)


def test_this_python_is_found_and_one_that_is_not_there_is_not(script, monkeypatch):
    installs = script("releasing.installs")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("PYENV_ROOT", "nowhere")
    assert installs.pythons() == {installs.this_python(): sys.executable}


LINKED = (
    "![A *picture*](docs/a.png)\n\nSee [this](docs/a.md#b), [that](https://x.org) and [it](#c).\n"
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (None, "See this, [that](https://x.org) and [it](#c).\n"),
        (
            "https://x.org/d",
            "![A *picture*](https://x.org/d/raw/HEAD/docs/a.png)\n\nSee"
            " [this](https://x.org/d/blob/HEAD/docs/a.md#b), [that](https://x.org) and [it](#c).\n",
        ),
    ],
)
def test_the_description_has_no_relative_links(source, expected):
    assert runpy.run_path(str(ROOT / "setup.py"))["description"](LINKED, source) == expected
