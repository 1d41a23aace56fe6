"""A mechanism without noise, for tests and for the true curve beside a private one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..noise.sources import Source
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Privacy
from ..summaries.grid import MOST_CELLS
from .base import Mechanism, Work

__all__ = ["NoNoise"]


@dataclass(frozen=True, slots=True)
class NoNoise(Mechanism):
    """The exact cumulative counts, **without any privacy**: ``privacy.epsilon`` is infinite.

    Statistics of its curves are those of the records themselves. The curves cannot be written as
    JSON.

    Examples
    --------
    >>> import dpcore as dp
    >>> grid = dp.Grid.uniform(0, 1, 4)
    >>> dp.cdf([0.1, 0.3, 0.35, 0.9], grid, dp.mechanisms.NoNoise()).counts
    array([1., 3., 3., 4.])
    """

    name: ClassVar[str] = "no-noise"
    is_additive: ClassVar[bool] = True

    @property
    def privacy(self) -> Privacy:
        """No guarantee: epsilon is infinite."""
        return Privacy(math.inf)

    def _budget(self) -> Allowance:
        return Allowance(None, None, "replace-one")

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return zeros, (N,).

        Examples
        --------
        >>> from dpcore.mechanisms import NoNoise
        >>> NoNoise().noise_deviation(4)
        array([0., 0., 0., 0.])
        """
        return np.zeros(_check.integer("size", size, 1, MOST_CELLS))

    def describe(self) -> dict[str, str | int | float]:
        """Return the name, as a release records it.

        Examples
        --------
        >>> import dpcore as dp
        >>> exact = dp.cdf([0.2, 0.7], dp.Grid.uniform(0, 1, 4), dp.mechanisms.NoNoise())
        >>> exact.n, exact.mechanism
        (2, {'name': 'no-noise'})
        """
        return {"name": self.name}

    def _prepared(self, exact: NDArray[np.int64]) -> Work:
        cumulative = np.cumsum(exact)

        def fill(out: NDArray[np.int64], stream: Source) -> None:
            del stream
            out[:] = cumulative

        def fill_rows(counts: NDArray[np.int64], out: NDArray[np.int64], stream: Source) -> None:
            del stream
            np.cumsum(counts, axis=1, out=out)

        return Work(fill, 0, np.int64, fill_rows)
