"""Running curves: exact answers and the noise of streams, cuts, bad batches, and what follows."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import FormatError
from dpcore.mechanisms.descriptions import from_curve
from dpcore.mechanisms.running import AfterSteps, questions
from dpcore.streams import CounterClosedError, DyadicTree, RunningCDF, RunningCount
from dpcore.streams.base import Change
from tests.records.test_columns_of_libraries import HOLDERS, VALUES

GRID = dp.Grid.uniform(0, 8, 8)
BUDGETS = [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]
HORIZONS = [40, None]


def seeded(seed=1, grid=GRID, horizon=40, mechanism=None, **options):
    if mechanism is None and not options.keys() & {"epsilon", "rho"}:
        options["rho"] = 0.5
    return RunningCDF(grid, horizon, mechanism, rng=np.random.default_rng(seed), **options)


def batches(steps, cells, seed=2):
    return np.random.default_rng(seed).integers(0, 300, (steps, cells))


# --- the release


def matrix(questions, cells):
    return np.stack([questions.ask(row) for row in np.eye(cells, dtype=np.int64)], axis=1)


@pytest.mark.sample(10)
@pytest.mark.parametrize("budget", [*BUDGETS, {"mechanism": DyadicTree(rho=0.5)}])
@pytest.mark.parametrize("horizon", HORIZONS)
@pytest.mark.parametrize("cells", [1, 2, 8, 130])
def test_a_curve_is_least_squares_of_exact_answers_and_the_noise_of_streams(budget, horizon, cells):
    if horizon is None and "mechanism" in budget:
        horizon = 17
    grid = dp.Grid.uniform(0, 8, cells)
    stream = seeded(3, grid, horizon, isotonic=False, **budget)
    questions, rng = stream._questions, np.random.default_rng(3)
    noises = [
        stream.mechanism.with_share(part.share).noise(
            horizon, rng, width=part.width, change=Change(part.amount, apart=True)
        )
        for part in questions.parts
    ]
    asked, states = matrix(questions, cells), [noise.start() for noise in noises]
    exact = np.zeros(cells, np.int64)
    for step, batch in enumerate(batches(5, cells), 1):
        exact += batch
        curve = stream.add_counts(batch)
        answers = asked @ batch, asked @ (exact - batch)
        made, start = [], 0
        for at, (noise, part) in enumerate(zip(noises, questions.parts, strict=True)):
            columns = slice(start, start + part.width)
            new, before = answers[0][None, columns], answers[1][columns]
            outputs, states[at] = noise.outputs(new, before, step - 1, states[at])
            made.append(outputs[0])
            start += part.width
        weights = np.repeat(
            [1.0 / noise.deviation(np.array([step]))[0] for noise in noises],
            [part.width for part in questions.parts],
        )
        weighted = weights[:, None] * asked
        estimate = np.linalg.lstsq(weighted, weights * np.concatenate(made), rcond=None)[0]
        wanted = np.cumsum(estimate)
        np.testing.assert_allclose(curve.counts[:-1], wanted[:-1], rtol=1e-7, atol=1e-5)
        assert curve.n == curve.counts[-1] == max(1, round(wanted[-1]))
        law = np.linalg.inv(weighted.T @ weighted)
        variances = np.cumsum(np.cumsum(law, axis=0), axis=1).diagonal()
        np.testing.assert_allclose(curve.noise_deviation, np.sqrt(variances), rtol=1e-6)


@pytest.mark.parametrize("budget", BUDGETS)
def test_curves_are_monotone_unless_they_are_wanted_as_they_are(budget):
    plain, isotonic = seeded(isotonic=False, **budget), seeded(**budget)
    for batch in np.tile([1, 0, 0, 2, 0, 1, 0, 0], (10, 1)):
        curve = plain.add_counts(batch)
        assert isotonic.add_counts(batch).counts.tolist() == curve.isotonic().counts.tolist()
    assert isotonic.curve.is_monotone
    assert not plain.curve.is_monotone


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_a_curve_states_the_cost_of_all_steps(budget, neighbours):
    stream = seeded(neighbours=neighbours, **budget)
    stated = dict(budget, simulated=True)
    assert stream.privacy == dp.Privacy(**stated, neighbours=neighbours)
    for step in (1, 2):
        curve = stream.add_counts(np.full(8, 50))
        assert curve.privacy == dp.Privacy(**stated, neighbours="add-or-remove-one")
        assert curve.mechanism["step"] == stream.step == step
    released = RunningCDF(GRID, 3, neighbours=neighbours, **budget).add_counts(np.full(8, 50))
    assert not released.privacy.simulated


def test_a_budget_is_charged_once():
    with dp.Budget(epsilon=1.0, neighbours="replace-one") as budget:
        stream = RunningCDF(GRID, 3, epsilon=1.0)
        for _ in range(3):
            stream.add_counts(np.full(8, 5))
        with pytest.raises(dp.BudgetError):
            RunningCDF(GRID, 3, epsilon=0.5)
    assert budget.spent.epsilon == 1.0


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.usefixtures("lattices_once")
@pytest.mark.parametrize("budget", BUDGETS[:2])
@pytest.mark.parametrize("horizon", HORIZONS)
def test_deviations_are_those_of_simulated_curves(budget, horizon):
    batch, steps, seen = np.full(8, 10_000), 4, []
    stream = seeded(horizon=horizon, isotonic=False, **budget)
    asks = np.tile(stream._questions.ask(batch), (steps, 1))
    largest = np.full(steps, batch.sum())
    for seed in range(2500):
        stream = seeded(seed, horizon=horizon, isotonic=False, **budget)
        stream._advance("counts", asks, largest)
        seen.append(stream.curve.counts)
    deviations = np.std(seen, axis=0)
    np.testing.assert_allclose(deviations, stream.curve.noise_deviation, rtol=0.05)
    law = from_curve(stream.curve)
    drawn = law.release(batch * steps, rng=np.random.default_rng(4), replicates=10_000)
    np.testing.assert_allclose(drawn.std(axis=0), stream.curve.noise_deviation, rtol=0.05)
    np.testing.assert_allclose(drawn.mean(axis=0), np.cumsum(batch) * steps, atol=1.0)


# --- cuts


@pytest.mark.sample(3)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("horizon", HORIZONS)
@settings(max_examples=10)
@given(cuts=st.sets(st.integers(0, 20)), seed=st.integers(0, 2**32))
def test_curves_do_not_depend_on_cuts(tmp_path_factory, budget, horizon, cuts, seed):
    path = tmp_path_factory.mktemp("cuts") / "curve"
    whole, cut = (seeded(seed, horizon=horizon, **budget) for _ in range(2))
    for step, batch in enumerate(batches(21, 8)):
        if step in cuts:
            cut.save(path)
            with pytest.raises(CounterClosedError):
                cut.add_counts(batch)
            last, cut = cut, RunningCDF.resume(path)
            assert cut.curve is None
            assert (cut.step, cut.horizon, cut.mechanism) == (step, horizon, last.mechanism)
            assert cut.privacy == last.privacy
        one, other = whole.add_counts(batch), cut.add_counts(batch)
        assert one.to_json() == other.to_json()
        assert one.counts.tobytes() == other.counts.tobytes()


GRIDS = [
    (dp.Grid([0.1, 2.5, 7.0]), [0.05, 3, 6.5, 2.5]),
    (dp.Grid([1, 2, 7]), [1, 1, 5, 2]),
    (dp.Grid.uniform("2024-01-01", "2025-01-01", 4), np.array(["2024-02-01", "2024-12-31"], "M8")),
]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("grid", "values"), GRIDS)
def test_saved_ones_keep_their_grid_and_their_options(tmp_path, budget, grid, values):
    for options in ({}, {"isotonic": False, "integers": False}):
        stream = seeded(grid=grid, **budget, **options)
        other = seeded(grid=grid, **budget, **options)
        first, path = stream.add(values), tmp_path / "curve"
        stream.save(path)
        again = RunningCDF.resume(path)
        assert again.grid == grid
        assert other.add(values).to_json() == first.to_json()
        assert again.add(values).to_json() == other.add(values).to_json()


def test_a_release_goes_on_from_its_file(tmp_path):
    for horizon in HORIZONS:
        for budget in BUDGETS:
            stream = RunningCDF(GRID, horizon, **budget)
            stream.add_counts(np.full(8, 5))
            stream.save(tmp_path / "curve")
            again = RunningCDF.resume(tmp_path / "curve")
            assert again._state.sums.tolist() == stream._state.sums.tolist()
            assert again.add_counts(np.full(8, 5)).mechanism["step"] == 2
            assert not again.privacy.simulated


def test_curves_of_one_stream_are_one_release(tmp_path):
    """Their noise is shared: as independent curves they would state errors that are too small."""
    stream, other = (RunningCDF(GRID, 8, rho=0.5) for _ in range(2))
    first, elsewhere = (one.add_counts(np.full(8, 50)) for one in (stream, other))
    stream.save(tmp_path / "curve")
    again = RunningCDF.resume(tmp_path / "curve").add_counts(np.full(8, 50))
    for second in (again, dp.load(again.to_json())):
        with pytest.raises(dp.ParameterError, match="another release"):
            dp.compare(first, second)
        with pytest.raises(dp.ParameterError, match="release of its own"):
            dp.combine([first, second])
    assert dp.combine([first, elsewhere]).n == first.n + elsewhere.n


def test_files_of_other_streams_are_refused_and_stay(tmp_path):
    count, curve = tmp_path / "count", tmp_path / "curve"
    RunningCount(9, rho=0.5).save(count)
    RunningCDF(GRID, 9, rho=0.5).save(curve)
    for kind, path in ((RunningCDF, count), (RunningCount, curve)):
        before = path.read_bytes()
        with pytest.raises(dp.FormatError, match="another kind"):
            kind.resume(path)
        assert path.read_bytes() == before
    assert RunningCount.resume(count).step == RunningCDF.resume(curve).step == 0


# --- calls beside each other, and calls that fail


@pytest.fixture
def restless():
    """Threads that take turns very often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_threads_get_the_curves_of_their_own_steps():
    stream, wanted = seeded(horizon=400), seeded(horizon=400)
    batch = np.full(8, 100)
    with ThreadPoolExecutor(8) as pool:
        curves = list(pool.map(stream.add_counts, [batch] * 400))
    steps = [curve.mechanism["step"] for curve in curves]
    assert sorted(steps) == list(range(1, 401))
    by_step = dict(zip(steps, curves, strict=True))
    for step in range(1, 401):
        assert by_step[step].to_json() == wanted.add_counts(batch).to_json()
    assert stream.curve is by_step[400]


