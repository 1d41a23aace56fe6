"""Declared functions of records: values, bounds, what they refuse, and their way over the wire."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DpcoreError, DtypeError, FormatError, MissingValueError, ParameterError
from dpcore.noise.sources import source
from dpcore.trust import Central, Client, Protocol, SecureAggregation
from dpcore.trust.functions import (
    Ball,
    Box,
    Coarse,
    Function,
    Groups,
    Identity,
    One,
    Polynomials,
    Product,
    RegressionSums,
    ResidualSums,
    Simplex,
    Step,
    Together,
    Vector,
    function_from,
)

RNG = np.random.default_rng
X, Y = Identity(-2, 3), Identity(0, 10, at=1)
FUNCTIONS = [
    One(),
    Step(0.5),
    X,
    Groups([-np.inf, 0, 1, np.inf], closed="right"),
    Polynomials(-2, 3, degree=5),
    Polynomials(-2, 3, degree=4, basis="powers", at=1),
    Vector(Ball(2, 1.5, norm=1)),
    Vector(Simplex(2, 1.5)),
    ResidualSums([-1, 0, np.inf], reach=3),
    Vector(Box([0, -1], [1, 1], units=[1, 3], change=1.5)),
    Vector(Box([0, -1], [1, 1], units=[1, 3], absolute_change=1.5)),
    RegressionSums((-2, 3), (0, 10)),
    RegressionSums(([-2], [3]), (0, 10), fit_intercept=False),
    Product(X, Y),
    Product(Groups([0, 1, 2]), Y),
    Product(Groups([0, 1, 2]), Together([One(), Y])),
    Product(Product(Groups([0, 1]), X), X),
    Together([X, Y, Product(X, Y)], precision=[1, 2, 0.5]),
    Coarse(Product(X, Y), 8),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_all_values_are_within_the_bound(function):
    records = np.concatenate([RNG(1).normal(0, 4, (300, 2)), [[np.inf, -np.inf], [0, 0], [3, 10]]])
    values = function.values(function.records(records))
    assert values.shape == (303, function.size)
    lattice = function.bound.lattice(2**25, from_lower=True)
    rounded = lattice.rounded(values, source(RNG(1)))
    assert lattice.contains(rounded)
    if not isinstance(function, Vector):  # vectors are clipped by their lattice
        back = rounded * lattice.units + lattice.zeros
        assert np.allclose(back, values, atol=1.1 * lattice.units.max())
    if function.is_whole:
        assert np.array_equal(rounded * lattice.units + lattice.zeros, values)


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_a_description_makes_the_function_again(function):
    described = json.loads(json.dumps(function.describe(), allow_nan=False))
    assert function_from(described) == function
    assert hash(function_from(described)) == hash(function)


def test_values_are_what_their_names_say():
    records = np.array([[0.25, 4.0], [1.0, 2.0], [5.0, 1.0]])
    assert Step(1.0).values(records).tolist() == [[1], [1], [0]]
    assert Groups([0, 1, 2]).values(records).tolist() == [[1, 0], [0, 1], [0, 0]]
    assert Groups([0, 1, 2], closed="right").values(records).tolist() == [[1, 0], [1, 0], [0, 0]]
    assert Product(X, Y).values(records).tolist() == [[1.0], [2.0], [3.0]]
    grouped = Product(Groups([0, 1, 2]), Together([One(), Y])).values(records)
    assert grouped.tolist() == [[1, 4, 0, 0], [0, 0, 1, 2], [0, 0, 0, 0]]
    x = (records[:, 0].clip(-2, 3) - 0.5) / 2.5
    powers = Polynomials(-2, 3, 3, "powers").values(records)
    assert np.allclose(powers, np.stack([x, x**2, x**3], axis=1))
    legendre = Polynomials(-2, 3, 2).values(records)
    assert np.allclose(legendre, np.stack([x, 1.5 * x**2 - 0.5], axis=1))


@dataclass(frozen=True, slots=True)
class Square(Function):
    """A stranger's function."""

    name = "square, for a test"
    most: float

    @property
    def bound(self):
        return Box(0.0, self.most)

    @property
    def numbers(self):
        return 1

    def values(self, records):
        return records[:, :1] ** 2


def test_a_function_of_ones_own_goes_over_the_wire_by_its_name():
    assert function_from(Square(4.0).describe()) == Square(4.0)
    with pytest.raises(ParameterError, match="is the name of Square"):

        @dataclass(frozen=True)
        class Other(Square):
            name = "square, for a test"


@dataclass(frozen=True)
class Shaped(Function):
    """A stranger's function of two values, which may return another shape."""

    name = "of a shape, for a test"
    rows: int
    columns: int

    @property
    def bound(self):
        return Ball(2, 1.0)

    @property
    def numbers(self):
        return 1

    def values(self, records):
        return np.ones((self.rows or len(records), self.columns))


