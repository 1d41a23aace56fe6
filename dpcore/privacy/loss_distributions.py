"""How the privacy losses of independent noise add up: certified bounds by Fourier transforms.

The proofs are in docs/proofs/privacy.md, section 9. A measure of losses bounds a release's delta at
each epsilon, and measures of releases are convolved. Each error is one that makes the bound larger:
losses and masses are rounded up, and what is cut off is added to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .gaussian import theta
from .guarantees import double_above

__all__ = ["Concentrated", "Gaussian", "Laplace", "Part", "TwoPoints", "least_epsilon"]

Floats = NDArray[np.floating[Any]]

_FINE: Final = 2.0**-7  # the step of losses, in deviations of one of all draws
_STEP_BITS: Final = 26  # so that multiples of the step are exact
_MOST_LENGTH: Final = 2**20
_MOST_PARTS: Final = 256  # each takes a transform
_MOST_ATOMS: Final = 2**22  # of Gaussian noise: half a second
_CHUNK: Final = 2**16
_REST: Final = 32.0  # what is cut off has about e^-_REST of the rest
_BELOW: Final = 16.0  # the bound from a tilt is nearly always less than _BELOW / tilt too high
_POINTS: Final = 24  # tilts that are tried at once
_LEAST_TILT, _MOST_TILT = -4.0, 9.0  # logarithms to base 10, in units of 1 / deviation
_HALVINGS: Final = 44
_MOST_SQUARE: Final = 1e200
_MOST_ERROR: Final = 0.1  # what relative errors of all parts may add up to
_UNIT: Final = 2.0**-52
_FEW: Final = 1.0 + 16.0 * _UNIT  # covers the rounding of a few operations
_MOST_CORNERS: Final = 4096
_TINY: Final = 1e-300  # in the place of masses that are below doubles
_EXPONENT: Final = 700.0  # exponentials of it are doubles


class Measure(NamedTuple):
    """Masses at multiples of a step of losses, and one at infinity.

    Parameters
    ----------
    at
        (A,) int64, which multiples.
    masses
        (A,) their masses, above 0.
    infinite
        The mass at infinity.
    """

    at: NDArray[np.int64]
    masses: Floats
    infinite: float = 0.0


class Part(Protocol):
    """One independent draw, or one release, whose losses a measure bounds."""

    @property
    def spacing(self) -> float:
        """A number of which all losses are nearly multiples; 0 if there is none."""
        ...

    @property
    def mean_square(self) -> float:
        """About the mean of the squared loss."""
        ...

    def measure(self, step: float, rest: float) -> Measure:
        """Return the measure on multiples of a step; what has e^-rest may become infinite."""
        ...


@dataclass(frozen=True, slots=True)
class TwoPoints:
    """Any release that is epsilon-private: it has at most the losses of a randomised response."""

    epsilon: float

    @property
    def spacing(self) -> float:
        """The loss itself."""
        return self.epsilon

    @property
    def mean_square(self) -> float:
        """The square of both losses."""
        return self.epsilon * self.epsilon

    def measure(self, step: float, rest: float) -> Measure:
        """Return the measure."""
        return on_steps(
            np.array([self.epsilon, -self.epsilon]),
            np.array([_share(-self.epsilon), _share(self.epsilon)]) * _FEW,
            step,
        )


@dataclass(frozen=True, slots=True)
class Laplace:
    """A draw of discrete Laplace noise that neighbours shift by an integer."""

    scale: Fraction
    shift: int

    @property
    def spacing(self) -> float:
        """All losses are multiples of 1 / scale."""
        return float(1 / self.scale)

    @property
    def mean_square(self) -> float:
        """At most the square of the largest loss."""
        return float(Fraction(self.shift) / self.scale) ** 2

    def measure(self, step: float, rest: float) -> Measure:
        """Return the measure: the loss is (shift - 2 y) / scale for y from 0 to shift."""
        rate, y = float(1 / self.scale), np.arange(self.shift + 1)
        masses = np.exp(-rate * y) * (-math.expm1(-rate) / (1.0 + math.exp(-rate)))
        masses[[0, -1]] = _share(-rate), math.exp(-rate * self.shift) * _share(-rate)
        losses = (self.shift - 2 * y) * rate
        margin = _FEW + 4.0 * _UNIT * rate * self.shift
        return on_steps(losses, np.maximum(masses * margin, _TINY), step)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A draw of discrete Gaussian noise that neighbours shift by an integer."""

    sigma_squared: Fraction
    shift: int

    @property
    def spacing(self) -> float:
        """All losses are multiples of shift / (2 sigma^2)."""
        return float(self.shift / (2 * self.sigma_squared))

    @property
    def mean_square(self) -> float:
        """About the mean, as of continuous noise."""
        square = float(self.shift**2 / self.sigma_squared)
        return square + square**2 / 4.0

    def measure(self, step: float, rest: float) -> Measure:
        """Return the measure; the loss is (shift^2 - 2 shift y) / (2 sigma^2)."""
        rate, unit = float(1 / (2 * self.sigma_squared)), self.spacing
        most = farthest(self.sigma_squared, rest)
        total, dense = theta(rate), _Dense(step)
        for start in range(-most, most + 1, _CHUNK):
            y = np.arange(start, min(start + _CHUNK, most + 1), dtype=np.float64)
            masses = np.exp(-rate * y * y) * ((_FEW + 4.0 * _UNIT * rate * most**2) / total)
            dense.add(unit * (self.shift - 2.0 * y), np.maximum(masses, _TINY))
        tail = math.exp(-rest) * _FEW  # on each side
        dense.add(np.array([unit * (self.shift - 2.0 * most)]), np.array([tail]))
        return dense.measure(tail)


