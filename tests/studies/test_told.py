"""What a study is told of: draws from elsewhere than its generator, and warnings."""

from __future__ import annotations

import warnings

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
    with pytest.warns(studies.StudyWarning, match=r"<lambda> .* np\.random") as caught:
        studies.run(study, replicates=20, seed=1)
    assert [warning.filename for warning in caught] == [__file__]
    np.random.set_state(state)  # noqa: NPY002


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
    assert {shown.category for shown in caught} == {UserWarning}
