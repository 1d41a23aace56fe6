"""Private minima of a penalised loss, by noise in the minimum or in the objective.

Chaudhuri, Monteleoni & Sarwate, *Differentially private empirical risk minimization* (JMLR 12,
2011). Neighbours: one record replaced, and n is public. Proofs are in docs/proofs/models.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..noise.sources import Source
from ..privacy.allowance import Allowance
from .lattice import SHARE, covered
from .losses import Logistic, Loss
from .minimum import LEAST_PENALTY, Objective
from .spherical import longest, relative_error, spherical

__all__ = ["by_objective", "by_output", "objective_noise", "output_noise"]

Floats = NDArray[np.float64]

_ABOVE: Final = 1.0 + 2.0**-40  # the errors of doubles are far smaller here
_MOST_EPSILON: Final = 2**60  # a larger epsilon is not spent, because the noise is almost 0


def output_noise(loss: Loss, n: int, penalty: float, budget: Allowance) -> float:
    """Return the scale of the noise in the minimum, whose density is exp(-|z| / scale)."""
    return _ABOVE * loss.moved(penalty) / (n * _spent(budget))


def by_output(
    records: Floats, loss: Loss, penalty: float, budget: Allowance, stream: Source
) -> Floats:
    """Return the minimum with noise added (Algorithm 1).

    Parameters
    ----------
    records
        (D, n) contiguous doubles that are multiples of 2^-20, with a column for each record, no
        longer than 1.
    loss
        The loss of their margins.
    penalty
        lambda. It is raised to 2^-24 if it is smaller.
    budget
        The budget, for epsilon.
    stream
        The source of the noise.

    Returns
    -------
    numpy.ndarray
        (D,) the private coefficients.
    """
    size, n = records.shape
    objective = Objective(records, loss, max(penalty, LEAST_PENALTY))
    scale = output_noise(loss, n, objective.penalty, budget)
    most = scale * longest(size)
    distance = objective.distance + (relative_error(size) + 2.0**-52) * most
    distance += 2.0**-52 * objective.longest
    return covered(objective.minimum() + scale * spherical(size, stream), distance, budget, stream)


def objective_noise(n: int, penalty: float, budget: Allowance) -> tuple[float, float]:
    """Return the penalty to use, and the scale of the noise in n times the gradient.

    The determinants of neighbours differ by a factor of at most 1 + c / (n penalty), with c = 1/4.
    The rest of epsilon is for the noise. The penalty is raised until this rest is half of epsilon.
    """
    spent = _spent(budget)
    least = _ABOVE * Logistic.curvature / (n * math.expm1(min(spent / 2.0, 700.0)))
    taken = max(penalty, least, LEAST_PENALTY)
    left = spent - math.log1p(Logistic.curvature / (n * taken))
    return taken, _ABOVE * 2.0 / left


def by_objective(records: Floats, penalty: float, budget: Allowance, stream: Source) -> Floats:
    """Return the minimum of the logistic loss and a random linear term (Algorithm 2).

    Parameters
    ----------
    records
        (D, n) contiguous doubles that are multiples of 2^-20, with a column for each record times
        its label, no longer than 1.
    penalty
        lambda. It is raised if epsilon is small (``objective_noise``).
    budget, stream
        As in ``by_output``.

    Returns
    -------
    numpy.ndarray
        (D,) the private coefficients.
    """
    size, n = records.shape
    taken, scale = objective_noise(n, penalty, budget)
    most = _ABOVE * scale * longest(size) / n
    tilt = spherical(size, stream) * (scale / n)
    objective = Objective(records, Logistic(), taken, tilt, most)
    distance = objective.distance + (relative_error(size) + 2.0**-51) * most / taken
    return covered(objective.minimum(), distance, budget, stream)


def _spent(budget: Allowance) -> float:
    """Return a double below the epsilon that remains for the ideal mechanism."""
    assert budget.epsilon is not None
    return float(min(budget.epsilon * (1 - SHARE), Fraction(_MOST_EPSILON))) / _ABOVE
