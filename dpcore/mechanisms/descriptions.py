"""Mechanisms that are made again from their descriptions in releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, Final

from ..curves.cdf import CDF
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import of_public_size
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
    """Return the mechanism that released a curve, made from its description in the release.

    Parameters
    ----------
    curve
        A raw or processed curve. For score curves, ``curves.joint``.

    Returns
    -------
    Mechanism
        The mechanism, for studies of the release. Its noise has the law of the curve's noise.

    Raises
    ------
    DtypeError, ParameterError
        The argument is not a curve, or no single mechanism of ``dpcore.mechanisms`` released it.
        Trust models are not made again, because the number of participants is not in the release.

    Notes
    -----
    The parameters are those of the description: an epsilon that was a Fraction is rounded to a
    double, and budgets of a hierarchy are rounded to 6 digits.

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
        raise ParameterError(
            "curve", curve.mechanism, f"must be released by one of {', '.join(_KINDS)}"
        )
    for name, number in _SEQUENCES.items():
        if isinstance(text := parameters.get(name), str) and text[:1].isdigit():
            parameters[name] = tuple(map(number, text.split(",")))
    if isinstance(parameters.get("branching"), tuple) and len(parameters["branching"]) == 1:
        # All levels have the same branching, and the text is the same.
        (parameters["branching"],) = parameters["branching"]
    if "neighbours" in {field.name for field in fields(kind)}:
        relation = curve.privacy.neighbours  # within a group, it is a release of the group
        parameters["neighbours"] = "replace-one" if of_public_size(relation) else relation
    with suppress(TypeError):  # the parameters are others, or too few
        made: Mechanism = kind(**parameters)
        if made.describe() == curve.mechanism:
            return made
    raise ParameterError(
        "curve", curve.mechanism, "must be released by a mechanism of this version"
    )
