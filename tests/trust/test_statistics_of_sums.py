"""Statistics of released sums: what one curator's are made of, from every trust model."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.curves.distances import kolmogorov_smirnov
from dpcore.mechanisms import PolynomialProjection
from dpcore.papers.hosmer_lemeshow_by_groups import hosmer_lemeshow_by_groups
from dpcore.summaries.polynomials import scheme
from dpcore.trust import (
    Central,
    Client,
    DistributedNoise,
    Protocol,
    SecureAggregation,
    Server,
    agree,
    release_sum,
    vector_sum,
)
from dpcore.trust.functions import (
    Coarse,
    Identity,
    ProjectionSums,
    ResidualSums,
    RiskGroupSums,
)
from tests.curves.told_mistakes import told
from tests.trust.rounds import RNG, ROUND

GRID = dp.Grid.uniform(0, 1, 200)
EDGES = [0.0, 0.2, 0.5, 1.0]


def records(n, seed=1):
    rng = RNG(seed)
    scores = rng.random(n)
    return np.stack([rng.random(n) < scores, scores], axis=1).astype(float)


# --- projections


@pytest.mark.parametrize("budgets", ["auto", "equal"])
@pytest.mark.parametrize("degree", [1, 8, 33])
def test_exact_sums_are_those_of_a_curator(degree, budgets):
    values = RNG(1).beta(2, 5, 500)
    of = ProjectionSums(0, 1, degree, budgets)
    found = dp.trust.projection(vector_sum(values, of, SecureAggregation(), rng=RNG(2)))
    own = scheme(degree, "legendre", budgets, "exact")
    sums = dp.polynomial_sums(values, 0, 1, degree=degree).sums
    exact = np.array(own.totals(sums, 28), float)
    assert np.abs(np.array(found.totals) - exact).max() < 2.0**28 * 1e-3
    assert found.variance < 1e-6


@pytest.mark.parametrize("budget", [{"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}])
@pytest.mark.parametrize("degree", [4, 32])
def test_the_noise_is_that_of_a_curator(budget, degree):
    mechanism = PolynomialProjection(**budget, degree=degree)
    values = RNG(1).random(100)
    for trust in (Central(**budget), DistributedNoise(**budget, clients=100, records=None)):
        released = vector_sum(values, ProjectionSums(0, 1, degree), trust, rng=RNG(1))
        found = dp.trust.projection(released)
        assert found.variance == pytest.approx(mechanism.noise().variance, rel=1e-3)
        assert found.privacy == released.privacy


def test_a_vector_is_as_far_from_another_as_the_scheme_says():
    of = ProjectionSums(-1, 1, 16)
    values = of.values(np.cos(np.linspace(0, np.pi, 600))[:, np.newaxis])
    apart = np.linalg.norm(values[:, np.newaxis] - values, axis=2).max()
    assert 0.99 * of.bound.change < apart <= of.bound.change
    assert np.all(np.abs(values) <= np.array(of.bound.upper) + 1e-12)


@pytest.mark.needs_jit
def test_many_sites_have_the_distance_of_one():
    values, exact = RNG(3).beta(2, 5, 5000), None
    exact = dp.cdf(values, GRID, dp.mechanisms.NoNoise())
    trust = DistributedNoise(epsilon=0.5, delta=1e-6, clients=100, records=None)
    one = PolynomialProjection(0.5, delta=1e-6)
    sites, alone = [], []
    for seed in range(60):
        released = vector_sum(values, ProjectionSums(0, 1), trust, rng=RNG(seed))
        curve = dp.trust.projection(released).curve(GRID).isotonic()
        sites.append(kolmogorov_smirnov(curve, exact))
        found = dp.project(values, 0, 1, mechanism=one, rng=RNG(seed + 1000))
        alone.append(kolmogorov_smirnov(found.curve(GRID).isotonic(), exact))
    assert np.mean(sites) <= 1.1 * np.mean(alone)


# --- Hosmer-Lemeshow


def test_a_round_has_the_groups_of_the_published_test():
    given = records(400)
    trust = SecureAggregation()
    protocol = Protocol.of_function(trust, RiskGroupSums(EDGES), ROUND)
    servers, rng = [Server(protocol), Server(protocol)], RNG(2)
    for record in given:
        for server, report in zip(servers, Client(protocol, rng).report(record), strict=True):
            server.add(report)
    agree(servers)
    released = release_sum([server.close() for server in servers])
    test = dp.trust.hosmer_lemeshow(released, fitted=False)
    at = np.searchsorted(EDGES[1:-1], given[:, 1])
    positives = np.bincount(at, given[:, 0], 3)
    sizes, probabilities = np.bincount(at, minlength=3), np.bincount(at, given[:, 1], 3)
    assert np.allclose(test.observed, np.stack([sizes - positives, positives], axis=1))
    assert np.allclose(test.expected[:, 1], probabilities, atol=1e-3)
    assert np.allclose(test.expected.sum(axis=1), sizes)
    assert np.array_equal(test.edges, EDGES)
    with pytest.raises(dp.DpcoreError):
        _ = test.pvalue  # nobody said which trust model


def test_groups_that_may_be_empty_are_merged():
    given = records(2000)
    given[:, 1] = 0.4 + 0.2 * given[:, 1]  # of ten groups, eight are empty
    trust, edges = DistributedNoise(epsilon=0.5, clients=2000), np.linspace(0, 1, 11)
    for seed in range(5):
        released = vector_sum(given, RiskGroupSums(edges), trust, rng=RNG(seed))
        test = dp.trust.hosmer_lemeshow(released, trust, fitted=False)
        of_one = np.sqrt(2) * released.deviation.max()
        assert (test.expected >= max(5.0, of_one)).all()
        assert np.array_equal(test.edges, edges[np.append(0, np.cumsum(test.merged))])
        assert np.allclose(test.expected.sum(), released.total.sum())
        assert np.allclose(test.deviations[:, 0], of_one * np.sqrt(test.merged), rtol=1e-6)
        assert (test.under_noise(9, RNG(seed)).null_degrees_of_freedom == test.merged.size).all()


def test_the_noise_is_that_of_algorithm_2():
    trust = DistributedNoise(epsilon=1.0, clients=1000)
    released = vector_sum(records(1000), RiskGroupSums(EDGES), trust, rng=RNG(1))
    ours = dp.trust.hosmer_lemeshow(released).deviations
    given = records(1000)
    # A third of epsilon, more or less, goes into the quantiles there.
    theirs = hosmer_lemeshow_by_groups(given[:, 0] > 0, given[:, 1], epsilon=1.0, rng=RNG(1))
    assert ours.max() < theirs.deviations.min()
    assert np.allclose(ours, 4.0, rtol=0.02)  # twice discrete Laplace noise of scale 2


def test_labels_of_no_class_are_in_no_group_and_others_are_parts_of_one():
    values = RiskGroupSums(EDGES).values(np.array([[2, 0.3], [-1, 0.3], [0.5, 0.3], [1, np.inf]]))
    assert values[:3].tolist() == [[0.0] * 12] * 3
    assert values[3].tolist() == [0.0] * 11 + [1.0]
    assert np.allclose(RiskGroupSums(EDGES).values(records(50)).sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_right_model_is_rejected_as_often_as_stated(epsilon):
    trust, of = DistributedNoise(epsilon=epsilon, clients=2000), RiskGroupSums(EDGES)
    low = 0
    for seed in range(40):
        released = vector_sum(records(2000, seed), of, trust, rng=RNG(seed))
        test = dp.trust.hosmer_lemeshow(released, trust, fitted=False)
        low += test.under_noise(99, RNG(seed)).pvalue <= 0.1
    assert low <= 12  # 4 in expectation


def test_a_wrong_model_is_found():
    given = records(5000)
    given[:, 1] **= 2
    trust = DistributedNoise(epsilon=1.0, clients=5000)
    released = vector_sum(given, RiskGroupSums(EDGES), trust, rng=RNG(1))
    assert dp.trust.hosmer_lemeshow(released, trust, fitted=False).pvalue <= 0.001
    again = dp.load(released.to_json())
    assert dp.trust.hosmer_lemeshow(again, trust).statistic > 100


# --- calibration


def test_exact_bins_are_those_of_exact_curves():
    given = records(3000)
    grid = dp.Grid.uniform(0, 1, 1000)
    of = RiskGroupSums(np.linspace(0, 1, 6))
    found = dp.trust.reliability(vector_sum(given, of, SecureAggregation(), rng=RNG(1)))
    curves = dp.score_curves(given[:, 0], given[:, 1], grid, dp.mechanisms.NoNoise())
    exact = dp.statistics.reliability(curves, 5)
    assert np.allclose(found.bins.edges, exact.bins.edges, rtol=1e-15)
    assert np.allclose(found.counts, exact.counts, rtol=1e-7)
    assert np.allclose(found.positive_rate, exact.positive_rate, rtol=1e-7)
    assert np.allclose(found.mean_score, exact.mean_score, atol=1 / 2000)
    at = np.ceil(given[:, 1] * 5).astype(int) - 1
    assert np.allclose(found.mean_score, [given[at == k, 1].mean() for k in range(5)], rtol=1e-6)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.1}])
def test_bins_are_as_far_off_as_their_deviations_say(budget):
    given, of = records(2000), RiskGroupSums(EDGES)
    trust = DistributedNoise(**budget, clients=2000)
    exact = dp.trust.reliability(vector_sum(given, of, SecureAggregation(), rng=RNG(1)))
    found = [dp.trust.reliability(vector_sum(given, of, trust, rng=RNG(s))) for s in range(300)]
    bins = found[0].bins
    for name in ("negatives", "positives"):
        off = np.array([getattr(one.bins, name) for one in found]) - getattr(exact.bins, name)
        assert np.allclose(off.std(axis=0), getattr(bins, f"{name}_deviation"), rtol=0.2)
    off = np.array([one.positive_rate for one in found]) - exact.positive_rate
    assert np.all(off.std(axis=0) <= found[0].noise_deviation * 1.2)
    again = dp.load(found[0].to_json())
    assert np.array_equal(again.mean_score, found[0].mean_score)


def test_bins_that_noise_makes_negative_are_empty():
    trust = DistributedNoise(epsilon=0.01, clients=5)
    table = dp.trust.reliability(vector_sum(records(5), RiskGroupSums(EDGES), trust, rng=RNG(4)))
    assert table.counts.min() == 0.0
    empty = table.counts == 0.0
    assert np.array_equal(np.isnan(table.mean_score), empty)
    edges = table.bins.edges
    assert np.all((edges[:-1] <= table.mean_score)[~empty])
    assert np.all((table.mean_score <= edges[1:])[~empty])


# --- coarse sums, for aggregations modulo a small number


def test_coarse_sums_are_read_with_their_rounding():
    given, trust = records(2000), DistributedNoise(epsilon=1.0, clients=100, records=None)
    of = Coarse(RiskGroupSums(EDGES), 8)
    test = dp.trust.hosmer_lemeshow(vector_sum(given, of, trust, rng=RNG(1)), trust, fitted=False)
    exact = vector_sum(given, RiskGroupSums(EDGES), SecureAggregation(), rng=RNG(1))
    right = dp.trust.hosmer_lemeshow(exact)
    assert np.all(np.abs(test.observed - right.observed) < 6 * test.deviations)
    assert test.pvalue > 0.01
    for bits, more in ((3, 1.0), (12, 0.01)):
        coarse = Coarse(ProjectionSums(0, 1, 8), bits)
        found = dp.trust.projection(vector_sum(given[:, 1], coarse, trust, rng=RNG(2)))
        fine = vector_sum(given[:, 1], ProjectionSums(0, 1, 8), trust, rng=RNG(2))
        assert 1.0 < found.variance / dp.trust.projection(fine).variance < 1.0 + more
        assert (found.degree, found.n) == (8, 2000)
    numbers = vector_sum(np.ones(100), Coarse(Identity(0, 1), 8), trust, rng=RNG(1))
    with pytest.raises(dp.ParameterError, match="identity"):
        dp.trust.projection(numbers)


# --- errors


def test_other_sums_and_edges_are_refused():
    trust = DistributedNoise(epsilon=1.0, clients=10)
    numbers = vector_sum(np.ones(10), Identity(0, 1), trust, rng=RNG(1))
    groups = vector_sum(records(10), RiskGroupSums(EDGES), trust, rng=RNG(1))
    for read in (dp.trust.projection, dp.trust.hosmer_lemeshow, dp.trust.reliability):
        with pytest.raises(dp.ParameterError, match="released"):
            read(numbers)
        with pytest.raises(dp.DtypeError, match="released"):
            read(3)
    with pytest.raises(dp.ParameterError, match="trust"):
        dp.trust.hosmer_lemeshow(groups, DistributedNoise(epsilon=2.0, clients=10))
    with pytest.raises(dp.DtypeError, match="trust"):
        dp.trust.hosmer_lemeshow(groups, dp.trust.Local(1.0, 10))
    unknown = vector_sum(
        [0.5], ProjectionSums(0, 1), Central(rho=1.0), neighbours="add-or-remove-one", rng=RNG(1)
    )
    with pytest.raises(dp.ParameterError, match="public"):
        dp.trust.projection(unknown)
    for edges in ([0.0], [0.1, 1.0], [0.0, 0.7, 0.3, 1.0], "ab", [0.0, 2.0]):
        with pytest.raises(dp.DpcoreError, match="edges"):
            RiskGroupSums(edges)


# --- records that are in no group


@pytest.mark.parametrize("trust", [Central(1.0), DistributedNoise(1.0, clients=9000)])
@pytest.mark.parametrize("read", [dp.trust.hosmer_lemeshow, dp.trust.reliability])
def test_records_in_another_order_and_other_labels_are_told_of(trust, read):
    of, given = RiskGroupSums(EDGES), records(9000)
    right = vector_sum(given, of, trust, rng=RNG(1))
    assert told(read, right) is None
    text = told(read, vector_sum(given[:, ::-1], of, trust, rng=RNG(1)))
    assert (
        text
        == "100 % of the records have no label of 0 or 1: is it the order (label, probability)?"
    )
    of_two = vector_sum(given + np.array([1.0, 0.0]), of, trust, rng=RNG(1))  # labels 1 and 2
    assert text.partition(" %")[2] in told(read, of_two)


def test_lost_records_are_not_told_of_where_noise_may_have_made_them():
    of, given = RiskGroupSums(EDGES), records(900)
    for rng in RNG(3).spawn(40):
        released = vector_sum(given, of, Central(0.01), rng=rng)
        assert told(dp.trust.reliability, released) is None


def test_residuals_in_no_bin_are_told_of():
    rng = RNG(1)
    given = np.stack([rng.uniform(0, 9, 9000), rng.normal(0, 1, 9000)], axis=1)
    of = ResidualSums([0, 3, 6, 9], reach=4)
    assert told(dp.trust.residual_moments, vector_sum(given, of, Central(1.0), rng=RNG(1))) is None
    swapped = vector_sum(given[:, ::-1], of, Central(1.0), rng=RNG(1))
    assert "of the records are in no bin: is it" in told(dp.trust.residual_moments, swapped)
