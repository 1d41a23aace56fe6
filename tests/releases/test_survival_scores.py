"""Releases of scores and durations: exact counts, public grids, any columns, and clear refusals."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.planning.survival_score_grid import joined_in_both, suited_to_survival_scores
from dpcore.privacy.allowance import Allowance
from dpcore.summaries.survival_score_counts import survival_score_counts

RNG = np.random.default_rng
EXACT = dp.mechanisms.NoNoise()
TIMES, SCORES = dp.Grid.uniform(0, 2, 4), dp.Grid.uniform(0, 1, 5)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 0.75, 1.5, 2.0, 9.0]),
        st.booleans(),
        st.sampled_from([-1.0, 0.0, 0.2, 0.3, 1.0, np.inf]),
    ),
    max_size=30,
)


def sample(n=400, seed=1):
    rng = RNG(seed)
    risk = rng.random(n)
    until_event, until_end = rng.exponential(-1 / np.log1p(-risk)), rng.uniform(0, 3, n)
    return np.minimum(until_event, until_end), until_event <= until_end, risk


@settings(max_examples=60, deadline=None)
@given(RECORDS, st.sampled_from([np.float64, np.float32]))
def test_counts_are_those_of_survival_in_each_cell_of_scores(records, dtype):
    durations, event, scores = np.array(records).reshape(-1, 3).T.astype(dtype)
    counts = survival_score_counts(durations, event, scores, TIMES, SCORES)
    cells = np.minimum(np.searchsorted(SCORES.thresholds, scores), 4)
    for cell, row in enumerate(counts):
        own = cells == cell
        expected = dp.survival_counts(durations[own], event[own], TIMES)
        assert row.tolist() == expected.tolist()


def test_counts_of_parts_add_up_and_records_without_a_value_are_named_or_left_out():
    durations, event, scores = sample()
    whole = survival_score_counts(durations, event, scores, TIMES, SCORES)
    parts = [
        survival_score_counts(durations[own], event[own], scores[own], TIMES, SCORES)
        for own in (slice(0, 150), slice(150, None))
    ]
    assert np.array_equal(sum(parts), whole)
    gaps = {
        "durations": [np.append(durations, np.nan), np.append(event, 1), np.append(scores, 0.5)],
        "event": [np.append(durations, 1), np.append(event, np.nan), np.append(scores, 0.5)],
        "scores": [np.append(durations, 1), np.append(event, 1), np.append(scores, np.nan)],
    }
    for argument, records in gaps.items():
        omitted = survival_score_counts(*records, TIMES, SCORES, nan_policy="omit")
        assert np.array_equal(omitted, whole)
        with pytest.raises(dp.MissingValueError, match=argument):
            dp.survival_scores(*records, TIMES, SCORES, EXACT)


def test_joined_counts_are_those_on_coarser_grids():
    records = sample()
    fine = survival_score_counts(*records, dp.Grid.uniform(0, 2, 8), dp.Grid.uniform(0, 1, 10))
    coarse = survival_score_counts(*records, TIMES, SCORES)
    assert np.array_equal(joined_in_both(fine, (5, 4)), coarse)


def test_any_columns_give_the_same_table():
    durations, event, scores = sample()
    plain = dp.survival_scores(durations, event, scores, TIMES, SCORES, EXACT)
    frame = pd.DataFrame({"t": durations, "e": np.where(event, "dead", "alive"), "s": scores})
    for columns in (frame, pl.from_pandas(frame)):
        given = columns["t"], columns["e"], columns["s"]
        found = dp.survival_scores(*given, TIMES, SCORES, EXACT, event_label="dead")
        assert np.array_equal(found.table.counts, plain.table.counts)
    days = dp.Grid.uniform(dt.timedelta(0), dt.timedelta(days=2), 4)
    lasting = pd.to_timedelta(durations, unit="D")
    found = dp.survival_scores(lasting, event, scores, days, SCORES, EXACT)
    assert found.concordance == plain.concordance
    with pytest.raises(dp.ParameterError, match="index"):
        dp.survival_scores(frame["t"], frame["e"][::-1], frame["s"], TIMES, SCORES, EXACT)
    with pytest.raises(dp.ParameterError, match="index"):
        dp.survival_scores(frame["t"], frame["e"], frame["s"][::-1], TIMES, SCORES, EXACT)
    with pytest.raises(dp.ParameterError, match="scores must have the index of event"):
        dp.survival_scores(durations, frame["e"], frame["s"][::-1], TIMES, SCORES, EXACT)


def test_cells_grow_with_the_records_and_the_budget_and_given_grids_stay():
    sizes = [
        suited_to_survival_scores(n, Allowance.checked(epsilon, None, "replace-one", None), *given)
        for n, epsilon, given in (
            (10, 0.1, (None, None)),
            (1000, 1.0, (None, None)),
            (10_000, 1.0, (None, None)),
            (100_000, 1.0, (None, None)),
            (10**12, 1.0, (None, None)),
            (100_000, 1.0, (5, None)),
            (100_000, 1.0, (None, 3)),
            (100_000, 1.0, (5, 3)),
        )
    ]
    shapes = [shape for shape, _ in sizes]
    assert shapes[:5] == [(8, 2), (16, 4), (32, 8), (64, 16), (256, 64)]
    assert [shapes[5][0], shapes[6][1], shapes[7]] == [5, 3, (5, 3)]
    found = dp.survival_scores(*sample(1000), (0, 2), epsilon=1.0, rng=RNG(1))
    assert (found.score_grid.size, found.grid.size) == (16, 4)
    assert found.grid.thresholds.tolist() == [0.5, 1.0, 1.5, 2.0]
    found = dp.survival_scores(*sample(1000), TIMES, (0, 1), epsilon=1.0, rng=RNG(1))
    assert found.grid == TIMES
    days = dp.Grid.integers(0, 3)
    assert dp.survival_scores(*sample(), days, (0, 1), epsilon=1.0, rng=RNG(1)).grid.of_integers


@pytest.mark.parametrize(
    "spent", [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}], ids=str
)
def test_all_budgets_and_mechanisms_release(spent):
    found = dp.survival_scores(*sample(), (0, 2), **spent, rng=RNG(1))
    exact = dp.survival_scores(*sample(), found.grid, found.score_grid, EXACT)
    assert abs(found.concordance - exact.concordance) < 0.3
    assert found.n == 400
    assert found.mechanism is not None


def test_a_given_mechanism_is_used():
    mechanism = dp.mechanisms.Hierarchy(1.0)
    found = dp.survival_scores(*sample(), TIMES, SCORES, mechanism, rng=RNG(1))
    assert found.mechanism == mechanism
    local = dp.survival_scores(*sample(4000), TIMES, SCORES, dp.trust.Central(1.0), rng=RNG(1))
    assert math.isfinite(local.concordance_interval().low)


def test_wrong_arguments_are_refused_before_anything_is_spent():
    budget = dp.Budget(1.0)
    wrong = (
        ({"grid": 5}, dp.DtypeError, "grid"),
        ({"grid": (2, 0)}, dp.ParameterError, "upper"),
        ({"grid": dp.Grid.uniform(0, 2, 2**21)}, dp.ParameterError, "grid .* 1048576 cells of dur"),
        ({"score_grid": "0 to 1"}, dp.DtypeError, "score_grid"),
        ({"score_grid": dp.Grid.days("2024-01-01", "2024-01-05")}, dp.DtypeError, "score_grid"),
        ({"grid": dp.Grid.days("2024-01-01", "2024-01-05")}, dp.ParameterError, "grid"),
        ({"scores": [0.5]}, dp.ParameterError, "scores"),
        ({"scores": ["high"] * 400}, dp.DtypeError, "scores"),
        ({"event": sample()[2], "scores": sample()[1]}, dp.DtypeError, "Are they in this order"),
        ({"epsilon": -1.0}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1e-12}, dp.ParameterError, "epsilon"),
        ({"rng": 7}, dp.DtypeError, "rng"),
        ({"nan_policy": "drop"}, dp.ParameterError, "nan_policy"),
        ({"durations": [], "event": [], "scores": []}, dp.ParameterError, "at least one"),
    )
    given = dict(zip(("durations", "event", "scores"), sample(), strict=True))
    with budget:
        for other, error, told in wrong:
            with pytest.raises(error, match=told):
                dp.survival_scores(**{**given, "grid": (0, 2), "epsilon": 0.1, **other})
    both = dp.mechanisms.Histogram(1.0, neighbours="add-or-remove-one")
    with pytest.raises(dp.ParameterError, match="n is public"):
        dp.survival_scores(**given, grid=TIMES, score_grid=SCORES, mechanism=both)
    wave = dp.trust.SquareWave(1.0, clients=400)
    with pytest.raises(dp.ParameterError, match="two columns"):
        dp.survival_scores(**given, grid=TIMES, score_grid=SCORES, mechanism=wave)
    assert not budget.log


def test_scores_and_durations_of_another_unit_are_told():
    durations, event, risk = sample(2000)
    grids = dp.Grid.uniform(0, 2, 16), dp.Grid.uniform(0, 1, 16)
    with pytest.warns(dp.DpcoreWarning, match="scores"):
        dp.survival_scores(durations, event, 100 * risk + 1, *grids, epsilon=5.0, rng=RNG(1))
    with pytest.warns(dp.DpcoreWarning, match="unit"):
        dp.survival_scores(100 * durations + 3, event, risk, *grids, epsilon=5.0, rng=RNG(1))
