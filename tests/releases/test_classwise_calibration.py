"""Class-wise calibration: exact sums, the noise, the error with its interval, and refusals."""

from __future__ import annotations

import dataclasses
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

import dpcore as dp
from dpcore.statistics import ClasswiseCalibration
from dpcore.statistics.classwise_calibration import _mean_rise
from dpcore.summaries.class_sums import class_sums
from tests.reference.classes import class_sums as plain_sums
from tests.reference.classes import classwise_error

RNG = np.random.default_rng
TENTHS = dp.Grid.uniform(0, 1, 10)
EXACT = {"epsilon": 1e9}
PROB = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.5, 0.5, 0.0]]
TRUE, CLASSES = ["a", "b", "b", "a"], ["a", "b", "c"]


def records(n, classes, power, rng):
    """Labels drawn from probabilities, and these raised to a power: above 1, too sure."""
    prob = rng.dirichlet(np.full(classes, 0.5), n)
    labels = (rng.random(n)[:, None] > prob.cumsum(axis=1)).sum(axis=1).clip(0, classes - 1)
    steep = prob**power
    return labels, steep / steep.sum(axis=1, keepdims=True)


# --- the sums


@given(
    some.lists(
        some.tuples(
            some.integers(0, 3),
            some.lists(
                some.floats(-0.5, 1.5) | some.sampled_from([0.0, 0.1, 0.25, 1.0]),
                min_size=3,
                max_size=3,
            ),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_sums_are_those_of_the_definition(rows):
    labels, prob = zip(*rows, strict=True)
    grid, bits = dp.Grid([0.1, 0.25, 0.8, 1.0]), 24
    own = class_sums(labels, prob, (0, 1, 2), grid, bits)
    observed, expected = plain_sums(labels, prob, [0, 1, 2], grid.thresholds)
    assert own.observed.tolist() == observed
    assert own.n == len(labels)
    short = np.array(expected, float) - own.expected / 2**bits  # floors of so many records
    assert short.min() > -1e-9
    assert short.max() < (len(labels) + 0.01) * 2.0**-bits


@given(some.lists(some.floats(0, 1), min_size=2, max_size=9), some.sampled_from([8, 16, 24]))
def test_a_record_adds_at_most_one_to_all_expected_numbers_together(row, bits):
    grid = dp.Grid.uniform(0, 1, 4)
    own = class_sums([0], [row], tuple(range(len(row))), grid, bits)
    assert own.expected.min() >= 0
    assert own.expected.sum() <= 2**bits
    assert own.observed.sum() == 1


@pytest.mark.parametrize("classes", [3, 1000])
def test_rows_of_single_precision_and_many_classes_add_up_to_one_at_most(classes):
    prob = RNG(1).dirichlet(np.full(classes, 0.1), 200).astype(np.float32)
    for given_rows in (prob, prob * 3):
        for row in given_rows[:40]:
            own = class_sums([0], [row], tuple(range(classes)), TENTHS, 24)
            assert own.expected.sum() <= 2**24
    whole = class_sums([0] * 200, prob, tuple(range(classes)), TENTHS, 24)
    assert whole.expected.sum() / 2**24 == pytest.approx(200, rel=1e-4)


def test_sums_are_additive_and_do_not_depend_on_the_order():
    labels, prob = records(3000, 4, 1.0, RNG(1))
    whole = class_sums(labels, prob, (0, 1, 2, 3), TENTHS, 24)
    parts = [
        class_sums(labels[at], prob[at], (0, 1, 2, 3), TENTHS, 24)
        for at in (slice(0, 7), slice(7, None))
    ]
    for name in ("observed", "expected"):
        assert np.array_equal(getattr(whole, name), sum(getattr(part, name) for part in parts))
    turned = class_sums(labels[::-1], prob[::-1], (0, 1, 2, 3), TENTHS, 24)
    assert np.array_equal(whole.expected, turned.expected)


# --- the release


def test_without_noise_it_is_the_count_of_numpy():
    labels, prob = records(2000, 5, 2.0, RNG(2))
    found = dp.classwise_calibration(labels, prob, range(5), **EXACT)
    error = 0.0
    for k in range(5):
        cell = np.ceil(prob[:, k] * 10).astype(int) - 1
        for at in range(10):
            here = cell == at
            assert found.observed[k, at] == pytest.approx((labels[here] == k).sum(), abs=1e-4)
            assert found.expected[k, at] == pytest.approx(prob[here, k].sum(), abs=1e-3)
            error += abs((labels[here] == k).sum() - prob[here, k].sum()) / 2000 / 5
    assert found.expected_calibration_error == pytest.approx(error, abs=1e-6)
    plain = classwise_error(labels, prob, range(5), TENTHS.thresholds)
    assert plain == pytest.approx(error, abs=1e-12)
    low, high = found.expected_calibration_error_interval()
    assert low <= plain <= high
    assert high - low < 1e-5


def test_without_noise_ratios_are_those_of_scikit_learns_calibration_curve():
    calibration = pytest.importorskip("sklearn.calibration")
    labels, prob = records(3000, 3, 1.5, RNG(9))
    found = dp.classwise_calibration(labels, prob, range(3), **EXACT)
    for k in range(3):
        rate, mean = calibration.calibration_curve(labels == k, prob[:, k], n_bins=10)
        is_filled = found.expected[k] > 0.5  # all cells of these records hold some of them
        assert is_filled.all()
        assert found.ratio[k] == pytest.approx(rate / mean, rel=1e-4)


def test_two_classes_have_the_error_of_each_in_its_own_cells():
    """With two classes and one probability, it is the textbook's error of the positives."""
    rng = RNG(3)
    scores = rng.choice([0.15, 0.35, 0.95], 3000)
    labels = rng.random(3000) < 0.4
    found = dp.classwise_calibration(labels, np.c_[1 - scores, scores], [False, True], **EXACT)
    exact = dp.mechanisms.NoNoise()
    fine = dp.Grid([0.1, 0.149999, 0.150001, 0.349999, 0.350001, 0.949999, 0.950001, 1.0])
    curves = dp.score_curves(labels, scores, fine, exact)
    right = dp.statistics.expected_calibration_error(curves, 3)
    assert found.class_errors[1] == pytest.approx(right, abs=1e-4)
    assert found.class_errors[0] == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize(
    ("budget", "deviation"),
    [
        ({"epsilon": 0.5}, 8 * math.sqrt(2)),
        ({"rho": 0.5}, 2.0),
        ({"epsilon": 1.0, "delta": 0.01}, 2 * dp.privacy.gaussian_sigma(1.0, 0.01)),
        ({"epsilon": 1.0, "delta": 1e-6}, 4 * math.sqrt(2)),  # Gaussian noise would be more
    ],
)
def test_the_noise_is_that_of_the_proof_for_any_number_of_classes(budget, deviation):
    for classes in (2, 40):
        labels, prob = records(50, classes, 1.0, RNG(4))
        found = dp.classwise_calibration(labels, prob, range(classes), rng=RNG(1), **budget)
        assert found.noise_deviation == pytest.approx(deviation, rel=0.02)
    exact = class_sums(labels, prob, tuple(range(40)), TENTHS, 24)
    for released, sums in ((found.observed, exact.observed), (found.expected, exact.expected)):
        scale = 1 if released is found.observed else 2.0**-24
        noise = released - sums * scale
        assert np.std(noise) == pytest.approx(deviation, rel=0.3)


def test_it_costs_what_it_states_and_its_rho_is_finer():
    with dp.Budget(epsilon=1.0) as budget:
        found = dp.classwise_calibration(TRUE, PROB, CLASSES, epsilon=1.0)
    assert found.privacy == dp.Privacy(1.0)
    assert budget.spent.epsilon == 1.0
    assert found.privacy.rho == pytest.approx(1 / 8, rel=1e-6)


def test_labels_of_no_class_and_missing_ones():
    labels = ["a", "z", None, "b"]
    with pytest.raises(dp.MissingValueError, match="y_true"):
        dp.classwise_calibration(labels, PROB, CLASSES, epsilon=1.0)
    found = dp.classwise_calibration(labels, PROB, CLASSES, nan_policy="omit", **EXACT)
    assert found.n == 3
    assert found.observed.sum() == pytest.approx(2, abs=1e-3)
    assert found.expected.sum() == pytest.approx(3, abs=1e-3)
    holed = np.array(PROB)
    holed[0, 1] = np.nan
    with pytest.raises(dp.MissingValueError, match="y_prob"):
        dp.classwise_calibration(TRUE, holed, CLASSES, epsilon=1.0)
    assert dp.classwise_calibration(TRUE, holed, CLASSES, nan_policy="omit", **EXACT).n == 3


def test_values_out_of_range_are_no_errors():
    odd = [[7.0, -2.0, 0.0], [np.inf, 0.0, -np.inf], [0.2, 0.1, 0.1], [3, 3, 3]]
    found = dp.classwise_calibration(TRUE, odd, CLASSES, **EXACT)
    assert found.expected.sum(axis=1) == pytest.approx(
        [1 + 1 + 0.2 + 1 / 3, 0.1 + 1 / 3, 0.1 + 1 / 3], abs=1e-3
    )


def test_errors_name_the_arguments_and_nothing_is_spent():
    def refused(match, kind=dp.ParameterError, **other):
        usual = {"y_true": TRUE, "y_prob": PROB, "classes": CLASSES, "epsilon": 1.0}
        with dp.Budget(epsilon=2.0) as budget, pytest.raises(kind, match=match):
            dp.classwise_calibration(**usual | other)
        assert budget.spent is None or budget.spent.epsilon == 0.0

    refused(r"y_prob must have a row .* \(4, 3\)", y_prob=np.array(PROB)[:, :2])
    refused("y_prob", y_prob=np.array(PROB)[0])
    refused("y_prob", dp.DtypeError, y_prob=np.array(PROB).astype(str))
    refused("classes must hold two", classes=["a"])
    refused("classes", classes=["a", "a", "b"])
    refused("classes", dp.DtypeError, classes=set(CLASSES))
    refused("classes", dp.DtypeError, y_true=[0, 1, 1, 0])
    refused("grid", grid=dp.Grid.uniform(0, 2, 4))
    refused("grid", grid=dp.Grid.uniform(0, 1, 2**22))
    refused("y_true", y_true=[], y_prob=np.zeros((0, 3)))
    refused("epsilon", epsilon=1e-30)
    refused("rho", rho=1.0)
    refused("nan_policy", nan_policy="drop")
    refused("rng", dp.DtypeError, rng=1)
    refused("index", y_true=pd.Series(TRUE), y_prob=pd.DataFrame(PROB, index=[3, 2, 1, 0]))


def test_a_class_that_no_label_names_is_told():
    labels, prob = records(2000, 3, 1.0, RNG(1))
    how = {"epsilon": 1.0, "rng": RNG(1)}
    with pytest.warns(dp.DpcoreWarning, match="class 7 is expected, and the released number"):
        dp.classwise_calibration(labels, prob, [0, 7, 2], **how)
    with pytest.warns(dp.DpcoreWarning, match="class 0 is expected"):
        dp.classwise_calibration(labels + 0.5, prob, [0, 1, 2], **how)
    rare = prob * [1, 1, 0]  # it is neither expected nor observed
    assert dp.classwise_calibration(np.minimum(labels, 1), rare, [0, 1, 2], **how).n == 2000


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_named_after_classes_are_in_their_order(frame):
    named = dict(zip(CLASSES, np.transpose(PROB), strict=True))
    right = dp.classwise_calibration(TRUE, frame(named), CLASSES, **EXACT)
    assert right.expected == pytest.approx(
        dp.classwise_calibration(TRUE, PROB, CLASSES, **EXACT).expected, abs=1e-3
    )
    turned = frame({name: named[name] for name in reversed(named)})
    for read in (
        lambda: dp.classwise_calibration(TRUE, turned, CLASSES, **EXACT),
        lambda: dp.top_label(TRUE, turned, CLASSES),
        lambda: dp.top_label([0, 1], frame({"1": [0.2, 0.3], "0": [0.8, 0.7]}), [0, 1]),
    ):
        with pytest.raises(dp.ParameterError, match="y_prob must have its columns in the order"):
            read()
    other = frame({name.upper(): named[name] for name in reversed(named)})
    assert dp.classwise_calibration(TRUE, other, CLASSES, **EXACT).n == 4


def test_what_is_no_list_of_column_names_is_no_order():
    class Columns:
        column_names = dp.cdf

        def __array__(self, dtype=None, copy=None):
            return np.array(PROB)

        def __dataframe__(self):
            return self

    assert dp.classwise_calibration(TRUE, Columns(), CLASSES, **EXACT).n == 4


# --- what is read off it


def test_the_mean_rise_is_that_of_simulated_noise():
    rng, gaps = RNG(5), np.array([0.0, 0.5, 2.0, 6.0])
    laplace = rng.laplace(0, 1.0, (2, 400_000))
    normal = rng.normal(0, 2.0, 400_000)
    for noise, gaussian in ((laplace[0] - laplace[1], False), (normal, True)):
        rises = [np.abs(gap + noise).mean() - gap for gap in gaps]
        found = _mean_rise(gaps, 2.0, gaussian=gaussian)
        assert found == pytest.approx(rises, abs=5 * 2.0 / math.sqrt(400_000))
    assert _mean_rise(gaps, 0.0, gaussian=True).tolist() == [0.0] * 4


@pytest.mark.parametrize("budget", [{"epsilon": 0.3}, {"rho": 0.05}])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_intervals_cover_and_the_error_is_nearer_than_the_raw_one(budget, power):
    rng = RNG(6)
    labels, prob = records(4000, 4, power, rng)
    exact = class_sums(labels, prob, (0, 1, 2, 3), TENTHS, 24)
    observed, expected = exact.observed, exact.expected / 2**24
    right = np.abs(observed - expected).sum() / 4000 / 4
    is_filled = expected > 0
    ratios = observed[is_filled] / expected[is_filled]
    covered, inside, errors, raw = 0, [], [], []
    for _ in range(60):
        found = dp.classwise_calibration(labels, prob, range(4), rng=rng, **budget)
        low, high = found.expected_calibration_error_interval(0.9)
        covered += low <= right <= high
        ends = found.ratio_interval(0.9)
        inside.append((ends.low[is_filled] <= ratios) & (ratios <= ends.high[is_filled]))
        errors.append(found.expected_calibration_error)
        raw.append(np.abs(found.observed - found.expected).sum() / found.n / 4)
    assert covered >= 52  # of 54 at least: 60 trials at .9 are below 48 once in 100
    assert 0.87 <= np.mean(inside) <= 1.0
    assert abs(np.mean(errors) - right) < abs(np.mean(raw) - right)


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 1.0])
def test_errors_and_ratios_are_in_their_intervals_under_any_noise(epsilon):
    labels, prob = records(500, 5, 1.0, RNG(12))
    for seed in range(20):
        found = dp.classwise_calibration(labels, prob, range(5), epsilon=epsilon, rng=RNG(seed))
        low, high = found.expected_calibration_error_interval(0.5)
        assert 0.0 <= low <= found.expected_calibration_error <= high <= 0.4
        low, high = found.ratio_interval(0.5)
        known = ~np.isnan(found.ratio)
        assert (low <= found.ratio)[known].all()
        assert (found.ratio <= high)[known].all()


def test_ratios_of_few_records_are_in_the_intervals_of_their_population():
    labels, prob = records(20, 3, 1.0, RNG(12))
    for seed in range(100):
        found = dp.classwise_calibration(labels, prob, range(3), rho=50.0, rng=RNG(seed))
        low, high = found.population_ratio_interval()
        known = ~np.isnan(found.ratio)
        assert (low <= found.ratio)[known].all()
        assert (found.ratio <= high)[known].all()


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.5}])
def test_intervals_of_the_population_cover_also_where_there_are_few_records(budget):
    """Labels are drawn anew from the probabilities, so that each ratio of the population is 1."""
    rng = RNG(10)
    prob, covered, wider = rng.dirichlet([0.5] * 3, 1500), [], []
    for _ in range(120):
        labels = (rng.random(1500)[:, None] > prob.cumsum(axis=1)).sum(axis=1).clip(0, 2)
        found = dp.classwise_calibration(labels, prob, range(3), rng=rng, **budget)
        low, high = found.population_ratio_interval(0.9)
        own = found.ratio_interval(0.9)
        covered.append((low <= 1) & (high >= 1))
        wider.append((low <= own.low + 1e-12) & (high >= own.high - 1e-12))
    assert np.all(wider)
    assert 0.87 <= np.mean(covered) <= 0.97
    assert np.mean(covered, axis=0).min() > 0.8  # of 120 and 30 cells


