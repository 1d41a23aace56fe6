"""The base of the mechanisms: it checks counts, and makes one or many releases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._threads import checked_workers, on_threads
from ..errors import ParameterError
from ..noise.sources import Source, source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy
from ..privacy.spending import spending
from ..summaries.grid import MOST_CELLS

__all__ = ["MOST_RECORDS", "Releases", "Work", "cell_counts"]

MOST_RECORDS: Final = 2**46  # sums in fine units fit 64 bits; larger sums would wrap around
_BLOCK_DRAWS: Final = 2**16  # threads get replicates in blocks of about this many draws


class Work(NamedTuple):
    """How releases of some counts are made.

    Parameters
    ----------
    fill
        A function that overwrites an array (rows, N) with independent releases, given a noise
        stream.
    draws
        About how many noise variates a release takes. The blocks, and so the results, depend on it.
    dtype
        The type of the releases.
    """

    fill: Callable[[NDArray[Any], Source], None]
    draws: int
    dtype: type[np.int64] | type[np.float64]


class Releases(ABC):
    """A mechanism that has a budget, and prepares counts for any number of releases."""

    __slots__ = ()

    @abstractmethod
    def _budget(self) -> Allowance:
        """Return the allowance of one release."""

    @abstractmethod
    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        """Return the work of releasing the counts of N cells, (N,)."""

    @abstractmethod
    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        Examples
        --------
        >>> from dpcore.mechanisms import Histogram
        >>> Histogram(epsilon=1.0).noise_deviation(4).round(2)
        array([2.42, 2.8 , 2.42, 0.  ])
        """

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one release with cryptographic noise."""
        return self._budget().privacy

    def mean_squared_error(self, size: int) -> float:
        """Return the mean squared error of a cumulative count over the N thresholds, in counts^2.

        It is a closed form. The mean includes the last threshold, whose error is 0 if n is public.

        Examples
        --------
        >>> from dpcore.mechanisms import Hierarchy, Histogram
        >>> round(Histogram(epsilon=1.0).mean_squared_error(1024), 1)
        1337.2
        >>> round(Hierarchy(epsilon=1.0).mean_squared_error(1024), 1)
        314.4
        """
        return float(np.mean(self.noise_deviation(size) ** 2))

    def release(
        self,
        counts: NDArray[np.integer[Any]],
        *,
        rng: np.random.Generator | None = None,
        replicates: int | None = None,
        workers: int | None = None,
    ) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return cumulative counts with noise.

        Parameters
        ----------
        counts
            (N,) integers, the exact counts of the cells, from ``Grid.count``.
        rng
            None for a release: noise from a cryptographic source. A generator is for studies. The
            noise comes from its children, so results do not depend on the number of threads.
        replicates
            None for one release, or the number of independent releases. Each spends the budget.
        workers
            The number of threads for replicates; None for all processors.

        Returns
        -------
        numpy.ndarray
            (N,) or (replicates, N): int64 from ``Dyadic`` with Laplace noise, float64 otherwise.
            Under replace-one the last entry is n.

        Raises
        ------
        DtypeError, ParameterError
            counts is not a non-empty array of integers that are 0 or more, their public sum is
            above 2^46, or another argument is not as above.

        Notes
        -----
        Each replicate takes O(N) draws and memory, and O(N) additions. ``ToeplitzGaussian`` takes
        O(N log N) operations. ``Dawa`` takes O(N) for each of some fifty partitions that it tries.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.mechanisms import Dyadic
        >>> counts = np.array([40, 30, 20, 10])
        >>> mechanism, rng = Dyadic(epsilon=1.0), np.random.default_rng(1)
        >>> mechanism.release(counts, rng=rng)
        array([ 32,  70,  95, 100])
        >>> mechanism.release(counts, rng=rng, replicates=2)
        array([[ 43,  69,  91, 100],
               [ 33,  66,  87, 100]])
        """
        exact = self._checked(counts)
        repeat = 1 if replicates is None else _check.integer("replicates", replicates, 1, 2**40)
        threads = checked_workers(workers)
        stream, work = source(rng), self._prepared(exact)
        out: NDArray[Any] = np.empty((repeat, exact.size), work.dtype)
        rows = max(1, _BLOCK_DRAWS // max(1, work.draws))
        starts = range(0, repeat, rows)

        def fill(block: tuple[int, Source]) -> None:
            start, own = block
            work.fill(out[start : start + rows], own)

        def cost() -> Privacy:
            return repeat * replace(self.privacy, simulated=rng is not None)

        with spending(cost, f"{type(self).__name__}.release"):
            on_threads(fill, list(zip(starts, stream.spawn(len(starts)), strict=True)), threads)
        return out if replicates is not None else out[0]

    def _checked(self, counts: object) -> NDArray[np.int64]:
        """Return the counts of the cells, (N,), checked."""
        exact = cell_counts(counts)
        total = int(exact.sum())
        if self._budget().total_is_public and total > MOST_RECORDS:
            raise ParameterError("counts", total, f"must sum to at most {MOST_RECORDS}")
        return exact


def cell_counts(counts: object) -> NDArray[np.int64]:
    """Return the counts of the cells of a grid, (N,), checked."""
    array = _check.counts("counts", counts)
    if array.ndim != 1 or not 1 <= array.size <= MOST_CELLS:
        raise ParameterError(
            "counts", array.shape, f"must be one-dimensional, with 1 to {MOST_CELLS} cells"
        )
    return array