def test_a_curve_that_cannot_be_made_is_no_step(monkeypatch):
    stream, wanted = seeded(), seeded()
    with monkeypatch.context() as patched:
        patched.setattr("dpcore.streams.running_curve.CDF", None)
        with contextlib.suppress(TypeError):
            stream.add_counts(np.full(8, 9))
    assert (stream.step, stream.curve) == (0, None)
    assert stream.add_counts(np.full(8, 9)).n == wanted.add_counts(np.full(8, 9)).n


SECRET = 7654321


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.add([1.0, np.nan]), dp.MissingValueError),
        (lambda s: s.add([1.0, np.nan], nan_policy="drop"), dp.ParameterError),
        (lambda s: s.add([[1.0], [2.0]]), dp.DpcoreError),
        (lambda s: s.add(["7654321"]), dp.DtypeError),
        (lambda s: s.add(np.array(["2024-01-01"], "M8[D]")), dp.DtypeError),
        (lambda s: s.add(None), dp.DpcoreError),
        (lambda s: s.add_counts(np.ones(7, int)), dp.ParameterError),
        (lambda s: s.add_counts(np.ones((1, 8), int)), dp.ParameterError),
        (lambda s: s.add_counts(np.ones(8)), dp.DtypeError),
        (lambda s: s.add_counts(np.ones(8, bool)), dp.DtypeError),
        (lambda s: s.add_counts([-SECRET] + [1] * 7), dp.ParameterError),
        (lambda s: s.add_counts([2**60 + SECRET] + [0] * 7), dp.ParameterError),
        (lambda s: s.add_counts([2**61] * 8), dp.ParameterError),
    ],
)
def test_bad_batches_change_nothing(budget, call, error):
    stream, wanted = seeded(horizon=2, **budget), seeded(horizon=2, **budget)
    first = stream.add_counts(np.full(8, 9))
    with pytest.raises(error, match=r"values|counts|nan_policy") as caught:
        call(stream)
    assert str(SECRET) not in str(caught.value) + repr(vars(caught.value))
    assert stream.step == 1
    assert stream.curve is first
    wanted.add_counts(np.full(8, 9))
    assert stream.add([1, 2]).to_json() == wanted.add([1, 2]).to_json()
    with pytest.raises(dp.ParameterError, match=r"values .*horizon: 0 steps"):
        stream.add([1])
    with pytest.raises(dp.DpcoreError):
        call(stream)
    assert stream.step == 2


