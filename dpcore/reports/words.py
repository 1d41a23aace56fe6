"""A guarantee in words, for readers who do not know the parameters."""

from __future__ import annotations

import math
from typing import Final

from ..privacy.guarantees import Privacy, Relation

__all__ = ["guarantee"]

_PAIRS: Final[dict[Relation, str]] = {
    "replace-one": "one record has another value",
    "add-or-remove-one": "one record is added or removed",
    "replace-one-within-group": "one record of a group has another value",
    "replace-client": "all records of one client have other values",
    "replace-client-within-group": "all records of one client have other values in its group",
}
_LARGEST: Final = 100.0  # epsilon whose power of e is written out
_DELTA: Final = 1e-6  # at which an epsilon is stated for rho
_SIMULATED: Final = (
    "SIMULATED: the noise came from a generator that others can repeat. It protects nobody."
)


def guarantee(privacy: Privacy) -> str:
    """Return what a guarantee promises.

    Parameters
    ----------
    privacy
        A finite guarantee.

    Examples
    --------
    >>> from dpcore import Privacy
    >>> guarantee(Privacy(1.0))[:79]
    'epsilon = 1: if one record has another value, no set of results becomes more th'
    >>> guarantee(Privacy(rho=0.5))[-60:]
    'another value. It implies epsilon = 5.22 with delta = 1e-06.'
    """
    cost, _, _ = str(privacy).partition(" (")
    pair = _PAIRS.get(privacy.neighbours, privacy.neighbours)
    if privacy.epsilon is None:
        delta = min(max(_DELTA, 2.0 * privacy.delta), (1.0 + privacy.delta) / 2.0)
        implied = f"It implies epsilon = {privacy.epsilon_at(delta):.3g} with delta = {delta:g}."
        text = f"{cost}: zero-concentrated differential privacy, if {pair}. {implied}"
    else:
        more = f", plus a probability of {privacy.delta:g}" if privacy.delta else ""
        times = f"e^{privacy.epsilon:.3g}"
        if privacy.epsilon < _LARGEST:
            times += f" = {math.exp(privacy.epsilon):.3g}"
        likely = f"no set of results becomes more than {times} times as likely{more}"
        text = f"{cost}: if {pair}, {likely}."
    return f"{_SIMULATED} {text}" if privacy.simulated else text
