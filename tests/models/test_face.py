"""The room is there without scikit-learn, which is imported with the first model."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dpcore as dp


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_scikit_learn_is_imported_when_a_model_is_used():
    script = """
import sys
import dpcore as dp
print({*dp.models.__all__} <= {*dir(dp.models)}, "sklearn" in sys.modules)
dp.models.LinearRegression
print("sklearn" in sys.modules)
"""
    assert run(script) == "True False\nTrue\n"


def test_without_scikit_learn_the_extra_is_named():
    script = """
import sys
sys.modules["sklearn"] = None
import dpcore as dp
try:
    dp.models.LogisticRegression
except dp.MissingExtraError as error:
    print(error)
"""
    assert run(script) == 'dpcore.models needs an extra: pip install "dpcore[models]"\n'


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match=r"'dpcore\.models' has no attribute 'Ridge'"):
        _ = dp.models.Ridge


@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression"])
def test_a_model_shows_in_a_line(name):
    model = getattr(dp.models, name)(0.5, x_bounds=(0, 1))
    assert repr(model) == f"{name}(epsilon=0.5, x_bounds=(0, 1))"
    assert "noise from a cryptographic source" in " ".join(type(model).__doc__.split())