@pytest.mark.parametrize("horizon", [1, 3, None])
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_largest_batches_fit(budget, horizon):
    stream = seeded(horizon=horizon, **budget)
    total = 0
    for step in range(1, (horizon or 5) + 1):
        most = stream._most(step) // stream._questions.unit
        with pytest.raises(dp.ParameterError, match="counts"):
            stream.add_counts([1, most, *[0] * 6])
        curve = stream.add_counts([0, most, *[0] * 6])
        total += most
        assert abs(curve.counts[3] - total) < 1e3 + total * 1e-9


@pytest.mark.parametrize("budget", BUDGETS)
def test_without_a_horizon_many_records_may_come_at_a_step(budget):
    stream = seeded(horizon=None, **budget)
    for step in range(1, 40):
        assert abs(stream.add_counts(np.full(8, 10**6)).n - step * 8e6) < 1e4


@pytest.mark.parametrize("epsilon", [100.0, 2000.0, 10**6])
def test_noise_that_is_always_zero(epsilon):
    for horizon in HORIZONS:
        stream = seeded(horizon=horizon, epsilon=epsilon)
        for batch in batches(3, 8):
            curve = stream.add_counts(batch)
        assert np.array_equal(curve.counts, np.cumsum(batches(3, 8).sum(axis=0)))
        assert dp.CDF.from_json(curve.to_json()).mechanism == curve.mechanism
        law = from_curve(curve)
        assert (law.release(curve.counts.astype(int), rng=np.random.default_rng(1)) > 0).all()


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"grid": [1, 2]}, dp.DpcoreError, "grid"),
        ({"horizon": 0}, dp.ParameterError, "horizon"),
        ({"horizon": 2**33}, dp.ParameterError, "horizon"),
        ({"rho": None}, dp.ParameterError, "epsilon"),
        ({"epsilon": 1.0}, dp.ParameterError, "rho"),
        ({"rho": 1e-12}, dp.ParameterError, "rho"),
        ({"mechanism": DyadicTree(1.0)}, dp.ParameterError, "rho"),
        ({"neighbours": "nobody"}, dp.ParameterError, "neighbours"),
        ({"isotonic": 1}, dp.DtypeError, "isotonic"),
        ({"integers": 1}, dp.DtypeError, "integers"),
        ({"rng": 1}, dp.DtypeError, "rng"),
        (
            {"horizon": None, "rho": None, "mechanism": DyadicTree(1.0)},
            dp.ParameterError,
            "horizon",
        ),
    ],
)
def test_bad_arguments(options, error, name):
    arguments = {"grid": GRID, "horizon": 5, "rho": 0.5, **options}
    with pytest.raises(error, match=name):
        RunningCDF(arguments.pop("grid"), arguments.pop("horizon"), **arguments)


