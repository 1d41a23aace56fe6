"""Linear constraints of the user on a smoothed curve: l <= A F <= u."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _check
from ...errors import DtypeError, ParameterError
from .problem import Float

__all__ = ["Constraints", "checked"]

_PARTS = ("matrix", "lower", "upper")


class Constraints(NamedTuple):
    """lower <= matrix @ F <= upper, for the cumulative counts F at the chosen thresholds.

    Parameters
    ----------
    matrix
        (K, B), sparse. The largest coefficient of each row is 1 or -1, or the row is zero.
    lower, upper
        (K,) the bounds. They may be infinite.
    """

    matrix: Any
    lower: Float
    upper: Float


def checked(value: object, size: int, total: float) -> Constraints:
    """Return the constraints, if they are valid for B thresholds, and some curve meets them.

    Any curve that never decreases within [0, n] is that of some noise. So whether one meets the
    constraints does not depend on the noisy counts. A linear program finds out.
    """
    if not isinstance(value, tuple | list) or len(value) != len(_PARTS):
        description = f"a {type(value).__name__}" + (
            f" of {len(value)}" if isinstance(value, tuple | list) else ""
        )
        raise DtypeError("constraints", description, "must be (matrix, lower, upper)")
    matrix = _matrix(value[0], size)
    lower, upper = (_bounds(value[i], _PARTS[i], matrix.shape[0]) for i in (1, 2))
    if np.any(lower > upper) or np.any(lower == np.inf) or np.any(upper == -np.inf):
        row = int(np.argmax((lower > upper) | (lower == np.inf) | (upper == -np.inf)))
        pair = (float(lower[row]), float(upper[row]))
        raise ParameterError("constraints", pair, "must have a lower bound up to the upper one")
    constraints = _scaled(matrix, lower, upper, total)
    _check_feasible(constraints, size, total)
    return constraints


def _matrix(value: Any, size: int) -> Any:
    """Return A as a sparse matrix of doubles."""
    if sp.issparse(value):
        if value.dtype.kind not in "biuf":
            description = f"dtype {value.dtype}"
            raise DtypeError("constraints", description, "must have a matrix of real numbers")
        shape, matrix = value.shape, value
    else:
        dense = _check.array(
            "constraints", value, "biuf", "must have a matrix of real numbers, dense or SciPy's"
        )
        shape, matrix = dense.shape, dense
    if len(shape) != 2 or shape[0] < 1 or shape[1] != size:
        what = f"must have a matrix with a column for each of the {size} thresholds"
        raise ParameterError("constraints", shape, what)
    matrix = _compressed(matrix)
    if not np.isfinite(matrix.data).all():
        raise ParameterError("constraints", "a matrix with others", "must have finite entries")
    return matrix


def _compressed(matrix: Any) -> Any:
    """Return a matrix in compressed columns, and refuse a sparse one whose indices are outside."""
    try:
        if hasattr(matrix, "check_format"):  # SciPy itself would read outside of the arrays
            matrix.check_format(full_check=True)
        places = sp.coo_array(matrix)
        # First doubles, then sums of what stands at one place: those of integers may overflow.
        with np.errstate(over="ignore"):  # infinite entries are refused
            entries = places.data.astype(np.float64)
        return sp.csc_array((entries, places.coords), shape=places.shape)
    except (IndexError, ValueError) as error:
        raise ParameterError("constraints", str(error), "must have a valid matrix") from None


def _scaled(
    matrix: Any, lower: NDArray[np.float64], upper: NDArray[np.float64], total: float
) -> Constraints:
    """Divide each row by its largest coefficient: the solvers take small ones for zeros.

    Bounds that no curve reaches become infinite, or stay just as far out of reach.
    """
    largest = abs(matrix).max(axis=1).toarray().ravel()
    largest[largest == 0.0] = 1.0
    matrix.data /= largest[matrix.indices]
    with np.errstate(over="ignore"):
        far = 2.0 * total * (1.0 + abs(matrix).sum(axis=1))
        lower, upper = np.minimum(lower / largest, far), np.maximum(upper / largest, -far)
    lower[lower < -far], upper[upper > far] = -np.inf, np.inf
    return Constraints(matrix, lower, upper)


def _bounds(value: Any, name: str, rows: int) -> NDArray[np.float64]:
    """Return the lower or the upper bounds as doubles."""
    bounds = _check.array("constraints", value, "biuf", f"must have real numbers as {name} bounds")
    if bounds.shape != (rows,):
        raise ParameterError("constraints", bounds.shape, f"must have {rows} {name} bounds")
    bounds = _check.doubles(bounds)
    if np.isnan(bounds).any():
        raise ParameterError("constraints", np.nan, f"must have {name} bounds that are not NaN")
    return bounds


def _check_feasible(constraints: Constraints, size: int, total: float) -> None:
    """Refuse constraints that no curve meets."""
    from scipy.optimize import linprog

    # Increments of the whole, so that all variables are within [0, 1] and bounds are relative.
    rising = sp.eye_array(size, format="csc") - sp.eye_array(size, k=1, format="csc")
    matrix, lower, upper = constraints
    above, below = np.isfinite(upper), np.isfinite(lower)
    rows = sp.csr_array(matrix)
    most = sp.vstack([rising[:-1], rows[above], -rows[below]], format="csc")
    bounds = np.concatenate([np.zeros(size - 1), upper[above] / total, -lower[below] / total])
    answer = linprog(np.zeros(size), A_ub=most, b_ub=bounds, bounds=(0.0, 1.0), method="highs")
    if answer.status == 2:
        what = f"must be met by some curve that never decreases within [0, {total:g}]"
        raise ParameterError("constraints", f"{matrix.shape[0]} that exclude all curves", what)
