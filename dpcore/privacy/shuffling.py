"""What reports with local privacy cost together, once a shuffler has hidden who sent which."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .concentrated import probability
from .guarantees import Privacy, double_above

__all__ = [
    "Blanket",
    "blanket_of",
    "central_delta",
    "largest_local",
    "local_epsilon",
    "mixed",
    "of_two_values",
    "shuffled",
]

_MOST_CLIENTS: Final = 2**40
_MOST_EPSILON: Final = 40.0  # of a report
_HALVINGS: Final = 40
_WORTH_A_DELTA: Final = 0.999  # hardly less than a pure epsilon is not worth one
_SMOOTHING: Final = 2.0**-6  # the deviation of the noise that is added, in those of the sum
_CUT: Final = 9.0  # where the transform of that noise is negligible, in its deviations
_ALIASING: Final = 60.0  # exponents from which on copies of the sum are negligible
_PERIOD: Final = 30.0  # the least distance of copies, in deviations of the sum
_ERROR: Final = 2.0**-47  # a few roundings, relative
_MOST_EXPONENT: Final = 600.0


class Blanket(NamedTuple):
    """What a report certainly has in common with those of others.

    Sums of n independent variables Y bound the central delta: it is the mean of their positive part
    over n (docs/proofs/privacy.md, section 10). With e = exp(epsilon) of a report and E = exp of
    the central epsilon, Y is f (e - E) and f (1 - e E) with probability ``chance`` each, 1 - E with
    the probability that makes its mean 1 - E, and otherwise 0.

    Parameters
    ----------
    epsilon
        The local epsilon of the report.
    chance
        The probability of each of the two first values.
    factor
        f: 1, or more where less is known of the report.
    """

    epsilon: float
    chance: float
    factor: float = 1.0

    def values(self, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return three values of Y and their probabilities, for a central epsilon."""
        own, central = math.expm1(self.epsilon), math.expm1(epsilon)
        first, second = own - central, -(own + central + own * central)
        rest = max(0.0, 1.0 - self.factor * (own + 2.0) * self.chance)
        values = np.array([self.factor * first, self.factor * second, -central])
        return values, np.array([self.chance, self.chance, rest])


def blanket_of(epsilon: float) -> Blanket:
    """Return what is common to all reports with this local epsilon, whatever makes them."""
    half = 0.5 * math.exp(-epsilon)
    return Blanket(epsilon, half, 2.0 / (1.0 + 2.0 * half))


def of_two_values(epsilon: float, chance: Fraction | None = None) -> Blanket:
    """Return what is common to reports each of which has one of two probabilities for all inputs.

    Parameters
    ----------
    epsilon
        At least the logarithm of their ratio.
    chance
        The probability, by the rarer of the two laws, of a report that is likelier for an input;
        None: the largest that there is. That of (input, other input) both must be at most that of
        neither.
    """
    most = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
    return Blanket(epsilon, most if chance is None else min(most, double_above(chance)))


def mixed(parts: Sequence[tuple[int, Blanket]]) -> Blanket:
    """Return the blanket of a report of a kind that its client draws, with these weights."""
    (_, first), total = parts[0], sum(weight for weight, _ in parts)
    if any(blanket.factor != 1.0 for _, blanket in parts):
        return blanket_of(first.epsilon)
    chances = (weight * Fraction(blanket.chance) for weight, blanket in parts)
    return Blanket(first.epsilon, double_above(sum(chances, Fraction(0)) / total))


