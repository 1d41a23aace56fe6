"""What every mechanism for streams is: a budget, and the noise of running sums, step by step.

A mechanism is whole in its own file. It enters the registry by being defined, and counters and
curves ask it, instead of asking which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..curves.shapes import float_or_array
from ..errors import ParameterError
from ..privacy.allowance import Allowance
from ..privacy.guarantees import Neighbours, Privacy

__all__ = [
    "MOST_STEPS",
    "ONE",
    "AdditiveNoise",
    "Change",
    "StreamMechanism",
    "StreamNoise",
    "check_counters",
    "checked_horizon",
    "deviations_at",
    "from_form",
    "known_horizon",
    "to_form",
]

MOST_STEPS: Final = 2**32
_MOST_COUNTERS: Final = 2**32
_OF_BUDGETS: Final = ("epsilon", "rho", "neighbours", "delta")  # fields that state the allowance
_registry: Final[dict[str, type[StreamMechanism]]] = {}


class Change(NamedTuple):
    """By how much a record changes the counters at its step, if there are several.

    Parameters
    ----------
    amount
        The largest sum of absolute (Laplace noise) or squared (Gaussian noise) changes, of one
        record that comes.
    apart
        Whether a record that is replaced may move to other counters. Then its two changes add up.
        Otherwise there is one counter, and they may cancel in part.
    epochs
        In how many stretches of time, with noise of their own, its two changes may lie: 1 or 2. If
        2, ``apart`` must be True.
    """

    amount: Fraction = Fraction(1)
    apart: bool = False
    epochs: int = 1


ONE: Final = Change()  # of one counter, which counts each record once


class StreamNoise(ABC):
    """The noise of the running sums of ``width`` counters. It has a source of draws, but no state.

    The state is a value that ``start`` and ``outputs`` return. It is never changed, so that an
    interrupted call can go back. All of it is secret.
    """

    width: int

    @property
    def most_increment(self) -> int:
        """The largest increment of one counter at one step."""
        return 2**60

    @property
    @abstractmethod
    def is_simulated(self) -> bool:
        """Whether a generator makes the draws."""

    @abstractmethod
    def start(self) -> Any:
        """Return the state before the first step."""

    @abstractmethod
    def start_after(self, state: Any) -> Any:
        """Return a state before the first step, whose draws follow those of ``state``."""

    @abstractmethod
    def outputs(
        self,
        increments: NDArray[np.int64],
        before: NDArray[np.int64],
        at: int,
        state: Any,
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the noisy running sums after some steps, and the state after them.

        Parameters
        ----------
        increments
            (K, W), of the steps at + 1, ..., at + K.
        before
            (W,), the exact sums before them.

        Returns
        -------
        outputs
            (K, W).
        state
            The state after these steps.
        """

    @abstractmethod
    def deviation(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at some steps (1 to horizon), in counts."""

    @abstractmethod
    def difference_deviation(
        self, first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the standard deviation of the noise at ``last`` minus the noise at ``first``.

        Parameters
        ----------
        first, last
            (K,) steps, 1 <= first <= last <= horizon.
        """

    @abstractmethod
    def describe(self, state: Any) -> dict[str, Any]:
        """Return the state for ``restored``, in integers, strings, lists and objects."""

    @abstractmethod
    def restored(self, at: int, stored: dict[str, Any]) -> tuple[StreamNoise, Any]:
        """Return noise like this one, and the state after ``at`` steps that was described.

        Raises
        ------
        DpcoreError, KeyError, TypeError, ValueError, OverflowError
            It is no such description.
        """


class AdditiveNoise(StreamNoise):
    """Noise that does not depend on the increments, and is added to their exact sums."""

    @abstractmethod
    def next(
        self, count: int, at: int, state: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], Any]:
        """Return the noise of steps at + 1, ..., at + count, and the state after them.

        Returns
        -------
        whole, rest
            (count, width) each. The output at a step is the exact sum plus ``whole``, and then
            ``rest``. The mechanism proves privacy for the pair of (sum + whole) and ``rest``. So
            the first sum must be taken in integers.
        state
            The state after these steps.
        """

    def outputs(
        self,
        increments: NDArray[np.int64],
        before: NDArray[np.int64],
        at: int,
        state: Any,
    ) -> tuple[NDArray[np.float64], Any]:
        """Return the noisy running sums after some steps; see ``StreamNoise``."""
        whole, rest, state = self.next(increments.shape[0], at, state)
        whole += before
        whole += np.cumsum(increments, axis=0)
        return whole + rest, state


