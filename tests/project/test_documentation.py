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


def parameters(doc):
    """What a docstring says of each parameter, by name."""
    section = re.search(r"Parameters\n *-+\n(.*?)(?=\n\n|\Z)", inspect.cleandoc(doc or ""), re.S)
    found = re.findall(r"^(\w.*)\n((?: .*\n?)*)", section[1] if section else "", re.M)
    return {name: text for names, text in found for name in names.split(", ")}


def test_no_argument_that_has_to_be_given_is_said_to_have_a_default():
    assert "None: 1,024 cells" in parameters(dp.roc_curve.__doc__)["grid"]
    for function in filter(inspect.isfunction, described()):
        said = parameters(function.__doc__)
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is parameter.empty and "None" not in str(parameter.annotation):
                assert "None:" not in said.get(name, ""), (function, name)


def test_projections_are_not_said_to_be_released_for_epsilon_alone():
    said = parameters(dp.project.__doc__)["epsilon"]
    assert "pure" not in said
    assert "pure" in parameters(dp.cdf.__doc__)["epsilon"]
