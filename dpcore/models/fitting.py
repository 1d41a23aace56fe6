"""Checks of arguments and records that both estimators make before they fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import validation

from .. import _check
from ..errors import DpcoreError, DtypeError, MissingValueError, ParameterError
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy
from ..records import object_kinds
from ..records.column import Column
from ..records.doubles import in_kind
from .lattice import SHARE

__all__ = ["Floats", "checked_budget", "checked_features", "numbers", "raw_features", "target"]

Floats = NDArray[np.float64]

_MOST_FEATURES: Final = 2**13  # the proofs of rounding hold for twice as many
# The largest change of a vector with so many features, as ``lattice`` covers it.
_MOST_CHANGE: Final = 2**14


def checked_budget(
    epsilon: object, rng: np.random.Generator | None, fit_intercept: object
) -> tuple[Allowance, Source, Privacy]:
    """Return the budget, the source of noise, and the guarantee, or raise."""
    if not isinstance(fit_intercept, bool | np.bool_):
        raise DtypeError("fit_intercept", type(fit_intercept).__name__, "must be a bool")
    budget, stream = Allowance.checked(epsilon, None, "replace-one"), source(rng)
    budget.law(_MOST_CHANGE, SHARE)  # refuses an epsilon that is too small for noise at any D
    return budget, stream, replace(budget.privacy, simulated=stream.simulated)


def checked_features(estimator: Any, X: Any) -> Floats:
    """Return the features of the records to fit, (n, d), with infinities, or raise."""
    Column.of(X, "X").check_in_memory()
    if _check.is_masked(X):
        raise MissingValueError("X")
    rows, how = _quietly(in_kind, X), {"dtype": None, "ensure_all_finite": False}
    given = _quietly(validation.validate_data, estimator, rows, **how)
    features = numbers("X", given)
    if features.shape[1] > _MOST_FEATURES:
        raise ParameterError("X", features.shape, f"must have at most {_MOST_FEATURES} features")
    return features


def raw_features(estimator: Any, X: Any) -> Floats:
    """Return the features of the records to predict for, (n, d), finite, or raise."""
    validation.check_is_fitted(estimator)
    Column.of(X, "X").check_in_memory()
    features: Floats = _quietly(
        validation.validate_data, estimator, X, dtype=np.float64, reset=False
    )
    return features


def target(y: Any) -> NDArray[Any]:
    """Return y as an array (n,), or raise."""
    Column.of(y, "y").check_in_memory()
    if _check.is_masked(y):
        raise MissingValueError("y")
    column: NDArray[Any] = _quietly(validation.column_or_1d, _quietly(in_kind, y), warn=True)
    return column


def _quietly(check: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a check of scikit-learn returns; its errors must not quote records."""
    kind: type[Exception]
    try:
        with np.errstate(over="ignore"):  # long doubles become infinite, and are refused below
            return check(*arguments, **options)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        said = _without_values(str(error))
    except (MemoryError, DpcoreError):
        raise
    except Exception:  # integers beyond doubles, and types that a library cannot convert
        kind, said = ValueError, "the values cannot be converted to doubles"
    raise kind(said)  # outside the handler, because the caught error would be the context


def _without_values(text: str) -> str:
    """Return a message of scikit-learn or NumPy without the values that it shows."""
    first = text.partition("\n")[0]
    if first.startswith("The feature names"):
        return text
    if first.startswith("could not convert"):
        return first.partition(":")[0]
    advice = text.find("Reshape your data")
    return first if advice < 0 else f"{first} {text[advice:]}"


def numbers(argument: str, given: NDArray[Any]) -> Floats:
    """Return doubles, with infinities, or raise because of types or missing values."""
    if given.dtype.kind not in "biufO":
        raise DtypeError(argument, f"dtype {given.dtype}", "must hold real numbers")
    if given.dtype.kind == "O":
        given, shape = object_kinds.unwrapped(given), given.shape
        types = set(map(type, given.flat))
        if any(object_kinds.kind_of(cls) in ("string", "bytes") for cls in types):
            raise DtypeError(argument, "text", "must hold real numbers")
        if wrong := [cls for cls in types if object_kinds.kind_of(cls) == "other"]:
            # scikit-learn wants these words for X, and tests them.
            words = " (an argument must be no string but a number)" if argument == "X" else ""
            what = f"must hold real numbers{words}"
            raise DtypeError(argument, object_kinds.name_of(wrong), what)
        exactly = {cls: object_kinds.exactly(cls) for cls in types}
        # NumPy rounds integers in this way. If one is too long for NumPy, all become objects.
        nearest = (
            object_kinds.nearest_double(exactly[type(number)](number)) for number in given.flat
        )
        given = np.fromiter(nearest, np.float64, given.size).reshape(shape)
    doubles = _check.doubles(given)
    if np.isnan(doubles).any():
        raise MissingValueError(argument)
    return doubles
