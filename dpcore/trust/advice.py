"""Advice before anything is spent: how fine a histogram, and how many clients for an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

import numpy as np

from .. import _check
from ..errors import ParameterError
from .distributed import DistributedNoise
from .local import Local

__all__ = ["Advice", "Enough", "Purpose", "TrustModel", "advise", "enough"]

TrustModel = Literal["secure-aggregation", "distributed-noise", "local"]
Purpose = Literal["auc", "metrics", "calibration"]

_MOST_CLIENTS: Final = 2**40
_MOST_HEIGHT: Final = 16
# Measured (docs/advice.md, section 3): mean absolute errors that noise makes, in units of its
# deviation in a cumulative count over M; of a bucket's rate, times the number of buckets.
_RECALL: Final = 1.45
_AREA: Final = 1.25
_RATE: Final = 0.5


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
    """

    heights: Mapping[Purpose, int]
    buckets: Mapping[Purpose, int]
    expected_errors: Mapping[Purpose, float]
    theorem_errors: Mapping[Purpose, float]
    reasons: tuple[str, ...]


class Enough(NamedTuple):
    """Whether a population is large enough for an error, and how large it has to be."""

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
    Noise is predicted from the closed form of the model's own ``standard_error``, and the errors it
    makes by constants that were measured (docs/advice.md). Errors are to the records of the clients
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
    clients = _clients(clients, epsilon, model)
    return _advice(clients, _used(epsilon, model), model)


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
    >>> from dpcore.trust.advice import enough
    >>> enough(1000, None, "secure-aggregation", 0.01, "calibration").enough
    False
    >>> enough(100_000, None, "secure-aggregation", 0.01, "calibration").enough
    True
    """
    clients = _clients(clients, epsilon, model)
    _check.choice("purpose", purpose, Purpose)
    goal, budget = _check.positive("error", error), _used(epsilon, model)
    expected = _expected(clients, budget, model, purpose)
    if _expected(_MOST_CLIENTS, budget, model, purpose) > goal:
        return Enough(expected <= goal, expected, None)
    low, high = 0, _MOST_CLIENTS  # high is enough, low is not, up to steps from height to height
    while high - low > max(1, high // 200):
        middle = math.isqrt(max(low, 1) * high) if high > 2 * low + 2 else (low + high) // 2
        if _expected(middle, budget, model, purpose) <= goal:
            high = middle
        else:
            low = middle
    return Enough(expected <= goal, expected, high)


def _used(epsilon: float | Fraction | None, model: TrustModel) -> float:
    """Return epsilon as a double; exact sums have none."""
    return 1.0 if epsilon is None or model == "secure-aggregation" else float(epsilon)


def _clients(clients: int, epsilon: float | Fraction | None, model: TrustModel) -> int:
    """Check what both functions take."""
    _check.choice("model", model, TrustModel)
    checked = _check.integer("clients", clients, 1, _MOST_CLIENTS)
    if model == "secure-aggregation":
        return checked
    if epsilon is None:
        raise ParameterError("epsilon", epsilon, f"must be a number for {model!r}")
    _mechanism(epsilon, checked, model)
    return checked


def _mechanism(
    epsilon: float | Fraction, clients: int, model: TrustModel
) -> DistributedNoise | Local:
    kind = DistributedNoise if model == "distributed-noise" else Local
    return kind(epsilon, clients)


@lru_cache(maxsize=1024)
def _unit_noise(epsilon: float, model: TrustModel, height: int) -> float:
    """Return the root mean square of ``standard_error`` over thresholds, 2^h cells to a class.

    Of local privacy it is divided by the root of M, to which it is proportional.
    """
    if model == "secure-aggregation":
        return 0.0
    errors = _mechanism(epsilon, _MOST_CLIENTS, model).standard_error(2 ** (height + 1))[:-1]
    scale = math.sqrt(_MOST_CLIENTS) if model == "local" else 1.0
    return float(np.sqrt(np.mean(np.square(errors)))) / scale


def _noise(clients: int, epsilon: float, model: TrustModel, height: int) -> float:
    """Return the deviation of the noise in a cumulative count, over M."""
    unit = _unit_noise(epsilon, model, height)
    return unit / math.sqrt(clients) if model == "local" else unit / clients


def _metrics_error(noise: float, height: int) -> float:
    """A threshold is on average a quarter of a cell from the nearest edge."""
    return math.hypot(_RECALL * noise, 0.25 * 2.0**-height)


def _area_bucketing(clients: int, buckets: int) -> float:
    """Buckets are Eq. 5's: a rate that rises linearly, and how the labels in a bucket fall.

    These go with the third power of the records in a bucket, m. Where there are few, m is nearly
    Poisson with mean M / B, and E (m^3 - m) is (M / B)^3 (1 + 3 B / M).
    """
    labels = 0.38 / (buckets * math.sqrt(clients)) * math.sqrt(1.0 + 3.0 * buckets / clients)
    return math.hypot(1.0 / (3.0 * buckets**2), labels)


def _area_buckets(clients: int, noise: float, height: int) -> int:
    """Return the fewest buckets, of four cells or more, that add a tenth of the noise's error."""
    cells = 1 << (height if noise == 0.0 else max(height - 2, 0))
    if _area_bucketing(clients, cells) >= _AREA * noise / 10.0:
        return cells
    low, high = 0, cells
    while high - low > 1:
        middle = (low + high) // 2
        if _area_bucketing(clients, middle) <= _AREA * noise / 10.0:
            high = middle
        else:
            low = middle
    return high


