"""The plain algorithm for Polya shares, on any source of choices: random words, or a script."""

from __future__ import annotations

from fractions import Fraction
from math import exp, factorial

import numpy as np

from dpcore.noise.sources import source
from tests import reference

THIRD, LARGE = Fraction(1, 3), Fraction(201, 2)
WEIGHTS = [factorial(12) // factorial(n) for n in range(13)] + [1]


def seeded(seed):
    return source(np.random.default_rng(seed))


def blocks_of(scale):
    """The least J with 2^J >= scale."""
    return next(j for j in range(54) if 2**j >= scale)


class EndError(Exception):
    """There are no more words."""


def until_the_end(words):
    yield from words
    raise EndError


class FromWords:
    """Choices made by a stream of words, as the kernel makes them."""

    def __init__(self, words):
        self.words = until_the_end(words)

    def uniform(self, bound):
        return reference.uniform(self.words, bound)

    def among(self, weights):
        r = self.uniform(sum(weights))
        return next(i for i in range(len(weights)) if r < sum(weights[: i + 1]))

    def below(self, part, whole):
        return self.uniform(whole) < part

    def bit(self):
        return next(self.words) % 2 == 1

    def two_over_e(self):
        return reference.bernoulli_two_over_e(self.words)

    def exponential(self, part, whole):
        periods, rest = divmod(part, whole)
        return all(
            reference.bernoulli_exp_one(self.words) for _ in range(periods)
        ) and reference.bernoulli_exp(self.words, rest, whole)


class ChoiceError(Exception):
    """What was chosen up to now does not say what comes next: its probabilities."""


class Scripted:
    """Choices that were made beforehand, each as a number of its value."""

    def __init__(self, made):
        self.made = list(made)

    def among(self, weights):
        if not self.made:
            raise ChoiceError([Fraction(w, sum(weights)) for w in weights])
        return self.made.pop(0)

    def uniform(self, bound):
        if not self.made and bound > 1000:
            raise ChoiceError([])  # nobody asks for these
        return self.among([1] * bound)

    def below(self, part, whole):
        return self.among([whole - part, part]) == 1

    def bit(self):
        return self.below(1, 2)

    def _real(self, probability):
        if not self.made:
            raise ChoiceError([1 - probability, probability])
        return self.made.pop(0) == 1

    def two_over_e(self):
        return self._real(2 / exp(1))

    def exponential(self, part, whole):
        return self._real(exp(-part / whole))


def law_of(program, least):
    """What a program returns, with its probability: but for paths less likely than ``least``."""
    law, open_paths = {}, [((), Fraction(1))]
    while open_paths:
        path, probability = open_paths.pop()
        try:
            result = program(Scripted(path))
        except ChoiceError as choice:
            options = [((*path, i), probability * p) for i, p in enumerate(choice.args[0])]
            open_paths += [option for option in options if option[1] > least]
        else:
            law[result] = law.get(result, 0) + probability
    return law


def poisson_trial(choose):
    """A number, or None: in proportion to 12! / n!."""
    n = choose.among(WEIGHTS)
    while n > 12:
        if not choose.below(2, n):
            return None
        if not choose.bit():
            return n
        n += 1
    return n


def proposed_size(choose, block, scale):
    """A size, or 0: k in its block with probability exp(-k / s) / k."""
    periods = 0
    if block == blocks_of(scale):
        periods = 1
        while choose.bit():
            periods += 1
        block += periods - 1
        if not all(choose.two_over_e() for _ in range(periods)) or block > 61:
            return 0
    k = 2**block + choose.uniform(2**block)
    if k > 2**62 // scale.denominator or not choose.below(2**block, k):
        return 0
    gamma = k * scale.denominator - periods * scale.numerator
    return k if choose.exponential(gamma, scale.numerator) else 0


def proposal(choose, size, scale):
    """Entry and event."""
    classes = 2 * (blocks_of(scale) + 1)
    entry, rest = divmod(choose.uniform(classes * size), classes)
    k = proposed_size(choose, rest // 2, scale)
    return entry, -k if rest % 2 else k


def plain_shares(choose, size, scale, shape):
    """Sums of events, until the words end; and whether they are complete."""
    mean = 2 * size * (blocks_of(scale) + 1) * shape
    out = [0] * size
    try:
        for unit in range(-(-mean.numerator // mean.denominator)):
            points = None
            while points is None:
                points = poisson_trial(choose)
            for _ in range(points):
                if unit < mean // 1 or choose.below(*(mean % 1).as_integer_ratio()):
                    entry, event = proposal(choose, size, scale)
                    out[entry] += event
    except EndError:
        return out, False
    return out, True
