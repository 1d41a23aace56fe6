"""The axes of a residual plot: what searches are asked, and which ends leave room for cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.releases import (
    compact_bounds,
    residual_axis,
    residual_bounds,
    residual_search,
    symmetric_bounds,
)
from dpcore.summaries.grid import Grid


def scattered(n=400):
    rng = np.random.default_rng(1)
    return rng.uniform(1, 50, n), rng.normal(size=n)


@pytest.mark.parametrize("n", [10, 30, 400])  # of the first two, 5 % are a half and 1.5
def test_the_paper_s_search_asks_what_symmetric_bounds_asks(monkeypatch, n):
    asked = []

    def recorded(queries, threshold, *, epsilon, monotonic, rng):
        asked.append((queries.tolist(), threshold, monotonic))
        return 3

    monkeypatch.setattr(symmetric_bounds, "above_threshold", recorded)
    x, y = scattered(n)
    dp.residual_plot(x, y, epsilon=1.0, search="sparse-vector")
    for values in (x, y):
        dp.symmetric_bounds(values, epsilon=0.15)
    assert asked[:2] == asked[2:]
    assert abs(asked[0][1] - 0.95 * n) < 0.51


@pytest.mark.parametrize(
    ("n_epsilon", "doublings"), [(10, 9), (100, 9), (250, 12), (1000, 24), (1567, 31), (10**5, 31)]
)
def test_how_many_units_bounds_reach(n_epsilon, doublings):
    """docs/proofs/residuals.md, section 6."""
    n, known = 10**4, (None, None)
    spent = min(Fraction(3, 10) * n_epsilon, 470) / n
    for rungs in residual_search.rungs_for("compact", (1.0, 1.0), known, n, spent):
        assert rungs.ends[-1] == 2.0**doublings


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-5e-324, 3.0), (-4.0, -1.0), (1e308, 1.1e308)])
def test_a_cell_more_at_either_end(ends):
    """Both ends are within, and the next doubles are not."""
    grid = residual_axis.with_ends(Grid.uniform(*ends, 4))
    low, high = ends
    values = [np.nextafter(low, -np.inf), low, high, np.nextafter(high, np.inf)]
    assert grid.count(values).tolist() == [1, 1, 0, 0, 1, 1]


def test_the_paper_s_search_asks_for_units_that_can_be_doubled_more_often():
    x, y = scattered()
    with pytest.raises(dp.ParameterError, match="unit must keep unit 2\\^62 finite"):
        dp.residual_plot(x, y, epsilon=1.0, unit=1e290, search="sparse-vector")


@pytest.mark.parametrize("values", [np.zeros(400), np.full(400, 1e300), np.arange(400.0)])
@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
@pytest.mark.parametrize("last", [False, True])
def test_nothing_is_refused_for_what_records_are(monkeypatch, values, search, last):
    """Whatever interval comes out, a table has room between its ends."""

    def chosen(candidates, *_, **__):
        return len(candidates) - 1 if last else 0

    for module, name in (
        (residual_bounds, "exponential_mechanism"),
        (compact_bounds, "exponential_mechanism"),
        (symmetric_bounds, "above_threshold"),
    ):
        monkeypatch.setattr(module, name, chosen)
    plot = dp.residual_plot(values, values, epsilon=1.0, unit=1e-300, search=search)
    assert plot.n == 400


@pytest.mark.parametrize("search", ["compact", "sparse-vector"])
def test_units_need_no_room_for_doublings_where_both_axes_are_known(search):
    x, y = scattered()
    ends = {"predicted_range": (0, 50), "residual_range": (-5, 5)}
    dp.residual_plot(x, y, epsilon=1.0, unit=1.7e308, search=search, **ends)
    with pytest.raises(dp.ParameterError, match="unit"):
        dp.residual_plot(x, y, epsilon=1.0, unit=0.0, search=search, **ends)
