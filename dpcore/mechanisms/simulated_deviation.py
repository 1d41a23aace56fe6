"""Errors of a released curve by simulation, where closed forms are too large: after isotonic()."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _check
from ..curves.cdf import CDF
from ..curves.simulated_releases import (
    REPLICATES,
    Releases,
    check_released,
    loses_records,
    root_mean_square_errors,
)
from ..errors import DtypeError, ParameterError
from .descriptions import from_curve

__all__ = ["with_simulated_deviation"]

_MOST_REPLICATES = 2**20


def with_simulated_deviation(
    curve: CDF,
    mechanism: Releases | None = None,
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator | None = None,
) -> CDF:
    """Return the curve with the ``noise_deviation`` that simulated releases have.

    For ``band`` and ``standard_error`` of curves that are made monotone: the closed form is that of
    raw curves, and isotonic regression takes much of the noise away where few records are.

    Parameters
    ----------
    curve
        Raw, or made monotone by ``isotonic``, of a mechanism whose only error is noise.
    mechanism
        What released it. None: made again, by ``from_curve``.
    replicates
        How many releases to simulate, 1 to 2^20.
    rng
        None: seeded by the released counts, so that the same curve has the same answer. No secrecy
        is needed: they are public already.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the curve's own.

    Notes
    -----
    A parametric bootstrap, post-processing: the released curve is taken as the truth, and what is
    stated is the root mean square error of releases of it. docs/intervals.md has the coverage: the
    nominal one on average over thresholds, less at some. As long as so many releases.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, grid = rng.normal(0.3, 0.02, 1000), dp.Grid.uniform(0, 1, 128)
    >>> curve = dp.cdf(values, grid, dp.mechanisms.Hierarchy(epsilon=0.5), rng=rng)
    >>> closer = dp.mechanisms.with_simulated_deviation(curve, replicates=50)
    >>> for each in (curve, closer):
    ...     print(each.noise_deviation.mean().round(1))
    20.6
    9.7
    """
    if not isinstance(curve, CDF):
        raise DtypeError("curve", type(curve).__name__, "must be a CDF")
    replicates = _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
    what = "must be by a mechanism whose only error is noise"
    if not np.isfinite(curve.noise_deviation).all():
        raise ParameterError("curve", curve.mechanism["name"], what)
    if curve.privacy.neighbours == "replace-client":
        why = "must be about records: which clients lack some is not in the curve"
        raise ParameterError("curve", "replace-client", why)
    own = check_released("curve", curve, from_curve(curve) if mechanism is None else mechanism)
    if loses_records(own):  # its estimate has what no simulation sees
        raise ParameterError("curve", curve.mechanism["name"], what)
    deviation = root_mean_square_errors(
        curve, own, lambda counts: counts, replicates=replicates, rng=rng
    )
    return replace(curve, noise_deviation=deviation, raw=None)  # whose deviation is not this
