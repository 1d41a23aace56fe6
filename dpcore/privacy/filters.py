"""Filters: which further release a cap admits, given the sums of all releases before it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from .composition import Sums
from .concentrated import zcdp_rho
from .guarantees import Privacy, concentrated, double_above

__all__ = ["Cap", "Composition"]

Composition = Literal["basic", "zero-concentrated"]
"""How the costs of several releases add up against a cap on epsilon and delta."""

_TOLERANCE: Final = 1 + Fraction(1, 10**12)  # so that ten times 0.1 fit into 1
_NOTHING: Final = Fraction(1, 10**12)  # a smaller part of a cap is left by rounding alone


class Cap(NamedTuple):
    """A limit on the joint cost of releases, and how their costs add up.

    Parameters
    ----------
    limit
        The joint guarantee of all releases, with epsilon or with rho.
    composition
        "basic", or for an epsilon with a delta "zero-concentrated": see ``Budget``.

    Notes
    -----
    docs/guides/budget.md, section 2, has the proofs.
    """

    limit: Privacy
    composition: Composition = "basic"

    @property
    def has_both(self) -> bool:
        """Whether releases add up in epsilon and in rho, and either sum may fit."""
        return self.composition == "zero-concentrated"

    @property
    def rho(self) -> float | None:
        """The limit on the sum of rhos; None if only epsilons count."""
        if self.has_both:
            assert self.limit.epsilon is not None
            return _implying(self.limit.epsilon, self.limit.delta)
        return self.limit.rho

    def admits(self, sums: Sums) -> bool:
        """Return whether all releases together keep the limit, up to one part in 10^12."""
        # With both units, nothing but the conversion of rho may fail.
        delta = Fraction(0 if self.has_both else self.limit.delta) * _TOLERANCE
        if self.rho is not None and sums.delta_of_rho <= delta:
            fits = sums.concentrated <= Fraction(self.rho) * _TOLERANCE
            if fits or not self.has_both:
                return fits
        if self.limit.epsilon is None or sums.unlimited or sums.delta > delta:
            return False
        return sums.epsilon <= Fraction(self.limit.epsilon) * _TOLERANCE

    def spent(self, sums: Sums) -> Privacy:
        """Return the joint cost of releases that are admitted, rounded up."""
        about = self.limit.neighbours
        rho = double_above(sums.concentrated)
        epsilon, delta = double_above(sums.epsilon), double_above(sums.delta)
        # Deltas of releases that have a rho, too, may add up to more than a guarantee has.
        if self.limit.epsilon is None or sums.unlimited or delta >= 1.0:
            delta = double_above(sums.delta_of_rho)
            return Privacy(None, delta, about, sums.simulated, rho)
        finer = None if sums.delta_of_rho or math.isinf(rho) else rho
        return Privacy(epsilon, delta, about, sums.simulated, finer)

    def left(self, sums: Sums, releases: int = 1) -> Privacy:
        """Return what each of some further equal releases may cost, rounded down.

        Of both units, a release may keep the one or the other.
        """
        limit, rho = self.limit, None
        if self.rho is not None:
            spent_delta, rho = sums.delta_of_rho, _part(self.rho, sums.concentrated, releases)
        else:
            spent_delta = sums.delta
        delta = 0.0 if self.has_both else _part(limit.delta, spent_delta, releases)
        if limit.epsilon is None:
            return Privacy(None, delta, limit.neighbours, rho=rho)
        is_pure = not (sums.unlimited or (self.has_both and sums.delta))
        epsilon = _part(limit.epsilon, sums.epsilon, releases) if is_pure else 0.0
        if rho is not None:
            # One step up, so that epsilon^2 / 2 is above rho, and both are stated.
            epsilon = max(epsilon, math.nextafter(math.sqrt(2.0 * rho), math.inf) if rho else 0.0)
        return Privacy(epsilon, delta, limit.neighbours, rho=rho)

    def why_not(self, privacy: Privacy, sums: Sums) -> str:
        """Return why no release of this kind is admitted, or what else would admit it; or nothing.

        ``sums`` are those with the release.
        """
        limit, (_, needed) = self.limit, concentrated(privacy)
        if self.has_both:
            what = "zero-concentrated composition admits no release with a delta of its own"
            return what if needed else ""
        if privacy.epsilon is None and limit.epsilon is not None:
            what = "a zero-concentrated release needs a budget with rho or "
            return what + "with composition='zero-concentrated': see docs/guides/budget.md"
        why = []
        if (privacy.delta if limit.rho is None else needed) > limit.delta:
            why.append("a release with a delta needs a budget with at least that delta")
        other = Cap(limit, "zero-concentrated")
        if limit.epsilon is not None and limit.delta and other.admits(sums):
            why.append("a budget with composition='zero-concentrated' would admit it")
        return "; ".join(why)


@lru_cache(maxsize=256)
def _implying(epsilon: float, delta: float) -> float:
    """Return ``zcdp_rho``, cached, because each charge asks for it."""
    return zcdp_rho(epsilon, delta)


def _part(cap: float, spent: Fraction, releases: int) -> float:
    """Return an equal part of the rest of a cap, rounded down; 0 if only rounding left it."""
    rest = Fraction(cap) - spent
    return -double_above(-rest / releases) if rest > Fraction(cap) * _NOTHING else 0.0
