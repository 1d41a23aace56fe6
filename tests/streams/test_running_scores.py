"""Running scores: exact answers and noise of both classes, what follows from them, and alarms."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.mechanisms.descriptions import from_curve
from dpcore.mechanisms.running import AfterSteps, questions
from dpcore.statistics.areas import area_of, slopes_of
from dpcore.streams import CounterClosedError, DyadicTree, RunningCDF, RunningScores, saved
from dpcore.streams.area_changes import Monitoring
from dpcore.streams.base import Change
from dpcore.streams.windows import noise_of

BUDGETS = [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}]
CELLS, HORIZON, WINDOW = 8, 20, 4
GRID = dp.Grid.uniform(0, 1, CELLS)
SHARES = np.concatenate([np.arange(CELLS, 0, -1) / 60, np.arange(CELLS, 0, -1) / 90])
SHARES /= SHARES.sum()  # 60 % negatives with low scores, and positives with high ones


def seeded(seed=1, grid=GRID, horizon=HORIZON, mechanism=None, **options):
    if mechanism is None and not options.keys() & {"epsilon", "rho"}:
        options["rho"] = 0.5
    return RunningScores(grid, horizon, mechanism, rng=np.random.default_rng(seed), **options)


def batches(steps, seed=2, size=500, shares=SHARES):
    return np.random.default_rng(seed).multinomial(size, shares, steps)


# --- the release


@pytest.mark.parametrize("budget", [*BUDGETS, {"mechanism": DyadicTree(rho=0.5)}])
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("cells", [1, 8, 150])
def test_each_class_has_exact_answers_and_noise_of_its_own(budget, window, cells):
    grid = dp.Grid.uniform(0, 1, cells)
    stream = seeded(3, grid, window=window, isotonic=False, **budget)
    is_gaussian = stream.mechanism.budget.rho is not None
    half, rng = questions(cells, is_gaussian=is_gaussian), np.random.default_rng(3)
    noises = [
        noise_of(
            stream.mechanism.with_share(part.share),
            HORIZON,
            window,
            rng,
            width=2 * part.width,
            change=Change(part.amount, apart=True),
        )
        for part in half.parts
    ]
    states = [noise.start() for noise in noises]
    exact = np.zeros((2, cells), np.int64)
    for step, batch in enumerate(batches(7, shares=np.full(2 * cells, 0.5 / cells)), 1):
        asked, before = ([half.ask(row) for row in rows] for rows in (batch.reshape(2, -1), exact))
        exact += batch.reshape(2, cells)
        answers, start = [], 0
        for at, (noise, part) in enumerate(zip(noises, half.parts, strict=True)):
            columns = slice(start, start + part.width)
            new, old = (np.concatenate([of[columns] for of in rows]) for rows in (asked, before))
            out, states[at] = noise.outputs(new[None], old, step - 1, states[at])
            answers.append(np.split(out, 2, axis=1))
            start += part.width
        deviations = [float(noise.deviation(np.array([step]))[0]) for noise in noises]
        negatives, positives = (
            half.curve(np.concatenate([part[of] for part in answers], axis=1), deviations)[0]
            for of in (0, 1)
        )
        curves = stream.add_counts(batch)
        joint = np.concatenate([negatives, negatives[-1] + positives])
        joint[-1] = max(1, round(joint[-1]))
        assert np.array_equal(curves.joint.counts, joint)
        assert np.array_equal(curves.negatives, negatives)
        assert np.array_equal(curves.positives, joint[-1] - joint[cells - 1 : -1][::-1])
        variances = half.variances(deviations)
        of_joint = np.sqrt(np.concatenate([variances, variances[-1] + variances]))
        assert np.allclose(curves.joint.noise_deviation, of_joint, rtol=1e-12)


@pytest.mark.parametrize("budget", BUDGETS[:2])
def test_without_noise_they_are_the_curves_of_all_records(budget):
    stream = seeded(**{name: 2.0**20 * value for name, value in budget.items()})
    rng, seen = np.random.default_rng(1), []
    for _ in range(3):
        scores = rng.random(200)
        seen.append((rng.random(200) < scores, scores))
        curves = stream.add(*seen[-1])
        exact = dp.score_curves(
            *map(np.concatenate, zip(*seen, strict=True)), GRID, dp.mechanisms.NoNoise()
        )
        assert np.allclose(curves.negatives, exact.negatives, atol=0.5)
        assert np.allclose(curves.positives, exact.positives, atol=0.5)
    assert stream.curves is curves


def test_a_class_costs_no_more_noise_than_a_curve_of_its_cells():
    for budget in BUDGETS:
        alone = RunningCDF(GRID, HORIZON, **budget)
        curves = seeded(**budget).add_counts(np.zeros(2 * CELLS, int))
        wanted = alone.add_counts(np.zeros(CELLS, int)).noise_deviation
        assert np.allclose(curves.deviations[0], wanted)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("window", [None, 3])
def test_deviations_and_laws_of_simulations_are_those_of_streams(budget, window):
    steps, runs = 5, 3000
    stream = seeded(window=window, isotonic=False, **budget)
    for _ in range(steps):
        curves = stream.add_counts(np.full(2 * CELLS, 1000))
    law = from_curve(curves.joint)
    assert isinstance(law, AfterSteps)
    assert law.classes == 2
    drawn = law.release(np.zeros(2 * CELLS, int), rng=np.random.default_rng(1), replicates=runs)
    real = released(np.zeros((runs, steps, 2 * CELLS)), stream, rounded=False)[:, -1]
    for sample in (drawn, real):
        assert np.allclose(sample.std(axis=0), curves.joint.noise_deviation, rtol=0.07)
        of_positives = sample[:, -1:] - sample[:, CELLS - 1 : -1]
        assert (of_positives.std(axis=0)[::-1] < 1.07 * curves.deviations[1]).all()
    between = np.cov(drawn.T) / np.outer(drawn.std(axis=0), drawn.std(axis=0))
    assert np.abs(between - np.corrcoef(real.T)).max() < 0.1


def test_existing_statistics_and_intervals_take_the_curves():
    covered, runs = 0, 60
    exact = SHARES[:CELLS], SHARES[CELLS:][::-1]
    for seed in range(runs):
        stream = seeded(seed, window=WINDOW)
        for batch in np.tile(np.rint(600 * SHARES).astype(int), (6, 1)):
            curves = stream.add_counts(batch)
        roc = dp.statistics.ROC.from_curves(curves, from_curve(curves.joint))
        low, high = roc.auc_interval()
        covered += low <= area_of(*(np.rint(600 * part) for part in exact), 0.5) <= high
    assert 0.85 * runs <= covered
    assert dp.interval(curves, lambda c: dp.statistics.ROC(c).auc).high < 1.0
    assert dp.load(curves.to_json()) == curves
    assert 0.0 <= dp.statistics.expected_calibration_error(curves) <= 1.0
    test = dp.statistics.HosmerLemeshow.from_curves(curves, mechanism=from_curve(curves.joint))
    # The scores are not calibrated. In cells of an eighth, some nearly would be.
    assert test.under_noise(replicates=99).pvalue <= 0.1


def test_simulated_numbers_of_records_count_in_both_classes():
    curves = seeded().add_counts(np.full(2 * CELLS, 10))
    joint = np.arange(1.0, 2 * CELLS + 1)
    negatives, positives = curves.classes(np.stack([joint, 2 * joint]))
    assert np.array_equal(negatives[1], 2 * negatives[0])
    assert np.array_equal(positives[1], 2 * positives[0])
    assert positives[0][-1] == CELLS


def test_an_odd_number_of_cells_has_no_two_classes():
    with pytest.raises(dp.ParameterError, match="even"):
        AfterSteps(rho=0.5, deviations=(1.0,), classes=2).noise_deviation(3)


SECRET = 7654321


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s.add([1, 0], [0.5]), dp.ParameterError),
        (lambda s: s.add([1, 0], [0.5, np.nan]), dp.MissingValueError),
        (lambda s: s.add([1, 0], ["7654321", "a"]), dp.DtypeError),
        (lambda s: s.add_counts(np.ones(CELLS, int)), dp.ParameterError),
        (lambda s: s.add_counts(np.ones(2 * CELLS)), dp.DtypeError),
        (lambda s: s.add_counts(np.full(2 * CELLS, 2**58)), dp.ParameterError),
        (lambda s: s.add_counts([-SECRET] + [1] * (2 * CELLS - 1)), dp.DpcoreError),
    ],
)
def test_a_bad_batch_is_no_step_and_is_not_quoted(call, error):
    stream, wanted = seeded(), seeded()
    with pytest.raises(error) as caught:
        call(stream)
    assert str(SECRET) not in str(caught.value)
    assert (stream.step, stream.curves) == (0, None)
    counts = np.full(2 * CELLS, 9)
    assert stream.add_counts(counts).to_json() == wanted.add_counts(counts).to_json()


def test_bad_arguments_are_refused_before_a_budget_is_charged():
    budget = dp.Budget(epsilon=5.0)
    times = dp.Grid(np.array(["2024-01-01", "2024-01-02"], "M8[D]"))
    with budget:
        for grid, options in (
            (times, {"epsilon": 1.0}),
            (GRID, {}),
            (GRID, {"epsilon": 1.0, "window": 0}),
            (GRID, {"epsilon": 1.0, "isotonic": 1}),
            (GRID, {"epsilon": 1.0, "horizon": 0}),
        ):
            with pytest.raises(dp.DpcoreError):
                RunningScores(grid, **{"horizon": 5, **options})
        assert not budget.log
        RunningScores(GRID, 5, epsilon=1.0)
    assert [charge.what for charge in budget.log] == ["RunningScores"]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("cut", [0, 2, 4, 9])
def test_a_saved_stream_continues_with_its_reference(budget, cut, tmp_path):
    whole, stream = (seeded(window=WINDOW, **budget) for _ in range(2))
    given = batches(12)
    for batch in given[:cut]:
        whole.add_counts(batch)
        stream.add_counts(batch)
    stream.save(tmp_path / "scores")
    with pytest.raises(CounterClosedError):
        stream.add_counts(given[0])
    again = RunningScores.resume(tmp_path / "scores")
    assert (again.step, again.window, again.curves) == (cut, WINDOW, None)
    assert again.change() == whole.change()
    for batch in given[cut:]:
        assert again.add_counts(batch).to_json() == whole.add_counts(batch).to_json()
        assert again.change() == whole.change()
    assert again.change() is not None


# --- likely mistakes


def day(number, size=2000):
    """Labels and scores of a day, of a model that is right."""
    rng = np.random.default_rng(number)
    score = rng.random(size)
    return rng.random(size) < score, score


def told(stream, *batches, **options):
    """What the warnings of these steps say."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dp.DpcoreWarning)
        for batch in batches:
            stream.add(*batch, **options)
    return [str(one.message) for one in caught if one.filename == __file__]


