"""Results in the shape of the argument: one value for a number, an array for an array."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

__all__ = ["float_or_array"]


def float_or_array(values: NDArray[Any]) -> Any:
    """Return a Python float for an array without axes, and any other array as it is.

    Times become NumPy scalars, which tell days, microseconds and nanoseconds apart.
    """
    if values.ndim:
        return values
    return values[()] if values.dtype.kind in "mM" else float(values)
