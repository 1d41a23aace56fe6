"""The methods of every mechanism, and the functions by which other rooms use mechanisms."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _instead
from ..errors import DtypeError
from ..privacy.guarantees import Privacy

__all__ = ["Mechanism", "check_mechanism", "deviation_of", "release_with_deviation"]


@runtime_checkable
class Mechanism(Protocol):
    """A way to release cumulative counts over a grid of N cells.

    If ``privacy.neighbours`` is "replace-one", the number of records n is public, and the last
    cumulative count is n. Otherwise the last count has noise, too.

    Examples
    --------
    >>> import dpcore as dp
    >>> mechanism = dp.mechanisms.Hierarchy(epsilon=1.0)
    >>> isinstance(mechanism, dp.mechanisms.Mechanism)
    True
    >>> mechanism.noise_deviation(4).round(2)
    array([2.42, 2.8 , 2.42, 0.  ])
    """

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release with cryptographic noise."""
        ...

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return noisy cumulative counts, (N,), or (replicates, N) independent ones.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> dp.mechanisms.Dyadic(epsilon=1.0).release(np.array([40, 30, 20, 10]), rng=rng)
        array([ 32,  70,  95, 100])
        """
        ...

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.mechanisms.Dyadic(epsilon=1.0).noise_deviation(4).round(2)
        array([4.85, 4.85, 4.85, 0.  ])
        """
        ...

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a release records them.

        Examples
        --------
        >>> import dpcore as dp
        >>> dp.mechanisms.Histogram(epsilon=1.0).describe()
        {'name': 'histogram', 'epsilon': 1.0}
        """
        ...


def check_mechanism(argument: str, value: object, kind: type = Mechanism) -> None:
    """Refuse a value that is not a mechanism of this kind, or is its class; say what to write."""
    what = _instead.mechanism(value, "mechanism" if kind is Mechanism else kind.__name__)
    if isinstance(value, type):
        raise DtypeError(argument, f"the class {value.__name__}", what)
    if not isinstance(value, kind):
        raise DtypeError(argument, type(value).__name__, what)


def deviation_of(mechanism: Mechanism, released: NDArray[Any]) -> NDArray[np.float64]:
    """Return the standard deviation of the noise in each count of a release, (N,).

    This is ``noise_deviation``, which holds for all records. If the error of a mechanism depends on
    the records, it has ``estimated_deviation`` instead, which uses the release.
    """
    estimated = getattr(mechanism, "estimated_deviation", None)
    if estimated is None:
        return np.asarray(mechanism.noise_deviation(released.size), np.float64)
    return np.asarray(estimated(released), np.float64)


def release_with_deviation(
    mechanism: Mechanism, counts: NDArray[np.integer[Any]], rng: np.random.Generator | None
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return one release, and the standard deviation of the noise in each of its counts, both (N,).

    A mechanism that finds out its error during the release has a method of this name.
    """
    own = getattr(mechanism, "release_with_deviation", None)
    if own is None:
        released = np.asarray(mechanism.release(counts, rng=rng))
        return released, deviation_of(mechanism, released)
    released, deviation = own(counts, rng=rng)
    return np.asarray(released), np.asarray(deviation, np.float64)
