"""Reports behind a shuffler: exact laws of a few, sums over many, and the inverse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dpcore import DtypeError, ParameterError, Privacy
from dpcore.privacy import local_epsilon, shuffled
from dpcore.privacy.shuffling import blanket_of, central_delta, mixed, of_two_values


def separation(first, second, ratio):
    """The least delta of two laws, in both orders."""
    keys = first.keys() | second.keys()
    pairs = [(first.get(key, 0), second.get(key, 0)) for key in keys]
    return max(
        sum(max(0, one - ratio * other) for one, other in pairs),
        sum(max(0, other - ratio * one) for one, other in pairs),
    )


def mixture(reports):
    """The law of the shuffled reports: how many there are of each kind."""
    law = {(0,) * len(reports[0]): 1}
    for chances in reports:
        grown = {}
        for counts, before in law.items():
            for at, chance in enumerate(chances):
                after = (*counts[:at], counts[at] + 1, *counts[at + 1 :])
                grown[after] = grown.get(after, 0) + before * chance
        law = grown
    return law


def worst(randomizer, clients, ratio):
    """The least delta of all neighbours, for rows of chances, one for each input."""
    inputs = range(len(randomizer))
    others = combinations_with_replacement(inputs, clients - 1)
    return max(
        separation(
            mixture([randomizer[at] for at in (one, *rest)]),
            mixture([randomizer[at] for at in (other, *rest)]),
            ratio,
        )
        for rest in others
        for one, other in permutations(inputs, 2)
        if one < other
    )


def clones(clients, local, chance, epsilon):
    """The delta of the theorem of Feldman, McMillan & Talwar, summed over all clones."""
    own = math.exp(local) / (1 + math.exp(local))
    first, second = {}, {}
    for many in range(clients):
        for ones in range(many + 1):
            before = binom.pmf(many, clients - 1, chance) * binom.pmf(ones, many, 0.5)
            for one, likely in ((1, own), (0, 1 - own)):
                key = (ones + one, many - ones + 1 - one)
                first[key] = first.get(key, 0.0) + before * likely
                second[key] = second.get(key, 0.0) + before * (1 - likely)
    return separation(first, second, math.exp(epsilon))


@pytest.mark.parametrize("clients", [1, 2, 8])
@pytest.mark.parametrize("local", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("part", [0.0, 0.2, 0.7])
def test_it_bounds_the_theorem_for_few_clients(clients, local, part):
    exact = clones(clients, local, math.exp(-local), part * local)
    found = central_delta([(clients, blanket_of(local))], part * local)
    assert exact <= found
    if clients == 8 and part < 0.5:
        assert found <= 1.1 * exact


@pytest.mark.parametrize(("local", "epsilon"), [(1.0, 0.3), (2.0, 0.8), (3.0, 1.2)])
def test_it_is_the_theorem_for_more_clients(local, epsilon):
    exact = clones(100, local, math.exp(-local), epsilon)
    assert exact <= central_delta([(100, blanket_of(local))], epsilon) <= 1.02 * exact


@pytest.mark.parametrize("clients", [10**4, 10**6])
@pytest.mark.parametrize("local", [2.0, 4.0])
def test_it_is_the_theorem_for_many_clients(clients, local):
    """A number of clones has a closed form; numbers of them are summed where they are likely."""
    epsilon, delta = shuffled(local, clients, 1e-6).epsilon, 1e-6
    own, central = math.exp(local), math.exp(epsilon)
    spread = math.sqrt(clients * math.exp(-local))
    middle = clients * math.exp(-local)
    many = np.arange(max(0, int(middle - 9 * spread)), int(middle + 9 * spread))
    # the first law is more than exp(epsilon) times as likely from so many ones on, of many + 1
    share = (own * central - 1) / ((own - 1) * (central + 1))
    least = np.floor(share * (many + 1)) + 1
    p, q = own / (1 + own), 1 / (1 + own)
    above, from_one = binom.sf(least - 1, many, 0.5), binom.sf(least - 2, many, 0.5)
    exact = (p * from_one + q * above) - central * (q * from_one + p * above)
    found = float(binom.pmf(many, clients - 1, math.exp(-local)) @ np.maximum(exact, 0.0))
    assert 0.97 * delta < found <= delta


@pytest.mark.parametrize(("values", "clients"), [(2, 2), (2, 5), (2, 8), (3, 2), (3, 4), (5, 3)])
@pytest.mark.parametrize("local", [0.5, 1.5, 3.0])
def test_randomised_response_keeps_it(values, clients, local):
    odds = Fraction(math.exp(local))
    chance = 1 / (odds + values - 1)
    law = [[chance * (odds if at == own else 1) for at in range(values)] for own in range(values)]
    for epsilon in (0.0, 0.3 * local, 0.8 * local):
        exact = float(worst(law, clients, Fraction(math.exp(epsilon))))
        fine = central_delta([(clients, of_two_values(local, chance))], epsilon)
        coarse = central_delta([(clients, of_two_values(local))], epsilon)
        assert 0.0 < exact <= fine
        assert fine <= coarse * (1 + 1e-9) + 1e-3 or values == 2
        assert exact <= central_delta([(clients, blanket_of(local))], epsilon)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_every_randomizer_keeps_it(data):
    """Any three laws on four reports that are within exp(epsilon) of each other."""
    local = data.draw(st.floats(0.2, 3.0))
    sizes = st.lists(st.floats(0.05, 1.0), min_size=4, max_size=4)
    base = data.draw(sizes)
    rows = []
    for _ in range(3):
        raised = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4, max_size=4))
        row = [one * math.exp(local * up / 2) for one, up in zip(base, raised, strict=True)]
        rows.append([one / sum(row) for one in row])
    ratios = (
        abs(math.log(a / b))
        for one, two in product(rows, rows)
        for a, b in zip(one, two, strict=True)
    )
    assert max(ratios) <= local + 1e-12
    epsilon = data.draw(st.floats(0.0, local))
    exact = worst(rows, 3, math.exp(epsilon))
    assert exact <= central_delta([(3, blanket_of(local))], epsilon) + 1e-12


@given(
    st.integers(2, 10**9),
    st.floats(0.01, 12.0),
    st.floats(1e-12, 0.1),
)
@settings(max_examples=12, deadline=None)
def test_more_clients_and_less_local_epsilon_cost_less(clients, local, delta):
    found = shuffled(local, clients, delta)
    assert 0.0 <= found.epsilon <= local
    assert found.delta in (0.0, delta)
    assert shuffled(local, 4 * clients, delta).epsilon <= found.epsilon
    assert shuffled(0.7 * local, clients, delta).epsilon <= found.epsilon * (1 + 1e-9)


@pytest.mark.sample(5)
@pytest.mark.parametrize("clients", [1, 10**3, 10**6, 10**9, 2**40])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0])
def test_the_inverse_is_enough_and_no_more(clients, epsilon):
    local = local_epsilon(epsilon, clients, 1e-6)
    assert local >= epsilon
    assert shuffled(local, clients, 1e-6).epsilon <= epsilon * (1 + 1e-9)
    if clients >= 10**3:
        assert shuffled(1.01 * local, clients, 1e-6).epsilon > epsilon


def test_it_gains_by_the_root_of_the_number_of_clients():
    few, many = (shuffled(2.0, clients, 1e-6).epsilon for clients in (10**5, 10**7))
    assert 10.0 < few / many < 13.0


def test_where_nothing_is_gained_it_is_pure():
    assert shuffled(4.0, 3, 1e-6) == Privacy(4.0)
    assert shuffled(50.0, 10**9, 1e-6) == Privacy(50.0)
    assert shuffled(1e-300, 10**9, 1e-6).epsilon <= 1e-300


def test_levels_that_are_drawn_have_the_mean_of_the_blankets():
    parts = [(30, of_two_values(2.0, Fraction(1, 20))), (70, of_two_values(2.0, Fraction(1, 10)))]
    assert mixed(parts).chance == pytest.approx(0.085)
    assert mixed([*parts, (5, blanket_of(2.0))]) == blanket_of(2.0)


@pytest.mark.parametrize("call", [shuffled, local_epsilon])
@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ((0.0, 10, 1e-6), ParameterError, "epsilon"),
        ((math.inf, 10, 1e-6), ParameterError, "epsilon"),
        ((1.0, 0, 1e-6), ParameterError, "clients"),
        ((1.0, 2**41, 1e-6), ParameterError, "clients"),
        ((1.0, 10.5, 1e-6), DtypeError, "clients"),
        ((1.0, 10, 0.0), ParameterError, "delta"),
        ((1.0, 10, 1.0), ParameterError, "delta"),
        ((1.0, 10, "1e-6"), DtypeError, "delta"),
    ],
)
def test_bad_arguments_are_named(call, arguments, error, named):
    with pytest.raises(error, match=named):
        call(*arguments)


def test_fractions_are_rounded_to_the_safe_side():
    third = Fraction(1, 3)  # above its nearest double
    assert shuffled(third, 1, 1e-9).epsilon > third
    assert local_epsilon(third, 1, 1e-9) < third
    tenth = Fraction(1, 10)  # below its nearest double
    assert local_epsilon(tenth, 1, 1e-9) < tenth
