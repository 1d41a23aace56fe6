"""What a mechanism may spend, and the law of the noise for a share of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from .. import _check
from ..errors import ParameterError
from ..noise.laws import DiscreteGaussian, DiscreteLaplace, rounded_up
from .guarantees import Neighbours, Privacy, double_above, zcdp_rho

__all__ = ["Allowance", "Law", "refuse_beside_mechanism", "rho_of", "rho_of_choice"]

Law = DiscreteLaplace | DiscreteGaussian

_MOST_SCALE: Final = 2**40  # sums of dozens of terms fit 64 bits easily
_MOST_SIGMA_SQUARED: Final = 2**52  # the same, and the largest that the sampler takes
_LEAST_SCALE: Final = Fraction(1, 2**22)  # such noise is nearly always 0; samplers take this scale


@dataclass(frozen=True, slots=True)
class Allowance:
    """Pure epsilon (discrete Laplace noise) or zero-concentrated rho (discrete Gaussian noise).

    Parameters
    ----------
    epsilon, rho
        Exactly one of them.
    neighbours
        The relation that the mechanism protects.
    stated
        The (epsilon, delta) from which rho was converted, or None. It is the guarantee of the whole
        release. A mechanism with a proof for (epsilon, delta) may spend another rho.
    """

    epsilon: Fraction | None
    rho: Fraction | None
    neighbours: Neighbours
    stated: tuple[Fraction, float] | None = None

    @classmethod
    def checked(
        cls, epsilon: object, rho: object, neighbours: Neighbours, delta: object = None
    ) -> Allowance:
        """Return the allowance that a mechanism's arguments state, or raise.

        Epsilon with delta becomes the largest rho that implies it (docs/proofs/privacy.md, section
        2). Some mechanisms need less noise with the analytic formula (``lattice``,
        ``whole_counts``).
        """
        if epsilon is None and rho is None:
            needed = "or rho must be given" if delta is None else "must be given beside delta"
            raise ParameterError("epsilon", None, f"{needed}: write epsilon=1.0")
        if epsilon is not None and rho is not None:
            raise ParameterError("rho", rho, "must not be given beside epsilon")
        if delta is not None and epsilon is None:
            raise ParameterError("delta", delta, "must not be given without epsilon")
        _check.choice("neighbours", neighbours, Neighbours)
        if delta is not None:
            exact, chance = _check.fraction("epsilon", epsilon), _check.finite("delta", delta)
            below = _check.positive("epsilon", epsilon)
            if below > exact:
                below = math.nextafter(below, 0.0)
            return cls(None, _implying(below, chance), neighbours, (exact, chance))
        if epsilon is not None:
            return cls(_check.fraction("epsilon", epsilon), None, neighbours)
        return cls(None, _check.fraction("rho", rho), neighbours)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of spending the whole allowance, rounded up to doubles."""
        if self.stated is not None:
            epsilon, delta = self.stated
            return Privacy(double_above(epsilon), delta, self.neighbours)
        if self.epsilon is not None:
            return Privacy(double_above(self.epsilon), neighbours=self.neighbours)
        assert self.rho is not None
        return Privacy(rho=double_above(self.rho), neighbours=self.neighbours)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a mechanism that spends it: doubles if they are exact."""
        budget, delta = (self.epsilon, None) if self.stated is None else self.stated
        return {
            "epsilon": _double_if_exact(budget),
            "rho": None if self.stated is not None else _double_if_exact(self.rho),
            "neighbours": self.neighbours,
            "delta": delta,
        }

    @property
    def pure(self) -> Allowance | None:
        """For (epsilon, delta), the same epsilon without the delta; otherwise None."""
        if self.stated is None:
            return None
        return Allowance(self.stated[0], None, self.neighbours)

    def times(self, factor: float) -> Allowance:
        """Return a multiple of the allowance; of (epsilon, delta), the delta stays."""
        given = self.arguments
        name = "rho" if given["rho"] is not None else "epsilon"
        return Allowance.checked(**given | {name: float(given[name]) * factor})

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is the same for neighbours."""
        return self.neighbours == "replace-one"

    @property
    def moved(self) -> int:
        """In how many of several disjoint cells neighbours can differ, by one in each."""
        return 2 if self.total_is_public else 1

    @property
    def power(self) -> float:
        """The power of a share to which the noise's variance is inversely proportional."""
        return 2.0 if self.epsilon is not None else 1.0

    def signal(self, n: int) -> float:
        """Return n epsilon; for rho, take the epsilon whose noise has the same variance."""
        if self.epsilon is not None:
            return n * float(self.epsilon)
        assert self.rho is not None
        return n * math.sqrt(8.0 * float(self.rho))

    def law(self, changes: Fraction | int, share: Fraction = Fraction(1)) -> Law:
        """Return the noise for counts in which neighbours differ, for a share of the allowance.

        Parameters
        ----------
        changes
            For Laplace noise, the largest sum of absolute differences. For Gaussian noise, the
            largest sum of squared differences.
        share
            The share of the allowance, above 0 and up to 1.

        Raises
        ------
        ParameterError
            The scale would exceed 2^40, or sigma^2 would exceed 2^52; or ``changes`` is negative,
            so it is no sum of differences, and no noise would hide a record.

        Notes
        -----
        Dwork & Roth 2014, Theorem 3.6 (its discrete form), and Canonne, Kamath & Steinke 2020,
        Theorem 4: scale = changes / (share epsilon), and sigma^2 = changes / (2 share rho). Both
        are rounded up to 31 bits, so the cost is never more than the share.
        """
        if changes < 0:
            raise ParameterError("changes", changes, "must not be negative")
        if self.epsilon is not None:
            scale = changes / (share * self.epsilon)
            if scale > _MOST_SCALE:
                raise self._too_small(f"noise scale exceeds {_MOST_SCALE}")
            return DiscreteLaplace(rounded_up(max(scale, _LEAST_SCALE)))
        assert self.rho is not None
        return self.gaussian(changes / (2 * share * self.rho))

    def gaussian(self, sigma_squared: Fraction) -> DiscreteGaussian:
        """Return noise of this variance, rounded up to 31 bits, or refuse the allowance."""
        if sigma_squared > _MOST_SIGMA_SQUARED:
            raise self._too_small(f"sigma^2 exceeds {_MOST_SIGMA_SQUARED}, in units of the lattice")
        return DiscreteGaussian(rounded_up(max(sigma_squared, _LEAST_SCALE)))

    def describe(self) -> dict[str, str | int | float]:
        """Return the parameters that are set, in the form in which a release records them."""
        if self.stated is not None:
            return {"epsilon": float(self.stated[0]), "delta": self.stated[1]}
        if self.epsilon is not None:
            return {"epsilon": float(self.epsilon)}
        assert self.rho is not None
        return {"rho": float(self.rho)}

    def _too_small(self, why: str) -> ParameterError:
        name, value = next(iter(self.describe().items()))
        return ParameterError(name, value, f"is too small: {why}")


