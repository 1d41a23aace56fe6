"""Mechanisms made again from what a release says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, Final

from ..curves.cdf import CDF
from ..errors import DtypeError, ParameterError
from .adaptive import AdaptiveQuantiles
from .base import Mechanism
from .dawa import Dawa
from .dyadic import Dyadic
from .hierarchy import Hierarchy, Histogram
from .no_noise import NoNoise
from .polynomial import PolynomialProjection
from .queries import HistogramQueries
from .toeplitz import ToeplitzGaussian

__all__ = ["from_curve"]

_KINDS: Final[Mapping[str, type[Any]]] = {
    "adaptive-quantiles": AdaptiveQuantiles,
    "dawa": Dawa,
    "dyadic": Dyadic,
    "hierarchy": Hierarchy,
    "histogram": Histogram,
    "histogram-queries": HistogramQueries,
    "no-noise": NoNoise,
    "polynomial": PolynomialProjection,
    "toeplitz": ToeplitzGaussian,
}
_SEQUENCES: Final[Mapping[str, Callable[[str], float]]] = {"branching": int, "budgets": float}


def from_curve(curve: CDF) -> Mechanism:
    """Return the mechanism that released a curve, made from what the release says of it.

    Parameters
    ----------
    curve
        Raw or processed. Of scores: ``curves.joint``.

    Returns
    -------
    Mechanism
        For studies of the release: its noise has the law of the curve's.

    Raises
    ------
    DtypeError, ParameterError
        Not a curve; or one that no single mechanism of ``dpcore.mechanisms`` has released. Trust
        models are not made again: who knows how many took part has the model.

    Notes
    -----
    Parameters are those of the description: an epsilon given as a Fraction is rounded to a double,
    and budgets of a hierarchy are rounded to 6 digits.

    Examples
    --------
    >>> import dpcore as dp
    >>> curve = dp.cdf([1.0, 2.0] * 99, dp.Grid([1.0, 2.0]), epsilon=0.5)
    >>> dp.mechanisms.from_curve(dp.CDF.from_json(curve.to_json())).privacy.epsilon
    0.5
    """
    if not isinstance(curve, CDF):
        raise DtypeError("curve", type(curve).__name__, "must be a CDF")
    parameters: dict[str, Any] = dict(curve.mechanism)
    kind = _KINDS.get(str(parameters.pop("name", None)))
    if kind is None:
        raise ParameterError("curve", curve.mechanism, f"must be by one of {', '.join(_KINDS)}")
    for name, number in _SEQUENCES.items():
        if isinstance(text := parameters.get(name), str) and text[:1].isdigit():
            parameters[name] = tuple(map(number, text.split(",")))
    if isinstance(parameters.get("branching"), tuple) and len(parameters["branching"]) == 1:
        (parameters["branching"],) = parameters["branching"]  # the same text, and for all levels
    if "neighbours" in {field.name for field in fields(kind)}:
        parameters["neighbours"] = curve.privacy.neighbours
    with suppress(TypeError):  # other parameters, or too few
        made: Mechanism = kind(**parameters)
        if made.describe() == curve.mechanism:
            return made
    raise ParameterError("curve", curve.mechanism, "must be by a mechanism of this version")
