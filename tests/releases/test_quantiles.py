"""Private quantiles: what is drawn, how near it is, what it costs, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.releases.quantiles import Quantiles, quantiles, quantiles_from_counts
from tests.curves.told_mistakes import told

GRID = dp.Grid.uniform(0, 100, 64)
VALUES = np.random.default_rng(1).normal(50, 15, 1001)
LOTS = 1e6  # an epsilon that leaves no noise


def generator():
    return np.random.default_rng(5)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_without_noise_the_quantiles_of_the_records_are_drawn(counts, probabilities):
    counts = np.array([*counts, 1])
    grid = dp.Grid(np.arange(counts.size))
    found = quantiles_from_counts(counts, probabilities, grid, epsilon=LOTS, rng=generator())
    assert found.n == counts.sum()
    cells = found.values.astype(int)
    cumulative, targets = np.cumsum(counts), found.n * np.array(probabilities)
    rounded = 0.01  # a share of a node's records is a fraction of small denominator
    assert np.all(cumulative[cells] >= targets - rounded)
    assert np.all((cumulative - counts)[cells] <= targets + rounded)
    in_order = found.values[np.argsort(probabilities)]
    assert np.all(np.diff(in_order) >= 0)


def test_ranks_are_as_near_as_the_theorem_says():
    """docs/proofs/selection.md: farther off than the bound with probability below 1 / 20, each."""
    asked = [0.1, 0.5, 0.9]
    counts = GRID.count(VALUES)
    cumulative = np.cumsum(counts)
    targets = np.array(asked) * 1001
    own = np.log(20 * GRID.size * 2**14)
    # Two draws with half of epsilon = 1 each, the second of a fifth or four fifths of its node.
    bound = np.array([1.6, 0, 1.6]) * 4 * own + np.array([0.2, 1, 0.2]) * 4 * own
    far = 0
    for seed in range(100):
        found = quantiles_from_counts(
            counts, asked, GRID, epsilon=1.0, rng=np.random.default_rng(seed)
        )
        cells = np.searchsorted(GRID.thresholds, found.values)
        beyond = np.maximum((cumulative - counts)[cells] - targets, targets - cumulative[cells])
        far += np.sum(beyond > bound)
    assert far <= 300 / 20


@pytest.mark.parametrize("budget", [{"epsilon": 9.0}, {"rho": 5.0}])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_every_way_finds_the_deciles(budget, neighbours, method):
    how = {"neighbours": neighbours, "method": method, "rng": generator()}
    deciles = np.arange(1, 10) / 10
    found = quantiles(VALUES, deciles, GRID, **budget, **how)
    assert np.abs(found.values - np.quantile(VALUES, deciles)).max() < 4
    assert found.method == method
    assert found.privacy == dp.Privacy(**budget, neighbours=neighbours, simulated=True)
    assert found.n == (1001 if neighbours == "replace-one" else None)
    assert ("n = 1001" in repr(found)) == (neighbours == "replace-one")


def test_no_records_are_no_error_where_their_number_is_not_public():
    for method in ("recursion", "curve"):
        how = {"epsilon": 1.0, "method": method}
        found = quantiles([], [0.5], GRID, **how, neighbours="add-or-remove-one")
        assert found.values[0] in GRID.thresholds
        with pytest.raises(dp.ParameterError, match="values"):
            quantiles([], [0.5], GRID, **how)


def test_files_of_versions_that_divided_epsilon_are_read():
    old = (
        '{"format": "dpcore.quantiles", "version": 1, "probabilities": [0.5], "values": [50.0],'
        ' "n": 1001, "privacy": {"epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one",'
        ' "simulated": false}, "epsilon_each": 1.0}'
    )
    found = Quantiles.from_json(old)
    assert (found.epsilon_each, found.method) == (1.0, None)
    assert Quantiles.from_json(found.to_json()) == found


def test_values_come_back_in_the_order_of_the_question():
    found = quantiles(VALUES, [0.9, 0.1, 0.5], GRID, epsilon=50.0)
    assert isinstance(found, Quantiles)
    assert found.probabilities.tolist() == [0.9, 0.1, 0.5]
    assert found.values[1] < found.values[2] < found.values[0]
    assert np.all(np.isin(found.values, GRID.thresholds))


def test_what_it_costs():
    found = quantiles(VALUES, [0.25, 0.5, 0.75], GRID, epsilon=Fraction(3, 10))
    assert found.privacy == dp.Privacy(np.nextafter(0.3, 1))  # rounded up: 0.3 is below 3/10
    assert found.epsilon_each is None
    assert found.n == 1001
    simulated = quantiles(VALUES, [0.5], GRID, epsilon=0.3, rng=generator())
    assert simulated.privacy == dp.Privacy(0.3, simulated=True)


def test_equal_probabilities_are_drawn_once():
    found = quantiles(VALUES, [0.5, 0.2, 0.5], GRID, epsilon=0.01)
    assert found.values[0] == found.values[2]
    assert quantiles(VALUES, [0.5] * 9, GRID, epsilon=1.0).values.shape == (9,)


def test_draws_follow_the_generator_and_are_fresh_without_one():
    asked, how = np.arange(1, 60) / 60, {"epsilon": 1e-3, "method": "recursion"}
    found = quantiles([0.5] * 3, asked, GRID, **how, rng=generator())
    again = quantiles([0.5] * 3, asked, GRID, **how, rng=generator())
    assert np.array_equal(found.values, again.values)
    fresh = quantiles([0.5] * 3, asked, GRID, **how)
    assert not np.array_equal(found.values, fresh.values)


def test_missing_values():
    with pytest.raises(dp.MissingValueError):
        quantiles([1.0, np.nan], [0.5], GRID, epsilon=1.0)
    assert quantiles([1.0, np.nan], [0.5], GRID, epsilon=1.0, nan_policy="omit").n == 1
    assert quantiles([-np.inf, np.inf, 3], [0.5], GRID, epsilon=1.0).n == 3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"probabilities": [0.5, 1.1]}, dp.ParameterError, "probabilities"),
        ({"probabilities": [np.nan]}, dp.ParameterError, "probabilities"),
        ({"probabilities": [[0.5]]}, dp.ParameterError, "probabilities"),
        ({"probabilities": []}, dp.ParameterError, "or one-dimensional and not empty"),
        ({"probabilities": ["a"]}, dp.DtypeError, "probabilities"),
        ({"grid": [1, 2]}, dp.DtypeError, "grid"),
        ({"epsilon": 0.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-12}, dp.ParameterError, "epsilon"),
        ({"epsilon": None}, dp.ParameterError, "or rho must be given"),
        ({"rho": 1.0}, dp.ParameterError, "must not be given beside epsilon"),
        ({"neighbours": "none"}, dp.ParameterError, "neighbours"),
        ({"method": "each"}, dp.ParameterError, "method"),
        ({"rng": 3}, dp.DtypeError, "no integer seeds"),
    ],
)
def test_bad_arguments_are_refused_before_the_records_are_read(change, error, message):
    arguments = {"probabilities": [0.5], "grid": GRID, "epsilon": 1.0, **change}
    with pytest.raises(error, match=message):
        quantiles("no records at all", **arguments)
    with pytest.raises(error, match=message):
        quantiles_from_counts("no counts at all", **arguments)


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        (np.ones(64), dp.DtypeError, "counts"),
        (np.ones(63, int), dp.ParameterError, r"counts must have shape \(64,\)"),
        (np.full(64, -1), dp.ParameterError, "counts"),
        (np.zeros(64, int), dp.ParameterError, "values"),
        (np.full(64, 2**41), dp.ParameterError, "values"),
    ],
)
def test_bad_counts(counts, error, message):
    with pytest.raises(error, match=message):
        quantiles_from_counts(counts, [0.5], GRID, epsilon=1.0)


# --- records at the lower end

VISITS = np.minimum(np.random.default_rng(1).geometric(0.31, 20_000) - 1, 60)  # 31 % are 0


@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_a_quantile_in_a_wide_first_cell_is_told(method):
    def asked(p, grid):
        return told(
            quantiles, VISITS, p, grid, epsilon=1.0, method=method, rng=np.random.default_rng(1)
        )

    text = asked([0.25, 0.5], dp.Grid.uniform(0, 60, 60))
    assert text.startswith("the quantile at 0.5 is in the first cell of Grid.uniform(0.0, 60.0,")
    assert "Grid.integers(0, 60) for whole numbers, or a threshold at 0 tells them apart" in text
    assert asked([0.05, 0.9], dp.Grid.uniform(0, 60, 60)) is None
    assert asked(0.25, dp.Grid.integers(0, 60)) is None
    assert asked(0.25, dp.Grid.uniform(0, 60, 2**12)) is None  # the cell is narrow
    assert asked(0.25, dp.Grid(np.arange(61), lower=0)) is None


def test_a_box_whose_quartile_is_in_a_wide_first_cell_is_told():
    how = {"epsilon": 5.0, "rng": np.random.default_rng(1)}
    assert "the quantile at 0.5 is in" in told(
        dp.box_plot, VISITS, dp.Grid.uniform(0, 60, 60), **how
    )
    assert told(dp.box_plot, VISITS, dp.Grid.integers(0, 60), **how) is None


@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_values_of_another_grid_are_told(method):
    values = np.random.default_rng(2).random(2000)

    def asked(values, p, size=32):
        how = {"epsilon": 10.0, "method": method, "rng": np.random.default_rng(1)}
        return told(quantiles, values, p, dp.Grid.uniform(0, 1, size), **how)

    text = "the quantile at 0.5 is in the last cell of Grid.uniform(0.0, 1.0, 32): is it the grid"
    assert asked(100 * values, [0.5, 0.9]).startswith(text)
    assert "at 0.98 is in the first cell" in asked(-values, [0.05, 0.98], 2**12)
    assert asked(values, [0.01, 0.5, 0.99]) is None
    assert asked(np.maximum(values, 0.6), [0.75, 1.0]) is None
    assert asked(100 * values, 0.5, 8) is None  # cells for kinds of records


def test_a_box_of_values_of_another_grid_is_told():
    values, grid = 100 * np.random.default_rng(2).random(2000), dp.Grid.uniform(0, 1, 32)
    assert "is in the last cell" in told(dp.box_plot, values, grid, epsilon=1.0)


def test_the_number_of_too_many_records_is_not_told_where_it_is_private():
    counts = np.full(64, 2**30)
    for neighbours, is_told in (("replace-one", True), ("add-or-remove-one", False)):
        with pytest.raises(dp.ParameterError, match="at most 34359738368") as caught:
            quantiles_from_counts(
                counts, 0.5, GRID, epsilon=1.0, neighbours=neighbours, method="recursion"
            )
        assert (str(counts.sum()) in str(caught.value)) == is_told


# --- intervals

SPIKES = np.bincount(np.repeat([3, 20, 21, 50], [300, 250, 200, 251]), minlength=64)
ALL_AT_ONE = np.bincount(np.repeat([5, 40], [500, 501]), minlength=64)
GAP = np.bincount(np.arange(1000) % 10 + np.repeat([2, 50], 500), minlength=64)
EVEN = np.full(64, 20)


def cells_of(counts, p):
    return np.searchsorted(np.cumsum(counts), counts.sum() * np.array(p) - 1e-9)


@pytest.mark.parametrize("counts", [SPIKES, ALL_AT_ONE, GAP, EVEN])
@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_intervals_cover_wherever_the_records_are(counts, method):
    p = [0.3, 0.45, 0.5, 0.55, 0.8]
    ends, true = np.append(0.0, GRID.thresholds), cells_of(counts, p)
    shares = np.append(0.0, np.cumsum(counts)) / counts.sum()
    missed, narrow = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = quantiles_from_counts(counts, p, GRID, epsilon=4.0, method=method, rng=rng)
        low, high = found.interval()
        missed += np.sum((low > ends[true]) | (high < ends[true + 1]))
        narrow += np.sum(high - low < 100.0)
        least, most = found.probability_interval()
        assert np.all((least >= 0) & (least <= p) & (p <= most) & (most <= 1))
        at = np.searchsorted(GRID.thresholds, found.values)
        missed += np.sum((shares[at + 1] < least) | (shares[at] > most))
    assert missed <= 20  # of 400
    assert narrow >= 40


def test_probabilities_of_quantiles_are_known_although_noise_chose_their_cells():
    rng, p, missed = np.random.default_rng(1), np.array([0.25, 0.5, 0.75, 0.9]), []
    how = {"rho": 0.5, "method": "curve", "rng": rng}
    for _ in range(200):
        counts = rng.multinomial(20, np.full(64, 1 / 64))
        found = quantiles_from_counts(counts, p, GRID, **how)
        shares = np.append(0.0, np.cumsum(counts)) / 20
        least, most = found.probability_interval()
        at = np.searchsorted(GRID.thresholds, found.values)
        missed.append((shares[at + 1] < least) | (shares[at] > most))
    assert np.mean(missed) <= 0.055  # with the bands of these cells, 9 % were missed


def test_intervals_by_recursion_end_at_other_quantiles():
    counts, p = EVEN * 100, [0.25, 0.5, 0.75]
    found = quantiles_from_counts(counts, p, GRID, epsilon=5.0, method="recursion", rng=generator())
    (first, middle, last), (low, high) = found.values, found.interval()
    cell = 100 / 64
    assert low.tolist() == [0.0, first - cell, middle - cell]
    assert high.tolist() == [middle, last, 100.0]
    assert np.array_equal(found.population_interval().low, low)
    few = quantiles_from_counts(EVEN, p, GRID, epsilon=0.1, method="recursion", rng=generator())
    assert few.interval().high.tolist() == [100.0, 100.0, 100.0]
    assert few.probability_interval() == dp.Interval(*map(pytest.approx, ([0] * 3, [1] * 3)))


def test_sampling_widens_the_intervals_of_a_population():
    p = [0.44, 0.5, 0.56]
    how = {"epsilon": 1e4, "method": "recursion", "rng": generator()}
    found = quantiles_from_counts(EVEN, p, GRID, **how)  # 1,280 records; sampling: +- 0.027
    narrow, wide = found.interval(0.95), found.population_interval(0.99999)
    assert narrow.high[1] == found.values[2]
    assert wide.high[1] == 100.0


def test_intervals_off_a_curve_are_those_of_the_curve():
    found = quantiles(VALUES, [0.9, 0.1, 0.5], GRID, epsilon=1.0, method="curve", rng=generator())
    assert isinstance(found.curve, dp.CDF)
    asked = found.probabilities
    assert np.array_equal(found.interval(0.9), found.curve.quantile_interval(asked, 0.9))
    of_all = found.curve.population_quantile_interval(asked)
    assert np.array_equal(found.population_interval(), of_all)
    assert np.array_equal(found.curve.quantile(asked, method="inverted_cdf"), found.values)


@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_intervals_of_times_and_of_one_number(method):
    days = dp.Grid.days("2024-01-01", "2024-12-31")
    dates = np.datetime64("2024-03-01") + np.arange(200)
    how = {"epsilon": 20.0, "method": method, "rng": generator()}
    found = quantiles(dates, 0.5, days, **how)
    low, high = found.interval()
    assert low <= found.values <= high
    assert low.dtype == high.dtype == np.dtype("M8[D]")
    least, most = found.probability_interval()
    assert isinstance(least, float)
    assert least < 0.5 < most or method == "curve"
    no_lower = dp.Grid(np.arange(1.0, 65.0))
    assert quantiles(VALUES, 0.5, no_lower, **how).interval().low == (
        -np.inf if method == "recursion" else pytest.approx(48, abs=4)
    )


@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_files_keep_what_intervals_need(method):
    found = quantiles(VALUES, [0.2, 0.5], GRID, epsilon=3.0, method=method, rng=generator())
    again = Quantiles.from_json(found.to_json())
    assert again == found
    assert np.array_equal(again.interval(), found.interval())
    assert (again.curve is None) == (method == "recursion")


def test_earlier_files_have_no_intervals():
    found = quantiles(VALUES, [0.5], GRID, epsilon=3.0, method="recursion", rng=generator())
    old = Quantiles(found.probabilities, found.values, 1001, found.privacy, "recursion")
    with pytest.raises(dp.ParameterError, match="grid must be known"):
        old.interval()
    assert list(old.to_frame()) == ["probability", "value"]
    assert "0.5" in dp.report(old)
    with pytest.raises(dp.ParameterError, match="curve must be known"):
        replace(found, method="curve").interval()
    with pytest.raises(dp.ParameterError, match="n must be between 1"):
        replace(found, n=0).interval()


def test_the_number_of_records_is_asked_for_where_it_is_not_public():
    how = {"epsilon": 3.0, "neighbours": "add-or-remove-one", "rng": generator()}
    found = quantiles(VALUES, [0.5], GRID, method="recursion", **how)
    with pytest.raises(dp.ParameterError, match="n must be given: it is not public"):
        found.interval()
    assert list(found.to_frame()) == ["probability", "value"]
    few, many = found.probability_interval(n=100), found.probability_interval(n=1000)
    assert few.low < many.low < 0.5 < many.high < few.high
    of_curve = quantiles(VALUES, [0.5], GRID, method="curve", **how)
    assert of_curve.interval().low < of_curve.values
    for known in (of_curve, quantiles(VALUES, [0.5], GRID, epsilon=3.0)):
        with pytest.raises(dp.ParameterError, match="n must be None: it is known"):
            known.interval(n=7)


@pytest.mark.parametrize("name", ["interval", "population_interval", "probability_interval"])
@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_bad_levels(name, method):
    found = quantiles(VALUES, [0.5], GRID, epsilon=3.0, method=method)
    with pytest.raises(dp.ParameterError, match="level"):
        getattr(found, name)(1.0)


@pytest.mark.parametrize("spent", [{"epsilon": 9.0}, {"rho": 2.0}], ids=["epsilon", "rho"])
@pytest.mark.parametrize("method", ["recursion", "curve"])
def test_frames_and_reports_have_the_intervals(method, spent):
    found = quantiles(VALUES, [0.5, 0.2, 0.5], GRID, method=method, rng=generator(), **spent)
    frame = found.to_frame(0.8)
    assert list(frame) == ["probability", "value", "low", "high"]
    assert np.array_equal(frame[["low", "high"]].to_numpy().T, found.interval(0.8))
    low, _high = found.interval()
    assert f"{low[1]:.4g}"[:4] in dp.report(found)


def test_a_curve_must_fit():
    found = quantiles(VALUES, [0.5], GRID, epsilon=3.0, method="curve")
    for change in ({"method": "recursion"}, {"grid": dp.Grid([1, 2])}):
        with pytest.raises(dp.ParameterError, match="curve"):
            replace(found, **change)
    with pytest.raises(dp.DtypeError, match="curve"):
        replace(found, curve=3)
    with pytest.raises(dp.DtypeError, match="grid"):
        replace(found, curve=None, grid=3)
