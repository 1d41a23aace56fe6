"""Cells: what parameters may be, what tables call them, and where generators come from."""

from __future__ import annotations

import enum
import functools

import numpy as np
import pandas as pd
import pytest

from dpcore import errors, studies
from dpcore.mechanisms import Dyadic
from dpcore.studies.cells import values_of
from dpcore.studies.tables import labels_column


class Kind(enum.IntEnum):
    SMALL = 3


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (1e3, 1000),
        (np.float64(0.5), 0.5),
        (np.int8(-3), -3),
        (-0.0, 0),
        (2.0**60, 2.0**60),
        (float("inf"), float("inf")),
        (True, True),
        (np.True_, True),
        (None, None),
        (np.str_("a"), "a"),
        (Kind.SMALL, 3),
        (Dyadic, "Dyadic"),
        (np.mean, "mean"),
        (len, "len"),
    ],
)
def test_one_value_needs_no_list_and_has_a_label(value, label):
    ((known, kept),) = values_of("n", value).items()
    assert (type(known), known) == (type(label), label)
    assert values_of("n", [value]) == {label: kept}


@pytest.mark.parametrize(
    "given", [range(3), np.arange(3), pd.Series([0, 1, 2]), pd.Index([0, 1, 2]), (0, 1, 2)]
)
def test_sequences_of_all_kinds_hold_values(given):
    assert list(values_of("n", given)) == [0, 1, 2]


UNLABELLED = [lambda e: e, (1, 2), b"x", object(), 1j, np.ones(2), {1}, pd.NaT, [1]]
UNLABELLED += [np.timedelta64(1, "ns")]
UNSTORED = [float("nan"), 2**63, -(10**5000), "\udc00"]


@pytest.mark.parametrize("at", range(14))
def test_what_has_no_label_or_cannot_be_in_a_table_is_refused(at):
    value = [*UNSTORED, *UNLABELLED][at]
    error = errors.ParameterError if at < len(UNSTORED) else errors.DtypeError
    with pytest.raises(error, match="parameters"):
        values_of("n", [value])


@pytest.mark.parametrize(
    "given",
    [
        *([], {}, np.empty(0), range(0)),
        *([1, 1.0], [1, True], [0, False], ["a", "a"], [0.0, -0.0]),
    ],
)
def test_a_parameter_has_values_that_differ(given):
    with pytest.raises(errors.ParameterError, match="parameters"):
        values_of("n", given)


@pytest.mark.parametrize("size", [2**62, 2**70])
def test_a_range_that_no_memory_holds_is_refused(size):
    with pytest.raises(errors.ParameterError, match=r"parameters.* must hold at most"):
        values_of("n", range(size))


def f(a, rng, b=0):
    return {"x": rng.random() + b}


def test_the_key_of_a_cell_is_that_of_its_labels():
    """So whatever order parameters have, or other cells: the numbers of a cell are its own."""
    cells = studies.Study(f, {"a": [1, 2], "b": [3]}).by_key
    assert cells.keys() == studies.Study(f, {"b": 3.0, "a": {2: "two", 1: "one"}}).by_key.keys()
    assert cells.keys() < studies.Study(f, {"a": [0, 1, 2], "b": [3, 4]}).by_key.keys()


def test_keys_and_generators_are_what_they_were():
    """Tables that are kept are continued: these never change."""
    study = studies.Study(f, {"a": [1, 0.5, "x", None]})
    keys = [*("f9d86028", "b8e45f82", "79b5877c", "6d00cd8e")]
    assert [cell.key[:8] for cell in study.cells] == keys
    drawn = study.rng(study.cells[0], 7, 3).integers(2**32, size=2)
    assert drawn.tolist() == [2835981533, 835516277]


def test_generators_are_children_of_the_seed_by_cell_and_call():
    study = studies.Study(f, {"a": [1, 2]})
    one, two = study.cells
    seeds = [(one, 0, 3), (one, 1, 3), (two, 0, 3), (one, 0, 4), (one, 2**32, 3)]
    assert len({study.rng(*seed).random() for seed in seeds}) == len(seeds)
    child = np.random.SeedSequence(3, spawn_key=(int(one.key, 16), 1))
    assert study.rng(one, 1, 3).random() == np.random.default_rng(child).random()


