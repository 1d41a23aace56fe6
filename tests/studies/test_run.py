"""Runs: which numbers a table has, whatever the order in which they are made."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dpcore as dp
from dpcore import errors, studies
from dpcore.studies import plan
from tests.studies.alike import content, same


def draw(n, shape, rng):
    return {"mean": rng.normal(size=n).mean(), "first": rng.random(shape), "whole": n}


STUDY = studies.Study(draw, {"n": [1, 20], "shape": {"pair": 2, "triple": 3}})


def test_a_table_has_what_the_calls_return():
    results = studies.run(STUDY, replicates=7, seed=3)
    for cell in STUDY.cells:
        for call in range(7):
            expected = draw(**cell.values, rng=STUDY.rng(cell, call, 3))
            for name, value in expected.items():
                assert np.array_equal(results.array(name, **cell.labels)[call], value)


def test_a_run_without_a_seed_has_one_of_its_own():
    one, two = (studies.run(STUDY, replicates=1) for _ in range(2))
    assert one.seed != two.seed
    assert same(one, studies.run(STUDY, replicates=1, seed=one.seed))


def test_memory_folder_and_what_is_loaded_are_alike(tmp_path):
    kept = studies.run(STUDY, replicates=5, seed=3, out=tmp_path / "a" / "b")
    assert same(kept, studies.run(STUDY, replicates=5, seed=3))
    assert same(kept, studies.load(tmp_path / "a" / "b"))
    assert same(kept, studies.run(STUDY, replicates=5, out=tmp_path / "a" / "b"))


def test_more_replicates_or_cells_later_are_as_many_at_once(tmp_path):
    few = studies.run(STUDY, replicates=20, seed=3, out=tmp_path / "later")
    more = studies.run(STUDY, replicates=50, out=tmp_path / "later")
    assert len(few) == 80 < len(more) == 200
    assert same(few, studies.run(STUDY, replicates=20, out=tmp_path / "later"))
    wider = STUDY.over(n=[1, 5, 20])
    added = studies.run(wider, replicates=50, out=tmp_path / "later")
    studies.run(wider, replicates=50, seed=3, out=tmp_path / "once")
    assert content(tmp_path / "later") == content(tmp_path / "once")
    for n in (1, 20):
        before = studies.run(STUDY.over(n=n), replicates=50, seed=3)
        assert np.array_equal(
            added.array("first", n=n, shape="pair"), before.array("first", shape="pair")
        )


def test_removed_cells_stay_in_the_folder(tmp_path):
    whole = studies.run(STUDY, replicates=4, seed=3, out=tmp_path)
    part = studies.run(STUDY.over(n=20), replicates=6, out=tmp_path)
    assert (len(part), len(studies.load(tmp_path))) == (12, 20)
    assert same(studies.run(STUDY, replicates=4, out=tmp_path), whole)


def test_the_order_of_parameters_is_that_of_the_study_that_runs(tmp_path):
    studies.run(STUDY, replicates=2, seed=3, out=tmp_path)
    turned = studies.Study(draw, {"shape": {"triple": 3, "pair": 2}, "n": [20, 1]})
    results = studies.run(turned, replicates=2, out=tmp_path)
    assert results.parameters == {"shape": ["triple", "pair"], "n": [20, 1]}
    assert same(results, studies.run(turned, replicates=2, seed=3))


def test_other_tasks_make_the_same_table(monkeypatch):
    whole = studies.run(STUDY, replicates=40, seed=3)
    monkeypatch.setattr(plan, "_GROWTH", 1)
    assert same(studies.run(STUDY, replicates=40, seed=3), whole)
    monkeypatch.setattr(plan, "_GROWTH", 100)
    monkeypatch.setattr(plan, "_LAST", 1)
    assert same(studies.run(STUDY, replicates=40, seed=3), whole)


def failing(n, rng):
    if n == 2 and rng.random() < 0.2:
        raise ZeroDivisionError("nothing to divide by")
    return {"x": n}


def test_a_failure_names_its_call_which_can_be_repeated():
    study = studies.Study(failing, {"n": [1, 2]})
    with pytest.raises(studies.StudyError, match="n=2") as caught:
        studies.run(study, replicates=100, seed=5)
    message = str(caught.value)
    assert "ZeroDivisionError: nothing to divide by" in message
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    (call,) = re.findall(r"failing\.(replay\(.*\)) repeats it", message)
    with pytest.raises(ZeroDivisionError):
        eval(f"study.{call}", {"study": study})


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3, "3"),
        ({}, "mapping"),
        ({"x": "a"}, "'x'"),
        ({"x": None}, "'x'"),
        ({"x": 1j}, "'x'"),
        ({"x": [[1]]}, r"'x' .* \(1, 1\)"),
        ({"x": [[1], [2, 3]]}, "'x'"),
        ({"x": np.ma.masked}, "'x' .* masked"),
        ({"x": 10**400}, "OverflowError"),
        ({"n": 1}, "'n'"),
        ({"made_by": 1}, "'made_by'"),
        ({"m": 1}, "'m'"),
        ({1: 1}, "1 must be text"),
        ({"a\ud800": 1}, "'a.ud800'"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(returned, message):
    study = studies.Study(lambda rng, n=1, m=1: returned, [{"n": 1}, {"m": 1}])
    with pytest.raises(studies.StudyError, match=message):
        studies.run(study, replicates=1, seed=1)


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        (1, [1], "an array of 1 after a number"),
        ([1], 1, "a number after an array of 1"),
        ([1], [1, 2], "an array of 2 after an array of 1"),
        ([], [1], "an array of 1 after an array of 0"),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_numbers_and_arrays_keep_their_shape(first, later, message, kept, tmp_path):
    """In a run, and in one that is continued, before anything else is written."""
    given = [first, later]

    def changing(rng):
        return {"x": given.pop(0) if len(given) > 1 else given[0]}

    study = studies.Study(changing, {})
    if kept:
        studies.run(study, replicates=1, seed=1, out=tmp_path)
    with pytest.raises(studies.StudyError, match=message):
        studies.run(study, replicates=20, seed=1, out=tmp_path)
    if kept:
        assert len(studies.load(tmp_path)) == 1


def test_numbers_are_arrays_in_all_cells_or_in_none():
    study = studies.Study(lambda n, rng: {"x": [1.0] if n == 2 else 1.0}, {"n": [1, 2]})
    with pytest.raises(studies.StudyError, match=r"n=2 .*an array of 1"):
        studies.run(study, replicates=3, seed=1)


def test_whole_numbers_and_truths_are_doubles():
    study = studies.Study(lambda rng: {"i": np.int8(3), "b": np.True_, "t": True}, {})
    table = studies.run(study, replicates=1, seed=1).table
    assert [table.column(name)[0].as_py() for name in "ibt"] == [3.0, 1.0, 1.0]


def dyadic(epsilon, rng, replicates):
    noisy = dp.mechanisms.Dyadic(epsilon).release([5, 0, 2, 9], rng=rng, replicates=replicates)
    return {"counts": noisy, "last": noisy[:, -1]}


def test_batches_are_drawn_by_the_mechanism(tmp_path):
    study = studies.Study(dyadic, {"epsilon": [0.5, 1]}, batch=8)
    assert repr(study) == "Study(dyadic, 2 cells, 8 at a time)"
    results = studies.run(study, replicates=16, seed=2, out=tmp_path)
    studies.run(study, replicates=24, out=tmp_path)
    assert same(studies.run(study, replicates=16, out=tmp_path), results)
    for call in (0, 1):
        replayed = study.replay(call, 2, epsilon=1)["counts"]
        assert np.array_equal(results.array("counts", epsilon=1)[8 * call : 8 * call + 8], replayed)
    assert np.array_equal(results.array("counts")[..., -1], results.array("last"))
    with pytest.raises(errors.ParameterError, match=r"replicates .* 8, .* 32; got 25"):
        studies.run(study, replicates=25, out=tmp_path)
    with pytest.raises(errors.ParameterError, match="dyadic, 8 at a time"):
        studies.run(studies.Study(dyadic, {"epsilon": 1}, batch=4), replicates=8, out=tmp_path)


@pytest.mark.parametrize("value", [np.ones(3), 1.0, np.ones((4, 2, 2))])
def test_batches_have_replicates_in_front(value):
    study = studies.Study(lambda rng, replicates: {"x": value}, {}, batch=4)
    with pytest.raises(studies.StudyError, match=r"'x' .* 4"):
        studies.run(study, replicates=4, seed=1)


def test_a_bar_says_how_much_is_left(capsys):
    studies.run(STUDY, replicates=50, seed=3, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"draw: 100%\|.*\| 200/200 .* left", shown)
    studies.run(STUDY, replicates=50, seed=3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"replicates": 0}, errors.ParameterError),
        ({"replicates": 2**31 + 1}, errors.ParameterError),  # of 4 cells: more than 2^33 rows
        ({"progress": 1}, errors.DtypeError),
        ({"seed": -1}, errors.ParameterError),
        ({"seed": 2**128}, errors.ParameterError),
        ({"workers": 0}, errors.ParameterError),
        ({"study": draw}, errors.DtypeError),
        ({"replicates": 1.5}, errors.DtypeError),
        ({"out": 3}, errors.DtypeError),
        ({"out": ""}, errors.DtypeError),
        ({"workers": "2"}, errors.DtypeError),
    ],
)
def test_bad_arguments_are_named(arguments, error):
    with pytest.raises(error, match=next(iter(arguments))):
        studies.run(**{"study": STUDY, "replicates": 1, **arguments})
