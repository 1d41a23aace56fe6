"""Checks of integers that callers give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _check
from ...errors import ParameterError

__all__ = ["integers"]


def integers(argument: str, value: object) -> NDArray[Any]:
    """Return an array of integers with one axis, or with none for one integer.

    An empty list has no integers.
    """
    array = _check.array(argument, value, "iuf", "must hold integers")
    if array.size:
        array = _check.array(argument, array, "iu", "must hold integers")
    if array.ndim > 1:
        raise ParameterError(argument, array.shape, "must have one axis")
    return array if array.size else array.astype(np.int64)
