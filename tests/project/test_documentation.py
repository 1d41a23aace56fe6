"""Descriptions that are written once are in the docstrings of all that have the parameter."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import dpcore as dp
from dpcore._documentation import documented


def described():
    """All functions and classes of the package, with those in classes."""
    for module in pkgutil.walk_packages(dp.__path__, "dpcore."):
        if module.name.startswith("dpcore.kernels") or module.name.endswith("__main__"):
            continue
        for thing in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield thing
            if inspect.isclass(thing):
                yield from filter(inspect.isfunction, vars(thing).values())


def test_no_name_of_a_paragraph_is_left():
    left = [each for each in described() if re.search(r"^ *\{\w+\}$", each.__doc__ or "", re.M)]
    assert left == []


def test_help_shows_them_in_full():
    for verb in (dp.cdf, dp.roc_curve, dp.hosmer_lemeshow, dp.quantiles, dp.project):
        text = " ".join(verb.__doc__.split())
        assert "noise from a cryptographic source. A NumPy generator is for studies" in text
        assert '"raise", before anything is spent, or "omit" them' in text


def test_paragraphs_are_indented_like_their_names():
    @documented
    def function():
        """Do.

        Parameters
        ----------
        rng
            {rng}
        """

    lines = function.__doc__.splitlines()
    assert len(lines) > 7
    assert all(line.startswith(" " * 12) and len(line) <= 100 for line in lines[5:-1])


def test_without_docstrings_nothing_happens():
    def function():
        pass

    assert documented(function).__doc__ is None
