"""Which mechanism a stream uses when none is named."""

from __future__ import annotations

from fractions import Fraction

from .. import _instead
from ..errors import DtypeError
from ..privacy.allowance import Allowance, refuse_beside_mechanism
from ..privacy.guarantees import Neighbours
from .base import StreamMechanism
from .buffered_toeplitz import BufferedToeplitz
from .consistent_tree import ConsistentTree

__all__ = ["asked", "most_accurate"]


def asked(
    mechanism: StreamMechanism | None,
    epsilon: float | Fraction | None,
    rho: float | Fraction | None,
    neighbours: Neighbours | None,
    delta: float | None,
) -> StreamMechanism:
    """Return the mechanism that is given; without one, the most accurate for the budget."""
    if mechanism is None:
        relation = "replace-one" if neighbours is None else neighbours
        return most_accurate(Allowance.checked(epsilon, rho, relation, delta))
    if not isinstance(mechanism, StreamMechanism):
        given = mechanism.__name__ if isinstance(mechanism, type) else type(mechanism).__name__
        raise DtypeError("mechanism", given, _requirement(mechanism))
    refuse_beside_mechanism(epsilon=epsilon, rho=rho, neighbours=neighbours, delta=delta)
    return mechanism


def _requirement(value: object) -> str:
    if isinstance(value, type) and issubclass(value, StreamMechanism):
        return f"must be an instance: write {value.__name__}(...)"
    if _instead.is_number(value):
        return _instead.mechanism(value)
    return "must be a mechanism of dpcore.streams, as ConsistentTree(epsilon=1.0) is"


def most_accurate(budget: Allowance) -> StreamMechanism:
    """Return the mechanism with the least noise that spends a budget."""
    if budget.epsilon is not None:
        return ConsistentTree(budget.epsilon, neighbours=budget.neighbours)
    return BufferedToeplitz(**budget.arguments)
