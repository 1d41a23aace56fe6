"""The reference of the site has every public name, once."""

from __future__ import annotations

import collections
import importlib
import inspect
import sys
from pathlib import Path

import pytest

from tests.project.public_rooms import ROOMS

SITE = Path(__file__).parents[2] / "scripts" / "site"


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    yield importlib.import_module("reference")
    sys.modules.pop("reference")


def home(path):
    """What a name means, so that a class is the same wherever it may be imported from."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    return value if inspect.isclass(value) or inspect.isfunction(value) else path


def public_names():
    """The full names of all that is public, but for modules."""
    for room in map(importlib.import_module, ROOMS):
        for name in room.__all__:
            if not inspect.ismodule(getattr(room, name)):
                yield f"{room.__name__}.{name}"


def test_every_public_name_is_on_one_page(reference):
    shown = collections.Counter(home(path) for page in reference.PAGES for path in page.paths())
    assert [each for each, times in shown.items() if times > 1] == []
    assert {home(path) for path in public_names()} == set(shown)


def test_every_page_is_in_the_menu(reference):
    menu = (SITE / "mkdocs.yml").read_text("utf-8")
    files = {page.file for page in reference.PAGES} | {"index", "command-line"}
    assert {name for name in files if f" reference/{name}.md\n" not in menu} == set()


def test_the_command_line_is_there(reference):
    page = reference.command_line()
    assert "## dpcore cdf\n" in page
    assert "--epsilon" in page