def test_a_likely_mistake_is_told_once_from_released_numbers():
    right = [day(number) for number in range(6)]
    assert told(seeded(), *right) == []
    [text] = told(seeded(), *[(~labels, scores) for labels, scores in right])
    assert "worse than guessing: is pos_label (1) right" in text
    [text] = told(seeded(), *[(np.zeros(2000, int), scores) for _, scores in right], pos_label=7)
    assert text.startswith("the released number of positives is within its noise")
    assert "is pos_label (7) right, and are labels and scores in order?" in text
    [text] = told(seeded(), *[(np.ones(2000), scores) for _, scores in right])
    assert "number of negatives" in text
    [text] = told(seeded(), *[(scores, labels) for labels, scores in right], pos_label=1)
    assert "labels and scores in order" in text


def test_few_records_at_first_are_no_mistake():
    assert told(seeded(), *[day(number, 3) for number in range(HORIZON)]) == []


def test_exchanged_types_are_refused_before_a_step():
    stream, (labels, scores) = seeded(), day(1)
    with pytest.raises(dp.DtypeError, match="y_true"):
        stream.add(scores, labels)
    assert stream.step == 0


@pytest.mark.parametrize(
    ("labels", "label", "same", "other"),
    [
        ([0, 1], None, [None, 1, True, 1.0], [0, 2, 1.5]),
        (["a", "b\0"], "b\0", ["b\0"], ["a", "b"]),
        ([b"a", b"\xff"], b"\xff", [b"\xff"], [b"a"]),
        ([0.5, 1.5], 1.5, [np.float32(1.5)], [1, 0.5]),
    ],
)
def test_another_positive_label_at_a_later_step_is_refused(labels, label, same, other, tmp_path):
    """It would mix the classes. A saved stream keeps the label."""
    stream = seeded(horizon=None)
    stream.add_counts(np.full(2 * CELLS, 9))  # says nothing of labels
    stream.add(labels, [0.1, 0.2], pos_label=label)
    for number in range(2):
        for wrong in other:
            step = stream.step
            with pytest.raises(dp.ParameterError, match=r"pos_label.*as at the steps before"):
                stream.add(labels, [0.1, 0.2], pos_label=wrong)
            assert stream.step == step
        for right in same:
            stream.add(labels, [0.1, 0.2], pos_label=right)
        stream.add_counts(np.full(2 * CELLS, 9))
        stream.save(tmp_path / f"scores{number}")
        stream = RunningScores.resume(tmp_path / f"scores{number}")


