"""Advice on parameters: predictions against simulations, and settings against their neighbours."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.statistics import classifier
from dpcore.statistics.score_histograms import ScoreHistogram
from dpcore.trust import (
    Central,
    DistributedNoise,
    FunctionSharing,
    Local,
    SecureAggregation,
    SquareWave,
)
from dpcore.trust._advice_model import Population
from dpcore.trust.advice import advise, enough
from tests.trust.rounds import RNG

FINE = 2**16
CENTRES = (np.arange(FINE) + 0.5) / FINE
POPULATIONS = {"uniform": np.full(FINE, 1 / FINE), "beta": CENTRES * (1 - CENTRES) ** 2}
KINDS = {
    "secure-aggregation": SecureAggregation,
    "distributed-noise": DistributedNoise,
    "local": Local,
}
OTHERS = {"central": Central, "function-sharing": FunctionSharing, "square-wave": SquareWave}
MODELS = tuple(KINDS)
PURPOSES = ("auc", "metrics", "calibration")


def mechanism(model, epsilon, clients):
    if model == "secure-aggregation":
        return SecureAggregation()
    return KINDS[model](epsilon, clients)


def area(negatives, positives):
    return float(positives @ (np.cumsum(negatives) - negatives / 2)) / (
        negatives.sum() * positives.sum()
    )


def measured(model, epsilon, clients, heights, population="uniform", replicates=8, seed=1):
    """Return mean absolute errors by purpose, and there by (height, buckets).

    ``heights`` has the numbers of buckets for each height and purpose; all of one height are read
    off the same releases. Scores are calibrated: a share s of those with the score s is positive.
    """
    weights = POPULATIONS[population] / POPULATIONS[population].sum()
    rng, thresholds = RNG(seed), np.arange(1, 11) / 11
    errors = {purpose: defaultdict(float) for purpose in PURPOSES}
    for _ in range(replicates):
        counts = rng.multinomial(clients, weights)
        positives = rng.binomial(counts, CENTRES)
        negatives = counts - positives
        truth = area(negatives, positives)
        above = [positives[t < CENTRES].sum() / positives.sum() for t in thresholds]
        for height, buckets in heights.items():
            grid = dp.Grid.uniform(0, 1, 2**height)
            cells = [
                part.reshape(2**height, -1).sum(axis=1) for part in (negatives, positives[::-1])
            ]
            curves = dp.score_curves_from_counts(
                np.concatenate(cells), grid, mechanism(model, epsilon, clients), rng=rng
            )
            for size in buckets["auc"]:
                error = abs(ScoreHistogram.quantile(curves, size).auc - truth)
                errors["auc"][height, size] += error / replicates
            everything = ScoreHistogram.uniform(curves, 2**height)
            recall = classifier.recall(curves, everything.nearest(thresholds))
            error = np.mean(np.abs(recall - above))
            errors["metrics"][height, 2**height] += error / replicates
            for size in buckets["calibration"]:
                bins = ScoreHistogram.quantile(curves, size).bins
                rates = bins.positive_rate[np.searchsorted(bins.edges[1:], CENTRES)]
                error = weights @ np.abs(np.where(np.isnan(rates), 0.5, rates) - CENTRES)
                errors["calibration"][height, size] += error / replicates
    return errors


def check(model, epsilon, clients, population, replicates):
    """Compare the advised settings with others, and return the advice and its errors."""
    advice = advise(clients, epsilon, model)
    heights = defaultdict(lambda: {purpose: [] for purpose in PURPOSES})
    for purpose in PURPOSES:
        height, buckets = advice.heights[purpose], advice.buckets[purpose]
        for other in {*range(height - 4, height + 3, 2)} & {*range(1, 17)}:
            factors = (0.1, 0.3, 1.0, 3.0, 10.0) if other == height else (1.0,)
            sizes = {min(2**other, math.ceil(buckets * factor)) for factor in factors}
            heights[other][purpose] = sorted(sizes)
    errors = measured(model, epsilon, clients, heights, population, replicates)
    advised = {
        purpose: errors[purpose][advice.heights[purpose], advice.buckets[purpose]]
        for purpose in PURPOSES
    }
    for purpose in PURPOSES:
        assert advised[purpose] <= 2.0 * min(errors[purpose].values()), (purpose, errors[purpose])
    return advice, advised


EVERY = [
    pytest.param(model, epsilon, clients, population, 60, marks=pytest.mark.full)
    for model, epsilon in [
        ("distributed-noise", 0.3),
        ("distributed-noise", 3.0),
        ("local", 1.0),
        ("local", 5.0),
    ]
    for clients in (3000, 300_000)
    for population in POPULATIONS
]


@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("model", "epsilon", "clients", "population", "replicates"),
    [*EVERY, ("local", 5.0, 50_000, "uniform", 8)],
)
def test_advised_settings_are_near_the_best(model, epsilon, clients, population, replicates):
    advice, errors = check(model, epsilon, clients, population, replicates)
    if population == "uniform":
        for purpose in PURPOSES:
            assert 0.4 < errors[purpose] / advice.expected_errors[purpose] < 2.0


@pytest.mark.parametrize("clients", [129, 300, 513, 5000])
def test_exact_sums_have_the_errors_predicted(clients):
    advice = advise(clients, None, "secure-aggregation")
    assert advice.heights["auc"] == advice.heights["metrics"]
    sizes = {purpose: [size] for purpose, size in advice.buckets.items()}
    measurements = measured("secure-aggregation", None, clients, {advice.heights["auc"]: sizes})
    ratio = {
        purpose: sum(errors.values()) / advice.expected_errors[purpose]
        for purpose, errors in measurements.items()
    }
    assert ratio["auc"] <= 1.6
    if clients in (129, 513):
        assert ratio["auc"] > 0.3
    if clients in (300, 5000):
        assert 0.4 < ratio["metrics"] < 2.0
        assert 0.4 < ratio["calibration"] < 2.0


@pytest.mark.parametrize("model", ["distributed-noise", "local"])
@pytest.mark.parametrize("clients", [1000, 123_456])
def test_noise_is_that_of_the_stated_errors(model, clients):
    stated = mechanism(model, 2.0, clients).mean_squared_error(2**8) * 256 / 255
    stated = math.sqrt(stated) / clients
    assert Population(clients, 2.0, KINDS[model], False).noise(7) == pytest.approx(stated, rel=0.02)


@pytest.mark.usefixtures("own_registry")
def test_the_registry_answers_for_trust_models():
    class TwiceAsNoisy(DistributedNoise):
        """A trust model that ``advise`` has never heard of."""

        __slots__ = ()
        advised = "twice-as-noisy"

        def mean_squared_error(self, size):
            return 4 * DistributedNoise.mean_squared_error(self, size)

    noises = [Population(9, 1.0, kind, False).noise(3) for kind in (DistributedNoise, TwiceAsNoisy)]
    assert noises[1] == 2 * noises[0]
    advice = [advise(10**5, 1.0, model) for model in ("distributed-noise", TwiceAsNoisy.advised)]
    assert advice[0].expected_errors["auc"] < advice[1].expected_errors["auc"]
    assert enough(10**5, 1.0, TwiceAsNoisy.advised, 0.01).enough
    with pytest.raises(ParameterError, match="'twice-as-noisy'"):
        advise(10**5, 1.0, "nobody")


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS)
def test_more_clients_and_larger_budgets_have_less_error(model):
    for purpose in PURPOSES:
        by_clients = [
            advise(10**power, 1.0, model).expected_errors[purpose] for power in range(2, 9)
        ]
        assert np.all(np.diff(by_clients) <= 0)
        if model != "secure-aggregation":
            by_budget = [
                advise(10**5, epsilon, model).expected_errors[purpose] for epsilon in (0.1, 1, 5)
            ]
            assert np.all(np.diff(by_budget) < 0)


@pytest.mark.needs_jit
def test_less_trust_has_more_error():
    for purpose in PURPOSES:
        errors = [advise(10**5, 1.0, model).expected_errors[purpose] for model in MODELS]
        assert errors == sorted(errors)


@pytest.mark.parametrize("model", MODELS)
def test_advice_can_be_followed_and_says_why(model):
    for clients in (1, 30, 10_000, 2**40):
        advice = advise(clients, 1.0, model)
        for purpose in PURPOSES:
            assert 1 <= advice.heights[purpose] <= 16
            assert 1 <= advice.buckets[purpose] <= 2 ** advice.heights[purpose]
            assert 0.0 < advice.expected_errors[purpose] <= 1.0
            assert advice.theorem_errors[purpose] > 0.0
        text = " ".join(advice.reasons)
        assert all(str(advice.buckets[purpose]) in text for purpose in PURPOSES)
        assert str(advice.heights["metrics"]) in text


@pytest.mark.needs_jit
def test_theorems_are_those_of_the_paper():
    """Table 1, by hand, at 10^6 clients."""
    theorems = advise(10**6, 0.125, "distributed-noise").theorem_errors
    buckets = advise(10**6, 0.125, "distributed-noise").buckets
    assert theorems["metrics"] == pytest.approx(4e-4)
    assert theorems["calibration"] == pytest.approx(0.01 + 8e-4)
    assert theorems["auc"] == pytest.approx((8 + 1 / buckets["auc"]) * 1e-6)
    local = advise(10**6, 8.0, "local")
    assert local.theorem_errors["metrics"] == pytest.approx(0.0025)
    assert local.theorem_errors["auc"] == pytest.approx(local.heights["auc"] / 8000)
    assert local.theorem_errors["calibration"] == pytest.approx(8**-0.5 * 10**-1.5)
    exact = advise(10**6, None, "secure-aggregation")
    assert exact.theorem_errors["metrics"] == 2.0**-16
    assert exact.theorem_errors["calibration"] == pytest.approx(0.01)


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("purpose", PURPOSES)
def test_enough_finds_how_many_clients_it_takes(model, purpose):
    for error in (0.05, 0.02):
        answer = enough(10_000, 2.0, model, error, purpose)
        assert answer.expected_error == advise(10_000, 2.0, model).expected_errors[purpose]
        assert answer.enough == (answer.expected_error <= error)
        assert answer.enough == (answer.clients <= 10_000)
        assert enough(answer.clients, 2.0, model, error, purpose).enough
        fewer = int(answer.clients * 0.98) - 1
        assert fewer < 1 or not enough(fewer, 2.0, model, error, purpose).enough


@pytest.mark.needs_jit
def test_no_population_is_enough_for_some_errors():
    answer = enough(10_000, 2.0, "local", 1e-9)
    assert not answer.enough
    assert answer.clients is None


@pytest.mark.parametrize("call", [advise, lambda *arguments: enough(*arguments, 0.01)])
@pytest.mark.parametrize(
    ("clients", "epsilon", "model", "error", "name"),
    [
        (1000, 1.0, "nobody", ParameterError, "model"),
        (0, 1.0, "local", ParameterError, "clients"),
        (10.5, 1.0, "local", DtypeError, "clients"),
        (1000, None, "distributed-noise", ParameterError, "epsilon"),
        (1000, -1.0, "local", ParameterError, "epsilon"),
    ],
)
def test_errors_name_the_argument(call, clients, epsilon, model, error, name):
    with pytest.raises(error, match=name):
        call(clients, epsilon, model)


def test_errors_and_purposes_are_checked():
    assert enough(1000, None, "secure-aggregation", 0.01)
    with pytest.raises(ParameterError, match="error"):
        enough(1000, 1.0, "local", 0.0)
    with pytest.raises(ParameterError, match="purpose"):
        enough(1000, 1.0, "local", 0.1, "f1")
    with pytest.raises(ParameterError, match=r"purpose.*'square-wave'"):
        enough(1000, 1.0, "square-wave", 0.1)


@pytest.mark.needs_jit
def test_other_models_have_the_noise_that_they_state():
    central, shared, spread = (advise(10**5, 1.0, name) for name in OTHERS)
    distributed = advise(10**5, 1.0, "distributed-noise")
    assert central.expected_errors == distributed.expected_errors
    assert central.theorem_errors == distributed.theorem_errors == shared.theorem_errors
    for purpose in PURPOSES:  # each of two servers adds all the noise of the guarantee
        ratio = shared.expected_errors[purpose] / central.expected_errors[purpose]
        assert 1.0 < ratio < 1.42
    assert spread.heights.keys() == {"cdf"}
    assert len(spread.reasons) == 1
    assert enough(10**4, 1.0, "square-wave", 0.05, "cdf").enough


@pytest.mark.needs_jit
@pytest.mark.parametrize("model", ["central", "local", "square-wave"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_errors_of_a_cdf_are_those_expected(model, epsilon):
    clients, rng, errors = 20_000, RNG(3), []
    advice = advise(clients, epsilon, model)
    size = advice.buckets["cdf"]
    trust = (KINDS | OTHERS)[model].for_advice(epsilon, clients)
    for _ in range(20):
        counts = rng.multinomial(clients, np.full(size, 1 / size))
        errors.append(np.abs(trust.release(counts, rng=rng) - np.cumsum(counts)).mean() / clients)
    assert 0.5 < np.mean(errors) / advice.expected_errors["cdf"] < 1.5
