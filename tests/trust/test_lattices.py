"""Lattices of bounded vectors: what is rounded to them, how far, and what neighbours change."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.errors import ParameterError
from dpcore.noise.sources import source
from dpcore.trust import Central, DistributedNoise, vector_sum
from dpcore.trust.functions import Ball, Box, Identity, Polynomials, Simplex, Vector, lattices
from dpcore.trust.functions.bounds import InGroups, Joint
from tests.reference import lattices as naive

RNG = np.random.default_rng
SQUARE = Box([0, -1], [2, 3])
LARGE_OR_TINY = [0.5, 3.0, 1e6, 1e300, np.inf, np.nan, 5e-324]
SETS = {
    "box": (SQUARE, 3, True, naive.box([0, -1], [2, 3], 3, True)),
    "box, 0 in place": (SQUARE, 3, False, naive.box([0, -1], [2, 3], 3, False)),
    "ball, norm 1": (Ball(3, 2.5, norm=1), 3, True, naive.ball(3, 1, 3)),
    "ball, norm 2": (Ball(2, 2.5), 3, True, naive.ball(2, 2, 3)),
    "simplex": (Simplex(3, 2.5), 3, True, naive.simplex(3, 3)),
    "simplex, one number": (Simplex(1, 2.5), 3, True, naive.simplex(1, 3)),
    "groups": (
        InGroups(3, Box(-1, 3)),
        3,
        True,
        naive.groups(3, naive.box([-1], [3], 3, False)),
    ),
    "joint": (
        Joint((InGroups(2, Box(0, 1)), Ball(2, 1.0, norm=1)), (1.0, 0.5)),
        4,
        True,
        naive.joint(naive.groups(2, naive.box([0], [1], 4, False)), naive.ball(2, 1, 2)),
    ),
}


@pytest.mark.parametrize("name", SETS)
def test_lengths_are_those_of_all_vectors_one_by_one(name):
    bound, steps, from_lower, vectors = SETS[name]
    lattice = bound.lattice(steps, from_lower)
    if name == "ball, norm 2":  # upper bounds, since few lengths are reached by integers
        assert np.all(np.array(lattice.longest) >= naive.longest(vectors))
        assert np.all(np.array(lattice.apart) >= naive.apart(vectors))
    else:
        assert tuple(lattice.longest) == naive.longest(vectors)
        assert tuple(lattice.apart) == naive.apart(vectors)
    every = np.array(list(itertools.product(range(-6, 7), repeat=bound.size)))
    inside = [lattice.contains(one[np.newaxis]) for one in every]
    assert set(map(tuple, every[inside].tolist())) == vectors


@pytest.mark.parametrize("name", SETS)
@given(seed=st.integers(0, 2**32), large=st.sampled_from(LARGE_OR_TINY))
def test_whatever_the_values_are_rounded_ones_are_in_the_set(name, seed, large):
    bound, steps, from_lower, vectors = SETS[name]
    rng = RNG(seed)
    values = rng.uniform(-1, 1, (40, bound.size))
    far = rng.random(values.shape) < 0.7
    values[far] = np.sign(values[far]) * large
    lattice = bound.lattice(steps, from_lower)
    rounded = lattice.rounded(values, source(RNG(seed)))
    assert set(map(tuple, rounded.tolist())) <= vectors
    assert lattice.contains(rounded)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("steps", [7, 2**21, 2**30])
def test_a_mean_is_the_value_and_the_variance_at_most_a_quarter(norm, steps):
    one = np.array([0.3, -0.2, 0.111, 0.0])
    for bound in (Box([-1] * 4, [1.0] * 4), Ball(4, 1.0, norm), Simplex(4, 1.0)):
        one = np.abs(one) if isinstance(bound, Simplex) else one
        lattice = bound.lattice(steps, from_lower=True)
        rounded = lattice.rounded(np.tile(one, (40_000, 1)), source(RNG(3)))
        exact = (one - lattice.zeros) / lattice.units
        assert np.all(np.abs(rounded - exact) < 1 + 1e-5)
        assert np.allclose(rounded.mean(axis=0), exact, rtol=0, atol=0.012)
        chance = exact % 1
        assert np.allclose(rounded.var(axis=0), chance * (1 - chance), atol=0.01)
        sums = lattice.values(rounded.sum(axis=0), len(rounded)) / len(rounded)
        assert np.allclose(sums, one, atol=0.012 * lattice.units.max())


def test_whole_values_are_not_rounded():
    lattice = InGroups(3, Box(0, 1)).lattice(2**21, from_lower=True)
    values = np.eye(3)[RNG(1).integers(3, size=100)]
    assert np.array_equal(lattice.rounded(values, source(None)), values * 2**21)


def test_a_vector_that_is_too_long_keeps_its_direction():
    for norm in (1, 2):
        lattice = Ball(2, 5.0, norm).lattice(2**20, from_lower=True)
        rounded = lattice.rounded(np.array([[30.0, -40.0]]), source(RNG(1)))[0] * lattice.units
        assert np.allclose(rounded, np.array([3.0, -4.0]) * (1 if norm == 2 else 5 / 7), atol=1e-4)
        assert np.linalg.norm(rounded, norm) <= 5 + 1e-5


def test_a_stated_change_is_shorter_than_the_diagonal_and_never_longer():
    steps = 2**20
    plain = Box([-1] * 9, [1] * 9, units=[1] * 9).lattice(steps, True)
    shorter = Box([-1] * 9, [1] * 9, units=[1] * 9, change=2.0).lattice(steps, True)
    longer = Box([-1] * 9, [1] * 9, units=[1] * 9, change=50.0).lattice(steps, True)
    assert plain.apart == longer.apart
    assert shorter.apart.squares == pytest.approx((2 * steps + 6) ** 2, rel=1e-6)
    assert shorter.apart.absolute == pytest.approx(6 * steps, rel=1e-4)  # by Cauchy & Schwarz
    stated = Box([-1] * 9, [1] * 9, units=[1] * 9, absolute_change=3.0).lattice(steps, True)
    assert stated.apart.squares == plain.apart.squares
    assert 3 * steps + 18 <= stated.apart.absolute <= (3 * steps + 19) * (1 + 2.0**-26)


@pytest.mark.parametrize("upper", [2.0**30, 2.0**33, 1e12, 1e18, 1e150])
@pytest.mark.parametrize("lower", [0.0, -1.0, -1e150])
def test_a_range_of_many_units_has_all_of_its_steps_or_more_than_any_sum_takes(lower, upper):
    """Integers of 64 bits would wrap around, and the noise would be for a tiny change."""
    for from_lower in (True, False):
        lattice = Box([lower, 0], [upper, 1], units=[1, 1]).lattice(2**30, from_lower)
        assert lattice.apart.absolute >= lattice.largest >= min((upper - 1) * 2**30, 2**61)
    far = Box(lower, upper, units=[1], change=1e308, absolute_change=1e308)
    assert far.lattice(2**30, True).apart == Box(lower, upper, units=[1]).lattice(2**30, True).apart


def test_sums_with_such_a_range_have_noise_or_are_refused():
    refused = []
    for units in 2.0 ** np.arange(0, 50, 7):
        of = Vector(Box([0, 0], [units, 1], units=[1, 1]))
        trust = DistributedNoise(1.0, clients=3)
        try:
            noise = trust.sum_noise(of)
        except ParameterError as error:
            refused.append(units)
            assert "records" in str(error)  # noqa: PT017
        else:
            assert np.all(noise.deviation(3, is_whole=True) >= units)
    assert 0 < len(refused) < 7


# --- bounds near the ends of doubles


LARGE, SMALL = 2.0**500, 2.0**-500
OF_A_LENGTH = {
    "box": lambda length: Vector(Box([-length], [length])),
    "from 0": lambda length: Identity(0, length),
    "ball": lambda length: Vector(Ball(1, length)),
    "simplex": lambda length: Vector(Simplex(1, length)),
}


@pytest.mark.parametrize("name", OF_A_LENGTH)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove-one"])
def test_sums_within_the_largest_and_the_smallest_bounds_are_doubles(name, neighbours):
    for length in (LARGE, 1.0, SMALL):
        values = RNG(1).random(1000) * length
        how = {"neighbours": neighbours, "rng": RNG(2)}
        released = vector_sum(values, OF_A_LENGTH[name](length), Central(1000.0), **how)
        assert released.total[0] / values.sum() == pytest.approx(1.0, rel=1e-4)
        assert 0.0 < released.deviation[0] / length < 0.1


@pytest.mark.parametrize("name", [*OF_A_LENGTH, "polynomials"])
@pytest.mark.parametrize("length", [1.7e308, 1e200, 1e-200, 5e-324])
def test_other_bounds_are_refused_before_a_budget_is_charged(name, length):
    of = (OF_A_LENGTH | {"polynomials": lambda most: Polynomials(0, most, 3)})[name]
    with dp.Budget(epsilon=1.0) as budget, pytest.raises(dp.ParameterError, match="must be"):
        vector_sum([length], of(length), Central(1.0))
    assert budget.log == ()


@pytest.mark.parametrize("within", [Ball(2, 2.0), Ball(2, 0.5, norm=1), Simplex(2, 0.3)], ids=repr)
def test_no_value_is_an_error_after_the_charge_where_underflow_is_one(within):
    values = list(itertools.product([5e-324, 1e-310, 0.7, 1e308, -np.inf], repeat=2))
    with np.errstate(all="raise"):
        released = vector_sum(values, Vector(within), Central(1.0))
    assert released.n == 25


@pytest.mark.parametrize("bound", [Ball(16, 1.0, norm=1), Simplex(16, 1.0)], ids=repr)
def test_the_layout_of_records_changes_no_number(bound, monkeypatch):
    """The type of a value in one record may decide the layout of all, which may round others."""
    monkeypatch.setattr(lattices, "_within", lambda fine, steps, stream: fine)
    lattice, values = bound.lattice(2**30, True), RNG(1).random((2000, 16))
    rows, columns = (
        lattice.rounded(given, source(None)) for given in (values, np.asfortranarray(values))
    )
    assert np.array_equal(rows, columns)
    turned = [each / each.sum(axis=1, keepdims=True) for each in (values, values.T.copy().T)]
    assert not np.array_equal(*turned)


def test_records_that_are_elsewhere_are_not_fetched():
    array, function = pytest.importorskip("dask.array").ones(9), Identity(0, 1)
    with pytest.raises(dp.DtypeError, match="records must be in memory"):
        dp.trust.vector_sum(array, function, dp.trust.Central(1.0))
