"""Mechanisms that curves name, for simulations, and the errors that these show.

Closed forms of errors are too large after isotonic regression.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _check
from ..curves.cdf import CDF
from ..curves.own_mechanism import REPLICATES, Releases, check_released
from ..curves.simulated_releases import Simulation, root_mean_square_errors
from ..errors import ParameterError
from ..privacy.guarantees import of_clients
from .descriptions import from_curve

__all__ = ["simulation_of", "with_simulated_deviation"]

_MOST_REPLICATES = 2**20


def with_simulated_deviation(
    curve: CDF,
    mechanism: Releases | None = None,
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator | None = None,
) -> CDF:
    """Return the curve with the ``noise_deviation`` that simulated releases have.

    Use it for ``band`` and ``standard_error`` of curves that are made monotone. The closed form is
    for raw curves, and isotonic regression removes much of the noise where there are few records.

    Parameters
    ----------
    curve
        A raw curve, or one made monotone by ``isotonic``, from a mechanism whose only error is
        noise.
    mechanism
        The mechanism that released the curve. None: ``from_curve`` makes it again.
    replicates
        The number of releases to simulate, 1 to 2^20.
    rng
        None: a generator that is seeded by the released counts, so that the same curve has the same
        result. The counts are already public, so no secrecy is needed.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the mechanism is not the curve's own.

    Notes
    -----
    This is a parametric bootstrap, and post-processing: the released curve is taken as the truth,
    and the result is the root mean square error of simulated releases of it.
    docs/measured/intervals.md has the coverage: it is nominal on average over thresholds, and less
    at some. The function takes as long as ``replicates`` releases.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> values, grid = rng.normal(0.3, 0.02, 1000), dp.Grid.uniform(0, 1, 128)
    >>> curve = dp.cdf(values, grid, dp.mechanisms.Hierarchy(epsilon=0.5), rng=rng)
    >>> closer = dp.mechanisms.with_simulated_deviation(curve, replicates=50)
    >>> for released in (curve, closer):
    ...     print(released.noise_deviation.mean().round(1))
    20.6
    9.7
    """
    _check.instance("curve", curve, CDF, "must be a CDF")
    replicates = _check.integer("replicates", replicates, 1, _MOST_REPLICATES)
    simulation = simulation_of("curve", curve, mechanism)
    # An estimate of a mechanism includes errors that simulations do not show.
    if simulation.loses_records or not np.isfinite(curve.noise_deviation).all():
        what = "must be released by a mechanism whose only error is noise"
        raise ParameterError("curve", curve.mechanism["name"], what)
    deviation = root_mean_square_errors(
        [simulation], lambda counts: counts, replicates=replicates, rng=rng
    )
    # The raw counts have another deviation.
    return replace(curve, noise_deviation=deviation, raw=None)


def simulation_of(argument: str, curve: CDF, mechanism: Releases | None = None) -> Simulation:
    """Return the simulation of a curve, given as ``argument``, by its own mechanism.

    None: ``from_curve`` makes it again.
    """
    if of_clients(curve.privacy.neighbours):
        what = "must protect records: a curve does not tell which clients lack some"
        raise ParameterError(argument, "replace-client", what)
    if mechanism is None:
        try:
            mechanism = from_curve(curve)
        except ParameterError as error:
            name, what = curve.mechanism["name"], "must be a release by a mechanism"
            other = ", or be given with its mechanism"
            raise ParameterError(argument, name, f"{what} of dpcore.mechanisms{other}") from error
    return Simulation(curve, check_released(argument, curve, mechanism))
