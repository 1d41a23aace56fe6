"""Audits of a privacy claim that share nothing with the code that makes it.

``least_shift`` works out the exact sensitivity of additive integer noise by integer programming;
``epsilon_lower_bound`` and ``delta_lower_bound`` take nothing but samples from two neighbouring
inputs.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import beta

from dpcore.noise import DiscreteGaussian


def unit_changes(cells: int, relation: str = "replace-one"):
    """What neighbours can differ by, in cell counts."""
    unit = np.eye(cells, dtype=np.int64)
    if relation == "add-or-remove-one":
        return list(unit)
    return [unit[a] - unit[b] for a, b in itertools.permutations(range(cells), 2)]


def tables(cells: int, records: int):
    """All ways to put so many records into cells."""
    for cuts in itertools.combinations(range(records + cells - 1), cells - 1):
        yield tuple((np.diff([-1, *cuts, records + cells - 1]) - 1).tolist())


def replaced(counts):
    """The neighbours of a table: one of its records is in another cell."""
    for a, b in itertools.permutations(range(len(counts)), 2):
        if counts[a] > 0:
            moved = list(counts)
            moved[a] -= 1
            moved[b] += 1
            yield tuple(moved)


def thinner(law, factor=Fraction(4, 5)):
    """The same law with noise that is a fifth too small."""
    if isinstance(law, DiscreteGaussian):
        return DiscreteGaussian(law.sigma_squared * factor**2)
    return replace(law, scale=law.scale * factor)


def cost(law, shift) -> Fraction:
    """The exact cost of a shift of integer noise: over its scale, or half its square."""
    if isinstance(law, DiscreteGaussian):
        return Fraction(int((shift**2).sum())) / (2 * law.sigma_squared)
    return Fraction(int(np.abs(shift).sum())) / law.scale


def cost_of_levels(laws, starts, shift, free=(0,)) -> Fraction:
    """The sum over the levels of a tree; what has no noise must not move, but on ``free`` levels.

    The shift is that of all nodes, in the unit of the noise.
    """
    total = Fraction(0)
    for level, law in enumerate(laws):
        part = shift[starts[level] : starts[level + 1]]
        if law is not None:
            total += cost(law, part)
        elif level in free:
            assert not part.any()
    return total


def least_shift(noise_matrix, change) -> int:
    """The least sum of |chi| over integer chi whose noise makes up for a change of the output.

    With discrete Laplace noise of scale s in every node, the two inputs' output laws are within
    exp(chi / s) of each other, and no less than that (docs/proofs/dyadic.md, section 3).
    """
    width = noise_matrix.shape[1]
    found = milp(
        np.ones(2 * width),
        constraints=LinearConstraint(np.hstack([noise_matrix, -noise_matrix]), change, change),
        integrality=np.ones(2 * width),
        bounds=Bounds(0, np.inf),
    )
    assert found.success, found.message
    return round(found.fun)


def epsilon_lower_bound(first, second, failure: float = 1e-6) -> float:
    """A lower bound on epsilon from outputs (R, d) on two neighbouring inputs.

    Half of the outputs choose an event, the other half bound its two probabilities by Clopper &
    Pearson, so that the bound is wrong with probability at most ``failure``, whatever event was
    chosen. The event is a set of outputs, those with the largest likelihood ratios.
    """
    keys_first, keys_second = _as_keys(first, second)
    half = len(first) // 2
    event = _best_event(keys_first[:half], keys_second[:half], failure)
    test_first, test_second = keys_first[half:], keys_second[half:]
    low = _lower(np.isin(test_first, event).sum(), len(test_first), failure / 2)
    high = _upper(np.isin(test_second, event).sum(), len(test_second), failure / 2)
    return float(np.log(low / high)) if low > 0 else -np.inf


def both_ways(first, second, failure: float = 1e-6) -> float:
    """The larger of the bounds for the two directions."""
    outputs = [np.asarray(each).reshape(len(each), -1) for each in (first, second)]
    return max(epsilon_lower_bound(*outputs, failure), epsilon_lower_bound(*outputs[::-1], failure))


def delta_lower_bound(first, second, epsilon: float, failure: float = 1e-6) -> float:
    """A lower bound on delta from numbers (R,) on two neighbouring inputs, wrong that rarely.

    By Clopper & Pearson. The half-space is chosen on the first halves, and tested on the second.
    """
    half = len(first) // 2
    cuts = np.quantile(second[:half], np.linspace(0.05, 0.999, 300))

    def exceeding(values):
        return half - np.searchsorted(np.sort(values), cuts, side="right")

    best = int(np.argmax(exceeding(first[:half]) - np.exp(epsilon) * exceeding(second[:half])))
    low = _lower(exceeding(first[half:])[best], half, failure / 2)
    high = _upper(exceeding(second[half:])[best], half, failure / 2)
    return float(low - np.exp(epsilon) * high)


def _as_keys(first, second):
    """Number the distinct outputs."""
    both = np.concatenate([first, second])
    low, high = both.min(axis=0), both.max(axis=0)
    places = np.cumprod(np.r_[1.0, (high - low + 1)[:-1].astype(float)])
    assert places[-1] * (high[-1] - low[-1] + 1) < 2**62
    keys = (both - low) @ places.astype(np.int64)
    return keys[: len(first)], keys[len(first) :]


def _best_event(keys_first, keys_second, failure):
    keys, inverse = np.unique(np.concatenate([keys_first, keys_second]), return_inverse=True)
    in_first = np.bincount(inverse[: len(keys_first)], minlength=keys.size)
    in_second = np.bincount(inverse[len(keys_first) :], minlength=keys.size)
    order = np.argsort(-(in_first + 0.5) / (in_second + 0.5), kind="stable")
    hits_first, hits_second = np.cumsum(in_first[order]), np.cumsum(in_second[order])
    bound = _lower(hits_first, len(keys_first), failure) / _upper(
        hits_second, len(keys_second), failure
    )
    return keys[order[: int(np.argmax(bound)) + 1]]


def _lower(hits, trials, failure):
    return np.where(hits > 0, beta.ppf(failure, np.maximum(hits, 1), trials - hits + 1), 0.0)


def _upper(hits, trials, failure):
    return beta.ppf(1 - failure, hits + 1, np.maximum(trials - hits, 1))
