"""What a running curve asks of the counts of cells, and the law of its noise after some steps.

A running curve is made of running counts: of the answers to some linear questions about the counts
of the cells. So time and values each have a mechanism of their own. The noise of the running counts
is of ``dpcore.streams``. The questions, and the curve from their noisy answers, are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..errors import ParameterError
from ..kernels.trees import hierarchy as kernels
from ..noise.laws import DiscreteGaussian, rounded_up
from ..noise.sources import Source
from ..privacy.guarantees import Neighbours, Relation
from .base import Mechanism
from .hierarchy import Hierarchy
from .toeplitz import UNIT, convolution, exact_convolution, factors
from .tree import Tree

__all__ = ["AfterSteps", "Part", "Questions", "questions"]

_FINE: int = 2**20  # the simulated noise is a multiple of 1 / _FINE of an answer's unit
_LEAST: float = 2.0**-30  # noise with a smaller deviation is not simulated: it is 0


class Part(NamedTuple):
    """Questions whose answers get noise of one law.

    Parameters
    ----------
    width
        The number of questions.
    amount
        The most by which a record that comes changes the answers: in absolutes if the share is of
        an epsilon, in squares if it is of a rho.
    share
        The share of the budget.
    """

    width: int
    amount: Fraction
    share: Fraction


class Questions(ABC):
    """Linear questions about the counts of N cells, and cumulative counts from noisy answers."""

    parts: tuple[Part, ...]
    unit: int
    """An answer is at most this much for each record."""

    @abstractmethod
    def ask(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the exact answers, all parts in a row, from the counts of the cells, (N,)."""

    @abstractmethod
    def curve(
        self, answers: NDArray[np.float64], deviations: Sequence[float]
    ) -> NDArray[np.float64]:
        """Return cumulative counts, (R, N), from noisy answers, (R, W).

        ``deviations`` are the standard deviations of the noise of each part, in the answers' unit.
        """

    @abstractmethod
    def variances(self, deviations: Sequence[float]) -> NDArray[np.float64]:
        """Return the variance of each cumulative count, (N,), for noise with these deviations."""