def test_a_saved_stream_does_not_tell_twice_and_old_files_are_read(tmp_path):
    wrong = [(~labels, scores) for labels, scores in map(day, range(4))]
    stream = seeded()
    assert len(told(stream, *wrong)) == 1
    stream.save(tmp_path / "scores")
    state = saved.load((tmp_path / "scores").read_bytes())
    assert told(RunningScores.resume(tmp_path / "scores"), *wrong) == []
    bad = [{"is_told": 1}, {"pos_label": ["list", "1"]}, {"pos_label": 1}, {"pos_label": ["int"]}]
    for change in bad:
        (tmp_path / "bad").write_bytes(saved.dump({**state, "more": {**state["more"], **change}}))
        with pytest.raises(dp.FormatError):
            RunningScores.resume(tmp_path / "bad")
    del state["more"]["is_told"], state["more"]["pos_label"]
    (tmp_path / "old").write_bytes(saved.dump(state))
    assert RunningScores.resume(tmp_path / "old").step == 4


# --- alarms


def widened(noise, times):
    if hasattr(noise, "inner"):
        return replace(noise, inner=widened(noise.inner, times))
    return replace(noise, width=times * noise.width)


def released(exact, stream, *, rounded=True):
    """Raw joint counts of many such streams, (R, T, 2 N), from exact counts."""
    runs, steps, _ = exact.shape
    answers = []
    for noise, part in zip(stream._noises, stream._questions.parts, strict=True):
        many = widened(noise, runs)
        nothing = np.zeros((steps, many.width), np.int64)
        out, _ = many.outputs(nothing, nothing[0], 0, many.start())
        out = out.reshape(steps, runs, part.width).transpose(1, 0, 2)
        answers.append(out.reshape(-1, part.width))
    deviations = [float(noise.deviation(np.array([steps]))[0]) for noise in stream._noises]
    joint = stream._questions.curve(np.concatenate(answers, axis=1), deviations)
    joint = joint.reshape(exact.shape) + np.cumsum(exact, axis=2)
    if rounded:
        joint[..., -1] = np.rint(joint[..., -1])
    return joint


