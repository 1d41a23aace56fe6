"""Results in the shape that was asked for: a float for a number, an array for an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["float_or_array"]


def float_or_array(found: NDArray[np.floating[Any]]) -> Any:
    """Return Python's own float for an array without axes, and any other array as it is."""
    return found if found.ndim else float(found)
