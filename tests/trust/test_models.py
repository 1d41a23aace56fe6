"""Trust models as mechanisms: unbiased releases, with the error that they state."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import Central, DistributedNoise, FunctionSharing, Local, SecureAggregation
from tests.trust.rounds import RNG

N, SIZE = 5000, 40
COUNTS = RNG(1).multinomial(N, RNG(2).dirichlet(np.ones(SIZE)))
EXACT = np.cumsum(COUNTS)
MODELS = [
    Central(1.0),
    SecureAggregation(),
    DistributedNoise(1.0, clients=N),
    DistributedNoise(1.0, clients=2 * N, dropout=0.75, reporting=N),
    FunctionSharing(1.0),
    FunctionSharing(1.0, servers=5, honest=3),
    Local(5.0, clients=N),
]


def errors(model, replicates=400, seed=3):
    released = model.release(COUNTS, rng=RNG(seed), replicates=replicates)
    return released - EXACT


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.describe()["name"])
def test_releases_are_unbiased_with_the_stated_error_and_their_total_is_public(model):
    made = errors(model)
    assert np.all(made[:, -1] == 0)
    spread = np.maximum(made.std(axis=0), 1e-9)
    assert np.all(np.abs(made.mean(axis=0)) <= 5 * spread / math.sqrt(len(made)))
    stated = model.noise_deviation(SIZE)
    if not isinstance(model, Local):
        assert np.all(np.abs(made.std(axis=0) - stated) <= 0.2 * stated)


@pytest.mark.sample(2)
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_the_stated_error_of_local_privacy_is_a_bound(epsilon):
    model = Local(epsilon, clients=N)
    stated = model.noise_deviation(SIZE)[:-1]
    spread = errors(model)[:, :-1].std(axis=0)
    assert np.all(spread <= 1.15 * stated)
    assert spread.mean() >= 0.45 * stated.mean()


def test_numbers_of_numpy_are_made_pythons():
    third = Fraction(np.uint8(1), np.uint8(3))
    trust = DistributedNoise(np.float32(0.5), clients=np.uint8(200), dropout=third)
    assert trust.required == 134
    assert type(trust.epsilon) is float
    assert Local(np.float32(0.5), clients=5).epsilon == 0.5


def test_distributed_noise_is_the_hierarchys():
    hierarchy, model = dp.mechanisms.Hierarchy(1.0), DistributedNoise(1.0, clients=N)
    assert np.array_equal(model.noise_deviation(SIZE), hierarchy.noise_deviation(SIZE))
    assert np.array_equal(Central(1.0).noise_deviation(SIZE), hierarchy.noise_deviation(SIZE))
    released = [one.release(COUNTS, rng=RNG(4), replicates=2000) for one in (hierarchy, model)]
    first, second = (one[:, :-1].var(axis=0) for one in released)
    assert np.all(np.abs(first - second) <= 0.25 * first)


def test_more_reports_than_required_make_more_noise():
    some, all_of_them = (DistributedNoise(1.0, clients=N, dropout=part) for part in (0.5, 0.0))
    assert some.required == N // 2
    assert some.excess == 2.0
    ratio = some.noise_deviation(SIZE)[:-1] / all_of_them.noise_deviation(SIZE)[:-1]
    assert ratio == pytest.approx(math.sqrt(2.0))
    fewer = DistributedNoise(1.0, clients=N, dropout=0.5, reporting=3000)
    assert fewer.excess == pytest.approx(1.2)
    assert fewer.describe()["reporting"] == 3000


@pytest.mark.parametrize(
    ("clients", "dropout", "required"),
    [
        (10, 0.25, 8),
        (1, 0.0, 1),
        (10**6, 1e-9, 10**6),
        (10_000, np.uint8(0), 10_000),
        (10, 0.3, 7),
        (10, Fraction(3, 10), 7),
        (10, 0.0, 10),
        (3, 1e-3, 3),
        (10**6, 1e-6, 999_999),
    ],
)
def test_dropout_is_a_decimal_number(clients, dropout, required):
    assert DistributedNoise(1.0, clients, dropout).required == required


def test_levels_of_local_privacy_share_all_clients():
    branching, asked = Local(1.0, clients=N).levels(SIZE)
    assert asked.sum() == N
    assert asked.size == len(branching)
    assert math.prod(branching) >= SIZE
    assert Local(1.0, clients=N).levels(1)[0] == ()


@pytest.mark.needs_jit
def test_local_privacy_without_a_generator_makes_every_report():
    model = Local(5.0, clients=2000)
    counts = np.array([1500, 100, 300, 100])
    made = np.array([model.release(counts) for _ in range(200)]) - np.cumsum(counts)
    stated = model.noise_deviation(4)
    assert np.all(np.abs(made.mean(axis=0)) <= 5 * stated / math.sqrt(200) + 1e-9)
    assert np.all(made.std(axis=0)[:-1] <= 1.6 * stated[:-1])
    assert np.all(made.std(axis=0)[:-1] > 0)


def test_one_cell():
    for model in MODELS:
        assert model.release(np.array([N]), rng=RNG(1)).tolist() == [N]
        assert model.noise_deviation(1).tolist() == [0.0]


def test_all_statistics_of_scores():
    rng = RNG(5)
    labels = rng.random(20_000) < 0.4
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.15), 0, 1)
    exact = dp.roc_curve(labels, scores, mechanism=SecureAggregation()).auc
    for model in (
        Central(2.0),
        DistributedNoise(2.0, clients=20_000, dropout=0.1),
        Local(5.0, clients=20_000),
    ):
        grid = dp.Grid.uniform(0, 1, 64)
        roc = dp.roc_curve(labels, scores, grid=grid, mechanism=model, rng=rng)
        assert roc.privacy == dp.Privacy(float(model.epsilon), simulated=True)
        assert abs(roc.auc - exact) < (0.05 if isinstance(model, Local) else 0.01)
        assert dp.statistics.HosmerLemeshow.from_curves(roc.curves).merged.sum() == 10
        text = roc.curves.to_json()
        assert json.loads(text)["mechanism"]["name"] == model.describe()["name"]
        assert np.array_equal(dp.ScoreCurves.from_json(text).joint.counts, roc.curves.joint.counts)


def test_exact_sums_have_no_guarantee():
    assert SecureAggregation(3).privacy.epsilon == math.inf
    assert errors(SecureAggregation()).any() == np.False_


def noisy(**options):
    return lambda: DistributedNoise(**{"epsilon": 1.0, "clients": 5} | options)


MANY = np.eye(SIZE, dtype=int)[0] * 2 * 10**9


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (noisy(epsilon=0.0), ParameterError, "epsilon"),
        (noisy(clients=0), ParameterError, "clients"),
        (noisy(clients=2.5), DtypeError, "clients"),
        (noisy(dropout=1), ParameterError, "dropout"),
        (noisy(dropout=-0.1), ParameterError, "dropout"),
        (noisy(dropout="x"), DtypeError, "dropout"),
        (noisy(dropout=False), DtypeError, "dropout"),
        (noisy(clients=10, dropout=0.2, reporting=7), ParameterError, "reporting .*8 and 10"),
        (noisy(reporting=6), ParameterError, "reporting"),
        (lambda: Local(0.0, clients=5), ParameterError, "epsilon"),
        (lambda: Local(1.0, clients=0), ParameterError, "clients"),
        (lambda: Local(1.0, clients=2 * 10**9).release(MANY), ParameterError, "clients .*10"),
        (lambda: Local(1.0, 1, branching=2).noise_deviation(1000), ParameterError, "clients"),
        (lambda: Local(1.0, N).release(COUNTS[:-1]), ParameterError, f"counts .* {N} "),
        (lambda: MODELS[2].release(COUNTS[:-1]), ParameterError, f"counts .* {N} "),
        (lambda: SecureAggregation(1), ParameterError, "servers .*got 1"),
        (lambda: SecureAggregation(257), ParameterError, "servers .*got 257"),
        (lambda: Central(), ParameterError, "epsilon"),
    ],
)
def test_bad_parameters(make, error, words):
    with pytest.raises(error, match=words):
        make()