def in_windows(cells):
    sums = np.cumsum(cells, axis=1)
    sums[:, WINDOW:] -= sums[:, :-WINDOW].copy()
    return sums


def monitored(stream):
    return Monitoring(stream._questions, stream._noises, HORIZON, WINDOW)


def of(windows, at):
    return type(windows)(*(numbers[at] for numbers in windows))


@pytest.fixture(scope="module", params=[{"epsilon": 1.0}, {"rho": 0.5}], ids=str)
def monitorings(request):
    """Standardised changes of 4,000 monitorings without a change, and their critical values."""
    stream, runs = seeded(window=WINDOW, **request.param), 4000
    monitoring, steps = monitored(stream), np.arange(WINDOW + 1, HORIZON + 1)
    cells = np.random.default_rng(3).multinomial(400, SHARES, (runs, HORIZON))
    windows = monitoring.windows(released(in_windows(cells), stream)[:, WINDOW - 1 :])
    first, now = of(windows, np.s_[:, :1]), of(windows, np.s_[:, 1:])
    changes = now.area - first.area
    deviations = monitoring.deviation(steps, first, now)
    critical = [monitoring.critical_value(of(windows, (run, 0)), 0.05) for run in range(runs)]
    return changes, deviations, np.array(critical)


def test_deviations_of_changes_are_those_of_real_noise_and_samples(monitorings):
    changes, deviations, _ = monitorings
    assert np.allclose(changes.std(axis=0), deviations.mean(axis=0), rtol=0.06)
    assert (np.abs(changes.mean(axis=0)) < 0.1 * deviations.mean(axis=0)).all()


