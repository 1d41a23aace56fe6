"""What a release of a secret random sample costs those from whom it was drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

from .. import _check
from ..errors import ParameterError
from .guarantees import Privacy, double_above

__all__ = ["subsampled"]

_RELATIONS: Final = ("replace-one", "replace-client")
_ROUNDING: Final = 2.0**-48  # more than a few roundings, relative
_LARGE: Final = 30.0  # from this epsilon on, its exponential is divided out first


def subsampled(privacy: Privacy, sample: int, records: int) -> Privacy:
    """Return what a release of a secret random sample costs all from whom it was drawn.

    Parameters
    ----------
    privacy
        The guarantee of the release for the sample, by replace-one; or by replace-client, if
        clients are sampled. It has an epsilon.
    sample, records
        m and n: the sample is m of the n records, drawn without replacement. All samples are
        equally likely, by a cryptographic source, and which it was stays secret. Both numbers are
        public.

    Returns
    -------
    Privacy
        epsilon' = log(1 + (m / n) (exp(epsilon) - 1)) and delta' = (m / n) delta, rounded up. It
        states no rho, which is not amplified like that.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the sample is larger than the records.

    Notes
    -----
    Balle, Barthe & Gaboardi, *Privacy amplification by subsampling: tight analyses via couplings
    and divergences* (2018), Theorem 11; docs/proofs/privacy.md, section 11. A sample does not make
    a release more accurate: with all records, less noise has the same guarantee. It is for data too
    large to read.

    Examples
    --------
    >>> from dpcore import Privacy
    >>> from dpcore.privacy import subsampled
    >>> round(subsampled(Privacy(1.0, 1e-6), sample=1_000, records=100_000).epsilon, 4)
    0.017
    """
    _check.instance("privacy", privacy, Privacy, "must be a Privacy")
    whole = _check.integer("records", records, 1, 2**63)
    part = _check.integer("sample", sample, 1, 2**63)
    if part > whole:
        raise ParameterError("sample", sample, f"must be at most the {whole} records")
    if privacy.epsilon is None or privacy.neighbours not in _RELATIONS:
        what = "must have an epsilon, for replace-one or for replace-client"
        raise ParameterError("privacy", privacy, what)
    if part == whole or math.isinf(privacy.epsilon):
        return privacy
    rate = part / whole
    if privacy.epsilon < _LARGE:
        epsilon = math.log1p(rate * math.expm1(privacy.epsilon)) * (1.0 + _ROUNDING)
    else:
        less = -math.log(rate + (1.0 - rate) * math.exp(-privacy.epsilon))
        epsilon = privacy.epsilon * (1.0 + _ROUNDING) - less * (1.0 - _ROUNDING)
    epsilon = min(privacy.epsilon, math.nextafter(epsilon, math.inf) if privacy.epsilon else 0.0)
    delta = double_above(Fraction(part, whole) * Fraction(privacy.delta))
    return replace(privacy, epsilon=epsilon, delta=delta, rho=None)
