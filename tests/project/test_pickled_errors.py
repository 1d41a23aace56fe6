"""Errors come back from other processes as they are: whole messages, and what they were made of."""

from __future__ import annotations

import pickle

import pytest

import dpcore as dp
from dpcore.records.files import FileError

ERRORS = (
    dp.MissingValueError("values"),
    dp.ParameterError("size", 0, "must be positive"),
    dp.DtypeError("values", "text", "must hold real numbers"),
    dp.MissingExtraError("a picture", "plot"),
    dp.FormatError("cut short"),
    FileError("ages.csv", "is empty"),
)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_are_pickled_whole(error):
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))
