"""Running counts: a noisy count of a stream's records, released after every step."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _check
from ..errors import DtypeError, ParameterError
from ..privacy.guarantees import Neighbours
from ..records import object_kinds
from ..records.column import Column
from ..records.doubles import check_one_axis
from .base import StreamMechanism, deviations_at
from .default import asked
from .stream import Stream
from .windows import noise_of

__all__ = ["RunningCount"]


class RunningCount(Stream):
    """A noisy running count of a stream's records, after every step.

    The outputs of all steps together are one release. docs/proofs/streams.md has the proofs, the
    limits, and the format of saved counts.

    Parameters
    ----------
    horizon
        The largest number of steps, 1 to 2^32. Public. None: not known. Then the noise grows with
        the steps, and is somewhat larger than with a known horizon of as many steps.
    mechanism
        A mechanism of ``dpcore.streams``, which states the budget. None: the most accurate one for
        the budget below.
    epsilon, rho, delta
        The budget of all steps together: epsilon (pure differential privacy), or rho
        (zero-concentrated differential privacy), or epsilon with delta.
    neighbours
        None or "replace-one": one record comes at another step, or never, or in addition.
        "add-or-remove-one": one record comes in addition, or never. It needs about half of the
        noise for epsilon.
    window
        None: the count is of all steps so far. Or it is of the last ``window`` steps, 1 to 2^20.
        Then the noise depends on the window, and an unknown horizon costs none.
    rng
        None for a release, with a cryptographic source. A generator is for studies. The count uses
        a child of it.

    Raises
    ------
    DtypeError, ParameterError
        An argument is not as above, or the budget is so small that the noise does not fit 64 bits.

    Notes
    -----
    Increments may depend on earlier outputs, but see ``DyadicTree`` for rho.

    The count keeps a few dozen numbers, one for each step of a window, and up to 1024 draws for
    steps to come. Draws depend on the generator alone, not on how calls divide the steps. Calls
    from several threads take turns. A call from a signal handler is refused if it has interrupted
    another call. After a fork, the child's copy is closed, because it would use the same noise
    again.

    A budget is charged for all steps when the count is made. A budget that watches only where a
    step is taken is charged for all steps at the first of these (``BudgetError`` if it refuses).
    The same holds for a count that was resumed, because its file does not name budgets.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.streams import RunningCount
    >>> visitors = RunningCount(horizon=365, epsilon=1.0, rng=np.random.default_rng(1))
    >>> visitors.add(112)
    116
    >>> visitors.extend([98, 120, 131])  # the exact counts are 210, 330 and 461
    array([214, 326, 454])
    >>> visitors.step, round(visitors.noise_deviation(), 1)
    (4, 13.5)

    Of the last 7 steps:

    >>> week = RunningCount(None, epsilon=1.0, window=7, rng=np.random.default_rng(1))
    >>> week.extend([100] * 10)
    array([ 93, 194, 296, 394, 496, 597, 697, 703, 702, 697])
    """

    kind: ClassVar[str] = "running-count"

    __slots__ = ()

    def __init__(
        self,
        horizon: int | None = None,
        mechanism: StreamMechanism | None = None,
        *,
        epsilon: float | Fraction | None = None,
        rho: float | Fraction | None = None,
        neighbours: Neighbours | None = None,
        delta: float | None = None,
        window: int | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        chosen = asked(mechanism, epsilon, rho, neighbours, delta)
        noise = noise_of(chosen, horizon, window, rng)
        self._begin(chosen, horizon, window, [noise], simulated=rng is not None)

    @overload
    def noise_deviation(self, step: int | None = ...) -> float: ...
    @overload
    def noise_deviation(self, step: ArrayLike) -> NDArray[np.float64]: ...
    def noise_deviation(self, step: Any = None) -> Any:
        """Return the standard deviation of the noise in the output of a step, in counts.

        Parameters
        ----------
        step
            1 to horizon, any shape. None: the last step that was taken, or the first one.

        Notes
        -----
        Outputs are rounded to whole numbers, which adds at most 1/2.

        Examples
        --------
        >>> from dpcore.streams import RunningCount
        >>> for horizon in (30, 365):
        ...     print(horizon, round(RunningCount(horizon, epsilon=1.0).noise_deviation(), 1))
        30 5.4
        365 8.1
        """
        steps = max(1, self.step) if step is None else step
        return deviations_at(self._noises[0], self._horizon, steps)

    def add(self, increment: int) -> int:
        """Take one step, and return the noisy running count after it.

        Parameters
        ----------
        increment
            Records that came at this step, 0 to 2^60 / horizon (or / window), or about 2^37 if this
            is less and steps are scaled (``BufferedToeplitz``). Without both: 2^55 / step, or 2^28
            if this is more.

        Raises
        ------
        CounterBusyError
            A signal handler made this call, and has interrupted another call.
        CounterClosedError
            The count has been saved, or this is a forked copy.
        DtypeError, ParameterError
            ``increment`` is not as above, or the horizon has been reached. Nothing has changed.

        Notes
        -----
        O(1) draws on average. No error quotes an increment.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> [visitors.add(arrived) for arrived in (112, 98, 120)]
        [113, 206, 328]
        """
        checked = self._checked(increment)
        return int(self._counted("increment", np.array([checked], np.int64))[0])

    def extend(self, increments: ArrayLike) -> NDArray[np.int64]:
        """Take several steps, and return the noisy running count after each of them.

        Parameters
        ----------
        increments
            (K,) integers: records that came at each step, as many as ``add`` takes.

        Returns
        -------
        numpy.ndarray
            (K,) int64, the same as from K calls of ``add``.

        Raises
        ------
        CounterBusyError, CounterClosedError, DtypeError, ParameterError
            As for ``add``, or fewer than K steps are left. Nothing has changed.

        Notes
        -----
        O(K) draws and additions.

        Examples
        --------
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> visitors.extend([112, 98, 120])
        array([113, 206, 328])
        """
        Column.of(increments, "increments").check_in_memory()
        array = _array(increments)
        check_one_axis("increments", array.shape)
        if array.size == 0:
            array = array.astype(np.int64)
        if array.dtype.kind == "f":
            raise DtypeError("increments", f"dtype {array.dtype}", "must hold integers")
        most = self._most()
        for value in (array.min(initial=0), array.max(initial=0)):
            if not 0 <= value <= most:
                raise ParameterError("increments", "others", f"must be between 0 and {most}")
        return self._counted("increments", array.astype(np.int64, copy=False))

    def _checked(self, increment: object) -> int:
        """Return an increment; messages must not quote it, because it is of records."""
        if not _is_whole(type(increment)):
            raise DtypeError("increment", f"a {type(increment).__name__}", "must be an integer")
        assert isinstance(increment, Integral)
        most = self._most()
        if not 0 <= int(increment) <= most:
            raise ParameterError("increment", "another", f"must be between 0 and {most}")
        return int(increment)

    def _counted(self, argument: str, increments: NDArray[np.int64]) -> NDArray[np.int64]:
        outputs, _ = self._advance(argument, increments[:, None], increments)
        return np.rint(outputs[:, 0]).astype(np.int64)

    @classmethod
    def _made_again(cls, mechanism: StreamMechanism, horizon: int | None, more: Any) -> Self:
        return cls(horizon, mechanism, window=more.get("window"))


def _array(increments: ArrayLike) -> NDArray[Any]:
    """Return increments as an array; those of a list if ``add`` would take each, by its type."""
    if not isinstance(increments, list | tuple):
        return _check.array("increments", increments, "iuf", "must hold integers")
    if wrong := [cls for cls in set(map(type, increments)) if not _is_whole(cls)]:
        raise DtypeError("increments", object_kinds.name_of(wrong), "must hold integers")
    return np.fromiter(map(int, increments), object, len(increments))


def _is_whole(cls: type) -> bool:
    return issubclass(cls, Integral) and not issubclass(cls, bool | np.bool_ | np.timedelta64)