def shuffled(epsilon: float | Fraction, clients: int, delta: float) -> Privacy:
    """Return what local reports cost together after they have been shuffled.

    Each client sends one report, with local differential privacy. A shuffler takes off who sent
    which, and mixes them. What it passes on, to whomever, has the central guarantee returned.

    Parameters
    ----------
    epsilon
        The local epsilon of each report, above 0. All clients use the same randomizer. Or they take
        public ones, such as levels of a tree, in an order that is uniformly random and secret.
    clients
        n, the number of reports that come from honest clients: it is public. Those that an observer
        knows, or made, hide nobody.
    delta
        The delta of the result, within (0, 1).

    Returns
    -------
    Privacy
        For replace-one, where a record is all that a client has. Where shuffling gains nothing,
        pure epsilon.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or there are more than 2^40 clients.

    Notes
    -----
    Feldman, McMillan & Talwar, *Hiding among the clones: a simple and nearly optimal analysis of
    privacy amplification by shuffling* (2021), Theorem 3.1, evaluated by a Fourier integral that is
    never below (docs/proofs/privacy.md, section 10). It takes less than a second for any n. It
    holds for all randomizers; ``trust.Shuffled`` knows more of its own.

    Examples
    --------
    >>> from dpcore.privacy import shuffled
    >>> round(shuffled(4.0, 100_000, 1e-6).epsilon, 3)
    0.17
    >>> shuffled(4.0, 100, 1e-6).delta  # too few
    0.0
    """
    own = double_above(_check.fraction("epsilon", epsilon))
    reports = _check.integer("clients", clients, 1, _MOST_CLIENTS)
    chance = probability("delta", delta)
    least = own
    if own <= _MOST_EPSILON:
        least = _least_epsilon([(reports, blanket_of(own))], chance)
    if least >= own * _WORTH_A_DELTA:
        return Privacy(own)
    return Privacy(least, chance)


def local_epsilon(epsilon: float | Fraction, clients: int, delta: float) -> float:
    """Return the largest local epsilon of reports that cost (epsilon, delta) after shuffling.

    Parameters
    ----------
    epsilon
        The central epsilon wanted, above 0.
    clients, delta
        As in ``shuffled``, of which this is the inverse.

    Returns
    -------
    float
        Rounded down. At least ``epsilon``, which costs no delta.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Examples
    --------
    >>> from dpcore.privacy import local_epsilon
    >>> for clients in (1_000, 100_000, 10_000_000):
    ...     print(clients, round(local_epsilon(1.0, clients, 1e-6), 2))
    1000 2.72
    100000 7.07
    10000000 11.67
    """
    wanted = -double_above(-_check.fraction("epsilon", epsilon))  # rounded down
    reports = _check.integer("clients", clients, 1, _MOST_CLIENTS)
    most = probability("delta", delta)
    return largest_local(
        wanted, lambda own: central_delta([(reports, blanket_of(own))], wanted) <= most
    )


def largest_local(
    low: float,
    is_enough: Callable[[float], bool],
    high: float = _MOST_EPSILON,
    halvings: int = _HALVINGS,
) -> float:
    """Return the largest local epsilon found to be enough; ``low`` is, and none is above 40."""
    high = max(low, min(high, _MOST_EPSILON))
    for _ in range(halvings):
        middle = low + (high - low) / 2.0
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return low


def _least_epsilon(groups: Sequence[tuple[int, Blanket]], delta: float) -> float:
    """Return the least central epsilon found at a delta; the local one costs no delta.

    The bound is loose for large epsilons, and may rise where few reports are clones. So halves of
    the local epsilon are all tried.
    """
    local = max(blanket.epsilon for _, blanket in groups)
    halves = [0.0, *(local * 0.5**half for half in range(_HALVINGS, 0, -1))]
    high = next((one for one in halves if central_delta(groups, one) <= delta), local)
    low = high / 2.0
    for _ in range(_HALVINGS if high > 0.0 else 0):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if central_delta(groups, middle) <= delta else (middle, high)
    return high


