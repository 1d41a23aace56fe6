"""Audits of a privacy claim that share nothing with the code that makes it.

``least_shift`` works out the exact sensitivity of additive integer noise by integer programming;
``epsilon_lower_bound`` and ``delta_lower_bound`` take nothing but samples from two neighbouring
inputs.
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.stats import beta


def neighbouring_counts(cells: int):
    """All pairs of cell counts that differ by one replaced record (up to the other records)."""
    for a, b in itertools.permutations(range(cells), 2):
        first, second = np.full(cells, 3), np.full(cells, 3)
        first[a] += 1
        second[b] += 1
        yield first, second


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
