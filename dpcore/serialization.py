"""Releases as JSON, and back, without losing a bit; the format is in docs/format.md."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from .errors import DpcoreError, FormatError
from .grid import Grid
from .privacy import Privacy

if TYPE_CHECKING:
    from .curve import CDF

__all__ = ["dump", "load"]

_FORMAT: Final = "dpcore.cdf"
_VERSION: Final = 1
_EPSILON_FIELDS: Final = {"epsilon", "delta", "neighbours", "simulated"}
_RHO_FIELDS: Final = {"rho", "neighbours", "simulated"}


def dump(curve: CDF) -> str:
    """Return a curve as JSON text, ASCII, on one line."""
    return json.dumps(
        {
            "format": _FORMAT,
            "version": _VERSION,
            "grid": curve.grid.describe(),
            "n": curve.n,
            "counts": curve.counts.tolist(),
            "privacy": _described(curve.privacy),
            "mechanism": dict(curve.mechanism),
            "noise_deviation": _runs(curve.noise_deviation),
            "processing": list(curve.processing),
        },
        allow_nan=False,
    )


def load(text: str) -> dict[str, Any]:
    """Return the arguments that make the curve again.

    Raises
    ------
    FormatError
        The text is not such a release.
    """
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise FormatError(f'not a release: the field "format" has to be "{_FORMAT}"')
    if data.get("version") != _VERSION:
        raise FormatError(
            f"format version {data.get('version')!r}; this dpcore reads version {_VERSION}"
        )
    try:
        return _fields(data)
    except KeyError as error:
        raise FormatError(f"a release without the field {error}") from None
    except (DpcoreError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"a release with a bad field: {error}") from None


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    grid = Grid.from_description(data["grid"])
    counts = np.asarray(data["counts"])
    runs = data["noise_deviation"]
    if sum(count for _, count in runs) != grid.size:
        raise ValueError(f"noise_deviation must be runs of {grid.size} numbers in all")
    values = [np.inf if value is None else float(value) for value, _ in runs]
    deviation = np.repeat(values, [count for _, count in runs])
    n = data["n"]
    if type(n) is not int or n < 1:
        raise ValueError("n must be a positive integer")
    if counts.dtype not in (np.int64, np.float64) or counts.shape != (grid.size,):
        raise ValueError(f"counts must be {grid.size} numbers")
    if counts[-1] != n:
        raise ValueError("the last of counts must be n")
    if not np.all(deviation >= 0):
        raise ValueError("noise_deviation must not be negative")
    privacy = data["privacy"]
    if set(privacy) not in (_EPSILON_FIELDS, _RHO_FIELDS):
        raise ValueError("privacy must have epsilon, delta (or rho), neighbours and simulated")
    mechanism, processing = data["mechanism"], data["processing"]
    if not isinstance(mechanism, dict):
        raise ValueError("mechanism must be an object")
    if not isinstance(processing, list) or not all(isinstance(step, str) for step in processing):
        raise ValueError("processing must be a list of strings")
    return {
        "grid": grid,
        "counts": counts,
        "n": n,
        "privacy": Privacy(**privacy),
        "mechanism": mechanism,
        "noise_deviation": deviation,
        "processing": tuple(processing),
    }


def _described(privacy: Privacy) -> dict[str, Any]:
    """Return the parameters of a guarantee of either kind."""
    epsilon = {"epsilon": privacy.epsilon, "delta": privacy.delta}
    parameters = epsilon if privacy.rho is None else {"rho": privacy.rho}
    return {**parameters, "neighbours": privacy.neighbours, "simulated": privacy.simulated}


def _runs(values: NDArray[np.float64]) -> list[list[float | int | None]]:
    """Return [value, how often] for each run of equal values; None stands for infinity."""
    return [
        [None if value == np.inf else value, len(list(run))]
        for value, run in itertools.groupby(values.tolist())
    ]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
