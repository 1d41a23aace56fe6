"""The parts that all releases have: cost, description of the mechanism, and identifier."""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Mapping
from typing import Any, Final

from .. import _check
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Privacy

__all__ = ["check_provenance", "fresh_identifier", "identifier_of", "storable"]

_IDENTIFIER_BYTES: Final = 16


def check_provenance(privacy: object, mechanism: Any) -> None:
    """Check that the arguments are a guarantee and a description of a mechanism."""
    _check.instance("privacy", privacy, Privacy, "must be a Privacy")
    _check.instance("mechanism", mechanism, Mapping, "must map names to parameters")
    if not isinstance(mechanism.get("name"), str):
        raise ParameterError("mechanism", dict(mechanism), "must have a name, a string")


def fresh_identifier() -> str:
    """Return an identifier for a new release: random, so that it says nothing about records."""
    return secrets.token_hex(_IDENTIFIER_BYTES)


def identifier_of(*released: bytes) -> str:
    """Return the identifier of a release that can be opened many times, of what was released."""
    whole = hashlib.sha256()
    for part in released:
        whole.update(len(part).to_bytes(8) + part)
    return whole.hexdigest()[: 2 * _IDENTIFIER_BYTES]


def storable(mechanism: Mapping[Any, Any]) -> dict[str, str | int | float]:
    """Return the description in types that JSON has: finite numbers and strings, by strings."""
    for name, value in mechanism.items():
        if not isinstance(name, str) or type(value) not in (str, int, float):
            entry = f"{type(value).__name__} as {name!r}"
            raise DtypeError("mechanism", entry, "must map strings to numbers and strings")
        if type(value) is float and not math.isfinite(value):
            raise ParameterError("mechanism", value, "must have finite numbers")
    return dict(mechanism)
