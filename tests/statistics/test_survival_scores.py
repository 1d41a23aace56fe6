"""Evaluations of survival models: exactly those of records without noise, and sure of it with."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.statistics import scored_durations
from tests import reference

RNG = np.random.default_rng
EXACT = dp.mechanisms.NoNoise()
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.25, 4.0, 9.0]),
        st.booleans(),
        st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.3, 0.6, 0.75, 1.0, 2.0]),
    ),
    min_size=1,
    max_size=25,
)


def sample(n, seed=1, slope=1.0):
    """Durations, events and predicted risks up to 1, of a model that is right if the slope is 1."""
    rng = RNG(seed)
    x = rng.normal(size=n)
    risk = -np.expm1(-0.4 * np.exp(x))
    until_event, until_end = rng.exponential(2.5 * np.exp(-slope * x)), rng.uniform(0.2, 3.0, n)
    return np.minimum(until_event, until_end), until_event <= until_end, risk


def exactly(value, expected):
    return np.isclose(value, np.nan if expected is None else float(expected), 0, 1e-12, True)


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.integers(1, 6), st.integers(1, 5), st.booleans())
def test_without_noise_concordance_is_that_of_all_pairs(records, times, cells, whole):
    durations, event, scores = zip(*records, strict=True)
    grid = dp.Grid.integers(0, times) if whole else dp.Grid.uniform(0, 4, times)
    score_grid = dp.Grid.uniform(0, 1, cells)
    found = dp.survival_scores(durations, event, scores, grid, score_grid, EXACT)
    given = durations, event, scores, grid.thresholds, score_grid.thresholds, whole
    assert exactly(found.concordance, reference.concordance(*given))


PARTS = st.lists(st.sampled_from([0.0, 0.0, 0.05, 0.3, 0.75, 1.0, 1.5]), min_size=6, max_size=6)


@given(PARTS, PARTS, st.booleans())
@example([0, 0.6, 0, 0, 0.6, 0], [0] * 6, False)
def test_concordance_of_parts_of_records_is_a_share(events, censored, whole):
    events, censored = (np.reshape(each, (3, 2)) for each in (events, censored))
    found = scored_durations.concordance_of(events, censored, whole=whole)
    assert np.isnan(found) or -1e-9 <= found <= 1 + 1e-9


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.integers(1, 6), st.integers(1, 5), st.data())
def test_without_noise_areas_have_inverse_weights_of_the_censoring(records, times, cells, data):
    durations, event, scores = zip(*records, strict=True)
    grid, score_grid = dp.Grid.integers(0, times), dp.Grid.uniform(0, 1, cells)
    found = dp.survival_scores(durations, event, scores, grid, score_grid, EXACT)
    until = data.draw(st.integers(0, times))
    given = durations, event, scores, grid.thresholds, score_grid.thresholds, until
    assert exactly(found.auc(until), reference.weighted_area(*given))
    fpr, tpr, thresholds = found.roc(until)
    assert exactly(found.auc(until), np.trapezoid(tpr, fpr))
    assert thresholds.tolist() == [*score_grid.thresholds[::-1], -np.inf]


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.integers(1, 6), st.integers(1, 5), st.booleans(), st.integers(1, 4), st.data())
def test_without_noise_observed_risks_are_kaplan_meier_in_bins(
    records, times, cells, whole, bins, data
):
    durations, event, scores = zip(*records, strict=True)
    grid = dp.Grid.integers(0, times) if whole else dp.Grid.uniform(0, 4, times)
    score_grid = dp.Grid.uniform(0, 1, cells)
    found = dp.survival_scores(durations, event, scores, grid, score_grid, EXACT)
    until = data.draw(st.sampled_from(grid.thresholds.tolist()))
    calibration = found.calibration(until, bins, of="records")
    ends = np.cumsum(calibration.counts)
    per_cell = np.cumsum(found.events.sum(axis=1) + found.censored.sum(axis=1))
    starts = np.searchsorted(per_cell, np.append(0, ends[:-1]), side="right")
    assert ends[-1] == len(records)
    assert calibration.counts.size <= min(bins, cells)
    for at, start in enumerate(starts):
        stop = starts[at + 1] if at + 1 < starts.size else cells
        given = durations, event, scores, grid.thresholds, score_grid.thresholds
        expected = reference.risk_in_bin(*given, range(start, stop), until, whole)
        assert exactly(calibration.observed[at], expected)
    assert np.array_equal(calibration.low, calibration.observed, equal_nan=True)


@settings(max_examples=30, deadline=None)
@given(RECORDS, st.integers(1, 6), st.booleans(), st.floats(0, 6))
def test_cases_are_as_many_as_survival_tells(records, times, whole, until):
    durations, event, scores = zip(*records, strict=True)
    grid = dp.Grid.integers(0, times) if whole else dp.Grid.uniform(0, 4, times)
    found = dp.survival_scores(durations, event, scores, grid, dp.Grid([0.5, 1.0]), EXACT)
    both, cells = (found.events, found.censored), float(min(until, grid.size))
    cells = float(int(cells)) if whole else cells
    cases, _ = scored_durations.cases_and_controls(*both, cells, whole=whole)
    joined = [each.sum(axis=0) for each in both]
    survival = scored_durations.survival_at(*joined, cells, whole=whole)
    if not np.isnan(survival):
        assert np.isclose(cases.sum(), len(records) * (1 - survival), 0, 1e-9)


def test_on_a_fine_grid_they_are_those_of_the_records():
    durations, event, risk = sample(3000)
    inside = event & (durations <= 2)
    earlier = np.where(durations > 2, 2.5, durations)
    pairs = inside[:, None] & (earlier[:, None] < earlier)
    concordance = np.sum(pairs * (risk[:, None] > risk)) / np.sum(pairs)
    order = np.argsort(durations)
    steps = np.where(event[order], 1.0, 1 - 1 / np.arange(3000, 0, -1))
    weight = np.empty(3000)
    weight[order] = 1 / np.append(1, np.cumprod(steps)[:-1])
    case, control = event & (durations <= 1), durations > 1
    won = (risk[case][:, None] > risk[control]).mean(axis=1)
    grids = dp.Grid.uniform(0, 2, 512), dp.Grid.uniform(0, 1, 512)
    found = dp.survival_scores(durations, event, risk, *grids, EXACT)
    assert abs(found.concordance - concordance) < 1e-3
    assert abs(found.auc(1) - np.average(won, weights=weight[case])) < 1e-3


def test_without_noise_they_are_those_of_lifelines_and_scikit_survival():
    rng = RNG(7)
    days, event, scores = rng.permutation(40) + 1, rng.random(40) < 0.6, rng.random(40)
    scores = np.round(scores * 8) / 8
    score_grid = dp.Grid(np.arange(9) / 8)
    found = dp.survival_scores(days, event, scores, dp.Grid.integers(1, 41), score_grid, EXACT)
    areas = [found.auc(day) for day in (10, 20, 30)]
    # ``concordance_index`` of lifelines 0.30.3, of negative scores; ``concordance_index_censored``
    # and ``cumulative_dynamic_auc`` of scikit-survival 0.28.0
    assert exactly(found.concordance, 0.5396341463414634)
    assert np.allclose(
        areas, [0.47227836075484736, 0.5282991332322167, 0.592453076960632], 0, 1e-12
    )
    tied = (days + 3) // 4
    found = dp.survival_scores(tied, event, scores, dp.Grid.integers(1, 11), score_grid, EXACT)
    assert exactly(found.concordance, 0.5375)


def test_half_of_the_pairs_in_a_cell_of_time_is_less_biased_than_none():
    durations, event, risk = sample(20_000)
    exact = dp.survival_scores(durations, event, risk, *[dp.Grid.uniform(0, 1, 512)] * 2, EXACT)
    grids = dp.Grid.uniform(0, 1, 2), dp.Grid.uniform(0, 1, 512)
    found = dp.survival_scores(durations, event, risk, *grids, EXACT)
    own = found.events + found.censored
    later = np.cumsum(own[:, ::-1], axis=1)[:, ::-1] - own
    below = np.cumsum(later, axis=0) - later / 2
    left_out = np.sum(found.events * below) / np.sum(found.events * later.sum(axis=0))
    assert abs(found.concordance - exact.concordance) < 0.5 * abs(left_out - exact.concordance)


def test_times_within_cells_are_between_those_of_their_ends():
    durations, event, risk = sample(2000)
    grids = dp.Grid.uniform(0, 2, 4), dp.Grid.uniform(0, 1, 8)
    found = dp.survival_scores(durations, event, risk, *grids, EXACT)
    observed = [found.calibration(t, bins=2).observed for t in (0.5, 0.75, 1.0)]
    assert np.allclose(observed[1], (observed[0] + observed[2]) / 2, 0, 1e-12)
    assert found.auc() == found.auc(2.0)
    hours = dp.Grid.uniform(np.timedelta64(0, "h"), np.timedelta64(2, "h"), 4)
    minutes = (durations * 3600 * 10**6).astype("m8[us]")
    same = dp.survival_scores(minutes, event, risk, hours, grids[1], EXACT)
    assert same.auc(np.timedelta64(75, "m")) == found.auc(1.25)


@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_with_any_noise_shares_are_shares_and_intervals_hold_them(epsilon):
    for seed in range(5):
        found = dp.survival_scores(*sample(300, seed), (0, 2), epsilon=epsilon, rng=RNG(seed))
        for value, (low, high) in (
            (found.concordance, found.concordance_interval()),
            (found.auc(1), found.auc_interval(1, of="population")),
        ):
            assert np.isnan(value) or 0 <= low <= value <= high <= 1
        fpr, tpr, _ = found.roc(1)
        assert all(np.diff(rate).min() >= 0 for rate in (fpr, tpr) if not np.isnan(rate).any())
        observed = found.calibration(1, bins=3)
        known = ~np.isnan(observed.observed)
        assert np.all((observed.low <= observed.observed)[known])
        assert np.all((observed.observed <= observed.high)[known])
        assert observed.counts.min() >= -1e-9


def test_intervals_cover_the_records_and_the_population():
    grids = dp.Grid.uniform(0, 2, 4), dp.Grid.uniform(0, 1, 16)
    whole = dp.survival_scores(*sample(10**6, 999), *grids, EXACT)
    truths = whole.concordance, whole.auc(1), whole.calibration(1, bins=1).observed[0]
    covered = np.zeros((60, 5))
    for seed in range(60):
        records = sample(2000, seed)
        exact = dp.survival_scores(*records, *grids, EXACT)
        found = dp.survival_scores(*records, *grids, epsilon=1.0, rng=RNG(seed))
        risk = found.calibration(1, bins=1)
        for at, (truth, (low, high)) in enumerate(
            (
                (exact.concordance, found.concordance_interval()),
                (exact.auc(1), found.auc_interval(1)),
                (truths[0], found.concordance_interval(of="population")),
                (truths[1], found.auc_interval(1, of="population")),
                (truths[2], (risk.low[0], risk.high[0])),
            )
        ):
            covered[seed, at] = low <= truth <= high
    assert np.all(covered.mean(axis=0) >= 0.86)


def test_a_known_release_stays_what_it_is():
    found = dp.survival_scores(*sample(500), (0, 2), epsilon=1.0, rng=RNG(1))
    assert found.concordance_interval() == found.concordance_interval()
    again = dp.load(found.to_json())
    assert again == found
    assert again.concordance_interval() == found.concordance_interval()
    raw = replace(found.table, row=replace(found.table.row, raw=None))
    unknown = dp.statistics.SurvivalScores(found.grid, raw)
    assert unknown.concordance == found.concordance
    assert np.isnan(unknown.calibration().low).all()
    with pytest.raises(dp.ParameterError, match="its noise is simulated"):
        unknown.auc_interval()


def test_nobody_to_compare_is_no_area():
    found = dp.survival_scores([5, 6], [0, 0], [0.1, 0.9], dp.Grid.uniform(0, 4, 2), (0, 1), EXACT)
    assert np.isnan(found.concordance)
    assert np.isnan(found.auc())
    assert np.isnan(found.roc().tpr).all()
    assert found.roc().fpr.tolist()[-1] == 1.0
    assert np.isnan(found.concordance_interval().low)


def test_nothing_is_known_where_noise_leaves_nobody_to_compare():
    unknown, given = 0, ([1.0, 2.0, 3.0], [1, 1, 0], [0.9, 0.4, 0.1])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = dp.survival_scores(*given, dp.Grid.uniform(0, 4, 2), epsilon=0.5, rng=rng)
        if np.isnan(found.concordance):
            unknown += 1
            assert found.concordance_interval() == (0.0, 1.0)
        if np.isnan(found.auc()):
            assert found.auc_interval(of="population") == (0.0, 1.0)
    assert unknown


def test_predicted_risks_lie_within_their_bins_even_of_parts_of_records():
    for seed in range(20):
        rng = RNG(seed)
        risk, until_event, event = rng.random(20), rng.exponential(size=20), np.ones(20)
        cells = dp.Grid.uniform(0, 1, 8)
        found = dp.survival_scores(until_event, event, risk, (0, 1), cells, epsilon=1.0, rng=rng)
        predicted, *_, counts = found.calibration(bins=5)
        assert np.array_equal(np.isnan(predicted), counts == 0.0)
        some, ends = counts > 0.0, np.append(0.0, cells.positions)
        total = np.append(0.0, np.cumsum(found.table.counts.sum(axis=1)))
        first = np.searchsorted(total, np.cumsum(counts) - counts + 1e-9, side="right") - 1
        assert np.all(predicted[some] >= ends[first[some]])


def test_scores_of_whole_numbers_are_0_and_1():
    durations, event, scores = [1, 2, 3, 4], [1, 1, 1, 0], [0, 1, 1, 0]
    times, whole = dp.Grid.integers(1, 4), dp.Grid.integers(0, 1)
    for grid in (whole, dp.Grid([0.0, 1.0], lower=0)):
        found = dp.survival_scores(durations, event, scores, times, grid, EXACT).calibration(2, 2)
        assert found.observed.tolist() == [0.5, 0.5]
    found = dp.survival_scores(durations, event, scores, times, whole, EXACT).calibration(2, 2)
    assert found.predicted.tolist() == [0.0, 1.0]


def test_wrong_arguments_are_refused():
    found = dp.survival_scores(*sample(500), (0, 2), epsilon=1.0, rng=RNG(1))
    for until in (-1, 2.5, np.nan, [1, 2]):
        with pytest.raises(dp.ParameterError, match="until"):
            found.auc(until)
    with pytest.raises(dp.ParameterError, match=re.escape("within [0, 1]")):
        dp.survival_scores(*sample(500), (0, 2), (0, 3), EXACT).calibration(1)
    with pytest.raises(dp.ParameterError, match="bins"):
        found.calibration(1, bins=0)
    with pytest.raises(dp.ParameterError, match="of"):
        found.calibration(1, of="nobody")
    with pytest.raises(dp.ParameterError, match="numbered cells"):
        dp.statistics.SurvivalScores(dp.Grid.uniform(0, 2, 3), found.table)
    other = dp.mechanisms.Histogram(2.0)
    with pytest.raises(dp.ParameterError, match="own"):
        dp.statistics.SurvivalScores(found.grid, found.table, other)


def test_it_is_drawn_and_told():
    figures = pytest.importorskip("matplotlib.pyplot")
    found = dp.survival_scores(*sample(500), (0, 2), epsilon=1.0, rng=RNG(1))
    texts = [text.get_text() for text in found.plot(until=1).get_legend().get_texts()]
    assert f"AUC at 1 = {found.auc(1):.3f}" in texts[1]
    figures.close("all")
    frame = found.to_frame(1)
    assert frame.shape == (found.score_grid.size, 5)
    assert np.isclose(frame["events"].sum() + frame["censored"].sum(), 500)
    assert repr(found).startswith("<SurvivalScores: concordance 0.")
    assert "concordance" in str(dp.report(found))
