"""Errors of releases, by a simulation that takes a released curve for the truth.

This is a parametric bootstrap. It costs no privacy, as it uses no records. It covers effects that
closed forms do not: correlations between thresholds, isotonic regression, clipping. It does not
cover what the mechanism has lost of the records already. So the caller has to know that noise is
the only error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _instead
from ..errors import DtypeError, ParameterError
from ..kernels.smoothing.isotonic import isotonic
from ..noise.sources import source
from ..privacy.spending import unwatched
from .cdf import CDF

__all__ = [
    "REPLICATES",
    "Releases",
    "check_released",
    "processed",
    "root_mean_square_errors",
]

REPLICATES: Final = 200  # with so many, a deviation has an error of 5 %, and a level one of 0.5 %

_BLOCK: Final = 2**20  # counts that are simulated at once
_PROCESSINGS: Final = ((), ("isotonic()",))  # steps that simulated curves also get


@runtime_checkable
class Releases(Protocol):
    """The methods that a simulation needs, of a mechanism or of a protocol of several parties."""

    @property
    def loses_records(self) -> bool:
        """Whether a release loses detail besides noise, which a simulation does not show."""
        ...

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return noisy cumulative counts, (N,) or (replicates, N), from exact counts of cells."""
        ...

    def describe(self) -> Mapping[str, str | int | float]:
        """Return the name and the parameters that a release records."""
        ...


def check_released(argument: str, curve: CDF, mechanism: object) -> Releases:
    """Return the mechanism, if it is the one that the curve, given as ``argument``, names."""
    if isinstance(mechanism, type) or not isinstance(mechanism, Releases):
        raise DtypeError("mechanism", type(mechanism).__name__, _instead.mechanism(mechanism))
    if curve.processing not in _PROCESSINGS:
        given = curve.processing
        raise ParameterError(argument, given, "must be raw, or isotonic(), if a mechanism is given")
    if mechanism.describe() != curve.mechanism:
        own = curve.mechanism
        raise ParameterError("mechanism", mechanism.describe(), f"must be the curves' own, {own}")
    return mechanism


def root_mean_square_errors(
    curve: CDF,
    mechanism: Releases,
    read: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    replicates: int = REPLICATES,
    rng: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the root mean square errors of numbers computed from releases of such a curve.

    Parameters
    ----------
    curve
        A released curve, raw or made monotone by ``isotonic``. Rounded to whole records, and made
        monotone, it is the truth of the simulation.
    mechanism
        The mechanism that released it.
    read
        A function that computes the numbers from the counts of some curves, (rows, N), and returns
        (rows, ...).
    replicates
        R, the number of releases to simulate. They are processed as the curve was.
    rng
        A generator, or None for one that is seeded by the released counts, so that the same curve
        has the same result. The counts are public already, so the seed need not be secret.

    Returns
    -------
    numpy.ndarray
        Of the shape of the numbers: the root mean square of their differences from those of the
        truth, bias and spread in one.
    """
    truth = np.rint((curve if curve.is_monotone else curve.isotonic()).counts)
    if rng is None:
        rng = np.random.default_rng(truth.view(np.uint32))
    source(rng)  # refuses other types
    true, cells = read(truth[np.newaxis]), np.diff(truth, prepend=0.0).astype(np.int64)
    squares, rows = np.zeros(true.shape[1:]), max(1, _BLOCK // truth.size)
    for start in range(0, replicates, rows):
        some = min(rows, replicates - start)
        with unwatched():
            released = mechanism.release(cells, rng=rng, replicates=some).astype(np.float64)
        squares += np.sum((read(processed(curve, released)) - true) ** 2, axis=0)
    return np.asarray(np.sqrt(squares / replicates))


def processed(curve: CDF, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the counts of simulated releases, (rows, N), processed as the curve was, in place."""
    if curve.privacy.neighbours == "add-or-remove-one":  # n is noisy, too
        counts[:, -1] = np.maximum(np.rint(counts[:, -1]), 1.0)
    else:
        counts[:, -1] = curve.n
    if curve.processing:
        for row in counts:
            isotonic(row[np.newaxis, :-1], 0.0, row[-1])
    return counts