@dataclass(frozen=True, slots=True)
class Concentrated:
    """Any release that is zero-concentrated with rho."""

    rho: float

    @property
    def spacing(self) -> float:
        """None."""
        return 0.0

    @property
    def mean_square(self) -> float:
        """As of Gaussian noise."""
        return 2.0 * self.rho + self.rho * self.rho

    def measure(self, step: float, rest: float) -> Measure:
        """Return a measure whose bound is at least the conversion of rho at each corner.

        In exp(epsilon) the bound is linear between corners, and a release's delta is convex.
        """
        most = self.rho + 2.0 * math.sqrt(self.rho * rest)
        apart = max(1, math.ceil(2.0 * most / step / _MOST_CORNERS))
        last = max(1, math.ceil(most / step / apart))
        if last * apart * step > _EXPONENT:
            raise ValueError
        at = np.arange(-last, last + 1) * apart
        deltas = _deltas_of(self.rho, at * step)
        return _of_profile(at, step, deltas)


def least_epsilon(
    parts: Mapping[Part, int], infinite: Fraction, delta: float, most: float
) -> float:
    """Return an epsilon for which all parts together are (epsilon, delta)-private; or infinity.

    Parameters
    ----------
    parts
        Independent draws and releases, and how many there are of each.
    infinite
        The sum of the deltas of the releases, below delta.
    delta
        Within (0, 1).
    most
        An epsilon that holds in any case. A larger one is not looked for.

    Returns
    -------
    float
        At most ``most``, or infinity where the bound is not better, or there are too many parts.

    Notes
    -----
    The time is that of a transform of up to 2^20 numbers for each different part, and memory stays
    below 100 megabytes.
    """
    draws = sum(parts.values())
    square = sum(count * part.mean_square for part, count in parts.items())
    if infinite >= delta or len(parts) > _MOST_PARTS or not square < _MOST_SQUARE:
        return math.inf
    if delta < _TINY:  # products of masses and weights would be below doubles
        return math.inf
    if square == 0.0:
        return 0.0 if not parts else math.inf
    rest, step = _REST - math.log(delta) + math.log(draws), _FINE * math.sqrt(square / draws)
    leading = max(parts, key=lambda part: parts[part] * part.mean_square)
    for _ in range(3):
        aligned = _aligned(step, leading.spacing)
        if _atoms(parts, rest) > _MOST_ATOMS:
            return math.inf
        try:
            sums = _Sum(
                [(part.measure(aligned, rest), count) for part, count in parts.items()], aligned
            )
        except ValueError:
            return math.inf
        window = sums.window(infinite, delta, 1.0 / math.sqrt(square))
        if window is None:
            return math.inf
        if window.length <= _MOST_LENGTH:
            return sums.least(window, min(most, window.high), infinite, delta)
        step = aligned * (1.05 * window.length / _MOST_LENGTH)
    return math.inf


class _Window(NamedTuple):
    """The losses of all releases that are computed, and the tilt for which they are exact.

    Parameters
    ----------
    tilt
        Masses at a loss l are multiplied by exp(tilt l).
    low, high
        The least and the largest epsilon that are looked for.
    top
        The largest loss.
    beyond
        A bound of the mass above it.
    length
        Of the transforms.
    """

    tilt: float
    low: float
    high: float
    top: int
    beyond: float
    length: int


