"""Private models: how far neighbours' minima, sums and densities are apart, and what is spent."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest

from dpcore.models import perturbation
from dpcore.models.losses import Logistic, Squares
from dpcore.models.moments import by_moments, largest_change
from dpcore.models.perturbation import by_objective, by_output, objective_noise, output_noise
from dpcore.noise.sources import GeneratorSource
from dpcore.privacy.allowance import Allowance
from tests.audit.harness import both_ways
from tests.reference import models as reference


def budget(epsilon):
    return Allowance.checked(epsilon, None, "replace-one")


# --- minima


def minimum_of(loss, records, responses, penalty):
    if loss is Squares:
        return reference.ridge_minimum(records, responses, penalty)
    return reference.logistic_minimum(records * responses, penalty)


def share_of_bound(loss, penalty, common, first, second, copies=1):
    """How far the minima of neighbours are apart, in units of the bound.

    Records are rows (x_1, x_2, y); those in common are there so many times.
    """
    minima = []
    for own in (first, second):
        *features, responses = np.vstack([np.repeat(common, copies, axis=0), own]).T
        minima.append(minimum_of(loss, np.array(features), responses, penalty))
    n = copies * len(common) + 1
    bound = (Logistic() if loss is Logistic else Squares(np.zeros(1))).moved(penalty) / n
    return np.linalg.norm(minima[0] - minima[1]) / bound


def within(numbers):
    """Rows of three numbers, as records: features in the unit ball, responses within [-1, 1]."""
    rows = np.reshape(numbers, (-1, 3)).copy()
    rows[:, :2] /= np.maximum(1.0, np.linalg.norm(rows[:, :2], axis=1))[:, None]
    rows[:, 2] = np.clip(rows[:, 2], -1.0, 1.0)
    return rows


@pytest.mark.sample(1)
@pytest.mark.parametrize("penalty", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("loss", [Logistic, Squares])
def test_no_neighbours_have_minima_farther_apart(loss, penalty):
    """A search for the worst ones, from several starts. Labels in between are shorter records."""
    rng = np.random.default_rng(1)

    def short(numbers):
        *common, first, second = within(numbers)
        return -share_of_bound(loss, penalty, np.array(common), first, second, copies=3)

    found = [
        minimize(short, rng.normal(0, 1.5, 12), method="Nelder-Mead", options={"maxfev": 250}).fun
        for _ in range(3)
    ]
    assert -1.0 <= min(found) < -0.01


def test_bounds_of_minima_are_nearly_attained():
    """Where the common records make the loss of both own ones steep, in flat directions."""
    side = math.sqrt(0.5)
    against = [[1.0, 0.0, -1.0]]
    steep = share_of_bound(
        Logistic, 0.001, against, [0.4, 0.917, 1.0], [0.4, -0.917, 1.0], copies=4000
    )
    assert 0.78 < steep <= 1.0
    far = share_of_bound(
        Squares, 0.001, [[0.0316, 0.0, -1.0]], [side, side, 1.0], [side, -side, 1.0], copies=40_000
    )
    assert 0.72 < far <= 1.0
    strong = share_of_bound(Squares, 100.0, against, [1.0, 0.0, 1.0], [1.0, 0.0, -1.0])
    assert 0.95 < strong <= 1.0


@pytest.mark.sample(1)
@pytest.mark.parametrize("penalty", [1e-4, 0.02, 0.5, 3.0])
def test_minima_are_no_longer_than_is_said(penalty):
    rng = np.random.default_rng(2)
    loss = Squares(np.zeros(1))
    longest = 0.0
    for _ in range(200):
        records = rng.normal(0, 1, (2, 6)) * rng.choice([0.03, 0.3, 3.0], (2, 1))
        records /= np.maximum(1.0, np.linalg.norm(records, axis=0))
        _, _, largest = np.linalg.svd(records)
        for responses in (np.sign(rng.normal(size=6)), np.sign(largest[0]), np.sign(largest[1])):
            ridge = reference.ridge_minimum(records, responses, penalty)
            longest = max(longest, np.linalg.norm(ridge) / loss.longest(penalty))
            logistic = reference.logistic_minimum(records * responses, penalty)
            assert np.linalg.norm(logistic) <= Logistic().longest(penalty)
    side = min(1.0, math.sqrt(penalty))
    worst = reference.ridge_minimum(np.full((1, 4), side), np.ones(4), penalty)
    longest = max(longest, float(worst[0]) / loss.longest(penalty))
    assert longest <= 1.0 + 1e-12
    assert longest > 0.99 or penalty > 1.0


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("n", [1, 1000])
def test_parts_of_the_budget_add_up(epsilon, n):
    """The noise, the determinant, and what covers floating point; nearly all of it is used."""
    for penalty in (1e-6, 0.01, 3.0):
        taken, scale = objective_noise(n, penalty, budget(epsilon))
        parts = 2.0 / scale + math.log1p(0.25 / (n * taken)) + epsilon / 64
        assert epsilon * (1 - 1e-9) < parts < epsilon
        assert taken >= penalty
        scale = output_noise(Logistic(), n, penalty, budget(epsilon))
        parts = 2.0 / (n * penalty) / scale + epsilon / 64
        assert epsilon * (1 - 1e-9) < parts < epsilon


# --- the density of objective perturbation, exactly


def loss_of_privacy(epsilon, inverse, common, first, second, w, scale_factor=1.0):
    """The absolute logarithm of the ratio of neighbours' densities at w; records are columns."""
    n = common.shape[1] + 1
    penalty, scale = objective_noise(n, 1.0 / (n * inverse), budget(epsilon))
    densities = [
        reference.logistic_log_density(
            np.column_stack([common, own]), penalty, scale * scale_factor, w
        )
        for own in (first, second)
    ]
    return abs(densities[0] - densities[1])


