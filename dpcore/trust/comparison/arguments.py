"""Integers as callers have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError

__all__ = ["integers"]


def integers(argument: str, value: object) -> NDArray[Any]:
    """Return integers on one axis, or on none if it is one integer; an empty list is none."""
    found = _check.array(argument, value, "iuf", "must hold integers")
    if found.size:
        found = _check.array(argument, found, "iu", "must hold integers")
    if found.ndim > 1:
        raise ParameterError(argument, found.shape, "must be on one axis")
    return found if found.size else found.astype(np.int64)
