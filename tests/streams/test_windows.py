"""Sliding windows: their outputs from prefix sums, deviations, saved states, and refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.streams import (
    BufferedToeplitz,
    ConsistentTree,
    DyadicTree,
    RunningCDF,
    RunningCount,
    rescaled,
    saved,
)
from dpcore.streams.base import Change
from dpcore.streams.buffers import buffers_for
from dpcore.streams.windows import noise_of
from tests import reference
from tests.reference import consistent

ADDED = "add-or-remove-one"
MECHANISMS = [
    ConsistentTree(1.0),
    ConsistentTree(1.0, branching=(2, 2, 3)),
    BufferedToeplitz(rho=0.5),
    DyadicTree(1.0),
    DyadicTree(rho=0.5, base=3),
]
TWO_EPOCHS = Change(apart=True, epochs=2)
GRID = dp.Grid.uniform(0, 8, 8)


def rng(seed=1):
    return np.random.default_rng(seed)


def seeded(mechanism, window, seed=1, horizon=None):
    return RunningCount(horizon, mechanism, window=window, rng=rng(seed))


def arrivals(steps, seed=2):
    return rng(seed).integers(0, 300, steps)


def last(increments, window):
    """The exact sums of the last steps."""
    sums = np.cumsum(increments)
    return sums - np.concatenate([np.zeros(window, int), sums])[: len(sums)]


# --- outputs


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_window_is_the_end_of_an_epoch_and_the_start_of_the_next(mechanism, window):
    increments = arrivals(4 * window)
    shown = noise_of(mechanism, None, window, rng()).outputs
    inner = mechanism.noise(window, rng(), change=TWO_EPOCHS)
    state, before = inner.start(), np.zeros(window)
    wanted = []
    for epoch in increments.reshape(4, window):
        sums, state = inner.outputs(epoch[:, None], np.zeros(1, np.int64), 0, state)
        sums, state = sums[:, 0], inner.start_after(state)
        wanted.extend(before[-1] - before + sums)
        before = sums
    start = noise_of(mechanism, None, window, rng()).start()
    outputs, _ = shown(increments[:, None], np.zeros(1, np.int64), 0, start)
    assert outputs[:, 0].tolist() == [float(value) for value in wanted]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("window", [1, 2, 5, 12])
def test_records_count_as_long_as_they_are_in_the_window(mechanism, window):
    increments = arrivals(30)
    full, empty = seeded(mechanism, window), seeded(mechanism, window)
    counted = full.extend(increments) - empty.extend(np.zeros(30, int))
    assert np.abs(counted - last(increments, window)).max() <= 1  # both are rounded


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_window_as_long_as_the_horizon_changes_nothing(mechanism):
    for window in (9, 10, 2**20):
        plain, windowed = (seeded(mechanism, w, horizon=9) for w in (None, window))
        assert windowed.extend(arrivals(9)).tolist() == plain.extend(arrivals(9)).tolist()
        assert windowed.noise_deviation() == plain.noise_deviation()
        assert (plain.window, windowed.window) == (None, window)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_largest_counts_fit_whatever_has_been_counted_before(mechanism, tmp_path):
    count, path = seeded(mechanism, 2), tmp_path / "count"
    most = count._most()
    assert most >= 2**36
    for step in range(1, 50):
        shown = count.add(most)
        assert abs(shown - min(step, 2) * most) < 200 + most * 2**-50
        if step % 7 == 0:
            count.save(path)
            count = RunningCount.resume(path)
    assert count._state.step * most > 2**63 or isinstance(mechanism, BufferedToeplitz)
    with pytest.raises(dp.ParameterError, match="increment"):
        count.add(most + 1)


def test_a_curve_of_a_window_has_more_records_a_step_than_one_of_an_endless_stream():
    stream = RunningCDF(GRID, None, rho=0.5, window=7, rng=rng())
    assert abs(stream.add_counts([10**6] * 8).n - 8 * 10**6) < 100


def test_noise_is_of_the_window_and_not_of_the_horizon():
    for mechanism in MECHANISMS:
        deviations = [seeded(mechanism, 12, horizon=h).noise_deviation(30) for h in (30, 10**6)]
        assert deviations[0] == deviations[1]


# --- deviations


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("window", [1, 2, 4, 11])
def test_deviations_are_those_of_simulated_noise(mechanism, window):
    steps, replicates = 3 * window + 2, 20_000
    noise = noise_of(mechanism, None, window, rng(), width=replicates)
    nothing = np.zeros((steps, replicates), np.int64)
    outputs, _ = noise.outputs(nothing, nothing[0], 0, noise.start())
    # The width is in the claim for rounding, and in nothing else.
    at = np.arange(1, steps + 1)
    np.testing.assert_allclose(outputs.std(axis=1), noise.deviation(at), rtol=0.04)
    first, later = np.triu_indices(steps, 1)
    apart = (outputs[later] - outputs[first]).std(axis=1)
    expected = noise.difference_deviation(first + 1, later + 1)
    np.testing.assert_allclose(apart, expected, rtol=0.04)
    assert (noise.difference_deviation(at, at) == 0).all()


def pairs(steps):
    first, later = np.triu_indices(steps)
    return first + 1, later + 1


def norms(matrix, first, later):
    rows = np.atleast_2d(matrix)
    return np.sqrt(((rows[later - 1] - rows[first - 1]) ** 2).sum(axis=1))


@pytest.mark.parametrize("branching", [(1,), (5,), (2, 2), (3, 4), (1, 3, 2), (4, 1, 3), (2,) * 4])
def test_differences_of_the_consistent_tree_are_those_of_its_matrix(branching):
    first, later = pairs(math.prod(branching))
    noise = ConsistentTree(1.0, branching=branching).noise(math.prod(branching))
    unit = noise.epochs[0].law.variance ** 0.5
    expected = norms(consistent.consistent_matrix(branching), first, later)
    differences = noise.difference_deviation(first, later)
    np.testing.assert_allclose(differences, unit * expected, rtol=1e-9, atol=1e-6)


def test_differences_over_epochs_of_a_tree_without_a_horizon():
    noise = ConsistentTree(1.0).noise(None)
    first, later = np.array([3, 16, 17, 5, 40]), np.array([16, 17, 300, 300, 40])
    replicates = 20_000
    wide = ConsistentTree(1.0).noise(None, rng(), width=replicates)
    nothing = np.zeros((300, replicates), np.int64)
    outputs, _ = wide.outputs(nothing, nothing[0], 0, wide.start())
    apart = (outputs[later - 1] - outputs[first - 1]).std(axis=1)
    np.testing.assert_allclose(apart, noise.difference_deviation(first, later), rtol=0.03)


@pytest.mark.parametrize("base", [2, 3, 7])
@pytest.mark.parametrize("horizon", [1, 6, 16])
def test_differences_of_the_dyadic_tree_are_those_of_its_matrix(base, horizon):
    first, later = pairs(horizon)
    noise = DyadicTree(1.0, base).noise(horizon)
    unit = float(noise.draws.law.variance) ** 0.5
    expected = norms(reference.tree_matrix(horizon, base), first, later)
    np.testing.assert_allclose(noise.difference_deviation(first, later), unit * expected)


@pytest.mark.parametrize("horizon", [1, 2, 40, 130])
def test_differences_of_buffers_are_those_of_their_matrix(horizon):
    buffers = buffers_for(horizon)
    first, later = pairs(horizon)
    matrix = reference.toeplitz([float(w) for w in reference.exact_weights(buffers, horizon)])
    plain = buffers.squares_of_difference(first, later)
    np.testing.assert_allclose(np.sqrt(plain), norms(matrix, first, later), atol=1e-7)
    prefix = np.tril(np.ones((horizon, horizon)))
    matrix = prefix / rescaled._factors(buffers) @ np.linalg.inv(prefix) @ matrix
    noise = BufferedToeplitz(rho=0.5, neighbours=ADDED).noise(horizon)
    unit = noise.inner.draws.law.variance**0.5 * 2.0**-noise.inner.bits
    expected = unit * norms(matrix, first, later)
    np.testing.assert_allclose(noise.difference_deviation(first, later), expected, atol=1e-7)


@pytest.mark.parametrize("window", [30, 365])
def test_trees_are_chosen_for_both_ends_of_an_epoch(window):
    at = np.arange(window + 1, 2 * window + 1)
    chosen = noise_of(ConsistentTree(1.0), None, window, None).deviation(at)
    of_prefixes = ConsistentTree(1.0).noise(window).epochs[0].branching
    other = ConsistentTree(1.0, branching=of_prefixes)
    assert np.mean(chosen**2) < 0.85 * np.mean(
        noise_of(other, None, window, None).deviation(at) ** 2
    )


# --- curves


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.usefixtures("lattices_once")
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_curves_of_a_window_have_the_deviations_that_they_state_and_bands_cover(budget):
    batches = rng().integers(1000, 9000, (6, 8))
    exact = np.cumsum(batches[-3:].sum(axis=0))
    seen, covered, runs = [], 0, 800
    for seed in range(runs):
        stream = RunningCDF(GRID, None, window=3, isotonic=False, rng=rng(seed), **budget)
        for batch in batches:
            curve = stream.add_counts(batch)
        seen.append(curve.counts)
        if seed < 100:
            low, high = curve.band(0.95)
            share = exact / exact[-1]
            covered += bool(np.all((low <= share + 1e-9) & (share - 1e-9 <= high)))
    assert abs(np.mean(seen, axis=0) - exact).max() < 5 * curve.noise_deviation.max() / runs**0.5
    np.testing.assert_allclose(np.std(seen, axis=0), curve.noise_deviation, rtol=0.1)
    assert covered >= 87  # of 100; 95 are expected


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_quantiles_follow_the_window(budget):
    stream = RunningCDF(GRID, None, window=3, rng=rng(), **budget)
    for place in (1.5, 1.5, 1.5, 6.5, 6.5, 6.5):
        curve = stream.add(np.full(10_000, place))
    interval = curve.quantile_interval(0.5)
    assert interval.low <= 7.0 <= interval.high
    assert abs(curve.n - 30_000) < 500
    assert curve.counts[2] < 500


# --- cuts


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("window", [1, 3, 7])
@settings(max_examples=8)
@given(cuts=st.sets(st.integers(1, 19)), seed=st.integers(0, 2**32))
def test_counts_do_not_depend_on_cuts(tmp_path_factory, mechanism, window, cuts, seed):
    path = tmp_path_factory.mktemp("cuts") / "count"
    increments = arrivals(20)
    whole = seeded(mechanism, window, seed).extend(increments)
    count, outputs = seeded(mechanism, window, seed), []
    for first, end in zip([0, *sorted(cuts)], [*sorted(cuts), 20], strict=True):
        outputs.extend(count.extend(increments[first:end]))
        count.save(path)
        count = RunningCount.resume(path)
        assert (count.step, count.window, count.horizon) == (end, window, None)
    assert outputs == whole.tolist()


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_curves_do_not_depend_on_cuts(tmp_path, budget):
    whole, cut = (RunningCDF(GRID, None, window=3, rng=rng(), **budget) for _ in range(2))
    for batch in rng().integers(0, 300, (11, 8)):
        cut.save(tmp_path / "curve")
        cut = RunningCDF.resume(tmp_path / "curve")
        one, other = whole.add_counts(batch), cut.add_counts(batch)
        assert one.to_json() == other.to_json()
        assert one.counts.tobytes() == other.counts.tobytes()


def test_a_state_is_never_changed():
    for mechanism in MECHANISMS:
        noise = noise_of(mechanism, None, 3, rng())
        state, sums = noise.start(), np.zeros(1, np.int64)
        for at, came in enumerate(arrivals(10)):
            taken = [noise.outputs(np.array([[came]]), sums, at, state) for _ in range(2)]
            assert taken[0][0].tolist() == taken[1][0].tolist()
            assert noise.describe(taken[0][1]) == noise.describe(taken[1][1])
            sums, state = sums + came, taken[0][1]


def test_epochs_of_a_release_and_of_a_study_have_fresh_noise():
    for mechanism in MECHANISMS:
        for source in (None, rng()):
            wide = noise_of(mechanism, None, 1, source, width=50)
            nothing = np.zeros((3, 50), np.int64)
            outputs, _ = wide.outputs(nothing, nothing[0], 0, wide.start())
            assert (outputs[0] != outputs[1]).any()
            assert (outputs[1] != outputs[2]).any()


# --- files and refusals


def altered(path, change):
    state = saved.load(path.read_bytes())
    change(state)
    path.write_bytes(saved.dump(state))


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["more"].update(window=2),
        lambda state: state["more"].update(window=0),
        lambda state: state["more"].clear(),
        lambda state: state["noise"][0].update(start=[2**63]),
        lambda state: state["noise"][0].update(start=[1, 1]),
        lambda state: state["noise"][0].update(outputs=[]),
        lambda state: state["noise"][0].update(outputs=[[0.5]] * 2),
        lambda state: state["noise"][0]["left"][0].append(1),
        lambda state: state["noise"][0]["left"][0].__setitem__(0, 0x7FF0000000000000),
        lambda state: state["noise"][0].pop("left"),
        lambda state: state.update(step=state["step"] + 1),
    ],
)
def test_files_that_contradict_themselves_are_refused_and_stay(tmp_path, change):
    path = tmp_path / "count"
    count = seeded(DyadicTree(1.0), 3)
    count.extend([1] * 5)
    count.save(path)
    altered(path, change)
    before = path.read_bytes()
    with pytest.raises(dp.FormatError):
        RunningCount.resume(path)
    assert path.read_bytes() == before


def test_files_without_a_window_have_the_fields_that_they_had(tmp_path):
    RunningCount(9, rho=0.5).save(tmp_path / "count")
    assert json.loads((tmp_path / "count").read_bytes())["state"]["more"] == {}


@pytest.mark.parametrize(
    ("window", "error"),
    [
        (0, dp.ParameterError),
        (-7, dp.ParameterError),
        (2**20 + 1, dp.ParameterError),
        (7.0, dp.DtypeError),
        (True, dp.DtypeError),
        ("7", dp.DtypeError),
    ],
)
@pytest.mark.parametrize("horizon", [5, None])
def test_bad_windows_are_refused_before_a_budget_is_charged(window, error, horizon):
    with dp.Budget(epsilon=1.0) as budget:
        with pytest.raises(error, match="window"):
            RunningCount(horizon, epsilon=1.0, window=window)
        with pytest.raises(error, match="window"):
            RunningCDF(GRID, horizon, epsilon=1.0, window=window)
    assert budget.spent.epsilon == 0.0


def test_a_whole_number_of_numpy_is_a_window(tmp_path):
    count = RunningCount(None, epsilon=1.0, window=np.int8(7))
    assert type(count.window) is int
    count.save(tmp_path / "count")
    assert RunningCount.resume(tmp_path / "count").window == 7


def test_a_stream_says_on_a_line_what_it_is():
    week = RunningCount(window=7, epsilon=1.0, neighbours="add-or-remove-one")  # no horizon needed
    week.extend([3] * 9)
    assert repr(week) == "<RunningCount: step 9, the last 7, epsilon = 1>"
    assert repr(RunningCount(365, rho=0.5)).startswith("<RunningCount: step 0 of 365, rho = 0.5")