class _Sum:
    """The convolution of measures."""

    def __init__(self, measures: Sequence[tuple[Measure, int]], step: float) -> None:
        self.measures, self.step = measures, step
        self.largest = sum(int(one.at.max()) * count for one, count in measures)

    def log_moment(self, tilts: Floats) -> Floats:
        """Return the logarithm of the sum of all masses times exp(tilt loss), for each tilt."""
        total: Floats = np.zeros(tilts.shape)
        for one, count in self.measures:
            total += count * _log_moment(one, tilts * self.step)
        return np.asarray(total)

    def window(self, infinite: Fraction, delta: float, unit: float) -> _Window | None:
        """Return the window in which to look for the epsilon of a delta."""
        left = -math.log(-double_above(infinite - Fraction(delta)))

        def epsilon(tilts: Floats) -> Floats:
            log_factor = tilts * np.log(tilts) - (1.0 + tilts) * np.log1p(tilts)
            return np.asarray((self.log_moment(tilts) + log_factor + left) / tilts)

        exponents = _LEAST_TILT, _MOST_TILT
        tilt, high = _least(epsilon, unit * 10.0 ** exponents[0], unit * 10.0 ** exponents[1])
        own = self.log_moment(np.array([tilt]))[0]

        def top_of(more: Floats) -> Floats:
            return np.asarray((self.log_moment(tilt + more) - own + _REST) / more)

        more, above = _least(top_of, tilt * 1e-3, tilt * 1e3)
        if not (math.isfinite(high) and math.isfinite(above)) or high <= 0.0:
            return None
        top, beyond = math.ceil(above / self.step) + 1, 0.0
        if top >= self.largest:
            top = self.largest
        else:
            chance = self.log_moment(np.array([tilt + more]))[0] - (tilt + more) * top * self.step
            beyond = math.exp(min(0.0, chance + _UNIT * 64.0 * abs((tilt + more) * above)))
        low = max(0.0, high - max(above - high, _BELOW / tilt))
        width = max(top * self.step - low, 0.0) + (left + _REST) / tilt
        if not width / self.step < 2**40:
            return None
        length = 1 << max(6, math.ceil(math.log2(width / self.step + 4.0)))
        return _Window(float(tilt), low, float(high), top, beyond, length)

    def least(self, window: _Window, most: float, infinite: Fraction, delta: float) -> float:
        """Return the least epsilon in the window whose delta is small enough."""
        tilt, length, step = window.tilt, window.length, self.step
        with np.errstate(over="ignore", invalid="ignore"):
            product, error, scale = self._transformed(tilt, length)
        if not error <= _MOST_ERROR:
            return math.inf
        masses = np.fft.irfft(product, length)
        del product
        at = np.arange(window.top - length + 1, window.top + 1)
        losses = at * step
        kept = losses > window.low
        at, losses = at[kept], losses[kept]
        weights = masses[at % length]
        exponents = scale - tilt * losses
        if exponents.max(initial=-math.inf) > _EXPONENT:
            return math.inf
        rounding = 8.0 * _UNIT * (abs(scale) + tilt * abs(losses).max(initial=0.0) + length)
        if rounding > _MOST_ERROR:
            return math.inf
        untilted = np.exp(exponents)
        cut = sum(count * one.infinite for one, count in self.measures)
        outside = double_above(infinite) + window.beyond + 1.25 * cut

        def delta_of(epsilon: float) -> float:
            above = np.searchsorted(losses, epsilon)
            parts = untilted[above:] * -np.expm1(epsilon - losses[above:])
            # Plain sums: threads of a library for products would take longer to start.
            inside = float(np.sum(parts * weights[above:]))
            inside += error * _norm(parts)
            return float((max(inside, 0.0) + outside) * (1.0 + rounding))

        return _bisected(delta_of, window.low, most, delta)

    def _transformed(self, tilt: float, length: int) -> tuple[NDArray[np.complex128], float, float]:
        """Return the product of the transforms of tilted measures, its error, and its logarithm.

        The error bounds the Euclidean norm of the error of its inverse transform.
        """
        product = np.ones(length // 2 + 1, np.complex128)
        own = 16.0 * _UNIT * math.log2(length)  # of one transform, relative to the norm
        error, slack, scale = own, 0.0, 0.0
        for one, count in self.measures:
            log_sum = float(_log_moment(one, np.array([tilt * self.step]))[0])
            exponents = tilt * self.step * one.at
            rounding = 8.0 * _UNIT * (abs(exponents).max() + abs(log_sum) + 8.0 + one.at.size)
            masses = one.masses * np.exp(exponents - log_sum) * (1.0 + rounding)
            row = np.bincount(one.at % length, masses, length)
            product *= _power(np.fft.rfft(row), count)
            error += count * (own * float(np.linalg.norm(row)) + 16.0 * _UNIT)
            slack += count * (rounding + own * math.sqrt(length))
            scale += count * log_sum
        # All sums of masses are about 1, up to exp(slack), so no error grows by more than that.
        return product, error * math.exp(2.0 * slack) if slack < _MOST_ERROR else math.inf, scale


class _Dense:
    """A measure that is made from many atoms."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.at: list[NDArray[np.int64]] = []
        self.masses: list[Floats] = []

    def add(self, losses: Floats, masses: Floats) -> None:
        """Add atoms."""
        part = on_steps(losses, masses, self.step)
        self.at.append(part.at)
        self.masses.append(part.masses)

    def measure(self, infinite: float) -> Measure:
        """Return all atoms."""
        return _gathered(np.concatenate(self.at), np.concatenate(self.masses), infinite)


def on_steps(losses: Floats, masses: Floats, step: float) -> Measure:
    """Split atoms into two at the multiples of a step around them.

    Both masses, and both masses times exp(-loss), add up to those of the atom; all is rounded up.
    """
    above = losses + np.abs(losses) * (8.0 * _UNIT)
    at = np.floor(above / step)
    if at.size and np.abs(at).max() >= 2.0**_STEP_BITS:
        raise ValueError
    over = np.clip(above - at * step + np.abs(above) * (2.0 * _UNIT), 0.0, step)
    whole = -math.expm1(-step)
    upper = masses * (-np.expm1(-over) / whole) * _FEW
    lower = masses * (-np.expm1(over - step) * np.exp(-over) / whole) * _FEW
    both = np.concatenate([at, at + 1.0]).astype(np.int64)
    return _gathered(both, np.concatenate([lower, upper]), 0.0)


def farthest(sigma_squared: Fraction, rest: float) -> int:
    """Return beyond which number Gaussian noise has a chance of e^-rest on each side."""
    return math.isqrt(math.ceil(2 * sigma_squared * Fraction(rest))) + 1


def _atoms(parts: Iterable[Part], rest: float) -> float:
    """Return how many numbers noise takes, about."""
    total = 0.0
    for part in parts:
        if isinstance(part, Gaussian):
            total += 2 * farthest(part.sigma_squared, rest)
        elif isinstance(part, Laplace):
            total += part.shift
    return total


def _share(loss: float) -> float:
    """Return 1 / (1 + exp(loss)) with a small relative error."""
    return 1.0 / (1.0 + math.exp(loss)) if loss < _EXPONENT else math.exp(-_EXPONENT)


def _gathered(at: NDArray[np.int64], masses: Floats, infinite: float) -> Measure:
    """Return atoms in order, each place once."""
    if not at.size:
        return Measure(at, masses, infinite)
    first, length = int(at.min()), int(at.max() - at.min()) + 1
    if length > 8 * at.size + 1024:
        places, inverse = np.unique(at, return_inverse=True)
        total = np.bincount(inverse, masses) * (1.0 + at.size * _UNIT)
    else:
        total = np.bincount(at - first, masses, length) * (1.0 + at.size * _UNIT)
        places = np.arange(first, first + length)
    kept = total > 0.0
    return Measure(places[kept], total[kept], infinite)


def _log_moment(measure: Measure, tilts: Floats) -> Floats:
    """Return log of the sum of masses times exp(tilt at), for each tilt."""
    logs = np.log(measure.masses)
    found = np.empty(tilts.shape)
    for i, tilt in enumerate(tilts):
        exponents = tilt * measure.at + logs
        most = float(exponents.max())
        found[i] = most + math.log(np.exp(exponents - most).sum())
    return found


def _power(base: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """Return a power by repeated squares, whose relative errors are those of ``count`` products."""
    result: NDArray[np.complex128] | None = None
    while True:
        if count & 1:
            result = base.copy() if result is None else result * base
        count >>= 1
        if not count:
            assert result is not None
            return result
        base = base * base


def _aligned(step: float, spacing: float) -> float:
    """Return a step of few bits, of which a larger spacing is nearly a multiple."""
    if spacing > step:
        step = spacing / math.ceil(spacing / step)
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.ceil(math.ldexp(mantissa, _STEP_BITS)), exponent - _STEP_BITS)


def _least(function: Callable[[Floats], Floats], low: float, high: float) -> tuple[float, float]:
    """Return about where a function with one minimum is least, and its value there."""
    for _ in range(2):
        points = np.geomspace(low, high, _POINTS)
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.nan_to_num(function(points), nan=math.inf)
        at = int(np.argmin(values))
        low, high = points[max(at - 1, 0)], points[min(at + 1, _POINTS - 1)]
    return float(points[at]), float(values[at])


def _norm(vector: Floats) -> float:
    """Return the Euclidean norm of numbers whose squares may be below doubles."""
    most = float(np.max(np.abs(vector), initial=0.0))
    return most * math.sqrt(float(np.sum((vector / most) ** 2))) if most else 0.0


def _bisected(delta_of: Callable[[float], float], low: float, most: float, delta: float) -> float:
    """Return about the least epsilon with a small enough delta, for which that was computed."""
    if delta_of(low) <= delta:
        return low
    if low >= most or not delta_of(most) <= delta:  # NaN is no bound
        return math.inf
    high = most
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2.0
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
        if high - low <= high * 2.0**-40:
            break
    return high


def _deltas_of(rho: float, epsilons: Floats) -> Floats:
    """Return what rho implies at each epsilon, rounded up; below 0, by the other order."""
    own = np.abs(epsilons)
    low, high = np.full(own.shape, -80.0), np.full(own.shape, 80.0)  # logarithms of x = alpha - 1
    for _ in range(60):
        middle = (low + high) / 2.0
        x = np.exp(middle)
        is_below = (1.0 + 2.0 * x) * rho - np.log1p(1.0 / x) < own
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    x = np.exp(low)
    terms = [x * rho, x * rho * x, -x * own, -x * np.log1p(1.0 / x), -np.log1p(x)]
    exponents = sum(terms) + 16.0 * _UNIT * sum(np.abs(term) for term in terms)
    deltas = np.minimum(np.exp(np.minimum(exponents, 0.0)) * _FEW, 1.0)
    swapped = -np.expm1(-own) + np.exp(-own) * deltas
    return np.asarray(np.where(epsilons < 0.0, np.minimum(swapped * _FEW, 1.0), deltas))


def _of_profile(at: NDArray[np.int64], step: float, deltas: Floats) -> Measure:
    """Return a measure whose bounds are at least the given deltas at the corners.

    It is that of the convex hull of the points (exp(epsilon), delta), and of (0, 1).
    """
    rises = np.expm1(at * step)  # exp(epsilon) - 1, which keeps all digits of small epsilons
    corners = [(-1.0, 1.0, -1)]
    for i, point in enumerate(zip(rises.tolist(), deltas.tolist(), strict=True)):
        while len(corners) > 1 and _turns_down(corners[-2], corners[-1], point):
            corners.pop()
        corners.append((*point, i))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)] + [0.0]
    inner = corners[1:]
    places = at[[corner[2] for corner in inner]]
    heights, infinite = np.exp(places * step), float(deltas[-1])
    masses = heights * np.maximum(np.diff(slopes), 0.0)
    # The bounds at the corners, from the last one down: sums of positive numbers.
    steeper = np.cumsum((masses / heights)[:0:-1])[::-1]
    gains = heights[:-1] * np.expm1(np.diff(places) * step) * steeper
    bounds = np.append(np.cumsum(gains[::-1])[::-1], 0.0) * (1.0 - 1e-8)
    needed = np.array([corner[1] for corner in inner]) - infinite
    if np.any((needed > 0.0) & ~(bounds > 0.0)):
        raise ValueError
    most = float(np.max(needed[needed > 0.0] / bounds[needed > 0.0], initial=1.0))
    kept = masses > 0.0
    return Measure(places[kept], masses[kept] * most, infinite)


def _turns_down(first: Sequence[Any], second: Sequence[Any], third: Sequence[Any]) -> bool:
    """Return whether the second of three points is not below the line through the others."""
    rise = (second[1] - first[1]) * (third[0] - first[0])
    return bool(rise >= (third[1] - first[1]) * (second[0] - first[0]))
