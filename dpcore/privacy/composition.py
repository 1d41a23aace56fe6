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
from .guarantees import Privacy, common_relation, concentrated, double_above
from .loss_distributions import Concentrated, Part, TwoPoints, least_epsilon
from .losses import Losses, ShiftedNoise, parts_of

__all__ = ["Sums", "composed", "total"]

_WHAT: Final = "must be Privacy or Losses values"
_WORTH_A_DELTA: Final = 0.999  # hardly less than a pure epsilon is not worth one
_MOST_CUTS: Final = 32  # the largest number of cuts that are tried
_UNIT_BITS: Final = 1074  # all finite doubles are whole multiples of 2^-1074


class Sums(NamedTuple):
    """Exact sums over releases, as both filters of ``Budget`` need them.

    Parameters
    ----------
    epsilon
        The sum of epsilons, over releases that have one.
    concentrated
        The sum of rhos, and of epsilon^2 / 2 where a release has no rho.
    delta
        The sum of all deltas.
    delta_of_rho
        The sum of the deltas that the rhos need: all but those of releases that have both an
        epsilon and a rho.
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
    delta_of_rho: Fraction = Fraction(0)
    unlimited: bool = False
    simulated: bool = False
    releases: int = 0

    def plus(self, privacy: Privacy, count: int = 1) -> Sums:
        """Return the sums with ``count`` more releases of this guarantee."""
        if privacy.epsilon == math.inf:
            raise ParameterError(
                "privacy", privacy, "must be finite: an infinite epsilon guarantees nothing"
            )
        rho, delta_of_rho = concentrated(privacy)
        return Sums(
            self.epsilon + count * Fraction(privacy.epsilon or 0),
            self.concentrated + count * rho,
            self.delta + count * Fraction(privacy.delta),
            self.delta_of_rho + count * Fraction(delta_of_rho),
            self.unlimited or privacy.epsilon is None,
            self.simulated or privacy.simulated,
            self.releases + count,
        )


def total(costs: Iterable[tuple[float | None, float, float | None, bool]]) -> Sums:
    """Return the sums that ``Sums.plus`` gives, for many costs; each takes a few microseconds.

    Parameters
    ----------
    costs
        Epsilon, delta, rho and simulated, as in ``Privacy``. All must be finite.
    """
    epsilons = halves = deltas = needed = releases = 0  # in units of 2^-1074, and halves in 2^-2149
    unlimited = simulated = False
    for epsilon, delta, rho, is_simulated in costs:
        units = 0 if epsilon is None else _units(epsilon)
        epsilons += units
        halves += units * units if rho is None else _units(rho) << (_UNIT_BITS + 1)
        deltas += _units(delta)
        needed += _units(delta) if epsilon is None or rho is None else 0
        unlimited = unlimited or epsilon is None
        simulated = simulated or is_simulated
        releases += 1
    one = 1 << _UNIT_BITS
    exact = Fraction(epsilons, one), Fraction(halves, 2 * one * one)
    return Sums(
        *exact, Fraction(deltas, one), Fraction(needed, one), unlimited, simulated, releases
    )


def _units(value: float) -> int:
    """Return a finite double as a multiple of 2^-1074."""
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_UNIT_BITS + 1 - denominator.bit_length())


def composed(guarantees: Iterable[Privacy | Losses], delta: float) -> Privacy:
    """Return the joint cost of releases from the same records: the least epsilon at a delta.

    Parameters
    ----------
    guarantees
        The guarantees of the releases, for one relation; or their ``Losses``, which mechanisms tell
        (``losses_for``), and which cost less. They must be **fixed in advance**: the releases and
        their guarantees must not depend on the outputs of earlier releases. Only their order may,
        and what they ask. If more does, use ``sum`` or a ``Budget``.
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
    The result is the least of three. One is basic composition. The second is zero-concentrated
    composition of some releases, each with its rho (epsilon^2 / 2 if it states none), while the
    epsilons of the others add up. The third convolves privacy loss distributions: those of the
    noise that ``Losses`` state, of a randomised response in the place of each epsilon, and of all
    other rhos together. Each number is rounded so that the result holds (docs/proofs/privacy.md,
    section 9).

    It takes a transform of up to 2^20 numbers for each different guarantee; from 256 different ones
    on, beyond 2^40 releases, and for deltas below 1e-300, there is no third way.

    Examples
    --------
    >>> from dpcore import Privacy
    >>> from dpcore.mechanisms import Hierarchy
    >>> from dpcore.privacy import composed
    >>> guarantees = 100 * [Privacy(0.05)]
    >>> round(sum(guarantees).epsilon, 3), round(composed(guarantees, 1e-6).epsilon, 3)
    (5.0, 2.208)
    >>> tree = Hierarchy(epsilon=1.0, branching=2, budgets="equal")
    >>> round(composed(10 * [tree.losses_for(32)], 1e-6).epsilon, 2)
    4.77
    """
    given = _check.items("guarantees", guarantees, _WHAT)
    most = probability("delta", delta)
    for one in given:
        _check.instance("guarantees", one, Privacy | Losses, _WHAT)
    if not given:
        raise ParameterError("guarantees", [], "must hold at least one")
    noise = Counter(one.noise for one in given if isinstance(one, Losses))
    known = [one.privacy if isinstance(one, Losses) else one for one in given]
    counts = Counter((guarantee, guarantee.rho) for guarantee in known)  # equal ones may differ
    relation, sums = known[0].neighbours, Sums()
    for (guarantee, _), count in counts.items():
        common = common_relation(relation, guarantee.neighbours)
        if common is None:
            raise ParameterError("guarantees", guarantee, f"must all be for {relation!r}")
        relation, sums = common, sums.plus(guarantee, count)
    if min(sums.delta, sums.delta_of_rho) > most:
        least = double_above(min(sums.delta, sums.delta_of_rho))
        raise ParameterError("delta", delta, f"must be at least {least}, the sum of all")
    finer = double_above(sums.concentrated)
    rho = None if sums.delta_of_rho or math.isinf(finer) else finer
    basic = math.inf if sums.unlimited or sums.delta > most else double_above(sums.epsilon)
    least = min(_least_of_cuts(counts, sums, most), _converted(sums, most))
    plain = [one.privacy if isinstance(one, Losses) else one for one in given if not _noise_of(one)]
    least = min(least, _convolved(noise, plain, most, min(least, basic * _WORTH_A_DELTA)))
    if least < basic:
        return Privacy(least, most, relation, sums.simulated, rho)
    if math.isinf(basic):
        rho = None
    return Privacy(basic, double_above(sums.delta), relation, sums.simulated, rho)


def _noise_of(one: Privacy | Losses) -> tuple[ShiftedNoise, ...] | None:
    return one.noise if isinstance(one, Losses) else None


def _convolved(
    noise: Counter[tuple[ShiftedNoise, ...] | None],
    plain: list[Privacy],
    delta: float,
    known: float,
) -> float:
    """Return the least epsilon by privacy loss distributions, or infinity.

    A release with an epsilon and a rho counts with either, and all such releases with the same.
    """
    draws: Counter[Part] = Counter()
    for shifted, count in noise.items():
        for part, times in parts_of(shifted or ()):
            draws[part] += count * times
    found = math.inf
    for by_rho in (False, True) if any(map(_states_both, plain)) else (False,):
        parts, rho, infinite = draws.copy(), Fraction(0), Fraction(0)
        for one in plain:
            if one.epsilon is None or (by_rho and one.rho is not None):
                own, needed = concentrated(one)
                rho, infinite = rho + own, infinite + Fraction(needed)
            else:
                parts[TwoPoints(one.epsilon)] += one.epsilon > 0.0
                infinite += Fraction(one.delta)
        if rho:
            parts[Concentrated(double_above(rho))] += 1
        found = min(found, least_epsilon(+parts, infinite, delta, min(known, found)))
    return found


def _states_both(privacy: Privacy) -> bool:
    return privacy.epsilon is not None and privacy.rho is not None


def _converted(sums: Sums, delta: float) -> float:
    """Return the epsilon of the sum of all rhos, or infinity."""
    left, rho = -double_above(sums.delta_of_rho - Fraction(delta)), double_above(sums.concentrated)
    return zcdp_epsilon(rho, left) if left > 0.0 and 0.0 < rho < math.inf else math.inf


def _least_of_cuts(
    counts: Counter[tuple[Privacy, float | None]], sums: Sums, delta: float
) -> float:
    """Return the least epsilon if some of the releases with an epsilon are converted with rho."""
    left = -double_above(sums.delta - Fraction(delta))
    if left <= 0.0:
        return math.inf
    rho, rest, parts = Fraction(0), sums.epsilon, [(Fraction(0), Fraction(0))]
    for (guarantee, _), count in counts.items():
        own, epsilon = count * concentrated(guarantee)[0], count * Fraction(guarantee.epsilon or 0)
        if guarantee.epsilon is None:
            rho += own
        elif epsilon:
            parts.append((own, epsilon))
    parts[1:] = sorted(parts[1:], key=lambda part: part[0] / part[1])
    least, step = math.inf, max(1, math.ceil((len(parts) - 1) / _MOST_CUTS))
    for at, (own, epsilon) in enumerate(parts):
        rho, rest = rho + own, rest - epsilon
        above = double_above(rho)
        if 0.0 < above < math.inf and (at % step == 0 or at == len(parts) - 1):
            converted = Fraction(zcdp_epsilon(above, left))
            least = min(least, double_above(rest + converted))
    return least
