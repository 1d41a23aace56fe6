"""What a study is told of: draws from elsewhere than its generator, and warnings."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pytest
import scipy.stats

from dpcore import errors, studies

STRAYS = {
    "np.random": lambda rng: {"x": np.random.normal()},  # noqa: NPY002
    "SciPy": lambda rng: {"x": scipy.stats.norm.rvs()},
    "a seed": lambda rng: {"x": np.random.seed(1) or 1.0},  # noqa: NPY002
}


@pytest.mark.parametrize("stray", STRAYS)
def test_draws_from_the_global_generator_are_told(stray):
    state = np.random.get_state()  # noqa: NPY002
    study = studies.Study(STRAYS[stray], {})
    with pytest.warns(studies.StudyWarning, match="<lambda> draws from np.random") as caught:
        studies.run(study, replicates=20, seed=1)
    assert [each.filename for each in caught] == [__file__]
    np.random.set_state(state)  # noqa: NPY002


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_tell_it_too(backend):
    def late(n, rng):
        return {"x": np.random.random() if n == 3 else rng.random()}  # noqa: NPY002

    with (
        joblib.parallel_config(backend=backend, n_jobs=2),
        pytest.warns(studies.StudyWarning, match="late draws from np.random, and not from rng"),
    ):
        studies.run(studies.Study(late, {"n": range(10)}), replicates=3, seed=1)


def test_nothing_is_told_of_other_generators():
    def drawn(rng):
        other = np.random.RandomState(rng.integers(2**32))
        return {"x": scipy.stats.norm.rvs(random_state=rng), "y": other.normal()}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        studies.run(studies.Study(drawn, {}), replicates=5, seed=1)


def test_warnings_of_the_function_are_shown_and_those_of_releases_are_not():
    def warning(rng):
        warnings.warn("much noise", errors.DpcoreWarning, 1)
        warnings.warn("something else", UserWarning, 1)
        return {"x": 1.0}

    with pytest.warns(UserWarning, match="something else") as caught:
        studies.run(studies.Study(warning, {}), replicates=1, seed=1)
    assert {each.category for each in caught} == {UserWarning}


def test_a_process_that_is_replaced_is_not_told_of_and_other_warnings_are(monkeypatch):
    """Where a process has come to use much memory, joblib starts another, and warns."""
    told = "A worker stopped while some jobs were given to the executor. This can be caused by"

    class Replacing(joblib.Parallel):
        def __call__(self, tasks):
            for task in super().__call__(tasks):
                warnings.warn(f"{told} a memory leak.", UserWarning, 1)
                warnings.warn("something else", UserWarning, 1)
                yield task

    monkeypatch.setattr(joblib, "Parallel", Replacing)
    study = studies.Study(lambda rng: {"x": rng.random()}, {})
    with pytest.warns(UserWarning, match="something else") as caught:
        studies.run(study, replicates=5, seed=1)
    assert {str(each.message) for each in caught} == {"something else"}


def test_workers_with_other_versions_are_an_error(monkeypatch, tmp_path):
    """The table says of each row which versions made it: those of the process that asks."""
    study = studies.Study(lambda rng: {"x": rng.random()}, {})
    with joblib.parallel_config(backend="loky", n_jobs=2):
        studies.run(study, replicates=3, seed=1, out=tmp_path)
        monkeypatch.setattr("dpcore.studies.header.version", lambda name: "9.9")
        with (
            pytest.warns(studies.StudyWarning),
            pytest.raises(studies.StudyError, match=r"other versions .*: .*numpy 9\.9 -> \d"),
        ):
            studies.run(study, replicates=30, seed=1, out=tmp_path)
    assert len(studies.load(tmp_path)) == 3