def rho_of(law: Law | None, squares: Fraction | int) -> Fraction:
    """Return the rho of noise on integers whose squared differences add up to ``squares`` at most.

    A difference of d in Laplace noise of scale s is (d / s)-private, and so has rho = (d / s)^2 / 2
    (Bun & Steinke 2016, Proposition 1.4). Gaussian noise has d^2 / (2 sigma^2) (Canonne, Kamath &
    Steinke 2020, Theorem 4). Rhos add up. None is no noise on what does not change.
    """
    if law is None:
        return Fraction(0)
    unit = law.scale**2 if isinstance(law, DiscreteLaplace) else law.sigma_squared
    return Fraction(squares) / (2 * unit)


def rho_of_choice(epsilon: Fraction) -> Fraction:
    """Return the rho of a draw by the exponential mechanism, a quarter of epsilon^2 / 2.

    Between neighbours, logarithms of weights change by numbers within an interval of length epsilon
    (Cesar & Rogers, *Bounding, concentrating, and truncating*, 2021; docs/proofs/selection.md).
    """
    return epsilon**2 / 8


def refuse_beside_mechanism(**stated: object) -> None:
    """Refuse a budget that is stated a second time, beside a mechanism, which states its own."""
    for name, value in stated.items():
        if value is not None:
            raise ParameterError(name, value, "must not be given with a mechanism")


def _double_if_exact(number: Fraction | None) -> float | Fraction | None:
    if number is None:
        return None
    double = double_above(number)
    return double if double == number else number


@lru_cache(maxsize=256)
def _implying(epsilon: float, delta: float) -> Fraction:
    """Return ``zcdp_rho``, cached, because a mechanism asks for its allowance again and again."""
    return Fraction(zcdp_rho(epsilon, delta))