class StreamMechanism(ABC):
    """A way to release the running sums of a stream, step by step; the base of all of them.

    A subclass is a frozen dataclass with a ``name`` and with fields among epsilon, rho, neighbours
    and delta, which state the guarantee of all steps together.

    Examples
    --------
    >>> from dpcore.streams import ConsistentTree, StreamMechanism
    >>> isinstance(ConsistentTree(epsilon=1.0), StreamMechanism)
    True
    >>> ConsistentTree(epsilon=1.0).noise_deviation(365, [1, 365]).round(1)
    array([ 8.1, 23.2])
    """

    __slots__ = ()

    name: ClassVar[str]
    epsilon: float | Fraction | None
    neighbours: Neighbours

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(name := cls.__dict__.get("name"), str):
            known = _registry.get(name)  # a dataclass with slots is defined twice
            if known is not None and _place(known) != _place(cls):
                raise ParameterError("name", name, f"is the name of {known.__qualname__}")
            _registry[name] = cls

    @abstractmethod
    def noise(
        self,
        horizon: int | None,
        rng: np.random.Generator | None = None,
        *,
        width: int = 1,
        change: Change = ONE,
    ) -> StreamNoise:
        """Return the noise of ``width`` counters over a horizon of steps.

        Parameters
        ----------
        horizon
            The largest number of steps, 1 to 2^32, or None: not known.
        rng
            None, or a generator for studies, of which the noise uses a child.
        width, change
            The number of counters, and what a record changes in them.

        Raises
        ------
        DtypeError, ParameterError
            An argument is not as above, the budget is too small, or the mechanism needs a horizon.

        Examples
        --------
        >>> from dpcore.streams import DyadicTree
        >>> DyadicTree(epsilon=1.0).noise(365).width
        1
        """

    def noise_deviation(self, horizon: int | None, steps: ArrayLike | None = None) -> Any:
        """Return the standard deviation of the noise of a count at some steps, in counts.

        Parameters
        ----------
        horizon
            The largest number of steps, or None.
        steps
            1 to horizon, any shape. None: all steps of the horizon.

        Returns
        -------
        float or numpy.ndarray
            Of the shape of ``steps``.

        Examples
        --------
        >>> from dpcore.streams import DyadicTree
        >>> DyadicTree(epsilon=1.0).noise_deviation(365, [1, 200]).round(1)
        array([40.2, 40.2])
        """
        if steps is None:
            steps = np.arange(1, checked_horizon(horizon) + 1)
        return deviations_at(self.noise(horizon), horizon, steps)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all steps together, with cryptographic noise."""
        return self.budget.privacy

    @property
    def budget(self) -> Allowance:
        """The allowance of all steps together, as the fields state it."""
        stated: dict[str, Any] = {of: getattr(self, of, None) for of in _OF_BUDGETS}
        return Allowance.checked(**stated)

    def with_share(self, share: Fraction) -> StreamMechanism:
        """Return the mechanism with a share of its budget: epsilon, or rho, also for a delta.

        Raises
        ------
        DtypeError, ParameterError
            The share is no number above 0, at most 1; or too small.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from dpcore.streams import ConsistentTree
        >>> ConsistentTree(epsilon=1.0).with_share(Fraction(1, 4)).privacy.epsilon
        0.25
        """
        share = _check.fraction("share", share)
        if share > 1:
            raise ParameterError("share", share, "must be at most 1")
        if share == 1:
            return self
        budget = self.budget
        name = "epsilon" if budget.epsilon is not None else "rho"
        shared = {name: getattr(budget, name) * share}
        if budget.stated is not None:  # epsilon with delta has no shares, but its rho has
            shared |= {"epsilon": None, "delta": None}
        made: StreamMechanism = replace(self, **shared)  # type: ignore[type-var]
        return made

    def describe(self) -> dict[str, Any]:
        """Return the name and the parameters.

        Examples
        --------
        >>> from dpcore.streams import BufferedToeplitz
        >>> BufferedToeplitz(rho=0.5).describe()
        {'name': 'buffered-toeplitz', 'rho': 0.5}
        """
        own = {of: value for of, value in to_form(self).items() if of not in _OF_BUDGETS}
        return {**own, **self.budget.describe()}


def checked_horizon(horizon: object) -> int:
    """Return a number of steps, or refuse it."""
    return _check.integer("horizon", horizon, 1, MOST_STEPS)


def check_counters(width: object, change: object) -> None:
    """Check a number of counters, and what a record changes in them."""
    _check.integer("width", width, 1, _MOST_COUNTERS)
    _check.instance("change", change, Change, "must be a Change")


def deviations_at(noise: StreamNoise, horizon: int | None, steps: ArrayLike) -> Any:
    """Return the standard deviation of the noise at some steps, of their shape, or refuse them."""
    at = _check.array("steps", steps, "iu", "must hold integers").astype(np.int64)
    most = known_horizon(horizon) or MOST_STEPS
    if at.size and not 1 <= at.min() <= at.max() <= most:
        raise ParameterError("steps", steps, f"must be between 1 and {most}")
    return float_or_array(noise.deviation(at.reshape(-1)).reshape(at.shape))


def known_horizon(horizon: object) -> int | None:
    """Return a number of steps as a Python integer, which does not overflow, or None."""
    return None if horizon is None else checked_horizon(horizon)


def to_form(mechanism: StreamMechanism) -> dict[str, Any]:
    """Return the input of ``from_form``: name and fields, in integers, strings and lists."""
    parameters = fields(mechanism)  # type: ignore[arg-type]  # it is a dataclass
    own = {member.name: _plain(getattr(mechanism, member.name)) for member in parameters}
    return {"name": mechanism.name, **own}


def from_form(form: dict[str, Any]) -> StreamMechanism:
    """Return the mechanism that was written.

    Raises
    ------
    DpcoreError, ArithmeticError, LookupError, TypeError, ValueError
        It was not written by this version.
    """
    cls: Any = _registry[form["name"]]
    made: StreamMechanism = cls(
        **{member.name: _of_plain(form[member.name]) for member in fields(cls)}
    )
    return made


def _plain(value: Any) -> Any:
    """Return a parameter in integers, strings and lists: exact, and without floating point."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return {"several": [_plain(item) for item in value]}
    exact = Fraction(value)
    return [exact.numerator, exact.denominator]


def _of_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_of_plain(item) for item in value["several"])
    if not isinstance(value, list):
        return value
    exact = Fraction(*value)
    return float(exact) if float(exact) == exact else exact


def _place(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__
