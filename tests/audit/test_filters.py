"""Attacks on budgets whose next release depends on the outputs of earlier ones.

Each release has few outputs, with exactly known privacy losses in whole steps. So the probability
by which the joint losses of an attack break (epsilon, delta), the mean of (1 - e^(epsilon - L))^+
under one of two neighbours, is a sum over states, and its maximum over *all* strategies is found
from the last state back.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import dpcore as dp
from dpcore.privacy.composition import Sums
from dpcore.privacy.filters import Cap

STEP = 0.125  # the unit of losses
PATHS = 10**5


class Kind:
    """A release: what it states, and the chances of its losses in steps."""

    def __init__(self, privacy, losses):
        self.privacy, self.losses = privacy, losses


def responses(steps, count=1, **stated):
    """Return randomised responses that are released together."""
    epsilon = steps * STEP
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    losses = {
        steps * (2 * k - count): math.comb(count, k) * truth**k * (1 - truth) ** (count - k)
        for k in range(count + 1)
    }
    if not stated:
        stated = {"epsilon": count * epsilon, "rho": count * epsilon**2 / 2}
    return Kind(dp.Privacy(**stated), losses)


def disclosure(delta):
    """Return a release that shows the record with probability delta, and nothing otherwise."""
    return Kind(dp.Privacy(0.0, delta), {math.inf: delta, 0: 1.0 - delta})


class Game:
    """All states that attackers can reach under a filter, and the most that they win."""

    def __init__(self, epsilon, kinds, admits):
        self.epsilon, self.kinds = epsilon, kinds

        @cache
        def is_admitted(counts):
            sums = Sums()
            for kind, count in zip(kinds, counts, strict=True):
                if count:
                    sums = sums.plus(kind.privacy, count)
            return admits(sums)

        @cache
        def best(counts):
            """Return the most to win from each loss, and the release that wins it; -1: stop."""
            losses = (np.arange(2 * self.most + 1) - self.most) * STEP
            values = np.maximum(0.0, -np.expm1(epsilon - losses))
            chosen = np.full(values.size, -1)
            for at, kind in enumerate(kinds):
                after = self.after(counts, at)
                if not is_admitted(after):
                    continue
                then, value = best(after)[0], np.zeros(values.size)
                for loss, chance in kind.losses.items():
                    value += chance * (1.0 if loss == math.inf else shifted(then, loss))
                chosen[value > values] = at
                values = np.maximum(values, value)
            return values, chosen

        self.is_admitted, self.best = is_admitted, best
        finite = [max(abs(x) for x in kind.losses if x != math.inf) for kind in kinds]
        self.most = int(sum(loss * self.longest(at) for at, loss in enumerate(finite))) + 1

    def after(self, counts, at):
        return (*counts[:at], counts[at] + 1, *counts[at + 1 :])

    def longest(self, at):
        counts = self.start
        while self.is_admitted(self.after(counts, at)):
            counts = self.after(counts, at)
        return counts[at]

    @property
    def start(self):
        return (0,) * len(self.kinds)

    @property
    def won(self):
        return self.best(self.start)[0][self.most]

    def simulated(self, strategy, rng, paths=PATHS):
        """Return what each of many attackers wins: they choose from what was released to them."""
        wins, here = np.zeros(paths), {self.start: np.zeros(paths, np.int64)}
        done = 0
        while here:
            counts, losses = here.popitem()
            choices = strategy(self, counts, losses)
            stopped = losses[choices == -1]
            wins[done : done + stopped.size] = np.maximum(
                0, -np.expm1(self.epsilon - stopped * STEP)
            )
            done += stopped.size
            for at in np.unique(choices[choices >= 0]).tolist():
                kind, own = self.kinds[at], losses[choices == at]
                drawn = rng.choice(list(kind.losses), p=list(kind.losses.values()), size=own.size)
                sure = drawn == math.inf
                wins[done : done + sure.sum()] = 1.0
                done += int(sure.sum())
                moved = own[~sure] + drawn[~sure].astype(np.int64)
                after = self.after(counts, at)
                here[after] = np.append(here.get(after, np.empty(0, np.int64)), moved)
        assert done == paths
        return wins


def shifted(values, by):
    """Return values at losses that are larger by some steps; the ends are never reached."""
    return np.roll(values, -by)


# --- strategies


def best_of_all(game, counts, losses):
    return game.best(counts)[1][losses + game.most]


def all_of_the_last_kind(game, counts, losses):
    kinds = range(len(game.kinds) - 1, -1, -1)
    at = next((at for at in kinds if game.is_admitted(game.after(counts, at))), -1)
    return np.full(losses.size, at)


def towards_the_other_branch(game, counts, losses):
    """Spend by rho where the losses are high, and in large pure releases where they are not."""
    small, large = 0, 1
    admitted = [game.is_admitted(game.after(counts, at)) for at in (small, large)]
    choices = np.full(losses.size, -1)
    if admitted[large]:
        choices[losses <= 0] = large
    if admitted[small]:
        choices[(losses > 0) | (choices == -1)] = small
    return choices


# --- the filter and broken ones

CAPS = [(1.0, 1e-2), (2.0, 1e-2), (2.0, 1e-3)]


def filtered(epsilon, delta):
    return Cap(dp.Privacy(epsilon, delta), "zero-concentrated").admits


def attacked(epsilon, admits):
    kinds = [
        responses(1),
        responses(4),
        responses(2, 2, rho=0.0625),  # states no epsilon
        responses(1, 4),  # a tree, whose rho is a quarter of epsilon^2 / 2
        disclosure(1e-3),
    ]
    return Game(epsilon, kinds, admits)


BUDGETS = [
    *((Cap(dp.Privacy(*cap), "zero-concentrated"), cap[1]) for cap in CAPS),
    *((Cap(dp.Privacy(*cap)), cap[1]) for cap in CAPS),
    (Cap(dp.Privacy(rho=0.1)), 1e-3),  # with the delta at which its epsilon is taken
    (Cap(dp.Privacy(rho=0.1, delta=4e-3)), 1e-2),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("cap", "delta"), BUDGETS)
def test_no_strategy_breaks_the_guarantee(cap, delta):
    game = attacked(cap.limit.epsilon_at(delta), cap.admits)
    assert 0.0 < game.won <= delta
    rng = np.random.default_rng(1)
    for strategy in (best_of_all, all_of_the_last_kind, towards_the_other_branch):
        wins = game.simulated(strategy, rng)
        mean, error = wins.mean(), wins.std() / math.sqrt(PATHS)
        assert mean <= game.won + 4 * error + 1e-12  # the best is the best
        assert mean - 4 * error <= delta
    exact = game.simulated(best_of_all, rng)
    assert abs(exact.mean() - game.won) <= 5 * math.sqrt(game.won / PATHS)  # of wins up to 1


@pytest.mark.parametrize(("epsilon", "delta"), CAPS[:2])
def test_two_conversions_that_both_cost_delta_are_noticed(epsilon, delta):
    """Basic composition may fail with delta, and the conversion of rho with delta again."""
    own = filtered(epsilon, delta)

    def broken(sums):
        basic = sums.epsilon <= epsilon and sums.delta <= delta and not sums.unlimited
        return basic or own(sums)

    kinds = [responses(1), disclosure(delta)]
    assert Game(epsilon, kinds, own).won <= delta < Game(epsilon, kinds, broken).won


@pytest.mark.parametrize("cap", [Cap(dp.Privacy(1.0, 2e-3)), Cap(dp.Privacy(rho=0.1, delta=2e-3))])
def test_deltas_that_are_not_added_up_are_noticed(cap):
    def broken(sums):
        most = cap.limit.delta  # of each release
        return sums.releases <= 5 and cap.admits(sums._replace(delta=most, delta_of_rho=most))

    delta = 2e-3 if cap.limit.rho is None else 2.5e-3
    epsilon, kinds = cap.limit.epsilon_at(delta), [responses(1), disclosure(2e-3)]
    assert Game(epsilon, kinds, cap.admits).won <= delta < Game(epsilon, kinds, broken).won


def test_a_rho_that_is_too_small_is_noticed():
    """The states are rich enough to see a release that claims a quarter of its rho."""
    kinds = [responses(1, 4, epsilon=0.5, rho=4 * STEP**2 / 2 / 4)]
    assert Game(1.0, kinds, filtered(1.0, 1e-3)).won > 1e-3
