"""What releases that are fixed in advance cost together."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore import DtypeError, ParameterError, Privacy
from dpcore.privacy import composed, composition, zcdp_epsilon
from tests.privacy.test_guarantees import ANY, removed, within


@given(st.lists(ANY, min_size=1, max_size=6))
def test_composed_is_no_more_than_the_least_over_all_subsets(guarantees):
    delta = 0.01
    rest = delta - sum(guarantee.delta for guarantee in guarantees)
    joint = composed(guarantees, delta)
    options = []
    if all(guarantee.rho is None for guarantee in guarantees):
        options.append(sum(guarantee.epsilon for guarantee in guarantees))
    pure = [guarantee.epsilon for guarantee in guarantees if guarantee.rho is None]
    known = sum(guarantee.rho for guarantee in guarantees if guarantee.rho is not None)
    for kept in itertools.product([False, True], repeat=len(pure)):
        rho = known + sum(e**2 / 2 for e, keep in zip(pure, kept, strict=True) if not keep)
        basic = sum(e for e, keep in zip(pure, kept, strict=True) if keep)
        if rho > 0:
            options.append(basic + zcdp_epsilon(rho, rest))
    assert joint.epsilon <= min(options) * (1 + 1e-9)  # privacy loss distributions may tell less
    assert joint.delta <= delta


def test_many_small_ones_cost_less_than_their_sum():
    many = 400 * [Privacy(0.01)]
    assert sum(many).epsilon == pytest.approx(4.0)
    joint = composed(many, 1e-6)
    assert 0.85 < joint.epsilon / zcdp_epsilon(0.02, 1e-6) < 0.95
    assert composed([Privacy(1.0), *many], 1e-6).epsilon < 1 + joint.epsilon


def test_relations_and_seeds_are_those_of_all_releases_together():
    assert composed([Privacy(1.0)], 1e-6) == Privacy(1.0)
    assert composed([Privacy(0.5), within(0.5)], 1e-6) == within(1.0)
    assert composed([within(0.5), Privacy(0.5)], 1e-6) == within(1.0)
    for others in ([Privacy(0.01)], 400 * [Privacy(0.01)]):  # added up, and converted
        assert composed([*others, Privacy(0.01, simulated=True)], 1e-6).simulated
        assert not composed(others, 1e-6).simulated


@pytest.mark.parametrize(
    ("guarantees", "kind", "argument"),
    [
        ([], ParameterError, "guarantees"),
        ([1.0], DtypeError, "guarantees"),
        ([Privacy(1.0), removed(1.0)], ParameterError, "guarantees"),
        ([Privacy(1.0, 2e-6)], ParameterError, "delta must be at least 2e-06"),
        ([Privacy(math.inf)], ParameterError, "privacy"),
    ],
)
def test_what_cannot_be_composed(guarantees, kind, argument):
    with pytest.raises(kind, match=f"^{argument}"):
        composed(guarantees, 1e-6)


@pytest.mark.parametrize("sizes", [33, 50, 97])
def test_converting_all_is_tried_however_many_sizes_there_are(sizes):
    releases = [Privacy(0.01 + 1e-5 * i) for i in range(sizes)]
    rho = sum(Fraction(release.epsilon) ** 2 / 2 for release in releases) * 10
    assert composed(10 * releases, 1e-6).epsilon <= zcdp_epsilon(rho, 1e-6) * (1 + 1e-12)


def test_what_is_converted_and_what_is_not_add_up_to_no_less_than_they_are(monkeypatch):
    monkeypatch.setattr(composition, "least_epsilon", lambda *_: math.inf)
    for i in range(1, 30):
        joint = composed([Privacy(rho=i / 7000), Privacy(3.0)], 1e-6)
        parts = Fraction(3) + Fraction(zcdp_epsilon(i / 7000, 1e-6))
        assert parts <= joint.epsilon <= parts * (1 + Fraction(1, 2**50))
