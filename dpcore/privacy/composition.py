"""What several releases from the same records cost together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from .. import _check
from ..errors import ParameterError
from .concentrated import probability, zcdp_epsilon
from .guarantees import Privacy, common_relation, double_above

__all__ = ["Sums", "composed", "total"]

_MOST_CUTS: Final = 32  # the largest number of cuts that are tried
_UNIT_BITS: Final = 1074  # all finite doubles are whole multiples of 2^-1074


class Sums(NamedTuple):
    """Exact sums over releases, as both filters of ``Budget`` need them.

    Parameters
    ----------
    epsilon
        The sum of epsilons, over releases that have one.
    concentrated
        The sum of rhos, and of epsilon^2 / 2 where a release has an epsilon.
    delta
        The sum of all deltas.
    unlimited
        Whether some release has no epsilon.
    simulated
        Whether some release has noise of a seeded generator.
    releases
        The number of releases.
    """

    epsilon: Fraction = Fraction(0)
    concentrated: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    unlimited: bool = False
    simulated: bool = False
    releases: int = 0

    def plus(self, privacy: Privacy, count: int = 1) -> Sums:
        """Return the sums with ``count`` more releases of this guarantee."""
        if privacy.rho is not None:
            epsilon, rho, unlimited = Fraction(0), Fraction(privacy.rho), True
        else:
            assert privacy.epsilon is not None
            if math.isinf(privacy.epsilon):
                raise ParameterError(
                    "privacy", privacy, "must be finite: an infinite epsilon guarantees nothing"
                )
            epsilon, unlimited = Fraction(privacy.epsilon), False
            rho = epsilon**2 / 2
        return Sums(
            self.epsilon + count * epsilon,
            self.concentrated + count * rho,
            self.delta + count * Fraction(privacy.delta),
            self.unlimited or unlimited,
            self.simulated or privacy.simulated,
            self.releases + count,
        )

    def fit(self, cap: Privacy, tolerance: Fraction) -> bool:
        """Return whether a cap admits the sums, up to a factor."""
        if self.delta > Fraction(cap.delta) * tolerance:
            return False
        if cap.rho is not None:
            return self.concentrated <= Fraction(cap.rho) * tolerance
        assert cap.epsilon is not None
        return not self.unlimited and self.epsilon <= Fraction(cap.epsilon) * tolerance

    def guarantee(self, cap: Privacy) -> Privacy:
        """Return the joint cost, rounded up, in the terms of a cap that admits it."""
        delta = double_above(self.delta)
        if cap.rho is not None:
            rho = double_above(self.concentrated)
            return Privacy(None, delta, cap.neighbours, self.simulated, rho)
        return Privacy(double_above(self.epsilon), delta, cap.neighbours, self.simulated)

    def left(self, cap: Privacy) -> Privacy:
        """Return what a cap still admits, rounded down."""
        delta = _left(cap.delta, self.delta)
        if cap.rho is not None:
            rho = _left(cap.rho, self.concentrated)
            return Privacy(None, delta, cap.neighbours, rho=rho)
        assert cap.epsilon is not None
        return Privacy(_left(cap.epsilon, self.epsilon), delta, cap.neighbours)


def total(costs: Iterable[tuple[float | None, float, float | None, bool]]) -> Sums:
    """Return the sums that ``Sums.plus`` gives, for many costs; each takes a few microseconds.

    Parameters
    ----------
    costs
        Epsilon, delta, rho and simulated, as in ``Privacy``. All must be finite.
    """
    epsilons = halves = deltas = releases = 0  # in units of 2^-1074, and halves in 2^-2149
    unlimited = simulated = False
    for epsilon, delta, rho, is_simulated in costs:
        if rho is not None:
            halves += _units(rho) << (_UNIT_BITS + 1)
            unlimited = True
        else:
            assert epsilon is not None
            units = _units(epsilon)
            epsilons += units
            halves += units * units
        deltas += _units(delta)
        simulated = simulated or is_simulated
        releases += 1
    one = 1 << _UNIT_BITS
    exact = Fraction(epsilons, one), Fraction(halves, 2 * one * one), Fraction(deltas, one)
    return Sums(*exact, unlimited, simulated, releases)


def _units(value: float) -> int:
    """Return a finite double as a multiple of 2^-1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_UNIT_BITS + 1 - denominator.bit_length())