@pytest.mark.parametrize(
    ("function", "parameters", "error", "match"),
    [
        (f, {"a": 1, "c": 2}, errors.ParameterError, "function must take a, c, rng"),
        (f, {"b": 1}, errors.ParameterError, "function must take b, rng"),
        (f, {"a": 1, "rng": 2}, errors.ParameterError, "'rng'"),
        (f, {"a": 1, "cell": 2}, errors.ParameterError, "'cell'"),
        (f, {"a": 1, "mean": 2}, errors.ParameterError, "'mean'"),
        (f, {"a": 1, "quantity": 2}, errors.ParameterError, "'quantity'"),
        (f, {"a": 1, "b c": 2}, errors.ParameterError, "'b c'"),
        (f, [{"a": [1, 2]}, {"a": [2, 3]}], errors.ParameterError, "parameters.* twice"),
        (f, [], errors.ParameterError, "parameters"),
        (f, {"a": range(10**4), "b": range(10**4)}, errors.ParameterError, "at most 10000000"),
        (f, 1, errors.DtypeError, "parameters"),
        (f, "a", errors.DtypeError, "parameters"),
        (1, {"a": 1}, errors.DtypeError, "function"),
        (int, {"a": 1}, errors.DtypeError, "function"),
        (studies.Study(f, {"a": 1}), {"a": 1}, errors.DtypeError, "function"),
    ],
)
def test_what_is_no_study_is_refused_when_it_is_made(function, parameters, error, match):
    with pytest.raises(error, match=match):
        studies.Study(function, parameters)


class Callable:
    def __call__(self, a, rng):
        return {"x": rng.random()}

    def method(self, a, rng):
        return {"x": rng.random()}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (f, "f"),
        (Callable(), "Callable"),
        (Callable().method, "method"),
        (functools.partial(functools.partial(f, b=1), b=2), "f"),
        (functools.partial(Callable()), "Callable"),
        (lambda a, rng: {"x": rng.random()}, "<lambda>"),
    ],
)
def test_whatever_can_be_called_is_a_study_and_has_a_name(function, name):
    study = studies.Study(function, {"a": [1, 2]})
    assert study.name == name
    results = studies.run(study, replicates=2, seed=1)
    assert results.array("x")[1, 1] == study.replay(1, 1, a=2)["x"]


def test_over_changes_values_and_nothing_else():
    study = studies.Study(f, [{"a": [1, 2]}, {"a": [3], "b": [4]}])
    assert [str(cell) for cell in study.over(b=[5, 6]).cells] == [
        *("a=1", "a=2", "a=3, b=5", "a=3, b=6")
    ]
    with pytest.raises(errors.ParameterError, match="'c'"):
        study.over(c=1)


def test_the_code_of_values_is_told_apart_from_that_of_the_function():
    def study(**made):
        return studies.Study(f, {"a": made, "b": [1, 2]})

    one = study(x=lambda: 1, y=2)
    assert one.code.keys() == {"code", "packages", "a='x'", "a='y'"}
    added = study(x=lambda: 1, y=2, z=3)
    assert one.code.items() < added.code.items()
    other = study(x=lambda: 7, y=2)
    assert {name for name in one.code if one.code[name] != other.code[name]} == {"a='x'"}
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "parameters",
    [
        {"a": ["1", 1]},
        {"a": [True, "True"]},
        {"a": [0.5, 2**53, 2**53 + 1]},
        [{"a": "1"}, {"a": 1}],
    ],
)
def test_labels_that_are_the_same_in_tables_are_refused(parameters):
    with pytest.raises(errors.ParameterError, match=r"parameters\['a'\] must have labels that"):
        studies.Study(lambda a, rng: {"x": 0.0}, parameters)


@pytest.mark.parametrize("nothing", [[None], {None: 5}, ["u", None]])
def test_none_is_no_label_beside_cells_without_the_parameter(nothing):
    """Tables would show both as null: two cells with the same labels."""

    def f(a, rng, b=None):
        return {"x": rng.random()}

    with pytest.raises(errors.ParameterError, match=r"parameters\['b'\] must have another label"):
        studies.Study(f, [{"a": 1}, {"a": 1, "b": nothing}])
    assert len(studies.Study(f, [{"a": 1}, {"a": 1, "b": {"none": None}}]).cells) == 2
    assert len(studies.Study(f, {"a": 1, "b": nothing}).cells) == len(nothing)


def test_replay_repeats_a_call():
    study = studies.Study(f, {"a": {"x": 1, "y": 2}, "b": [0, 10]})
    results = studies.run(study, replicates=3, seed=5)
    assert study.replay(2, 5, a="y", b=10)["x"] == results.array("x", a="y", b=10)[2]
    with pytest.raises(errors.ParameterError, match="labels"):
        study.replay(2, 5, a="z", b=10)
    with pytest.raises(errors.ParameterError, match="call"):
        study.replay(-1, 5, a="y", b=10)


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        ([1, None, 0.5], "double", [1.0, None, 0.5]),
        ([1, 2**62], "int64", [1, 2**62]),
        (["a", 1, None], "string", ["a", "1", None]),
        ([True, 2], "string", ["True", "2"]),
        ([True, None], "bool", [True, None]),
        ([None], "null", [None]),
    ],
)
def test_labels_of_several_types_have_one_column(labels, kind, expected):
    column = labels_column(labels)
    assert (str(column.type), column.to_pylist()) == (kind, expected)
