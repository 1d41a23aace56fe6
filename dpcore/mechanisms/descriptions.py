"""Mechanisms that are made again from their descriptions in releases."""

from __future__ import annotations

from collections.abc import Mapping

from .. import _check
from ..curves.cdf import CDF
from ..errors import DpcoreError, ParameterError
from ..privacy.guarantees import Relation
from .base import Mechanism, names, registered

__all__ = ["from_curve"]


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
    _check.instance("curve", curve, CDF, "must be a CDF")
    return from_description(curve.mechanism, curve.privacy.neighbours, "curve")


def from_description(
    description: Mapping[str, str | int | float], relation: Relation, argument: str = "mechanism"
) -> Mechanism:
    """Return the mechanism with a description, whose releases protect a relation.

    Raises
    ------
    DtypeError, ParameterError
        There is none. The error names ``argument``.
    """
    _check.instance(argument, description, Mapping, "must map names to parameters")
    name = description.get("name")
    kind = registered(name) if isinstance(name, str) else None
    if kind is None:
        what = f"must be released by one of {', '.join(names())}"
        raise ParameterError(argument, description, what)
    try:
        made = kind.from_description(description, relation)
        if made.describe() == description:
            return made
    except DpcoreError:
        raise
    except (TypeError, ValueError):  # the parameters are others, too few, or no numbers
        pass
    raise ParameterError(argument, description, "must be released by a mechanism of this version")
