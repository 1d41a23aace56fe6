"""The parameters of secure aggregation in the example for Flower, which are plain arithmetic."""

from __future__ import annotations

import importlib
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from dpcore.trust import Client, DistributedNoise, Local, Protocol

ROOT = Path(__file__).parents[2]
CELLS = 64
CLIENTS = [2, 31, 32, 33, 100, 1000, 10**6]
KEYS = "flwr.common.secure_aggregation.secaggplus_constants"


@pytest.fixture(scope="module")
def exact():
    """The modules. They ask Flower for names only, so these stand in for Flower here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples" / "flower"))
        parts = KEYS.split(".")
        for end in range(1, len(parts) + 1):
            name = ".".join(parts[:end])
            patch.setitem(sys.modules, name, ModuleType(name))
        patch.setattr(sys.modules[KEYS], "Key", SimpleNamespace(), raising=False)
        found = importlib.import_module("private_curves.exact_sums")
        most_noise = importlib.import_module("private_curves.room").most_noise
        yield SimpleNamespace(
            ExactSums=found.ExactSums, failure=found.failure, most_noise=most_noise
        )
    for name in [each for each in sys.modules if each.split(".")[0] == "private_curves"]:
        del sys.modules[name]


def protocol(clients, dropout=0.2, epsilon=1.0):
    trust = DistributedNoise(epsilon, clients, dropout, records=None)
    return Protocol(trust, CELLS, bytes(16))


@pytest.mark.parametrize("clients", CLIENTS)
def test_nothing_wraps_around_and_the_range_is_the_largest(exact, clients):
    sums = exact.ExactSums.of(protocol(clients), 1000)
    assert sums.range == 2 * sums.bound
    assert sums.range.bit_count() == 1
    assert clients * sums.range < sums.modulus == 2**32
    assert sums.range <= 2**30
    assert sums.range == 2**30 or clients * 2 * sums.range >= sums.modulus


@pytest.mark.parametrize("clients", CLIENTS)
@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.2, 0.3])
def test_neighbours_are_odd_or_all_and_a_threshold_is_a_majority(exact, clients, dropout):
    sums = exact.ExactSums.of(protocol(clients, dropout), 1000)
    assert (sums.clients, sums.required) == (clients, protocol(clients, dropout).trust.required)
    assert sums.neighbours == clients or sums.neighbours % 2 == 1
    assert clients / 2 < sums.required
    assert sums.neighbours / 2 < sums.threshold <= sums.neighbours
    if sums.neighbours == clients:  # then clients themselves refuse to unmask too few
        assert sums.threshold == sums.required
    else:
        assert 31 <= sums.neighbours < clients
        assert sums.threshold == (sums.neighbours + 1) // 2
        assert exact.failure(clients, clients - sums.required, sums.neighbours) <= 1e-4


def test_up_to_31_clients_are_all_neighbours(exact):
    found = [exact.ExactSums.of(protocol(each), 1000).neighbours for each in range(2, 33)]
    assert found == [*range(2, 32), 31]


def failed(clients, dropped, neighbours, rounds, seed):
    """Return the part of simulated rounds in which some client's keys are lost.

    The clients sit on a ring in random order, and a client's neighbours are the nearest ones. So
    it is the same to choose at random who drops out.
    """
    left = np.ones((rounds, clients), np.int64)
    left[:, :dropped] = 0
    left = np.random.default_rng(seed).permuted(left, axis=1)
    half = neighbours // 2
    holders = sum(np.roll(left, shift, axis=1) for shift in range(-half, half + 1))
    return np.mean(holders.min(axis=1) < neighbours // 2 + 1)


@pytest.mark.parametrize(
    ("clients", "dropped", "neighbours"), [(100, 20, 15), (100, 20, 21), (60, 20, 31), (40, 8, 9)]
)
def test_the_bound_of_failures_holds_and_is_not_far_off(exact, clients, dropped, neighbours):
    rounds = 20_000
    found = failed(clients, dropped, neighbours, rounds, seed=1)
    bound = exact.failure(clients, dropped, neighbours)
    margin = 5 * np.sqrt(max(found, 1 / rounds) / rounds)
    assert found <= bound + margin
    # Clients near each other share neighbours, so several of them fail at once.
    assert bound / 10 <= found + margin


@pytest.mark.parametrize("clients", [32, 33, 100, 1000])
def test_rounds_with_all_dropouts_that_are_allowed_hardly_ever_fail(exact, clients):
    sums = exact.ExactSums.of(protocol(clients), 1000)
    rounds = 2_000_000 // clients
    found = failed(clients, clients - sums.required, sums.neighbours, rounds, seed=2) * rounds
    mean = 1e-4 * rounds
    assert found <= mean + 5 * np.sqrt(mean) + 1


@pytest.mark.parametrize(("scale", "shares"), [(Fraction(3), 1), (Fraction(11, 2), 4), (20, 80)])
def test_the_tail_of_a_share_is_below_its_bound(scale, shares):
    """P(|share| > t) <= 2 a^t is what ``most_noise`` is made of."""
    drawn = np.empty(400_000, np.int64)
    PolyaShares(scale, shares).fill(drawn, source(np.random.default_rng(3)))
    for t in range(0, int(8 * scale)):
        found = np.mean(np.abs(drawn) > t)
        bound = min(1, 2 * np.exp(-t / float(scale)))
        assert found <= bound + 5 * np.sqrt(bound / drawn.size)


@pytest.mark.parametrize("clients", [2, 5, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_no_share_exceeds_the_bound_of_noise(exact, clients, epsilon):
    this = protocol(clients, epsilon=epsilon)
    scales = [float(share.scale) for share in this.noise if share]
    expected = max(scales) * np.log(2 * this.words * clients * 2.0**128)
    assert expected <= exact.most_noise(this) <= expected + 3
    rngs = [np.random.default_rng([4, each]) for each in range(200)]
    noise = [np.abs(Client(this, rng).vector(np.empty(0, np.int64))).max() for rng in rngs]
    # 200 clients are no 2^128 rounds: all are far below it, and not all are near zero.
    assert 0 < max(noise) < exact.most_noise(this) / 2


@pytest.mark.parametrize("clients", [2, 31, 100])
def test_as_many_records_as_fit_with_the_noise_are_allowed(exact, clients):
    this = protocol(clients)
    most = exact.ExactSums.of(this, 0).bound - exact.most_noise(this)
    assert exact.ExactSums.of(this, most).bound == most + exact.most_noise(this)
    with pytest.raises(ParameterError, match=f"^most_records .*got {most + 1}$"):
        exact.ExactSums.of(this, most + 1)


def test_rounds_that_secure_aggregation_cannot_protect_are_refused(exact):
    with pytest.raises(ParameterError, match=r"^clients .*got 1$"):
        exact.ExactSums.of(protocol(1), 10)
    with pytest.raises(ParameterError, match=r"^dropout .*got 0\.5$"):
        exact.ExactSums.of(protocol(10, 0.5), 10)
    with pytest.raises(ParameterError, match=r"^trust .*local"):
        exact.ExactSums.of(Protocol(Local(4.0, 100), CELLS, bytes(16)), 10)
    with pytest.raises(ParameterError, match=r"^most_records"):
        exact.ExactSums.of(protocol(10**6), 2000)
