"""Bounds: clipping, records that are no longer than 1, and models for raw values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import DtypeError, ParameterError
from dpcore.models.scaling import Bounds, side_of_cube, unit_records

finite = st.floats(-1e150, 1e150)
any_value = st.floats(allow_nan=False)


@given(
    st.lists(st.tuples(finite, finite, any_value), min_size=1, max_size=5),
    st.booleans(),
)
def test_records_are_never_longer_than_one(columns, has_constant):
    lower, upper, values = np.array(columns).T
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    upper = np.maximum(upper, np.nextafter(lower, np.inf) + 1e-150)
    bounds = Bounds.checked("x_bounds", (lower, upper), lower.size, has_constant)
    with np.errstate(over="ignore"):
        scaled = bounds.scaled(values[None])
    assert np.abs(scaled).max() <= 1.0
    records = unit_records(scaled, has_constant)
    exact = sum(int(x * 2.0**60) ** 2 for x in np.abs(records[:, 0]))
    assert exact <= 2**120
    assert records.shape == (lower.size + has_constant, 1)


def test_corners_are_as_long_as_they_may_be():
    for size in (1, 2, 3, 50):
        assert size * side_of_cube(size) ** 2 == pytest.approx(1.0, rel=1e-14)
        assert size * side_of_cube(size) ** 2 < 1.0


@pytest.mark.parametrize("centred", [True, False])
def test_models_mean_the_same_for_raw_values(centred):
    rng = np.random.default_rng(1)
    bounds = Bounds.checked("x_bounds", ([-3.0, 5.0, 0.0], [7.0, 6.0, 1e6]), 3, centred)
    values = rng.uniform(bounds.lower, bounds.upper, (9, 3))
    inner = rng.normal(size=3 + centred)
    slopes, intercept = bounds.unscaled(inner)
    scaled = bounds.scaled(values)
    expected = inner[:3] @ scaled + (inner[3] if centred else 0.0)
    assert values @ slopes + intercept == pytest.approx(expected, rel=1e-9)
    if not centred:
        assert intercept == 0.0


def test_values_beyond_the_bounds_count_as_the_bounds():
    """Also where both bounds have one sign."""
    bounds = Bounds.checked("x_bounds", (-1, 3), 2, True)
    values = np.array([[-np.inf, np.inf], [-1.0, 3.0], [-1e300, 1e300]])
    assert bounds.scaled(values) == pytest.approx(np.array([[-1.0] * 3, [1.0] * 3]))
    for centred, lowest in ((True, -1.0), (False, 0.5)):
        bounds = Bounds.checked("x_bounds", (5, 10), 1, centred)
        assert bounds.scaled(np.array([[5.0], [0.0]])).tolist() == [[lowest, lowest]]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (None, ParameterError),
        (3, DtypeError),
        ((1, 2, 3), ParameterError),
        ((1, 1), ParameterError),
        (([0, 0], [1, -1]), ParameterError),
        ((0, 1e-300), ParameterError),
        (([0, 0, 0], 1), ParameterError),
        (([[0, 0]], 1), ParameterError),
        ((0, np.inf), ParameterError),
        ((np.nan, 1), ParameterError),
        (("a", "b"), DtypeError),
        ((0, 1j), DtypeError),
    ],
)
def test_other_bounds_are_refused(given, error):
    with pytest.raises(error, match="x_bounds"):
        Bounds.checked("x_bounds", given, 2, True)
