"""The guarantee of a release: its parameters, its neighbours, and whether its noise is real."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from .concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from .gaussian import discrete_gaussian_delta, gaussian_delta, gaussian_sigma

__all__ = [
    "Neighbours",
    "Privacy",
    "Relation",
    "discrete_gaussian_delta",
    "double_above",
    "gaussian_delta",
    "gaussian_sigma",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]

Neighbours = Literal["replace-one", "add-or-remove-one"]
"""The relations of a curator's mechanisms: one record is replaced, or it is added or removed."""

Relation = Literal[Neighbours, "replace-client"]
"""The relations of a curator, and "replace-client": all records of one client are replaced."""


@dataclass(frozen=True, slots=True, repr=False)
class Privacy:
    """A differential privacy guarantee: (epsilon, delta), or zero-concentrated with rho.

    With rho and a delta above 0 it is delta-approximate rho-zCDP: rho-zCDP holds except for an
    event of probability delta (Bun & Steinke 2016, Definition 8.1). The sum of a zero-concentrated
    guarantee and one with a delta is of this kind.

    Parameters
    ----------
    epsilon, delta
        The parameters of (epsilon, delta)-differential privacy; 0 <= epsilon, 0 <= delta < 1. If
        both are 0, the release says nothing about the records. An infinite epsilon guarantees
        nothing (``mechanisms.NoNoise``). A Fraction or a large integer is rounded up to a double.
        The same holds for rho.
    neighbours
        Which pairs of inputs are neighbours. "replace-one": one record changes its value, and the
        number of records is public. "add-or-remove-one": one input has one record more.
        "replace-client": all records of one client change, up to a public number of records, and
        the number of clients is public (docs/clients.md).
    simulated
        Whether the noise came from a generator that somebody else can repeat. Such a release is
        for studies: it follows the right law, and it protects nobody.
    rho
        The parameter of zero-concentrated differential privacy, 0 or more. Give it instead of
        epsilon.

    Raises
    ------
    DtypeError, ParameterError
        Not exactly one of epsilon and rho is given, or an argument is not as above.

    Notes
    -----
    ``first + second`` is the cost of two releases from the same records; ``sum`` and
    ``3 * guarantee`` work as well. Epsilons and deltas add up by basic composition (Dwork & Roth
    2014, Theorem 3.16), rhos by Bun & Steinke 2016, Lemmas 1.7 and 8.2. If only one of the two is
    zero-concentrated, the other one counts with rho = epsilon^2 / 2 (Proposition 1.4 there) and
    its delta. Sums are rounded up. They hold even if later releases depend on the outputs of
    earlier ones.

    ``first | second`` is parallel composition (McSherry 2009, Theorem 4). Every record must be in
    the input of only one of the two releases, and this assignment must be public and fixed. The
    result has the larger epsilon, the larger delta and the larger rho. Under replace-one the sizes
    of both inputs are public, and a replaced record stays in its input (docs/privacy.md). Under
    replace-client each client is in one input, with all its records.

    ``first <= second`` says whether the first guarantee implies the second one, by the conversions
    of ``dpcore.privacy``. For some pairs neither implies the other. A guarantee of seeded noise
    implies only guarantees of seeded noise.

    Examples
    --------
    >>> Privacy(0.5) + Privacy(0.25)
    Privacy(epsilon=0.75, delta=0.0, neighbours='replace-one', simulated=False)
    >>> Privacy(rho=0.25) + Privacy(0.5)
    Privacy(rho=0.375, neighbours='replace-one', simulated=False)
    >>> Privacy(0.5) | Privacy(0.25, delta=1e-6)
    Privacy(epsilon=0.5, delta=1e-06, neighbours='replace-one', simulated=False)
    >>> 3 * Privacy(0.25) <= Privacy(1.0), Privacy(rho=0.5) <= Privacy(1.0)
    (True, False)
    """

    epsilon: float | None = None
    delta: float = 0.0
    neighbours: Relation = "replace-one"
    simulated: bool = False
    rho: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            requirement = f"or rho must be given, and not both (rho: {shown(self.rho)})"
            raise ParameterError("epsilon", self.epsilon, requirement)
        if self.rho is not None:
            object.__setattr__(self, "rho", _not_negative("rho", _above("rho", self.rho)))
        else:
            epsilon = math.inf  # exact results state it, so that they can be compared
            if not (isinstance(self.epsilon, numbers.Real) and self.epsilon == math.inf):
                epsilon = _not_negative("epsilon", _above("epsilon", self.epsilon))
            object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", _above("delta", self.delta))
        if not 0.0 <= self.delta < 1.0:
            raise ParameterError("delta", self.delta, "must be at least 0 and below 1")
        _check.choice("neighbours", self.neighbours, Relation)
        if not isinstance(self.simulated, bool):
            raise DtypeError("simulated", type(self.simulated).__name__, "must be a bool")

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that (epsilon, delta)-differential privacy holds.

        Parameters
        ----------
        delta
            Within [0, 1), and not below the delta of the guarantee. For a zero-concentrated
            guarantee it must be above that delta.

        Returns
        -------
        float
            The guarantee's own epsilon, or ``zcdp_epsilon`` of rho and of the remaining delta.

        Raises
        ------
        DtypeError, ParameterError
            delta is not such a number, or it is below the delta of the guarantee.

        Examples
        --------
        >>> round(Privacy(rho=0.5).epsilon_at(1e-6), 2), Privacy(1.0).epsilon_at(1e-6)
        (5.22, 1.0)
        """
        checked = -_above("delta", -_check.plain("delta", delta))  # rounded down
        if self.rho is not None and self.rho > 0.0:
            if not self.delta < checked < 1.0:
                raise ParameterError("delta", delta, f"must be above {self.delta} and below 1")
            left = -double_above(Fraction(self.delta) - Fraction(checked))
            return zcdp_epsilon(self.rho, left)
        if not self.delta <= checked < 1.0:
            raise ParameterError("delta", delta, f"must be at least {self.delta} and below 1")
        return 0.0 if self.epsilon is None else self.epsilon

    def implied(self, neighbours: Relation) -> Privacy:
        """Return the guarantee that this one implies for another relation.

        Parameters
        ----------
        neighbours
            "replace-one", if this guarantee is for "add-or-remove-one": to replace a record is to
            remove one and to add another, which are two steps. Or the relation of this guarantee.

        Returns
        -------
        Privacy
            (2 epsilon, (1 + exp(epsilon)) delta), or 4 rho, rounded up.

        Raises
        ------
        ParameterError
            The relation is neither of these; or a zero-concentrated guarantee has a delta; or the
            delta would reach 1; or there is a delta and epsilon is above 700.

        Notes
        -----
        Dwork & Roth 2014, Theorem 2.2 (for delta: the triangle inequality of the hockey-stick
        divergence), and Bun & Steinke 2016, Proposition 1.9.

        Examples
        --------
        >>> Privacy(0.5, neighbours="add-or-remove-one").implied("replace-one")
        Privacy(epsilon=1.0, delta=0.0, neighbours='replace-one', simulated=False)
        """
        if neighbours == self.neighbours:
            return self
        if (self.neighbours, neighbours) != ("add-or-remove-one", "replace-one"):
            what = f"must be implied by {self.neighbours!r}: add-or-remove-one implies replace-one"
            raise ParameterError("neighbours", neighbours, what)
        if self.rho is not None:
            if self.delta > 0.0:
                raise ParameterError("delta", self.delta, "must be 0 where rho is given")
            rho = double_above(4 * Fraction(self.rho))
            return Privacy(None, 0.0, neighbours, self.simulated, rho)
        assert self.epsilon is not None
        if math.isinf(self.epsilon):
            return replace(self, neighbours=neighbours)
        delta = 0.0
        if self.delta > 0.0:
            if self.epsilon > 700.0:
                raise ParameterError(
                    "epsilon", self.epsilon, "must be at most 700 where delta is above 0"
                )
            factor = math.nextafter(1.0 + math.exp(self.epsilon), math.inf)
            # The second rounding up, for exp and for the sum.
            factor = math.nextafter(factor, math.inf)
            delta = double_above(Fraction(factor) * Fraction(self.delta))
        return Privacy(2 * self.epsilon, delta, neighbours, self.simulated)

    def __add__(self, other: Privacy) -> Privacy:
        return self._composed(other, operator.add)

    def __radd__(self, other: object) -> Privacy:
        if type(other) is int and other == 0:  # sum() starts with 0
            return self
        refused: Privacy = _no_guarantee(other)
        return refused

    def __mul__(self, times: int) -> Privacy:
        """Return the guarantee of ``times`` such releases; an infinite one if nothing holds."""
        if not isinstance(times, numbers.Integral) or isinstance(times, bool):
            return NotImplemented
        count = _check.integer("times", times, 0, 2**63)
        if count == 1:
            return self
        each = self.rho if self.epsilon is None else self.epsilon
        assert each is not None
        exact = Fraction(0 if count == 0 or math.isinf(each) else each)
        total = math.inf if count and math.isinf(each) else double_above(count * exact)
        delta = double_above(count * Fraction(self.delta))
        if math.isinf(total) or delta >= 1.0:
            return replace(self, epsilon=math.inf, delta=0.0, rho=None)
        if self.rho is not None:
            return replace(self, rho=total, delta=delta)
        return replace(self, epsilon=total, delta=delta)

    __rmul__ = __mul__

    def __le__(self, other: Privacy) -> bool:
        if not isinstance(other, Privacy):
            return _no_guarantee(other)
        if self.neighbours != other.neighbours or (self.simulated and not other.simulated):
            return False  # noise that others can repeat protects nobody
        if self.delta > other.delta or (self.epsilon == math.inf and other.epsilon != math.inf):
            return False
        if other.rho is not None:
            return self._concentrated() <= other.rho
        assert other.epsilon is not None
        if self.epsilon is not None:
            return self.epsilon <= other.epsilon
        return self.rho == 0.0 or (
            self.delta < other.delta and self.epsilon_at(other.delta) <= other.epsilon
        )

    def __or__(self, other: Privacy) -> Privacy:
        return self._composed(other, max)

    def _composed(self, other: Privacy, total: Callable[[Fraction, Fraction], Fraction]) -> Privacy:
        """Return the guarantee of both releases, by the sum or the larger of two parameters."""
        if not isinstance(other, Privacy):
            return _no_guarantee(other)
        if self.neighbours != other.neighbours:
            raise ParameterError(
                "neighbours", other.neighbours, f"must be {self.neighbours!r} in both guarantees"
            )
        simulated = self.simulated or other.simulated
        if math.inf in (self.epsilon, other.epsilon):
            return Privacy(math.inf, 0.0, self.neighbours, simulated)
        delta = double_above(total(Fraction(self.delta), Fraction(other.delta)))
        if self.epsilon is not None and other.epsilon is not None:
            epsilon = double_above(total(Fraction(self.epsilon), Fraction(other.epsilon)))
            return Privacy(epsilon, delta, self.neighbours, simulated)
        rho = double_above(total(self._concentrated(), other._concentrated()))
        return Privacy(None, delta, self.neighbours, simulated, rho)

    def _concentrated(self) -> Fraction:
        """Return the rho of this guarantee, exactly."""
        if self.rho is not None:
            return Fraction(self.rho)
        assert self.epsilon is not None
        return Fraction(self.epsilon) ** 2 / 2

    def __repr__(self) -> str:
        parameters = (
            f"epsilon={self.epsilon!r}, delta={self.delta!r}"
            if self.rho is None
            else f"rho={self.rho!r}" + (f", delta={self.delta!r}" if self.delta else "")
        )
        return (
            f"Privacy({parameters}, neighbours={self.neighbours!r}, simulated={self.simulated!r})"
        )

    def __str__(self) -> str:
        parameters = (
            f"epsilon = {self.epsilon:g}" if self.rho is None else f"rho = {self.rho:g} of zCDP"
        )
        delta = f", delta = {self.delta:g}" if self.delta else ""
        note = "; SIMULATED: seeded noise, not private" if self.simulated else ""
        return f"{parameters}{delta} ({self.neighbours}{note})"


def _no_guarantee(other: object) -> Any:
    """Refuse a number where a guarantee is meant; let Python handle all other types."""
    if not isinstance(other, numbers.Real):
        return NotImplemented
    found = f"{shown(other)} of type {type(other).__name__}"
    raise DtypeError("other", found, f"must be a Privacy: write Privacy({shown(other)})")


def _not_negative(argument: str, value: float) -> float:
    if value < 0.0:
        raise ParameterError(argument, value, "must be 0 or more")
    return value + 0.0  # adding 0.0 changes -0.0 to 0.0


def _above(argument: str, value: object) -> float:
    """Return the least double that is no less than a finite real number."""
    if isinstance(value, float):
        return _check.finite(argument, value)
    return double_above(Fraction(_check.plain(argument, value)))


def double_above(exact: Fraction) -> float:
    """Return the least double >= exact, infinity among them.

    Examples
    --------
    >>> from fractions import Fraction
    >>> 1 / 3, double_above(Fraction(1, 3))
    (0.3333333333333333, 0.33333333333333337)
    """
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
