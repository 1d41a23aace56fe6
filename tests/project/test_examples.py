"""Every public function, class and method has an example, and the example shows numbers."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re

import pytest

from tests.project.public_rooms import ROOMS


def callables():
    """All that a user may call, by the name it has where it is written; errors apart."""
    found = {}
    for room in map(importlib.import_module, ROOMS):
        for public in (getattr(room, name) for name in room.__all__):
            if inspect.isclass(public) and not issubclass(public, Exception):
                found |= {name_of(public): public} | methods(public)
            elif inspect.isfunction(public):
                found[name_of(public)] = public
    return found


def methods(public):
    """The methods that a class has from dpcore, its parents' among them; not its properties."""
    found = {}
    for parent in public.__mro__:
        if parent.__module__.startswith("dpcore"):
            for name, value in vars(parent).items():
                method = getattr(value, "__func__", value)
                if not name.startswith("_") and inspect.isfunction(method):
                    found[f"{parent.__module__}.{parent.__qualname__}.{name}"] = method
    return found


def name_of(public):
    return f"{public.__module__}.{public.__qualname__}"


def shown(docstring):
    """What the examples in a docstring print."""
    return "".join(each.want for each in doctest.DocTestParser().get_examples(docstring))


CALLABLES = callables()


def has_numbers(called):
    docstring = inspect.cleandoc(called.__doc__ or "")
    headed = "\nExamples\n--------\n" in docstring
    return headed and re.search(r"\d", shown(docstring)) is not None


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_has_an_example_that_shows_numbers(name):
    assert has_numbers(CALLABLES[name])


def test_no_example_asks_whether_what_it_does_not_show_is_right():
    assert len(CALLABLES) > 300
    asking = [name for name, called in CALLABLES.items() if ">>> bool(" in (called.__doc__ or "")]
    assert asking == []
