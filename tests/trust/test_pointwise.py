"""Curves that are asked point by point: what they say, and that they say it once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import (
    DistributedNoise,
    FunctionServers,
    FunctionSharing,
    PointwiseCDF,
    PointwiseClient,
    RoundError,
    SecureAggregation,
    SharedVectors,
    SimulatedSum,
)
from dpcore.trust.models.remembered_noise import prefix_deviation
from tests.trust.rounds import FUNCTIONS, RNG, settled

SIZE, N = 100, 400
GRID = dp.Grid.uniform(0, 1, SIZE)
CELLS = RNG(1).integers(SIZE, size=N)
COUNTS = np.bincount(CELLS, minlength=SIZE)
NOISY = DistributedNoise(1.0, clients=N, dropout=0.25)
TRUSTS = [NOISY, FunctionSharing(1.0, servers=3, honest=2), SecureAggregation()]
models = pytest.mark.parametrize("trust", TRUSTS, ids=lambda trust: type(trust).__name__)


def simulated(trust=NOISY, counts=COUNTS, seed=1):
    return SimulatedSum(counts, trust, RNG(seed))


class Watched:
    """A sum that notes what it is asked."""

    def __init__(self, inner):
        self.inner, self.questions = inner, []
        self.clients, self.trust, self.size = inner.clients, inner.trust, inner.size
        self.simulated = inner.simulated

    def sum(self, cells):
        self.questions.append(cells.tolist())
        return self.inner.sum(cells)


@models
def test_all_points_are_the_sum_and_no_point_is_asked_twice(trust):
    watched = Watched(simulated(trust))
    curve = PointwiseCDF(watched, GRID)
    expected = watched.inner.sum(np.arange(SIZE))
    np.testing.assert_array_equal(curve.counts_at(GRID.thresholds[[7, 3, 3]]), expected[[7, 3, 3]])
    np.testing.assert_array_equal(curve(GRID.thresholds), expected / N)
    assert np.all(curve(GRID.thresholds[:, None]) == expected[:, None] / N)
    asked = [set(question) - {SIZE - 1} for question in watched.questions]
    assert asked == [{3, 7}, set(range(SIZE - 1)) - {3, 7}]
    assert all(question[-1] == SIZE - 1 for question in watched.questions)
    np.testing.assert_array_equal(curve.asked, GRID.thresholds)


def test_values_between_before_and_behind_thresholds_are_as_on_a_curve():
    curve = PointwiseCDF(simulated(), GRID)
    points = np.array([-np.inf, -1.0, 0.005, 0.01, 0.234, 0.999, 1.0, 2.0, np.inf])
    shares = curve(points)
    whole = PointwiseCDF(simulated(), GRID)
    whole(GRID.thresholds)
    np.testing.assert_array_equal(shares, whole.to_cdf()(points))
    assert shares[:3].tolist() == [0.0, 0.0, 0.0]
    assert shares[-2:].tolist() == [1.0, 1.0]
    assert curve.asked.size == 4


def test_scalars_are_answered_with_scalars_and_shapes_are_kept():
    curve = PointwiseCDF(simulated(), GRID)
    for answer in (curve(0.5), curve.quantile(0.5), curve.noise_at(0.5)):
        assert type(answer) is float
    assert type(curve.counts_at(0.5)) is int
    assert curve([0.5]).shape == (1,)
    assert curve(np.empty((2, 0))).shape == curve.quantile(np.empty((2, 0))).shape == (2, 0)


def test_the_noise_at_a_point_is_known_before_it_is_asked_for():
    curve = PointwiseCDF(simulated(), GRID)
    points = GRID.thresholds[[3, 40, 41]]
    expected = curve.noise_at(points)
    assert curve.asked.size == 1
    curve(points)
    assert curve.noise_deviation[:3].tolist() == expected.tolist()
    assert expected.min() > 0.0
    assert curve.noise_at([GRID.thresholds[0] - 1, GRID.thresholds[-1]]).tolist() == [0.0, 0.0]


def test_one_cell_is_known_before_anything_is_asked():
    watched = Watched(SimulatedSum([5], DistributedNoise(1.0, clients=5)))
    curve = PointwiseCDF(watched)
    assert curve.n == curve.counts_at(1.0) == 5
    assert curve.quantile(0.3) == 1.0
    assert watched.questions == []


@models
@pytest.mark.parametrize("method", ["linear", "inverted_cdf"])
@pytest.mark.parametrize("integers", [None, True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_quantiles_are_those_of_the_whole_raw_curve(trust, method, integers, seed):
    grids = [
        GRID,
        dp.Grid(np.arange(1.0, SIZE + 1)),
        dp.Grid(np.cumsum(RNG(5).choice([0.25, 0.5, 3.0], SIZE)) - 20.3),
    ]
    p = np.array([[0.0, 1.0, 0.5], [0.999, 0.001, 0.25]])
    for grid in grids:
        curve = PointwiseCDF(simulated(trust, seed=seed), grid, integers=integers)
        quantiles = curve.quantile(p, method=method)
        whole = PointwiseCDF(simulated(trust, seed=seed), grid, integers=integers)
        whole(grid.thresholds)
        cdf = whole.to_cdf()
        assert (trust is NOISY) <= (not cdf.is_monotone)
        np.testing.assert_array_equal(quantiles, cdf.quantile(p, method=method))
        np.testing.assert_array_equal(curve.quantile(p, method=method), quantiles)


def test_a_quantile_takes_log2_n_sums_and_many_take_no_more():
    watched = Watched(simulated(counts=np.full(2**12, 1), trust=DistributedNoise(9, clients=2**12)))
    curve = PointwiseCDF(watched)
    curve.quantile(0.3)
    assert len(watched.questions) == 12
    assert all(len(question) == 2 for question in watched.questions)
    curve.quantile(np.linspace(0, 1, 101))
    assert len(watched.questions) == 12 + 11  # the middle was known
    assert max(map(len, watched.questions)) <= 102
    assert curve.asked.size < 700


def test_binary_search_ends_where_the_curve_crosses_from_below_though_it_is_not_monotone():
    curve = PointwiseCDF(simulated(trust=DistributedNoise(0.05, clients=N)))
    p = np.linspace(0.01, 0.99, 99)
    cells = curve.quantile(p, method="inverted_cdf")
    assert np.all(curve(cells) >= p)
    assert np.all(curve(cells - 1) < p)
    curve(np.arange(1, SIZE + 1))
    assert not curve.to_cdf().is_monotone


@models
def test_deviation_guarantee_and_mechanism_are_those_of_the_trust_model(trust):
    curve = PointwiseCDF(simulated(trust), GRID)
    curve([0.5, 0.25])
    assert curve.asked.tolist() == [0.25, 0.5, 1.0]
    assert curve.privacy == dp.Privacy(trust.privacy.epsilon, simulated=True)
    assert curve.mechanism["name"] == trust.describe()["name"]
    deviation = curve.noise_deviation
    if trust is TRUSTS[-1]:
        assert deviation.tolist() == [0.0, 0.0, 0.0]
        return
    count = N if trust is NOISY else 3
    whole = prefix_deviation(trust.tree(SIZE), trust.shares(SIZE), count)
    np.testing.assert_array_equal(deviation, whole[[24, 49, 99]])
    np.testing.assert_array_equal(curve.to_cdf().noise_deviation, deviation)
    one_share = prefix_deviation(trust.tree(SIZE), trust.shares(SIZE))
    np.testing.assert_allclose(whole, np.sqrt(count) * one_share)


def test_what_reports_is_told():
    curve = PointwiseCDF(simulated(DistributedNoise(1.0, clients=500, dropout=0.5)), GRID)
    assert curve.mechanism["reporting"] == curve.n == N
    assert curve.mechanism["required"] == 250


def test_what_was_asked_is_a_curve_for_all_that_curves_are_for():
    curve = PointwiseCDF(simulated(), GRID)
    curve.quantile([0.25, 0.5, 0.75])
    cdf = curve.to_cdf()
    assert cdf.grid.size == curve.asked.size < 25
    assert cdf.isotonic().is_monotone
    again = dp.CDF.from_json(cdf.to_json())
    np.testing.assert_array_equal(again.counts, curve.counts_at(curve.asked))
    assert again.privacy.simulated


@pytest.mark.parametrize("trust", TRUSTS[:2])
def test_two_curves_of_one_sum_have_one_noise(trust):
    def asked(of):
        curve = PointwiseCDF(of, GRID)
        curve([0.25, 0.5])
        return curve.to_cdf()

    one, other = SimulatedSum(COUNTS, trust), SimulatedSum(COUNTS, trust)
    with pytest.raises(ParameterError, match="a release of its own"):
        dp.average([asked(one), asked(one)])
    assert dp.average([asked(one), asked(other)]).n == N


def test_reprs_fit_a_line_and_tell_no_share():
    curve = PointwiseCDF(simulated(), GRID)
    curve(0.5)
    assert repr(curve) == f"<PointwiseCDF, 2 of 100 thresholds asked, n = 400, {curve.privacy}>"
    client = PointwiseClient(SecureAggregation(), 20, 7)
    assert repr(client) == "<PointwiseClient of 20 cells>"
    assert repr(SharedVectors([client])) == "<SharedVectors of 1 client, 20 cells>"
    assert repr(simulated()) == "<SimulatedSum of 400 clients, 100 cells>"
    servers = settled(FUNCTIONS, [1, 2, 3])
    assert repr(FunctionServers(servers)) == "<FunctionServers of 3 clients, 20 cells>"
    assert repr(servers[0].answer([3, 4])) == "<Answer at 2 cells, about 3 reports>"


def test_releases_are_not_simulated_and_studies_are():
    aggregator = SimulatedSum(COUNTS, NOISY)
    curve = PointwiseCDF(aggregator, GRID)
    curve(0.5)
    assert not curve.privacy.simulated
    assert PointwiseCDF(simulated(), GRID).privacy.simulated
    first, second = (SimulatedSum(COUNTS, NOISY).sum(np.arange(SIZE)) for _ in range(2))
    assert np.any(first != second)
    aggregator.simulated = True
    curve(0.25)
    aggregator.simulated = False
    assert curve.privacy.simulated  # one simulated answer marks all later ones


class Wrong(Watched):
    """A sum that goes wrong when it is told to."""

    change = staticmethod(lambda sums: sums)

    def sum(self, cells):
        return self.change(super().sum(cells))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda sums: sums - (np.arange(sums.size) == sums.size - 1), RoundError),
        (lambda sums: sums + 1, RoundError),
        (lambda sums: sums[:-1], ParameterError),
        (lambda sums: sums.astype(float), DtypeError),
        (lambda sums: sums.view(np.uint64), DtypeError),
        (lambda sums: sums.tolist(), DtypeError),
    ],
)
def test_nothing_is_kept_of_a_sum_that_is_wrong(change, error):
    wrong = Wrong(simulated())
    curve = PointwiseCDF(wrong, GRID)
    before = curve(0.5)
    wrong.change = change
    with pytest.raises(error):
        curve([0.25, 0.75])
    with pytest.raises(error):
        curve.quantile(0.1)
    assert curve.asked.tolist() == [0.5, 1.0]
    assert curve(0.5) == before
    wrong.change = Wrong.change
    assert curve([0.25, 0.75]).shape == (2,)


def test_another_number_of_clients_is_refused():
    watched = Watched(simulated())
    curve = PointwiseCDF(watched, GRID)
    watched.clients = N - 1
    with pytest.raises(RoundError, match="400 clients"):
        curve(0.5)
    assert curve.asked.tolist() == [1.0]


def outside_with(trust):
    watched = Watched(simulated())
    watched.trust = trust
    return PointwiseCDF(watched, GRID)


@pytest.mark.parametrize(
    ("trust", "wanted"),
    [
        (DistributedNoise(1.0, clients=500, dropout=0.1), "450 to 500"),
        (DistributedNoise(1.0, clients=300), "300 to 300"),
    ],
)
def test_too_few_and_too_many_clients_are_refused(trust, wanted):
    clients = [PointwiseClient(trust, SIZE, 0) for _ in range(449)]
    for use in (
        lambda: SimulatedSum(COUNTS, trust),
        lambda: outside_with(trust),
        lambda: SharedVectors(clients),
    ):
        with pytest.raises(RoundError, match=wanted):
            use()


@pytest.mark.parametrize("records", [None, 2])
def test_clients_with_several_records_are_refused_wherever_they_are_added_up(records):
    several = DistributedNoise(1.0, clients=N, records=records)
    for use in (
        lambda: SimulatedSum(COUNTS, several),
        lambda: PointwiseClient(several, SIZE, 3),
        lambda: outside_with(several),
    ):
        with pytest.raises(ParameterError, match="trust"):
            use()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: PointwiseClient(NOISY, SIZE, 100), ParameterError, "cell .*got 'another'"),
        (lambda: PointwiseClient(NOISY, SIZE, 4.25), DtypeError, "cell .*got a float"),
        (lambda: PointwiseClient(NOISY, SIZE, 4, bytes(32), RNG(1)), ParameterError, "rng"),
        (lambda: PointwiseClient(NOISY, SIZE, 4, b"abc"), ParameterError, "key .*got 3"),
        (lambda: PointwiseClient(dp.trust.Local(1.0, N), SIZE, 4), DtypeError, "trust"),
        (lambda: simulated().sum([-1]), ParameterError, "cells"),
        (lambda: simulated().sum([SIZE]), ParameterError, "cells"),
        (lambda: SimulatedSum(np.zeros(4, int), NOISY), ParameterError, "counts"),
        (lambda: SimulatedSum(COUNTS, dp.trust.Central(1.0)), DtypeError, "trust"),
        (lambda: PointwiseCDF(COUNTS, GRID), DtypeError, "aggregator"),
        (lambda: PointwiseCDF(SimulatedSum, GRID), DtypeError, "aggregator"),
        (lambda: PointwiseCDF(simulated(), dp.Grid.uniform(0, 1, 99)), ParameterError, "grid"),
        (lambda: PointwiseCDF(simulated(), GRID).quantile(1.5), ParameterError, "^p "),
    ],
)
def test_bad_arguments_are_refused_and_records_are_not_quoted(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_threads_that_ask_at_once_are_told_the_same():
    counts = RNG(5).integers(0, 9, SIZE)
    alone = PointwiseCDF(SimulatedSum(counts, SecureAggregation()), GRID)(GRID.thresholds)
    curve = PointwiseCDF(SimulatedSum(counts, SecureAggregation()), GRID)
    asked = [GRID.thresholds[RNG(i).permutation(SIZE)] for i in range(8)]

    def ask(points):
        return [float(curve(point)) for point in points]

    with ThreadPoolExecutor(8) as pool:
        for points, told in zip(asked, pool.map(ask, asked), strict=True):
            assert told == alone[np.searchsorted(GRID.thresholds, points)].tolist()


@pytest.mark.parametrize("method", ["linear", "inverted_cdf"])
def test_a_quantile_in_a_wide_first_cell_is_told(method):
    zeros = np.append(400, np.full(59, 10))  # whole numbers, of which many are 0
    curve = PointwiseCDF(simulated(SecureAggregation(), zeros), dp.Grid.uniform(0, 60, 60))
    with pytest.warns(dp.DpcoreWarning, match=r"quantile at 0.25 .*Grid.integers\(0, 60\)"):
        assert 0 < curve.quantile([0.25, 0.9], method=method)[0] <= 1
    whole = simulated(SecureAggregation(), np.append(400, np.full(60, 10)))
    assert PointwiseCDF(whole, dp.Grid.integers(0, 60)).quantile(0.25) == 0


def test_a_quantile_at_an_end_of_the_grid_is_told():
    curve = PointwiseCDF(simulated(SecureAggregation(), np.append(np.zeros(99, int), 400)), GRID)
    with pytest.warns(dp.DpcoreWarning, match="in the last cell"):
        curve.quantile(0.5)


@pytest.mark.parametrize("budget", [{"rho": 1e-14}, {"epsilon": 1e-6, "delta": 1e-9}, {"rho": 0.5}])
def test_gaussian_noise_is_refused_before_the_charge_however_large_it_is(budget):
    trust = DistributedNoise(clients=N, **budget)
    with dp.Budget(rho=1.0) as watching, pytest.raises(ParameterError, match="epsilon alone"):
        SimulatedSum(COUNTS, trust)
    assert watching.log == ()
