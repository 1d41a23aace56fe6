"""Results in the shape that was asked for: one value for a number, an array for an array."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["float_or_array"]


def float_or_array(found: NDArray[Any]) -> Any:
    """Return Python's own float for an array without axes, and any other array as it is.

    NumPy's own scalars for times, which tell days, microseconds and nanoseconds apart.
    """
    if found.ndim:
        return found
    return found[()] if found.dtype.kind in "mM" else float(found)