# --- batches


@pytest.mark.parametrize("name", HOLDERS)
def test_batches_are_counted_as_by_cdf_however_they_are_kept(name):
    values, grid = HOLDERS[name](VALUES), dp.Grid([0, 1, 2, 3])
    stream, wanted = seeded(grid=grid), seeded(grid=grid)
    with pytest.raises(dp.MissingValueError):
        stream.add(values)
    counts = grid.count(values, nan_policy="omit")
    curve = stream.add(values, nan_policy="omit")
    assert curve.to_json() == wanted.add_counts(counts).to_json()


@pytest.mark.parametrize("budget", BUDGETS)
def test_an_empty_batch_is_a_step(budget):
    stream, wanted = seeded(**budget), seeded(**budget)
    assert stream.add([]).n == wanted.add_counts(np.zeros(8, int)).n >= 1
    assert stream.add(np.empty(0)).mechanism["step"] == 2


@pytest.mark.parametrize("budget", BUDGETS)
def test_one_cell(budget):
    stream = seeded(grid=dp.Grid([5.0]), **budget)
    for step in range(1, 4):
        assert abs(stream.add([1.0] * 1000).n - 1000 * step) < 200
    assert stream.curve.counts.shape == (1,)


def test_dates_and_integers():
    dates = seeded(grid=dp.Grid.uniform("2024-01-01", "2025-01-01", 12))
    curve = dates.add(np.repeat(np.array(["2024-02-01", "2024-11-01"], "M8[D]"), 5000))
    assert np.datetime64("2024-10-01") < curve.quantile(0.9) < np.datetime64("2024-12-01")
    whole = seeded(grid=dp.Grid([1, 2, 3, 4]), integers=True)
    assert whole.add([1, 2, 3] * 1000).integers is True
    assert seeded(grid=dp.Grid([1, 2, 3, 4])).add([1]).integers is None


