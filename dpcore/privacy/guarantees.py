"""The guarantee of a release: its parameters, its neighbours, and whether its noise is real."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Literal

from .. import _check
from ..errors import DtypeError, ParameterError, shown
from .concentrated import zcdp_delta, zcdp_epsilon, zcdp_rho
from .gaussian import discrete_gaussian_delta, gaussian_delta, gaussian_sigma

__all__ = [
    "Neighbours",
    "Privacy",
    "Relation",
    "common_relation",
    "concentrated",
    "discrete_gaussian_delta",
    "double_above",
    "gaussian_delta",
    "gaussian_sigma",
    "implies",
    "of_clients",
    "of_public_size",
    "with_rho",
    "within_group",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]

Neighbours = Literal["replace-one", "add-or-remove-one"]
"""The relations of a curator's mechanisms: one record is replaced, or it is added or removed."""

Relation = Literal[
    Neighbours, "replace-one-within-group", "replace-client", "replace-client-within-group"
]
"""All relations: also those of clients, all of whose records are replaced, and those in which what
is replaced stays in its public group."""

# Sizes of groups are public in the second relations. The first ones imply them.
_WITHIN: Final[dict[Relation, Relation]] = {
    "replace-one": "replace-one-within-group",
    "replace-client": "replace-client-within-group",
}
_STEPS: Final = ("replace-one", "replace-one-within-group")  # a removal and an addition


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Privacy:
    """A differential privacy guarantee: (epsilon, delta), or zero-concentrated with rho, or both.

    With epsilon and rho both hold: (epsilon, delta)-differential privacy, and rho-zCDP without any
    delta. Releases of many counts state both, because their rho is far below epsilon^2 / 2. Without
    epsilon, rho and a delta above 0 are delta-approximate rho-zCDP: rho-zCDP holds except for an
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
        "replace-one-within-group": one record changes its value but stays in its group, and the
        number of records of *each* group is public. "replace-client": all records of one client
        change, up to a public number of records, and the number of clients is public
        (docs/guides/clients.md). "replace-client-within-group": the client also stays in its group.
    simulated
        Whether the noise came from a generator that somebody else can repeat. Such a release is
        for studies: it follows the right law, and it protects nobody.
    rho
        The parameter of zero-concentrated differential privacy, 0 or more. Beside a pure epsilon,
        epsilon^2 / 2 or more says nothing new, and becomes None.

    Raises
    ------
    DtypeError, ParameterError
        Neither epsilon nor rho is given, rho is given beside an infinite epsilon, or an argument
        is not as above.

    Notes
    -----
    ``first + second`` is the cost of two releases from the same records; ``sum`` and
    ``3 * guarantee`` work as well. Epsilons and deltas add up by basic composition (Dwork & Roth
    2014, Theorem 3.16), rhos by Bun & Steinke 2016, Lemmas 1.7 and 8.2. A guarantee without a rho
    counts with epsilon^2 / 2 (Proposition 1.4 there) and its delta. A sum with an epsilon has a rho
    only if that needs no delta. Sums are rounded up. They hold even if later releases depend on the
    outputs of earlier ones.

    ``first | second`` is parallel composition (McSherry 2009, Theorem 4). Every record must be in
    the input of only one of the two releases, and this assignment must be public and fixed. The
    result has the larger epsilon, the larger delta and the larger rho. If both guarantees are for
    replace-one, the result is for "replace-one-within-group": the sizes of both inputs are public,
    and a replaced record stays in its input (docs/proofs/privacy.md, section 7). The same holds for
    clients, each of whom is in one input with all records.

    A guarantee for replace-one holds within groups, too, and a sum of both kinds is for
    "replace-one-within-group". The converse is false: it would hide who is in which group.

    ``first <= second`` says whether the first guarantee implies the second one, by the conversions
    of ``dpcore.privacy``. For some pairs neither implies the other. A guarantee of seeded noise
    implies only guarantees of seeded noise.

    ``first == second`` compares what is stated: a rho beside an epsilon is a detail of how the
    release was made, and takes no part in it, nor in the hash. ``<=`` looks at it.

    Examples
    --------
    >>> Privacy(0.5) + Privacy(0.25)
    Privacy(epsilon=0.75, delta=0.0, rho=0.15625, neighbours='replace-one', simulated=False)
    >>> Privacy(0.5) + Privacy(0.25) == Privacy(0.75)
    True
    >>> Privacy(rho=0.25) + Privacy(0.5)
    Privacy(rho=0.375, neighbours='replace-one', simulated=False)
    >>> Privacy(0.5) | Privacy(0.25, delta=1e-6)
    Privacy(epsilon=0.5, delta=1e-06, neighbours='replace-one-within-group', simulated=False)
    >>> 3 * Privacy(0.25) <= Privacy(1.0), Privacy(rho=0.5) <= Privacy(1.0)
    (True, False)
    """

    epsilon: float | None = None
    delta: float = 0.0
    neighbours: Relation = "replace-one"
    simulated: bool = False
    rho: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is None and self.rho is None:
            raise ParameterError("epsilon", self.epsilon, "or rho must be given")
        if self.epsilon is not None:
            epsilon = math.inf  # exact results state it, so that they can be compared
            if not (isinstance(self.epsilon, numbers.Real) and self.epsilon == math.inf):
                epsilon = _not_negative("epsilon", _above("epsilon", self.epsilon))
            object.__setattr__(self, "epsilon", epsilon)
        if self.rho is not None:
            if self.epsilon == math.inf:
                raise ParameterError("rho", self.rho, "must not be given beside infinite epsilon")
            object.__setattr__(self, "rho", _not_negative("rho", _above("rho", self.rho)))
        object.__setattr__(self, "delta", _above("delta", self.delta))
        if not 0.0 <= self.delta < 1.0:
            raise ParameterError("delta", self.delta, "must be at least 0 and below 1")
        if self.rho is not None and self.epsilon is not None and self.delta == 0.0:
            says_more = Fraction(self.rho) < Fraction(self.epsilon) ** 2 / 2
            object.__setattr__(self, "rho", self.rho if says_more else None)
        _check.choice("neighbours", self.neighbours, Relation)
        _check.flag("simulated", self.simulated)

    def epsilon_at(self, delta: float) -> float:
        """Return an epsilon such that (epsilon, delta)-differential privacy holds.

        Parameters
        ----------
        delta
            Within [0, 1), and not below the delta of the guarantee. For a zero-concentrated
            guarantee it must be above that delta; where epsilon is stated, too, above 0 is enough.

        Returns
        -------
        float
            The guarantee's own epsilon, or ``zcdp_epsilon`` of rho and of the remaining delta; of
            both, the smaller one.

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
        if self.epsilon is None and self.rho:
            if not self.delta < checked < 1.0:
                raise ParameterError("delta", delta, f"must be above {self.delta} and below 1")
            left = -double_above(Fraction(self.delta) - Fraction(checked))
            return zcdp_epsilon(self.rho, left)
        epsilons = []
        if self.delta <= checked:
            epsilons.append(0.0 if self.epsilon is None else self.epsilon)
        if self.epsilon is not None and self.rho is not None and 0.0 < checked < 1.0:
            epsilons.append(zcdp_epsilon(self.rho, checked) if self.rho else 0.0)
        if not epsilons or checked >= 1.0:
            raise ParameterError("delta", delta, f"must be at least {self.delta} and below 1")
        return min(epsilons)

    def implied(self, neighbours: Relation) -> Privacy:
        """Return the guarantee that this one implies for another relation.

        Parameters
        ----------
        neighbours
            "replace-one", if this guarantee is for "add-or-remove-one": to replace a record is to
            remove one and to add another, which are two steps. "replace-one-within-group", if it
            is for one of these two. "replace-client-within-group", if it is for "replace-client".
            Or the relation of this guarantee.

        Returns
        -------
        Privacy
            From "add-or-remove-one": (2 epsilon, (1 + exp(epsilon)) delta), and 4 rho, rounded up.
            From the others: the same parameters.

        Raises
        ------
        ParameterError
            The relation is none of these; or two steps are needed, and a zero-concentrated
            guarantee has a delta, or the delta would reach 1, or there is a delta and epsilon is
            above 700.

        Notes
        -----
        Dwork & Roth 2014, Theorem 2.2 (for delta: the triangle inequality of the hockey-stick
        divergence), and Bun & Steinke 2016, Proposition 1.9.

        Examples
        --------
        >>> Privacy(0.5, neighbours="add-or-remove-one").implied("replace-one")
        Privacy(epsilon=1.0, delta=0.0, neighbours='replace-one', simulated=False)
        """
        _check.choice("neighbours", neighbours, Relation)
        if neighbours == self.neighbours:
            return self
        if not implies(self.neighbours, neighbours):
            what = f"must be implied by {self.neighbours!r}: add-or-remove-one implies replace-one"
            raise ParameterError("neighbours", neighbours, f"{what}, which holds within groups")
        if self.neighbours != "add-or-remove-one":
            return replace(self, neighbours=neighbours)
        rho = None if self.rho is None else double_above(4 * Fraction(self.rho))
        if self.epsilon is None:
            if self.delta > 0.0:
                what = "must be 0 where rho is given without epsilon"
                raise ParameterError("delta", self.delta, what)
            return Privacy(None, 0.0, neighbours, self.simulated, rho)
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
        finer = None if math.isinf(2 * self.epsilon) else _finite(rho)
        return Privacy(2 * self.epsilon, delta, neighbours, self.simulated, finer)

    def __eq__(self, other: object) -> bool:
        return self._stated() == other._stated() if isinstance(other, Privacy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._stated())

    def _stated(self) -> tuple[object, ...]:
        """Return what two equal guarantees have in common: rho only where there is no epsilon."""
        first = ("rho", self.rho) if self.epsilon is None else ("epsilon", self.epsilon)
        return *first, self.delta, self.neighbours, self.simulated

    def __add__(self, other: Privacy) -> Privacy:
        return self._composed(other, operator.add, within=False)

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
        if count == 0:
            nothing = (None, 0.0) if self.epsilon is None else (0.0, None)
            return replace(self, epsilon=nothing[0], delta=0.0, rho=nothing[1])
        if self.epsilon == math.inf:
            return replace(self, delta=0.0)
        delta = double_above(count * Fraction(self.delta))
        rho, delta_of_rho = concentrated(self)
        total = _finite(double_above(count * rho))
        if self.epsilon is None:
            if total is None or delta >= 1.0:
                return replace(self, epsilon=math.inf, delta=0.0, rho=None)
            return replace(self, rho=total, delta=delta)
        epsilon = double_above(count * Fraction(self.epsilon))
        if math.isinf(epsilon) or delta >= 1.0:
            return replace(self, epsilon=math.inf, delta=0.0, rho=None)
        return replace(self, epsilon=epsilon, delta=delta, rho=None if delta_of_rho else total)

    __rmul__ = __mul__

    def __le__(self, other: Privacy) -> bool:
        if not isinstance(other, Privacy):
            return _no_guarantee(other)
        if self.simulated and not other.simulated:
            return False  # noise that others can repeat protects nobody
        if self.neighbours != other.neighbours:
            try:
                return self.implied(other.neighbours) <= other
            except ParameterError:  # nothing is implied
                return False
        if self.epsilon == math.inf or other.epsilon == math.inf:
            return other.epsilon == math.inf
        rho, delta = concentrated(self)
        if other.rho is not None:
            most = other.delta if other.epsilon is None else 0.0
            known = [(rho, delta)]
            if self.epsilon is not None:  # whatever its rho is, epsilon has one, with the delta
                known.append((Fraction(self.epsilon) ** 2 / 2, self.delta))
            if not any(own <= Fraction(other.rho) and need <= most for own, need in known):
                return False
        if other.epsilon is None:
            return True
        own = math.inf if self.epsilon is None else self.epsilon
        if self.delta <= other.delta and own <= other.epsilon:
            return True
        if not self.rho:
            return self.rho == 0.0 and delta <= other.delta
        return delta < other.delta and self.epsilon_at(other.delta) <= other.epsilon

    def __or__(self, other: Privacy) -> Privacy:
        return self._composed(other, max, within=True)

    def _composed(
        self, other: Privacy, total: Callable[[Fraction, Fraction], Fraction], *, within: bool
    ) -> Privacy:
        """Return the guarantee of both releases, by the sum or the larger of two parameters."""
        if not isinstance(other, Privacy):
            return _no_guarantee(other)
        relation = common_relation(self.neighbours, other.neighbours)
        if relation is None:
            raise ParameterError(
                "neighbours", other.neighbours, f"must be {self.neighbours!r} in both guarantees"
            )
        if within:
            relation = _WITHIN.get(relation, relation)
        simulated = self.simulated or other.simulated
        if math.inf in (self.epsilon, other.epsilon):
            return Privacy(math.inf, 0.0, relation, simulated)
        (first, first_delta), (second, second_delta) = concentrated(self), concentrated(other)
        rho = double_above(total(first, second))
        if self.epsilon is None or other.epsilon is None:
            delta = double_above(total(Fraction(first_delta), Fraction(second_delta)))
            return Privacy(None, delta, relation, simulated, rho)
        delta = double_above(total(Fraction(self.delta), Fraction(other.delta)))
        epsilon = double_above(total(Fraction(self.epsilon), Fraction(other.epsilon)))
        has_none = first_delta or second_delta or math.isinf(epsilon)
        finer = None if has_none else _finite(rho)
        return Privacy(epsilon, delta, relation, simulated, finer)

    def __repr__(self) -> str:
        stated = []
        if self.epsilon is not None:
            stated += [f"epsilon={self.epsilon!r}", f"delta={self.delta!r}"]
        if self.rho is not None:
            stated.append(f"rho={self.rho!r}")
        if self.epsilon is None and self.delta:
            stated.append(f"delta={self.delta!r}")
        parameters = ", ".join(stated)
        return (
            f"Privacy({parameters}, neighbours={self.neighbours!r}, simulated={self.simulated!r})"
        )

    def __str__(self) -> str:
        parameters = (
            f"rho = {self.rho:g} of zCDP" if self.epsilon is None else f"epsilon = {self.epsilon:g}"
        )
        delta = f", delta = {self.delta:g}" if self.delta else ""
        note = "; SIMULATED: seeded noise, not private" if self.simulated else ""
        return f"{parameters}{delta} ({self.neighbours}{note})"


def concentrated(privacy: Privacy) -> tuple[Fraction, float]:
    """Return the rho of a guarantee with a finite epsilon, exactly, and the delta that it needs."""
    if privacy.rho is not None:
        return Fraction(privacy.rho), privacy.delta if privacy.epsilon is None else 0.0
    assert privacy.epsilon is not None
    return Fraction(privacy.epsilon) ** 2 / 2, privacy.delta


def implies(first: Relation, second: Relation) -> bool:
    """Return whether guarantees for the first relation imply some for the second (``implied``)."""
    if first == "add-or-remove-one" and second in _STEPS:
        return True
    return first == second or _WITHIN.get(first) == second


def common_relation(first: Relation, second: Relation) -> Relation | None:
    """Return the relation for which two guarantees hold as they are, or None.

    Examples
    --------
    >>> common_relation("replace-one", "replace-one-within-group")
    'replace-one-within-group'
    """
    if first == second or _WITHIN.get(second) == first:
        return first
    return second if _WITHIN.get(first) == second else None


def with_rho(privacy: Privacy, rho: Fraction | None) -> Privacy:
    """Return a guarantee with a rho beside its epsilon, if there is an epsilon and the rho fits."""
    if rho is None or privacy.epsilon is None or math.isinf(privacy.epsilon):
        return privacy
    return replace(privacy, rho=_finite(double_above(rho)))


def within_group(privacy: Privacy) -> Privacy:
    """Return the guarantee of a release of one of several public groups of records.

    Examples
    --------
    >>> within_group(Privacy(0.5)).neighbours
    'replace-one-within-group'
    """
    return privacy | privacy


def of_clients(relation: Relation) -> bool:
    """Return whether neighbours differ in all records of one client."""
    return relation in ("replace-client", "replace-client-within-group")


def of_public_size(relation: Relation) -> bool:
    """Return whether neighbours have the same number of records, which is then public."""
    return relation in ("replace-one", "replace-one-within-group")


def _no_guarantee(other: object) -> Any:
    """Refuse a number where a guarantee is meant; let Python handle all other types."""
    if not isinstance(other, numbers.Real):
        return NotImplemented
    given = f"{shown(other)} of type {type(other).__name__}"
    raise DtypeError("other", given, f"must be a Privacy: write Privacy({shown(other)})")


def _finite(rho: float | None) -> float | None:
    """Return a rho beside an epsilon; None if it is too large for a double."""
    return rho if rho is None or math.isfinite(rho) else None


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

    Raises
    ------
    DtypeError
        ``exact`` is neither a Fraction nor an int.

    Examples
    --------
    >>> from fractions import Fraction
    >>> 1 / 3, double_above(Fraction(1, 3))
    (0.3333333333333333, 0.33333333333333337)
    """
    _check.instance("exact", exact, Fraction | int, "must be a Fraction")
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
