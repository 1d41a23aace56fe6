"""Arrays of results, for parameters of all shapes; and intervals of few or undefined numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from dpcore import errors, studies


def draw(rng, **parameters):
    return {"x": rng.random(), "at": rng.random(2)}


def tuned(rng, n=1, **parameters):
    return {"x": rng.random(n)}


SHAPES = {
    "none": ({}, ()),
    "one value": ({"a": 1}, ()),
    "one list": ({"a": [3, 1, 2]}, (3,)),
    "one of one value": ({"a": [3, 1, 2], "b": "only"}, (3,)),
    "three": ({"a": [2, 1], "b": ["y", "x", "z"], "c": [True, False]}, (2, 3, 2)),
    "labels": ({"a": {"two": (1, 2), "none": None}, "b": [None, 0.5, np.mean]}, (2, 3)),
    "a list of cells": ([{"a": a, "b": b} for a, b in ((1, 1), (2, 2), (1, 2), (2, 1))], (2, 2)),
    "blocks that are a grid": ([{"b": [1, 2], "a": 1}, {"a": [2, 3], "b": [2, 1]}], (2, 3)),
    "more than Python counts": ({"a": range(70), "b": range(3)}, (70, 3)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_arrays_hold_what_calls_return_where_their_labels_are(shape):
    parameters, expected = SHAPES[shape]
    study = studies.Study(draw, parameters)
    results = studies.run(study, replicates=2, seed=1)
    x, at = results.array("x"), results.array("at")
    assert (x.shape, at.shape) == ((*expected, 2), (*expected, 2, 2))
    axes = [labels for labels in results.parameters.values() if len(labels) > 1]
    names = [name for name, labels in results.parameters.items() if len(labels) > 1]
    for cell in study.cells:
        place = tuple(axis.index(cell.labels[name]) for name, axis in zip(names, axes, strict=True))
        for call in range(2):
            found = study.replay(call, 1, **cell.labels)
            assert x[place][call] == found["x"]
            assert np.array_equal(at[place][call], found["at"])
        assert np.array_equal(results.array("x", **cell.labels), x[place])


def test_arrays_of_other_lengths_are_chosen_one_by_one():
    results = studies.run(studies.Study(tuned, {"n": [1, 3]}), replicates=4, seed=1)
    assert results.array("x", n=3).shape == (4, 3)
    with pytest.raises(errors.ParameterError, match="must be known for all combinations"):
        results.array("x")


def test_cells_that_are_known_more_often_are_no_array(tmp_path):
    study = studies.Study(draw, {"a": [1, 2]})
    studies.run(study, replicates=2, seed=1, out=tmp_path)
    studies.run(study.over(a=2), replicates=3, out=tmp_path)
    results = studies.load(tmp_path)
    with pytest.raises(errors.ParameterError, match="equally often for each"):
        results.array("x")
    assert results.array("x", a=2).shape == (3,)


def test_results_of_some_rows_of_a_table():
    table = studies.run(studies.Study(draw, {"a": [1, 2]}), replicates=3, seed=1).table
    some = studies.Results(table.slice(0, 3))
    assert some.array("x", a=1).tolist() == table.column("x").to_pylist()[:3]
    with pytest.raises(errors.ParameterError, match="must be known for all combinations"):
        some.array("x")
    assert studies.Results(table.slice(0, 0)).summary().num_rows == 0


@pytest.mark.parametrize("known", [2, 5])
def test_intervals_are_of_the_replicates_that_are_defined(known):
    values = np.array([0.5, 0.1, 7.0, 2.0, -1.0, *([np.nan] * 6)])[[*range(known), *range(5, 11)]]
    study = studies.Study(lambda rng, replicates: {"x": values}, {}, batch=len(values))
    (row,) = studies.run(study, replicates=len(values), seed=1).summary(level=0.8).to_pylist()
    interval = scipy.stats.ttest_1samp(values[:known], 0).confidence_interval(0.8)
    assert (row["mean_low"], row["mean_high"]) == pytest.approx(tuple(interval))
    assert (row["replicates"], row["undefined"]) == (known + 6, 6)


def test_cells_without_a_parameter_are_not_those_where_it_is_none():
    study = studies.Study(draw, [{"a": 1}, {"a": 1, "b": [None, 2]}])
    results = studies.run(study, replicates=2, seed=1)
    found = study.replay(0, 1, a=1, b=None)["x"], study.replay(1, 1, a=1, b=None)["x"]
    assert results.array("x", b=None).tolist() == list(found)