# --- what follows from a curve


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("horizon", HORIZONS)
def test_written_and_read_again_it_is_the_same(budget, horizon):
    stream = seeded(horizon=horizon, **budget)
    for batch in batches(3, 8):
        curve = stream.add_counts(batch)
    again = dp.CDF.from_json(curve.to_json())
    assert again.to_json() == curve.to_json()
    assert again.mechanism == curve.mechanism
    law = from_curve(again)
    assert isinstance(law, AfterSteps)
    assert law.describe() == curve.mechanism
    assert law.step == 3
    np.testing.assert_allclose(law.noise_deviation(8), curve.noise_deviation)


@pytest.mark.parametrize(
    ("field", "value"),
    [(of, value) for of in ("deviations", "step") for value in ("nan", "-1.0", "", "two")]
    + [("deviations", "1.0,inf"), ("deviations", -1), ("step", 0), ("step", 0.5)],
)
def test_a_law_that_is_none_is_refused_where_it_is_read(field, value):
    written = json.loads(seeded().add_counts(np.full(8, 500)).to_json())
    written["mechanism"][field] = value
    with pytest.raises(FormatError):
        dp.load(json.dumps(written))


def test_another_process_studies_a_curve_without_its_stream(tmp_path):
    path = tmp_path / "curve.json"
    path.write_text(seeded().add_counts(np.full(8, 500)).to_json())
    script = (
        "import sys, dpcore as dp; curve = dp.load(sys.argv[1]);"
        "print(dp.interval(curve, lambda curve: curve.quantile(0.5)));"
        "print(dp.mechanisms.from_curve(curve).step)"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\n1\n")


@pytest.mark.parametrize("budget", BUDGETS)
def test_intervals_and_bands_cover(budget):
    covered = 0
    exact = np.cumsum(np.full(8, 2000))
    for seed in range(20):
        curve = seeded(seed, **budget).add_counts(np.full(8, 2000))
        interval = curve.quantile_interval(0.5)
        assert interval.low <= 4.0 <= interval.high
        low, high = curve.band(0.95)
        covered += bool(np.all((low <= exact / 16000 + 1e-9) & (exact / 16000 - 1e-9 <= high)))
    assert covered >= 16


@pytest.mark.parametrize("budget", BUDGETS)
def test_curves_of_one_step_at_two_sites_are_combined(budget):
    sites = [seeded(seed, **budget) for seed in (1, 2)]
    for step in (1, 2):
        curves = [site.add_counts(np.full(8, 500)) for site in sites]
        both = dp.combine(curves)
        assert abs(both.n - 8000 * step) < 300
        np.testing.assert_allclose(
            both.noise_deviation, np.sqrt(2) * curves[0].noise_deviation, rtol=1e-6
        )


@pytest.mark.parametrize("deviations", [(9.0,), (0.0,)])
def test_the_law_after_some_steps_is_not_for_releases(deviations):
    law = AfterSteps(1.0, deviations=deviations, step=3)
    with pytest.raises(dp.ParameterError, match="rng"):
        law.release(np.array([4, 3, 2, 1]))
    assert law.release(np.array([4, 5, 6]), rng=np.random.default_rng(1)).shape == (3,)
    for bad in ({"deviations": (-1.0,)}, {"deviations": (np.nan,)}, {"step": 0}):
        with pytest.raises(dp.DpcoreError, match=next(iter(bad))):
            AfterSteps(1.0, **{"deviations": (9.0,), **bad})
    with pytest.raises(dp.ParameterError, match="deviations"):
        AfterSteps(1.0, deviations=(1.0, 2.0)).noise_deviation(4)


@pytest.mark.parametrize("cells", [1, 2, 8, 1000, 4096])
def test_shares_of_the_parts_are_the_whole(cells):
    for budget in BUDGETS:
        stream = seeded(grid=dp.Grid.uniform(0, 1, cells), **budget)
        assert sum((part.share for part in stream._questions.parts), Fraction(0)) == 1


def test_a_law_for_simulations_is_refused_before_a_budget_is_charged():
    law = AfterSteps(1.0, deviations=(9.0,) * len(questions(8, is_gaussian=False).parts))
    budget = dp.Budget(epsilon=5.0)
    with budget, pytest.raises(dp.ParameterError, match="mechanism"):
        dp.cdf([1.0], dp.Grid.uniform(0, 8, 8), law)
    assert not budget.log


# --- likely mistakes


VISITS = np.minimum(np.random.default_rng(1).geometric(0.31, 20_000) - 1, 60)  # 31 % are 0


def told(stream, *batches):
    """What the warnings of these steps say."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dp.DpcoreWarning)
        for batch in batches:
            stream.add(batch)
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("window", [None, 2])
def test_a_likely_mistake_is_told_once(window, tmp_path):
    unit, whole = dp.Grid.uniform(0, 60, 60), dp.Grid.integers(0, 60)
    stream = seeded(grid=unit, window=window)
    [text] = told(stream, *[VISITS] * 3)
    assert "which also holds those at its lower end" in text
    assert "Grid.integers(0, 60)" in text
    assert told(seeded(grid=whole, window=window), *[VISITS] * 3) == []
    [text] = told(seeded(grid=whole, window=window), *[VISITS + 1000] * 3)
    assert "100 % in its last: is it the grid for these values?" in text
    stream.save(tmp_path / "curve")
    assert told(RunningCDF.resume(tmp_path / "curve"), VISITS) == []


def test_few_records_beside_the_noise_are_no_mistake():
    assert told(seeded(grid=dp.Grid.uniform(0, 60, 60)), *[VISITS[:200]] * 3) == []


@pytest.mark.parametrize("said", [None, True, False])
@pytest.mark.parametrize("grid", [GRID, dp.Grid.integers(1, 8)])
def test_curves_state_what_the_caller_states_about_whole_numbers(said, grid):
    curve = seeded(grid=grid, integers=said).add_counts(np.full(8, 500))
    other = dp.cdf_from_counts(np.full(8, 500), grid, epsilon=1.0, integers=said)
    assert curve.integers is said
    assert other.integers is said
    at = np.linspace(0.1, 0.9, 9)
    assert np.all(curve.quantile(at) % 1 == 0) == np.all(other.quantile(at) % 1 == 0)