def spent(epsilon, inverse, seed=3):
    """The largest one that is found, for n = 2 and two dimensions."""
    rng = np.random.default_rng(seed)
    most = 0.0
    for _ in range(2000):
        w = rng.normal(size=2) * 10.0 ** rng.uniform(-1, 4)
        records = rng.normal(size=(2, 3))
        records /= np.linalg.norm(records, axis=0)
        if rng.random() < 0.5:  # the loss of one record is as curved as it can be
            records[:, 1] = [-w[1], w[0]] / np.linalg.norm(w)
        columns = records[:, :1], records[:, 1], records[:, 2], w
        most = max(most, loss_of_privacy(epsilon, inverse, *columns))
    return most


def near_the_bound(scale_factor=1.0):
    """Both losses are steep in opposite directions, in which all the common records point."""
    side = math.sqrt(1.0 - 0.2**2)
    common, own = np.repeat([[0.0], [1.0]], 3999, axis=1), [[-0.2, side], [-0.2, -side]]
    return loss_of_privacy(1.0, 0.1, common, *own, np.array([20.0, 0.0]), scale_factor)


@pytest.mark.parametrize(("epsilon", "inverse"), [(1.0, 0.01), (0.1, 0.01), (1.0, 1e4), (4.0, 1.0)])
def test_densities_of_neighbours_differ_by_what_is_spent(epsilon, inverse):
    most = spent(epsilon, inverse)
    assert most <= epsilon * 63 / 64
    assert most > 0.45 * epsilon


def test_a_fifth_too_little_noise_would_be_noticed():
    assert 0.9 < near_the_bound() <= 63 / 64
    assert near_the_bound(scale_factor=1 / 1.2) > 1.0


def test_determinants_that_are_not_paid_for_would_be_noticed(monkeypatch):
    """One loss is steep, the other one curved, and the common ones are steep."""
    side = math.sqrt(1.0 - 0.2**2)
    common = np.repeat([[-0.2], [-side]], 999, axis=1)
    columns = common, [0.0, 1.0], [-0.2, -side], np.array([100.0, 0.0])
    assert 0.8 < loss_of_privacy(1.0, 1e4, *columns) <= 63 / 64
    monkeypatch.setattr(perturbation.math, "log1p", lambda x: 0.0)
    assert loss_of_privacy(1.0, 1e4, *columns) > 1.0


