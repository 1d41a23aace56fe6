"""Suggestions for dates, times and durations: those for numbers, with grids and errors of times."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

import dpcore as dp

SECONDS = 366 * 86_400
ENDS: dict[str, tuple[Any, Any]] = {
    "time": ("2024-01-01", dt.date(2025, 1, 1)),
    "instant": ("2024-01-01T00:00Z", "2025-01-01T00:00Z"),
    "duration": (dt.timedelta(0), dt.timedelta(days=366)),
}


@pytest.mark.parametrize("unit", ENDS)
def test_suggestions_of_times_are_those_of_as_many_seconds(unit: str) -> None:
    lower, upper = ENDS[unit]
    found = dp.suggest(n=5000, lower=lower, upper=upper, epsilon=1.0)
    numbers = dp.suggest(n=5000, lower=0, upper=SECONDS, epsilon=1.0)
    assert found.grid == dp.Grid.uniform(lower, upper, numbers.grid.size)
    assert found.grid.unit == unit
    assert found.share_error == numbers.share_error
    assert found.value_error.dtype == "m8[us]"
    assert found.value_error / np.timedelta64(1, "s") == pytest.approx(numbers.value_error)
    assert " d where values spread evenly" in str(found)
    assert f"dp.{found.grid!r}" in str(found)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("unit", ENDS)
@pytest.mark.parametrize("error", [dt.timedelta(hours=12), np.timedelta64(720, "m")])
def test_errors_that_are_wished_are_durations(unit: str, error: Any) -> None:
    lower, upper = ENDS[unit]
    wished: dict[str, Any] = {"n": 5000, "epsilon": 1.0, "unit": "values"}
    found = dp.suggest(lower=lower, upper=upper, error=error, **wished)
    numbers = dp.suggest(lower=0, upper=SECONDS, error=43_200, **wished)
    assert found.enough == numbers.enough
    assert "For an error of 12 h, epsilon = " in str(found)
    assert "For an error of 4.32e+04 in the values' unit, epsilon = " in str(numbers)
    shares = dp.suggest(n=5000, epsilon=1.0, lower=lower, upper=upper, error=0.01)
    assert "For an error of 0.01 of the ranks, epsilon = " in str(shares)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"error": 5.0, "unit": "values"}, dp.DtypeError, "error must be a duration"),
        ({"error": "2024-01-01", "unit": "values"}, dp.DtypeError, "error must be a duration"),
        ({"error": dt.timedelta(0), "unit": "values"}, dp.ParameterError, "error must be positive"),
        ({"error": dt.timedelta(1)}, dp.DtypeError, "error must be a real number"),
        ({"upper": 5}, dp.DtypeError, "upper must be a date or a time without a time zone"),
        ({"upper": "2023-01-01"}, dp.ParameterError, "upper must be greater than lower"),
    ],
)
def test_what_does_not_go_together_is_refused(
    given: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        dp.suggest(
            **{"n": 100, "lower": "2024-01-01", "upper": "2025-01-01", "epsilon": 1.0, **given}
        )