def central_delta(groups: Sequence[tuple[int, Blanket]], epsilon: float) -> float:
    """Return an upper bound of the central delta of shuffled reports.

    Parameters
    ----------
    groups
        How many reports have which blanket. A client's place among all is uniformly random.
    epsilon
        The central epsilon, 0 or more.

    Notes
    -----
    The sum S of all Y gets Gaussian noise G, which makes the mean of its positive part larger. For
    any t > 0 this mean is an integral of E exp(s (S + G)) / s^2 along s = t + i u. Its sum in equal
    steps of u adds that of copies of S + G, which are positive; what is cut off, and roundings, are
    added (docs/proofs/privacy.md, section 10).
    """
    if epsilon >= max(blanket.epsilon for _, blanket in groups):
        return 0.0
    counts = np.array([float(count) for count, _ in groups])
    laws = [blanket.values(epsilon) for _, blanket in groups]
    values, masses = (np.array(parts) for parts in zip(*laws, strict=True))
    means = (values * masses).sum(axis=1)
    deviation = math.sqrt(float(counts @ ((values**2 * masses).sum(axis=1) - means**2)))
    if deviation * _MOST_EXPONENT < np.abs(values).max() or deviation == 0.0:
        return 1.0  # hardly any clones, or an underflow
    noise = _SMOOTHING * deviation
    tilt = _tilt(counts, values, masses, noise)
    step = 2.0 * math.pi / max(_ALIASING / tilt, _PERIOD * deviation)
    s = tilt + 1j * step * np.arange(math.ceil(_CUT / noise / step) + 1)
    moments = (np.expm1(s[:, np.newaxis, np.newaxis] * values) * masses).sum(axis=2)
    logs = np.log1p(moments) @ counts + (s * noise) ** 2 / 2.0
    top = float(logs[0].real)  # E exp(s (S + G)) is largest there
    steps = np.where(s.imag == 0.0, 1.0, 2.0) * step / (2.0 * math.pi)
    integral = float(steps @ (np.exp(logs - top) / s**2).real)
    most = steps * np.exp(-((s.imag * noise) ** 2) / 2.0) / np.abs(s) ** 2
    off = _roundings(s, values, masses, moments) @ counts + _ERROR * s.size
    if off.max() >= 1.0:
        return 1.0
    last = float(s[-1].imag)
    cut = math.exp(-((last * noise) ** 2) / 2.0) / (math.pi * last**3 * noise**2)
    exponent = top + math.log((integral + most @ np.expm1(off) + cut) / counts.sum())
    exponent += _ERROR * (abs(top) + float(counts @ np.abs(np.log1p(moments[0].real))))
    return min(1.0, math.exp(min(0.0, exponent)) * (1.0 + _ERROR))


def _roundings(
    s: NDArray[np.complexfloating[Any, Any]],
    values: NDArray[np.float64],
    masses: NDArray[np.float64],
    moments: NDArray[np.complexfloating[Any, Any]],
) -> NDArray[np.float64]:
    """Return bounds of errors of E exp(s Y), relative to its value at the tilt, (nodes, groups).

    Values and masses have a few roundings each, and so have the terms of the mean.
    """
    sizes = masses * np.exp(s[0].real * values)
    terms = ((2.0 + np.abs(s)[:, np.newaxis, np.newaxis] * np.abs(values)) * sizes).sum(axis=2)
    total = terms + np.abs(moments) + masses.sum(axis=1)
    return np.asarray(_ERROR * total / (1.0 + moments[0].real))


def _tilt(
    counts: NDArray[np.float64],
    values: NDArray[np.float64],
    masses: NDArray[np.float64],
    noise: float,
) -> float:
    """Return about the t that makes E exp(t (S + G)) / t^2 least. Every t > 0 gives a bound.

    A smaller t than the inverse deviation needs more steps, and gains nothing.
    """
    low, high = math.log(_SMOOTHING / noise), math.log(_MOST_EXPONENT / np.abs(values).max())
    for _ in range(_HALVINGS):
        t = math.exp(low + (high - low) / 2.0)
        parts = masses * np.exp(t * values)
        moments = 1.0 + (masses * np.expm1(t * values)).sum(axis=1)
        slope = float(counts @ ((values * parts).sum(axis=1) / moments)) + t * noise**2 - 2.0 / t
        low, high = (math.log(t), high) if slope < 0.0 else (low, math.log(t))
    return math.exp(low)
