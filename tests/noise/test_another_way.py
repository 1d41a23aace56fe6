"""Rejection from uniform bits, as Canonne, Kamath & Steinke have it, leads to the same laws.

That algorithm and the tables have nothing in common but the law. Its own is added up over all that
its random choices may be, and held to the certified distribution functions.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpcore.noise.distributions import TwoSidedGaussian, TwoSidedGeometric, floors
from tests import reference


class Choices:
    """Stands for the words, and walks through all outcomes of all random choices, one a run."""

    def __init__(self):
        self.planned = []

    def restart(self):
        self.made, self.probability = [], 1.0

    def choose(self, probabilities):
        at = len(self.made)
        choice = self.planned[at] if at < len(self.planned) else 0
        self.made.append((choice, len(probabilities)))
        self.probability *= probabilities[choice]
        if self.probability < 1e-11:
            raise StopIteration  # what is left below here does not matter
        return choice

    def advance(self):
        """Plan the next run; say whether there is one."""
        while self.made and self.made[-1][0] == self.made[-1][1] - 1:
            self.made.pop()
        self.planned = [choice for choice, _ in self.made]
        if self.planned:
            self.planned[-1] += 1
        return bool(self.planned)

    def __next__(self):
        return self.choose([0.5, 0.5])  # only the parity of a bare word is looked at


def added_up(proposal, monkeypatch):
    """The law of a proposal that is not rejected."""

    def uniform(choices, bound):
        return choices.choose([1 / bound] * bound)

    def bernoulli(choices, p):
        return choices.choose([1 - float(p), float(p)]) == 1

    monkeypatch.setattr(reference.noise, "uniform", uniform)
    monkeypatch.setattr(reference.noise, "bernoulli", bernoulli)
    monkeypatch.setattr(reference.noise, "bernoulli_exp_one", lambda c: bernoulli(c, np.exp(-1)))
    choices, law = Choices(), {}
    while True:
        choices.restart()
        try:
            y = proposal(choices)
        except StopIteration:
            pass
        else:
            law[y] = law.get(y, 0.0) + choices.probability
        if not choices.advance():
            break
    law.pop(None)
    total = sum(law.values())
    return {y: mass / total for y, mass in law.items()}


def from_table(law, y):
    least, found = floors(law, 64)
    edges = [0, *found, 2**64]  # F(least - 1), F(least), ...
    at = min(max(y - least + 1, 0), len(edges) - 1)
    return (edges[at] - edges[max(at - 1, 0)]) / 2**64


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_laplace(scale, monkeypatch):
    law = added_up(partial(reference.discrete_laplace_proposal, scale=scale), monkeypatch)
    for y in range(-8, 9):
        table = from_table(TwoSidedGeometric(1 / scale, 1), y)
        assert law.get(y, 0.0) == pytest.approx(table, abs=1e-7)
        assert table == pytest.approx(reference.discrete_laplace_pmf(y, scale), abs=1e-15)


@pytest.mark.sample(1)
@pytest.mark.parametrize("sigma_squared", [Fraction(1, 3), Fraction(1), Fraction(13, 3)], ids=str)
def test_gaussian(sigma_squared, monkeypatch):
    law = added_up(
        partial(reference.discrete_gaussian_proposal, sigma_squared=sigma_squared), monkeypatch
    )
    for y in range(-8, 9):
        table = from_table(TwoSidedGaussian(1 / (2 * sigma_squared)), y)
        assert law.get(y, 0.0) == pytest.approx(table, abs=1e-7)
        assert table == pytest.approx(reference.discrete_gaussian_pmf(y, sigma_squared), abs=1e-15)
