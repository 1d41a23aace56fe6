"""Rejection from uniform bits, as Canonne, Kamath & Steinke have it, leads to the same laws.

That algorithm and the tables have nothing in common but the law. Its own is added up over all that
its random choices may be, and held to the certified distribution functions.
"""

from __future__ import annotations

from fractions import Fraction

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


LAPLACE = (
    reference.discrete_laplace_proposal,
    reference.discrete_laplace_pmf,
    lambda scale: TwoSidedGeometric(1 / scale, 1),
)
GAUSSIAN = (
    reference.discrete_gaussian_proposal,
    reference.discrete_gaussian_pmf,
    lambda sigma_squared: TwoSidedGaussian(1 / (2 * sigma_squared)),
)


@pytest.mark.parametrize(
    ("proposal", "pmf", "law", "parameter"),
    [
        *((*LAPLACE, scale) for scale in (Fraction(1, 2), Fraction(1), Fraction(3))),
        *((*GAUSSIAN, sigma_squared) for sigma_squared in (Fraction(1, 3), Fraction(1))),
        pytest.param(*GAUSSIAN, Fraction(13, 3), marks=pytest.mark.full),
    ],
)
def test_the_laws_are_those_of_rejection(proposal, pmf, law, parameter, monkeypatch):
    by_rejection = added_up(lambda choices: proposal(choices, parameter), monkeypatch)
    for y in range(-8, 9):
        table = from_table(law(parameter), y)
        assert by_rejection.get(y, 0.0) == pytest.approx(table, abs=1e-7)
        assert table == pytest.approx(pmf(y, parameter), abs=1e-15)
