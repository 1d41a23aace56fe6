"""Every public function and method has an example, and the example shows numbers."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re

import pytest

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
    "dpcore.trust",
    "dpcore.trust.comparison",
)

# Modules whose examples are still to be written.
NOT_DONE = {
    "dpcore.mechanisms.adaptive",
    "dpcore.mechanisms.base",
    "dpcore.mechanisms.budgeted",
    "dpcore.mechanisms.dawa",
    "dpcore.mechanisms.dyadic",
    "dpcore.mechanisms.hierarchy",
    "dpcore.mechanisms.no_noise",
    "dpcore.mechanisms.polynomial",
    "dpcore.mechanisms.queries",
    "dpcore.mechanisms.selection",
    "dpcore.mechanisms.simulated_deviation",
    "dpcore.mechanisms.toeplitz",
    "dpcore.models.linear_regression",
    "dpcore.models.logistic_regression",
    "dpcore.noise.laws",
    "dpcore.statistics.bayesian_binning",
    "dpcore.statistics.binning",
    "dpcore.statistics.calibration",
    "dpcore.statistics.calibrators",
    "dpcore.statistics.hosmer_lemeshow",
    "dpcore.statistics.roc",
    "dpcore.statistics.score_histograms",
    "dpcore.streams.running_count",
    "dpcore.studies.results",
    "dpcore.studies.runner",
    "dpcore.studies.study",
    "dpcore.trust.advice",
    "dpcore.trust.comparison.evaluation",
    "dpcore.trust.comparison.generation",
    "dpcore.trust.comparison.keys",
    "dpcore.trust.comparison.layout",
    "dpcore.trust.contributions",
    "dpcore.trust.models.central",
    "dpcore.trust.models.distributed",
    "dpcore.trust.models.function_sharing",
    "dpcore.trust.models.local",
    "dpcore.trust.models.square_wave",
    "dpcore.trust.models.tree_of_shares",
    "dpcore.trust.pointwise.aggregators",
    "dpcore.trust.pointwise.clients",
    "dpcore.trust.pointwise.curve",
    "dpcore.trust.pointwise.sums",
    "dpcore.trust.protocol.agreement",
    "dpcore.trust.protocol.answers",
    "dpcore.trust.protocol.clients",
    "dpcore.trust.protocol.curves",
    "dpcore.trust.protocol.enrolment",
    "dpcore.trust.protocol.parameters",
    "dpcore.trust.protocol.partial_sums",
    "dpcore.trust.protocol.servers",
}

# What needs none, and why.
EXCEPT = {"dpcore.summaries.grid.Grid.refuse_times": "it returns nothing, and raises"}


def callables():
    """All that a user may call, by the name it has where it is written: functions and methods."""
    found = {}
    for room in map(importlib.import_module, ROOMS):
        for public in (getattr(room, name) for name in room.__all__):
            if inspect.isclass(public):
                found |= methods(public)
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


def name_of(function):
    return f"{function.__module__}.{function.__qualname__}"


def shown(docstring):
    """What the examples in a docstring print."""
    return "".join(each.want for each in doctest.DocTestParser().get_examples(docstring))


CALLABLES = callables()
DONE = [name for name, called in CALLABLES.items() if called.__module__ not in NOT_DONE]


def has_numbers(called):
    docstring = inspect.cleandoc(called.__doc__ or "")
    headed = "\nExamples\n--------\n" in docstring
    return headed and re.search(r"\d", shown(docstring)) is not None


@pytest.mark.parametrize("name", sorted({*DONE} - {*EXCEPT}))
def test_has_an_example_that_shows_numbers(name):
    assert has_numbers(CALLABLES[name])


@pytest.mark.parametrize("module", sorted(NOT_DONE))
def test_what_is_done_is_not_said_to_be_left(module):
    named = [called for called in CALLABLES.values() if called.__module__ == module]
    assert not all(map(has_numbers, named))


def test_exceptions_are_needed():
    assert {*EXCEPT} <= {*CALLABLES}
    assert not [name for name in EXCEPT if has_numbers(CALLABLES[name])]