def composed(guarantees: Iterable[Privacy], delta: float) -> Privacy:
    """Return the joint cost of releases from the same records: the least epsilon at a delta.

    Parameters
    ----------
    guarantees
        The guarantees of the releases, for one relation. They must be **fixed in advance**: the
        releases and their guarantees must not depend on the outputs of earlier releases. If they
        do, use ``sum`` or a ``Budget``.
    delta
        The largest delta of the result, within (0, 1).

    Returns
    -------
    Privacy
        A guarantee whose delta is at most the given one.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, the deltas of the releases add up to more than delta, or a
        release has an infinite epsilon.

    Notes
    -----
    The result is the smaller of two. One is basic composition. The other is zero-concentrated
    composition of all epsilons up to some cut, each with epsilon^2 / 2, while the larger epsilons
    add up. The function tries cuts: the sum is linear, and the conversion concave, in the converted
    part, so some cut among the sorted epsilons is best (docs/guides/budget.md, section 3). The
    optimal composition of Kairouz, Oh & Viswanath (2015) may be smaller for few releases.

    Examples
    --------
    >>> from dpcore import Privacy
    >>> from dpcore.privacy import composed
    >>> guarantees = 100 * [Privacy(0.05)]
    >>> round(sum(guarantees).epsilon, 3), round(composed(guarantees, 1e-6).epsilon, 3)
    (5.0, 2.419)
    """
    given = _check.items("guarantees", guarantees, "must be Privacy values")
    most = probability("delta", delta)
    for guarantee in given:
        _check.instance("guarantees", guarantee, Privacy, "must be Privacy values")
    counts = Counter(given)
    if not counts:
        raise ParameterError("guarantees", [], "must hold at least one")
    relation = next(iter(counts)).neighbours
    sums = Sums()
    for guarantee, count in counts.items():
        common = common_relation(relation, guarantee.neighbours)
        if common is None:
            raise ParameterError("guarantees", guarantee, f"must all be for {relation!r}")
        relation, sums = common, sums.plus(guarantee, count)
    if sums.delta > most:
        raise ParameterError(
            "delta", delta, f"must be at least {double_above(sums.delta)}, the sum of all"
        )
    best = math.inf if sums.unlimited else double_above(sums.epsilon)
    least = Privacy(best, double_above(sums.delta), relation, sums.simulated)
    left = -double_above(sums.delta - Fraction(most))
    if left > 0.0:
        rho = sum((n * Fraction(p.rho) for p, n in counts.items() if p.rho), Fraction(0))
        sizes = sorted((Fraction(p.epsilon), n) for p, n in counts.items() if p.epsilon is not None)
        epsilon = _least_of_cuts(sizes, sums.epsilon, rho, left)
        if epsilon < best:
            return Privacy(epsilon, most, relation, sums.simulated)
    return least


def _least_of_cuts(
    sizes: list[tuple[Fraction, int]], rest: Fraction, rho: Fraction, delta: float
) -> float:
    """Return the least epsilon if some of the smallest epsilons are converted with rho."""
    least, step = math.inf, max(1, math.ceil(len(sizes) / _MOST_CUTS))
    for at, (size, count) in enumerate([(Fraction(0), 0), *sizes]):
        rho, rest = rho + count * size**2 / 2, rest - count * size
        if rho > 0 and (at % step == 0 or at == len(sizes)):
            converted = Fraction(zcdp_epsilon(double_above(rho), delta))
            least = min(least, double_above(rest + converted))
    return least


def _left(cap: float, spent: Fraction) -> float:
    """Return the rest of a cap, rounded down, and at least 0."""
    return max(0.0, -double_above(spent - Fraction(cap)))
