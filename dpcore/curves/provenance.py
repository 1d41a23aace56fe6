"""The parts that all releases have: cost, description of the mechanism, and identifier."""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .. import _check
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Privacy

__all__ = [
    "EFFECTIVE_N",
    "Noises",
    "check_provenance",
    "effective_n",
    "fresh_identifier",
    "identifier_of",
    "of_lines",
    "storable",
]

EFFECTIVE_N: Final = "effective_n"
_IDENTIFIER_BYTES: Final = 16
_LINES: Final = re.compile(r"(.*) ([xy]) (\d{1,18}) (\d{1,18})")


def check_provenance(privacy: object, mechanism: Any) -> None:
    """Check that the arguments are a guarantee and a description of a mechanism."""
    _check.instance("privacy", privacy, Privacy, "must be a Privacy")
    _check.instance("mechanism", mechanism, Mapping, "must map names to parameters")
    if not isinstance(mechanism.get("name"), str):
        raise ParameterError("mechanism", dict(mechanism), "must have a name, a string")


def effective_n(mechanism: Mapping[str, Any], n: int) -> float:
    """Return how many draws of a population have the sampling error of F.

    They are the n records, but fewer in a mean of curves whose weights are not their n.
    """
    stated = mechanism.get(EFFECTIVE_N, n)
    if type(stated) not in (int, float) or not 0.0 < stated < math.inf:
        raise ParameterError("mechanism", stated, f"must have a positive number as {EFFECTIVE_N}")
    return min(float(stated), float(n))


def fresh_identifier() -> str:
    """Return an identifier for a new release: random, so that it says nothing about records."""
    return secrets.token_hex(_IDENTIFIER_BYTES)


def identifier_of(*released: bytes) -> str:
    """Return the identifier of a release that can be opened many times, of what was released."""
    whole = hashlib.sha256()
    for part in released:
        whole.update(len(part).to_bytes(8) + part)
    return whole.hexdigest()[: 2 * _IDENTIFIER_BYTES]


def of_lines(release: str, axis: str, first: int, last: int) -> str:
    """Return the identifier of the noise in a column's curve from lines of a table's cells.

    Each of the lines, ``first`` to ``last``, has noise of its own, and is one cell of the other
    column. So curves of other lines are known to be independent, and all others are not.
    """
    return f"{release} {axis} {first} {last}"


class Noises:
    """The noises of some curves, by their identifiers."""

    def __init__(self, identifiers: Iterable[str] = ()) -> None:
        self._of: dict[str, list[str]] = {}  # by the release; most have one identifier
        self.add(identifiers)

    def add(self, identifiers: Iterable[str]) -> None:
        """Add the noises of one more curve."""
        for one in identifiers:
            self._of.setdefault(_whole(one), []).append(one)

    def meet(self, identifiers: Iterable[str]) -> bool:
        """Return whether a curve with these identifiers has any of these noises."""
        return any(_meet(one, own) for one in identifiers for own in self._of.get(_whole(one), ()))


def _whole(identifier: str) -> str:
    """Return the identifier of the release whose noise this is, or a part of it."""
    lines = _LINES.fullmatch(identifier)
    return identifier if lines is None else lines[1]


def _meet(first: str, second: str) -> bool:
    """Return whether both have noise in common, if both are of one release."""
    ours, theirs = _LINES.fullmatch(first), _LINES.fullmatch(second)
    if ours is None or theirs is None or ours[2] != theirs[2]:
        return True  # a column of cells crosses every row
    return int(ours[3]) <= int(theirs[4]) and int(theirs[3]) <= int(ours[4])


def storable(mechanism: Mapping[Any, Any]) -> dict[str, str | int | float]:
    """Return the description in types that JSON has: finite numbers and strings, by strings."""
    for name, value in mechanism.items():
        if not isinstance(name, str) or type(value) not in (str, int, float):
            entry = f"{type(value).__name__} as {name!r}"
            raise DtypeError("mechanism", entry, "must map strings to numbers and strings")
        if type(value) is float and not math.isfinite(value):
            raise ParameterError("mechanism", value, "must have finite numbers")
    return dict(mechanism)
