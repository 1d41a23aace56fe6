"""Releases of secret samples: exact laws, and how the result is rounded."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import DtypeError, ParameterError, Privacy
from dpcore.privacy import subsampled


def law_of_sample(records, sample, odds):
    """The law of a count of ones of a sample, each of whose records is told with these odds."""
    chances, ways = {}, list(combinations(range(len(records)), sample))
    for drawn in ways:
        for said in product((0, 1), repeat=sample):
            chance = Fraction(1, len(ways))
            for at, bit in zip(drawn, said, strict=True):
                chance *= (odds if bit == records[at] else 1) / (odds + 1)
            chances[sum(said)] = chances.get(sum(said), 0) + chance
    return chances


def exact_epsilon(count, sample, odds):
    """The largest log ratio for neighbours with so many records."""
    worst = Fraction(1)
    for rest in range(count):
        others = (1,) * rest + (0,) * (count - 1 - rest)
        first, second = (law_of_sample((one, *others), sample, odds) for one in (0, 1))
        for key in first:
            worst = max(worst, first[key] / second[key], second[key] / first[key])
    return math.log(worst)


@pytest.mark.parametrize(("count", "sample"), [(2, 1), (5, 1), (4, 2), (5, 3), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_exact_laws_keep_it(count, sample, epsilon):
    odds = Fraction(math.exp(epsilon))
    stated = subsampled(Privacy(epsilon), sample, count).epsilon
    exact = exact_epsilon(count, sample, odds)
    assert exact <= stated * (1 + 1e-12)
    if sample == 1:  # the bound is attained
        assert exact == pytest.approx(stated)
        assert exact_epsilon(count, sample, Fraction(math.exp(1.2 * epsilon))) > 1.05 * stated


@given(st.floats(1e-9, 1e6), st.integers(1, 2**62), st.integers(1, 2**62))
def test_it_is_rounded_up_by_little(epsilon, first, second):
    sample, records = sorted((first, second))
    found = subsampled(Privacy(epsilon, 1e-7), sample, records)
    with mpmath.workdps(60):
        exact = mpmath.log1p(mpmath.mpf(sample) / records * mpmath.expm1(mpmath.mpf(epsilon)))
        assert exact * (1 - mpmath.mpf(10) ** -50) <= found.epsilon  # 60 digits are not all
        assert found.epsilon <= exact * (1 + 1e-11) + 1e-11 * epsilon * (epsilon > 30)
    assert found.delta >= Fraction(sample, records) * Fraction(1e-7)
    assert found.delta <= 1e-7


def test_what_it_keeps():
    clients = Privacy(1.0, 1e-6, neighbours="replace-client", simulated=True, rho=0.1)
    found = subsampled(clients, 10, 100)
    assert (found.neighbours, found.simulated, found.rho) == ("replace-client", True, None)
    assert subsampled(clients, 100, 100) is clients
    assert subsampled(Privacy(math.inf), 1, 100) == Privacy(math.inf)
    assert subsampled(Privacy(0.0), 1, 100) == Privacy(0.0)


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ((1.0, 1, 2), DtypeError, "privacy"),
        ((Privacy(rho=0.5), 1, 2), ParameterError, "privacy"),
        ((Privacy(1.0, neighbours="add-or-remove-one"), 1, 2), ParameterError, "privacy"),
        ((Privacy(1.0, neighbours="replace-one-within-group"), 1, 2), ParameterError, "privacy"),
        ((Privacy(1.0), 3, 2), ParameterError, "sample"),
        ((Privacy(1.0), 0, 2), ParameterError, "sample"),
        ((Privacy(1.0), 1, 2.5), DtypeError, "records"),
    ],
)
def test_bad_arguments_are_named(arguments, error, named):
    with pytest.raises(error, match=named):
        subsampled(*arguments)
