"""Chi-squared tests of draws against a law."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from tests import reference


def p_value_of_counts(observed, expected):
    """With one class for the rare values: of those of which five or fewer are expected."""
    observed, expected = np.asarray(observed), np.asarray(expected)
    big = expected > 5
    return chisquare(
        np.r_[observed[big], observed[~big].sum() + 10],
        np.r_[expected[big], expected[~big].sum() + 10],
        sum_check=False,
    ).pvalue


def p_value(draws, edge, pmf):
    """Of integers from -edge to edge and beyond."""
    probability = pmf(np.arange(-edge, edge + 1))
    observed = np.bincount(np.clip(draws, -edge - 1, edge + 1) + edge + 1, minlength=2 * edge + 3)
    tail = (1 - probability.sum()) / 2
    return p_value_of_counts(observed, np.r_[tail, probability, tail] * draws.size)


def laplace_p_value(draws, scale):
    edge = int(np.ceil(6 * scale)) + 2
    return p_value(draws, edge, lambda y: reference.discrete_laplace_pmf(y, scale))


def gaussian_p_value(draws, sigma_squared):
    edge = int(6 * float(sigma_squared) ** 0.5) + 2
    return p_value(draws, edge, lambda y: reference.discrete_gaussian_pmf(y, sigma_squared))