@pytest.mark.sample(1)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_releases_of_one_feature_follow_the_law(label):
    """What leads to w is Laplace noise, so that the law is known in closed form."""
    rng = np.random.default_rng(5)
    records = np.array([[0.7, -0.2, label]])
    penalty, scale = objective_noise(3, 0.1, budget(1.0))
    stream = GeneratorSource(rng)
    drawn = np.array([by_objective(records, 0.1, budget(1.0), stream)[0] for _ in range(2000)])
    noise = [
        -3 * reference.logistic_gradient(records, penalty, 0.0, np.array([w]))[0] for w in drawn
    ]
    assert kstest(noise, "laplace", (0.0, scale)).pvalue > 0.01
    assert kstest(noise, "laplace", (0.0, 0.7 * scale)).pvalue < 1e-4


# --- releases of the worst neighbours


def samples(epsilon, runs, seed):
    """Which releases are beyond both minima, of neighbours that are as far apart as the bound."""
    stream, penalty = GeneratorSource(np.random.default_rng(seed)), 1e4
    beyond = -Squares(np.zeros(1)).moved(penalty) / 2
    for response in (-1.0, 1.0):
        given = np.ones((1, 1)), Squares(np.array([response])), penalty, budget(epsilon), stream
        yield [int(by_output(*given)[0] < beyond) for _ in range(runs)]


@pytest.mark.full
@pytest.mark.needs_jit
def test_output_perturbation_spends_epsilon_and_no_more():
    assert 1.5 < both_ways(*samples(2.0, 8_000, 6), failure=1e-4) <= 2.0
    assert both_ways(*samples(2.4, 8_000, 6), failure=1e-4) > 2.0


# --- sums of products


def change(first, second, constant):
    """The sum of changes of what is released, for records (y, x_1, ..., x_d)."""
    products = [np.outer(record, record) for record in (first, second)]
    moved = np.abs(np.triu(products[0] - products[1]))
    moved[0, 0] = 0.0  # the responses' own square is not released
    slopes = np.abs(np.subtract(first, second))[1:].sum() if constant else 0.0
    return moved.sum() + slopes + (abs(first[0] - second[0]) if constant else 0.0)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("features", [1, 2])
def test_sums_change_by_as_much_as_is_said(features, constant):
    ends = [-1.0, -0.5, 0.0, 0.25, 0.5, 1.0]
    most = max(
        change(first, second, constant)
        for first in itertools.product([1.0], *[ends] * features)
        for second in itertools.product([-1.0, 0.0, 1.0], *[ends] * features)
    )
    bound = largest_change(features, constant)
    assert most <= bound
    assert most >= bound * Fraction(95, 100)


@pytest.mark.sample(2)
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("features", [3, 5, 9])
def test_no_search_finds_a_larger_change(features, constant):
    rng = np.random.default_rng(8)
    most = 0.0
    for _ in range(20):
        pair = rng.uniform(-1, 1, (2, features + 1))
        for _ in range(3):  # coordinate by coordinate, over a mesh
            for place in itertools.product(range(2), range(features + 1)):
                tried = []
                for value in np.linspace(-1, 1, 17):
                    pair[place] = value
                    tried.append((change(*pair, constant), value))
                pair[place] = max(tried)[1]
        most = max(most, change(*pair, constant))
    bound = float(largest_change(features, constant))
    assert 0.93 * bound < most <= bound


def test_moments_have_noise_for_their_changes(monkeypatch):
    """The scale of the real code, in units of a product of two values."""
    scales = []
    law = Allowance.law

    def noted(self, *arguments):
        found = law(self, *arguments)
        scales.append(found.scale)
        return found

    monkeypatch.setattr(Allowance, "law", noted)
    stream = GeneratorSource(np.random.default_rng(9))
    for constant, expected in ((True, 9), (False, Fraction(16, 3))):
        by_moments(np.ones((2, 5)), np.ones(5), constant, 1.0, budget(0.5), stream)
        assert scales[-1] == pytest.approx(2**24 * float(expected) / 0.5, rel=1e-8)
        assert scales[-1] >= 2**24 * expected / Fraction(1, 2)
