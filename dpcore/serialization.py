"""Releases as JSON, and back, without losing a bit; the format is in docs/format.md."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from . import _check
from .errors import DpcoreError, FormatError, ParameterError
from .grid import Grid
from .privacy import Privacy

if TYPE_CHECKING:
    from .curve import CDF
    from .projection import Projection
    from .scores import ScoreCurves

__all__ = ["dump", "dump_projection", "dump_scores", "load", "load_projection", "load_scores"]

_CDF: Final = "dpcore.cdf"
_PROJECTION: Final = "dpcore.projection"
_SCORES: Final = "dpcore.scores"
_VERSION: Final = 1
_EPSILON_FIELDS: Final = {"epsilon", "delta", "neighbours", "simulated"}
_RHO_FIELDS: Final = {"rho", "neighbours", "simulated"}


def dump(curve: CDF) -> str:
    """Return a curve as JSON text, ASCII, on one line."""
    return _dumped(_CDF, curve.grid, curve)


def dump_scores(curves: ScoreCurves) -> str:
    """Return the curves of two classes as JSON text, ASCII, on one line."""
    return _dumped(_SCORES, curves.grid, curves.joint)


def _dumped(kind: str, grid: Grid, curve: CDF) -> str:
    if curve.privacy.epsilon == math.inf:
        raise ParameterError(
            "privacy", curve.privacy, "must be finite: exact curves are no releases"
        )
    return json.dumps(
        {
            "format": kind,
            "version": _VERSION,
            "grid": grid.describe(),
            "n": curve.n,
            "counts": curve.counts.tolist(),
            "privacy": _described(curve.privacy),
            "mechanism": dict(curve.mechanism),
            "noise_deviation": _runs(curve.noise_deviation),
            "processing": list(curve.processing),
        },
        allow_nan=False,
    )


def dump_projection(projection: Projection) -> str:
    """Return a projection as JSON text, ASCII, on one line."""
    content = {field.name: getattr(projection, field.name) for field in fields(projection)}
    content["privacy"] = _described(projection.privacy)
    content["mechanism"] = dict(projection.mechanism)
    return json.dumps({"format": _PROJECTION, "version": _VERSION, **content}, allow_nan=False)


def load(text: str) -> dict[str, Any]:
    """Return the arguments that make the curve again.

    Raises
    ------
    FormatError
        The text is not such a release.
    """
    return _loaded(text, _CDF, _fields)


def load_scores(text: str) -> tuple[Grid, dict[str, Any]]:
    """Return the grid of the scores, and the other arguments that make the joint curve again.

    Raises
    ------
    FormatError
        The text is not such a release.
    """
    found = _loaded(text, _SCORES, _scores_fields)
    return found.pop("grid"), found


def load_projection(text: str) -> dict[str, Any]:
    """Return the arguments that make the projection again.

    Raises
    ------
    FormatError
        The text is not such a release.
    """
    return _loaded(text, _PROJECTION, _projection_fields)


def _loaded(
    text: str, kind: str, read: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != kind:
        raise FormatError(f'not a release: the field "format" has to be "{kind}"')
    if data.get("version") != _VERSION:
        raise FormatError(
            f"format version {data.get('version')!r}; this dpcore reads version {_VERSION}"
        )
    try:
        return read(data)
    except KeyError as error:
        raise FormatError(f"a release without the field {error}") from None
    except (DpcoreError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"a release with a bad field: {error}") from None


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    grid = Grid.from_description(data["grid"])
    return {"grid": grid, **_curve_fields(data, grid.size)}


def _scores_fields(data: dict[str, Any]) -> dict[str, Any]:
    grid = Grid.from_description(data["grid"])
    cells = 2 * grid.size
    has_empty = len(data["counts"]) == cells + 1  # a cell for records that clients do not have
    return {"grid": grid, **_curve_fields(data, cells + has_empty)}


def _curve_fields(data: dict[str, Any], size: int) -> dict[str, Any]:
    """Return the arguments, but for the grid, that make a curve over so many cells again."""
    counts = np.asarray(data["counts"])
    runs = data["noise_deviation"]
    if sum(count for _, count in runs) != size:
        raise ValueError(f"noise_deviation must be runs of {size} numbers in all")
    values = [np.inf if value is None else float(value) for value, _ in runs]
    deviation = np.repeat(values, [count for _, count in runs])
    n = _check.integer("n", data["n"], 1, 2**63)
    if counts.dtype not in (np.int64, np.float64) or counts.shape != (size,):
        raise ValueError(f"counts must be {size} numbers")
    if counts[-1] != n:
        raise ValueError("the last of counts must be n")
    if not np.all(deviation >= 0):
        raise ValueError("noise_deviation must not be negative")
    processing = data["processing"]
    if not isinstance(processing, list) or not all(isinstance(step, str) for step in processing):
        raise ValueError("processing must be a list of strings")
    return {
        "counts": counts,
        "n": n,
        "noise_deviation": deviation,
        "processing": tuple(processing),
        **_cost(data),
    }


def _projection_fields(data: dict[str, Any]) -> dict[str, Any]:
    from ._polynomials import MOST_DEGREE, Basis, Budgets

    lower, upper = _check.bounds(data["lower"], data["upper"])
    totals = data["totals"]
    if not isinstance(totals, list) or not all(type(total) is int for total in totals):
        raise ValueError("totals must be a list of integers")
    if any(total.bit_length() > 256 for total in totals):
        raise ValueError("totals must be below 2^256")
    _check.integer("degree", len(totals) - 1, 1, MOST_DEGREE)
    _check.choice("basis", data["basis"], Basis)
    _check.choice("budgets", data["budgets"], Budgets)
    variance = _check.finite("variance", data["variance"])
    if variance < 0.0:
        raise ValueError("variance must not be negative")
    return {
        "lower": lower,
        "upper": upper,
        "n": _check.integer("n", data["n"], 1, 2**63),
        "totals": tuple(totals),
        "bits": _check.integer("bits", data["bits"], -64, 64),
        "variance": variance,
        "basis": data["basis"],
        "budgets": data["budgets"],
        **_cost(data),
    }


def _cost(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a release of either kind cost, and what made it."""
    privacy = data["privacy"]
    if set(privacy) not in (_EPSILON_FIELDS, _RHO_FIELDS):
        raise ValueError("privacy must have epsilon, delta (or rho), neighbours and simulated")
    if not isinstance(data["mechanism"], dict):
        raise ValueError("mechanism must be an object")
    return {"privacy": Privacy(**privacy), "mechanism": data["mechanism"]}


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