class _SquareRoot(Questions):
    """The convolution of the counts with a square root of the prefix sum; for Gaussian noise."""

    unit = UNIT

    def __init__(self, size: int) -> None:
        self._factors = factors(size, total_is_public=False)
        self.parts = (Part(size, self._factors.largest_change, Fraction(1)),)

    def ask(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return exact_convolution(counts, self._factors.transforms[0])

    def curve(
        self, answers: NDArray[np.float64], deviations: Sequence[float]
    ) -> NDArray[np.float64]:
        return convolution(answers, self._factors.transforms[1])

    def variances(self, deviations: Sequence[float]) -> NDArray[np.float64]:
        return self._factors.variances * (deviations[0] / UNIT) ** 2


class _Levels(Questions):
    """The counts of the nodes of a hierarchy, level by level; for Laplace noise."""

    unit = 1

    def __init__(self, size: int) -> None:
        hierarchy = Hierarchy(
            1.0, neighbours="add-or-remove-one"
        )  # the tree is that of any epsilon
        self._tree = hierarchy.tree(size)
        shares = [Fraction(share) for share in hierarchy.shares_for(size)]
        widths = np.diff(self._tree.starts).tolist()
        self._counted = [share > 0 for share in shares]
        self.parts = tuple(
            Part(width, Fraction(1), share / sum(shares))
            for width, share in zip(widths, shares, strict=True)
            if share > 0
        )
        self._nodes = np.repeat(self._counted, widths)

    def ask(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(self._tree.node_sums(counts)[self._nodes])

    def curve(
        self, answers: NDArray[np.float64], deviations: Sequence[float]
    ) -> NDArray[np.float64]:
        nodes = np.zeros((answers.shape[0], self._nodes.size))
        nodes[:, self._nodes] = answers
        tree = self._with(deviations)
        out = np.empty((answers.shape[0], int(tree.starts[-1] - tree.starts[-2])))
        kernels.cumulative_estimates(nodes, tree.branching, tree.starts, tree.variances, out)
        return out

    def variances(self, deviations: Sequence[float]) -> NDArray[np.float64]:
        return self._with(deviations).prefix_variances()

    def _with(self, deviations: Sequence[float]) -> Tree:
        variances = np.full(len(self._counted), np.inf)
        variances[self._counted] = np.maximum(np.asarray(deviations) ** 2, 1e-100)
        return replace(self._tree, variances=variances)


class _Classes(Questions):
    """The same questions about each half of the cells: a record changes the answers of one half."""

    def __init__(self, half: Questions) -> None:
        self._half, self.unit = half, half.unit
        self.parts = tuple(part._replace(width=2 * part.width) for part in half.parts)
        self._ends = np.cumsum([width for part in half.parts for width in (part.width,) * 2])

    def ask(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        halves = [self._split(self._half.ask(half)) for half in np.split(counts, 2)]
        return np.concatenate([part for parts in zip(*halves, strict=True) for part in parts])

    def curve(
        self, answers: NDArray[np.float64], deviations: Sequence[float]
    ) -> NDArray[np.float64]:
        parts = np.split(answers, self._ends[:-1], axis=1)
        first, second = (
            self._half.curve(np.concatenate(parts[half::2], axis=1), deviations) for half in (0, 1)
        )
        return np.concatenate([first, first[:, -1:] + second], axis=1)

    def variances(self, deviations: Sequence[float]) -> NDArray[np.float64]:
        half = self._half.variances(deviations)
        return np.concatenate([half, half[-1] + half])

    def _split(self, answers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return np.split(answers, np.cumsum([part.width for part in self._half.parts])[:-1])


@lru_cache(maxsize=4)
def questions(size: int, *, is_gaussian: bool, classes: int = 1) -> Questions:
    """Return the questions with the least noise in cumulative counts of ``size`` cells. Cached.

    With two classes, the first half of the cells is of one of them, and the rest of the other.
    """
    if classes == 2:
        return _Classes(questions(size // 2, is_gaussian=is_gaussian))
    return _SquareRoot(size) if is_gaussian else _Levels(size)


@dataclass(frozen=True, slots=True)
class AfterSteps(Mechanism):
    """The law of a running curve's noise after some steps, for simulations.

    ``RunningCDF`` and ``RunningScores`` of ``dpcore.streams`` make it. It draws normal noise with
    the right deviations, so it is not for releases.

    Parameters
    ----------
    epsilon, rho, neighbours, delta
        The budget of all steps of the stream together.
    deviations
        The standard deviation of the noise after these steps, of each part of the questions.
    step
        The number of steps.
    classes
        2 if each half of the cells is of one class, with answers of its own. Otherwise 1.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or it is used without a generator.

    Examples
    --------
    >>> from dpcore.mechanisms.running import AfterSteps
    >>> AfterSteps(rho=0.5, deviations=(20_000.0,), step=3).noise_deviation(4).round(1)
    array([4.9, 5.5, 5.8, 6. ])
    """

    name: ClassVar[str] = "running-cdf"
    simulates_only: ClassVar[bool] = True

    epsilon: float | Fraction | None = None
    _: KW_ONLY
    rho: float | Fraction | None = None
    neighbours: Neighbours = "add-or-remove-one"
    delta: float | None = None
    deviations: tuple[float, ...] = ()
    step: int = 1
    classes: int = 1

    def __post_init__(self) -> None:
        self._budget()
        given = tuple(_check.finite("deviations", value) for value in self.deviations)
        if min(given, default=0.0) < 0.0:
            raise ParameterError("deviations", self.deviations, "must not be negative")
        object.__setattr__(self, "deviations", given)
        _check.integer("step", self.step, 1, 2**32)
        _check.integer("classes", self.classes, 1, 2)

    def noise_deviation(self, size: int) -> NDArray[np.float64]:
        """Return the standard deviation of the noise in each cumulative count, (N,).

        Examples
        --------
        >>> from dpcore.mechanisms.running import AfterSteps
        >>> AfterSteps(1.0, deviations=(9.0,)).noise_deviation(4).round(1)
        array([ 9. , 12.7, 15.6, 18. ])
        """
        asked = self._questions(size)
        if len(asked.parts) != len(self.deviations):
            raise ParameterError("deviations", self.deviations, "must be one for each part")
        return np.asarray(np.sqrt(asked.variances(self.deviations)))

    def describe(self) -> dict[str, str | int | float]:
        """Return the name and the parameters, as a curve records them.

        Examples
        --------
        >>> from dpcore.mechanisms.running import AfterSteps
        >>> AfterSteps(1.0, deviations=(2.5, 3.0), step=7).describe()
        {'name': 'running-cdf', 'epsilon': 1.0, 'deviations': '2.5,3.0', 'step': 7}
        """
        written = ",".join(map(repr, self.deviations))
        described = {"name": self.name, **self._budget().describe()}
        described |= {"deviations": written, "step": self.step}
        return described if self.classes == 1 else described | {"classes": self.classes}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], relation: Relation) -> Self:
        """Return the mechanism with a description.

        Examples
        --------
        >>> from dpcore.mechanisms.running import AfterSteps
        >>> described = {"epsilon": 1.0, "deviations": "2.5", "step": 7}
        >>> AfterSteps.from_description(described, "add-or-remove-one").deviations
        (2.5,)
        """
        parameters = dict(description)
        written = str(parameters.get("deviations"))
        parameters["deviations"] = tuple(map(float, written.split(",")))
        return super(AfterSteps, cls).from_description(parameters, relation)

    def _questions(self, size: int) -> Questions:
        if size % self.classes:
            raise ParameterError("size", size, "must be even: there are two classes")
        is_gaussian = self._budget().rho is not None
        return questions(size, is_gaussian=is_gaussian, classes=self.classes)

    def _fill(self, counts: NDArray[np.int64], out: NDArray[np.float64], stream: Source) -> None:
        asked = self._questions(counts.size)
        answers = np.tile(asked.ask(counts).astype(np.float64), (out.shape[0], 1))
        start = 0
        for part, deviation in zip(asked.parts, self.deviations, strict=True):
            if deviation < _LEAST:
                start += part.width
                continue
            unit = min(_FINE, 2.0**24 / deviation)
            law = DiscreteGaussian(rounded_up(Fraction((deviation * unit) ** 2)))
            draws = np.empty((out.shape[0], part.width), np.int64)
            law.fill(draws.reshape(-1), stream)
            answers[:, start : start + part.width] += draws / unit
            start += part.width
        out[:] = asked.curve(answers, self.deviations)
