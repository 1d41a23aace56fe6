"""The modules whose `__all__` is public, and all that a user may call in them."""

from __future__ import annotations

import importlib
import inspect

ROOMS = (
    "dpcore",
    "dpcore.curves.distances",
    "dpcore.mechanisms",
    "dpcore.models",
    "dpcore.noise",
    "dpcore.privacy",
    "dpcore.records.files",
    "dpcore.statistics",
    "dpcore.statistics.classifier",
    "dpcore.streams",
    "dpcore.studies",
    "dpcore.testing",
    "dpcore.trust",
    "dpcore.trust.comparison",
    "dpcore.trust.functions",
)


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