def test_alarms_are_as_rare_as_stated(monitorings):
    changes, deviations, critical = monitorings
    rate = np.mean((np.abs(changes) / deviations > critical[:, None]).any(axis=1))
    assert 0.036 < rate < 0.064
    assert np.mean((np.abs(changes) / deviations > 1.96).any(axis=1)) > 0.2  # each step alone


def test_a_change_is_what_the_parts_say_and_is_noticed():
    stream = seeded(5, window=WINDOW)
    monitoring, raw = monitored(stream), []
    worse = np.concatenate([SHARES[:CELLS], SHARES[CELLS:][::-1]])
    for step in range(HORIZON):
        curves = stream.add_counts(batches(1, step, 2000, SHARES if step < 8 else worse)[0])
        raw.append(curves.joint.counts if curves.joint.raw is None else curves.joint.raw)
        change = stream.change()
        assert (change is None) == (step < WINDOW)
    windows = monitoring.windows(np.array(raw, float))
    first, last = of(windows, WINDOW - 1), of(windows, -1)
    assert change.step == HORIZON
    assert (change.area, change.reference) == (last.area, first.area)
    assert change.deviation == monitoring.deviation(np.array(HORIZON), first, last)
    assert change.critical_value == monitoring.critical_value(first, 0.05)
    assert change.is_alarm
    assert change.statistic < -change.critical_value
    assert stream.change(0.001).critical_value > change.critical_value
    assert stream.change(0.5).critical_value < change.critical_value


def test_an_improvement_is_a_change_too():
    stream = seeded(5, window=WINDOW)
    worse = np.concatenate([SHARES[:CELLS], SHARES[CELLS:][::-1]])
    for step in range(HORIZON):
        stream.add_counts(batches(1, step, 2000, worse if step < 8 else SHARES)[0])
    assert stream.change().is_alarm
    assert stream.change().difference > 0


def test_a_change_has_the_same_numbers_with_and_without_isotonic_curves():
    made = [seeded(window=WINDOW, isotonic=isotonic) for isotonic in (True, False)]
    for batch in batches(6):
        for stream in made:
            stream.add_counts(batch)
    assert made[0].change() == made[1].change()


@pytest.mark.parametrize("size", [1, 2, 8])
def test_slopes_are_derivatives(size):
    rng = np.random.default_rng(size)
    records = rng.integers(1, 50, (2, size)).astype(float)
    slopes, variance = slopes_of(*records), 0.0
    assert np.isclose(slopes.area, area_of(*records, 0.5))
    for cls, of_class in enumerate((slopes.of_negatives, slopes.of_positives)):
        for cell in range(size):
            more, less = records.copy(), records.copy()
            more[cls, cell] += 1e-4
            less[cls, cell] -= 1e-4
            slope = (area_of(*more, 0.5) - area_of(*less, 0.5)) / 2e-4
            assert np.isclose(of_class[cell], slope, rtol=1e-5, atol=1e-9)
            variance += records[cls, cell] * slope**2
    assert np.isclose(slopes.sampling_variance, variance)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("cells", [4, 150, 1000])