def _calibration_terms(clients: int, noise: float, buckets: int) -> tuple[float, float, float]:
    """Return the errors of one rate for a bucket, of drawing the records, and of noise."""
    return (
        0.25 / buckets,
        math.sqrt(2.0 / math.pi) * math.pi / 8.0 * math.sqrt(buckets / clients),
        _RATE * noise * buckets,
    )


def _calibration_buckets(clients: int, noise: float, height: int) -> int:
    """Return the number of buckets with the least error, of at least four cells each."""
    sizes = np.unique(np.round(np.geomspace(1, 1 << max(height - 2, 0), 8 * height + 1)))
    return min(
        (int(size) for size in sizes),
        key=lambda size: math.hypot(*_calibration_terms(clients, noise, size)),
    )


def _setting(
    clients: int, epsilon: float, model: TrustModel, purpose: Purpose, height: int
) -> tuple[int, float]:
    """Return how many buckets to read off a release of some height, and the error expected."""
    noise = _noise(clients, epsilon, model, height)
    if purpose == "metrics":
        return 2**height, _metrics_error(noise, height)
    if purpose == "calibration":
        buckets = _calibration_buckets(clients, noise, height)
        return buckets, math.hypot(*_calibration_terms(clients, noise, buckets))
    buckets = _area_buckets(clients, noise, height)
    return buckets, math.hypot(_AREA * noise, _area_bucketing(clients, buckets))


def _best(
    clients: int, epsilon: float, model: TrustModel, purpose: Purpose
) -> tuple[int, int, float]:
    """Return the height with the least error, the buckets, and that error."""
    if model == "secure-aggregation" and purpose != "calibration":
        height = min(max(1, math.ceil(math.log2(clients))), _MOST_HEIGHT)
    else:
        height = min(
            range(1, _MOST_HEIGHT + 1),
            key=lambda each: _setting(clients, epsilon, model, purpose, each)[1],
        )
    buckets, error = _setting(clients, epsilon, model, purpose, height)
    return height, buckets, min(error, 1.0)


def _expected(clients: int, epsilon: float, model: TrustModel, purpose: Purpose) -> float:
    return _best(clients, epsilon, model, purpose)[2]


def _theorems(
    clients: int, epsilon: float, model: TrustModel, height: int, buckets: Mapping[Purpose, int]
) -> dict[Purpose, float]:
    """Return Theorems 2 and 4 to 8 with all constants 1."""
    m = float(clients)
    if model == "secure-aggregation":
        return {
            "auc": buckets["auc"] ** -2.0,
            "metrics": 1.0 / buckets["metrics"],
            "calibration": m ** (-1 / 3),
        }
    if model == "distributed-noise":
        return {
            "auc": (1.0 / epsilon + 1.0 / buckets["auc"]) / m,
            "metrics": (epsilon * m) ** (-2 / 3),
            "calibration": m ** (-1 / 3) + m ** (-2 / 3) / epsilon,
        }
    return {
        "auc": height / (epsilon * math.sqrt(m)),
        "metrics": epsilon ** (-2 / 3) * m ** (-1 / 3),
        "calibration": epsilon**-0.5 * m**-0.25,
    }


def _advice(clients: int, epsilon: float, model: TrustModel) -> Advice:
    purposes: tuple[Purpose, ...] = get_args(Purpose)
    found = {each: _best(clients, epsilon, model, each) for each in purposes}
    heights = {each: height for each, (height, _, _) in found.items()}
    buckets = {each: size for each, (_, size, _) in found.items()}
    noise = {each: _noise(clients, epsilon, model, height) for each, height in heights.items()}
    area = _area_bucketing(clients, buckets["auc"])
    cell = 0.25 * 2.0 ** -heights["metrics"]
    bias, sampling, of_rate = _calibration_terms(
        clients, noise["calibration"], buckets["calibration"]
    )
    if model == "secure-aggregation":
        of_metrics = (
            f"Metrics: without noise finer cells are better, up to a record a cell and "
            f"2^{_MOST_HEIGHT} cells; at height {heights['metrics']} a recall is off by {cell:.2g}."
        )
        of_area = f"AUC: without noise all {buckets['auc']} cells are buckets, off by {area:.2g}."
    else:
        of_metrics = (
            f"Metrics: height {heights['metrics']} balances {_RECALL * noise['metrics']:.2g} for "
            f"noise, which grows with the height, and {cell:.2g} for a cell's width. The noise of "
            f"cumulative counts does not grow with buckets, so all {buckets['metrics']} cells are."
        )
        of_area = (
            f"AUC: height {heights['auc']}, {buckets['auc']} buckets, which add {area:.2g} to "
            f"{_AREA * noise['auc']:.2g} for noise; more buckets change nothing."
        )
    reasons = (
        of_area,
        of_metrics,
        f"Calibration: height {heights['calibration']}, {buckets['calibration']} buckets: "
        f"{bias:.2g} for one rate in each, {sampling:.2g} for the clients being a sample, "
        f"{of_rate:.2g} for noise.",
    )
    theorems = _theorems(clients, epsilon, model, heights["auc"], buckets)
    return Advice(heights, buckets, {each: found[each][2] for each in purposes}, theorems, reasons)
