"""Advice before anything is spent: how fine a histogram, and how many clients for an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from .. import _check
from ..curves import forms
from ..curves.stored import Stored
from ..errors import ParameterError
from ._advice_model import MOST_HEIGHT, Population, Setting, best_setting
from .models.advised import Purpose, advised_models
from .protocol.rounds import MOST_CLIENTS

__all__ = ["Advice", "Enough", "Purpose", "advise", "enough"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Advice(Stored):
    """Advice on how finely to count the scores of a number of clients, and what error to expect.

    ``advise`` returns it.

    Parameters
    ----------
    heights
        For each purpose, the height h: count scores in 2^h cells, ``Grid.uniform(0, 1, 2**h)``. One
        release for several purposes takes the largest of their heights, and has somewhat more
        noise.
    buckets
        For each purpose, how many buckets to read off the release; at most 2^h.
    expected_errors
        For each purpose, the mean absolute error to expect with this height and these buckets. For
        "auc" it is the error of the area under the ROC curve, for "metrics" that of recall at
        thresholds over [0, 1], for "calibration" that of a calibrated score, and for "cdf" that of
        F at thresholds over [0, 1], of values instead of scored labels.
    theorem_errors
        For each purpose but "cdf", the order of the error by the federated paper's theorems, with
        all constants 1.
    reasons
        Sentences that say which terms are balanced, and how large they are.

    Examples
    --------
    >>> from dpcore.trust import advise
    >>> advice = advise(100_000, None, "secure-aggregation")
    >>> advice.buckets["calibration"], round(advice.expected_errors["calibration"], 3)
    (50, 0.009)
    """

    _kind = "dpcore.advice"

    heights: Mapping[Purpose, int] = field(metadata=forms.by_name(forms.WHOLE))
    buckets: Mapping[Purpose, int] = field(metadata=forms.by_name(forms.WHOLE))
    expected_errors: Mapping[Purpose, float] = field(metadata=forms.by_name(forms.NUMBER))
    theorem_errors: Mapping[Purpose, float] = field(metadata=forms.by_name(forms.NUMBER))
    reasons: tuple[str, ...] = field(metadata=forms.tuple_of(forms.TEXT))

    def __post_init__(self) -> None:
        _check.instance("heights", self.heights, Mapping, "must be a mapping")
        for name in ("buckets", "expected_errors"):
            _check.instance(name, getattr(self, name), Mapping, "must be a mapping")
            if getattr(self, name).keys() != self.heights.keys():
                purposes = list(getattr(self, name))
                raise ParameterError(name, purposes, "must have the purposes of heights")
        _check.instance("theorem_errors", self.theorem_errors, Mapping, "must be a mapping")

    def __repr__(self) -> str:
        fine = ", ".join(f"2^{height} for {purpose}" for purpose, height in self.heights.items())
        return f"<Advice: cells {fine}>"

    def _columns(self) -> Mapping[str, Any]:
        purposes = list(self.heights)
        return {
            "purpose": purposes,
            "height": [self.heights[purpose] for purpose in purposes],
            "buckets": [self.buckets[purpose] for purpose in purposes],
            "expected_error": [self.expected_errors[purpose] for purpose in purposes],
            "theorem_error": [self.theorem_errors.get(purpose, math.nan) for purpose in purposes],
        }

    def _guarantees(self) -> tuple[Any, ...]:
        return ()


class Enough(NamedTuple):
    """Whether a population is large enough for an error, and how large it has to be.

    Examples
    --------
    >>> from dpcore.trust import enough
    >>> answer = enough(10_000, None, "secure-aggregation", 0.01, "calibration")
    >>> answer.enough, round(answer.expected_error, 2)
    (False, 0.02)
    """

    enough: bool
    expected_error: float
    clients: int | None
    """The fewest clients that are enough, to within 1 %; None if more than 2^40 are needed."""


def advise(clients: int, epsilon: float | Fraction | None, model: str) -> Advice:
    """Say how fine a score histogram a number of clients supports, and what error to expect.

    Parameters
    ----------
    clients
        M, the number of clients, with one scored and labelled record each.
    epsilon
        The epsilon of the trust model. It is not used for "secure-aggregation", and may be None
        there.
    model
        The ``advised`` name of a trust model: "central", "distributed-noise" (without dropouts),
        "function-sharing" (two servers), "local", "secure-aggregation", or "square-wave", which is
        for "cdf" alone.

    Returns
    -------
    Advice
        Advice for scores that are spread over [0, 1], with about as many positives as negatives.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    The closed form of the model's own ``mean_squared_error`` predicts the noise. Measured constants
    turn this into errors (docs/guides/clients.md). For "auc" and "metrics" the errors are relative
    to the clients' own records, and for "calibration" to the population that they come from, as in
    Theorems 2 and 4 to 8 of Cormode & Markov, *Federated Calibration and Evaluation of Binary
    Classifiers* (the federated paper). The advice is a guide, because real scores differ. It spends
    nothing. For ``Shuffled``, ask for "local" with the epsilon of its ``local(size)``, which
    depends little on the size.

    Examples
    --------
    >>> from dpcore.trust.advice import advise
    >>> advice = advise(100_000, 1.0, "distributed-noise")
    >>> advice.heights["metrics"], advice.buckets["calibration"]
    (11, 43)
    >>> round(advice.expected_errors["metrics"], 4)
    0.0004
    """
    population = _population(clients, epsilon, model)
    purposes = population.model.purposes
    settings = {purpose: best_setting(population, purpose) for purpose in purposes}
    heights = {purpose: setting.height for purpose, setting in settings.items()}
    buckets = {purpose: setting.buckets for purpose, setting in settings.items()}
    sizes = population.epsilon, float(population.clients), heights, buckets
    return Advice(
        heights=heights,
        buckets=buckets,
        expected_errors={purpose: setting.error for purpose, setting in settings.items()},
        theorem_errors=population.model.theorem_errors(*sizes),
        reasons=_reasons(population, settings),
    )


def enough(
    clients: int,
    epsilon: float | Fraction | None,
    model: str,
    error: float,
    purpose: Purpose = "metrics",
) -> Enough:
    """Say whether a number of clients is enough for an error, and how many would be enough.

    Parameters
    ----------
    clients, epsilon, model
        As in ``advise``.
    error
        The mean absolute error to reach, above 0.
    purpose
        What the error is of, as in ``Advice``: "auc", "metrics", "calibration" or "cdf".

    Returns
    -------
    Enough

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    It takes about as long as 40 calls of ``advise``.

    Examples
    --------
    >>> from dpcore.trust import enough
    >>> answer = enough(1000, None, "secure-aggregation", 0.01, "calibration")
    >>> answer.enough, round(answer.expected_error, 2), round(answer.clients, -3)
    (False, 0.04, 64000)
    """
    population = _population(clients, epsilon, model)
    _check.choice("purpose", purpose, Purpose)
    if purpose not in population.model.purposes:
        what = f"must be one of {population.model.purposes} for {model!r}"
        raise ParameterError("purpose", purpose, what)
    goal = _check.positive("error", error)

    def expected(count: int) -> float:
        return best_setting(population._replace(clients=count), purpose).error

    now = expected(population.clients)
    if expected(MOST_CLIENTS) > goal:
        return Enough(now <= goal, now, None)
    low, high = 0, MOST_CLIENTS  # high is enough and low is not, except at steps between heights
    while high - low > max(1, high // 200):
        middle = math.isqrt(max(low, 1) * high) if high > 2 * low + 2 else (low + high) // 2
        if expected(middle) <= goal:
            high = middle
        else:
            low = middle
    return Enough(now <= goal, now, high)


def _population(clients: int, epsilon: float | Fraction | None, model: str) -> Population:
    """Check the arguments that both functions take."""
    known = advised_models()
    _check.choice("model", model, Literal[*known])
    checked = _check.integer("clients", clients, 1, MOST_CLIENTS)
    trust = known[model].for_advice(epsilon, checked)
    is_exact = trust.privacy.epsilon == math.inf
    number = 1.0 if is_exact or epsilon is None else float(epsilon)
    return Population(checked, number, known[model], is_exact)


def _reasons(population: Population, settings: Mapping[Purpose, Setting]) -> tuple[str, ...]:
    """Say which terms are balanced."""
    of_shares = _of_shares(settings["cdf"])
    if "auc" not in settings:
        return (of_shares,)
    area, metrics, rates = settings["auc"], settings["metrics"], settings["calibration"]
    if population.is_exact:
        of_area = (
            f"AUC: without noise all {area.buckets} cells are buckets; they cause an error of "
            f"{area.bucketing:.2g}."
        )
        of_metrics = (
            f"Metrics: without noise finer cells are better, up to one record in each cell and "
            f"2^{MOST_HEIGHT} cells. At height {metrics.height} the error of recall is "
            f"{metrics.bucketing:.2g}."
        )
    else:
        of_area = (
            f"AUC: height {area.height}, {area.buckets} buckets. The error is {area.noise:.2g} for "
            f"noise and {area.bucketing:.2g} for the buckets; more buckets change nothing."
        )
        of_metrics = (
            f"Metrics: height {metrics.height} balances an error of {metrics.noise:.2g} for noise, "
            f"which grows with the height, and {metrics.bucketing:.2g} for the width of a cell. "
            f"The noise of cumulative counts does not grow with the number of buckets, so all "
            f"{metrics.buckets} cells are buckets."
        )
    of_rates = (
        f"Calibration: height {rates.height}, {rates.buckets} buckets. The error is "
        f"{rates.bucketing:.2g} for one rate in each bucket, {rates.sampling:.2g} for the clients "
        f"being a sample, and {rates.noise:.2g} for noise."
    )
    return of_area, of_metrics, of_rates, of_shares


def _of_shares(shares: Setting) -> str:
    return (
        f"CDF: height {shares.height}, {shares.buckets} cells. The error of F is "
        f"{shares.noise:.2g} for noise and {shares.bucketing:.2g} for the width of a cell."
    )