def test_noise_of_cells_and_of_all_parts_in_time(budget, cells):
    stream = seeded(grid=dp.Grid.uniform(0, 1, cells), window=WINDOW, **budget)
    monitoring = monitored(stream)
    deviations = [float(n.deviation(np.array([WINDOW]))[0]) for n in stream._noises]
    half = questions(cells, is_gaussian="delta" in budget or "rho" in budget)
    prefix = np.cumsum(np.cumsum(monitoring._of_cells, axis=0), axis=1)
    assert np.allclose(np.diag(prefix), half.variances(deviations), rtol=1e-6)
    assert np.isclose(monitoring.deviation_of_class, prefix[-1, -1] ** 0.5)
    first, last = np.array([1, 2, 5, 4]), np.array([9, 4, 7, 20])
    in_time = [noise.difference_deviation(first, last) for noise in stream._noises]
    for own, deviation in zip(in_time, deviations, strict=True):
        assert np.allclose(own / deviation, in_time[0] / deviations[0], rtol=1e-3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"horizon": None}, "horizon"),
        ({"horizon": 4096}, "horizon"),
        ({"window": None}, "window"),
        ({"window": HORIZON}, "window"),
        ({"grid": dp.Grid.uniform(0, 1, 4096)}, "grid"),
        ({"grid": dp.Grid.uniform(0, 1, 1)}, "grid"),
    ],
)
def test_what_alarms_need_is_named(options, named):
    stream = seeded(**{"window": WINDOW, **options})
    with pytest.raises(dp.ParameterError, match=f"^{named}"):
        stream.change()


@pytest.mark.parametrize("rate", [0.0, 0.0005, 0.6, np.nan, "5 %"])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(dp.DpcoreError, match="false_alarm_rate"):
        seeded(window=WINDOW).change(rate)


@pytest.mark.parametrize("rare", [0, 3])
def test_few_records_of_a_class_are_warned_of(rare):
    stream = seeded(window=WINDOW)
    counts = np.full(2 * CELLS, 50)
    counts[CELLS:] = 0
    counts[CELLS] = rare
    for _ in range(WINDOW + 1):
        stream.add_counts(counts)
    with pytest.warns(dp.DpcoreWarning, match="positives") as caught:
        change = stream.change()
    assert caught[0].filename == __file__
    assert change.is_alarm in (False, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = seeded(window=WINDOW)
        for batch in batches(WINDOW + 1):
            enough.add_counts(batch)
        enough.change()


def test_a_class_without_records_raises_no_alarm():
    stream = seeded(window=WINDOW, isotonic=False)
    for _ in range(WINDOW + 1):
        stream.add_counts(np.full(2 * CELLS, 50))
    seen = stream._state.more
    none = seen.now.copy()
    none[CELLS:] = none[CELLS - 1]
    for now, first in ((none, seen.first), (seen.now, none)):
        stream._state = stream._state._replace(more=seen._replace(now=now, first=first))
        with pytest.warns(dp.DpcoreWarning):
            assert not stream.change().is_alarm


@pytest.mark.parametrize("budget", [{"epsilon": 0.1}, {"rho": 0.5}, {"rho": 1e6}])
def test_noise_alone_in_a_class_raises_no_alarm(budget):
    stream, alarms = seeded(window=WINDOW, **budget), 0
    for _ in range(WINDOW + 1):
        stream.add_counts(np.full(2 * CELLS, 50))
    seen = stream._state.more
    noise = stream._monitored().deviation_of_class
    for total in (-40.0, -1.0, 0.0, 1e-9, 0.5, 1.9 * noise):
        noisy = seen.now.copy()
        noisy[CELLS:] = noisy[CELLS - 1] + np.linspace(30.0, total, CELLS)
        for now, first in ((noisy, seen.first), (seen.now, noisy)):
            stream._state = stream._state._replace(more=seen._replace(now=now, first=first))
            with pytest.warns(dp.DpcoreWarning, match="about [^-]* positives"):
                change = stream.change()
            assert np.isnan(change.difference)
            assert np.isnan(change.statistic)
            alarms += change.is_alarm
    assert alarms == 0


def test_alarms_cost_nothing():
    budget = dp.Budget(epsilon=5.0)
    with budget:
        stream = RunningScores(GRID, HORIZON, epsilon=Fraction(1), window=WINDOW)
        for batch in batches(WINDOW + 1, size=4000):
            stream.add_counts(batch)
        stream.change()
    assert len(budget.log) == 1
