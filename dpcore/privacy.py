"""What a release costs: the guarantee, the relation it is stated for, and whether it is real."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import _check
from .errors import DtypeError, ParameterError

__all__ = ["Neighbours", "Privacy"]

Neighbours = Literal["replace-one", "add-or-remove-one"]


@dataclass(frozen=True, slots=True)
class Privacy:
    """A differential privacy guarantee.

    Parameters
    ----------
    epsilon, delta
        The parameters of (epsilon, delta)-differential privacy; 0 < epsilon, 0 <= delta < 1.
    neighbours
        Which pairs of inputs are neighbours. "replace-one": one record changes its value, and the
        number of records is public. "add-or-remove-one": one record more or less.
    simulated
        Whether the noise came from a generator that somebody else can repeat. Such a release is
        for studies: it follows the right law, and it protects nobody.

    Notes
    -----
    Guarantees of releases from the same records add up: ``first + second`` is basic composition
    (Dwork & Roth 2014, Theorem 3.16).
    """

    epsilon: float
    delta: float = 0.0
    neighbours: Neighbours = "replace-one"
    simulated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _check.positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _check.finite("delta", self.delta))
        if not 0.0 <= self.delta < 1.0:
            raise ParameterError("delta", self.delta, "must be at least 0 and below 1")
        _check.choice("neighbours", self.neighbours, Neighbours)
        if not isinstance(self.simulated, bool):
            raise DtypeError("simulated", type(self.simulated).__name__, "must be a bool")

    def __add__(self, other: Privacy) -> Privacy:
        if not isinstance(other, Privacy):
            return NotImplemented
        if self.neighbours != other.neighbours:
            raise ParameterError(
                "neighbours", other.neighbours, f"must be {self.neighbours!r} in both guarantees"
            )
        return Privacy(
            self.epsilon + other.epsilon,
            self.delta + other.delta,
            self.neighbours,
            self.simulated or other.simulated,
        )

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        note = "; SIMULATED: seeded noise, not private" if self.simulated else ""
        return f"epsilon = {self.epsilon:g}{delta} ({self.neighbours}{note})"
