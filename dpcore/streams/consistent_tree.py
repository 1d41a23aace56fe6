"""A tree in time whose nodes are made consistent: the least noise for pure epsilon."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, InitVar, dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import DtypeError, FormatError, ParameterError
from ..kernels.trees import consistent as kernels
from ..noise.laws import DiscreteLaplace
from ..privacy.allowance import Law
from ..privacy.guarantees import Neighbours
from .base import (
    MOST_STEPS,
    ONE,
    AdditiveNoise,
    Change,
    StreamMechanism,
    StreamNoise,
    check_counters,
    known_horizon,
)
from .draws import Drawn, Draws, child_of

__all__ = ["ConsistentTree"]

_MOST_NOISE: Final = 2**62
_MOST_CHILDREN: Final = 2**12  # of a node; their noise is held
_MOST_LEVELS: Final = 32
_SAMPLED: Final = 512  # steps that choose a branching
_FIRST_EPOCH: Final = 16
_GROWTH: Final = 16  # each epoch of a stream without a horizon is this many times the last


@dataclass(frozen=True, slots=True)
class ConsistentTree(StreamMechanism):
    """Every running count gets the noise of the finished nodes, refined by all that is held.

    Every node of a tree in time has discrete Laplace noise. A node's noise minus that of all of its
    children is the same whatever one record does. So it predicts the noise of the running counts at
    no price. This goes on from Andersson, Pagh & Torkamani 2024 (arXiv 2408.07021), and from the
    estimate of Honaker 2015.

    Parameters
    ----------
    epsilon
        The budget of all steps together, pure differential privacy.
    rho, delta
        Refused: ``BufferedToeplitz`` has less noise for them.
    neighbours
        "replace-one": one record comes at another step, or never, or in addition.
        "add-or-remove-one": one record comes in addition, or never.
    branching
        "auto": the tree with a small mean variance over the horizon, or over a window. Or the
        number of nodes on the first level, and then of the children of each node, level by level.
        The product must reach the horizon, or the window.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above.

    Notes
    -----
    docs/proofs/consistent-tree.md has the proof, also for records that depend on earlier outputs.
    The memory is that of the children of one node on each level. Without a horizon, time is cut
    into epochs, each 16 times as long as the one before it, and each with a tree of its own.
    After 16 steps, the deviation is then up to 1.4 times the largest one with a known horizon.

    Examples
    --------
    >>> from dpcore.streams import ConsistentTree
    >>> tree = ConsistentTree(epsilon=1.0, neighbours="add-or-remove-one")
    >>> tree.noise_deviation(1024, [1, 512, 1024]).round(1)
    array([ 4.1, 12.4, 12.4])
    """

    name: ClassVar[str] = "consistent-tree"

    epsilon: float | Fraction | None = None
    _: KW_ONLY
    rho: InitVar[None] = None
    delta: InitVar[None] = None
    neighbours: Neighbours = "replace-one"
    branching: tuple[int, ...] | Literal["auto"] = "auto"

    def __post_init__(self, rho: object, delta: object) -> None:
        for name, value in (("rho", rho), ("delta", delta)):
            if value is not None:
                raise ParameterError(name, value, "must not be given: use BufferedToeplitz")
        self.budget  # noqa: B018 (it refuses what is no budget)
        object.__setattr__(self, "branching", _checked_branching(self.branching))

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
        >>> from dpcore.streams import ConsistentTree
        >>> ConsistentTree(epsilon=1.0, branching=(6, 14, 14)).noise(1024).epochs[0].law
        DiscreteLaplace(scale=Fraction(6, 1))
        """
        check_counters(width, change)
        epochs = []
        end = 0
        steps = known_horizon(horizon)
        for branching in self._trees(steps, is_cyclic=change.epochs > 1):
            size = math.prod(branching)
            changes = self._changes(branching, steps, change.apart) * change.amount
            epochs.append(_Epoch(end, size, branching, self.budget.law(changes)))
            end += size
        return _ConsistentNoise(tuple(epochs), width, child_of(rng))

    def _trees(self, horizon: int | None, *, is_cyclic: bool) -> list[tuple[int, ...]]:
        """Return the branching of each epoch.

        If it is cyclic, the noise from each step to the last one counts as much as that up to it.
        """
        if horizon is None:
            if self.branching != "auto":
                what = 'must be "auto" if the horizon is not known'
                raise ParameterError("branching", self.branching, what)
            return _growing()
        if self.branching == "auto":
            return [_best(horizon, is_cyclic=is_cyclic)]
        if math.prod(self.branching) < horizon:
            what = f"must have a product of at least the horizon, {horizon}"
            raise ParameterError("branching", self.branching, what)
        return [self.branching]

    def _changes(self, branching: tuple[int, ...], horizon: int | None, apart: bool) -> int:
        """Return the most by which a record shifts the nodes' noise, in absolutes.

        A record is in one node of each level. A replaced one leaves these nodes and enters others,
        but two steps share the nodes of the levels that have only one.
        """
        levels = len(branching)
        if self.neighbours == "add-or-remove-one":
            return levels
        if horizon is None or apart:
            return 2 * levels  # its two steps may lie in two epochs, or in two counters
        below, left = 0, horizon
        for children in reversed(branching):
            below += left > 1
            left = -(-left // children)
        return max(levels, 2 * below)


class _Epoch(NamedTuple):
    """A stretch of time with a tree of its own."""

    start: int
    size: int
    branching: tuple[int, ...]
    law: Law

    @property
    def children(self) -> NDArray[np.int64]:
        return np.array(self.branching, np.int64)

    def draws_by(self, at: int) -> int:
        """Return the number of nodes that have noise at step ``at`` of this epoch."""
        if at == 0:
            return 0
        total, below = 0, self.size
        for children in self.branching:
            total += children * min(at // below + 1, self.size // below)
            below //= children
        return total

    def variances(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variance of the noise of steps of this epoch, counted from its start."""
        return _variances(self.branching, steps) * float(self.law.variance)

    def within(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many steps of this epoch have been taken after some steps of the stream."""
        return np.clip(steps - self.start, 0, self.size)

    def difference_variances(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the variance of the noise at ``last`` minus that at ``first``, 0 <= first <= last.

        At step 0 there is no noise.
        """
        return _difference_variances(self.branching, first, last) * float(self.law.variance)


class _Held(NamedTuple):
    """The state of the noise after a step. All of it is secret."""

    epoch: int
    at: int  # steps since the epoch's start
    nodes: NDArray[np.int64]  # (nodes held, W) see ``kernels.path_noise``
    corrections: NDArray[np.float64]  # (levels, W)
    whole: NDArray[np.int64]  # (W,) the noise of the epochs that are over
    rest: NDArray[np.float64]  # (W,)
    drawn: Drawn


@dataclass(frozen=True, slots=True, eq=False)
class _ConsistentNoise(AdditiveNoise):
    epochs: tuple[_Epoch, ...]
    width: int
    rng: np.random.Generator | None

    @property
    def is_simulated(self) -> bool:
        return self.rng is not None

    def start(self) -> _Held:
        past = np.zeros(self.width, np.int64), np.zeros(self.width)
        return self._opened(0, *past, Draws(self.epochs[0].law, self.rng).start())

    def start_after(self, state: _Held) -> _Held:
        past = np.zeros(self.width, np.int64), np.zeros(self.width)
        drawn = state.drawn
        if len(self.epochs) > 1:  # draws that are left have the law of a later epoch
            drawn = Drawn(0, np.empty(0, np.int64), drawn.after, drawn.after)
        return self._opened(0, *past, drawn)

    def next(
        self, count: int, at: int, state: _Held
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], _Held]:
        whole, rest = np.empty((count, self.width), np.int64), np.empty((count, self.width))
        done = 0
        while done < count:
            if state.at == self.epochs[state.epoch].size:
                state = self._after(state)
            part = slice(done, done + self.epochs[state.epoch].size - state.at)
            state = self._within(whole[part], rest[part], state)
            done = min(part.stop, count)
        return whole, rest, state

    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        variances = np.empty(steps.shape)
        past = 0.0
        for epoch in self.epochs:
            inside = (steps > epoch.start) & (steps <= epoch.start + epoch.size)
            variances[inside] = past + epoch.variances(steps[inside] - epoch.start)
            past += float(epoch.variances(np.array([epoch.size]))[0])
        return np.sqrt(variances)

    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        variances = np.zeros(last.shape)
        for epoch in self.epochs:  # their noise adds up, and is independent
            before, after = epoch.within(first), epoch.within(last)
            variances += epoch.difference_variances(before, after)
        return np.sqrt(variances)

    def describe(self, state: _Held) -> dict[str, Any]:
        epoch = self.epochs[state.epoch]
        return {
            "scale": _scale(epoch.law),
            "branching": list(epoch.branching),
            "start": epoch.start,
            "nodes": state.nodes.tolist(),
            "corrections": _bits(state.corrections).tolist(),
            "whole": state.whole.tolist(),
            "rest": _bits(state.rest).tolist(),
            "generator": Draws(epoch.law, self.rng).describe(state.drawn),
        }

    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, _Held]:
        # after the last step of an epoch, the state is still that of this epoch
        number = max(0, sum(epoch.start < at for epoch in self.epochs) - 1)
        epoch = self.epochs[number]
        here = [_scale(epoch.law), list(epoch.branching), epoch.start]
        if [stored["scale"], stored["branching"], stored["start"]] != here:
            raise FormatError("a saved stream with noise of another tree")
        levels = len(epoch.branching)
        nodes = _integers("nodes", stored["nodes"], (sum(epoch.branching), self.width))
        corrections = _doubles("corrections", stored["corrections"], (levels, self.width))
        whole = _integers("whole", stored["whole"], (self.width,))
        rest = _doubles("rest", stored["rest"], (self.width,))
        draws, drawn = Draws.restored(epoch.law, stored["generator"])
        again = _ConsistentNoise(self.epochs, self.width, draws.rng)
        return again, _Held(number, at - epoch.start, nodes, corrections, whole, rest, drawn)

    def _opened(
        self, number: int, whole: NDArray[np.int64], rest: NDArray[np.float64], drawn: Drawn
    ) -> _Held:
        """Return the state at the start of an epoch, after the noise of those before it."""
        branching = self.epochs[number].branching
        nodes = np.zeros((sum(branching), self.width), np.int64)
        corrections = np.zeros((len(branching), self.width))
        return _Held(number, 0, nodes, corrections, whole, rest, drawn)

    def _after(self, state: _Held) -> _Held:
        """Return the state at the start of the next epoch.

        Its law may be another one. So the rest of the block of draws is dropped.
        """
        first = self.epochs[state.epoch].branching[0]
        whole = state.whole + state.nodes[:first].sum(axis=0)
        rest = state.rest + state.corrections[0]
        after = state.drawn.after
        return self._opened(
            state.epoch + 1, whole, rest, Drawn(0, np.empty(0, np.int64), after, after)
        )

    def _within(self, whole: NDArray[np.int64], rest: NDArray[np.float64], state: _Held) -> _Held:
        """Overwrite steps of the present epoch, and return the state after them."""
        epoch, at = self.epochs[state.epoch], state.at + whole.shape[0]
        drawn_nodes = epoch.draws_by(at) - epoch.draws_by(state.at)
        draws, drawn = Draws(epoch.law, self.rng).take(drawn_nodes * self.width, state.drawn)
        nodes, corrections = state.nodes.copy(), state.corrections.copy()
        draws = draws.reshape(drawn_nodes, self.width)
        kernels.path_noise(whole, rest, draws, nodes, corrections, epoch.children, state.at)
        whole += state.whole
        rest += state.rest
        return state._replace(at=at, nodes=nodes, corrections=corrections, drawn=drawn)


def _checked_branching(branching: object) -> tuple[int, ...] | Literal["auto"]:
    if isinstance(branching, str):
        if branching != "auto":
            raise ParameterError("branching", branching, 'must be "auto" or a tuple of integers')
        return "auto"
    if not isinstance(branching, tuple | list):
        given = f"a {type(branching).__name__}"
        raise DtypeError("branching", given, 'must be "auto" or a tuple of integers')
    if not 1 <= len(branching) <= _MOST_LEVELS:
        raise ParameterError("branching", branching, f"must have 1 to {_MOST_LEVELS} levels")
    checked = tuple(_check.integer("branching", k, 1, _MOST_CHILDREN) for k in branching)
    if math.prod(checked) > MOST_STEPS**2 // 4:
        raise ParameterError("branching", branching, "must have a product of at most 2^62")
    return checked


def _variances(branching: tuple[int, ...], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the variance of the noise at some steps, in units of that of one node."""
    out = np.empty(steps.size)
    kernels.path_variances(steps, np.array(branching, np.int64), out)
    return out


def _difference_variances(
    branching: tuple[int, ...], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return those of the noise at ``last`` minus that at ``first``, 0 <= first <= last."""
    together = np.empty(last.size)
    kernels.path_covariances(first, last, np.array(branching, np.int64), together)
    alone = _variances(branching, first) + _variances(branching, last)
    variances = np.where(first < last, alone - 2.0 * together, 0.0)
    return np.asarray(np.maximum(variances, 0.0))


@lru_cache(maxsize=256)
def _best(horizon: int, *, is_cyclic: bool = False) -> tuple[int, ...]:
    """Return the tree with the least mean variance over the horizon, of the shape (top, k, ...)."""
    steps = np.unique(np.linspace(1, horizon, min(horizon, _SAMPLED)).astype(np.int64))
    if horizon > _SAMPLED:  # not in step with the nodes of any tree
        golden = np.arange(1, _SAMPLED + 1) * ((math.sqrt(5) - 1) / 2) % 1
        steps = 1 + (golden * horizon).astype(np.int64)
    tried = {
        _covering(horizon, levels, children)
        for levels in range(1, 12)
        for children in _near(horizon ** (1 / levels))
        if levels == 1 or children ** (levels - 1) < horizon
    }
    ends = np.full(steps.size, horizon)
    scored = []
    for branching in sorted(tried):
        if max(branching) <= _MOST_CHILDREN:
            total = _variances(branching, steps).sum()
            if is_cyclic:
                total += _difference_variances(branching, steps, ends).sum()
            scored.append((float(total) * len(branching) ** 2, branching))
    return min(scored)[1]


def _near(even: float) -> range:
    """Return numbers of children to try, if all levels alike had ``even``."""
    return range(max(2, int(0.6 * even)), min(int(1.5 * even) + 2, 64))


def _covering(horizon: int, levels: int, children: int) -> tuple[int, ...]:
    """Return the tree of ``children`` a node, with as many nodes on top as the horizon needs."""
    top = -(-horizon // children ** (levels - 1))
    return (top, *[children] * (levels - 1))


@lru_cache(maxsize=1)
def _growing() -> list[tuple[int, ...]]:
    """Return the trees of epochs that grow until 2^32 steps."""
    trees, end, size = [], 0, _FIRST_EPOCH
    while end < MOST_STEPS:
        trees.append(_best(min(size, MOST_STEPS)))
        end += math.prod(trees[-1])
        size *= _GROWTH
    return trees


def _scale(law: Law) -> list[int]:
    """Return the scale of Laplace noise, exactly."""
    assert isinstance(law, DiscreteLaplace)
    return [law.scale.numerator, law.scale.denominator]


def _bits(doubles: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the bits of doubles: saved files have integers only."""
    return np.ascontiguousarray(doubles).view(np.int64)


def _integers(
    name: str, stored: Any, shape: tuple[int, ...], most: int = _MOST_NOISE
) -> NDArray[np.int64]:
    if np.shape(stored) != shape:
        raise FormatError("a saved stream with another number of nodes")
    flat = [v for row in stored for v in row] if len(shape) == 2 else stored
    checked = [_check.integer(name, value, -most, most) for value in flat]
    return np.array(checked, np.int64).reshape(shape)


def _doubles(name: str, stored: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    doubles = _integers(name, stored, shape, 2**63 - 1).view(np.float64)
    if not (np.abs(doubles) <= _MOST_NOISE).all():
        raise FormatError("a saved stream with corrections that are not finite")
    return doubles
