"""The dyadic tree in time: each step has the noise of the nodes that cover it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import FormatError, ParameterError
from ..kernels.trees import dyadic
from ..kernels.trees import streams as kernels
from ..noise.laws import DiscreteLaplace
from ..privacy.allowance import Law
from ..privacy.guarantees import Neighbours
from ..summaries.grid import MOST_CELLS
from .base import (
    ONE,
    AdditiveNoise,
    Change,
    StreamMechanism,
    StreamNoise,
    check_counters,
    checked_horizon,
)
from .draws import Drawn, Draws, child_of

__all__ = ["DyadicTree"]

Sensitivity = Literal["exact", "paper"]

_MOST_NOISE: Final = 2**62


@dataclass(frozen=True, slots=True)
class DyadicTree(StreamMechanism):
    """Every running count gets the noise of the tree nodes that cover its step.

    Barczewski, Mawass & Ramon, *Differentially private empirical cumulative distribution
    functions*, Eq. 2 and Theorem 3, with discrete noise, for any horizon and any base.

    Parameters
    ----------
    epsilon, rho, delta
        The budget of all steps together: epsilon (discrete Laplace noise), or rho, or epsilon with
        delta (discrete Gaussian noise).
    base
        Children per tree node, 2 or more.
    neighbours
        "replace-one": one record comes at another step, or never, or in addition.
        "add-or-remove-one": one record comes in addition, or never.
    sensitivity
        "exact": a largest distance in the dyadic graph, between any two boundaries, or to the last
        one. "paper": L + 1 under replace-one, and ceil((L + 1) / 2) under add-or-remove-one, with
        L = ceil(log2 horizon), of Theorems 1 and 3; base 2 only.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/streams.md has the proof. With rho there is one exception: the guarantee is proven
    for a record whose own steps do not depend on earlier outputs. It keeps O(log horizon) numbers.

    Examples
    --------
    >>> from dpcore.streams import DyadicTree
    >>> tree = DyadicTree(epsilon=1.0, neighbours="add-or-remove-one")
    >>> round(tree.noise_deviation(1024, 1), 1)
    28.1
    """

    name: ClassVar[str] = "dyadic-tree"

    epsilon: float | Fraction | None = None
    base: int = 2
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "replace-one"
    delta: float | None = None
    sensitivity: Sensitivity = "exact"

    def __post_init__(self) -> None:
        self.budget  # noqa: B018 (it refuses what is no budget)
        object.__setattr__(self, "base", _check.integer("base", self.base, 2, MOST_CELLS))
        _check.choice("sensitivity", self.sensitivity, Sensitivity)
        if self.sensitivity == "paper" and self.base != 2:
            raise ParameterError("base", self.base, 'must be 2 with sensitivity="paper"')

    def noise(
        self,
        horizon: int | None,
        rng: np.random.Generator | None = None,
        *,
        width: int = 1,
        change: Change = ONE,
    ) -> StreamNoise:
        """Return the noise of ``width`` counters; see ``StreamMechanism``.

        Examples
        --------
        >>> from dpcore.streams import DyadicTree
        >>> DyadicTree(epsilon=1.0).noise(365).draws.law
        DiscreteLaplace(scale=Fraction(9, 1))
        """
        if horizon is None:
            raise ParameterError("horizon", None, "must be known for a DyadicTree")
        thresholds = checked_horizon(horizon)
        check_counters(width, change)
        law = self.budget.law(self._changes(thresholds, change.apart) * change.amount)
        return _TreeNoise(thresholds, self.base, width, Draws(law, child_of(rng)))

    def _changes(self, horizon: int, apart: bool) -> int:
        """Return the most by which a record shifts the nodes' noise, in absolutes or squares."""
        between, to_last = dyadic.distances(horizon, min(self.base, horizon + 1))
        if self.sensitivity == "paper":
            levels = _level_count(horizon, 2)
            between, to_last = levels, -(-levels // 2)
        if self.neighbours == "add-or-remove-one":
            return int(to_last)
        return int(2 * to_last if apart else max(between, to_last))


class _Held(NamedTuple):
    """The state of the noise after a step. All of it is secret."""

    nodes: NDArray[np.int64]  # (L + 1, W) the noise of the open nodes, lowest level first
    drawn: Drawn


@dataclass(frozen=True, slots=True, eq=False)
class _TreeNoise(AdditiveNoise):
    thresholds: int
    base: int
    width: int
    draws: Draws

    @property
    def is_simulated(self) -> bool:
        return self.draws.rng is not None

    def start(self) -> _Held:
        shape = _level_count(self.thresholds, self.base), self.width
        return _Held(np.zeros(shape, np.int64), self.draws.start())

    def start_after(self, state: _Held) -> _Held:
        return _Held(np.zeros_like(state.nodes), state.drawn)

    def next(
        self, count: int, at: int, state: _Held
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], _Held]:
        opened = self._opened(at + count) - self._opened(at)
        draws, drawn = self.draws.take(opened * self.width, state.drawn)
        nodes, out = state.nodes.copy(), np.empty((count, self.width), np.int64)
        kernels.open_nodes(out, draws.reshape(opened, self.width), nodes, at, self.base)
        return out, np.zeros(out.shape), _Held(nodes, drawn)

    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        variance = _level_count(self.thresholds, self.base) * self.draws.law.variance
        return np.full(steps.shape, variance**0.5)

    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        spans = self.base ** np.arange(_level_count(self.thresholds, self.base))
        parted = (first[:, None] - 1) // spans != (last[:, None] - 1) // spans
        variances = 2.0 * float(self.draws.law.variance) * parted.sum(axis=1)
        return np.asarray(np.sqrt(variances))

    def describe(self, state: _Held) -> dict[str, Any]:
        return {
            "scale": _scale(self.draws.law),
            "nodes": state.nodes.tolist(),
            "generator": self.draws.describe(state.drawn),
        }

    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, _Held]:
        if stored["scale"] != _scale(self.draws.law):
            raise FormatError("a saved stream with noise of another scale")
        nodes = [
            [_check.integer("nodes", value, -_MOST_NOISE, _MOST_NOISE) for value in level]
            for level in stored["nodes"]
        ]
        shape = _level_count(self.thresholds, self.base), self.width
        if np.shape(nodes) != shape:
            raise FormatError("a saved stream with another number of nodes")
        draws, drawn = Draws.restored(self.draws.law, stored["generator"])
        again = _TreeNoise(self.thresholds, self.base, self.width, draws)
        return again, _Held(np.array(nodes, np.int64), drawn)

    def _opened(self, at: int) -> int:
        """Return the number of nodes that have opened by threshold ``at``."""
        levels = range(_level_count(self.thresholds, self.base))
        return sum(-(-at // self.base**level) for level in levels)


def _level_count(thresholds: int, base: int) -> int:
    """Return L + 1 with L = ceil(log_base thresholds), the number of nodes over a threshold."""
    count = 1
    while thresholds > 1:
        thresholds = -(-thresholds // base)
        count += 1
    return count


def _scale(law: Law) -> list[int]:
    """Return the parameter of the law, exactly."""
    scale = law.scale if isinstance(law, DiscreteLaplace) else law.sigma_squared
    return [scale.numerator, scale.denominator]