@pytest.mark.parametrize("sampled", [0.0, 1.0])
def test_intervals_of_ratios_are_all_ratios_that_are_near_enough(sampled):
    labels, prob = records(900, 3, 1.3, RNG(11))
    found = dp.classwise_calibration(labels, prob, range(3), rho=0.3, rng=RNG(1))
    low, high = (found.population_ratio_interval if sampled else found.ratio_interval)(0.95)
    z, s, r = 1.959964, found.noise_deviation, np.linspace(0, 12, 120_001)
    for k, at in [(0, 0), (0, 4), (1, 7), (2, 9)]:
        observed, expected, lower = found.observed[k, at], found.expected[k, at], at / 10
        variance = (1 + r**2) * s**2 + sampled * r * expected * (1 - r * lower)
        near = r[(observed - r * expected) ** 2 <= z**2 * variance]
        most = np.inf if at == 0 else 1 / lower
        assert low[k, at] == pytest.approx(min(near.min(), most), abs=2e-4)
        assert high[k, at] == pytest.approx(min(near.max(), most), abs=2e-4)


def test_a_cell_whose_expected_number_may_be_0_has_no_ratio():
    found = dp.classwise_calibration(["a"] * 9, [[1.0, 0.0]] * 9, ["a", "b"], epsilon=0.1)
    assert np.isnan(found.ratio[1, 1:9]).any()
    assert (found.ratio_interval().high == np.inf).any()
    assert (found.ratio_interval().low >= 0.0).all()