@pytest.mark.parametrize("shape", [(0, 1), (0, 3), (3, 2)])
def test_values_of_another_shape_are_refused_as_they_may_be_beyond_the_bound(shape):
    function = Shaped(*shape)
    budget, said = dp.Budget(epsilon=1.0), r"function must return \(n, 2\) values"
    with budget, pytest.raises(ParameterError, match=said):
        dp.trust.vector_sum(np.zeros(9), function, Central(1.0))
    client = Client(Protocol.of_function(SecureAggregation(), function, bytes(16)))
    with pytest.raises(ParameterError, match=said):
        client.report(0.5)
    assert budget.log == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Identity(1, 1),
        lambda: Identity(0, np.inf),
        lambda: Identity(0, "1"),
        lambda: Identity(0, 1, at=-1),
        lambda: Step(np.nan),
        lambda: Groups([1]),
        lambda: Groups([1, 1]),
        lambda: Groups([0, np.nan, 1]),
        lambda: Groups([0, 1], closed="both"),
        lambda: Polynomials(0, 1, 0),
        lambda: Polynomials(0, 1, 2, basis="moments"),
        lambda: Vector(3),
        lambda: Ball(0, 1.0),
        lambda: Ball(2, 0.0),
        lambda: Ball(2, 1.0, norm=3),
        lambda: Simplex(0, 1.0),
        lambda: Simplex(2, 0.0),
        lambda: Box([0, 1], [1]),
        lambda: Box([0, 1], [1, 1]),
        lambda: Box([0], [1], units=[0]),
        lambda: Box([0], [1], units=[1, 2]),
        lambda: Box([0], [1], change=1.0),
        lambda: Box([0], [1], absolute_change=1.0),
        lambda: Box([0], [1], units=[1], absolute_change=0.0),
        lambda: Product(X, 3),
        lambda: Product(X, Groups([0, 1])),
        lambda: Product(X, Vector(Ball(2, 1.0))),
        lambda: Coarse(X, 31),
        lambda: Coarse(3, 8),
        lambda: Together([]),
        lambda: Together([X, "y"]),
        lambda: Together([X, Y], precision=[1]),
        lambda: Together([X, Y], precision=[1, 0]),
    ],
)
def test_what_is_no_bound_or_function_is_refused(make):
    with pytest.raises((DtypeError, ParameterError)):
        make()


@pytest.mark.parametrize(
    "description",
    [
        *({}, {"name": "none"}, [], {"name": ["step"]}, {"name": 10**5000}, {"name": "step"}),
        {"name": "step", "threshold": 1, "code": "x"},
        {"name": "step", "threshold": {"name": "step"}},
        {"name": "vector", "within": {"bound": ["Ball"]}},
        {"name": "vector", "within": {"bound": "Ball", "radius": 1.0}},
        {"name": "vector", "within": {"bound": "InGroups", "groups": 2, "inner": 5}},
        {"name": "vector", "within": {"bound": "InGroups", "groups": "x", "inner": None}},
        {"name": "vector", "within": {"bound": "Joint", "parts": [3], "precision": [1.0]}},
        {"name": "together", "parts": [{"name": "one"}], "precision": [1e300]},
        {"name": "identity", "lower": 0.0, "upper": 5e-324},
        {"name": "identity", "lower": -1e308, "upper": 0.0},
    ],
)
def test_descriptions_of_other_functions_are_refused(description):
    with pytest.raises((FormatError, DtypeError, ParameterError)):
        function_from(description)


def test_numbers_that_have_no_inverse_are_refused_before_a_sum_is_charged():
    for make in (
        lambda number: Identity(0, number),
        lambda number: Vector(Ball(2, number)),
        lambda number: Vector(Simplex(2, number)),
        lambda number: Vector(Box([0], [1], units=[number])),
    ):
        for number in (5e-324, 1e-151, 1e151, 1e308):
            with pytest.raises(ParameterError):
                make(number)
        assert make(1e-150).size + make(1e150).size > 1


def test_records_are_checked_and_no_message_quotes_one():
    for wrong in ([["a"]], [[1.0]], np.zeros((2, 2, 2)), [[12345.0, np.nan]], 12345.0, None):
        with pytest.raises((DpcoreError, MissingValueError)) as caught:
            Product(X, Y).records(wrong)
        assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "double"),
    [(2**64, 2.0**64), (10**400, np.inf), (Fraction(3, 2), 1.5), (Decimal("0.5"), 0.5)],
    ids=["integer", "huge", "fraction", "decimal"],
)
def test_every_real_number_is_taken_so_that_no_refusal_tells_of_a_value(value, double):
    for given in ([0.5, 1, value], np.array([0.5, 1, value], object)):
        assert X.records(given).tolist() == [[0.5], [1.0], [double]]
    assert Y.records([[0, 1], [2, value]]).tolist() == [[0.0, 1.0], [2.0, double]]
    protocol = Protocol.of_function(Central(1.0), X, bytes(16))
    assert Client(protocol, RNG(1)).report(value)
    for missing in ([1, None], [Decimal("sNaN")], [value, np.nan]):
        with pytest.raises(MissingValueError):
            X.records(missing)
    with pytest.raises(DtypeError, match="objects of type str"):
        X.records([1, "a", value])
