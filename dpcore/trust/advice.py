"""Advice before anything is spent: how fine a histogram, and how many clients for an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, get_args

from .. import _check
from ..errors import ParameterError
from ._advice_model import (
    MOST_CLIENTS,
    MOST_HEIGHT,
    Population,
    Purpose,
    Setting,
    TrustModel,
    best_setting,
    mechanism,
    theorem_errors,
)

__all__ = ["Advice", "Enough", "Purpose", "TrustModel", "advise", "enough"]


@dataclass(frozen=True, slots=True)
class Advice:
    """How to release and to read the scores of a number of clients.

    Made by ``advise``.

    Parameters
    ----------
    heights
        By purpose, h: scores are counted in 2^h cells, ``Grid.uniform(0, 1, 2**h)``. One release
        for several purposes has the largest of theirs, and somewhat more noise.
    buckets
        By purpose, how many buckets to read off the release; at most 2^h.
    expected_errors
        By purpose, the mean absolute error that is expected with these: of the area under the ROC
        curve; of recall, at thresholds over [0, 1]; and of a calibrated score.
    theorem_errors
        By purpose, what the O( ) of the federated paper's theorems are with all constants 1.
    reasons
        Sentences: which terms are balanced, and how large they are.

    Examples
    --------
    >>> from dpcore.trust import advise
    >>> found = advise(100_000, None, "secure-aggregation")
    >>> found.buckets["calibration"], round(found.expected_errors["calibration"], 3)
    (50, 0.009)
    """

    heights: Mapping[Purpose, int]
    buckets: Mapping[Purpose, int]
    expected_errors: Mapping[Purpose, float]
    theorem_errors: Mapping[Purpose, float]
    reasons: tuple[str, ...]


class Enough(NamedTuple):
    """Whether a population is large enough for an error, and how large it has to be.

    Examples
    --------
    >>> from dpcore.trust import enough
    >>> found = enough(10_000, None, "secure-aggregation", 0.01, "calibration")
    >>> found.enough, round(found.expected_error, 2)
    (False, 0.02)
    """

    enough: bool
    expected_error: float
    clients: int | None
    """The fewest clients that are enough, to within 1 %; None: more than 2^40."""


def advise(clients: int, epsilon: float | Fraction | None, model: TrustModel) -> Advice:
    """Say how fine a score histogram a number of clients supports, and what error to expect.

    Parameters
    ----------
    clients
        M, with one scored and labelled record each.
    epsilon
        Of ``DistributedNoise`` or of ``Local``; not used for "secure-aggregation", may be None
        there.
    model
        "secure-aggregation", "distributed-noise" (without dropouts) or "local".

    Returns
    -------
    Advice
        For scores that spread over [0, 1], with about as many positives as negatives.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    Noise is predicted from the closed form of the model's own ``mean_squared_error``, and errors
    it makes by constants that were measured (docs/advice.md). Errors are to the records of clients
    themselves for "auc" and "metrics", and to the population they come from for "calibration", as
    in Theorems 2 and 4 to 8 of the federated paper. A guide: real scores differ. Nothing is spent.

    Examples
    --------
    >>> from dpcore.trust.advice import advise
    >>> found = advise(100_000, 1.0, "distributed-noise")
    >>> found.heights["metrics"], found.buckets["calibration"]
    (11, 43)
    >>> round(found.expected_errors["metrics"], 4)
    0.0004
    """
    population = _population(clients, epsilon, model)
    purposes: tuple[Purpose, ...] = get_args(Purpose)
    found = {each: best_setting(population, each) for each in purposes}
    return Advice(
        heights={each: setting.height for each, setting in found.items()},
        buckets={each: setting.buckets for each, setting in found.items()},
        expected_errors={each: setting.error for each, setting in found.items()},
        theorem_errors=theorem_errors(population, found),
        reasons=_reasons(population, found),
    )


def enough(
    clients: int,
    epsilon: float | Fraction | None,
    model: TrustModel,
    error: float,
    purpose: Purpose = "metrics",
) -> Enough:
    """Say whether so many clients are enough for an error, and how many would be.

    Parameters
    ----------
    clients, epsilon, model
        As in ``advise``.
    error
        The mean absolute error that is aimed at, above 0.
    purpose
        "auc", "metrics" or "calibration": of what, as in ``Advice``.

    Returns
    -------
    Enough

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    As ``advise``, for some 40 numbers of clients.

    Examples
    --------
    >>> from dpcore.trust import enough
    >>> found = enough(1000, None, "secure-aggregation", 0.01, "calibration")
    >>> found.enough, round(found.expected_error, 2), round(found.clients, -3)
    (False, 0.04, 64000)
    """
    population = _population(clients, epsilon, model)
    _check.choice("purpose", purpose, Purpose)
    goal = _check.positive("error", error)

    def expected(count: int) -> float:
        return best_setting(population._replace(clients=count), purpose).error

    now = expected(population.clients)
    if expected(MOST_CLIENTS) > goal:
        return Enough(now <= goal, now, None)
    low, high = 0, MOST_CLIENTS  # high is enough, low is not, up to steps from height to height
    while high - low > max(1, high // 200):
        middle = math.isqrt(max(low, 1) * high) if high > 2 * low + 2 else (low + high) // 2
        if expected(middle) <= goal:
            high = middle
        else:
            low = middle
    return Enough(now <= goal, now, high)


def _population(clients: int, epsilon: float | Fraction | None, model: TrustModel) -> Population:
    """Check what both functions take."""
    _check.choice("model", model, TrustModel)
    checked = _check.integer("clients", clients, 1, MOST_CLIENTS)
    if model == "secure-aggregation":
        return Population(checked, 1.0, model)
    if epsilon is None:
        raise ParameterError("epsilon", epsilon, f"must be a number for {model!r}")
    mechanism(epsilon, checked, model)  # it checks epsilon
    return Population(checked, float(epsilon), model)


def _reasons(population: Population, found: Mapping[Purpose, Setting]) -> tuple[str, ...]:
    """Say which terms are balanced."""
    area, metrics, rates = found["auc"], found["metrics"], found["calibration"]
    if population.model == "secure-aggregation":
        of_area = (
            f"AUC: without noise all {area.buckets} cells are buckets, off by {area.bucketing:.2g}."
        )
        of_metrics = (
            f"Metrics: without noise finer cells are better, up to a record a cell and "
            f"2^{MOST_HEIGHT} cells; at height {metrics.height} a recall is off by "
            f"{metrics.bucketing:.2g}."
        )
    else:
        of_area = (
            f"AUC: height {area.height}, {area.buckets} buckets, which add {area.bucketing:.2g} to "
            f"{area.noise:.2g} for noise; more buckets change nothing."
        )
        of_metrics = (
            f"Metrics: height {metrics.height} balances {metrics.noise:.2g} for noise, which grows "
            f"with the height, and {metrics.bucketing:.2g} for a cell's width. The noise of "
            f"cumulative counts does not grow with buckets, so all {metrics.buckets} cells are."
        )
    of_rates = (
        f"Calibration: height {rates.height}, {rates.buckets} buckets: {rates.bucketing:.2g} for "
        f"one rate in each, {rates.sampling:.2g} for the clients being a sample, "
        f"{rates.noise:.2g} for noise."
    )
    return of_area, of_metrics, of_rates
