"""How good private bounds of a column are, by the method.

Wide bounds make wide cells, and records outside the bounds count in the first or last cell
(docs/measured/bounds-accuracy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...releases.bounds import Bounds
from ...releases.bounds import bounds as released_bounds
from ...releases.bounds_around_zero import compact_bounds, symmetric_bounds
from .. import study

__all__ = ["bounds"]

Reals = NDArray[np.float64]


def centred(n: int, rng: np.random.Generator) -> Reals:
    """Normal values around 0."""
    return rng.normal(0, 20, n)


def incomes(n: int, rng: np.random.Generator) -> Reals:
    """Lognormal values, which are never negative."""
    return rng.lognormal(np.log(30_000), 0.8, n)


def shifted(n: int, rng: np.random.Generator) -> Reals:
    """Normal values far from 0."""
    return rng.normal(100, 10, n)


METHODS = {"bounds": released_bounds, "symmetric": symmetric_bounds, "compact": compact_bounds}


@study(
    {
        "n": [1_000, 10_000],
        "epsilon": [0.5],
        "data": {"centred": centred, "incomes": incomes, "shifted": shifted},
        "method": METHODS,
    }
)
def bounds(
    n: int,
    epsilon: float,
    data: Callable[..., Reals],
    method: Callable[..., Bounds],
    rng: np.random.Generator,
) -> Mapping[str, float]:
    """How good private bounds of a column are, by the method.

    ``inside`` is the share of the records that are within the bounds; ``width`` is that of the
    bounds, in widths of the central 95 % of the records.
    """
    values = data(n, rng)
    released = method(values, epsilon=epsilon, rng=rng)
    low, high = np.quantile(values, [0.025, 0.975])
    return {
        "inside": np.mean((released.lower <= values) & (values <= released.upper)),
        "width": (released.upper - released.lower) / (high - low),
    }
