"""What a newcomer tries first: an answer comes of it, or a message that says what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dpcore as dp
from dpcore.command_line.main import main

RNG = np.random.default_rng(1)
N = 4000
NAMES = {
    "dp": dp,
    "N": N,
    "np": np,
    "ages": RNG.integers(0, 90, N),
    "region": RNG.choice(["north", "south"], N),
    "scores": (SCORES := RNG.random(N)),
    "labels": RNG.random(N) < SCORES,
    "minutes": dp.Grid.uniform(0, 100, 200),
    "seconds": RNG.exponential(72.0, N),
    "grid": (GRID := dp.Grid.integers(0, 120)),
    "rng": np.random.default_rng(2),
}
NAMES["curve"] = dp.cdf(NAMES["ages"], GRID, epsilon=1.0)

ANSWERS = {
    "a median": "35 < curve.quantile(0.5) < 55",
    "percentiles": "np.diff(curve.quantile(np.array([5, 50, 95]) / 100)).min() > 0",
    "a mean": "40 < curve.mean() < 50",
    "a share": "0.4 < curve.share(lower=18, upper=65) < 0.65",
    "an interval": "curve.quantile(0.5, level=0.95).low <= curve.quantile(0.5)",
    "a whole band": "dp.simultaneous_band(curve, level=0.9).low.shape == (grid.size,)",
    "a sample": "curve.sample(10, rng=rng).shape == (10,)",
    "a table for pandas": "len(curve.to_frame()) == grid.size",
    "a file and back": "dp.load(curve.to_json()).quantile(0.5) == curve.quantile(0.5)",
    "HTML": "'<svg' in curve._repr_html_()",
    "groups": "sorted(dp.cdf(ages, grid, by=region, groups=['north', 'south'], epsilon=1.0))"
    " == ['north', 'south']",
    "categories": "dp.cdf(ages // 30, dp.Grid.integers(0, 2), dp.mechanisms.Histogram(1.0))"
    ".histogram()[0].shape == (3,)",
    "a threshold at 0": "dp.Grid([0, 1, 10]).size == 3",
    "roc_curve as scikit-learn has it": "len([*dp.roc_curve(labels, scores, epsilon=1.0)]) == 3",
    "an area": "0.7 < dp.roc_curve(labels, scores, epsilon=1.0).auc < 0.95",
    "which grid": "dp.suggest(n=4000, lower=0, upper=120, epsilon=1.0).grid.size > 16",
    "zero-concentrated privacy": "dp.cdf(ages, grid, rho=0.1).privacy.rho == 0.1",
    "seeds of many releases": "len({dp.cdf(ages, grid, epsilon=0.1, rng=child).quantile(0.37)"
    " for child in rng.spawn(9)}) > 1",
    "quartiles alone": "dp.quantiles(ages, [0.25, 0.75], grid, epsilon=1.0).n == 4000",
    "two lots of people": "dp.compare(curve, dp.cdf(ages, grid, epsilon=1.0), simulations=19)"
    ".p_value > 0.04",
    "a count": "dp.count(ages, epsilon=1.0).interval().low <= N + 99",
    "a mean between bounds": "40 < dp.mean(ages, (0, 120), epsilon=1.0).value < 50",
    "counts of categories": "dp.counts(region, ['north', 'south'], epsilon=1.0)"
    ".values.sum() > 3900",
    "a page of HTML": "'<img' in dp.report({'Ages': curve})",
    "a table of anything": "{'fpr', 'tpr'} <= set(dp.roc_curve(labels, scores, epsilon=1.0)"
    ".to_frame())",
    "ROC curves of groups in one picture": "len(dp.roc_curve(labels, scores, by=region,"
    " groups=['north', 'south'], epsilon=1.0).plot().lines) == 3",
    "how long people live": "dp.survival(seconds, labels, (0, 400), epsilon=1.0).median > 0",
    "kinds of events": "dp.cumulative_incidence(seconds, ages % 3, dp.Grid.uniform(0, 400, 20),"
    " [1, 2], epsilon=1.0).incidence.shape == (2, 20)",
    "a picture of survival": "dp.survival(seconds, labels, (0, 400), epsilon=1.0).plot().lines",
    "a survival model": "0 < dp.survival_scores(seconds, labels, scores, (0, 400), epsilon=1.0)"
    ".concordance < 1",
    "times in a line": "'2024' in repr(dp.Interval(np.datetime64('2024-01-31'), 1))",
}

REFUSALS = {
    "bounds in place of a grid": ("dp.cdf(ages, (0, 120), epsilon=1.0)", "write dp.Grid.uniform"),
    "no budget": ("dp.cdf(ages, grid)", "epsilon"),
    "a seed": ("dp.cdf(ages, grid, epsilon=1.0, rng=7)", r"default_rng\(7\)"),
    "groups without a list": ("dp.cdf(ages, grid, by=region, epsilon=1.0)", r"groups=\[...\]"),
    "swapped arguments": ("dp.roc_curve(scores, labels, epsilon=1.0)", "in this order"),
    "labels of text": ("dp.roc_curve(region, scores, epsilon=1.0)", "pos_label"),
    "a missing value": ("dp.cdf([1.0, np.nan], grid, epsilon=1.0)", "nan_policy"),
    "a name for a mechanism": ("dp.cdf(ages, grid, 'dyadic')", "mechanisms.Dyadic"),
}

WARNINGS = {
    "seconds on a grid in minutes": ("dp.cdf(seconds, minutes, epsilon=1.0)", "is their unit"),
    "a label that nobody has": (
        "dp.roc_curve(region, scores, epsilon=1.0, pos_label='North')",
        r"is pos_label \('North'\) right",
    ),
    "a group that nobody is in": (
        "dp.cdf(ages, grid, by=region, groups=['north', 'west'], epsilon=1.0)",
        "group 'west'",
    ),
}

COMMANDS = {
    "a typo of an option": (["cdf", "t.csv", "--colum", "x"], "did you mean --column?"),
    "a typo of a command": (["cdff", "t.csv"], "did you mean cdf?"),
}


@pytest.fixture(autouse=True)
def close_pictures():
    yield
    pytest.importorskip("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("wish", ANSWERS)
def test_a_wish_that_is_answered(wish):
    assert eval(ANSWERS[wish], dict(NAMES))


@pytest.mark.parametrize("wish", REFUSALS)
def test_a_wish_that_is_refused_with_what_to_write(wish):
    call, words = REFUSALS[wish]
    with pytest.raises(dp.DpcoreError, match=words):
        eval(call, dict(NAMES))


@pytest.mark.parametrize("wish", WARNINGS)
def test_a_mistake_that_is_told(wish):
    call, words = WARNINGS[wish]
    with warnings.catch_warnings(), pytest.warns(dp.DpcoreWarning, match=words):
        eval(call, dict(NAMES))


@pytest.mark.parametrize("wish", COMMANDS)
def test_a_command_that_says_what_was_meant(wish, capsys):
    argv, words = COMMANDS[wish]
    assert main(argv) == 2
    assert words in capsys.readouterr().err