def test_no_probability_is_an_error_where_underflow_is_one():
    with np.errstate(all="raise"):
        assert class_sums(["a"], [[5e-324, 1.0, 1.0]], CLASSES, TENTHS, 24).n == 1


def test_tiny_numbers_of_stored_ones_are_read_without_warnings():
    found = dp.classwise_calibration(TRUE, PROB, CLASSES, dp.Grid([1e-320, 0.5, 1.0]), epsilon=1.0)
    tiny = np.full((3, 3), 1e-320)
    for deviation in (0.0, 5e-324, 1e-320):
        for privacy in (dp.Privacy(1.0), dp.Privacy(rho=1.0)):
            kept = {"expected": tiny, "noise_deviation": deviation, "privacy": privacy}
            read = dataclasses.replace(found, **kept)
            assert 0.0 <= read.expected_calibration_error <= 2 / 3
            assert read.expected_calibration_error_interval().low >= 0.0
            assert not np.isnan(read.ratio_interval()).any()
            assert read.ratio.shape == (3, 3)


def test_it_comes_back_from_json_and_is_shown_in_tables():
    labels, prob = records(5000, 3, 1.0, RNG(7))
    found = dp.classwise_calibration(labels, prob, [0, 1, 2], epsilon=1.0, rng=RNG(1))
    again = dp.load(found.to_json())
    assert again == found
    assert type(again) is ClasswiseCalibration
    assert hash(again) == hash(found)
    frame = found.to_frame()
    assert list(frame.columns[:4]) == ["class", "lower", "upper", "observed"]
    assert len(frame) == 30
    assert frame["lower"].iloc[10] == 0.0
    assert frame["upper"].iloc[9] == 1.0
    with pytest.raises(dp.ParameterError, match="observed"):
        ClasswiseCalibration(
            (0, 1, 2), TENTHS, found.observed[:2], found.expected, 5, 1.0, found.privacy
        )
    with pytest.raises(dp.ParameterError, match="expected"):
        ClasswiseCalibration(
            (0, 1, 2), TENTHS, found.observed, found.expected + np.nan, 5, 1.0, found.privacy
        )


def test_a_calibrated_class_is_drawn_near_the_diagonal():
    labels, prob = records(50_000, 3, 1.0, RNG(8))
    names = np.array(["a", "$b$", "c"])
    found = dp.classwise_calibration(names[labels], prob, names, epsilon=2.0, rng=RNG(1))
    ax = found.plot()
    found.plot(ax, color="k")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    bars = ["95%, noise alone", "95%, noise and sampling"]
    assert texts[:6] == ["calibrated", "a", *bars, "$b$", "c"]
    assert texts.count("calibrated") == texts.count(bars[0]) == 1
    for line in ax.get_lines()[1:4]:
        x, y = line.get_data()
        assert np.array_equal(np.ceil(x * 10), np.arange(1, 11))  # each in its own cell
        assert np.abs(x - y).max() < 0.1
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    plt.close(ax.figure)
